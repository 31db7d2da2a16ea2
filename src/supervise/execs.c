#include "supervise/execs.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/exec_notice.h"

/* Quotes words that a shell would split. For people: no shell is meant to read it. */
static void add_arguments(struct buf *out, const struct exec_notice *notice)
{
    for (size_t at = 0; at < notice->arguments_size; at += strlen(notice->arguments + at) + 1) {
        const char *word = notice->arguments + at;
        bool is_plain = *word && !strpbrk(word, " \t\n'\"\\$&|;<>()*?");
        buf_printf(out, "%s%s%s%s", at ? " " : "", is_plain ? "" : "'", word, is_plain ? "" : "'");
    }
}

static void note_end(struct execs *execs, size_t index, const char *how)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)execs->watched[index].pid);
    journal_event(execs->journal, "exit", "pid", pid, "how", how);
}

static void read_end(struct execs *execs, size_t index)
{
    int status;
    if (exec_read_end(execs->watched[index].pid_fd, &status)) {
        char how[32];
        snprintf(how, sizeof(how), WIFSIGNALED(status) ? "signal %d" : "status %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        note_end(execs, index, how);
    }
}

static int has_ended(void *self, short events not_used, struct err *err not_used)
{
    struct execs *execs = self;
    for (size_t i = 0; i < EXECS_WATCHED; i++) {
        struct pollfd ready = {.fd = execs->watched[i].pid_fd};
        if (ready.fd <= 0 || poll(&ready, 1, 0) <= 0)
            continue;
        read_end(execs, i);
        loop_remove(execs->loop, ready.fd);
        close(ready.fd);
        execs->watched[i].pid_fd = 0;
    }
    return 0;
}

/* Owns the descriptor. */
static void watch_end(struct execs *execs, pid_t pid, int fd)
{
    size_t free_place = EXECS_WATCHED;
    bool is_known = false; /* the same process, another program */
    for (size_t i = 0; i < EXECS_WATCHED; i++) {
        is_known |= execs->watched[i].pid_fd > 0 && execs->watched[i].pid == pid;
        if (execs->watched[i].pid_fd <= 0 && free_place == EXECS_WATCHED)
            free_place = i;
    }
    if (fd < 0 || is_known || free_place == EXECS_WATCHED) {
        fd_close(fd);
        return;
    }
    execs->watched[free_place].pid_fd = fd;
    execs->watched[free_place].pid = pid;
    loop_add(execs->loop, fd, 0, has_ended, execs); /* POLLHUP comes unasked */
}

static void remember_line(struct exec_lines *lines, const char *line)
{
    snprintf(lines->at[lines->count++ % EXECS_REMEMBERED], EXECS_LINE_LONGEST, "%s", line);
}

const char *execs_line(const struct execs *execs, size_t back)
{
    const struct exec_lines *lines = execs->lines;
    return lines && back < EXECS_REMEMBERED && back < lines->count
               ? lines->at[(lines->count - 1 - back) % EXECS_REMEMBERED]
               : NULL;
}

/* Writes down what is executed. The command is executed from process 1's memory, which nobody can read; a search along PATH asks several times. */
static void record(struct execs *execs, const struct exec_notice *notice)
{
    watch_end(execs, notice->pid, notice->pid_fd);
    bool is_first =
        !*notice->path && !notice->arguments_size && (!execs->first || execs->first == notice->pid);
    if (is_first && execs->first)
        return;
    char pid[16];
    auto_buf struct buf arguments = {0};
    snprintf(pid, sizeof(pid), "%d", (int)notice->pid);
    if (is_first) {
        execs->first = notice->pid;
        buf_add_str(&arguments, execs->command);
    }
    add_arguments(&arguments, notice);
    remember_line(execs->lines, buf_text(&arguments));
    journal_event(execs->journal, "exec", "pid", pid, "parent", notice->parent, "path", notice->path,
                  "arguments", buf_text(&arguments));
}

/* Nothing is left that could ask. If the judge has ended before its callers, the kernel answers them once nobody has the listener. */
static void hear_no_more(struct execs *execs)
{
    loop_remove(execs->loop, execs->told_fd < 0 ? execs->listener_fd : execs->told_fd);
    if (execs->told_fd < 0)
        return;
    if (execs->guarded)
        guarded_forget(execs->guarded);
    fd_close(execs->listener_fd);
    fd_close(execs->told_fd);
    execs->listener_fd = execs->told_fd = -1;
}

static int somebody_executes(void *self, short events, struct err *err)
{
    struct execs *execs = self;
    struct exec_notice notice;
    bool is_held = false;
    int errnum = 0;
    if (!(events & POLLIN))
        hear_no_more(execs);
    int result = (events & POLLIN) ? exec_notice_receive(execs->listener_fd, execs->told_fd, &notice) : 0;
    if (result > 0 && execs->records) {
        exec_notice_read_arguments(&notice);
        exec_notice_look(&notice);
    }
    if (result > 0 && execs->guarded)
        is_held = guarded_take(execs->guarded, &notice, &errnum);
    if (result > 0 && !is_held)
        result = notice_answer(execs->listener_fd, notice.id, errnum);
    if (result < 0) /* who asked would wait for ever */
        return err_sys(err, errno, "programs that the command runs are no longer recorded");
    if (result > 0 && execs->records && notice.is_there)
        record(execs, &notice);
    return 0;
}

void execs_begin(struct execs *execs, const struct execs_wanted *wanted, struct journal *journal,
                 struct loop *loop)
{
    *execs = (struct execs){.journal = journal,
                            .loop = loop,
                            .listener_fd = wanted->listener_fd,
                            .told_fd = wanted->told_fd,
                            .command = wanted->command,
                            .records = wanted->records,
                            .guarded = wanted->guarded};
    if (wanted->records) {
        execs->lines = must_realloc(NULL, 1, sizeof(*execs->lines));
        execs->lines->count = 0;
    }
    if (wanted->guarded)
        wanted->guarded->listener_fd = wanted->listener_fd;
    loop_add(loop, wanted->told_fd < 0 ? wanted->listener_fd : wanted->told_fd, POLLIN, somebody_executes,
             execs);
}

void execs_end(struct execs *execs)
{
    for (size_t i = 0; i < EXECS_WATCHED; i++) {
        if (execs->watched[i].pid_fd <= 0)
            continue;
        read_end(execs, i);
        close(execs->watched[i].pid_fd);
    }
    fd_close(execs->listener_fd);
    fd_close(execs->told_fd);
    execs->listener_fd = execs->told_fd = -1;
    free(execs->lines);
    execs->lines = NULL;
}
