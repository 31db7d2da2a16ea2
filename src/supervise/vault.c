#include "supervise/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "kernel/handed.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "policy/host.h"
#include "supervise/helper.h"

enum {
    LARGEST_CERTIFICATE = 64 * 1024,
    START_MILLISECONDS = 20000,
    MOST_READS = 4096,  /* of secrets: a vault that was taken over must not run commands for ever */
    MOST_EVENTS = 1024, /* nor fill the disk */
    MOST_MISUSED = 256,
};

/* --- start -------------------------------------------------------------------------------------------------------- */

/* The value's shape. A command is not run before its secret is needed. */
static int make_placeholder(struct vault *vault, const struct secret_object *secret, const char *hosts,
                            bool is_of_forge, struct err *err)
{
    not_zeroed char value[8192]; /* on the stack, which is never laid aside */
    size_t size = 0;
    bool is_cheap = secret->source != SECRET_COMMAND && secret->source != SECRET_KEYRING;
    auto_fd int fd =
        is_cheap ? secret_read(secret, vault->plan->policy->request.home, vault->environment, err) : -1;
    if (is_cheap && fd < 0)
        return -1;
    for (ssize_t got = 1; is_cheap && got > 0 && size < sizeof(value); size += (size_t)(got > 0 ? got : 0))
        got = read(fd, value + size, sizeof(value) - size);
    while (size && (value[size - 1] == '\n' || value[size - 1] == '\r'))
        size--;
    struct kept_secret kept = {.secret = secret, .hosts = hosts, .is_of_forge = is_of_forge};
    int result = placeholder_make(&vault->arena, secret->name, bytes_of(value, size), &kept.placeholder, err);
    explicit_bzero(value, sizeof(value));
    if (result == 0)
        vec_push(&vault->secrets, kept);
    return result;
}

static int write_settings(struct vault *vault, struct err *err)
{
    auto_buf struct buf lines = {0};
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (kept->kind)
            buf_printf(&lines, "token %s %s ", token_kind_name(kept->kind), kept->entry);
        else
            buf_add_str(&lines, "secret ");
        buf_printf(&lines, "%s %s %s\n", kept->secret->name, kept->placeholder, kept->hosts);
        for (size_t i = 0; i < kept->secret->carrier_count; i++) {
            const struct secret_carrier *carrier = &kept->secret->carriers[i];
            buf_printf(&lines, "carrier %s%s%s\n", carrier_name(carrier->kind), carrier->name ? " " : "",
                       carrier->name ? carrier->name : "");
        }
        if (kept->secret->source == SECRET_COMMAND)
            buf_add_str(&lines, "issued yes\n");
    }
    tokens_add_forges(vault->plan, &lines);
    tokens_add_requests(vault->plan, &lines);
    judged_add_rules(vault->plan, &lines);
    leaks_add_settings(vault, &lines);
    auto_fd int fd = memfd_create("bawn-vault", MFD_CLOEXEC);
    if (fd < 0 || write(fd, buf_text(&lines), lines.size) != (ssize_t)lines.size ||
        lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot write the vault's settings");
    return fd_take(&fd);
}

/* One of its two processes. The last descriptor is the other's end of the way between them. */
static pid_t start_part(const struct vault *vault, const char *path, const char *name, const int *fds,
                        size_t count, struct err *err)
{
    static const char *const kept[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"}; /* the user's own trust store */
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        helper_become(&(struct helper_program){path, name, vault->environment, kept, array_len(kept)}, parent,
                      fds, count);
    if (child < 0)
        err_sys(err, errno, "cannot make a process for bawn-vault");
    return child;
}

/* Makes both ends of a way for messages. */
static int open_pair(int *ret_own, int *ret_other, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_sys(err, errno, "cannot make a socket");
    *ret_own = pair[0];
    *ret_other = pair[1];
    return 0;
}

static int start(struct vault *vault, const char *path, struct err *err)
{
    auto_fd int front = -1, back = -1, egress = -1, to_back = -1, to_front = -1;
    auto_fd int front_settings = write_settings(vault, err), back_settings = write_settings(vault, err);
    if (front_settings < 0 || back_settings < 0 || open_pair(&vault->front_fd, &front, err) < 0 ||
        open_pair(&vault->back_fd, &back, err) < 0 || open_pair(&vault->egress_fd, &egress, err) < 0 ||
        open_pair(&to_back, &to_front, err) < 0)
        return -1;
    const int front_fds[] = {front_settings, front, egress, to_back},
              back_fds[] = {back_settings, back, to_front};
    pid_t child = start_part(vault, path, VAULT_FRONT, front_fds, array_len(front_fds), err);
    if (child < 0)
        return -1;
    vault->front = child;
    child = start_part(vault, path, VAULT_BACK, back_fds, array_len(back_fds), err);
    if (child < 0)
        return -1;
    vault->back = child;
    return 0;
}

/* Waits for the first line of one of its processes, which begins with the word; any other is the reason why it cannot start. */
static int wait_for_word(int fd, const char *word, char *line, size_t size, struct err *err)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int passed = -1;
    if (poll(&ready, 1, START_MILLISECONDS) <= 0)
        return err_set(err, "bawn-vault does not start");
    ssize_t got = passing_receive(fd, line, size - 1, &passed);
    fd_close(passed);
    if (got <= 0)
        return err_set(err, "bawn-vault ended when it was started");
    line[got] = '\0';
    if (!text_starts_with(line, word))
        return err_set(err, "bawn-vault cannot start: %s", line);
    return 0;
}

static int wait_for_both(struct vault *vault, struct err *err)
{
    static const char word[] = "certificate ";
    not_zeroed char line[LARGEST_CERTIFICATE];
    if (wait_for_word(vault->front_fd, word, line, sizeof(line), err) < 0)
        return -1;
    vault->certificate = arena_str(&vault->arena, line + strlen(word));
    return wait_for_word(vault->back_fd, "ready ", line, sizeof(line), err);
}

static int add_secret(struct vault *vault, const struct operation *operation, struct err *err)
{
    return operation->is_login
               ? logins_add(vault, operation, err)
               : make_placeholder(vault, operation->because->secret, operation->value, false, err);
}

static int add_token(struct vault *vault, const struct operation *operation, struct err *err)
{
    const struct secret_object *token = tokens_needed(vault->plan, operation);
    if (!token)
        return 0;
    const char *hosts = host_with_port(&vault->arena, token->hosts[0].name, token->hosts[0].port);
    return make_placeholder(vault, token, hosts, true, err);
}

int vault_begin(const struct plan *plan, const char *const *environment, const char *state,
                struct journal *journal, struct vault *ret_vault, struct err *err)
{
    struct vault *vault = ret_vault;
    vault->plan = plan;
    vault->environment = environment;
    vault->journal = journal;
    vault->state = state;
    const struct operation *secret = operations_find(&plan->operations, OP_SECRET),
                           *request = operations_find(&plan->operations, OP_REQUEST);
    if (!secret && !request)
        return 0;
    const char *path = libexec_find(&vault->arena, "bawn-vault");
    if (!path && !secret) {
        err_set(err, "the policy judges requests to %s, and bawn-vault is not installed beside bawn",
                request->value);
        return err_hint(err, "build bawn with OpenSSL (libssl-dev), or leave out rules with a path");
    }
    if (!path) {
        err_set(err, "the policy keeps %s outside, and bawn-vault is not installed beside bawn",
                secret->name);
        return err_hint(err, "build bawn with OpenSSL (libssl-dev), or pass --secrets inside");
    }
    vec_each (const struct operation, operation, &plan->operations) {
        if ((operation->kind == OP_SECRET && add_secret(vault, operation, err) < 0) ||
            add_token(vault, operation, err) < 0)
            return -1;
    }
    return leaks_begin(vault, err) < 0 || start(vault, path, err) < 0 || wait_for_both(vault, err) < 0 ? -1
                                                                                                       : 0;
}

const char *vault_placeholder(const struct vault *vault, const char *name)
{
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (strcmp(kept->secret->name, name) == 0)
            return kept->placeholder;
    }
    return NULL;
}

const char *vault_placeholder_lines(struct vault *vault)
{
    auto_buf struct buf lines = {0};
    vec_each (const struct kept_secret, kept, &vault->secrets)
        buf_printf(&lines, "placeholder %s %s\n", kept->secret->name, kept->placeholder);
    return arena_str(&vault->arena, buf_text(&lines));
}

/* --- while the command runs --------------------------------------------------------------------------------------- */

static int end_part(pid_t *pid)
{
    int status = 0;
    if (*pid > 0) {
        kill(*pid, SIGKILL);
        waitpid(*pid, &status, 0);
    }
    *pid = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Its authority is lost with it, so it is not started again: its hosts cannot be reached any more. */
static void vault_died(struct vault *vault, bool is_front)
{
    char text[32];
    loop_remove(vault->loop, vault->front_fd);
    loop_remove(vault->loop, vault->back_fd);
    int first = end_part(is_front ? &vault->front : &vault->back);
    end_part(is_front ? &vault->back : &vault->front);
    snprintf(text, sizeof(text), "%d", first);
    journal_event(vault->journal, "vault-died", "status", text);
}

/* Records what happened to a secret, by its name alone. */
static void note_secret(struct vault *vault, const char *name, const char *what)
{
    journal_event(vault->journal, "secret", "name", name, "what", what);
}

/* A command can cause many such records: they are counted apart, so that they hide no alarm. */
static void note_rejected(struct vault *vault, const char *name)
{
    if (vault_placeholder(vault, name) && vault->git_events++ < MOST_EVENTS)
        note_secret(vault, name, "was refused by the server");
}

static void answer_need(struct vault *vault, const char *name)
{
    struct err err = {0};
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (strcmp(kept->secret->name, name) != 0)
            continue;
        const char *line = arena_printf(&vault->arena, "secret %s", name);
        if (vault->asked++ >= MOST_READS)
            return;
        auto_fd int fd =
            secret_read(kept->secret, vault->plan->policy->request.home, vault->environment, &err);
        if (fd < 0 || passing_send(vault->back_fd, line, strlen(line), fd) < 0)
            note_secret(vault, name, "could not be read");
        else
            note_secret(vault, name, "read");
        return;
    }
}

/* The back refreshes a login: it gets the way to a process that stores the new tokens. */
static void answer_refresh(struct vault *vault, const char *name)
{
    struct err err = {0};
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (kept->kind != TOKEN_REFRESH || strcmp(kept->secret->name, name) != 0 ||
            vault->asked++ >= MOST_READS)
            continue;
        const char *line = arena_printf(&vault->arena, "refresh %s", name);
        auto_fd int fd = login_keeper_start(kept, vault->plan->policy->request.starts[START_DATA], &err);
        if (fd < 0 || passing_send(vault->back_fd, line, strlen(line), fd) < 0)
            note_secret(vault, name, "could not be refreshed");
        else
            note_secret(vault, name, "is being refreshed");
        return;
    }
}

void vault_login_changed(void *self, const char *file)
{
    struct vault *vault = self;
    char line[LONGEST_LINE + 1];
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (!kept->kind || strcmp(kept->secret->from, file) != 0 || vault->back <= 0)
            continue;
        int size = snprintf(line, sizeof(line), "changed %s", kept->secret->name);
        if (size >= (int)sizeof(line) || passing_send(vault->back_fd, line, (size_t)size, -1) < 0)
            return; /* its end is noticed elsewhere */
    }
}

/* Lines of the back that say what happened to a secret, and how it is recorded. */
static const struct {
    const char *told, *what;
} happenings[] = {
    {"missing", "could not be read: its source gave nothing"},
    {"unusable", "cannot be sent: it must be 8 to 8192 characters without spaces"},
    {"lost", "was refreshed, and could not be stored: you may have to log in again"},
    {"tokenless", "could not be read: its source gave JSON without a token"},
    {"undated", "could not be read: its source says when it expires, and not in a form that bawn knows"},
    {"expired", "could not be read: its source gave one that has expired"},
    {"kept", "could not be read again: the old value is used until it expires"},
    {"unsafe", "was not sent: it has a character that cannot be put there safely"},
};

static void note_happening(struct vault *vault, const char *told, const char *name)
{
    for (size_t i = 0; i < array_len(happenings); i++) {
        if (strcmp(told, happenings[i].told) == 0)
            note_secret(vault, name, happenings[i].what);
    }
}

/* Lines of the back: `need NAME`, `refresh NAME`, `rejected NAME`, `trouble SENTENCE`, and those above. */
static int back_ready(void *self, short events not_used, struct err *err not_used)
{
    struct vault *vault = self;
    char line[LONGEST_LINE + 1];
    int fd = -1;
    ssize_t got = passing_receive(vault->back_fd, line, LONGEST_LINE, &fd);
    fd_close(fd);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0) {
        vault_died(vault, false);
        return 0;
    }
    line[got] = '\0';
    char *rest = line;
    const char *told = strsep(&rest, " ");
    if (!rest)
        return 0;
    if (strcmp(told, "need") == 0)
        answer_need(vault, rest);
    else if (strcmp(told, "refresh") == 0)
        answer_refresh(vault, rest);
    else if (strcmp(told, "rejected") == 0)
        note_rejected(vault, rest);
    else if (vault->events++ >= MOST_EVENTS)
        return 0;
    else if (strcmp(told, "trouble") == 0)
        journal_event(vault->journal, "network-trouble", "why", rest);
    else if (vault_placeholder(vault, rest))
        note_happening(vault, told, rest);
    return 0;
}

/* A helper says so, which may be taken over: a record and a sentence is all that it can cause. */
void vault_note_misused(void *self, const char *name, const char *host, const char *port)
{
    struct vault *vault = self;
    if (!vault_placeholder(vault, name) || vault->events++ >= MOST_EVENTS)
        return;
    journal_event(vault->journal, "secret-misused", "name", name, "host", host, "port", port);
    if (vault->misused.count == MOST_MISUSED)
        return;
    vec_push(&vault->misused,
             (struct misused){arena_str(&vault->arena, name), arena_str(&vault->arena, host)});
    if (vault->tell)
        vault->tell(vault->context, &vault->misused.at[vault->misused.count - 1]);
}

/* `misused NAME HOST PORT` from the front. */
static void take_misused(struct vault *vault, char *rest)
{
    const char *name = strsep(&rest, " "), *host = rest ? strsep(&rest, " ") : NULL;
    if (host && rest)
        vault_note_misused(vault, name, host, rest);
}

static int front_ready(void *self, short events not_used, struct err *err not_used)
{
    struct vault *vault = self;
    char line[LONGEST_LINE + 1];
    int fd = -1;
    ssize_t got = passing_receive(vault->front_fd, line, LONGEST_LINE, &fd);
    fd_close(fd);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0) {
        vault_died(vault, true);
        return 0;
    }
    line[got] = '\0';
    char *rest = line;
    const char *told = strsep(&rest, " ");
    if (strcmp(told, "misused") == 0 && rest)
        take_misused(vault, rest);
    else if (strcmp(told, "refused") == 0 && rest)
        judged_note_refused(vault, rest);
    else if (strcmp(told, "git") == 0 && rest)
        tokens_note(vault, rest);
    else if (strcmp(told, "leak") == 0 && rest)
        leaks_note(vault, rest);
    else if (strcmp(told, "untold") == 0)
        judged_note_untold(vault);
    return 0;
}

void vault_watch(struct vault *vault, struct loop *loop)
{
    vault->loop = loop;
    if (!vault->front)
        return;
    leak_files_note_unread(vault);
    loop_add(loop, vault->front_fd, POLLIN, front_ready, vault);
    loop_add(loop, vault->back_fd, POLLIN, back_ready, vault);
}

/* The back ends with its link, when no refresh is under way. */
static void end_back(struct vault *vault)
{
    enum { PATIENCE = 40000, PAUSE = 1000 }; /* milliseconds, microseconds: its own limit is shorter */
    fd_close(fd_take(&vault->back_fd));
    for (int64_t until = now_milliseconds() + PATIENCE; vault->back > 0 && now_milliseconds() < until;
         pause_microseconds(PAUSE)) {
        if (waitpid(vault->back, NULL, WNOHANG) != 0)
            vault->back = 0;
    }
    end_part(&vault->back);
}

void vault_end(struct vault *vault)
{
    end_part(&vault->front);
    end_back(vault);
}

void vault_free(struct vault *vault)
{
    vault_end(vault);
    fd_close(vault->front_fd);
    fd_close(vault->back_fd);
    fd_close(vault->egress_fd);
    vec_free(&vault->secrets);
    vec_free(&vault->misused);
    vec_free(&vault->leaked);
    vec_free(&vault->unread);
    arena_free(&vault->arena);
}
