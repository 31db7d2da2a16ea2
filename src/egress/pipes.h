/* Pipes for splice. Empty ones are reused. Only a few are large, since the kernel limits the pipe memory of a user. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct pipe {
    int read_fd, write_fd;
    bool is_there;
    bool is_large;
};

/* Zeroed: no pipes. */
struct pipes {
    VEC(struct pipe) spare;
    size_t large;
};

/* Does nothing if there is a pipe already. Returns false if the kernel gives none. */
bool pipe_take(struct pipes *pipes, struct pipe *pipe);

/* Only an empty pipe is kept for another connection. Does nothing if there is no pipe. */
void pipe_give(struct pipes *pipes, struct pipe *pipe, bool is_empty);
