/* Who is called when a descriptor is ready, for thousands of them (epoll). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/vec.h"

struct watcher;
typedef void watcher_ready(struct watcher *watcher, uint32_t events);

/* Part of the object that is called. Zeroed it watches nothing; `is_open` says whether it holds a descriptor. */
struct watcher {
    bool is_open;
    int fd;
    uint32_t events;
    watcher_ready *ready;
};

struct poller {
    int fd;
    int ready;       /* how many are called in this round */
    bool is_lively;  /* the next thing happens soon after the last */
    bool moves_much; /* set by whoever did in this round */
    unsigned stays;  /* rounds in which nobody else is let first: who was did not come back soon */
    VEC(void *) retired;
    bool is_over; /* set by any part: the program ends after this round */
};

int64_t now_milliseconds(void);

int poller_open(struct poller *poller) must_check;

/* Takes the descriptor over. Returns -1 with errno, and closes it then. */
int poller_add(struct poller *poller, struct watcher *watcher, int fd, uint32_t events, watcher_ready *ready)
    must_check;

/* What to wait for from now on; costs nothing where that does not change. */
void poller_change(struct poller *poller, struct watcher *watcher, uint32_t events);

/* Closes the descriptor. */
void poller_close(struct watcher *watcher);

/* Frees memory that holds watchers, once nothing of this round can call them any more. */
void poller_retire(struct poller *poller, void *memory);

/* Waits at most so long (-1: for ever) and calls whoever is ready. */
void poller_run_once(struct poller *poller, int milliseconds);

/* Hands the descriptor from one watcher to another. Returns -1 with errno, and closes it then. */
int poller_move(struct poller *poller, struct watcher *from, struct watcher *to, uint32_t events,
                watcher_ready *ready) must_check;
