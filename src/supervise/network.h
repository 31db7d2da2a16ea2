/*
 * Holds the sandbox's sockets until a connection arrives; then starts the helper (bawn-egress), restarts it if it dies,
 * and keeps its reports. Runs no other program, and reads only the helper's lines, each of bounded length.
 */
#pragma once

#include "journal/journal.h"
#include "journal/run_facts.h"
#include "launch/launch.h"
#include "plan/plan.h"
#include "supervise/dialled.h"
#include "supervise/localhost.h"
#include "supervise/loop.h"

struct standing_socket {
    int fd;
    uint16_t published; /* a port of the host's that stands for this one inside; 0: a socket of the inside */
};

/* A connection to a host that no rule names waits for a person's answer. `program` has any bytes, and may be empty. */
typedef void network_held(void *self, const char *host, const char *port, int pid, const char *program);

/* What was given while the command runs is in use from now on, or `problem` says why not. */
typedef void network_taken(void *self, unsigned number, const char *problem);

struct network {
    struct arena arena;
    const struct plan *plan;
    const char *const *environment; /* the caller's: its proxy is the helper's business */
    struct journal *journal;
    struct loop *loop;
    int rate_fd;             /* the table of a rate limit that several runs share; 0: this run has its own */
    const char *mode;        /* of the plan: off, allow or open */
    const char *helper_path; /* NULL: it is not installed */
    int port_fd, link_fd;
    const char *placeholders; /* lines for the helper's settings, or NULL */
    void (*misused)(void *self, const char *name, const char *host, const char *port); /* or NULL */
    const char *leaks;                      /* the same: what plain requests are searched for */
    void (*leaked)(void *self, char *rest); /* `HOST PORT KIND DONE NAME`; or NULL */
    void *misused_self;                     /* of both */
    int vault_fd; /* connections to hosts of secrets are handed over through it; -1: there are none. The vault owns it */
    bool has_arrivals;    /* there is no namespace: connections come on port_fd */
    pid_t helper, inside; /* the sandbox's process 1 */
    unsigned starts, looked_at, events;
    VEC(struct standing_socket) sockets;
    VEC(int) host_fds;       /* sockets of the host's, and the vault's links: nothing inside must hold them */
    VEC(const char *) added; /* lines for the helper that came during the run: rules, names */
    refused_list refused, unreachable;
    size_t refused_in_all;
    network_held *held; /* NULL: nothing is held */
    void *held_self;
    network_taken *taken; /* NULL: nobody gives anything */
    void *taken_self;
    unsigned last_given;       /* numbers of what came during the run */
    VEC(unsigned) unconfirmed; /* those that are not in use yet */
    bool has_late_addresses;   /* whose sockets only a helper holds */
    used_list used;            /* each once */
    struct dialled dialled;
    struct localhost localhost;
    localhost_noticed *noticed; /* NULL: nobody is told before the end */
    void *noticed_self;
};

/* Takes the host's ports that are to be published: one that is taken is an error before anything runs. */
int network_prepare(const struct plan *plan, const char *const *environment, struct journal *journal,
                    struct network *ret_network, struct err *err) must_check;

/* From now on its sockets are watched. */
void network_watch(struct network *network, const struct launched *launched, struct loop *loop);

/* Ends the helper. What was refused can still be read. */
void network_end(struct network *network);
void network_free(struct network *network);

/* The host of an `ssh-key` rule that was dialled on the connection with this proof, or NULL (dialled_find). First reads what the helper has said. */
const char *network_dialled(struct network *network, const char *mark);

/* The servers inside that were noticed, and that nobody has published by now. */
void network_servers(const struct network *network, port_list *ret_ports);

/* A running session gets more: "HOST:PORT", as in a rule. *ret_number is that of which `taken` will tell; 0: it is in use. */
int network_allow(struct network *network, const char *text, unsigned *ret_number, struct err *err)
    must_check;

/* The same for one connection. A helper that dies before it came takes the grant with it. */
int network_allow_once(struct network *network, const char *text, unsigned *ret_number, struct err *err)
    must_check;

/* The other answer: connections to it that wait are refused, and so are later ones. */
int network_refuse(struct network *network, const char *text, struct err *err) must_check;

/* And a port of the sandbox, at the same number on the host's loopback or another. */
int network_publish(struct network *network, uint16_t inside, uint16_t outside, unsigned *ret_number,
                    struct err *err) must_check;
