/*
 * Takes what process 1 hands over. Its messages wait in the control socket from before the first order, so that a descriptor can be
 * taken at any time later, whatever the command does to its user's limits.
 */
#include <errno.h>
#include <poll.h>

#include "base/fd.h"
#include "kernel/passing.h"
#include "launch/launch.h"

static const char letters[HANDED_COUNT] = {
#define X(name, letter) [name] = letter,
    HANDED_LIST(X)
#undef X
};

/* Keeps the descriptor that came with a letter. False: the letter is unknown, or the descriptor found no room here. */
static bool keep(struct launched *launched, char letter, int *fd)
{
    for (size_t i = 0; i < HANDED_COUNT; i++) {
        if (letters[i] != letter || *fd < 0 || launched->handed[i] >= 0)
            continue;
        launched->handed[i] = fd_take(fd);
        return true;
    }
    return false;
}

int launch_take_handed(struct launched *launched, bool waits)
{
    while (!launched->has_handed_over) {
        struct pollfd ready = {.fd = launched->control_fd, .events = POLLIN};
        int came = poll(&ready, 1, waits ? -1 : 0);
        if (came < 0 && errno == EINTR)
            continue;
        if (came <= 0)
            return came;
        char letter = '\0';
        auto_fd int fd = -1;
        if (passing_receive(launched->control_fd, &letter, 1, &fd) != 1) {
            errno = ESRCH;
            return -1;
        }
        launched->has_handed_over = letter == HANDED_ALL && fd < 0;
        if (!launched->has_handed_over && !keep(launched, letter, &fd)) {
            errno = EMFILE;
            return -1;
        }
    }
    return 1;
}
