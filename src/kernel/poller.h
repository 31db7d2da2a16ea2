/* The event loop (epoll, for thousands of descriptors). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/timespec.h"
#include "base/vec.h"

struct watcher;
typedef void watcher_ready(struct watcher *watcher, uint32_t events);

/* A member of the object that handles the event. Zeroed: watches nothing. `is_open`: it owns a descriptor. */
struct watcher {
    bool is_open;
    int fd;
    uint32_t events;
    watcher_ready *ready;
};

struct poller {
    int fd;
    int ready;       /* the number of descriptors that this round reports */
    bool is_lively;  /* events follow each other within microseconds */
    bool moves_much; /* a handler of this round moved many bytes */
    unsigned stays;  /* rounds without sched_yield: the last one gave the processor away for too long */
    VEC(void *) retired;
    bool is_over; /* set by any part: the program ends after this round */
};

int poller_open(struct poller *poller) must_check;

/* Owns the descriptor from now on. Returns -1 with errno, after closing it. */
int poller_add(struct poller *poller, struct watcher *watcher, int fd, uint32_t events, watcher_ready *ready)
    must_check;

/* Sets the events to wait for. No system call if they do not change. */
void poller_change(struct poller *poller, struct watcher *watcher, uint32_t events);

/* Closes the descriptor. */
void poller_close(struct watcher *watcher);

/* Frees memory that contains watchers at the end of this round, which may still refer to them. */
void poller_retire(struct poller *poller, void *memory);

/* Waits at most so long (-1: for ever) and calls the watchers that are ready. */
void poller_run_once(struct poller *poller, int milliseconds);

/* Moves the descriptor to another watcher. Returns -1 with errno, after closing it. */
int poller_move(struct poller *poller, struct watcher *from, struct watcher *to, uint32_t events,
                watcher_ready *ready) must_check;
