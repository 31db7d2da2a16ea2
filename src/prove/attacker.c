#include "prove/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "kernel/beneath.h"

enum {
    ANSWER_MILLISECONDS = 10 * 1000, /* bawn-prove itself ends an attack after half of it */
    END_MILLISECONDS = 60 * 1000,    /* a run looks through the workspace before it ends */
    GONE_MILLISECONDS = 300,
    LARGEST_ANSWER = 128 * 1024,
    LEFT_OPEN_FD = 9, /* what a careless caller leaves open */
};

/* A process in the attacker's group, for the attack on that group. It ends with the attacker, whatever happens. */
static void start_neighbour(int group_fd)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(1);
    /* Whatever else it kept open would keep the attacker from seeing the end of its orders. */
    if (dup2(group_fd, 0) < 0 || syscall(SYS_close_range, 1, ~0U, 0) < 0)
        _exit(1);
    for (;;)
        pause();
}

struct ends {
    int to[2], from[2], err[2], group[2];
};

static _Noreturn void become_attacker(const struct targets *targets, const struct side *side,
                                      const struct ends *ends, pid_t parent)
{
    /* A session of its own or nothing: one of the attacks is a signal to the whole process group. */
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(1);
    start_neighbour(ends->group[1]);
    int secret = open(targets->var_tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dup2(ends->to[0], STDIN_FILENO) < 0 || dup2(ends->from[1], STDOUT_FILENO) < 0 ||
        dup2(ends->err[1], STDERR_FILENO) < 0 || dup2(secret, LEFT_OPEN_FD) < 0)
        _exit(1);
    if (syscall(SYS_close_range, STDERR_FILENO + 1, LEFT_OPEN_FD - 1, CLOSE_RANGE_CLOEXEC) < 0 ||
        syscall(SYS_close_range, LEFT_OPEN_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        _exit(1);
    const int others[] = {ends->to[1], ends->from[0], ends->err[0], ends->group[0], ends->group[1]};
    for (size_t i = 0; i < array_len(others); i++) {
        if (others[i] != LEFT_OPEN_FD)
            close(others[i]);
    }
    const char *const command[] = {targets->program, "--serve", targets->project, NULL};
    side->run(side->context, command);
    _exit(1);
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fd_close(fds[i]);
}

static int make_pipes(struct ends *ret_ends, struct err *err)
{
    int *pairs[] = {ret_ends->to, ret_ends->from, ret_ends->err, ret_ends->group};
    memset(ret_ends, -1, sizeof(*ret_ends));
    for (size_t i = 0; i < array_len(pairs); i++) {
        if (pipe2(pairs[i], O_CLOEXEC) < 0) {
            close_all(&ret_ends->to[0], sizeof(*ret_ends) / sizeof(int));
            return err_sys(err, errno, "cannot make a pipe");
        }
    }
    return 0;
}

/* What it said of why it does not answer. */
static int explain(struct attacker *attacker, struct err *err)
{
    auto_buf struct buf said = {0};
    fcntl(attacker->err_fd, F_SETFL, O_NONBLOCK);
    attacker_end(
        &(struct attacker){attacker->pid, attacker->to_fd, attacker->from_fd, -1, attacker->group_fd});
    if (buf_read(&said, attacker->err_fd, sizeof(err->message) / 2) < 0 && !said.size)
        buf_add_str(&said, "no error message");
    close(attacker->err_fd);
    *attacker = ATTACKER_NONE;
    while (said.size && said.bytes[said.size - 1] == '\n')
        said.bytes[--said.size] = '\0';
    return err_set(err, "the attacks could not be started: %s", buf_text(&said));
}

int attacker_begin(const struct targets *targets, const struct side *side, struct attacker *ret_attacker,
                   struct err *err)
{
    struct ends ends;
    *ret_attacker = ATTACKER_NONE;
    if (make_pipes(&ends, err) < 0)
        return -1;
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become_attacker(targets, side, &ends, parent);
    close_all((int[]){ends.to[0], ends.from[1], ends.err[1], ends.group[1]}, 4);
    *ret_attacker = (struct attacker){child, ends.to[1], ends.from[0], ends.err[0], ends.group[0]};
    if (child < 0)
        return explain(ret_attacker, err);
    static const char *const hello[] = {"-", "variable", "BAWN", NULL};
    struct answer answer = {0};
    int result = attacker_order(ret_attacker, hello, &answer);
    buf_free(&answer.printed);
    return result < 0 ? explain(ret_attacker, err) : 0;
}

/* The answer ends with a line of its own: 0x1e and a status. */
static bool is_whole(const struct buf *got, size_t *ret_size, int *ret_status)
{
    const char *mark = got->size ? memrchr(got->bytes, 0x1e, got->size) : NULL;
    if (!mark || mark == got->bytes || got->bytes[got->size - 1] != '\n')
        return false;
    *ret_size = (size_t)(mark - got->bytes) - 1;
    *ret_status = (int)strtol(mark + 1, NULL, 10);
    return true;
}

int attacker_order(struct attacker *attacker, const char *const *words, struct answer *ret_answer)
{
    auto_buf struct buf order = {0};
    for (const char *const *word = words; *word; word++)
        buf_printf(&order, "%s%s", word == words ? "" : "\t", *word);
    buf_add_char(&order, '\n');
    *ret_answer = (struct answer){0};
    if (attacker->to_fd < 0 || write_whole(attacker->to_fd, order.bytes, order.size) < 0)
        return -1;
    size_t size = 0;
    int status = 0;
    struct buf *got = &ret_answer->printed;
    int64_t end = now_milliseconds() + ANSWER_MILLISECONDS;
    while (!is_whole(got, &size, &status)) {
        struct pollfd ready = {.fd = attacker->from_fd, .events = POLLIN};
        char bytes[4096];
        int64_t left = end - now_milliseconds();
        ssize_t count =
            left > 0 && poll(&ready, 1, (int)left) > 0 ? read(attacker->from_fd, bytes, sizeof(bytes)) : -1;
        if (count <= 0 || got->size > LARGEST_ANSWER) {
            buf_free(got);
            return -1;
        }
        buf_add(got, bytes, (size_t)count);
    }
    got->size = size;
    got->bytes[size] = '\0';
    ret_answer->is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
    return 0;
}

static bool is_hung_up(int fd, int milliseconds)
{
    int64_t end = now_milliseconds() + milliseconds;
    do {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int64_t left = end - now_milliseconds();
        if (poll(&ready, 1, left > 0 ? (int)left : 0) <= 0)
            return false;
        char bytes[4096];
        if (!(ready.revents & POLLIN) || read(fd, bytes, sizeof(bytes)) <= 0)
            return true;
    } while (now_milliseconds() < end);
    return false;
}

bool attacker_group_was_reached(const struct attacker *attacker)
{
    return attacker->group_fd >= 0 && is_hung_up(attacker->group_fd, 0);
}

/* Returns whether it ended by itself. */
static bool wait_for_end(pid_t pid)
{
    int64_t end = now_milliseconds() + END_MILLISECONDS;
    bool is_killed = false;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        is_killed |= now_milliseconds() > end;
        if (is_killed)
            kill(pid, SIGKILL);
        pause_microseconds(2000);
    }
    return !is_killed;
}

enum attacker_left attacker_end(struct attacker *attacker)
{
    fd_close(attacker->to_fd);
    bool has_ended = attacker->pid <= 0 || wait_for_end(attacker->pid);
    bool lives = attacker->from_fd >= 0 && !is_hung_up(attacker->from_fd, GONE_MILLISECONDS);
    close_all((int[]){attacker->from_fd, attacker->err_fd, attacker->group_fd}, 3);
    *attacker = ATTACKER_NONE;
    return !has_ended ? LEFT_UNKNOWN : lives ? LEFT_ALIVE : LEFT_NOTHING;
}

/* --- in a terminal --------------------------------------------------------------------------------------------------- */

/*
 * Leads the session, so that what was typed is still there when the attack has ended: with its leader goes the terminal.
 * Says so with one byte.
 */
static _Noreturn void lead(const struct side *side, const char *const *command, int terminal, int tell_fd,
                           pid_t parent)
{
    int pending = 0;
    if (setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
        getppid() != parent)
        _exit(1);
    sigaction(SIGTTOU, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGTTOU, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
            if (dup2(terminal, fd) < 0)
                _exit(1);
        }
        close(tell_fd);
        close(terminal);
        side->run(side->context, command);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    ioctl(terminal, FIONREAD, &pending);
    _exit(write(tell_fd, pending ? "t" : "-", 1) == 1 ? 0 : 1);
}

static void read_terminal(int master, struct buf *printed)
{
    int64_t end = now_milliseconds() + ANSWER_MILLISECONDS;
    for (;;) {
        struct pollfd ready = {.fd = master, .events = POLLIN};
        char bytes[4096];
        int64_t left = end - now_milliseconds();
        ssize_t got = left > 0 && poll(&ready, 1, (int)left) > 0 ? read(master, bytes, sizeof(bytes)) : -1;
        if (got <= 0 || printed->size > LARGEST_ANSWER)
            return; /* EIO: nobody has its other end open any more */
        buf_add(printed, bytes, (size_t)got);
    }
}

int attacker_in_terminal(const struct side *side, const char *const *command, struct answer *ret_answer,
                         bool *ret_typed, struct err *err)
{
    *ret_answer = (struct answer){0};
    auto_fd int master = -1;
    int terminal = -1, tell[2];
    struct termios raw;
    if (openpty(&master, &terminal, NULL, NULL, NULL) < 0)
        return err_sys(err, errno, "cannot make a terminal");
    fcntl(master, F_SETFD, FD_CLOEXEC);
    fcntl(terminal, F_SETFD, FD_CLOEXEC);
    if (tcgetattr(terminal, &raw) < 0 || pipe2(tell, O_CLOEXEC) < 0) {
        close(terminal);
        return err_sys(err, errno, "cannot make a terminal");
    }
    cfmakeraw(&raw);
    tcsetattr(terminal, TCSANOW, &raw);
    pid_t parent = getpid(), leader = fork();
    if (leader == 0) {
        close(master);
        close(tell[0]);
        lead(side, command, terminal, tell[1], parent);
    }
    close(terminal);
    close(tell[1]);
    auto_fd int told = tell[0];
    if (leader < 0)
        return err_sys(err, errno, "cannot make a process");
    read_terminal(master, &ret_answer->printed);
    wait_for_end(leader);
    char byte = '-';
    *ret_typed = read(told, &byte, 1) == 1 && byte == 't';
    return 0;
}
