#include "supervise/asking.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "broker/objects.h"
#include "kernel/account.h"
#include "kernel/ports.h"
#include "kernel/unix_sockets.h"

enum {
    MOST_WAITING = 128,
    STATUS_LARGEST = 16384,
    STATUS_SECONDS = 5, /* the supervisor replies at once */
    NAME_COLUMNS = 64,
};

/* The line of a program that asks for nothing, and wants to know how its questions stand. */
static const char status_line[] = "status";

/* The same for one that wants to know what was given. */
static const char given_line[] = "given";

/* The reply is one message: "granted SENTENCE" or "refused SENTENCE". `content_fd` goes along with it; -1: none. */
static void reply(int fd, bool is_granted, const char *sentence, int content_fd)
{
    char text[ASKING_LONGEST];
    int size = snprintf(text, sizeof(text), "%s %s", is_granted ? "granted" : "refused", sentence);
    size_t length = size < (int)sizeof(text) ? (size_t)size : sizeof(text) - 1;
    if (passing_send(fd, text, length, content_fd) < 0)
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
                  "parents", question->parents, "says", question->says, "warning", question->warning);
}

struct decided asking_put(struct asking *asking, struct arena *arena, const char *line,
                          const struct asker *asker)
{
    struct decided decided = broker_take(&asking->broker, arena, line, asker, now_seconds());
    granting_keep(&asking->granting, decided.is_new ? decided.id : 0);
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
    struct decided decided = asking_put(asking, &arena, line, &asker);
    if (decided.reply == REPLY_REFUSED && network_refuse(asking->network, object, &err) < 0)
        journal_event(asking->journal, "network-trouble", "why", err.message);
    arena_free(&arena);
}

/* Only what is inside: whether a server of this machine has a port is nothing for a program inside. */
static void add_servers(const struct network *network, struct buf *out)
{
    auto_vec port_list ports = {0};
    if (network)
        network_servers(network, &ports);
    vec_each (const uint16_t, port, &ports)
        buf_printf(
            out,
            "A server listens at localhost:%u in this sandbox. The person does not see it before port %u is "
            "published: `ask` for that, or tell them `bawn publish %u`.\n",
            *port, *port, *port);
}

static void reply_status(const struct asking *asking, int client, bool is_of_given)
{
    auto_buf struct buf text = {0};
    if (is_of_given)
        broker_given(&asking->broker, STATUS_LARGEST, &text);
    else
        broker_status(&asking->broker, now_seconds(), &text);
    if (!is_of_given)
        add_servers(asking->network, &text);
    size_t size = text.size < STATUS_LARGEST ? text.size : STATUS_LARGEST;
    if (send(client, buf_text(&text), size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* it is gone, and needs no word */
}

/* A variable that was given until the run ends is given to whoever asks for it again. */
static void reply_decided(const struct asking *asking, int client, const struct decided *decided)
{
    const struct question *known = broker_known(&asking->broker, decided->id);
    struct err ignored;
    bool has_content = decided->reply == REPLY_GRANTED && known && known->kind == QUESTION_ENV;
    auto_fd int content = has_content ? granting_content(&asking->granting, known, &ignored) : -1;
    reply(client, decided->reply == REPLY_GRANTED, decided->sentence, content);
}

pid_t asking_deputy(const struct asking *asking)
{
    return asking->granting.launched ? asking->granting.launched->pid : 0;
}

/* One line of a client. Returns the question that it waits for, or 0. */
static unsigned take_line(struct asking *asking, int client, const char *line, int *ret_pid)
{
    struct arena arena = {0};
    struct holder holder = holder_of_peer(client, asking_deputy(asking));
    char parents[PARENTS_LONGEST];
    holder_read_parents(&holder, asking_deputy(asking), parents);
    struct asker asker = {.pid = (int)holder.pid, .program = holder.program, .parents = parents};
    struct decided decided = asking_put(asking, &arena, line, &asker);
    *ret_pid = asker.pid;
    if (decided.reply != REPLY_OPEN)
        reply_decided(asking, client, &decided);
    arena_free(&arena);
    return decided.reply == REPLY_OPEN ? decided.id : 0;
}

/* git wants to reach a repository. The reply brings the way, and nobody waits for it. */
static void serve_git(struct asking *asking, int client, const char *line)
{
    struct arena arena = {0};
    struct holder holder = holder_of_peer(client, asking_deputy(asking));
    const char *sentence = "no `forge` rule is in force here";
    auto_fd int way = asking->forging ? forging_take(asking->forging, &arena, line, holder.program,
                                                     (int)holder.pid, &sentence)
                                      : -1;
    reply(client, way >= 0, sentence, way);
    arena_free(&arena);
}

/* A client says its line, or has hung up. One that says more after its line is gone too. */
static int client_ready(void *self, short events not_used, struct err *err not_used)
{
    struct asking *asking = self;
    for (size_t i = asking->waiting.count; i-- > 0;) {
        struct waiting_asker waiting = asking->waiting.at[i];
        char line[ASKING_LONGEST + 1];
        ssize_t got = recv(waiting.fd, line, ASKING_LONGEST, MSG_DONTWAIT | MSG_TRUNC); /* its real size */
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        bool is_whole = got > 0 && got <= ASKING_LONGEST;
        line[is_whole ? got : 0] = '\0';
        bool says_line = is_whole && !waiting.question && strlen(line) == (size_t)got;
        bool is_given = says_line && strcmp(line, given_line) == 0;
        bool is_status = is_given || (says_line && strcmp(line, status_line) == 0);
        bool is_git = says_line && text_starts_with(line, FORGING_WORD);
        if (is_status)
            reply_status(asking, waiting.fd, is_given);
        if (is_git)
            serve_git(asking, waiting.fd, line);
        asking->waiting.at[i].question = says_line && !is_status && !is_git
                                             ? take_line(asking, waiting.fd, line, &asking->waiting.at[i].pid)
                                             : 0;
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
        reply(client, false, "too many programs ask at once", -1);
        return 0;
    }
    loop_add(asking->loop, client, POLLIN, client_ready, asking);
    vec_push(&asking->waiting, (struct waiting_asker){.fd = fd_take(&client)});
    return 0;
}

/* A file is visible inside. Whoever answered hears of it as of a host. */
static void shown_inside(void *context, unsigned number, const char *problem)
{
    struct asking *asking = context;
    const struct network *network = asking->network;
    if (network->taken)
        network->taken(network->taken_self, number, problem);
    else
        asking_taken(asking, number, problem);
}

void asking_begin(struct asking *asking, struct network *network, struct journal *journal, struct loop *loop,
                  bool holds)
{
    asking->broker = (struct broker){.arena = &network->arena,
                                     .policy = network->plan->policy,
                                     .net = network->mode ? network->mode : "off",
                                     .look = granting_look,
                                     .context = &asking->granting};
    asking->granting.plan = network->plan;
    asking->granting.loop = loop;
    asking->granting.done = shown_inside;
    asking->granting.context = asking;
    asking->network = network;
    asking->journal = journal;
    asking->loop = loop;
    network->held = holds ? connection_held : NULL;
    network->held_self = asking;
}

void asking_hear(struct asking *asking, question_answered *answered, void *context)
{
    vec_push(&asking->hearers, (struct answer_hearer){answered, context});
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
    vec_free(&asking->hearers);
    asking->network->held = NULL;
    granting_end(&asking->granting);
    broker_free(&asking->broker);
    *asking = ASKING_NONE;
}

void asking_list(const struct asking *asking, struct buf *out)
{
    if (asking->network)
        broker_list(&asking->broker, now_seconds(), out);
}

/* Gives what a question asks for, as `bawn allow` and `bawn publish` would; or refuses it to connections that wait. */
static int carry_out_network(struct asking *asking, const struct question *question,
                             enum question_answer answer, unsigned *ret_number, struct err *err)
{
    uint16_t port;
    bool is_host = question->kind == QUESTION_CONNECT;
    if (answer == ANSWER_NO)
        return is_host ? network_refuse(asking->network, question->object, err) : 0;
    if (is_host && answer == ANSWER_ONCE)
        return network_allow_once(asking->network, question->object, ret_number, err);
    if (is_host)
        return network_allow(asking->network, question->object, ret_number, err);
    if (!port_parse(question->object, &port))
        return err_set(err, "%s is not a port", question->object);
    return network_publish(asking->network, port, port, ret_number, err);
}

/* A file or directory that is shown inside from now on has a number, as a host has. */
static int carry_out(struct asking *asking, const struct question *question, enum question_answer answer,
                     int *ret_content, unsigned *ret_number, struct err *err)
{
    *ret_number = 0;
    if (!question_kind_is_asked(question->kind))
        return 0; /* who waits for it is told: `answered` */
    if (question->kind == QUESTION_CONNECT || question->kind == QUESTION_PUBLISH)
        return carry_out_network(asking, question, answer, ret_number, err);
    if (answer == ANSWER_NO || answer == ANSWER_LATER)
        return 0;
    if (answer == ANSWER_ONCE || question->kind == QUESTION_ENV) {
        *ret_content = granting_content(&asking->granting, question, err);
        return *ret_content < 0 ? -1 : 0;
    }
    unsigned number = ++asking->network->last_given;
    if (granting_show(&asking->granting, question, number, err) < 0)
        return -1;
    *ret_number = number;
    return 0;
}

/* The content goes to one program: the one that a person was told of. Others that asked for the same get the sentence. */
static void tell_askers(struct asking *asking, const struct question *question, int content_fd)
{
    struct arena arena = {0};
    const char *sentence = broker_sentence(&arena, question);
    bool is_taken = false, is_once = question->answer == ANSWER_ONCE && question->is_content;
    for (size_t i = asking->waiting.count; i-- > 0;) {
        struct waiting_asker waiting = asking->waiting.at[i];
        if (waiting.question != question->id)
            continue;
        bool is_its = !is_once || (!is_taken && waiting.pid == question->pid);
        is_taken |= is_its;
        reply(waiting.fd, question_is_granted(question) && is_its,
              is_its ? sentence : "it was given once, to another program: ask again",
              is_its ? content_fd : -1);
        forget(asking, i);
    }
    arena_free(&arena);
}

bool answer_way_is_known(const char *way)
{
    /* A key in `bawn requests`, which may be a popup's or a prompt's; a button; `bawn answer`; the local page. */
    static const char *const ways[] = {"key", "popup", "prompt", "notification", "answer", "page"};
    return text_is_among(way, ways, array_len(ways));
}

/* "ann (1000)", or the number alone where /etc/passwd does not have it. */
static const char *user_text(struct arena *arena, unsigned uid)
{
    char room[ACCOUNT_LARGEST];
    struct passwd account;
    return account_find(uid, &account, room)
               ? arena_printf(arena, "%s (%u)", broker_printable(arena, account.pw_name, NAME_COLUMNS), uid)
               : arena_printf(arena, "%u", uid);
}

static void journal_answered(struct asking *asking, const struct question *question, const char *word,
                             const struct answerer *answerer)
{
    struct arena arena = {0};
    struct holder holder = {.pid = answerer->pid};
    char parents[PARENTS_LONGEST];
    holder_read_parents(&holder, 1, parents);
    journal_event(asking->journal, "answered", "id", arena_printf(&arena, "%u", question->id), "answer", word,
                  "object", question->object, "seconds",
                  arena_printf(&arena, "%" PRId64, now_seconds() - question->asked_at), "user",
                  user_text(&arena, answerer->uid), "how", answerer->how, "through", parents);
    arena_free(&arena);
}

int asking_answer(struct asking *asking, const char *id, const char *word, const struct answerer *answerer,
                  unsigned *ret_number, struct err *err)
{
    const char *end = id;
    uint64_t number = 0;
    if (!text_take_number(&end, &number) || *end || number > UINT32_MAX || !asking->network)
        return err_set(err, "there is no question %s", id);
    struct question *question = broker_find(&asking->broker, (unsigned)number);
    if (!question)
        return err_set(err, "the question %s is not open: it was answered, or never asked", id);
    enum question_answer answer = question_answer_of(word);
    if (answer == ANSWER_NONE)
        return err_set(err, "an answer is `once`, `session` or `no`");
    const char *problem = broker_problem_with(question, answer);
    if (problem)
        return err_set(err, "%s", problem);
    auto_fd int content = -1;
    if (carry_out(asking, question, answer, &content, ret_number, err) < 0)
        return -1;
    question->answer = answer;
    question->given = *ret_number;
    journal_answered(asking, question, word, answerer);
    if (!question->given)
        tell_askers(asking, question, content);
    vec_each (const struct answer_hearer, hearer, &asking->hearers)
        hearer->answered(hearer->context, question);
    if (asking->settled)
        asking->settled(asking->context);
    return 0;
}

void asking_allowed(struct asking *asking, const char *host)
{
    if (asking->network)
        broker_allow(&asking->broker, host);
}

void asking_taken(struct asking *asking, unsigned number, const char *problem)
{
    vec_each (struct question, question, &asking->broker.questions) {
        if (question->given != number)
            continue;
        question->given = 0;
        bool is_path = question->kind == QUESTION_READ || question->kind == QUESTION_WRITE;
        if (*problem && is_path) { /* the question is open again */
            question->answer = ANSWER_NONE;
            continue;
        }
        tell_askers(asking, question, -1);
    }
}

/* --- the client inside --- */

int asking_send(const char *line, struct err *err)
{
    auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = QUESTIONS_INSIDE};
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        err_sys(err, errno, "there is no bawn to ask here");
        return err_hint(err, "`bawn ask` works only in a sandbox that bawn has made");
    }
    if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
        return err_sys(err, errno, "the question cannot be sent");
    return fd_take(&fd);
}

int asking_ask_content(const char *line, int seconds, char ret_sentence[ASKING_LONGEST + 1], int *ret_content,
                       struct err *err)
{
    *ret_content = -1;
    auto_fd int fd = asking_send(line, err);
    if (fd < 0)
        return -1;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int came = poll(&ready, 1, seconds > INT_MAX / 1000 ? -1 : seconds * 1000);
    if (came == 0)
        return '\0';
    auto_fd int content = -1;
    ssize_t got = came < 0 ? -1 : passing_receive(fd, ret_sentence, ASKING_LONGEST, &content);
    if (got <= 0)
        return err_set(err, "bawn closed the connection without an answer");
    ret_sentence[got] = '\0';
    *ret_content = fd_take(&content);
    return ret_sentence[0];
}

int asking_ask(const char *line, int seconds, char ret_sentence[ASKING_LONGEST + 1], struct err *err)
{
    int content;
    int letter = asking_ask_content(line, seconds, ret_sentence, &content, err);
    fd_close(content);
    return letter;
}

/* A line that is answered at once, with a text. */
static int ask_at_once(const char *line, struct buf *ret_text, struct err *err)
{
    struct timeval patience = {.tv_sec = STATUS_SECONDS};
    not_zeroed char text[STATUS_LARGEST];
    auto_fd int fd = asking_send(line, err);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
        return err_sys(err, errno, "the question cannot be sent");
    ssize_t got = recv(fd, text, sizeof(text), 0);
    if (got < 0)
        return err_set(err, "bawn did not reply within %d seconds", STATUS_SECONDS);
    buf_add(ret_text, text, (size_t)got);
    return 0;
}

int asking_status(struct buf *ret_text, struct err *err)
{
    return ask_at_once(status_line, ret_text, err);
}

int asking_given(struct buf *ret_text, struct err *err)
{
    return ask_at_once(given_line, ret_text, err);
}
