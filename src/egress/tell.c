/* What this program tells bawn: lines of words. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "egress/egress.h"

enum { MOST_TOLD = 4096 };

static const struct {
    const char *word, *last;
} kinds[] = {
#define X(id, word, last) [TOLD_##id] = {word, "trouble " last},
    TOLD_KINDS(X)
#undef X
};

void tell_more(struct egress *egress)
{
    while (egress->untold_sent < egress->untold.count) {
        const char *line = egress->untold.at[egress->untold_sent];
        if (send(egress->link.fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            egress->is_over |= errno != EAGAIN && errno != ENOBUFS && errno != EINTR;
            poller_change(&egress->poller, &egress->link, EPOLLIN | EPOLLOUT);
            return;
        }
        egress->untold_sent++;
    }
    egress->untold.count = egress->untold_sent = 0;
    poller_change(&egress->poller, &egress->link, EPOLLIN);
}

void tell_rest(struct egress *egress)
{
    enum { PATIENCE = 2000 }; /* milliseconds; bawn ends this program before that */
    struct pollfd ready = {.fd = egress->link.fd, .events = POLLOUT};
    do
        tell_more(egress);
    while (egress->untold.count && poll(&ready, 1, PATIENCE) > 0 && !(ready.revents & (POLLERR | POLLHUP)));
}

void tell_always(struct egress *egress, const char *line)
{
    vec_push(&egress->untold, arena_str(&egress->arena, line));
    tell_more(egress);
}

/* What is asked for a million times is one line of the journal. Returns false where it was told before, or too much was. */
static bool tell_once(struct egress *egress, enum told kind, bool is_one_of_many, const char *subject,
                      const char *line)
{
    size_t size = strlen(subject), *count = &egress->told_count[kind][is_one_of_many];
    if (*count > MOST_TOLD || map_get(&egress->told, subject, size))
        return false;
    *map_at(&egress->told, arena_copy(&egress->arena, subject, size), size) = egress;
    bool is_one_too_many = ++*count > MOST_TOLD;
    tell_always(egress, is_one_too_many ? kinds[kind].last : line);
    return !is_one_too_many;
}

void tell_trouble(struct egress *egress, const char *format, ...)
{
    static const char word[] = "trouble ";
    char line[TELL_LONGEST];
    va_list args;
    va_start(args, format);
    memcpy(line, word, sizeof(word));
    vsnprintf(line + sizeof(word) - 1, sizeof(line) - sizeof(word) + 1, format, args);
    va_end(args);
    tell_once(egress, TOLD_TROUBLE, false, line, line);
}

void tell_name_trouble(const struct name *name, const char *sentence)
{
    char line[TELL_LONGEST];
    snprintf(line, sizeof(line), "%s %s %s", kinds[TOLD_TROUBLE].word, name->text, sentence);
    tell_once(name->egress, TOLD_TROUBLE, true, line, line);
}

void tell_connection(const struct connection *connection, enum told kind, const char *detail)
{
    char line[TELL_LONGEST], text[ENDPOINT_TEXT_SIZE];
    snprintf(line, sizeof(line), "%s %s %u %s", kinds[kind].word, connection_host(connection, text),
             connection->asked.port, detail);
    tell_once(connection->egress, kind, connection_is_one_of_many(connection), line, line);
}

bool tell_asked(struct egress *egress, const char *name, bool by_stream, uint16_t port)
{
    char line[TELL_LONGEST];
    snprintf(line, sizeof(line), "%s %s %s %u", kinds[TOLD_ASKED].word, name, by_stream ? "tcp" : "udp",
             port);
    return tell_once(egress, TOLD_ASKED, true, name, line);
}
