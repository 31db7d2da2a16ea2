/*
 * bawn-vault keeps secrets outside the sandbox, and judges requests by their path. bawn starts it for a run whose policy has a `secret` rule,
 * or a rule on requests.
 *
 * Theory of operation
 *
 * It is two processes. The *front* talks to the sandbox: it ends the client's TLS with a certificate of this session's own authority,
 * and reads the requests. It never has a secret. The *back* has the secrets and talks to the servers: it opens TLS to the real host,
 * checked by the machine's trust store, and takes requests from the front alone, in one spelling. Hostile bytes of the sandbox
 * are decrypted and parsed in the front, and whatever takes the front over gets what the sandbox has already: placeholders.
 *
 *   sandbox ══TLS══ front ──records── back ══TLS══ server
 *
 * bawn-egress decides names and addresses, dials, and hands both sockets to the front (kernel/handed.h). The front passes the server's
 * socket on to the back, with one end of a *channel* (record.h). Both end when the other ends, or bawn does.
 *
 * Invariants
 *
 *   1. bawn starts the two apart. The front has no memory of the back's, and no descriptor that a secret comes through.
 *   2. A secret leaves the back only inside TLS, to a server whose certificate is valid for a host that the secret's rule names.
 *   3. No byte of an answer reaches the front before the search for secrets has passed it (swap.h). So an answer must not be
 *      compressed, nor cut by the client: the back asks for no encoding, and for no range.
 *   4. A connection carries one request at a time. The next one is read when the answer has ended.
 *   5. Every buffer has a limit. Beyond it nothing more is read.
 *   6. At a host with a rule on requests the front judges each head, before the back gets a byte of it. A request that is refused is answered
 *      here. So these rules hold as long as the front's parsers do: one that was taken over could send any request to its hosts.
 *   7. A token that a server has issued is stored on the host before anything else is done with it (refresh.c).
 *
 * A file calls only files further down in this list:
 *
 *   main.c        reads the settings, and runs one of the two
 *   front.c       the front: client.c has its connections                 incoming.c, authority.c
 *   back.c        the back: server.c has its connections      request.c, refresh.c, swap.c
 *   values.c      the secrets
 *   grant.c       what is said when a login is refreshed
 *   stream.c      TLS on a socket
 *   record.c      messages between front and back
 *   body.c, head.c, refusal.c  HTTP
 *   leak.c        the search for secrets of the host
 *   settings.c    which placeholder belongs to which secret and hosts, and which rules judge requests
 *   confine.c     the walls that both put around themselves
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/token.h"
#include "base/vec.h"
#include "kernel/handed.h"
#include "kernel/poller.h"
#include "policy/policy.h"
#include "vault/leak.h"

enum {
    VAULT_MOST_CONNECTIONS = 4096,
    VAULT_LARGEST_QUEUE = 256 * 1024, /* bytes that wait for a peer; nothing more is read beyond that */
    VAULT_PATIENCE = 30000, /* milliseconds for a handshake, and for a request's head once it has begun */
};

/* --- settings --- */

struct vault_secret {
    const char *name, *placeholder;
    enum token_kind kind; /* of a login's token; TOKEN_NONE: the secret is none */
    const char *entry;    /* the tokens of one login have the same */
    VEC(struct host_object) hosts;
};

/* What is done about a secret of the host in a request. */
enum leak_answer { LEAK_IGNORE, LEAK_WARN, LEAK_BLOCK };

struct vault_settings {
    struct arena arena;
    enum leak_answer leak_answer;
    struct leak_table leaks; /* what requests are searched for */
    VEC(struct vault_secret) secrets;
    struct policy
        policy; /* rules about hosts and requests, if requests are judged; policy/decide.h decides */
};

/*
 * Lines `secret NAME PLACEHOLDER HOST:PORT…`, `token KIND ENTRY NAME PLACEHOLDER HOST:PORT…`, `leak warn|block KEY`,
 * `known KIND SIZE HASH NAME`, and `rule LAYER LOCKED VERB OBJECT`, with a tab and the rule's place after it.
 */
int settings_read(int fd, struct vault_settings *settings, struct err *err) must_check;

/* Does a rule of the policy decide about each request to the host? */
bool settings_judge(const struct vault_settings *settings, const char *host, uint16_t port);

/* May the secret be sent to the host? */
bool secret_is_for(const struct vault_secret *secret, const char *host, uint16_t port);

/* --- confine --- */

/* Locks the process in: no new socket, no program, no core, and no file, but those of the trust store for the back. */
int confine(bool is_back, struct err *err) must_check;

/* --- front and back --- */

/* Each runs until its link to bawn or the other process ends. Returns the exit status. */
int front_run(struct vault_settings *settings, int link_fd, int egress_fd, int back_fd);
int back_run(struct vault_settings *settings, int link_fd, int front_fd);
