/* The listening TCP sockets: inside for names and addresses, on the host for published ports. None is closed before the end. */
#pragma once

#include "egress/poller.h"

struct listeners;

struct listener {
    struct watcher watcher;
    struct listeners *all;
    struct listener *next;
    uint16_t
        published; /* the port inside, if this socket listens on the host for a published port; otherwise 0 */
};

struct listeners {
    struct poller *poller;
    watcher_ready *ready; /* accepts; the watcher is the first member of a struct listener */
    struct listener *first;
    size_t count, most; /* the caller keeps to `most` */
    bool are_paused;
    struct watcher *name_streams; /* DNS over TCP. resolver.c pauses it; the end of any pause resumes it */
};

/* Owns the descriptor from now on. Returns -1 with errno. */
int listeners_add(struct listeners *listeners, int fd, uint16_t published) must_check;

/* While paused nothing is accepted: new connections wait in the kernel's queue. */
void listeners_pause(struct listeners *listeners, bool pause);

/* Did accept fail because descriptors or memory ran out? Then the socket stays readable, and only a pause helps. */
bool listeners_lack_room(int errnum);
