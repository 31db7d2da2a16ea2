#include "supervise/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/ports.h"

#define CONTROL_NAME "control"

enum {
    LONGEST_LINE = 1024,
    PATIENCE = 5,           /* seconds */
    LARGEST_LIST = 4 << 20, /* far more than 64 questions of the longest kind */
    PEER_DESCRIPTOR = 77,   /* SO_PEERPIDFD, which the distribution's headers may lack: Linux 6.5 */
};

/* The directory is named by its descriptor: its path may be too long for a socket's address. */
static struct sockaddr_un address_in(int folder_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" CONTROL_NAME, folder_fd);
    return address;
}

static struct ucred peer_of(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        peer = (struct ucred){.uid = (uid_t)-1}; /* nobody's */
    return peer;
}

/* Is the process that connected still alive? Its pid may have been reused. Kernels before 6.5 cannot tell. */
static bool is_still_there(int client)
{
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (getsockopt(client, SOL_SOCKET, PEER_DESCRIPTOR, &fd, &size) < 0)
        return errno == ENOPROTOOPT;
    bool is_there = syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0 || errno == EPERM;
    close(fd);
    return is_there;
}

/*
 * Is the client a process of a sandbox? With --full-access, or if this directory was granted, the command can reach the
 * socket. Every sandbox has a pid namespace below this one. A client that has already ended counts as inside.
 */
static bool is_inside(int client, pid_t pid)
{
    char path[64];
    struct stat its, own;
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
    return pid && (stat(path, &its) < 0 || stat("/proc/self/ns/pid", &own) < 0 || its.st_ino != own.st_ino ||
                   !is_still_there(client));
}

/* "WORD [WAY]": the answer, and how the person gave it. */
static int take_answer(struct control *control, const char *id, char *rest, const struct ucred *peer,
                       unsigned *ret_number, struct err *err)
{
    const char *word = strsep(&rest, " "), *way = rest ? rest : "";
    struct answerer answerer = {
        .uid = peer->uid, .pid = peer->pid, .how = answer_way_is_known(way) ? way : ""};
    return asking_answer(control->asking, id, word, &answerer, ret_number, err);
}

/* Handles one line. The answer follows now, or when *ret_number is confirmed. */
static int obey(struct control *control, char *line, const struct ucred *peer, unsigned *ret_number,
                struct err *err)
{
    char *rest = line;
    const char *verb = strsep(&rest, " "), *first = rest ? strsep(&rest, " ") : "";
    char none[] = "", *second = rest ? rest : none;
    uint16_t inside, outside;
    if (strcmp(verb, "allow") == 0) {
        if (network_allow(control->network, first, ret_number, err) < 0)
            return -1;
        asking_allowed(control->asking, first);
        return 0;
    }
    if (strcmp(verb, "once") == 0)
        return network_allow_once(control->network, first, ret_number, err);
    if (strcmp(verb, "stop") == 0)
        return kill(getpid(), SIGTERM); /* as from a terminal: the command is asked to end */
    if (strcmp(verb, "answer") == 0)
        return take_answer(control, first, second, peer, ret_number, err);
    if (strcmp(verb, "publish") == 0 && port_parse(first, &inside) && port_parse(second, &outside))
        return network_publish(control->network, inside, outside, ret_number, err);
    return err_set(err, "the session does not know this request");
}

static void tell(int client, const char *text)
{
    const char *word = *text ? text : "done";
    if (send(client, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* it is gone, and needs no word */
}

/* In a file: programs inside can make the list longer than a message may be, and would hide the questions at its end. */
static void tell_questions(const struct control *control, int client)
{
    auto_buf struct buf list = {0};
    auto_fd int fd = memfd_create("questions", MFD_CLOEXEC);
    asking_list(control->asking, &list);
    if (fd < 0 || write_whole(fd, buf_text(&list), list.size) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
        passing_send(client, "list", strlen("list"), fd) < 0)
        return; /* the client hears that it has no answer */
}

static void forget_asker(struct control *control, size_t index)
{
    int fd = control->askers.at[index].fd;
    loop_remove(control->loop, fd);
    close(fd);
    control->askers.at[index] = control->askers.at[--control->askers.count];
}

static void given_is_taken(void *self, unsigned number, const char *problem)
{
    struct control *control = self;
    asking_taken(control->asking, number, problem);
    for (size_t i = 0; i < control->askers.count; i++) {
        if (control->askers.at[i].number != number)
            continue;
        tell(control->askers.at[i].fd, problem);
        forget_asker(control, i);
        return;
    }
}

/* A waiting client sends nothing more: it has hung up. */
static int asker_ready(void *self, short events not_used, struct err *err not_used)
{
    struct control *control = self;
    char byte;
    for (size_t i = control->askers.count; i-- > 0;) {
        if (recv(control->askers.at[i].fd, &byte, 1, MSG_DONTWAIT) >= 0)
            forget_asker(control, i);
    }
    return 0;
}

static int client_ready(void *self, short events not_used, struct err *err not_used)
{
    struct control *control = self;
    auto_fd int client = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer = peer_of(client);
    if (client < 0 || peer.uid != geteuid())
        return 0;
    /* One from inside gets its answer unread: it may never say anything, and many could hold up the loop. */
    if (is_inside(client, peer.pid)) {
        tell(client, "a command in a sandbox cannot give itself more access\nrun this in a terminal outside");
        return 0;
    }
    enum { MILLISECONDS = 1000 }; /* the client is bawn, and sends at once */
    struct pollfd ready = {.fd = client, .events = POLLIN};
    char line[LONGEST_LINE + 1];
    int fd = -1;
    if (poll(&ready, 1, MILLISECONDS) != 1)
        return 0;
    ssize_t got = passing_receive(client, line, LONGEST_LINE, &fd);
    fd_close(fd);
    if (got <= 0)
        return 0;
    line[got] = '\0';
    if (strcmp(line, "questions") == 0) {
        tell_questions(control, client);
        return 0;
    }
    struct err problem = {0};
    unsigned number = 0;
    if (obey(control, line, &peer, &number, &problem) == 0 && number) {
        loop_add(control->loop, client, POLLIN, asker_ready, control);
        vec_push(&control->askers, (struct control_asker){fd_take(&client), number});
        return 0;
    }
    char text[sizeof(problem.message) + sizeof(problem.hint) + 2];
    snprintf(text, sizeof(text), "%s%s%s", problem.message, *problem.hint ? "\n" : "", problem.hint);
    tell(client, text);
    return 0;
}

void control_open(struct control *control, int folder_fd, struct network *network, struct asking *asking,
                  struct loop *loop)
{
    *control = CONTROL_NONE;
    if (folder_fd < 0)
        return;
    auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = address_in(folder_fd);
    mode_t before = umask(0177);
    bool is_bound =
        fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 8) == 0;
    umask(before);
    if (!is_bound)
        return;
    *control = (struct control){.network = network,
                                .asking = asking,
                                .loop = loop,
                                .folder_fd = folder_fd,
                                .listen_fd = fd_take(&fd)};
    network->taken = given_is_taken;
    network->taken_self = control;
    loop_add(loop, control->listen_fd, POLLIN, client_ready, control);
}

void control_close(struct control *control)
{
    if (control->listen_fd < 0)
        return;
    control->network->taken = NULL;
    while (control->askers.count)
        forget_asker(control, 0);
    vec_free(&control->askers);
    loop_remove(control->loop, control->listen_fd);
    control_remove(control->folder_fd);
    close(control->listen_fd);
    *control = CONTROL_NONE;
}

void control_remove(int folder_fd)
{
    unlinkat(folder_fd, CONTROL_NAME, 0);
}

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
        connect_patiently(fd, &address) < 0 || !send_line(fd, line))
        return err_sys(err, errno, "cannot reach the session %s", session_folder);
    return fd_take(&fd);
}

int control_ask(const char *session_folder, const char *line, struct err *err)
{
    char answer[2048];
    auto_fd int fd = begin_exchange(session_folder, line, err);
    if (fd < 0)
        return -1;
    ssize_t got = receive_answer(fd, answer, sizeof(answer) - 1);
    if (got < 0 && errno == EAGAIN) {
        err_set(err, "the session %s has not answered for %d seconds", session_folder, PATIENCE);
        return err_hint(err, "it may still accept the request later: repeat the command to be sure");
    }
    if (got <= 0)
        return err_set(err, "the session %s has ended", session_folder);
    answer[got] = '\0';
    if (strcmp(answer, "done") == 0)
        return 0;
    char *hint = strchr(answer, '\n');
    if (hint)
        *hint++ = '\0';
    err_set(err, "%s", answer);
    return hint ? err_hint(err, "%s", hint) : -1;
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
