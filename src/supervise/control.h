/*
 * The socket in a session's folder by which its user gives it more while it runs (`bawn allow`, `bawn publish`). No
 * sandbox sees that folder, and whoever connects must be the same user.
 */
#pragma once

#include "supervise/network.h"

/* Somebody who waits until what was given can be used. */
struct control_asker {
    int fd;
    unsigned number;
};

struct control {
    struct network *network;
    struct loop *loop;
    int folder_fd, listen_fd;
    VEC(struct control_asker) askers;
};

#define CONTROL_NONE ((struct control){.folder_fd = -1, .listen_fd = -1})

/* Without such a socket a run goes on: it only cannot be given more. */
void control_open(struct control *control, int folder_fd, struct network *network, struct loop *loop);
void control_close(struct control *control);

/* Of a session whose bawn was killed, the socket is still there. */
void control_remove(int folder_fd);

/* The other side: sends one line ("allow HOST", "publish INSIDE OUTSIDE") to a session by its folder, and waits for its word. */
int control_ask(const char *session_folder, const char *line, struct err *err) must_check;
