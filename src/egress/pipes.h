/* Pipes for bytes on their way (splice). A few are large and are used again; the user's share of pipes is not all ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct pipe {
    int read_fd, write_fd;
    bool is_there;
    bool is_large;
};

/* Zeroed it has none. */
struct pipes {
    VEC(struct pipe) spare;
    size_t large;
};

/* Does nothing where there is one already. Returns false where none is to be had. */
bool pipe_take(struct pipes *pipes, struct pipe *pipe);

/* `is_empty`: another connection may have it; what is still in it is nobody else's. Does nothing where there is none. */
void pipe_give(struct pipes *pipes, struct pipe *pipe, bool is_empty);
