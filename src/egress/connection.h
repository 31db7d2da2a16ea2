/* The life of a connection. connection.c describes its stages, its invariants and who owns which descriptor. */
#pragma once

#include "egress/egress.h"
#include "egress/flow.h"
#include "egress/http.h"
#include "egress/kex.h"
#include "kernel/poller.h"

enum stage {
    STAGE_ASK,      /* waits for a person's answer */
    STAGE_INSPECT,  /* waits for the first bytes */
    STAGE_LOOKUP,   /* waits for addresses */
    STAGE_TURN,     /* waits until the rate limit lets it begin */
    STAGE_DIAL,     /* waits for one of them to answer */
    STAGE_PROXY,    /* waits for the proxy's answer */
    STAGE_RELAY,    /* moves bytes */
    STAGE_FAREWELL, /* has sent the reason of a refusal, and waits until the client closes */
};

/* One of the two sockets is ready. */
typedef void connection_ready(struct connection *connection, bool is_inner, uint32_t events);

enum {
    CONNECTION_PATIENCE = 30000, /* milliseconds, for all stages before RELAY but ASK and TURN */
    TURN_PATIENCE = 120000,      /* and for that one */
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
    struct connection *next, *previous; /* the next older one, the next newer one */
    struct connection *next_gathering;
    bool is_gathering; /* it is in the list egress->gathering */
    struct listener *listener;
    struct side inner, outer;
    struct watcher tether; /* of a connection that the vault serves */
    struct flow outward, inward;
    enum stage stage;
    connection_ready *ready; /* of this stage; NULL: both sockets stay unread */
    struct name *name;       /* NULL: an address, or a port of the host or of the sandbox */
    struct endpoint asked, reached;
    struct rule rule; /* a copy of the rule that allows it; VERB_NONE: a port of the host */
    bool is_inspected, speaks_http /* or may */, via_proxy;
    uint16_t published; /* the port inside; 0: the connection comes from inside */
    bool tried_v6;      /* of a published port */
    bool waits_for_translators;
    int64_t deadline /* 0: none */, next_attempt, accepted, began, moved /* while it gathers */;
    struct lookup_result addresses;
    size_t attempts_begun, attempts_open;
    struct attempt attempts[LOOKUP_MOST_ADDRESSES];
    int last_errnum;
    struct buf first; /* what was read of the client's first bytes, until there is a verdict on them */
    struct http http;
    struct kex kex; /* of a server that is to prove itself */
    size_t held;    /* the memory that `first`, http.line, kex.unread and bytes that wait for a search take */
    size_t watched_size;    /* of the bytes that were searched for placeholders */
    struct buf watched_end; /* the last of them: a placeholder may go on in the next piece */
    size_t agreed_size;     /* bytes of the server's agreement to change the protocol */
};

/* In STAGE_INSPECT, with a deadline. */
struct connection *connection_new(struct egress *egress, struct listener *listener);

/* Changes the stage; `ready` (or NULL) is called from then on. */
void connection_enter(struct connection *connection, enum stage stage, connection_ready *ready);

/* Gives one side its descriptor. The watcher is closed on failure. */
void side_open(struct side *side, struct connection *connection, int fd, uint32_t events);

/* Moves a dialled socket from its attempt to the side. Returns -1 with errno. */
int side_take(struct side *side, struct attempt *attempt, uint32_t events) must_check;

/* Milliseconds from now; 0: none. */
void connection_set_deadline(struct connection *connection, int64_t milliseconds);

/* Each of these ends the connection, or begins its farewell: the caller must return at once. */
void connection_close(struct connection *connection);
void connection_forbid(struct connection *connection, const char *sentences); /* answers HTTP with them */
void connection_reset(struct connection *connection); /* both peers see a broken connection (RST) */
void connection_refuse(struct connection *connection, const char *sentence);
void connection_fail(struct connection *connection, int errnum, const char *sentence /* if errnum is 0 */);

/* Counts what is held. Returns false if unfinished requests of all connections take too much, and this one has a part in it. */
bool connection_may_hold(struct connection *connection) must_check;

/* The name, or the address as text. */
const char *connection_host(const struct connection *connection, char text[ENDPOINT_TEXT_SIZE]);

/* Does its rule not spell the host out? There may be any number of such hosts. */
bool connection_is_one_of_many(const struct connection *connection);

void connection_tell(const struct connection *connection, enum told kind, const char *detail);

/* Reports how many bytes it carried, if it reached STAGE_RELAY. */
void connection_account(const struct connection *connection);

/* Sets SO_LINGER so that close sends RST. */
void break_when_closed(int fd);
void close_in_order(int fd); /* undoes it */

/* --- accept --- */

/* Accepts connections, at listeners inside and at published ports. */

/* listeners.ready */
void accept_ready(struct watcher *watcher, uint32_t events);

/* asks.on_arrival */
void accept_arrival(struct asks *asks, const struct port_request *arrival, int fd);

/* There are more rules: goes on with the connections that a person has decided about. */
void accept_answered(struct egress *egress);

/* --- room --- */

/*
 * Is there room for another connection at this listener? It may reset another connection to make room. If there is none, the
 * listener is paused.
 */
bool room_make(struct egress *egress, struct listener *listener) must_check;

/* --- inspect --- */

/*
 * Inspects the first bytes of a connection. One address may serve many hosts: the host that the client itself names, in TLS or
 * in HTTP, must be the name that it asked for. The bytes are read once: the copy that is judged is the copy that is sent.
 */

/*
 * Returns true when the first bytes have passed: is_inspected is set, and the caller goes on. On false the connection waits for
 * more bytes, or it was refused or reset, and the caller returns at once.
 */
bool connection_inspect(struct connection *connection) must_check;

/*
 * Checks bytes of a client that speaks HTTP, or may (http.h), and adds those that pass to outward.copied. On false the connection
 * was refused, and the caller returns at once.
 */
bool connection_check_http(struct connection *connection, const char *bytes, size_t size) must_check;

/* No host is named for the connection, so that nothing is judged: with `leak … plain` its requests are searched, if it speaks HTTP. */
void connection_search_nameless(struct connection *connection);

/* --- relay --- */

/*
 * Moves bytes in both directions (flow.h). The end of one direction becomes the end of the same direction at the other socket
 * (half-close), a peer that does not read stops the other one, and a reset resets both. Requests of plain HTTP are checked
 * (http.h), answers are not.
 */

/* Both sockets are connected: begins STAGE_RELAY. */
void connection_relay(struct connection *connection);

/* Ends the gathering of flows that have fallen silent (flow.h). Returns true while some gather: call it again in a millisecond. */
bool relay_keep_time(struct egress *egress);

/* --- prove --- */

/*
 * bawn signs a login by ssh for a proof (base/ssh_proof.h), which says no name and no port. Of hosts of `ssh-key` rules this program tells bawn by which
 * proof each connection is known, before the client has read the proof: so bawn knows it before it is asked to sign.
 */

/* Both sockets are connected. Begins with what a proxy sent beyond its answer. */
void connection_begin_proof(struct connection *connection);

/* Is the beginning of what the server says still read? Then it goes through connection_hear_proof, before it is sent. */
bool connection_is_proving(const struct connection *connection);
void connection_hear_proof(struct connection *connection, struct bytes bytes);

/* --- hand --- */

/* Are the bytes that go out searched for placeholders? Bytes of TLS are not. */
bool connection_is_watched(const struct connection *connection);
void connection_stop_watching(struct connection *connection);

/* Searches the next bytes. On false there was a placeholder, the connection was refused, and the caller returns at once. */
bool connection_watch(struct connection *connection, const char *bytes, size_t size) must_check;

/* Does the vault serve the connection's host? Then its first bytes are judged before the host is dialled, at any port. */
bool connection_is_vaults(const struct connection *connection);

/* Both sockets are connected, and the first bytes have passed: hands both to the vault. This program keeps them open, and reads nothing more. */
void connection_hand(struct connection *connection);

/* --- dial --- */

/* Looks a host up, checks its addresses (leads.h) and connects to one of them; for a published port, connects inside. */

int dial_open(struct egress *egress) must_check;

/* Begins STAGE_LOOKUP. */
void connection_dial(struct connection *connection);

/* A published port: asks process 1 for a socket that connects to 127.0.0.1, or to ::1 if that was refused. */
void connection_dial_inside(struct connection *connection);

/* In STAGE_TURN: begins to dial if its turn has come. Returns the milliseconds until it is worth trying again; 0: it has left the stage. */
int64_t connection_try_turn(struct connection *connection);

/* Tries the next address, beside those that have not answered yet. */
void connection_attempt(struct connection *connection);
