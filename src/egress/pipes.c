#include "egress/flow.h"

#include <fcntl.h>
#include <unistd.h>

enum {
    LARGE = 1 << 20, /* bytes; by default a user may have 64 MiB of pipes */
    MOST_LARGE = 16,
    MOST_SPARE = 32,
};

bool pipe_take(struct pipes *pipes, struct pipe *pipe)
{
    if (pipe->is_there)
        return true;
    if (pipes->spare.count) {
        *pipe = pipes->spare.at[--pipes->spare.count];
        return true;
    }
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    bool is_large = pipes->large < MOST_LARGE && fcntl(fds[1], F_SETPIPE_SZ, LARGE) >= LARGE;
    *pipe = (struct pipe){.read_fd = fds[0], .write_fd = fds[1], .is_there = true, .is_large = is_large};
    pipes->large += is_large;
    return true;
}

void pipe_give(struct pipes *pipes, struct pipe *pipe, bool is_empty)
{
    if (!pipe->is_there)
        return;
    if (is_empty && pipes->spare.count < MOST_SPARE) {
        vec_push(&pipes->spare, *pipe);
    } else {
        close(pipe->read_fd);
        close(pipe->write_fd);
        pipes->large -= pipe->is_large;
    }
    pipe->is_there = false;
}
