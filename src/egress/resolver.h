/*
 * The sandbox's DNS server. A name that a rule allows is answered with its synthetic address (names.h). Every other name does
 * not exist.
 */
#pragma once

#include "egress/names.h"
#include "egress/watch.h"

struct stream;

struct resolver {
    struct poller *poller;
    struct tell *tell;
    const struct table *table;
    struct names *names;
    struct listeners *listeners;
    const struct watch *watch;
    struct watcher datagrams, listening; /* UDP; TCP */
    VEC(struct stream *) streams;        /* DNS over TCP; the one that was idle longest is first */
    question_list unlisted;              /* questions for names that no rule allows */
};

int resolver_add_datagrams(struct resolver *resolver, int fd) must_check;
int resolver_add_streams(struct resolver *resolver, int fd) must_check;

/* A client's own socket: TCP, or one whose messages keep their bounds, and its thread. Owns the descriptor. */
void resolver_add_stream(struct resolver *resolver, int fd, bool keeps_bounds, uint64_t thread);

/* names.on_listening: answers the questions that waited for the name's sockets. */
void resolver_answer(struct name *name);

/* bawn has recorded which program asked for the name: it can be answered now that it does not exist. */
void resolver_refuse(struct resolver *resolver, const char *text);
