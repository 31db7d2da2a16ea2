/*
 * Keeps the files that `sync` names the same inside and outside while a command runs: logins, whose tokens are refreshed on
 * either side. Costs one descriptor.
 *
 * The side that changed since both were the same wins. If both changed, the newer one wins, and the journal records it. A file
 * removed outside (a logout) is removed inside. A file removed inside comes back at the next change or start, because no run
 * removes a file of the host. A change beats a removal.
 *
 * Several sessions may share the host's file. Each looks at it under a lock, and sees the changes of the others like those of
 * the host.
 */
#pragma once

#include "base/arena.h"
#include "journal/journal.h"
#include "plan/plan.h"

struct synced;

struct sync {
    int fd;       /* readable when a file changed; -1: nothing is watched */
    int timer_fd; /* readable when it is time to look again */
    int root_fd, home_fd, state_fd;
    const char *home; /* path of the private home, for messages; NULL: it is removed at the end */
    struct journal *journal;
    unsigned told;     /* records in the journal so far */
    unsigned patience; /* milliseconds until an unreadable file is looked at again */
    VEC(struct synced *) files;
};

/* Makes both sides the same and begins to watch. Fails if one file cannot be kept the same; the others still are. */
int sync_begin(struct arena *arena, const struct plan *plan, int home_fd, int state_fd,
               struct journal *journal, struct sync *ret_sync, struct err *err) must_check;

/* A file changed; it is time to look again. Both fit the supervisor's loop, and never end it. */
int sync_ready(void *self, short events, struct err *err);
int sync_due(void *self, short events, struct err *err);

/* Carries over what the command wrote last. Fails if the command left something in a file's place that is no file. */
int sync_end(struct sync *sync, struct err *err) must_check;
