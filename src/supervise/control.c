#include "supervise/control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "kernel/terminals.h"
#include "supervise/control_wire.h"

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
    return asking_answer(control->parts.asking, id, word, &answerer, ret_number, err);
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
        if (network_allow(control->parts.network, first, ret_number, err) < 0)
            return -1;
        asking_allowed(control->parts.asking, first);
        return 0;
    }
    if (strcmp(verb, "once") == 0)
        return network_allow_once(control->parts.network, first, ret_number, err);
    if (strcmp(verb, "stop") == 0)
        return kill(getpid(), SIGTERM); /* as from a terminal: the command is asked to end */
    if (strcmp(verb, "answer") == 0)
        return take_answer(control, first, second, peer, ret_number, err);
    if (strcmp(verb, "publish") == 0 && port_parse(first, &inside) && port_parse(second, &outside))
        return network_publish(control->parts.network, inside, outside, ret_number, err);
    return err_set(err, "the session does not know this request");
}

static void tell(int client, const char *text)
{
    const char *word = *text ? text : answer_words[ANSWER_DONE];
    if (send(client, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* it is gone, and needs no word */
}

/* In a file: programs inside can make the list longer than a message may be, and would hide the questions at its end. */
static void tell_questions(const struct control *control, int client)
{
    auto_buf struct buf list = {0};
    auto_fd int fd = memfd_create("questions", MFD_CLOEXEC);
    asking_list(control->parts.asking, &list);
    if (fd < 0 || write_whole(fd, buf_text(&list), list.size) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
        passing_send(client, "list", strlen("list"), fd) < 0)
        return; /* the client hears that it has no answer */
}

/* --- a person answers ----------------------------------------------------------------------------------------------- */

static void let_go_on(struct control *control, size_t index)
{
    int fd = control->answering.at[index];
    loop_remove(control->parts.loop, fd);
    close(fd);
    control->answering.at[index] = control->answering.at[--control->answering.count];
    standstill_end(control->parts.standstill);
}

/* A client asks whether all stood still, or has hung up. */
static int answerer_ready(void *self, short events not_used, struct err *err not_used)
{
    struct control *control = self;
    char line[LONGEST_LINE];
    for (size_t i = control->answering.count; i-- > 0;) {
        int fd = control->answering.at[i];
        ssize_t got = recv(fd, line, sizeof(line), MSG_DONTWAIT);
        if (got > 0)
            tell(fd, standstill_is_unbroken(control->parts.standstill) ? "done" : "something inside ran");
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            let_go_on(control, i);
    }
    return 0;
}

static void let_all_go_on(void *self)
{
    struct control *control = self;
    while (control->answering.count)
        let_go_on(control, control->answering.count - 1);
}

/* The time of every client that answers is over: one of them may hang. */
static int answered_too_late(void *self, short events not_used, struct err *err not_used)
{
    struct control *control = self;
    uint64_t ignored;
    if (read(control->timer_fd, &ignored, sizeof(ignored)) > 0)
        let_all_go_on(control);
    return 0;
}

/* A command whose streams are on a terminal can write to it, and so can what a pipe of its shell leads to. */
static void find_terminals(uint64_t ret_numbers[TERMINALS])
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        ret_numbers[fd] = terminal_number(fd);
    ret_numbers[TERMINALS - 1] = terminal_number_own();
}

static bool has_terminal(const char *number)
{
    uint64_t own[TERMINALS], wanted;
    find_terminals(own);
    if (!text_take_number(&number, &wanted) || *number)
        return true; /* in doubt it stands still */
    for (size_t i = 0; i < TERMINALS; i++) {
        if (own[i] && (own[i] == wanted || !wanted))
            return true;
    }
    return false;
}

void control_announce(int folder_fd)
{
    uint64_t numbers[TERMINALS];
    auto_buf struct buf text = {0};
    auto_fd int self = process_open(getpid());
    auto_fd int fd =
        openat(folder_fd, TERMINALS_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    find_terminals(numbers);
    buf_printf(&text, "%d %" PRIu64, getpid(), process_look(self).start);
    for (size_t i = 0; i < TERMINALS; i++)
        buf_printf(&text, " %" PRIu64, numbers[i]);
    buf_add_str(&text, "\n");
    if (fd >= 0 && write_whole(fd, text.bytes, text.size) < 0)
        unlinkat(folder_fd, TERMINALS_NAME, 0); /* half of one would say less than none */
}

/* Returns whether the client is kept. */
static bool stand_still(struct control *control, int client, const char *number)
{
    struct timespec now;
    if (!has_terminal(number)) {
        tell(client, answer_words[ANSWER_APART]);
        return false;
    }
    if (!standstill_begin(control->parts.standstill)) {
        standstill_end(control->parts.standstill);
        tell(client, answer_words[ANSWER_RUNNING]);
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    loop_ring_at(control->parts.loop, &control->timer_fd, now.tv_sec + CONTROL_STILL_SECONDS,
                 answered_too_late, control);
    loop_add(control->parts.loop, client, POLLIN, answerer_ready, control);
    vec_push(&control->answering, client);
    tell(client, "done");
    return true;
}

/* -------------------------------------------------------------------------------------------------------------------- */

static void forget_asker(struct control *control, size_t index)
{
    int fd = control->askers.at[index].fd;
    loop_remove(control->parts.loop, fd);
    close(fd);
    control->askers.at[index] = control->askers.at[--control->askers.count];
}

static void given_is_taken(void *self, unsigned number, const char *problem)
{
    struct control *control = self;
    asking_taken(control->parts.asking, number, problem);
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
    if (text_starts_with(line, still_line)) {
        if (stand_still(control, client, line + strlen(still_line)))
            fd_take(&client);
        return 0;
    }
    struct err problem = {0};
    unsigned number = 0;
    if (obey(control, line, &peer, &number, &problem) == 0 && number) {
        loop_add(control->parts.loop, client, POLLIN, asker_ready, control);
        vec_push(&control->askers, (struct control_asker){fd_take(&client), number});
        return 0;
    }
    char text[sizeof(problem.message) + sizeof(problem.hint) + 2];
    snprintf(text, sizeof(text), "%s%s%s", problem.message, *problem.hint ? "\n" : "", problem.hint);
    tell(client, text);
    return 0;
}

void control_open(struct control *control, int folder_fd, const struct control_parts *parts)
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
    *control = CONTROL_NONE;
    control->parts = *parts;
    control->listen_fd = fd_take(&fd);
    parts->network->taken = given_is_taken;
    parts->network->taken_self = control;
    parts->standstill->give_up = let_all_go_on;
    parts->standstill->context = control;
    loop_add(parts->loop, control->listen_fd, POLLIN, client_ready, control);
}

void control_close(struct control *control)
{
    if (control->listen_fd < 0)
        return;
    control->parts.network->taken = NULL;
    while (control->askers.count)
        forget_asker(control, 0);
    let_all_go_on(control);
    control->parts.standstill->give_up = NULL;
    vec_free(&control->askers);
    vec_free(&control->answering);
    if (control->timer_fd >= 0)
        loop_remove(control->parts.loop, control->timer_fd);
    fd_close(control->timer_fd);
    loop_remove(control->parts.loop, control->listen_fd);
    close(control->listen_fd);
    *control = CONTROL_NONE;
}

void control_remove(int folder_fd)
{
    unlinkat(folder_fd, TERMINALS_NAME, 0);
    unlinkat(folder_fd, CONTROL_NAME, 0);
}
