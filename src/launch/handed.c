/*
 * Takes what process 1 hands over. Its messages wait in the control socket from before the first order, so that a descriptor can be
 * taken at any time later, whatever the command does to its user's limits.
 */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "kernel/ports.h"
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

int launch_take_handed(struct launched *launched, bool waits, struct err *err)
{
    while (!launched->has_handed_over) {
        struct pollfd ready = {.fd = launched->control_fd, .events = POLLIN};
        int came = poll(&ready, 1, waits ? -1 : 0);
        if (came < 0 && errno == EINTR)
            continue;
        if (came < 0)
            return err_sys(err, errno, "cannot wait for the sandbox's namespaces");
        if (came == 0)
            return 0;
        char letter = '\0';
        auto_fd int fd = -1;
        ssize_t got = passing_receive(launched->control_fd, &letter, 1, &fd);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return 0;
        if (got < 0)
            return err_sys(err, errno, "cannot take the sandbox's namespaces");
        launched->has_handed_over = letter == HANDED_ALL && fd < 0;
        if (!launched->has_handed_over && !keep(launched, letter, &fd))
            return err_set(err, "bawn has no descriptor left for the sandbox's namespaces");
    }
    return 1;
}

bool launch_has_namespaces(struct launched *launched)
{
    struct pollfd ready[] = {{.fd = launched->control_fd, .events = POLLIN},
                             {.fd = launched->report_fd, .events = POLLIN}};
    while (poll(ready, array_len(ready), -1) < 0 && errno == EINTR) {
    }
    /*
     * It hands its namespaces over as soon as it has them; a report before that says that it failed. One that was killed says neither:
     * that is no reason for weaker walls, and the run ends as one whose process 1 is killed later.
     */
    struct err ignored;
    int reported = 0;
    bool has = launch_take_handed(launched, false, &ignored) >= 0 && launched->handed[HANDED_USER] >= 0;
    return has || (ioctl(launched->report_fd, FIONREAD, &reported) == 0 && reported == 0);
}
