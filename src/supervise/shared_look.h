/*
 * What the last look at the host's sockets found, of any run of this user. A look takes the kernel longer the more sockets there are, and
 * each run has a few: without this, hundreds of sleeping runs would keep a processor busy with looking.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct shared_look {
    int fd;       /* of a file that all runs have open; -1: there is none, and each looks for itself */
    uint64_t key; /* of this start of the machine and this network namespace: others see other sockets */
};

#define SHARED_LOOK_NONE ((struct shared_look){.fd = -1})

/* `running_fd`: the folder of running sessions. The file lies beside it, among the numbers, where others lie that all runs share. */
void shared_look_open(struct shared_look *look, int running_fd);

/* Returns false if nobody has looked in the last quarter of a second. Uses the stack alone, as the other does. */
bool shared_look_read(const struct shared_look *look, uint64_t *ret_digest);

/* `began`: when the look began, as now_milliseconds() says it. */
void shared_look_write(const struct shared_look *look, int64_t began, uint64_t digest);
void shared_look_close(struct shared_look *look);
