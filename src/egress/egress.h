/*
 * bawn-egress, the network helper. It runs outside the sandbox and serves the sockets of the sandbox's network namespace.
 *
 * It may open sockets and read the files that name lookups need. It must not write a file, but for the table of rate.h, which bawn
 * opened, or run a program. It must check
 * every name, length and descriptor that comes from inside.
 *
 * A file calls only files further down in this list:
 *
 *   main.c         starts, enters its own sandbox (sandbox.c), runs the event loop
 *   settings.c     reads bawn's lines: rules, sockets, names
 *   accept.c       accepts connections and finds the rule for each
 *   room.c         decides who gets a place when there are too many connections
 *   dial.c         looks the host up and connects to it                              lookup.c, proxy.c
 *   relay.c        moves bytes in both directions                                    flow.c, pipes.c, http.c
 *   hand.c         hands a connection to the vault instead
 *   ssh.c        tells bawn by which proof a host of an `ssh-key` rule is known     kex.c
 *   inspect.c      checks that the first bytes name the same host                    hello.c
 *   connection.c   the life of a connection, from the first state to the last
 *   resolver.c     answers DNS questions with the synthetic addresses of names       dns.c
 *   leads.c        decides whether an address may be dialled
 *   rate.c         counts new connections to a host, for all runs that share the limit
 *   names.c        the table of names: their addresses and listening sockets
 *   listeners.c    the listening sockets
 *   asks.c         asks the sandbox's process 1 for sockets
 *   tell.c         sends lines to bawn
 *   table.c        the rules about hosts
 *   watch.c        finds placeholders of secrets where they do not belong
 *   search.c       finds secrets of the host in requests of HTTP
 *
 * kernel/poller.c has epoll.
 *
 * Calls upward go through a function pointer that the upper file sets: watcher.ready, listeners.ready, asks.on_reply,
 * names.on_listening, connection.ready.
 *
 * struct egress is the state of the whole program. Only connection.c and the files above it know it; each file below has a
 * struct of its own with pointers to the parts that it needs, which main.c sets.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "egress/asks.h"
#include "egress/flow.h"
#include "egress/leads.h"
#include "egress/listeners.h"
#include "egress/lookup.h"
#include "egress/names.h"
#include "egress/proxy.h"
#include "egress/rate.h"
#include "egress/resolver.h"
#include "egress/table.h"
#include "egress/tell.h"
#include "egress/watch.h"
#include "journal/leak.h"
#include "kernel/poller.h"

enum {
    MOST_CONNECTIONS = 16384,
    MOST_PUBLISHED = 2048, /* of them, accepted at published ports */
};

struct connection;

/* bawn-vault serves the connections to this host. */
struct vaulted {
    struct host_object host;
    const char *why; /* "its secrets stay outside" */
};

/* A host of an `ssh-key` rule: bawn wants to know which connection to it has which proof (kex.h). */
struct proving_host {
    struct host_object host;
    const char *text; /* as bawn wrote it */
};

struct vault_link {
    int fd; /* -1: there is none */
    VEC(struct vaulted) hosts;
};

/* bawn waits for `taken WORD`. It is sent once process 1 has answered every request up to last_ask. */
struct confirmation {
    const char *word;
    uint64_t last_ask;
};

struct egress {
    struct arena arena;
    struct poller poller;
    struct table table;
    struct tell tell;
    struct asks asks;
    struct listeners listeners;
    struct listener arrivals; /* no socket: for connections that arrive on the channel (asks.h) */
    struct names names;
    struct resolver resolver;
    struct leads leads;
    struct proxy proxy;
    struct rate rate;
    struct pipes pipes;
    struct lookup *lookup;
    struct watcher looked_up;
    struct connection *connections, *oldest; /* the newest first */
    size_t connection_count, published_count, most_published;
    size_t held;                  /* the sum of connection.held */
    size_t most_descriptors;      /* for listeners, and two for each connection */
    size_t pending;               /* connections that have a deadline */
    int64_t next_look;            /* at the deadlines and turns */
    struct connection *gathering; /* those with a flow that gathers (flow.h), or did a moment ago */
    int64_t gathering_looked;
    struct endpoint last_connected; /* a repeated connection to the same endpoint is not reported again */
    size_t accounts;                /* `closed` lines so far */
    VEC(struct confirmation) unconfirmed;
    struct vault_link vault;
    VEC(struct proving_host) proving;
    struct watch watch;
    struct leak_table leaks; /* what requests of plain HTTP are searched for */
    const char *trouble;     /* since the last confirmation, or NULL */
    int64_t ask_patience;    /* milliseconds that a connection waits for a person's answer */
};

/* --- sandbox --- */

/* The walls that this program puts around itself. */

int sandbox_enter(struct err *err) must_check;

/* Do name lookups need a service of this machine, by this text of /etc/nsswitch.conf? */
bool sandbox_needs_services(const char *nsswitch);

/* --- settings --- */

/* Lines of words from bawn: first a file with all settings, then single lines while the command runs. */

int settings_open_link(struct egress *egress, int link_fd) must_check;
int settings_read(struct egress *egress, int settings_fd, struct err *err) must_check;

/* asks.on_reply: sends the confirmations that waited for it. */
void settings_confirm(struct asks *asks);

/* A descriptor that bawn passed on, as text. */
bool settings_parse_fd(const char *text, int *ret_fd);
