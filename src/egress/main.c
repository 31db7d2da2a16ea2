/* bawn-egress SETTINGS_FD LINK_FD CHANNEL_FD: started by bawn when something inside first reaches out. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "egress/egress.h"

enum { TICK = 50, INSTANT = 1 }; /* milliseconds */

int64_t now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Who has waited too long is given up; who waits for an address that does not answer tries the next beside it. Returns
 * how long to wait for something to happen.
 */
static int keep_deadlines(struct egress *egress)
{
    if (!egress->pending && !egress->listeners_are_paused)
        return -1;
    int64_t now = now_milliseconds();
    if (now < egress->next_look)
        return TICK;
    egress->next_look = now + TICK;
    if (egress->connection_count < MOST_CONNECTIONS)
        listeners_pause(egress, false);
    for (struct connection *at = egress->connections, *next; at; at = next) {
        next = at->next;
        if (!at->deadline)
            continue;
        bool has_more = at->stage == STAGE_DIAL && at->attempts_begun < at->addresses.count;
        if (now >= at->deadline && at->stage == STAGE_FAREWELL)
            connection_close(at);
        else if (now >= at->deadline && at->stage == STAGE_INSPECT)
            connection_reset(at); /* nobody was asked for anything: there is nothing to tell */
        else if (now >= at->deadline)
            connection_fail(at, ETIMEDOUT, "");
        else if (has_more && now >= at->next_attempt)
            connection_attempt(at);
    }
    return TICK;
}

static int keep_time(struct egress *egress)
{
    int milliseconds = keep_deadlines(egress);
    return relay_keep_time(egress) ? INSTANT : milliseconds;
}

static int start(struct egress *egress, int settings_fd, int link_fd, int channel_fd, struct err *err)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        /* Half of them are for connections, which take two each. */
        egress->most_listeners = files.rlim_max / 2;
        egress->most_published = files.rlim_max / 8 < MOST_PUBLISHED ? files.rlim_max / 8 : MOST_PUBLISHED;
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    if (sandbox_enter(err) < 0)
        return -1;
    if (poller_open(&egress->poller) < 0 || settings_open_link(egress, link_fd) < 0 ||
        asks_open(egress, channel_fd) < 0 || dial_open(egress) < 0)
        return err_sys(err, errno, "cannot wait for connections");
    return settings_read(egress, settings_fd, err);
}

static bool read_number(const char *text, int *ret_fd)
{
    uint16_t number;
    if (!port_parse(text, &number))
        return false;
    *ret_fd = number;
    return true;
}

int main(int argument_count, char **arguments)
{
    int settings_fd, link_fd, channel_fd;
    if (argument_count != 4 || !read_number(arguments[1], &settings_fd) ||
        !read_number(arguments[2], &link_fd) || !read_number(arguments[3], &channel_fd)) {
        fputs("bawn-egress is the network's helper of bawn, which starts it by itself.\n", stderr);
        return 2;
    }
    static struct egress egress;
    struct err err = {0};
    if (start(&egress, settings_fd, link_fd, channel_fd, &err) < 0) {
        tell_trouble(&egress, "the network's helper cannot start: %s", err.message);
        return 1;
    }
    while (!egress.is_over)
        poller_run_once(&egress.poller, keep_time(&egress));
    for (const struct connection *open = egress.connections; open; open = open->next)
        connection_account(open);
    tell_rest(&egress);
    return 0;
}
