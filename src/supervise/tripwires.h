/*
 * Reports when a decoy (plan/decoys.h) is read or listed: journals it at once and keeps it for the end of the run. At
 * first process 1 reports the directory; from a moment after the start an inotify watch reports the file. The number of
 * records is limited.
 */
#pragma once

#include <sys/inotify.h>

#include "journal/journal.h"
#include "journal/run_facts.h"
#include "launch/launch.h"
#include "plan/decoys.h"
#include "supervise/execs.h"

struct tripwires {
    const struct launched *launched;
    struct arena *arena;
    struct journal *journal;
    const char *paths[DECOY_COUNT]; /* where they stand inside; NULL: this one does not */
    int fd;                         /* of the folder that holds them; -1: not watched yet */
    int inotify_fd;                 /* then: who tells of them */
    int watches[DECOY_COUNT];
    const char *const *command; /* what the run is about, ended by NULL */
    const struct execs *execs;  /* with --log-exec they know more */
    struct {
        bool is_told; /* process 1 said so, and the watch may be about to say more */
        bool is_by_command;
    } touched[DECOY_COUNT];
    size_t searches;
    fired_list fired;
    /* Called for the first time that each path is touched; may be NULL. */
    void (*tell)(void *context, const struct fired *fired);
    void *context;
};

#define TRIPWIRES_NONE ((struct tripwires){.fd = -1})

/* Takes from the plan which decoys there are. */
void tripwires_set(struct tripwires *tripwires, const struct operations *operations);
bool tripwires_are_set(const struct tripwires *tripwires);

/* Process 1 says that this one was touched, and whether only the command can have done that. */
void tripwires_touched(struct tripwires *tripwires, size_t decoy, bool is_by_command);

/* From now on the inotify instance tells. */
void tripwires_watch(struct tripwires *tripwires, int inotify_fd);

/* Returns whether the event was about a decoy. */
bool tripwires_take(struct tripwires *tripwires, const struct inotify_event *event);

/* All events have been read: what process 1 has told of and no event did, happened before there was a watch. */
void tripwires_tell_rest(struct tripwires *tripwires);

void tripwires_free(struct tripwires *tripwires);
