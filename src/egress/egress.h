/*
 * The network's helper: a program of its own, outside, that holds the other ends of the sandbox's sockets.
 *
 *   main.c        starts, locks itself in, goes round
 *   settings.c    what bawn tells it: rules, sockets, names                            tell.c   what it tells bawn
 *   table.c       what may be reached
 *   resolver.c    answers questions for names, with addresses that stand for them    dns.c    as spoken on the wire
 *   names.c       which address stands for which name, and where connections to it are taken
 *   asks.c        asks the sandbox's process 1 for sockets
 *   accept.c      takes connections and finds out what they are for
 *   inspect.c     the first words of a connection must name the same host            hello.c, http.c
 *   dial.c        looks the host up and connects to it                                 lookup.c, proxy.c
 *   leads.c       where that leads, and whether it may be dialled                      classes.c
 *   relay.c       moves bytes both ways                                                flow.c, pipes.c
 *   sandbox.c     what this program itself may do
 *
 * It may open sockets and read what name lookups need. It must not write a file, run a program, or believe anything that
 * comes from inside: every name, length and descriptor is checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "egress/classes.h"
#include "egress/dns.h"
#include "egress/flow.h"
#include "egress/http.h"
#include "egress/lookup.h"
#include "egress/poller.h"
#include "egress/proxy.h"
#include "egress/table.h"
#include "kernel/ports.h"

enum {
    MOST_NAMES = 4096 /* below wildcards; beside them as many that a rule spells out */,
    MOST_CONNECTIONS = 4096,
    MOST_PUBLISHED = 2048, /* of them, from outside */
    MOST_ASKS = 32768,     /* that wait: as many names as there may be, at a few ports each */
    ASKS_AT_ONCE = 64,
};

struct egress;
struct connection;
struct name;
struct stream;

/* --- asks.c ----------------------------------------------------------------------------------------------------- */

/* `fd` is the socket, the callee's from now on, or -1 with errnum. */
typedef void ask_done(void *self, int fd, int errnum);

struct ask {
    struct port_request request;
    ask_done *done;
    void *self;
};

int asks_open(struct egress *egress, int channel_fd) must_check;
void ask_port(struct egress *egress, enum port_kind kind, struct endpoint at, ask_done *done, void *self);
void ask_forget(struct egress *egress, const void *self);

/* Is all answered that was asked before this one? */
bool asks_are_answered(const struct egress *egress, uint64_t last_ask);

/* --- names.c ---------------------------------------------------------------------------------------------------- */

/* A question that cannot be answered yet. */
struct waiting_question {
    struct dns_question question;
    void (*answer)(struct egress *egress, const struct waiting_question *waiting,
                   const struct dns_answer *answer);
    struct endpoint from;
    void *stream; /* TCP; NULL: UDP */
};

typedef VEC(struct waiting_question) question_list;

struct name {
    struct egress *egress;
    const char *text;
    struct host_object host;
    struct endpoint address; /* that stands for it inside; port 0 */
    VEC(uint16_t) ports;     /* where connections to it are taken, or will be */
    size_t outstanding, listening;
    question_list questions;
    struct lookup_result found; /* outside */
    int64_t found_until;
    bool is_looked_up;
};

/* The name's entry, made where it is new; NULL where there are too many. `address` 0: the next free one. */
struct name *name_enter(struct egress *egress, const char *text, uint32_t address);
struct name *name_of_address(struct egress *egress, const struct endpoint *address);

/* Takes connections at every port that the table allows. */
void name_listen(struct name *name);

/* --- resolver.c ------------------------------------------------------------------------------------------------- */

int resolver_add_datagrams(struct egress *egress, int fd) must_check;
int resolver_add_streams(struct egress *egress, int fd) must_check;

/* Its sockets are there, or are known not to come: whoever asked for it gets an answer. */
void resolver_answer(struct name *name);

/* bawn has noted who asked for a name that is not on the list: now whoever did may go on. */
void resolver_refuse(struct egress *egress, const char *text);

/* --- accept.c, inspect.c, dial.c, relay.c ------------------------------------------------------------------------ */

struct listener {
    struct watcher watcher;
    struct egress *egress;
    struct listener *next;
    uint16_t published; /* the port inside that it stands for on the host; 0: a listener of the inside */
};

enum stage {
    STAGE_INSPECT,  /* waits for the first words */
    STAGE_LOOKUP,   /* waits for addresses */
    STAGE_DIAL,     /* waits for one of them to answer */
    STAGE_PROXY,    /* waits for the proxy's word */
    STAGE_RELAY,    /* moves bytes */
    STAGE_FAREWELL, /* has said why not, and waits for the other side to hang up */
};

struct side {
    struct watcher watcher;
    struct connection *connection;
};

struct attempt {
    struct watcher watcher;
    struct connection *connection;
};

struct connection {
    struct egress *egress;
    struct connection *next, *previous;
    struct side inner, outer;
    struct flow outward, inward;
    enum stage stage;
    struct name *name; /* NULL: an address, or a port of the host or of the sandbox */
    struct endpoint asked, reached;
    struct rule rule; /* that allows it, as it was then; VERB_NONE: a port of the host's */
    bool is_inspected, speaks_http /* or may */, via_proxy;
    uint16_t published;
    bool tried_v6; /* of a published port */
    bool waits_for_translators;
    int64_t deadline /* 0: none */, next_attempt, began, moved /* while it gathers */;
    struct lookup_result addresses;
    size_t attempts_begun, attempts_open;
    struct attempt attempts[LOOKUP_MOST_ADDRESSES];
    int last_errnum;
    struct http http;
};

int listener_add(struct egress *egress, int fd, uint16_t published) must_check;
void listeners_pause(struct egress *egress, bool pause);
bool accept_has_no_room(int errnum);

/* inspect.c: looks at the first words. Decides, refuses, or waits for more. */
void connection_inspect(struct connection *connection);

/* dial.c */
void connection_dial(struct connection *connection);
void connection_attempt(struct connection *connection);
void connection_is_through(
    struct connection *connection); /* the other side is reached, by the proxy perhaps */
void connection_dial_inside(struct connection *connection); /* a published port */
int dial_open(struct egress *egress) must_check;

/* leads.c */
enum { ROUTES_MOST = 16, LEADS_SENTENCE_SIZE = 160 };

struct routes {
    int fd;
    bool is_open;
    struct known_route {
        uint8_t address[16];
        bool is_here;
    } known[ROUTES_MOST]; /* the newest */
    size_t count;         /* of all that were asked for */
    int64_t until;        /* they are believed */
};

/* Whatever an address stands for, the most special of it counts. */
enum address_class leads_class(struct egress *egress, const struct endpoint *address);
bool leads_to_refused(const struct egress *egress, const struct endpoint *address, uint16_t port);

/* Leaves of the connection's addresses those that may be dialled for its name. */
void leads_keep_permitted(struct connection *connection, char ret_sentence[LEADS_SENTENCE_SIZE]);

/* Must it be known first what this network translates (classes.h)? Then it is asked for. */
bool leads_must_wait(struct connection *connection, const struct endpoint *addresses, size_t count);
void leads_take_translators(struct egress *egress, const struct lookup_result *result);

/* relay.c */
void connection_relay(struct connection *connection);
void relay_ready(struct watcher *watcher, uint32_t events); /* of both sides, at every stage */

/* Lets flows hurry that gathered and fell silent (flow.h). Returns whether some gather on: then it wants to be called soon. */
bool relay_keep_time(struct egress *egress);

/* accept.c: how long it may take (milliseconds; 0: for ever), and its end. */
void connection_set_deadline(struct connection *connection, int64_t milliseconds);
void connection_close(struct connection *connection); /* orderly */
void connection_reset(struct connection *connection); /* both sides see that it broke */
void connection_refuse(struct connection *connection,
                       const char *sentence); /* told to bawn, and where possible inside */
void connection_fail(struct connection *connection, int errnum, const char *sentence);
const char *connection_host(const struct connection *connection, char text[ENDPOINT_TEXT_SIZE]);

/* Is it for a host that its rule does not spell out? Of those there may be any number. */
bool connection_is_one_of_many(const struct connection *connection);

/* account.c: tells what it carried, if it carried anything. */
void connection_account(const struct connection *connection);

/* --- settings.c ------------------------------------------------------------------------------------------------- */

int settings_read(struct egress *egress, int settings_fd, struct err *err) must_check;
int settings_open_link(struct egress *egress, int link_fd) must_check;

/* bawn waits for what it said to come to be: it may have now. */
void settings_confirm(struct egress *egress);

/* --- tell.c ----------------------------------------------------------------------------------------------------- */

/*
 * The same line is told only once. Of each kind there is a bound, and one for hosts that a rule spells out beside one for those
 * that come by a wildcard or a network: whoever asks for thousands of those hides nothing else behind them.
 */
#define TOLD_KINDS(X)                                                                                        \
    X(TROUBLE, "trouble", "so much happened that the rest is not recorded")                                  \
    X(CONNECTED, "connected", "so many hosts were reached that further ones are not recorded")               \
    X(PUBLISHED, "published", "so many ports were reached that further ones are not recorded")               \
    X(REFUSED, "refused", "so many connections were refused that further ones are not recorded")             \
    X(FAILED, "failed", "so many hosts could not be reached that further ones are not recorded")             \
    X(ASKED, "asked",                                                                                        \
      "so many names that are not on the list were asked for that further ones are not recorded")

enum told {
#define X(id, word, last) TOLD_##id,
    TOLD_KINDS(X)
#undef X
        TOLD_COUNT
};

enum { TELL_LONGEST = 1024 };

void tell_trouble(struct egress *egress, const char *format, ...) printf_like(2, 3);
void tell_name_trouble(const struct name *name, const char *sentence);
void tell_connection(const struct connection *connection, enum told kind, const char *detail);

/* A name that is not on the list. Returns false where it was told before, or too many were. */
bool tell_asked(struct egress *egress, const char *name, bool by_stream, uint16_t port);

/* However much was told before: the caller sees to a bound. */
void tell_always(struct egress *egress, const char *line);

/* What bawn has not been told yet: as far as it reads, or until it has read all, for a while. */
void tell_more(struct egress *egress);
void tell_rest(struct egress *egress);

/* --- sandbox.c -------------------------------------------------------------------------------------------------- */

int sandbox_enter(struct err *err) must_check;

/* Does it take a service of this machine to look names up, by this text of /etc/nsswitch.conf? */
bool sandbox_needs_services(const char *nsswitch);

/* --- main.c ----------------------------------------------------------------------------------------------------- */

int64_t now_milliseconds(void);

/* All that bawn said before `word` is in use when what was asked for until then is there. */
struct confirmation {
    const char *word;
    uint64_t last_ask;
};

struct egress {
    struct arena arena;
    struct poller poller;
    struct table table;
    struct proxy proxy;
    struct routes routes;
    struct translators translators;
    int64_t translators_until;
    bool translators_are_asked;
    struct watcher link, channel, looked_up, datagrams, streams;
    VEC(struct ask) asks;         /* that process 1 has been sent */
    VEC(struct ask) waiting_asks; /* that it will be, from waiting_first on */
    size_t waiting_first;
    uint64_t last_ask;
    struct map names;
    VEC(struct name *) by_address; /* the n-th stands at 198.18.0.2 + n */
    struct lookup *lookup;
    struct listener *listeners;
    size_t listener_count, most_listeners;
    bool listeners_are_paused;
    struct connection *connections;
    size_t connection_count, published_count, most_published;
    VEC(struct stream *)
    name_streams;   /* connections that ask for names, the one that was quiet longest first */
    size_t pending; /* connections that have a deadline */
    int64_t next_look;
    bool gathers; /* some connection does */
    int64_t gathers_looked;
    struct pipes pipes;
    struct endpoint last_connected; /* of many connections to the same place only the first is told */
    question_list unlisted;         /* questions for names that are not on the list */
    struct map told;
    size_t told_count[TOLD_COUNT][2]; /* the second: of those that are one of many */
    VEC(const char *) untold;         /* lines that wait for bawn to read */
    size_t untold_sent;
    VEC(struct confirmation) unconfirmed;
    const char *trouble; /* since the last confirmation; NULL: none */
    size_t accounts;
    bool is_over; /* bawn is gone */
};
