/*
 * The socket in a session's folder for `bawn allow` and `bawn publish` while the session runs. No sandbox sees that folder, and
 * the peer must be the same user.
 */
#pragma once

#include "supervise/asking.h"
#include "supervise/standstill.h"

/* A client that waits until the grant is in effect. */
struct control_asker {
    int fd;
    unsigned number;
};

/* What the socket's lines act on. */
struct control_parts {
    struct network *network;
    struct asking *asking;
    struct standstill *standstill;
    struct loop *loop;
};

struct control {
    struct control_parts parts;
    int listen_fd;
    VEC(struct control_asker) askers;
    VEC(int) answering; /* clients for which everything inside stands still */
    int timer_fd;       /* -1, or the end of that */
};

#define CONTROL_NONE ((struct control){.listen_fd = -1, .timer_fd = -1})

/*
 * Writes the process and its terminals into the session's folder, before the command begins: whoever is asked at another terminal need not wait for this
 * bawn, which may be stopped. control_remove() takes it away when the command has ended.
 */
void control_announce(int folder_fd);

/* Without the socket a run continues, but cannot get further grants. */
void control_open(struct control *control, int folder_fd, const struct control_parts *parts);
void control_close(struct control *control);

/* Removes what the two have put into the folder. Also of a session whose bawn was killed. */
void control_remove(int folder_fd);

/*
 * The client: sends one line to a session by its folder ("allow HOST", "publish INSIDE OUTSIDE", "answer ID WORD [WAY]"), and waits for
 * the answer.
 */
int control_ask(const char *session_folder, const char *line, struct err *err) must_check;

/* The same for "questions", whose answer is a list, in a file that comes with it. */
int control_list(const char *session_folder, struct buf *ret_list, struct err *err) must_check;

/*
 * A person is about to answer at a terminal. Everything inside stands still from now on, until the connection in *ret_fd is closed, or for
 * CONTROL_STILL_SECONDS. Returns 0 without a connection if the command does not have the terminal with this number (kernel/terminals.h);
 * 0 as a number means any. CONTROL_RUNS_ON: something inside could not be stopped this time; -1: it cannot be known.
 */
enum { CONTROL_STILL_SECONDS = 120, CONTROL_RUNS_ON = 1 };
int control_hold_still(const char *session_folder, uint64_t terminal, int *ret_fd, struct err *err)
    must_check;

/* Did nothing inside run since then? */
bool control_was_still(int fd);

/* Kills the session's bawn, which also ends everything inside. The next verb that deals with sessions repairs it. */
int control_kill(const char *session_folder, struct err *err) must_check;
