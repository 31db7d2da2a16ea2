#include "supervise/vault.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "kernel/ports.h"
#include "supervise/helper.h"

enum {
    MOST_READS = 4096,  /* of secrets: a vault that was taken over must not run commands for ever */
    MOST_EVENTS = 1024, /* nor fill the disk */
    MOST_MISUSED = 256,
};

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

/* Why the back cannot start, in the journal and in the summary. */
static void note_trouble(struct vault *vault, const char *why)
{
    const char *sentence = arena_printf(&vault->arena, "bawn-vault cannot start: %s", why);
    vault->has_back_spoken = true;
    journal_event(vault->journal, "network-trouble", "why", sentence);
    if (vault->refused)
        vault->refused(vault->refused_self, "", "", sentence);
}

/* Records what happened to a secret, by its name alone. */
static void note_secret(struct vault *vault, const char *name, const char *what)
{
    journal_event(vault->journal, "secret", "name", name, "what", what);
}

/* The same where requests fail for it. */
static void note_secret_trouble(struct vault *vault, const char *name, const char *what)
{
    journal_event(vault->journal, "secret-trouble", "name", name, "what", what);
}

/* A command can cause many such records: they are counted apart, so that they hide no alarm. */
static void note_rejected(struct vault *vault, const char *name)
{
    if (!vault_placeholder(vault, name))
        return;
    if (vault->rejections++ >= MOST_EVENTS)
        journal_leave_out(vault->journal);
    else
        note_secret_trouble(vault, name, "was refused by the server");
}

static void answer_need(struct vault *vault, const char *name)
{
    struct err err = {0};
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (strcmp(kept->secret->name, name) != 0)
            continue;
        const char *line = arena_printf(&vault->arena, "secret %s", name);
        if (vault->is_over || vault->asked++ >= MOST_READS)
            return;
        auto_fd int fd = secret_read(kept->secret, vault->plan, vault->environment, &err);
        if (fd < 0)
            note_secret_trouble(vault, name,
                                arena_printf(&vault->arena, "could not be read: %s", err.message));
        else if (passing_send(vault->back_fd, line, strlen(line), fd) < 0)
            note_secret_trouble(vault, name, "could not be read");
        else
            note_secret(vault, name, "is being read");
        return;
    }
}

/* The back refreshes a login: it gets the way to a process that stores the new tokens. */
static void answer_refresh(struct vault *vault, const char *name)
{
    struct err err = {0};
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (kept->kind != TOKEN_REFRESH || strcmp(kept->secret->name, name) != 0 || vault->is_over ||
            vault->asked++ >= MOST_READS)
            continue;
        const char *line = arena_printf(&vault->arena, "refresh %s", name);
        auto_fd int fd = login_keeper_start(kept, vault->plan->policy->request.starts[START_DATA], &err);
        if (fd < 0 || passing_send(vault->back_fd, line, strlen(line), fd) < 0)
            note_secret_trouble(vault, name, "could not be refreshed");
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
    {"lost", "was refreshed, but could not be stored: you may have to log in again"},
    {"tokenless", "could not be read: its source gave JSON without a token"},
    {"undated", "could not be read: its source says when it expires, but not in a form that bawn knows"},
    {"expired", "could not be read: its source gave one that has expired"},
    {"kept", "could not be read again: the old value is used until it expires"},
    {"unsafe", "was not sent: it has a character that cannot be put there safely"},
};

static void note_happening(struct vault *vault, const char *told, const char *name)
{
    for (size_t i = 0; i < array_len(happenings); i++) {
        if (strcmp(told, happenings[i].told) == 0)
            note_secret_trouble(vault, name, happenings[i].what);
    }
}

/* Lines of the back: `need NAME`, `refresh NAME`, `rejected NAME`, and those above; the first one is `ready now` or `trouble SENTENCE`. */
static void take_of_back(struct vault *vault, char *line)
{
    char *rest = line;
    const char *told = strsep(&rest, " ");
    if (!rest)
        return;
    if (strcmp(told, "need") == 0)
        answer_need(vault, rest);
    else if (strcmp(told, "refresh") == 0)
        answer_refresh(vault, rest);
    else if (strcmp(told, "rejected") == 0)
        note_rejected(vault, rest);
    else if (vault->events++ >= MOST_EVENTS)
        journal_leave_out(vault->journal);
    else if (strcmp(told, "trouble") == 0)
        note_trouble(vault, rest);
    else if (strcmp(told, "ready") == 0)
        vault->has_back_spoken = true;
    else if (vault_placeholder(vault, rest))
        note_happening(vault, told, rest);
}

static bool is_known_misuse(const struct vault *vault, const char *name, const char *host)
{
    vec_each (const struct misused, known, &vault->misused) {
        if (strcmp(known->name, name) == 0 && strcmp(known->host, host) == 0)
            return true;
    }
    return false;
}

/*
 * The helper that says so may be taken over: it can cause a record and a sentence, and nothing else. A placeholder that is sent to a host a
 * thousand times does not hide that another one is.
 */
void vault_note_misused(void *self, const char *name, const char *host, const char *port)
{
    struct vault *vault = self;
    if (!vault_placeholder(vault, name))
        return;
    bool is_new = vault->misused.count < MOST_MISUSED && !is_known_misuse(vault, name, host);
    if (!is_new && vault->misuses++ >= MOST_EVENTS)
        journal_leave_out(vault->journal);
    else
        journal_event(vault->journal, "secret-misused", "name", name, "host", host, "port", port);
    if (!is_new)
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

static void take_of_front(struct vault *vault, char *line)
{
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
}

/* Takes a line of one of the two. Returns -1 if there is none yet, 0 if it has ended. */
static int take_line(struct vault *vault, bool is_front)
{
    char line[LONGEST_LINE + 1];
    int fd = -1;
    ssize_t got = passing_receive(is_front ? vault->front_fd : vault->back_fd, line, LONGEST_LINE, &fd);
    fd_close(fd);
    if (got < 0 && errno == EAGAIN)
        return -1;
    if (got > 0) {
        line[got] = '\0';
        (is_front ? take_of_front : take_of_back)(vault, line);
        return 1;
    }
    if (!is_front && !vault->has_back_spoken)
        note_trouble(vault, "it ended when it was started");
    return 0;
}

/*
 * One of the two has ended, and so does the other. Its authority is lost, so it is not started again: its hosts cannot be reached any more.
 * A front whose back could not start ends, too: what the back said comes first.
 */
static void vault_died(struct vault *vault, bool is_front)
{
    char text[32];
    loop_remove(vault->loop, vault->front_fd);
    loop_remove(vault->loop, vault->waiting_fd);
    loop_remove(vault->loop, vault->back_fd);
    if (is_front && vault->back > 0 && !vault->has_back_spoken)
        take_line(vault, false);
    int first = end_part(is_front ? &vault->front : &vault->back);
    end_part(is_front ? &vault->back : &vault->front);
    snprintf(text, sizeof(text), "%d", first);
    journal_event(vault->journal, "vault-died", "status", text);
}

static int front_ready(void *self, short events not_used, struct err *err not_used)
{
    if (take_line(self, true) == 0)
        vault_died(self, true);
    return 0;
}

static int back_ready(void *self, short events not_used, struct err *err not_used)
{
    if (take_line(self, false) == 0)
        vault_died(self, false);
    return 0;
}

/* The front has a first connection for the back, or has ended, which front_ready sees. */
static int connection_waits(void *self, short events, struct err *err not_used)
{
    struct vault *vault = self;
    struct err problem = {0};
    loop_remove(vault->loop, vault->waiting_fd);
    if (!(events & POLLIN))
        return 0;
    if (vault_start_back(vault, &problem) < 0)
        note_trouble(vault, problem.message);
    else
        loop_add(vault->loop, vault->back_fd, POLLIN, back_ready, vault);
    return 0;
}

void vault_watch(struct vault *vault, struct loop *loop)
{
    vault->loop = loop;
    leak_files_note_unread(vault);
    if (!vault->front)
        return;
    loop_add(loop, vault->front_fd, POLLIN, front_ready, vault);
    loop_add(loop, vault->waiting_fd, POLLIN, connection_waits, vault);
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

static int take_waiting_lines(struct vault *vault, bool is_front)
{
    int result = 1;
    for (size_t i = 0; i < MOST_EVENTS && result > 0; i++)
        result = take_line(vault, is_front);
    return result;
}

/* The command may have ended because a request failed, before the loop has read why. */
static void take_last_lines(struct vault *vault)
{
    vault->is_over = true;
    if (!vault->loop)
        return; /* nothing has run yet */
    bool has_front_died = vault->front > 0 && take_waiting_lines(vault, true) == 0;
    bool has_back_died = vault->back > 0 && take_waiting_lines(vault, false) == 0;
    if (has_front_died || has_back_died)
        vault_died(vault, !has_back_died);
}

void vault_end(struct vault *vault)
{
    take_last_lines(vault);
    end_part(&vault->front);
    end_back(vault);
}

void vault_free(struct vault *vault)
{
    vault_end(vault);
    fd_close(vault->front_fd);
    fd_close(vault->back_fd);
    fd_close(vault->waiting_fd);
    fd_close(vault->egress_fd);
    vec_free(&vault->secrets);
    vec_free(&vault->misused);
    vec_free(&vault->leaked);
    vec_free(&vault->unread);
    arena_free(&vault->arena);
}
