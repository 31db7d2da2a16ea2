#include "supervise/guarded.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "broker/objects.h"
#include "kernel/exec_notice.h"
#include "kernel/process.h"
#include "kernel/unix_sockets.h"
#include "plan/plan.h"

enum {
    PATIENCE = 120, /* seconds */
    MOST_HELD = 64,
    MOST_SAID = 1000,
    MOST_ARGUMENTS = 64,
    LINE_COLUMNS = 200,
};

/*
 * Writes to the standard error of a process inside that waits in its call. It may be any file: the process chose it. The descriptor is taken now,
 * since the process may end as soon as it is answered.
 */
static void say_inside(struct guarded *guarded, pid_t pid, const char *sentence)
{
    auto_fd int process = guarded->said++ < MOST_SAID ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    auto_fd int theirs = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);
    if (theirs >= 0)
        process_write_aside(theirs, sentence);
}

static const char *program_of(const struct exec_notice *notice)
{
    return path_name(*notice->path || !notice->arguments_size ? notice->path : notice->arguments);
}

/* The arguments after the program's own name. */
static size_t list_arguments(const struct exec_notice *notice, const char *ret_arguments[MOST_ARGUMENTS])
{
    size_t count = 0, at = 0;
    if (notice->arguments_size)
        at = strlen(notice->arguments) + 1;
    for (; at < notice->arguments_size && count < MOST_ARGUMENTS; at += strlen(notice->arguments + at) + 1)
        ret_arguments[count++] = notice->arguments + at;
    return count;
}

/* The command as a person reads it. Tabs and newlines in it are escaped: it is one field of a line. */
static const char *line_of(struct arena *arena, const struct exec_notice *notice)
{
    auto_buf struct buf line = {0};
    const char *arguments[MOST_ARGUMENTS];
    size_t count = list_arguments(notice, arguments);
    buf_add_str(&line, shell_word(arena, program_of(notice)));
    for (size_t i = 0; i < count; i++)
        buf_printf(&line, " %s", shell_word(arena, arguments[i]));
    return arena_printf(arena, "%s%s", broker_printable(arena, buf_text(&line), LINE_COLUMNS),
                        notice->is_cut ? " …" : "");
}

/*
 * What was read of it, without its directory: a shell tries the next one of its PATH after a refusal. A command that was not read to its end is
 * like no other.
 */
static const char *identity_of(struct arena *arena, const struct exec_notice *notice)
{
    char hash[SHA256_HEX_SIZE];
    auto_buf struct buf all = {0};
    buf_add(&all, program_of(notice), strlen(program_of(notice)) + 1);
    buf_add(&all, notice->arguments, notice->arguments_size);
    if (notice->is_cut)
        buf_add(&all, (const char *)&notice->id, sizeof(notice->id));
    sha256_hex(all.bytes, all.size, hash);
    return arena_str(arena, hash);
}

static struct decided ask(struct guarded *guarded, struct arena *arena, const struct exec_notice *notice,
                          const struct guard_rule *guard)
{
    struct holder holder = {.pid = notice->pid};
    char parents[PARENTS_LONGEST];
    holder_read_program(&holder);
    holder_read_parents(&holder, guarded->asking->granting.launched->pid, parents);
    struct asker asker = {.pid = (int)notice->pid,
                          .program = holder.program,
                          .parents = parents,
                          .identity = identity_of(arena, notice),
                          .says = arena_printf(arena, "`guard %s` (%s)", guard->rule->written,
                                               rule_origin(arena, guard->rule))};
    return asking_put(guarded->asking, arena, arena_printf(arena, "run\t%s\t", line_of(arena, notice)),
                      &asker);
}

static int held_is_over(void *self, short events, struct err *err);

/* Rings when the first of those that wait has waited long enough. */
static void set_timer(struct guarded *guarded)
{
    int64_t first = 0;
    vec_each (const struct held_command, held, &guarded->held)
        first = !first || held->until < first ? held->until : first;
    loop_ring_at(guarded->loop, &guarded->timer_fd, first, held_is_over, guarded);
}

static void journal_guarded(struct guarded *guarded, const char *line, pid_t pid, const char *why)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", (int)pid);
    journal_event(guarded->journal, "guarded", "command", line, "pid", number, "why", why);
}

/* A shell that tries the same in the next directory of its PATH is told once. */
static void refuse(struct guarded *guarded, pid_t pid, const char *line, const char *why)
{
    struct arena arena = {0};
    if (pid == guarded->refused_pid && strcmp(line, guarded->refused) == 0)
        return;
    guarded->refused_pid = pid;
    snprintf(guarded->refused, sizeof(guarded->refused), "%s", line);
    journal_guarded(guarded, line, pid, why);
    say_inside(guarded, pid, arena_printf(&arena, "bawn: `%s` was not started: %s\n", line, why));
    arena_free(&arena);
}

/* Answers one that waits, and forgets it. */
static void release(struct guarded *guarded, size_t index, int errnum, const char *why)
{
    struct held_command held = guarded->held.at[index];
    guarded->held.at[index] = guarded->held.at[--guarded->held.count];
    if (errnum && notice_is_valid(guarded->listener_fd, held.id))
        refuse(guarded, held.pid, held.line, why);
    if (notice_answer(guarded->listener_fd, held.id, errnum) < 0)
        journal_guarded(guarded, held.line, held.pid, strerrordesc_np(errno));
}

static int held_is_over(void *self, short events not_used, struct err *err not_used)
{
    struct guarded *guarded = self;
    uint64_t expirations;
    if (read(guarded->timer_fd, &expirations, sizeof(expirations)) < 0)
        return 0;
    for (size_t i = guarded->held.count; i-- > 0;) {
        if (guarded->held.at[i].until <= now_seconds())
            release(guarded, i, EPERM, "nobody answered. The question stays open: try again later");
    }
    set_timer(guarded);
    return 0;
}

/* A person has answered. Once is for the one that waited longest. */
static void is_answered(void *context, const struct question *question)
{
    struct guarded *guarded = context;
    size_t oldest = SIZE_MAX;
    for (size_t i = 0; i < guarded->held.count; i++) {
        if (guarded->held.at[i].question == question->id &&
            (oldest == SIZE_MAX || guarded->held.at[i].until < guarded->held.at[oldest].until))
            oldest = i;
    }
    uint64_t first = oldest == SIZE_MAX ? 0 : guarded->held.at[oldest].id;
    for (size_t i = guarded->held.count; i-- > 0;) {
        if (guarded->held.at[i].question != question->id)
            continue;
        bool is_its = question->answer == ANSWER_SESSION ||
                      (question->answer == ANSWER_ONCE && guarded->held.at[i].id == first);
        release(guarded, i, is_its ? 0 : EPERM,
                question->answer == ANSWER_ONCE ? "a person allowed it once, for another program that waited"
                                                : "a person said no. Go on without it");
    }
    set_timer(guarded);
}

bool guarded_begin(struct guarded *guarded, const struct policy *policy, struct asking *asking,
                   struct journal *journal, struct loop *loop)
{
    *guarded = GUARDED_NONE;
    guards_find(policy, &guarded->arena, &guarded->guards);
    guarded->asking = asking;
    guarded->journal = journal;
    guarded->loop = loop;
    if (!guarded->guards.all.count)
        return false;
    asking_hear(asking, is_answered, guarded);
    return true;
}

/* Forgets those that were killed, or interrupted by a signal, while they waited. */
static void forget_gone(struct guarded *guarded)
{
    for (size_t i = guarded->held.count; i-- > 0;) {
        if (!notice_is_valid(guarded->listener_fd, guarded->held.at[i].id))
            guarded->held.at[i] = guarded->held.at[--guarded->held.count];
    }
}

static bool hold(struct guarded *guarded, const struct exec_notice *notice, unsigned question,
                 const char *line)
{
    forget_gone(guarded);
    if (guarded->held.count >= MOST_HELD) {
        refuse(guarded, notice->pid, line, "too many commands wait for an answer");
        return false;
    }
    if (!guarded->held.count) { /* nothing points to the lines of those that are over */
        arena_free(&guarded->lines);
        guarded->lines = (struct arena){0};
    }
    vec_push(&guarded->held, (struct held_command){.id = notice->id,
                                                   .pid = notice->pid,
                                                   .question = question,
                                                   .until = now_seconds() + PATIENCE,
                                                   .line = arena_str(&guarded->lines, line)});
    set_timer(guarded);
    return true;
}

bool guarded_take(struct guarded *guarded, struct exec_notice *notice, int *ret_errnum)
{
    const char *arguments[MOST_ARGUMENTS];
    *ret_errnum = notice->is_closed ? EPERM : 0;
    if (notice->is_closed) {
        refuse(guarded, notice->pid, "a program",
               "bawn cannot read its name and arguments, and there are guards");
        return false;
    }
    if (*notice->path && !guards_know(&guarded->guards, program_of(notice)))
        return false;
    if (!notice->arguments_size)
        exec_notice_read_arguments(notice);
    size_t count = list_arguments(notice, arguments);
    const struct guard_rule *guard = guards_decide(&guarded->guards, program_of(notice), arguments, count);
    /* The command itself is executed from process 1's memory, which cannot be read: the user has typed it. */
    if (!guard || !*program_of(notice) || !exec_notice_is_there(notice))
        return false;
    struct arena arena = {0};
    const char *line = line_of(&arena, notice);
    struct decided decided = {.reply = REPLY_REFUSED};
    if (guard->refuses)
        decided.sentence = arena_printf(&arena, "`guard %s` (%s) refuses it", guard->rule->written,
                                        rule_origin(&arena, guard->rule));
    else
        decided = ask(guarded, &arena, notice, guard);
    bool is_held = decided.reply == REPLY_OPEN && hold(guarded, notice, decided.id, line);
    if (decided.reply == REPLY_REFUSED)
        refuse(guarded, notice->pid, line, decided.sentence);
    if (!is_held && decided.reply != REPLY_GRANTED)
        *ret_errnum = EPERM;
    arena_free(&arena);
    return is_held;
}

void guarded_forget(struct guarded *guarded)
{
    guarded->held.count = 0;
    guarded->listener_fd = -1;
    set_timer(guarded);
}

void guarded_end(struct guarded *guarded)
{
    fd_close(guarded->timer_fd);
    vec_free(&guarded->held);
    guards_free(&guarded->guards);
    arena_free(&guarded->lines);
    arena_free(&guarded->arena);
    *guarded = GUARDED_NONE;
}
