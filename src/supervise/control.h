/*
 * The socket in a session's folder for `bawn allow` and `bawn publish` while the session runs. No sandbox sees that folder, and
 * the peer must be the same user.
 */
#pragma once

#include "supervise/asking.h"

/* A client that waits until the grant is in effect. */
struct control_asker {
    int fd;
    unsigned number;
};

struct control {
    struct network *network;
    struct asking *asking;
    struct loop *loop;
    int folder_fd, listen_fd;
    VEC(struct control_asker) askers;
};

#define CONTROL_NONE ((struct control){.folder_fd = -1, .listen_fd = -1})

/* Without the socket a run continues, but cannot get further grants. */
void control_open(struct control *control, int folder_fd, struct network *network, struct asking *asking,
                  struct loop *loop);
void control_close(struct control *control);

/* Removes the socket of a session whose bawn was killed. */
void control_remove(int folder_fd);

/*
 * The client: sends one line to a session by its folder ("allow HOST", "publish INSIDE OUTSIDE", "answer ID WORD [WAY]"), and waits for
 * the answer.
 */
int control_ask(const char *session_folder, const char *line, struct err *err) must_check;

/* The same for "questions", whose answer is a list, in a file that comes with it. */
int control_list(const char *session_folder, struct buf *ret_list, struct err *err) must_check;

/* Kills the session's bawn, which also ends everything inside. The next verb that deals with sessions repairs it. */
int control_kill(const char *session_folder, struct err *err) must_check;
