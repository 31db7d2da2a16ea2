/*
 * Calls a function when a descriptor is ready. Every part of the supervisor adds its descriptors here: signals, reports, the
 * network's helper, watches, timers (timerfd).
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/timespec.h"
#include "base/vec.h"

/* Returns 0 to go on, 1 to end the loop, -1 to end it with an error. `events` is what poll() reports. */
typedef int loop_ready(void *self, short events, struct err *err);

struct loop_source {
    int fd; /* -1: was removed */
    short events;
    loop_ready *ready;
    void *self;
};

/* Something that no descriptor reports. Is asked twice a second. */
struct loop_look {
    bool (*look)(void *self); /* NULL: there is nothing to look at. Returns whether something has changed: */
    loop_ready *changed;      /* then this is called; `events` is 0 */
    void *self;
    struct timespec last;
};

struct loop {
    VEC(struct loop_source) sources;
    struct loop_look look;
    struct loop_look along; /* the same, but nobody wakes for it: it is asked when the loop is awake anyway */
    int patience; /* set by the loop: milliseconds without an event before free memory goes back; -1: it has gone */
};

/* The descriptor stays the caller's. Both may be called while the loop runs. */
void loop_add(struct loop *loop, int fd, short events, loop_ready *ready, void *self);
void loop_remove(struct loop *loop, int fd);

/*
 * Calls `ready` at this second of CLOCK_MONOTONIC; 0: not at all. The timer is made when it is first needed; the caller reads it, and
 * removes and closes it at the end.
 */
void loop_ring_at(struct loop *loop, int *timer_fd, int64_t second, loop_ready *ready, void *self);

/* Returns 0 when a source ended the loop, -1 when one failed. */
int loop_run(struct loop *loop, struct err *err) must_check;
void loop_free(struct loop *loop);
