#include "egress/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    MOST_STREAMS = 64,
    MOST_CLIENTS = 512, /* programs' own sockets, without a namespace */
    MOST_WAITING = 32,  /* questions for one name, and for all names that are not on the list */
    TURN = 64,          /* questions, before others have their turn */
};

/*
 * A connection of DNS over TCP. Each question is preceded by its size; only one of them waits at a time. Without a namespace it may be a
 * socket that stands for one of UDP: each message is a question.
 */
struct stream {
    struct watcher watcher;
    struct resolver *resolver;
    struct endpoint from;
    question_list *waits_in; /* NULL: no question waits */
    bool keeps_bounds;       /* stands for UDP */
    uint64_t thread;         /* of the program that made it; 0: not known */
    size_t size;
    uint8_t bytes[2 + DNS_LARGEST_QUESTION];
};

static struct dns_answer answer_with(const struct dns_question *question, const struct name *name)
{
    if (!name->listening)
        return (struct dns_answer){.code = DNS_FAILED};
    bool has_data = question->type == DNS_A;
    return (struct dns_answer){
        .code = DNS_FINE, .address = has_data ? name->address.address + 12 : NULL, .address_size = 4};
}

/* Names of the sandbox itself. A name below localhost is localhost too (RFC 6761). */
static bool is_own_name(const char *name)
{
    size_t size = strlen(name);
    return strcmp(name, "localhost") == 0 || strcmp(name, "bawn") == 0 ||
           strcmp(name, "host.bawn.internal") == 0 ||
           (size > 10 && strcmp(name + size - 10, ".localhost") == 0);
}

static struct dns_answer answer_own(const struct dns_question *question)
{
    static const uint8_t v4[4] = {127, 0, 0, 1}, v6[16] = {[15] = 1};
    struct dns_answer answer = {.code = DNS_FINE};
    if (question->type == DNS_A)
        answer = (struct dns_answer){DNS_FINE, v4, sizeof(v4), NULL};
    if (question->type == DNS_AAAA)
        answer = (struct dns_answer){DNS_FINE, v6, sizeof(v6), NULL};
    return answer;
}

static bool is_reverse(const char *name)
{
    size_t size = strlen(name);
    return (size > 13 && strcmp(name + size - 13, ".in-addr.arpa") == 0) ||
           (size > 9 && strcmp(name + size - 9, ".ip6.arpa") == 0);
}

/* *ret_is_exact: a rule spells the name out, without a wildcard. */
static bool is_allowed(const struct resolver *resolver, const struct host_object *host, bool *ret_is_exact)
{
    bool is_allowed = false;
    *ret_is_exact = false;
    for (size_t i = 0; host->kind == HOST_NAME && i < resolver->table->ports.count; i++) {
        struct rule rule = {0};
        uint16_t port = resolver->table->ports.at[i];
        if (!table_allows(resolver->table, host, port, &rule) && !table_asks(resolver->table, host, port))
            continue;
        is_allowed = true;
        *ret_is_exact |= rule.verb == VERB_CONNECT && rule.host.kind == HOST_NAME;
    }
    return is_allowed;
}

/* Returns false if no rule allows the name. Otherwise *ret_name is its entry, or NULL if the table is full. */
static bool find_name(const struct resolver *resolver, const char *text, struct name **ret_name)
{
    struct arena scratch = {0};
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    bool is_exact, is_listed = host_parse(&scratch, text, &host, &problem, &hint) == 0 &&
                               is_allowed(resolver, &host, &is_exact);
    if (is_listed)
        *ret_name =
            is_exact || names_have_room(resolver->names, text) ? name_enter(resolver->names, &host, 0) : NULL;
    arena_free(&scratch);
    return is_listed;
}

/* The reason for a person or an agent. It names the line that asks for the host, as far as that fits. */
enum { REASON_SIZE = 200 };

static struct dns_answer answer_unlisted(const char *name, char reason[REASON_SIZE])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
    bool fits = strlen(name) <= REASON_SIZE / 2 && strspn(name, plain) == strlen(name);
    snprintf(
        reason, REASON_SIZE,
        "bawn: this name is not on the sandbox's list of hosts, on purpose. Ask for it: `bawn ask connect %s`",
        fits ? name : "NAME");
    return (struct dns_answer){.code = DNS_NO_SUCH_NAME, .reason = reason};
}

/*
 * The first question for an unlisted name waits until bawn has found the program that asks: after the answer the program may
 * close its socket, by which bawn finds it. If bawn is busy, the program asks again and is answered at once.
 */
static question_list *consider_unlisted(struct resolver *resolver, const struct waiting_question *waiting,
                                        char reason[REASON_SIZE], struct dns_answer *ret_answer)
{
    const char *name = waiting->question.name;
    *ret_answer = answer_unlisted(name, reason);
    if (!*name || is_reverse(name)) {
        ret_answer->reason = NULL;
        return NULL;
    }
    const struct stream *stream = waiting->stream;
    bool has_thread = stream && stream->thread;
    bool is_told = tell_asked(resolver->tell, name,
                              has_thread ? "thread"
                              : stream   ? "tcp"
                                         : "udp",
                              has_thread ? stream->thread : waiting->from.port);
    return is_told && resolver->unlisted.count < MOST_WAITING ? &resolver->unlisted : NULL;
}

/* Whom a name that holds a placeholder belongs to: its last two labels. The others hold the placeholder. */
static const char *last_labels(const char *name)
{
    size_t dots = 0, at = strlen(name);
    while (at > 0 && (name[at - 1] != '.' || ++dots < 2))
        at--;
    return name + at;
}

/* Returns NULL with the answer, or the list in which the question must wait. */
static question_list *consider(struct resolver *resolver, const struct waiting_question *waiting,
                               char reason[REASON_SIZE], struct dns_answer *ret_answer)
{
    const struct dns_question *question = &waiting->question;
    if (is_own_name(question->name)) {
        *ret_answer = answer_own(question);
        return NULL;
    }
    const struct watched *watched = watch_find_in_name(resolver->watch, question->name);
    if (watched) {
        tell_host(resolver->tell, TOLD_MISUSED, true, last_labels(question->name), PORT_NAMES, watched->name);
        *ret_answer = answer_unlisted(question->name, reason);
        return NULL;
    }
    struct name *name;
    if (!find_name(resolver, question->name, &name))
        return consider_unlisted(resolver, waiting, reason, ret_answer);
    *ret_answer = (struct dns_answer){.code = DNS_FAILED};
    if (!name) {
        tell_trouble(resolver->tell, "more than %d different names were looked up", (int)MOST_NAMES);
        return NULL;
    }
    name_listen(name);
    if (name->outstanding && name->questions.count < MOST_WAITING)
        return &name->questions;
    *ret_answer = answer_with(question, name);
    return NULL;
}

void resolver_answer(struct name *name)
{
    for (size_t i = 0; i < name->questions.count; i++) {
        const struct waiting_question *waiting = &name->questions.at[i];
        struct dns_answer answer = answer_with(&waiting->question, name);
        waiting->answer(waiting, &answer);
    }
    vec_free(&name->questions);
}

void resolver_refuse(struct resolver *resolver, const char *text)
{
    char reason[REASON_SIZE];
    struct dns_answer answer = answer_unlisted(text, reason);
    for (size_t i = 0; i < resolver->unlisted.count;) {
        struct waiting_question waiting = resolver->unlisted.at[i];
        if (strcmp(waiting.question.name, text) != 0) {
            i++;
            continue;
        }
        resolver->unlisted.at[i] = resolver->unlisted.at[--resolver->unlisted.count];
        waiting.answer(&waiting, &answer);
    }
}

static void send_datagram(const struct resolver *resolver, const struct dns_question *question,
                          const struct dns_answer *answer, const struct endpoint *to)
{
    uint8_t bytes[DNS_LARGEST_ANSWER];
    size_t size = dns_write(question, answer, bytes);
    struct sockaddr_storage address;
    socklen_t address_size = endpoint_to_socket(to, &address);
    if (sendto(resolver->datagrams.fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
               address_size) < 0)
        return; /* the program is gone, or does not read: it will ask again */
}

static void answer_datagram(const struct waiting_question *waiting, const struct dns_answer *answer)
{
    send_datagram(waiting->resolver, &waiting->question, answer, &waiting->from);
}

static void datagrams_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    struct resolver *resolver = container_of(watcher, struct resolver, datagrams);
    for (int i = 0; i < TURN; i++) {
        uint8_t bytes[DNS_LARGEST_QUESTION];
        char reason[REASON_SIZE]; // cppcheck-suppress variableScope ; the answer leads to it
        struct sockaddr_storage address = {0};
        socklen_t address_size = sizeof(address);
        struct waiting_question waiting = {.answer = answer_datagram, .resolver = resolver};
        ssize_t got = recvfrom(watcher->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC,
                               (struct sockaddr *)&address, &address_size);
        if (got < 0 && errno != ECONNREFUSED)
            return;
        if (got < 0 || (size_t)got > sizeof(bytes) || !endpoint_from_socket(&address, &waiting.from))
            continue;
        struct dns_answer answer = {.code = dns_read(bytes, (size_t)got, &waiting.question)};
        question_list *waits_in = NULL;
        if (answer.code == DNS_IGNORED)
            continue;
        if (answer.code == DNS_FINE)
            waits_in = consider(resolver, &waiting, reason, &answer);
        if (waits_in)
            vec_push(waits_in, waiting);
        else
            send_datagram(resolver, &waiting.question, &answer, &waiting.from);
    }
}

static void streams_remove(const struct stream *stream)
{
    struct resolver *resolver = stream->resolver;
    size_t kept = 0;
    for (size_t i = 0; i < resolver->streams.count; i++) {
        if (resolver->streams.at[i] != stream)
            resolver->streams.at[kept++] = resolver->streams.at[i];
    }
    resolver->streams.count = kept;
}

static void stream_close(struct stream *stream)
{
    question_list *list = stream->waits_in;
    for (size_t i = 0; list && i < list->count; i++) {
        if (list->at[i].stream == stream)
            list->at[i--] = list->at[--list->count];
    }
    streams_remove(stream);
    poller_close(&stream->watcher);
    poller_retire(stream->resolver->poller, stream);
}

/* An answer is far smaller than a socket's buffer. A client that does not read its answers loses its connection. */
static bool send_on_stream(struct stream *stream, const struct dns_question *question,
                           const struct dns_answer *answer)
{
    uint8_t bytes[2 + DNS_LARGEST_ANSWER];
    size_t size = dns_write(question, answer, bytes + 2);
    bytes[0] = (uint8_t)(size >> 8);
    bytes[1] = (uint8_t)size;
    if (stream->keeps_bounds)
        return send(stream->watcher.fd, bytes + 2, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
    return send(stream->watcher.fd, bytes, size + 2, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size + 2;
}

static void answer_on_stream(const struct waiting_question *waiting, const struct dns_answer *answer)
{
    struct stream *stream = waiting->stream;
    stream->waits_in = NULL;
    /* Bytes of further questions may be here already. EPOLLOUT makes the poller call stream_ready for them. */
    poller_change(waiting->resolver->poller, &stream->watcher, stream->size ? EPOLLIN | EPOLLOUT : EPOLLIN);
    if (!send_on_stream(stream, &waiting->question, answer))
        shutdown(stream->watcher.fd, SHUT_RDWR); /* stream_ready sees the end and closes it */
}

/* Takes one whole question off the front. Returns false if the connection is over. */
static bool take_question(struct stream *stream, size_t size)
{
    struct waiting_question waiting = {
        .answer = answer_on_stream, .resolver = stream->resolver, .from = stream->from, .stream = stream};
    char reason[REASON_SIZE]; // cppcheck-suppress variableScope ; the answer leads to it
    struct dns_answer answer = {.code = dns_read(stream->bytes + 2, size, &waiting.question)};
    stream->size -= size + 2;
    memmove(stream->bytes, stream->bytes + 2 + size, stream->size);
    if (answer.code == DNS_IGNORED)
        return false;
    if (answer.code == DNS_FINE)
        stream->waits_in = consider(stream->resolver, &waiting, reason, &answer);
    if (!stream->waits_in)
        return send_on_stream(stream, &waiting.question, &answer);
    vec_push(stream->waits_in, waiting);
    poller_change(stream->resolver->poller, &stream->watcher, 0);
    return true;
}

/* Takes whole questions until one has to wait. Returns false if the connection is over. */
static bool take_questions(struct stream *stream)
{
    while (stream->size >= 2 && !stream->waits_in) {
        size_t size = (size_t)stream->bytes[0] << 8 | stream->bytes[1];
        if (size > DNS_LARGEST_QUESTION)
            return false;
        if (stream->size < size + 2)
            return true;
        if (!take_question(stream, size))
            return false;
    }
    return true;
}

/* Takes the messages of one turn, until a question has to wait. One that is no question is passed over. Returns false if the client is gone. */
static bool take_messages(struct stream *stream)
{
    for (int i = 0; i < TURN && !stream->waits_in; i++) {
        ssize_t got =
            recv(stream->watcher.fd, stream->bytes + 2, DNS_LARGEST_QUESTION, MSG_DONTWAIT | MSG_TRUNC);
        if (got <= 0) /* an empty message, or none; stream_ready sees the end */
            return got == 0 || errno == EAGAIN;
        streams_remove(stream);
        vec_push(&stream->resolver->streams, stream);
        stream->size = (size_t)got + 2;
        if ((size_t)got > DNS_LARGEST_QUESTION || !take_question(stream, (size_t)got))
            stream->size = 0;
    }
    return true;
}

/* Questions that are here already come first, which makes room for more bytes. Returns false if the connection is over. */
static bool stream_read(struct stream *stream)
{
    if (stream->keeps_bounds)
        return take_messages(stream);
    if (!take_questions(stream))
        return false;
    if (stream->waits_in)
        return true;
    ssize_t got = recv(stream->watcher.fd, stream->bytes + stream->size, sizeof(stream->bytes) - stream->size,
                       MSG_DONTWAIT);
    if (got <= 0)
        return got < 0 && errno == EAGAIN;
    streams_remove(stream);
    vec_push(&stream->resolver->streams, stream);
    stream->size += (size_t)got;
    return take_questions(stream);
}

static void stream_ready(struct watcher *watcher, uint32_t events)
{
    struct stream *stream = (struct stream *)watcher;
    poller_change(stream->resolver->poller, watcher, EPOLLIN);
    if ((stream->keeps_bounds && events & EPOLLHUP) || !stream_read(stream))
        stream_close(stream);
}

/* No descriptor is left: closes a stream, or pauses, since epoll would report the waiting client for ever. */
static void make_room(struct resolver *resolver)
{
    if (resolver->streams.count) {
        stream_close(resolver->streams.at[0]);
        return;
    }
    listeners_pause_names(resolver->listeners);
}

void resolver_add_stream(struct resolver *resolver, int fd, bool keeps_bounds, uint64_t thread)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    struct stream *stream = must_realloc(NULL, 1, sizeof(*stream));
    *stream = (struct stream){.resolver = resolver, .keeps_bounds = keeps_bounds, .thread = thread};
    if (getpeername(fd, (struct sockaddr *)&address, &size) < 0 ||
        !endpoint_from_socket(&address, &stream->from))
        stream->from = (struct endpoint){0};
    if (resolver->streams.count >= (keeps_bounds ? MOST_CLIENTS : MOST_STREAMS))
        stream_close(resolver->streams.at[0]);
    if (poller_add(resolver->poller, &stream->watcher, fd, EPOLLIN, stream_ready) < 0)
        free(stream);
    else
        vec_push(&resolver->streams, stream);
}

static void streams_ready(struct watcher *watcher, uint32_t events)
{
    (void)events;
    struct resolver *resolver = container_of(watcher, struct resolver, listening);
    int fd = accept4(watcher->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && listeners_lack_room(errno))
        make_room(resolver);
    if (fd >= 0)
        resolver_add_stream(resolver, fd, false, 0);
}

int resolver_add_datagrams(struct resolver *resolver, int fd)
{
    return poller_add(resolver->poller, &resolver->datagrams, fd, EPOLLIN, datagrams_ready);
}

int resolver_add_streams(struct resolver *resolver, int fd)
{
    return poller_add(resolver->poller, &resolver->listening, fd, EPOLLIN, streams_ready);
}
