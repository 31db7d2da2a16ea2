/* The listening TCP sockets: inside for names and addresses, on the host for published ports. None is closed before the end. */
#pragma once

#include "kernel/poller.h"

struct listeners;

struct listener {
    struct watcher watcher;
    struct listeners *all;
    struct listener *next;
    size_t connections;  /* how many are open that were accepted here */
    int64_t waits_since; /* when the next client first found no room; 0: it has not */
    uint16_t
        published; /* the port inside, if this socket listens on the host for a published port; otherwise 0 */
};

struct listeners {
    struct poller *poller;
    watcher_ready *ready; /* accepts; the watcher is the first member of a struct listener */
    struct listener *first;
    size_t count, most;           /* the caller keeps to `most` */
    bool are_paused;              /* one of them at least, or name_streams */
    struct watcher *name_streams; /* DNS over TCP */
};

/* Owns the descriptor from now on. Returns -1 with errno. */
int listeners_add(struct listeners *listeners, int fd, uint16_t published) must_check;

/* While it is paused nothing is accepted there: new connections wait in the kernel's queue. */
void listener_pause(struct listener *listener);
void listeners_pause_names(struct listeners *listeners);

/* Ends every pause. */
void listeners_resume(struct listeners *listeners);

/* Did accept fail because descriptors or memory ran out? Then the socket stays readable, and only a pause helps. */
bool listeners_lack_room(int errnum);
