/* The other end of the socket in a session's folder: what `bawn allow`, `bawn requests` and those who answer at a terminal say to a session. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "supervise/control.h"
#include "supervise/control_wire.h"

enum {
    PATIENCE = 5,           /* seconds */
    LARGEST_LIST = 4 << 20, /* far more than 64 questions of the longest kind */
};

/* A session that has just begun has its socket a moment later, and listens at it one more moment later. */
static int connect_patiently(int fd, const struct sockaddr_un *address)
{
    enum { TRIES = 50, PAUSE = 10 * 1000 }; /* microseconds */
    int result = -1;
    for (int i = 0; i < TRIES; i++) {
        result = connect(fd, (const struct sockaddr *)address, sizeof(*address));
        if (result == 0 || (errno != ENOENT && errno != ECONNREFUSED))
            break;
        pause_microseconds(PAUSE);
    }
    return result;
}

/* The session may answer and hang up before it has read the line; its answer can still be read then. */
static bool send_line(int fd, const char *line)
{
    return send(fd, line, strlen(line), MSG_NOSIGNAL) >= 0 || errno == EPIPE || errno == ECONNRESET;
}

static ssize_t receive_answer(int fd, char *answer, size_t capacity)
{
    ssize_t got = recv(fd, answer, capacity, 0);
    return got < 0 && errno == ECONNRESET ? recv(fd, answer, capacity, 0) : got;
}

/* Sends a line to the session. Returns the socket that its answer comes through. */
static int begin_exchange(const char *session_folder, const char *line, struct err *err)
{
    auto_fd int folder = open(session_folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = address_in(folder);
    struct timeval patience = {.tv_sec = PATIENCE};
    if (folder < 0 || fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) <
            0 || /* for a queue that is full */
        connect_patiently(fd, &address) < 0 ||
        !send_line(fd, line)) {
        int errnum = errno;
        err_sys(err, errnum, "cannot reach the session %s", session_folder);
        errno = errnum;
        return -1;
    }
    return fd_take(&fd);
}

/* Reads the answer to a line. Returns an enum answer, or -1. */
static int read_answer(int fd, const char *session_folder, struct err *err)
{
    char answer[2048];
    ssize_t got = receive_answer(fd, answer, sizeof(answer) - 1);
    if (got < 0 && errno == EAGAIN) {
        err_set(err, "the session %s has not answered for %d seconds", session_folder, PATIENCE);
        return err_hint(err, "it may still accept the request later: repeat the command to be sure");
    }
    if (got <= 0)
        return err_set(err, "the session %s has ended", session_folder);
    answer[got] = '\0';
    for (int i = 0; i < (int)array_len(answer_words); i++) {
        if (strcmp(answer, answer_words[i]) == 0)
            return i;
    }
    char *hint = strchr(answer, '\n');
    if (hint)
        *hint++ = '\0';
    err_set(err, "%s", answer);
    return hint ? err_hint(err, "%s", hint) : -1;
}

int control_ask(const char *session_folder, const char *line, struct err *err)
{
    auto_fd int fd = begin_exchange(session_folder, line, err);
    return fd < 0 || read_answer(fd, session_folder, err) < 0 ? -1 : 0;
}

/*
 * What the file of terminals says: ANSWER_APART, -1 if the session has the terminal and is stopped, so that it cannot hold anything still, or
 * ANSWER_DONE where it has to be asked.
 */
static int read_terminals(const char *session_folder, uint64_t terminal, struct err *err)
{
    auto_buf struct buf text = {0};
    auto_fd int folder = open(session_folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    auto_fd int fd = folder < 0 ? -1 : openat(folder, TERMINALS_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    uint64_t pid = 0, start = 0, number = 0;
    if (fd < 0 || buf_read(&text, fd, LONGEST_LINE) < 0)
        return ANSWER_DONE;
    const char *at = buf_text(&text);
    bool is_whole = text_take_number(&at, &pid) && *at++ == ' ' && text_take_number(&at, &start),
         has = !terminal;
    for (size_t i = 0; i < TERMINALS && is_whole; i++) {
        is_whole = *at++ == ' ' && text_take_number(&at, &number);
        has |= number == terminal;
    }
    if (!is_whole || *at != '\n')
        return ANSWER_DONE;
    if (!has || (pid_t)pid == getpid()) /* this process asks: its command has not begun, or has ended */
        return ANSWER_APART;
    auto_fd int process = process_open((pid_t)pid);
    struct process_look look = process_look(process);
    if (look.start != start || look.state != 'T')
        return ANSWER_DONE;
    err_set(err, "a session of bawn on this terminal is stopped: %s", session_folder);
    return err_hint(err, "continue it (fg), or answer in another terminal");
}

static bool is_announced(const char *session_folder)
{
    auto_fd int folder = open(session_folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return folder >= 0 && faccessat(folder, TERMINALS_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int control_hold_still(const char *session_folder, uint64_t terminal, int *ret_fd, struct err *err)
{
    char line[64];
    snprintf(line, sizeof(line), "%s%" PRIu64, still_line, terminal);
    *ret_fd = -1;
    int known = read_terminals(session_folder, terminal, err);
    if (known != ANSWER_DONE)
        return known < 0 ? -1 : 0;
    auto_fd int fd = begin_exchange(session_folder, line, err);
    bool is_deaf = fd < 0 && (errno == ENOENT || errno == ECONNREFUSED);
    /* Nobody listens, and no terminal is announced: its command has ended. So it has if this process would listen. */
    if (is_deaf ? !is_announced(session_folder) : fd >= 0 && peer_of(fd).pid == getpid())
        return 0;
    int answer = fd < 0 ? -1 : read_answer(fd, session_folder, err);
    if (answer == ANSWER_DONE)
        *ret_fd = fd_take(&fd);
    if (answer != ANSWER_RUNNING)
        return answer < 0 ? -1 : 0;
    err_set(err, "what runs inside cannot be stopped while you answer");
    (void)err_hint(err, "answer in another terminal");
    return CONTROL_RUNS_ON;
}

bool control_was_still(int fd)
{
    struct err ignored;
    return send_line(fd, "was it still") && read_answer(fd, "", &ignored) == ANSWER_DONE;
}

int control_list(const char *session_folder, struct buf *ret_list, struct err *err)
{
    char word[256];
    int given = -1;
    auto_fd int fd = begin_exchange(session_folder, "questions", err);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return -1;
    ssize_t got = poll(&ready, 1, PATIENCE * 1000) == 1 ? passing_receive(fd, word, sizeof(word), &given) : 0;
    auto_fd int list = given;
    return got <= 0 || list < 0 || buf_read(ret_list, list, LARGEST_LIST) < 0
               ? err_set(err, "the session %s does not say what is asked there", session_folder)
               : 0;
}

/* Opens the process that listens, by the socket that leads to it. Returns its pidfd, or -1 with errno. */
static int open_listener(int client)
{
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (getsockopt(client, SOL_SOCKET, PEER_DESCRIPTOR, &fd, &size) == 0)
        return fd;
    return (int)syscall(SYS_pidfd_open, peer_of(client).pid, 0);
}

/*
 * The pid of the listener may be another process's by the time it is opened, on kernels before 6.5. Whoever is opened is the listener if
 * the socket still listens afterwards.
 */
int control_kill(const char *session_folder, struct err *err)
{
    auto_fd int folder = open(session_folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    auto_fd int first = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    auto_fd int second = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const struct sockaddr_un address = address_in(folder);
    const struct sockaddr *to = (const struct sockaddr *)&address;
    if (folder < 0 || first < 0 || second < 0 || connect(first, to, sizeof(address)) < 0)
        return err_sys(err, errno, "cannot reach the session %s", session_folder);
    auto_fd int listener = open_listener(first);
    if (listener < 0 || connect(second, to, sizeof(address)) < 0 ||
        syscall(SYS_pidfd_send_signal, listener, SIGKILL, NULL, 0) < 0)
        return err_sys(err, errno, "cannot end the session %s", session_folder);
    return 0;
}
