/* What both ends of a session's control socket know. */
#pragma once

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CONTROL_NAME   "control"
#define TERMINALS_NAME "terminals"

enum {
    LONGEST_LINE = 1024,
    PEER_DESCRIPTOR = 77, /* SO_PEERPIDFD, which the distribution's headers may lack: Linux 6.5 */
    TERMINALS = 4,        /* of the three streams, and the process's own */
};

/* "still NUMBER" */
static const char still_line[] = "still ";

/* Answers that are no sentence. */
enum answer { ANSWER_DONE, ANSWER_APART, ANSWER_RUNNING };
static const char *const answer_words[] = {"done", "apart", "running"};

/* The directory is named by its descriptor: its path may be too long for a socket's address. */
static inline struct sockaddr_un address_in(int folder_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" CONTROL_NAME, folder_fd);
    return address;
}

static inline struct ucred peer_of(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        peer = (struct ucred){.uid = (uid_t)-1}; /* nobody's */
    return peer;
}
