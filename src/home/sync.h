/*
 * Keeps the files that `sync` names the same on both sides while a command runs: a login, whose tokens are refreshed now
 * inside, now outside. Stands by with one descriptor.
 *
 * What is carried over is whatever changed since both sides were last the same. If both have changed, the newer one wins,
 * and the journal says so. A file that is removed outside (a logout) is removed inside too; one that is removed inside
 * comes back at the next change or the next start, since no run removes a file of the host's. A change beats a removal.
 *
 * Several sessions may share the host's file: each looks at it under a lock, and learns of the others' changes as it does
 * of the host's own.
 */
#pragma once

#include "base/arena.h"
#include "journal/journal.h"
#include "plan/plan.h"

struct synced;

struct sync {
    int fd;       /* readable when something changed; -1: nothing is watched */
    int timer_fd; /* readable when it is time to look again */
    int root_fd, home_fd, state_fd;
    struct journal *journal;
    unsigned told;     /* records in the journal so far */
    unsigned patience; /* milliseconds until a file that could not be read is looked at again */
    VEC(struct synced *) files;
};

/* Makes both sides the same and begins to watch. Fails where a file cannot be kept the same; the rest is. */
int sync_begin(struct arena *arena, const struct plan *plan, int home_fd, int state_fd,
               struct journal *journal, struct sync *ret_sync, struct err *err) must_check;

/* Something changed; it is time to look again. Both fit the supervisor's loop, and never end it. */
int sync_ready(void *self, short events, struct err *err);
int sync_due(void *self, short events, struct err *err);

/* The command has ended: what it wrote last is carried over. */
void sync_end(struct sync *sync);
