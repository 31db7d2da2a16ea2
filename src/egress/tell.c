#include "egress/tell.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { MOST_TOLD = 4096 };

static const struct {
    const char *word, *last;
} kinds[] = {
#define X(id, word, last) [id] = {word, "trouble " last},
    TOLD_KINDS(X)
#undef X
};

void tell_more(struct tell *tell)
{
    while (tell->untold_sent < tell->untold.count) {
        const char *line = tell->untold.at[tell->untold_sent];
        if (send(tell->link.fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            tell->poller->is_over |= errno != EAGAIN && errno != ENOBUFS && errno != EINTR;
            poller_change(tell->poller, &tell->link, EPOLLIN | EPOLLOUT);
            return;
        }
        tell->untold_sent++;
    }
    tell->untold.count = tell->untold_sent = 0;
    poller_change(tell->poller, &tell->link, EPOLLIN);
}

void tell_rest(struct tell *tell)
{
    enum { PATIENCE = 2000 }; /* milliseconds; bawn kills this program earlier */
    struct pollfd ready = {.fd = tell->link.fd, .events = POLLOUT};
    do
        tell_more(tell);
    while (tell->untold.count && poll(&ready, 1, PATIENCE) > 0 && !(ready.revents & (POLLERR | POLLHUP)));
}

void tell_always(struct tell *tell, const char *line)
{
    vec_push(&tell->untold, arena_str(tell->arena, line));
    tell_more(tell);
}

void tell_now(const struct tell *tell, const char *line)
{
    if (send(tell->link.fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* the poller finds out if bawn is gone */
}

/* A subject that comes up a million times is one line in the journal. Returns false if the line was not sent. */
static bool tell_once(struct tell *tell, enum told kind, bool is_one_of_many, const char *subject,
                      const char *line)
{
    size_t size = strlen(subject), *count = &tell->told_count[kind][is_one_of_many];
    if (*count > MOST_TOLD || map_get(&tell->told, subject, size))
        return false;
    *map_at(&tell->told, arena_copy(tell->arena, subject, size), size) = tell;
    bool is_one_too_many = ++*count > MOST_TOLD;
    tell_always(tell, is_one_too_many ? kinds[kind].last : line);
    return !is_one_too_many;
}

void tell_trouble(struct tell *tell, const char *format, ...)
{
    static const char word[] = "trouble ";
    char line[TELL_LONGEST];
    va_list args;
    va_start(args, format);
    memcpy(line, word, sizeof(word));
    vsnprintf(line + sizeof(word) - 1, sizeof(line) - sizeof(word) + 1, format, args);
    va_end(args);
    tell_once(tell, TOLD_TROUBLE, false, line, line);
}

void tell_name_trouble(struct tell *tell, const char *name, const char *sentence)
{
    char line[TELL_LONGEST];
    snprintf(line, sizeof(line), "%s %s %s", kinds[TOLD_TROUBLE].word, name, sentence);
    tell_once(tell, TOLD_TROUBLE, true, line, line);
}

void tell_host(struct tell *tell, enum told kind, bool is_one_of_many, const char *host, uint16_t port,
               const char *detail)
{
    char line[TELL_LONGEST];
    snprintf(line, sizeof(line), "%s %s %u %s", kinds[kind].word, host, port, detail);
    tell_once(tell, kind, is_one_of_many, line, line);
}

enum { LONGEST_SUBJECT = TELL_LONGEST / 2 };

static void held_subject(const char *host, uint16_t port, char ret_subject[LONGEST_SUBJECT])
{
    snprintf(ret_subject, LONGEST_SUBJECT, "%s %s %u", kinds[TOLD_HELD].word, host, port);
}

void tell_forget_held(struct tell *tell, const char *host, uint16_t port)
{
    char subject[LONGEST_SUBJECT];
    held_subject(host, port, subject);
    if (map_get(&tell->told, subject, strlen(subject)))
        *map_at(&tell->told, subject, strlen(subject)) = NULL;
}

void tell_held(struct tell *tell, const char *host, uint16_t port, uint16_t client)
{
    char subject[LONGEST_SUBJECT], line[TELL_LONGEST];
    held_subject(host, port, subject);
    snprintf(line, sizeof(line), "%s %u", subject, client);
    tell_once(tell, TOLD_HELD, true, subject, line);
}

bool tell_asked(struct tell *tell, const char *name, const char *by, uint64_t number)
{
    char line[TELL_LONGEST];
    snprintf(line, sizeof(line), "%s %s %s %llu", kinds[TOLD_ASKED].word, name, by,
             (unsigned long long)number);
    return tell_once(tell, TOLD_ASKED, true, name, line);
}
