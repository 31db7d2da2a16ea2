/* bawn-egress SETTINGS_FD LINK_FD CHANNEL_FD: bawn starts it when a program inside first uses the network. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "egress/connection.h"
#include "egress/egress.h"
#include "kernel/process.h"

enum {
    TICK = 50, /* milliseconds */
    INSTANT = 1,
    MOST_OTHERS = 256, /* descriptors for pipes, questions for names, lookups and channels */
};

/* Ends connections whose time is up, begins those whose turn it is, and dials further addresses. Returns how long the poller may sleep. */
static int keep_deadlines(struct egress *egress)
{
    if (!egress->pending && !egress->listeners.are_paused)
        return -1;
    int64_t now = now_milliseconds();
    if (now < egress->next_look)
        return (int)(egress->next_look - now);
    int64_t sleep = TICK;
    listeners_resume(&egress->listeners);
    for (struct connection *at = egress->oldest, *next; at; at = next) {
        next = at->previous; /* the oldest has the first turn */
        if (!at->deadline)
            continue;
        if (at->stage == STAGE_TURN && now < at->deadline) {
            int64_t wait = connection_try_turn(at);
            sleep = wait && wait < sleep ? wait : sleep;
            continue;
        }
        bool has_more = at->stage == STAGE_DIAL && at->attempts_begun < at->addresses.count;
        if (now >= at->deadline && at->stage == STAGE_ASK)
            connection_refuse(at, "waits for an answer, and nobody gave one in time");
        else if (now >= at->deadline && at->stage == STAGE_TURN)
            connection_refuse(at, "too many connections to it wait for their turn (limit rate)");
        else if (now >= at->deadline && at->stage == STAGE_FAREWELL)
            connection_close(at);
        else if (now >= at->deadline && at->stage == STAGE_INSPECT)
            connection_reset(at); /* nothing was dialled: there is nothing to report */
        else if (now >= at->deadline)
            connection_fail(at, ETIMEDOUT, "");
        else if (has_more && now >= at->next_attempt)
            connection_attempt(at);
    }
    egress->next_look = now + sleep;
    return (int)sleep;
}

static int keep_time(struct egress *egress)
{
    int milliseconds = keep_deadlines(egress);
    return relay_keep_time(egress) ? INSTANT : milliseconds;
}

/* Connects the parts (egress.h). */
static void wire(struct egress *egress)
{
    struct poller *poller = &egress->poller;
    struct listeners *listeners = &egress->listeners;
    egress->tell = (struct tell){.arena = &egress->arena, .poller = poller};
    egress->asks =
        (struct asks){.poller = poller, .on_reply = settings_confirm, .on_arrival = accept_arrival};
    *listeners = (struct listeners){
        .poller = poller, .ready = accept_ready, .name_streams = &egress->resolver.listening};
    egress->names = (struct names){.arena = &egress->arena,
                                   .table = &egress->table,
                                   .tell = &egress->tell,
                                   .asks = &egress->asks,
                                   .listeners = listeners,
                                   .on_listening = resolver_answer};
    egress->resolver = (struct resolver){.poller = poller,
                                         .tell = &egress->tell,
                                         .table = &egress->table,
                                         .names = &egress->names,
                                         .listeners = listeners,
                                         .watch = &egress->watch};
    egress->leads.table = &egress->table;
    egress->vault.fd = -1;
}

static int start(struct egress *egress, int settings_fd, int link_fd, int channel_fd, struct err *err)
{
    struct rlimit files = process_raise_descriptors();
    if (files.rlim_max) {
        /* The other half is for connections, which need two descriptors each. */
        egress->listeners.most = files.rlim_max / 2;
        rlim_t others = files.rlim_max / 8 < MOST_OTHERS ? files.rlim_max / 8 : MOST_OTHERS;
        egress->most_descriptors = files.rlim_max - others;
        egress->most_published = files.rlim_max / 8 < MOST_PUBLISHED ? files.rlim_max / 8 : MOST_PUBLISHED;
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    if (sandbox_enter(err) < 0)
        return -1;
    if (poller_open(&egress->poller) < 0 || settings_open_link(egress, link_fd) < 0 ||
        asks_open(&egress->asks, channel_fd) < 0 || dial_open(egress) < 0)
        return err_sys(err, errno, "cannot wait for connections");
    return settings_read(egress, settings_fd, err);
}

int main(int argument_count, char **arguments)
{
    int settings_fd, link_fd, channel_fd;
    if (argument_count != 4 || !settings_parse_fd(arguments[1], &settings_fd) ||
        !settings_parse_fd(arguments[2], &link_fd) || !settings_parse_fd(arguments[3], &channel_fd)) {
        fputs("bawn-egress is bawn's network helper; bawn starts it when needed.\n", stderr);
        return 2;
    }
    static struct egress egress;
    struct err err = {0};
    wire(&egress);
    if (start(&egress, settings_fd, link_fd, channel_fd, &err) < 0) {
        tell_trouble(&egress.tell, "the network helper cannot start: %s", err.message);
        return 1;
    }
    while (!egress.poller.is_over)
        poller_run_once(&egress.poller, keep_time(&egress));
    poller_run_once(&egress.poller, 0); /* what the sandbox asked for until its end is told, too */
    for (const struct connection *open = egress.connections; open; open = open->next)
        connection_account(open);
    tell_rest(&egress.tell);
    return 0;
}
