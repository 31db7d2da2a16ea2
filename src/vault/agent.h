/*
 * bawn's own ssh agent: programs inside log in with keys of the user's agent, at hosts that an `ssh-key` rule names, and nothing else.
 *
 * Theory of operation
 *
 * For each connection to the socket inside, bawn starts two processes:
 *
 *   program inside ──ssh agent protocol── front ──records── back ──ssh agent protocol── the user's ssh agent
 *                                                           └─ link to bawn: may this be signed?
 *
 * The *front* reads what the sandbox sends. It has the connection and the way to the back, and nothing else. The *back* has a connection to
 * the user's agent. It reads records alone: a request in one spelling. What is signed, it writes itself from the fields of a record, so
 * no text of the sandbox reaches the user's agent as it is. The back decides; the front could be taken over and gain nothing by it.
 *
 * ssh says which host a signature is for (session-bind@openssh.com): the host's public key, the number of the session, and the signature
 * of that number by the host. These are the states of a connection:
 *
 *   UNBOUND    nothing was said yet
 *   BOUND      the host's key is one that a rule names, and its signature of the session is valid
 *   STRANGE    the last host said is none that a rule names
 *   FORGED     its signature is not valid
 *   FORWARDED  the agent was passed on to another machine; for ever
 *
 * Invariants
 *
 *   1. The user's agent gets two requests: which keys it has, and a signature of a login (SSH_MSG_USERAUTH_REQUEST) that the back has written.
 *   2. A login is signed only in the state BOUND, for the session that was bound last, with a key that a rule gives to that host, and after
 *      bawn said yes, which counts and asks. bawn has it in its journal before it is signed. Hosts, and ports of one host, may have the same key.
 *      Then those rules must allow it that name the host and port that bawn-egress has dialled for this session; if bawn does not know it, each
 *      rule that fits.
 *   3. Programs inside see the keys that rules name, and no other, and not what the user calls them.
 *   4. Every message has a limit. What is malformed gets SSH_AGENT_FAILURE; a size above the limit ends the connection.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

enum {
    AGENT_LARGEST = 256 * 1024, /* of a message */
    AGENT_MOST_BINDINGS = 16,   /* of a connection */
    AGENT_LONGEST_USER = 128,
    AGENT_LARGEST_SESSION = 64,
    AGENT_MOST_FITTING = 64, /* rules and hosts that fit a login */
};

/* Numbers of the protocol. */
enum {
    AGENT_FAILURE = 5,
    AGENT_SUCCESS = 6,
    AGENT_REQUEST_IDENTITIES = 11,
    AGENT_IDENTITIES_ANSWER = 12,
    AGENT_SIGN_REQUEST = 13,
    AGENT_SIGN_RESPONSE = 14,
    AGENT_EXTENSION = 27,
};

enum agent_kind {
    AGENT_OTHER, /* no rule can allow it: add, remove, lock … */
    AGENT_LIST,
    AGENT_BIND,
    AGENT_LOGIN,
    AGENT_OTHER_DATA, /* a signature of something that is no login */
    AGENT_KIND_COUNT,
};

struct agent_request {
    enum agent_kind kind;
    bool is_forwarding;   /* BIND */
    bool is_bound_itself; /* LOGIN: what is signed names the host's key, too */
    struct bytes session; /* BIND and LOGIN */
    struct bytes host_key;
    struct bytes signature; /* BIND: of the session, by the host */
    struct bytes key;       /* LOGIN */
    struct bytes algorithm, user;
};

/* --- agent_message.c: bytes; no decision --- */

/* A string of ssh's: its size, and the bytes. */
void agent_add_string(struct buf *out, struct bytes string);

/* Reads a message of a program inside. It is hostile: any bytes. What is no request that a rule could allow is AGENT_OTHER. */
struct agent_request agent_read(struct bytes message);

/* A request as the front sends it, and as the back reads it. Returns false for any text that agent_add_record would not have written. */
void agent_add_record(const struct agent_request *request, struct buf *out);
bool agent_read_record(struct bytes record, struct agent_request *ret_request) must_check;

/* Adds the message that asks the user's agent for the signature of a login. Returns false if the algorithm does not fit the key. */
bool agent_add_login(const struct agent_request *login, struct buf *out) must_check;

/* Takes the next key of an answer to AGENT_REQUEST_IDENTITIES: true, with its public part. `rest` is what follows the number of keys. */
bool agent_take_key(struct bytes *rest, struct bytes *ret_key) must_check;

/* --- agent_judge.c: what may be signed --- */

/* A key, and one of the hosts where it may be used. Rules are numbered as bawn numbers them. */
struct agent_host {
    unsigned number;
    struct bytes key;
};

struct agent_rule {
    const char *name;           /* that programs inside see */
    char hash[SHA256_HEX_SIZE]; /* of the key's public part */
    VEC(struct agent_host) hosts;
};

/* Why it is not signed, in words that bawn knows (supervise/signing.c). */
#define AGENT_REFUSALS(X)                                                                                    \
    X(AGENT_NOT_REFUSED, "")                                                                                 \
    X(AGENT_UNBOUND, "unbound")                                                                              \
    X(AGENT_STRANGE, "strange")                                                                              \
    X(AGENT_FORGED, "forged")                                                                                \
    X(AGENT_FORWARDED, "forwarded")                                                                          \
    X(AGENT_OTHER_SESSION, "session")                                                                        \
    X(AGENT_NO_LOGIN, "data")                                                                                \
    X(AGENT_OTHER_KEY, "key")                                                                                \
    X(AGENT_TOO_MANY, "many")                                                                                \
    X(AGENT_WEAK, "weak")                                                                                    \
    X(AGENT_UNANSWERED, "unanswered")

enum agent_refusal {
#define X(id, word) id,
    AGENT_REFUSALS(X)
#undef X
};

const char *agent_refusal_word(enum agent_refusal refusal);

/* Is it the host's signature of the session? */
typedef bool agent_verify(struct bytes host_key, struct bytes signature, struct bytes signed_bytes);

/* A connection. */
struct agent_state {
    VEC(struct agent_rule) rules;
    agent_verify *verify;
    enum agent_refusal
        bound; /* AGENT_NOT_REFUSED: `session` and `host_key` are of a host that a rule names */
    bool is_forwarded;
    size_t bindings;
    uint8_t session[AGENT_LARGEST_SESSION];
    size_t session_size;
    struct buf host_key;
    char proof[SHA256_HEX_SIZE]; /* the mark of what the host has proved itself with */
};

#define AGENT_STATE_NONE ((struct agent_state){.bound = AGENT_UNBOUND})

/* The first rule for a key; NULL: there is none. */
const struct agent_rule *agent_find_rule(const struct agent_state *state, struct bytes key);

/* Returns whether the connection is bound now. */
bool agent_bind(struct agent_state *state, const struct agent_request *request);

/*
 * The numbers of the rules that fit a login, and of the host of each. They are several where hosts, or ports of one host, have the same key:
 * then nothing that ssh says tells which of them was dialled. bawn may know it by the proof (base/ssh_proof.h).
 */
struct agent_fitting {
    struct agent_fit {
        unsigned rule, host;
    } at[AGENT_MOST_FITTING];
    size_t count;
};

/* May it be signed? Then *ret_fitting has at least one. */
enum agent_refusal agent_judge(const struct agent_state *state, const struct agent_request *login,
                               struct agent_fitting *ret_fitting);

void agent_state_free(struct agent_state *state);

/* --- host_key.c --- */

/* Checks a signature by OpenSSH's kinds of host keys: Ed25519, ECDSA, and RSA with SHA-2. Both may be any bytes. */
bool host_key_verify(struct bytes host_key, struct bytes signature, struct bytes signed_bytes);

/* --- agent_stream.c --- */

/* Messages on a stream: a size, and the bytes. Both wait. Return false if the other end is gone, or says what it must not. */
bool agent_receive(int fd, struct buf *ret_message) must_check;
bool agent_send(int fd, struct bytes message) must_check;

/* --- agent_front.c, agent_back.c --- */

/* Each runs until an end of it is closed. Returns the exit status. */
int agent_front_run(int client_fd, int back_fd);

/*
 * Lines of `settings_fd`: "rule HASH NAME", and after it "host NUMBER KEY" for each key of its hosts, in base64.
 *
 * Lines to bawn: "sign USER PROOF RULE HOST…", with a rule and a host for each that fits, to which bawn says "yes" or "no"; "refused WORD RULE USER"
 * (RULE may be -).
 */
int agent_back_run(int settings_fd, int link_fd, int front_fd, int agent_fd);
