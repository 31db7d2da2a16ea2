/*
 * `bawn web`: the sessions of this user on a page, for this user's browser.
 *
 * Theory of operation
 *
 * Two processes. The *server* (server.c) speaks HTTP. It reads the state of bawn (sessions, journals, recorded trees, contents) through
 * the rooms that the verbs use, and can do nothing else: Landlock lets it read those folders alone, seccomp lets it open no socket and run no
 * program. The *actor* (actor.c), its parent, runs verbs of bawn for it, of a fixed table (acts.h). There is no second engine: a
 * click does what the verb does.
 *
 * Who may speak to the server (admit.c):
 *
 *   1. It listens at 127.0.0.1, or at a Unix socket that only its user can open.
 *   2. Its name is its own: bawn-NUMBER.localhost, which browsers take for this machine. Cookies know no ports. With a name of
 *      its own no other server at 127.0.0.1, such as one that an agent started, is ever sent the cookie.
 *   3. Every request must have that name as its Host, and no other Origin. So a foreign name that leads here (DNS rebinding) gets nothing.
 *   4. The address that is opened has a token, which is good for one request of a process of the user's, or of root, which forwards ports in some
 *      containers. It is exchanged for a cookie (HttpOnly, SameSite=Strict). The token is in no command line: opening.h.
 *   5. Whatever changes something is a POST with the token of the page's forms.
 *
 * Invariants: one thread; a connection serves one request; nothing waits for the actor but the connection that asked (it is suspended). Sizes, times
 * and numbers of connections are bounded (server.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum { SECRET_BYTES = 32, SECRET_SIZE = 2 * SECRET_BYTES + 1 };

/* admit.c: fills in random hexadecimal digits. */
int secret_make(char ret_secret[SECRET_SIZE], struct err *err) must_check;

/* Where bawn's state is, and where the page is. */
struct web_place {
    const char *home;       /* shown as ~ */
    const char *state;      /* the folder above bawn/sessions */
    const char *store;      /* of contents */
    const char *bawn;       /* the program whose verbs are run */
    const char *name;       /* "bawn-12ab34cd56ef7890.localhost" */
    const char *unix_path;  /* NULL: 127.0.0.1 … */
    uint16_t port;          /* … at this port */
    const char *address;    /* "http://NAME:PORT" */
    const char *opening;    /* the file that leads the browser here (opening.h), or NULL */
    const char *policy;     /* the user\'s own policy file */
    const char *started_in; /* the directory that it was started in */
    char token[SECRET_SIZE];
};

/* Serves until it is ended. `listen_fd` listens; `channel_fd` leads to the actor. Returns the exit status. */
int server_run(const struct web_place *place, int listen_fd, int channel_fd, struct err *err);

/* sandbox.c: from here on this process reads bawn's state, answers on open sockets, and can do nothing else. */
int web_sandbox_enter(const struct web_place *place, struct err *err) must_check;

/* What the browser gets beside the pages: web.css, web.js and icon.svg, compiled in. */
extern const char web_style[], web_script[], web_icon[];
