/*
 * The actor runs verbs of bawn for the server. It takes only what acts.h lists, one message an act, and answers with the verb's exit status
 * and what it printed. Lines for a policy are added by a child of its own
 * (saver.c). A verb gets no terminal: whatever it would ask, it takes for a no.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/own_program.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "session/caller.h"
#include "supervise/control.h"
#include "web/acts.h"
#include "web/opening.h"
#include "web/proofs.h"
#include "web/saver.h"
#include "web/web.h"

enum { MOST_JOBS = 8 };

struct job {
    pid_t pid;
    uint32_t number; /* of the message that its end answers … */
    bool is_proof;   /* … unless it is a proof, whose end is noted */
    int out_fd;
    int said_fd; /* what it says beside an output for programs, for the case that it fails; -1: it is in out_fd */
};

struct actor {
    const struct caller *caller;
    const struct web_place *place;
    int channel_fd;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct job) jobs;
};

static int answer(const struct actor *actor, uint32_t number, int status, int out_fd)
{
    const struct act_done done = {.number = number, .status = status};
    return passing_send(actor->channel_fd, &done, sizeof(done), out_fd);
}

static int answer_problem(const struct actor *actor, uint32_t number, const struct err *problem)
{
    auto_fd int fd = memfd_create("bawn-web", MFD_CLOEXEC);
    auto_buf struct buf text = {0};
    buf_printf(&text, "bawn: %s.%s%s\n", problem->message, *problem->hint ? " " : "", problem->hint);
    if (fd >= 0 && write_whole(fd, text.bytes, text.size) < 0)
        return -1;
    return answer(actor, number, -1, fd);
}

/* Is its output for a program? Then what it says beside it is not mixed in. */
static bool prints_for_program(const struct act_order *order)
{
    if (order->act == ACT_DIFF)
        return true;
    for (size_t i = 0; i < order->words.count; i++) {
        if (strcmp(order->words.at[i], "--json") == 0)
            return true;
    }
    return false;
}

static _Noreturn void become_verb(const struct actor *actor, const struct act_order *order, int in_fd,
                                  const struct job *job)
{
    VEC(const char *) words = {0}, environment = {0};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    vec_push(&words, actor->place->bawn);
    for (size_t i = 0; i < order->words.count; i++)
        vec_push(&words, order->words.at[i]);
    vec_push(&words, NULL);
    for (size_t i = 0; actor->caller->environment[i]; i++)
        vec_push(&environment, actor->caller->environment[i]);
    vec_push(&environment, "NO_COLOR=1");
    vec_push(&environment, ANSWER_WAY_VARIABLE "=page");
    vec_push(&environment, NULL);
    /* A process group of its own: Ctrl-C ends the page, and not what it began. */
    if (setpgid(0, 0) < 0 || chdir(order->directory ? order->directory : "/") < 0 ||
        dup2(in_fd, STDIN_FILENO) < 0 || dup2(job->out_fd, STDOUT_FILENO) < 0 ||
        dup2(job->said_fd >= 0 ? job->said_fd : job->out_fd, STDERR_FILENO) < 0)
        _exit(127);
    if (order->act == ACT_DRAFT || order->act == ACT_SAVE) {
        int status = saver_run(actor->caller, actor->place, order);
        fflush(stdout);
        _exit(status);
    }
    own_program_become(actor->place->bawn, words.at, environment.at);
    _exit(127);
}

static int start(struct actor *actor, const struct job *job, const struct act_order *order, int in_fd,
                 struct err *err)
{
    auto_fd int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || (in_fd >= 0 && lseek(in_fd, 0, SEEK_SET) < 0))
        return err_sys(err, errno, "cannot prepare the verb");
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(err, errno, "cannot start the verb");
    if (pid == 0)
        become_verb(actor, order, in_fd >= 0 ? in_fd : nothing, job);
    vec_push(&actor->jobs, *job);
    actor->jobs.at[actor->jobs.count - 1].pid = pid;
    return 0;
}

/* Starts a verb whose end is the answer. */
static int start_and_answer(struct actor *actor, uint32_t number, const struct act_order *order, int in_fd,
                            struct err *err)
{
    bool is_apart = prints_for_program(order);
    auto_fd int out_fd = memfd_create("bawn-web", MFD_CLOEXEC);
    auto_fd int said_fd = is_apart ? memfd_create("bawn-web", MFD_CLOEXEC) : -1;
    if (out_fd < 0 || (is_apart && said_fd < 0))
        return err_sys(err, errno, "cannot prepare the verb");
    const struct job job = {.number = number, .out_fd = out_fd, .said_fd = said_fd};
    if (start(actor, &job, order, in_fd, err) < 0)
        return -1;
    fd_take(&out_fd);
    fd_take(&said_fd);
    return 0;
}

static int answer_text(const struct actor *actor, uint32_t number, const char *text, struct err *err)
{
    auto_fd int fd = memfd_create("bawn-web", MFD_CLOEXEC);
    if (fd < 0 || write_whole(fd, text, strlen(text)) < 0)
        return err_sys(err, errno, "cannot answer");
    return answer(actor, number, 0, fd);
}

/* Starts a proof, and answers with its name: the server reads the lines as they come. */
static int prove(struct actor *actor, uint32_t number, struct act_order *order, struct arena *arena,
                 struct err *err)
{
    const char *name;
    auto_fd int lines_fd = proof_begin(arena, actor->place, order->agent, order->directory, &name, err);
    if (lines_fd < 0)
        return -1;
    for (size_t i = 0; i < order->words.count; i++) {
        if (strcmp(order->words.at[i], ACT_REPORT) == 0)
            order->words.at[i] =
                arena_printf(arena, "%s/bawn/proofs/%s/" PROOF_REPORT, actor->place->state, name);
    }
    if (start(actor, &(struct job){.is_proof = true, .out_fd = lines_fd, .said_fd = -1}, order, -1, err) < 0)
        return -1;
    fd_take(&lines_fd);
    return answer_text(actor, number, name, err);
}

/* Asks a run to end, as Ctrl-C in its terminal would, or kills its bawn. */
static int stop(const struct actor *actor, uint32_t number, const struct act_order *order,
                struct arena *arena, struct err *err)
{
    const char *folder = arena_printf(arena, "%s/bawn/sessions/%s", actor->place->state, order->session);
    bool kills = order->act == ACT_KILL;
    if ((kills ? control_kill(folder, err) : control_ask(folder, "stop", err)) < 0)
        return -1;
    return answer_text(
        actor, number,
        kills ? "The run was killed, with everything inside.\n" : "The run was asked to end.\n", err);
}

static int obey(struct actor *actor, uint32_t number, struct act_order *order, int in_fd, struct arena *arena,
                struct err *err)
{
    if (actor->jobs.count == MOST_JOBS)
        return err_set(err, "%d other commands of the page are still running", MOST_JOBS);
    switch (order->act) {
    case ACT_ENTERED:
        opening_end(actor->place);
        return 0;
    case ACT_STOP:
    case ACT_KILL:
        return stop(actor, number, order, arena, err);
    case ACT_PROVE:
        return prove(actor, number, order, arena, err);
    default:
        return start_and_answer(actor, number, order, in_fd, err);
    }
}

/* Returns -1 when the server is gone. */
static int take_message(struct actor *actor)
{
    auto_arena struct arena arena = {0};
    char message[ACT_LONGEST];
    int input = -1;
    ssize_t size = passing_receive(actor->channel_fd, message, sizeof(message), &input);
    auto_fd int in_fd = input;
    struct act_order order = {0};
    struct act_head head = {0};
    struct err err = {0};
    if (size <= 0)
        return size < 0 && errno == EAGAIN ? 0 : -1;
    memcpy(&head, message, (size_t)size < sizeof(head) ? (size_t)size : sizeof(head));
    int result = act_parse(&arena, message, (size_t)size, &order, &err);
    if (result == 0)
        result = obey(actor, head.number, &order, in_fd, &arena, &err);
    act_order_free(&order);
    return result < 0 ? answer_problem(actor, head.number, &err) : 0;
}

/* What a verb printed; of one that failed, what it said beside that. */
static int answer_of(const struct job *job, int code)
{
    bool has_said = job->said_fd >= 0 && lseek(job->said_fd, 0, SEEK_CUR) > 0;
    return code != 0 && has_said ? job->said_fd : job->out_fd;
}

/* Answers for the verbs that have ended. Returns -1 when the server has. */
static int reap(struct actor *actor)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        size_t i = 0;
        while (i < actor->jobs.count && actor->jobs.at[i].pid != pid)
            i++;
        if (i == actor->jobs.count)
            return -1; /* the server is the other child */
        struct job job = actor->jobs.at[i];
        actor->jobs.at[i] = actor->jobs.at[--actor->jobs.count];
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        int sent = 0;
        if (job.is_proof)
            proof_end(job.out_fd, code);
        else
            sent = answer(actor, job.number, code, answer_of(&job, code));
        close(job.out_fd);
        fd_close(job.said_fd);
        if (sent < 0)
            return -1;
    }
    return 0;
}

sigset_t actor_block_signals(void)
{
    sigset_t heard = process_ending_signals();
    sigaddset(&heard, SIGCHLD);
    sigprocmask(SIG_BLOCK, &heard, NULL);
    return heard;
}

int actor_run(const struct caller *caller, const struct web_place *place, int channel_fd)
{
    struct actor actor = {.caller = caller, .place = place, .channel_fd = channel_fd};
    sigset_t heard = actor_block_signals();
    auto_fd int signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd ready[] = {{.fd = channel_fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
    bool is_over = signal_fd < 0, is_ended = false;
    while (!is_over && !is_ended && (poll(ready, array_len(ready), -1) >= 0 || errno == EINTR)) {
        struct signalfd_siginfo information;
        while (read(signal_fd, &information, sizeof(information)) > 0)
            is_ended |= information.ssi_signo != SIGCHLD;
        is_over = reap(&actor) < 0 || (ready[0].revents && take_message(&actor) < 0);
    }
    vec_free(&actor.jobs);
    return is_ended ? EXIT_FINE : EXIT_REFUSED; /* the server ends only with this process */
}
