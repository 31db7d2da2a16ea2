/*
 * Lines of words to bawn. Lines that bawn does not read yet wait in memory.
 *
 * The same line is sent only once, and each kind has a limit. Hosts that a rule spells out and hosts that match a wildcard or
 * a network have separate limits: thousands of names below a wildcard must not hide anything else.
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/names.h"
#include "kernel/poller.h"

#define TOLD_KINDS(X)                                                                                        \
    X(TOLD_TROUBLE, "trouble", "too many events: the rest is not recorded")                                  \
    X(TOLD_CONNECTED, "connected", "too many hosts were reached: further ones are not recorded")             \
    X(TOLD_PUBLISHED, "published", "too many ports were reached: further ones are not recorded")             \
    X(TOLD_REFUSED, "refused", "too many connections were refused: further ones are not recorded")           \
    X(TOLD_FAILED, "failed", "too many hosts could not be reached: further ones are not recorded")           \
    X(TOLD_ASKED, "asked",                                                                                   \
      "too many names that are not on the list were looked up: further ones are not recorded")               \
    X(TOLD_MISUSED, "misused", "too many placeholders were sent: further ones are not recorded")             \
    X(TOLD_LEAK, "leak", "too many secrets were sent: further ones are not recorded")                        \
    X(TOLD_HELD, "held", "too many connections wait for an answer: further ones are not reported")

enum told { TOLD_KINDS(ID_OF) TOLD_COUNT };

enum { TELL_LONGEST = 1024 };

struct tell {
    struct arena *arena;
    struct poller *poller;
    struct watcher link; /* settings.c reads from it */
    struct map told;
    size_t told_count[TOLD_COUNT][2]; /* [1]: hosts that match a wildcard or a network */
    VEC(const char *) untold;         /* lines that bawn has not read yet */
    size_t untold_sent;
};

void tell_trouble(struct tell *tell, const char *format, ...) printf_like(2, 3);
void tell_name_trouble(struct tell *tell, const char *name, const char *sentence);

/* "connected example.com 443 DETAIL". `is_one_of_many`: the host matches a wildcard or a network. */
void tell_host(struct tell *tell, enum told kind, bool is_one_of_many, const char *host, uint16_t port,
               const char *detail);

/* A line that is of use at once or not at all: it is lost while bawn reads nothing, and takes no memory. */
void tell_now(const struct tell *tell, const char *line);

/* A name that is not on the list, asked "udp" or "tcp" from a port, or by a "thread". Returns false if it was sent before, or if the limit is reached. */
bool tell_asked(struct tell *tell, const char *name, const char *by, uint64_t number);

/* A connection to the host waits for a person's answer. `client`: the port that it came from. */
void tell_held(struct tell *tell, const char *host, uint16_t port, uint16_t client);

/* The answer was for one connection: the next one that waits is told of again. */
void tell_forget_held(struct tell *tell, const char *host, uint16_t port);

/* Has no limit: the caller must have one. */
void tell_always(struct tell *tell, const char *line);

/* Sends waiting lines: tell_more without blocking, tell_rest until bawn has read all, for two seconds at most. */
void tell_more(struct tell *tell);
void tell_rest(struct tell *tell);
