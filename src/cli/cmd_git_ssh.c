/* `bawn git-ssh`, for git inside instead of ssh: asks the supervisor for the way to a repository, and passes git's bytes along it. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "git/refs.h"
#include "kernel/relayed.h"
#include "supervise/asking.h"

const char git_ssh_usage[] =
    "bawn git-ssh -- [-p PORT] [USER@]HOST COMMAND\n"
    "\n"
    "For git inside, which calls it instead of ssh where a `forge` rule is in\n"
    "force (GIT_SSH_COMMAND). The user's own ssh runs outside, for the repositories\n"
    "and refs of such rules only. Your keys stay outside.\n"
    "\n"
    "  git push origin agent/fix\n";

enum { SECONDS_FOR_REPLY = 60 };

/* --- what git asks for -------------------------------------------------------------------------------------------- */

struct ssh_call {
    const char *user, *host, *port;
    const char *service; /* fetch or push */
    const char *path;
};

/* The word that git has quoted for a shell: 'it'\''s'. NULL: it is not one such word. */
static const char *unquote(struct arena *arena, const char *text)
{
    auto_buf struct buf word = {0};
    while (*text == '\'') {
        size_t size = strcspn(++text, "'");
        buf_add(&word, text, size);
        text += size;
        if (*text++ != '\'')
            return NULL;
        if (text[0] == '\\' && (text[1] == '\'' || text[1] == '!') && text[2] == '\'') {
            buf_add_char(&word, text[1]);
            text += 2;
        }
    }
    return *text ? NULL : arena_str(arena, buf_text(&word));
}

/* "git-upload-pack 'acme/app.git'". Returns what is wrong with it, or NULL. */
static const char *read_command(struct arena *arena, const char *command, struct ssh_call *call)
{
    static const struct {
        const char *command, *service;
    } services[] = {{"git-upload-pack ", "fetch"}, {"git-receive-pack ", "push"}};
    for (size_t i = 0; i < array_len(services); i++) {
        if (!text_starts_with(command, services[i].command))
            continue;
        call->service = services[i].service;
        call->path = unquote(arena, command + strlen(services[i].command));
        return call->path && *call->path && !strpbrk(call->path, "\t\n")
                   ? NULL
                   : "this is not the path of a repository";
    }
    if (text_starts_with(command, "git-lfs-"))
        return "Git LFS is not served: it stores files outside of git, where no ref rule holds";
    return "only git fetch and git push are served here, not other commands by ssh";
}

/* The words of git's call of ssh. Returns what is wrong with them, or NULL. */
static const char *read_call(struct arena *arena, const struct args *args, struct ssh_call *call)
{
    size_t at = 0, count = 0;
    const char *const *words = args->command;
    while (words[count])
        count++;
    *call = (struct ssh_call){.user = "", .port = ""};
    for (; at < count && words[at][0] == '-'; at++) {
        if (strcmp(words[at], "-p") == 0 && at + 1 < count)
            call->port = words[++at];
        else if (strcmp(words[at], "-o") == 0 && at + 1 < count &&
                 strcmp(words[at + 1], "SendEnv=GIT_PROTOCOL") == 0)
            at++;
        else if (strcmp(words[at], "-4") != 0 && strcmp(words[at], "-6") != 0)
            return "ssh's options are not passed on: your own configuration outside counts";
    }
    if (count - at != 2)
        return "only git fetch and git push are served here, not ssh itself";
    const char *sign = strchr(words[at], '@');
    call->host = sign ? sign + 1 : words[at];
    call->user = sign ? arena_copy(arena, words[at], (size_t)(sign - words[at])) : "";
    return read_command(arena, words[at + 1], call);
}

static const char *protocol_version(void)
{
    const char *text = getenv("GIT_PROTOCOL");
    return text && strcmp(text, "version=2") == 0 ? "2" : text && strcmp(text, "version=1") == 0 ? "1" : "0";
}

/* --- passing bytes ------------------------------------------------------------------------------------------------ */

struct passage {
    int way;
    struct relayed_queue to_way, to_git;
    struct buf incoming;
    bool git_ended;
    bool is_over;
    int status;
};

/* Writes all that waits for the other end, which reads at all times. */
static bool flush_way(struct passage *passage)
{
    while (relayed_waiting(&passage->to_way)) {
        struct pollfd ready = {.fd = passage->way, .events = POLLOUT};
        if (poll(&ready, 1, -1) < 0)
            continue;
        if (relayed_send(&passage->to_way, passage->way, RELAYED_QUEUE) < 0)
            return false;
    }
    return true;
}

/* In the new process: one of the two calls of git, with these streams. */
static _Noreturn void become_git(const char *const *words, int input, int output)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0 && dup2(input >= 0 ? input : nowhere, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0)
        execvp(*words, (char *const *)words);
    _exit(127);
}

static pid_t start_git(const char *const *words, int input, int output)
{
    pid_t child = fork();
    if (child == 0)
        become_git(words, input, output);
    return child;
}

/* Sends the commits of `after` that `before` does not reach, children first. An empty piece ends them: all, some or none. */
static bool send_proof(struct passage *passage, struct bytes asked)
{
    struct git_position before, after;
    if (!git_position_take_small(&asked, &before) || !bytes_start_with(asked, " "))
        return false;
    asked = bytes_after(asked, 1);
    char excluded[GIT_DIGITS_MOST + 2];
    if (!git_position_take_small(&asked, &after) || asked.size)
        return false;
    snprintf(excluded, sizeof(excluded), "^%s", before.digits);
    const char *list[] = {"git",
                          "--no-replace-objects",
                          "rev-list",
                          "--topo-order",
                          "--max-count=100000",
                          after.digits,
                          excluded,
                          NULL};
    const char *print[] = {"git", "--no-replace-objects", "cat-file", "--batch", NULL};
    int names[2], commits[2];
    if (pipe2(names, O_CLOEXEC) < 0 || pipe2(commits, O_CLOEXEC) < 0)
        return false;
    pid_t lister = start_git(list, -1, names[1]), printer = start_git(print, names[0], commits[1]);
    close(names[0]);
    close(names[1]);
    close(commits[1]);
    auto_fd int from = commits[0];
    bool is_sent = true;
    for (int got = 1; is_sent && got != 0;) {
        auto_buf struct buf piece = {0};
        got = relayed_read(from, &piece);
        if (got >= 0)
            relayed_add(&passage->to_way.bytes, RELAYED_PROOF, bytes_of(piece.bytes, piece.size));
        is_sent = flush_way(passage);
    }
    waitpid(lister, NULL, 0);
    waitpid(printer, NULL, 0);
    return is_sent;
}

/* Returns false if the record is not one that comes from outside. */
static bool take_record(struct passage *passage, enum relayed_kind kind, struct bytes content)
{
    switch (kind) {
    case RELAYED_BYTES:
        buf_add(&passage->to_git.bytes, content.at, content.size);
        return true;
    case RELAYED_SAID:
        fwrite(content.at, 1, content.size, stderr);
        return true;
    case RELAYED_PROVE:
        return send_proof(passage, content);
    case RELAYED_END:
        passage->is_over = true;
        passage->status = content.size == 1 && *content.at == '0' ? EXIT_FINE : EXIT_REFUSED;
        return true;
    case RELAYED_PROOF:
        return false;
    }
    return false;
}

static bool read_way(struct passage *passage)
{
    int got = relayed_read(passage->way, &passage->incoming);
    if (got <= 0)
        return got < 0;
    struct bytes rest = bytes_of(passage->incoming.bytes, passage->incoming.size), content;
    enum relayed_kind kind;
    while (!passage->is_over && relayed_take(&rest, &kind, &content) == RELAYED_TAKEN) {
        if (!take_record(passage, kind, content))
            return false;
    }
    relayed_drop(&passage->incoming, passage->incoming.size - rest.size);
    return true;
}

static void read_git(struct passage *passage)
{
    auto_buf struct buf piece = {0};
    int got = relayed_read(STDIN_FILENO, &piece);
    if (got > 0)
        relayed_add(&passage->to_way.bytes, RELAYED_BYTES, bytes_of(piece.bytes, piece.size));
    if (got != 0)
        return;
    passage->git_ended = true;
    relayed_add(&passage->to_way.bytes, RELAYED_END, bytes_of("", 0));
}

enum { GIT_SENDS, GIT_READS, WAY, ENDS };

/* Returns false if one end is gone. */
static bool serve(struct passage *passage, const struct pollfd polls[ENDS])
{
    if (polls[GIT_READS].revents && relayed_send(&passage->to_git, STDOUT_FILENO, PIPE_BUF) < 0)
        return false;
    if (polls[GIT_SENDS].revents)
        read_git(passage);
    if (polls[WAY].revents & POLLOUT && relayed_send(&passage->to_way, passage->way, RELAYED_QUEUE) < 0)
        return false;
    if (polls[WAY].revents & (POLLIN | POLLHUP | POLLERR))
        return read_way(passage);
    return true;
}

static int pass_bytes(int way)
{
    struct passage passage = {.way = way, .status = EXIT_REFUSED};
    bool is_served = true;
    while (is_served && !(passage.is_over && !relayed_waiting(&passage.to_git))) {
        bool reads_git =
            !passage.git_ended && relayed_waiting(&passage.to_way) < RELAYED_QUEUE && !passage.is_over;
        bool reads_way = relayed_waiting(&passage.to_git) < RELAYED_QUEUE && !passage.is_over;
        short way_events =
            (short)((reads_way ? POLLIN : 0) | (relayed_waiting(&passage.to_way) ? POLLOUT : 0));
        struct pollfd polls[ENDS] = {
            [GIT_SENDS] = {.fd = reads_git ? STDIN_FILENO : -1, .events = POLLIN},
            [GIT_READS] = {.fd = relayed_waiting(&passage.to_git) ? STDOUT_FILENO : -1, .events = POLLOUT},
            [WAY] = {.fd = way_events ? way : -1, .events = way_events}};
        is_served = poll(polls, ENDS, -1) < 0 || serve(&passage, polls);
    }
    buf_free(&passage.to_way.bytes);
    buf_free(&passage.to_git.bytes);
    buf_free(&passage.incoming);
    return passage.status;
}

int cmd_git_ssh(const struct world *world, const struct args *args)
{
    struct arena arena = {0};
    struct ssh_call call;
    struct err err = {0};
    char sentence[ASKING_LONGEST + 1];
    int content = -1;
    const char *problem = read_call(&arena, args, &call);
    const char *line = problem ? ""
                               : arena_printf(&arena, FORGING_WORD "%s\t%s\t%s\t%s\t%s\t%s", call.service,
                                              call.user, call.host, call.port, call.path, protocol_version());
    if (!problem && strlen(line) > ASKING_LONGEST)
        problem = "the path of the repository is too long";
    int letter = problem ? 'r' : asking_ask_content(line, SECONDS_FOR_REPLY, sentence, &content, &err);
    auto_fd int way = content;
    const char *why = problem         ? problem
                      : letter == 'r' ? sentence + strcspn(sentence, " ") + 1
                                      : "bawn did not answer";
    int status = letter < 0                  ? say_err(world, &err)
                 : letter == 'g' && way >= 0 ? pass_bytes(way)
                                             : say_bad_input(world, why, NULL);
    arena_free(&arena);
    return status;
}
