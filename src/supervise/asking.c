#include "supervise/asking.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { MOST_WAITING = 128 };

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* The reply is one message: "granted SENTENCE" or "refused SENTENCE". */
static void reply(int fd, bool is_granted, const char *sentence)
{
    char text[ASKING_LONGEST];
    int size = snprintf(text, sizeof(text), "%s %s", is_granted ? "granted" : "refused", sentence);
    size_t length = size < (int)sizeof(text) ? (size_t)size : sizeof(text) - 1;
    if (send(fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* it is gone, and needs no word */
}

static void forget(struct asking *asking, size_t index)
{
    int fd = asking->waiting.at[index].fd;
    loop_remove(asking->loop, fd);
    close(fd);
    asking->waiting.at[index] = asking->waiting.at[--asking->waiting.count];
}

static void journal_asked(struct asking *asking, const struct question *question)
{
    char id[16], pid[16];
    snprintf(id, sizeof(id), "%u", question->id);
    snprintf(pid, sizeof(pid), "%d", question->pid);
    journal_event(asking->journal, "asked", "id", id, "kind", question_kind_word(question->kind), "object",
                  question->object, "because", question->because, "program", question->program, "pid", pid,
                  "warning", question->warning);
}

static struct asker asker_of(int client, char program[32])
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    struct asker asker = {.program = program};
    *program = '\0';
    if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        asker.pid = peer.pid;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", asker.pid);
    auto_buf struct buf text = {0};
    auto_fd int fd = asker.pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && buf_read(&text, fd, 31) >= 0)
        snprintf(program, 32, "%.*s", (int)strcspn(buf_text(&text), "\n"), buf_text(&text));
    return asker;
}

/* Puts a question to the broker, and tells of a new one. */
static struct decided put(struct asking *asking, struct arena *arena, const char *line,
                          const struct asker *asker)
{
    struct decided decided = broker_take(&asking->broker, arena, line, asker, seconds_now());
    if (decided.reply == REPLY_OPEN && decided.is_new) {
        const struct question *question = broker_find(&asking->broker, decided.id);
        journal_asked(asking, question);
        if (question->is_shown && asking->shown)
            asking->shown(asking->context, question);
    }
    return decided;
}

/* network_held: as if its program had asked. */
static void connection_held(void *self, const char *host, const char *port, int pid, const char *program)
{
    struct asking *asking = self;
    struct arena arena = {0};
    struct err err = {0};
    struct asker asker = {.pid = pid, .program = program};
    const char *object = arena_printf(&arena, "%s:%s", host, port);
    const char *line = arena_printf(&arena, "connect\t%s\t", object);
    struct decided decided = put(asking, &arena, line, &asker);
    if (decided.reply == REPLY_REFUSED && network_refuse(asking->network, object, &err) < 0)
        journal_event(asking->journal, "network-trouble", "why", err.message);
    arena_free(&arena);
}

/* One line of a client. Returns the question that it waits for, or 0. */
static unsigned take_line(struct asking *asking, int client, const char *line)
{
    struct arena arena = {0};
    char program[32];
    struct asker asker = asker_of(client, program);
    struct decided decided = put(asking, &arena, line, &asker);
    if (decided.reply != REPLY_OPEN)
        reply(client, decided.reply == REPLY_GRANTED, decided.sentence);
    arena_free(&arena);
    return decided.reply == REPLY_OPEN ? decided.id : 0;
}

/* A client says its line, or has hung up. One that says more after its line is gone too. */
static int client_ready(void *self, short events not_used, struct err *err not_used)
{
    struct asking *asking = self;
    for (size_t i = asking->waiting.count; i-- > 0;) {
        struct waiting_asker waiting = asking->waiting.at[i];
        char line[ASKING_LONGEST + 1];
        ssize_t got = recv(waiting.fd, line, ASKING_LONGEST, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        line[got > 0 ? got : 0] = '\0';
        bool says_line = got > 0 && !waiting.question && strlen(line) == (size_t)got;
        asking->waiting.at[i].question = says_line ? take_line(asking, waiting.fd, line) : 0;
        if (!asking->waiting.at[i].question)
            forget(asking, i);
    }
    return 0;
}

static int asker_comes(void *self, short events not_used, struct err *err not_used)
{
    struct asking *asking = self;
    auto_fd int client = accept4(asking->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return 0;
    if (asking->waiting.count >= MOST_WAITING) {
        reply(client, false, "too many programs ask at once");
        return 0;
    }
    loop_add(asking->loop, client, POLLIN, client_ready, asking);
    vec_push(&asking->waiting, (struct waiting_asker){.fd = fd_take(&client)});
    return 0;
}

void asking_begin(struct asking *asking, struct network *network, struct journal *journal, struct loop *loop,
                  bool holds)
{
    asking->broker = (struct broker){.arena = &network->arena,
                                     .policy = network->plan->policy,
                                     .net = network->mode ? network->mode : "off"};
    asking->network = network;
    asking->journal = journal;
    asking->loop = loop;
    network->held = holds ? connection_held : NULL;
    network->held_self = asking;
}

void asking_listen(struct asking *asking, int listen_fd)
{
    asking->listen_fd = listen_fd;
    loop_add(asking->loop, listen_fd, POLLIN, asker_comes, asking);
}

void asking_end(struct asking *asking)
{
    if (!asking->network)
        return;
    while (asking->waiting.count)
        forget(asking, 0);
    if (asking->listen_fd >= 0)
        loop_remove(asking->loop, asking->listen_fd);
    fd_close(asking->listen_fd);
    vec_free(&asking->waiting);
    asking->network->held = NULL;
    broker_free(&asking->broker);
    *asking = ASKING_NONE;
}

void asking_list(const struct asking *asking, struct buf *out)
{
    if (asking->network)
        broker_list(&asking->broker, seconds_now(), out);
}

/* Gives what a question asks for, as `bawn allow` and `bawn publish` would. */
static int carry_out(struct asking *asking, const struct question *question, unsigned *ret_number,
                     struct err *err)
{
    uint16_t port;
    if (question->kind == QUESTION_CONNECT)
        return network_allow(asking->network, question->object, ret_number, err);
    if (!port_parse(question->object, &port))
        return err_set(err, "%s is not a port", question->object);
    return network_publish(asking->network, port, port, ret_number, err);
}

static void tell_askers(struct asking *asking, const struct question *question)
{
    struct arena arena = {0};
    const char *sentence = broker_sentence(&arena, question);
    for (size_t i = asking->waiting.count; i-- > 0;) {
        if (asking->waiting.at[i].question != question->id)
            continue;
        reply(asking->waiting.at[i].fd, question->answer == ANSWER_SESSION, sentence);
        forget(asking, i);
    }
    arena_free(&arena);
}

int asking_answer(struct asking *asking, const char *id, const char *word, unsigned *ret_number,
                  struct err *err)
{
    const char *end = id;
    uint64_t number = 0;
    if (!text_take_number(&end, &number) || *end || number > UINT32_MAX || !asking->network)
        return err_set(err, "there is no question %s", id);
    struct question *question = broker_find(&asking->broker, (unsigned)number);
    if (!question)
        return err_set(err, "the question %s is not open: it was answered, or never asked", id);
    /* First given, then said: a program that is told yes must find the door open. */
    if (strcmp(word, "session") == 0 && carry_out(asking, question, ret_number, err) < 0)
        return -1;
    bool is_refused = question->kind == QUESTION_CONNECT && strcmp(word, "no") == 0;
    if (is_refused && network_refuse(asking->network, question->object, err) < 0)
        return -1;
    if (broker_answer(&asking->broker, (unsigned)number, word, err) < 0)
        return -1;
    char seconds[24];
    snprintf(seconds, sizeof(seconds), "%" PRId64, seconds_now() - question->asked_at);
    journal_event(asking->journal, "answered", "id", id, "answer", word, "object", question->object,
                  "seconds", seconds);
    tell_askers(asking, question);
    return 0;
}

int asking_ask(const char *line, int seconds, char ret_sentence[ASKING_LONGEST + 1], struct err *err)
{
    auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = QUESTIONS_INSIDE};
    struct timeval patience = {.tv_sec = seconds};
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        err_sys(err, errno, "there is no bawn to ask here");
        return err_hint(err, "`bawn ask` works only in a sandbox that bawn has made");
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
        return err_sys(err, errno, "the question cannot be sent");
    ssize_t got = recv(fd, ret_sentence, ASKING_LONGEST, 0);
    if (got < 0 && errno == EAGAIN)
        return '\0';
    if (got <= 0)
        return err_set(err, "bawn has hung up without an answer");
    ret_sentence[got] = '\0';
    return ret_sentence[0];
}
