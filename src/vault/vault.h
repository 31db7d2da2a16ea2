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
 *   3. No byte of an answer reaches the front before the search for secrets has passed it (swap.h). So the back asks for no compression, no
 *      range and no extension of WebSocket. An answer that is compressed all the same is unpacked (unpack.h), or refused.
 *   4. A connection carries one request at a time. The next one is read when the answer has ended.
 *   5. Every buffer has a limit. Beyond it nothing more is read.
 *   6. At a host with a rule on requests the front judges each head, before the back gets a byte of it. A request that is refused is answered
 *      here. So these rules hold as long as the front's parsers do: one that was taken over could send any request to its hosts.
 *   7. The token of a repository goes only with the requests of git to that repository, and with those that a rule with {forge} names. The back compares
 *      both itself. Of a push nothing reaches the back before the front has judged all of its commands.
 *   8. Of a request by GraphQL with such a token nothing reaches the back before the front has judged all of it, and the front writes it anew (pulls.h).
 *   9. A token that a server has issued is stored on the host before anything else is done with it (refresh.c).
 *
 * A file calls only files further down in this list:
 *
 *   main.c        reads the settings, and runs one of the two
 *   front.c       the front: client.c has its connections                 incoming.c, pushes.c, questions.c, withheld.c, authority.c
 *   back.c        the back: server.c has its connections      request.c, refresh.c, gather.c, swap.c
 *   values.c      the secrets
 *   grant.c       what is said when a login is refreshed
 *   credential.c  what a command prints: a value, and when it expires
 *   carrier.c     secrets in paths, queries and content
 *   trust_store.c the certificates that this machine trusts
 *   stream.c      TLS on a socket
 *   unpack.c      compressed content
 *   record.c      messages between front and back
 *   pushing.c     a push: its commands, and the commits that prove a fast-forward
 *   pulls.c       pull requests by GraphQL: which requests pass             graphql.c
 *   body.c, head.c, refusal.c  HTTP
 *   repository.c  requests of git
 *   settings.c    which placeholder belongs to which secret and hosts, and which rules judge requests
 *   confine.c     the walls that both put around themselves
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/token.h"
#include "base/vec.h"
#include "git/push.h"
#include "journal/leak.h"
#include "kernel/handed.h"
#include "kernel/poller.h"
#include "policy/policy.h"
#include "vault/pulls.h"

struct head;

enum {
    VAULT_MOST_CONNECTIONS = 4096,
    VAULT_MOST_PUSHES = 8, /* that are judged at once: each may take tens of megabytes */
    VAULT_TURN = 8,        /* rounds of a connection, each of 16 KiB at most, until others have theirs */
    VAULT_LARGEST_QUEUE = 256 * 1024, /* bytes that wait for a peer; nothing more is read beyond that */
    VAULT_PATIENCE = 30000, /* milliseconds for a handshake, and for a request's head once it has begun */
};

/* --- settings --- */

struct vault_secret {
    const char *name, *placeholder;
    enum token_kind kind; /* of a login's token; TOKEN_NONE: the secret is none */
    const char *entry;    /* the tokens of one login have the same */
    bool is_issued;       /* its source may tell when it expires (credential.h) */
    VEC(struct host_object) hosts;
    VEC(struct secret_carrier) carriers;   /* none: CARRIER_HEADERS */
    VEC(struct secret_endpoint) endpoints; /* of a refresh token: the requests that it goes into */
};

/* A rule about a repository whose token stays outside. */
struct vault_forge {
    const char *secret; /* the name of its token, which is the name of the repository */
    const char *user;   /* that goes with the token */
    struct host_object host;
    const char *path; /* "acme/app" */
    bool may_fetch;
    struct push_rule push; /* without refs nothing may be pushed */
};

/* Requests that the token of a repository goes with, beside those of git. */
struct vault_api {
    const char *secret; /* as above */
    struct rule rule;
    const char *graphql,
        *repository; /* of a rule ".../graphql/acme/app": the true path and the repository; NULL: it is no such rule */
};

struct vault_settings {
    struct arena arena;
    struct leak_table leaks; /* what requests are searched for */
    VEC(struct vault_secret) secrets;
    VEC(struct vault_forge) forges;
    VEC(struct vault_api) apis;
    struct policy
        policy; /* rules about hosts and requests, if requests are judged; policy/decide.h decides */
};

/*
 * Lines `secret NAME PLACEHOLDER HOST:PORT…`, `token KIND ENTRY NAME PLACEHOLDER HOST:PORT…`, `forge SECRET USER HOST:PORT PATH LETTERS REF…` (a
 * letter is r, f, d, o for a right, or -), `api SECRET HOST:PORT/PATH METHODS`, `leak warn|block KEY`, `known KIND SIZE HASH NAME`, and `rule LAYER LOCKED VERB OBJECT`, with a tab and
 * the rule's place after it. After the line of a secret, `carrier KIND [NAME]` and `issued yes` are about it. Lines of repositories
 * stand before those of `api`.
 */
int settings_read(int fd, struct vault_settings *settings, struct err *err) must_check;

/* Does a rule of the policy decide about each request to the host? */
bool settings_judge(const struct vault_settings *settings, const char *host, uint16_t port);

/* May the secret be sent to the host? */
bool secret_is_for(const struct vault_secret *secret, const char *host, uint16_t port);

/* May the secret be sent in the header of this name? In the content of a request? */
bool secret_is_for_header(const struct vault_secret *secret, struct bytes header);
bool secret_is_for_content(const struct vault_secret *secret);

/* --- repository --- */

/* What git asks for over https. */
struct git_request {
    const struct vault_forge *forge; /* the first rule that allows it; NULL: it is none that may be made */
    bool is_push;
    bool has_content; /* commands and a pack, or what a fetch wants; without it, git asks for the refs */
};

/* Reads a request to the host. Only the spellings that git itself uses are understood. */
struct git_request repository_read(const struct vault_settings *settings, const char *host, uint16_t port,
                                   struct bytes method, struct bytes target);

/* Is it a path that git asks for, of a repository with a token? Only requests that repository_read understands may have it. */
bool repository_has(const struct vault_settings *settings, const char *host, uint16_t port, const char *path);

/* Why the request of git, or of Git LFS, for this path is refused; NULL: there is no repository with a token at this host, or it is no such request. */
const char *repository_problem(const struct vault_settings *settings, const char *host, uint16_t port,
                               const char *path);

/* The name of the token that goes with a request to an API; NULL: none does. */
const char *repository_api_token(const struct vault_settings *settings, const char *host, uint16_t port,
                                 struct bytes method, struct bytes target);

/*
 * GraphQL has one path for everything. A rule on `PATH/graphql/{forge}` is for requests to `PATH/graphql` about that repository (pulls.h). Between front and back, and
 * in rules, such a request has the path of the rule, and the method GET if it only reads.
 */

/* The repositories that may be asked about by this request. None: it is a request as any other. */
void repository_questions(const struct vault_settings *settings, const char *host, uint16_t port,
                          const struct head *head, pulls_names *ret_repositories);

/* The true path of a request that has the path of such a rule; NULL: it has another. */
const char *repository_graphql(const struct vault_settings *settings, const char *host, uint16_t port,
                               struct bytes target);

/* --- confine --- */

/* Locks the process in: no new socket, no program, no core, and no file, but those of the trust store for the back. */
int confine(bool is_back, struct err *err) must_check;

/* --- front and back --- */

/* Each runs until its link to bawn or the other process ends. Returns the exit status. */
int front_run(struct vault_settings *settings, int link_fd, int egress_fd, int back_fd);
int back_run(struct vault_settings *settings, int link_fd, int front_fd);
