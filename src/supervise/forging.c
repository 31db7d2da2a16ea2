#include "supervise/forging.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/process.h"
#include "kernel/relayed.h"
#include "outside/outside.h"
#include "policy/decide.h"
#include "policy/forge.h"
#include "supervise/helper.h"
#include "supervise/known_hosts.h"

enum {
    MOST_CONNECTIONS = 32,
    MOST_EVENTS = 4096, /* a sandbox must not fill the disk */
    LONGEST_TOLD = 1024,
};

/* --- programs ----------------------------------------------------------------------------------------------------- */

/* A repository that git reaches by ssh; NULL: the operation is none, or bawn-vault adds its token. */
static const struct forge_object *by_ssh(const struct operation *operation)
{
    const struct forge_object *forge = operation->kind == OP_FORGE ? operation->because->forge : NULL;
    return forge && !forge->token ? forge : NULL;
}

void forging_begin(struct forging *forging, const struct plan *plan, const char *const *environment,
                   struct journal *journal, struct loop *loop)
{
    *forging = (struct forging){0};
    bool is_any = false;
    vec_each (const struct operation, operation, &plan->operations)
        is_any |= by_ssh(operation) != NULL;
    if (!is_any)
        return;
    forging->plan = plan;
    forging->environment = environment;
    forging->journal = journal;
    forging->loop = loop;
    forging->relay = libexec_find(&forging->arena, FORGE_PROGRAM);
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

struct wanted {
    bool is_push;
    const char *user, *host, *path;
    uint16_t port;       /* 0: none was named */
    const char *version; /* of git's protocol: "0", "1" or "2" */
};

/* Fields with tabs between them. Returns false if the line is not such a question. */
static bool read_wanted(struct arena *arena, const char *line, struct wanted *ret_wanted)
{
    enum { WORD, SERVICE, USER, HOST, PORT, PATH, VERSION, COUNT };
    const char *fields[COUNT];
    char *rest = arena_str(arena, line);
    size_t count = 0;
    for (; rest && count < COUNT; count++)
        fields[count] = strsep(&rest, "\t");
    if (count != COUNT || rest)
        return false;
    *ret_wanted = (struct wanted){.is_push = strcmp(fields[SERVICE], "push") == 0,
                                  .user = fields[USER],
                                  .host = fields[HOST],
                                  .path = fields[PATH],
                                  .version = fields[VERSION]};
    static const char *const versions[] = {"0", "1", "2"};
    return (ret_wanted->is_push || strcmp(fields[SERVICE], "fetch") == 0) &&
           (!*fields[PORT] || port_parse(fields[PORT], &ret_wanted->port)) &&
           text_is_among(ret_wanted->version, versions, array_len(versions));
}

static bool is_at(const struct forge_object *forge, const struct wanted *wanted)
{
    return strcasecmp(forge->host, wanted->host) == 0 &&
           (!wanted->port || wanted->port == forge_ssh_port(forge));
}

/* "/acme/app.git", "acme/app/" and "acme/app" are one repository. */
static bool is_path(const char *path, const char *asked)
{
    size_t size = strlen(path);
    asked += *asked == '/';
    if (strncmp(asked, path, size) != 0)
        return false;
    const char *rest = asked + size;
    rest += text_starts_with(rest, ".git") ? strlen(".git") : 0;
    return !*rest || strcmp(rest, "/") == 0;
}

static bool is_wanted(const struct forge_object *forge, const struct wanted *wanted)
{
    return is_at(forge, wanted) && is_path(forge->path, wanted->path) &&
           (!*wanted->user || strcmp(wanted->user, forge->user) == 0);
}

/* The first rule for the repository that gives the right; NULL: *ret_why says why there is none. */
static const struct operation *find_rule(const struct forging *forging, struct arena *arena,
                                         const struct wanted *wanted, const char **ret_why)
{
    const struct operation *known = NULL;
    vec_each (const struct operation, operation, &forging->plan->operations) {
        const struct forge_object *forge = by_ssh(operation);
        if (!forge || !is_wanted(forge, wanted))
            continue;
        if (wanted->is_push ? forge->ref_count > 0 : forge->may_fetch)
            return operation;
        known = operation;
    }
    *ret_why =
        known ? arena_printf(arena, "no rule lets git %s %s", wanted->is_push ? "push to" : "fetch from",
                             known->name)
              : arena_printf(arena, "no `forge` rule names %s%s%s/%s", wanted->user, *wanted->user ? "@" : "",
                             wanted->host, wanted->path + (*wanted->path == '/'));
    return NULL;
}

/* --- ssh and bawn-forge ------------------------------------------------------------------------------------------- */

/* Finds the user's ssh, with a command that is made from the rule alone. */
static int find_ssh(const struct forging *forging, struct arena *arena, const struct forge_object *forge,
                    const struct wanted *wanted, struct outside_program *ret_program, struct err *err)
{
    const char *words[16] = {"ssh",
                             "-T",
                             "-x",
                             "-a",
                             "-oBatchMode=yes",
                             "-oClearAllForwardings=yes",
                             "-oPermitLocalCommand=no",
                             "-oSendEnv=GIT_PROTOCOL"};
    const char *const version[] = {
        *wanted->version == '0' ? NULL : arena_printf(arena, "GIT_PROTOCOL=version=%s", wanted->version),
        NULL};
    const struct outside outside = outside_of_plan(forging->plan, forging->environment);
    size_t count = 8;
    if (forge->port)
        words[count++] = arena_printf(arena, "-p%u", forge->port);
    words[count++] = "--";
    words[count++] = arena_printf(arena, "%s@%s", forge->user, forge->host);
    words[count++] =
        arena_printf(arena, "git-%s '%s.git'", wanted->is_push ? "receive-pack" : "upload-pack", forge->path);
    if (ssh_files_check(&outside, err) < 0)
        return -1;
    int found = outside_find(&outside, arena, words, version, ret_program, err);
    return found ? found : err_set(err, "ssh is not on your PATH outside");
}

/* In the new process. */
static _Noreturn void become_ssh(const struct outside_program *ssh, pid_t parent, const int streams[3])
{
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid(); /* it has no terminal to ask on */
    for (int i = 0; i < 3; i++) {
        if (dup2(streams[i], i) < 0)
            _exit(1);
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(1);
    outside_become(ssh);
    _exit(127);
}

/*
 * The rules for the repository that ssh is led to, as src/forge/settings.c reads them. What was asked for may fit others, too: a request need not
 * name a user or a port, and at another port is another server.
 */
static int write_settings(const struct forging *forging, const struct forge_object *led_to,
                          const struct wanted *wanted, struct err *err)
{
    auto_buf struct buf lines = {0};
    buf_add_str(&lines, wanted->is_push ? "push" : "fetch");
    vec_each (const struct operation, operation, &forging->plan->operations) {
        const struct forge_object *forge = by_ssh(operation);
        if (!forge || !wanted->is_push || !forge_is_same(forge, led_to) ||
            strcmp(forge->user, led_to->user) != 0 || !forge->ref_count)
            continue;
        buf_printf(&lines, "\nrule -%s%s%s", forge->may_force ? "f" : "", forge->may_delete ? "d" : "",
                   forge->may_send_options ? "o" : "");
        for (size_t i = 0; i < forge->ref_count; i++)
            buf_printf(&lines, " %s", forge->refs[i]);
    }
    auto_fd int fd = memfd_create(FORGE_PROGRAM, MFD_CLOEXEC);
    if (fd < 0 || write(fd, buf_text(&lines), lines.size) != (ssize_t)lines.size ||
        lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot write the settings of bawn-forge");
    return fd_take(&fd);
}

/* Pipes and sockets of one connection; each end is closed here, and stays open in the process that uses it. */
struct ends {
    int for_ssh[3], of_ssh[3]; /* standard input, output and error; and their other ends */
    int client, relay_client;
    int link, relay_link;
};

static int open_ends(struct ends *ends, struct err *err)
{
    int pairs[5][2];
    for (size_t i = 0; i < 5; i++)
        pairs[i][0] = pairs[i][1] = -1;
    bool is_open = true;
    for (size_t i = 0; i < 3; i++)
        is_open = is_open && pipe2(pairs[i], O_CLOEXEC) == 0;
    is_open = is_open && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pairs[3]) == 0 &&
              socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pairs[4]) == 0;
    *ends = (struct ends){.for_ssh = {pairs[0][0], pairs[1][1], pairs[2][1]},
                          .of_ssh = {pairs[0][1], pairs[1][0], pairs[2][0]},
                          .client = pairs[3][0],
                          .relay_client = pairs[3][1],
                          .link = pairs[4][0],
                          .relay_link = pairs[4][1]};
    return is_open ? 0 : err_sys(err, errno, "cannot make a way for git");
}

static void close_ends(const struct ends *ends)
{
    for (size_t i = 0; i < 3; i++) {
        fd_close(ends->for_ssh[i]);
        fd_close(ends->of_ssh[i]);
    }
    fd_close(ends->client);
    fd_close(ends->relay_client);
    fd_close(ends->link);
    fd_close(ends->relay_link);
}

/* Starts both. Either may fail: then the other is ended. */
static int start(const struct forging *forging, const struct forge_object *forge, const struct wanted *wanted,
                 const struct ends *ends, struct forging_connection *ret_connection, struct err *err)
{
    auto_arena struct arena arena = {0};
    struct outside_program program = OUTSIDE_NONE;
    auto_fd int settings = write_settings(forging, forge, wanted, err);
    if (settings < 0 || find_ssh(forging, &arena, forge, wanted, &program, err) < 0)
        return -1;
    const int fds[] = {settings,        ends->relay_client, ends->of_ssh[0],
                       ends->of_ssh[1], ends->of_ssh[2],    ends->relay_link};
    pid_t parent = getpid(), relay = fork();
    if (relay == 0)
        helper_become(&(struct helper_program){forging->relay, FORGE_PROGRAM, forging->environment, NULL, 0},
                      parent, fds, array_len(fds));
    pid_t ssh = relay < 0 ? -1 : fork();
    if (ssh == 0)
        become_ssh(&program, parent, ends->for_ssh);
    int errnum = errno;
    outside_close(&program);
    if (ssh < 0) {
        err_sys(err, errnum, "cannot make a process for git");
        helper_end(relay);
        return -1;
    }
    ret_connection->relay = relay;
    ret_connection->ssh = ssh;
    return 0;
}

/* --- while it goes on --------------------------------------------------------------------------------------------- */

/* "pushed BEFORE AFTER REF" or "refused …", of a process that the sandbox may have taken over: a record is all that it can cause. */
static void take_told(struct forging *forging, const struct forging_connection *connection, char *line)
{
    const char *fate = strsep(&line, " "), *before = strsep(&line, " "), *after = strsep(&line, " ");
    bool is_known = strcmp(fate, "pushed") == 0 || strcmp(fate, "refused") == 0;
    if (!is_known || !after || !line)
        return;
    /* What was pushed is not counted: no number of refusals hides it, and the journal has a largest size. */
    if (*fate == 'r' && forging->events++ >= MOST_EVENTS)
        journal_leave_out(forging->journal);
    else
        journal_event(forging->journal, "forge", "repository", connection->repository, "what", fate, "ref",
                      line, "before", before, "after", after);
}

/* Takes the next line of a relay. Returns what recv() returns. */
static ssize_t take_line(struct forging *forging, const struct forging_connection *connection)
{
    char line[LONGEST_TOLD + 1];
    ssize_t got = recv(connection->link_fd, line, LONGEST_TOLD, MSG_DONTWAIT);
    if (got <= 0)
        return got;
    line[got] = '\0';
    take_told(forging, connection, line);
    return got;
}

static void forget(struct forging *forging, size_t index)
{
    struct forging_connection *connection = &forging->connections.at[index];
    helper_end(connection->relay);
    helper_end(connection->ssh);
    while (take_line(forging, connection) > 0) { /* the run may end before what was pushed is heard */
    }
    loop_remove(forging->loop, connection->link_fd);
    close(connection->link_fd);
    *connection = forging->connections.at[--forging->connections.count];
}

static int link_ready(void *self, short events not_used, struct err *err not_used)
{
    struct forging *forging = self;
    for (size_t i = forging->connections.count; i-- > 0;) {
        ssize_t got = take_line(forging, &forging->connections.at[i]);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            forget(forging, i);
    }
    return 0;
}

void forging_end(struct forging *forging)
{
    while (forging->connections.count)
        forget(forging, 0);
    vec_free(&forging->connections);
    arena_free(&forging->arena);
    *forging = (struct forging){0};
}

/* --- a question --------------------------------------------------------------------------------------------------- */

static const char *why_not(const struct forging *forging)
{
    if (!forging->plan)
        return "no `forge` rule is in force here";
    if (!forging->relay)
        return "bawn-forge is not installed beside bawn";
    return forging->connections.count < MOST_CONNECTIONS ? NULL : "too many connections of git at once";
}

static void note(struct forging *forging, const char *repository, const char *what, const char *why,
                 const char *program, int pid)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", pid);
    if (forging->events++ >= MOST_EVENTS)
        journal_leave_out(forging->journal);
    else
        journal_event(forging->journal, "forge", "repository", repository, "what", what, "why", why,
                      "program", program, "pid", number);
}

int forging_take(struct forging *forging, struct arena *arena, const char *line, const char *program, int pid,
                 const char **ret_sentence)
{
    struct wanted wanted;
    struct ends ends;
    struct err err = {0};
    *ret_sentence = why_not(forging);
    if (*ret_sentence)
        return -1;
    if (!read_wanted(arena, line, &wanted)) {
        *ret_sentence = "this is not a question about a repository";
        return -1;
    }
    const char *what = wanted.is_push ? "push" : "fetch";
    const struct operation *rule = find_rule(forging, arena, &wanted, ret_sentence);
    if (!rule) {
        note(forging, arena_printf(arena, "%s/%s", wanted.host, wanted.path), "not served", *ret_sentence,
             program, pid);
        return -1;
    }
    struct forging_connection connection = {.repository = rule->name};
    if (open_ends(&ends, &err) < 0 ||
        start(forging, rule->because->forge, &wanted, &ends, &connection, &err) < 0) {
        /* The reason may name places that are not there inside. */
        note(forging, rule->name, "not served", err.message, program, pid);
        *ret_sentence = "ssh was not started outside; `bawn log` says why";
        close_ends(&ends);
        return -1;
    }
    connection.link_fd = fd_take(&ends.link);
    int client = fd_take(&ends.client);
    close_ends(&ends);
    loop_add(forging->loop, connection.link_fd, POLLIN, link_ready, forging);
    vec_push(&forging->connections, connection);
    note(forging, rule->name, what, NULL, program, pid);
    *ret_sentence =
        arena_printf(arena, "git may %s %s", wanted.is_push ? "push to" : "fetch from", rule->name);
    return client;
}
