/*
 * Secrets that stay outside, and requests that are judged by their path: bawn-vault, as the supervisor sees it. vault_start.c starts it, vault.c speaks
 * with it, secret_source.c reads the values when it asks for them, judged.c has the rules on requests, tokens.c the
 * repositories that git reaches with a token. logins.c finds the
 * tokens of login files, login_keeper.c stores new ones.
 *
 * The value of a secret goes from a process of its own through a pipe to the vault. The supervisor never has it in its heap, in an
 * argument, in the journal or in a message.
 */
#pragma once

#include "base/bytes.h"
#include "base/key_format.h"
#include "base/token.h"
#include "journal/journal.h"
#include "journal/leaked.h"
#include "journal/run_facts.h"
#include "plan/decoys.h"
#include "plan/plan.h"
#include "supervise/loop.h"

/* A secret of the plan, and what stands for it inside: a variable's value, or one token of a login. */
struct kept_secret {
    const struct secret_object *secret;
    const char *placeholder;
    const char *hosts;    /* "HOST:PORT HOST:PORT" */
    enum token_kind kind; /* TOKEN_NONE: a variable's */
    const char *entry;    /* of a token: "FILE:PLACE" of the object that has it, as written */
    bool is_of_forge;     /* the token of a repository: nothing inside stands for it */
};

struct vault {
    struct arena arena;
    const struct plan *plan;
    const char *const *environment; /* the caller's */
    struct journal *journal;
    struct loop *loop;
    const char *state; /* the folder for placeholders of logins */
    const char *path;  /* of bawn-vault */
    pid_t front, back; /* 0: it does not run */
    int waiting_fd; /* the back's end of the way to the front, until a connection waits for it; -1: it was started */
    bool has_back_spoken;    /* it has said that it is ready, or why it cannot start */
    int front_fd;            /* links: certificate and alarms come from the front, */
    int back_fd;             /* questions for secrets from the back */
    int egress_fd;           /* the network helper hands connections over through this; -1: none */
    const char *certificate; /* of the session's authority (PEM) */
    bool is_over;            /* the command has ended: no secret is read for it any more */
    VEC(struct kept_secret) secrets;
    unsigned asked;             /* times that a secret was read */
    size_t events;              /* lines of the back that were recorded */
    size_t misuses, rejections; /* the same, each counted apart, so that nothing hides an alarm … */
    size_t leak_counts[LEAK_KIND_COUNT]; /* … and for each kind: a command can make up keys */
    size_t
        refused_requests; /* of those, about requests that the policy refuses; counted apart, so that they hide no alarm */
    size_t git_events; /* what git did with repositories whose tokens stay outside; counted apart, too */
    bool has_untold;   /* it is recorded that some are not */
    void (*refused)(void *self, const char *host, const char *port, const char *sentence);
    void *refused_self;
    misused_list misused;
    void (*tell)(void *context, const struct misused *misused); /* NULL: nobody is told at once */
    const struct canary *canary;            /* in a decoy (plan/decoys.h); NULL: there is none */
    unsigned char leak_salt[KEY_WORD_SALT]; /* of the hashes of values that requests are searched for */
    const char *leak_files;                 /* lines for the front, about tokens of files */
    VEC(const char *) unread;               /* the files among them that could not be read */
    leaked_list leaked;
    void (*tell_leaked)(void *context, const struct leaked *leaked); /* the same */
    void *context;
};

#define VAULT_NONE ((struct vault){.front_fd = -1, .back_fd = -1, .egress_fd = -1, .waiting_fd = -1})

/*
 * Starts the front of bawn-vault if the plan has secrets or rules on requests, and waits for its certificate. The back is started when the front
 * has a first connection for it. `ret_vault` must be VAULT_NONE; `state` is the home's.
 */
int vault_begin(const struct plan *plan, const char *const *environment, const char *state,
                struct journal *journal, struct vault *ret_vault, struct err *err) must_check;

/* From now on its questions are answered. */
void vault_watch(struct vault *vault, struct loop *loop);

/* What stands for the secret inside; NULL: there is no such secret. */
const char *vault_placeholder(const struct vault *vault, const char *name);

/* The placeholders as lines for bawn-egress, which looks for them where they do not belong. */
const char *vault_placeholder_lines(struct vault *vault);

/* Records that a placeholder was sent where it does not belong, and reports it. `self` is the vault. */
void vault_note_misused(void *self, const char *name, const char *host, const char *port);

/* A login file of the host's has changed: its tokens are read again when they are needed. `self` is the vault. */
void vault_login_changed(void *self, const char *file);

/* Waits until a refresh of a login that has begun is through: its tokens would be lost. */
void vault_end(struct vault *vault);
void vault_free(struct vault *vault);

/* --- vault_start.c --- */

/*
 * Starts the back. From here on it alone has its end of the way to the front: without the back the front ends, and its hosts cannot be reached.
 */
int vault_start_back(struct vault *vault, struct err *err) must_check;

/* --- logins.c --- */

/* Adds the tokens of the operation's login file, with a placeholder for each. */
int logins_add(struct vault *vault, const struct operation *operation, struct err *err) must_check;

/* --- login_keeper.c --- */

/*
 * Starts the keeper of a login for one refresh. Returns the descriptor of the way to it (SOCK_SEQPACKET). The keeper is a process of
 * its own, which outlives bawn: a token that a server has issued must be stored, whatever ends meanwhile.
 *
 * The keeper takes the lock of the login's refresh, which bawn's sessions share, and tells the tokens of the host's file. Then it waits for the
 * vault. `new` has tokens to be stored; `again` asks for the tokens once another program has refreshed them.
 */
int login_keeper_start(const struct kept_secret *token, const char *data, struct err *err) must_check;

/* --- judged.c --- */

/* Lines for the front: the rules that judge requests. */
void judged_add_rules(const struct plan *plan, struct buf *lines);

/* Lines for bawn-egress: the hosts whose connections go to the vault for it. */
void judged_add_hosts(const struct plan *plan, struct buf *lines);

/* `refused HOST PORT SENTENCE` from the front, without its first word. The front may be taken over: its words are recorded, and no more. */
void judged_note_refused(struct vault *vault, char *rest);

/* `untold requests` */
void judged_note_untold(struct vault *vault);

/* --- tokens.c --- */

/* The token of the operation's repository, if this is the rule whose token counts: the last one of the strongest layer. NULL: there is none. */
const struct secret_object *tokens_needed(const struct plan *plan, const struct operation *operation);

/* Lines for the vault: what git may do with repositories whose tokens stay outside. */
void tokens_add_forges(const struct plan *plan, struct buf *lines);

/* Lines for the vault: the other requests that the token of a repository goes with. */
void tokens_add_requests(const struct plan *plan, struct buf *lines);

/* `git WHAT REPOSITORY [BEFORE AFTER REF]` from the front, without its first word. It is recorded, and no more. */
void tokens_note(struct vault *vault, char *rest);

/* --- leaks.c --- */

/* Before the settings are written. */
int leaks_begin(struct vault *vault, struct err *err) must_check;

/* Lines for the front: what requests are searched for. */
void leaks_add_settings(struct vault *vault, struct buf *lines);

/* Adds `known KIND SIZE HASH NAME`: neither helper gets a value. */
void leaks_add_word(const struct vault *vault, enum leak_kind kind, const char *name, struct bytes word,
                    struct buf *lines);

/* Is the value inside by the policy, in whichever variable? Then the command may send it. */
bool leaks_is_given(const struct vault *vault, struct bytes value);

/* The same for bawn-egress; "": plain requests are not searched. */
const char *leaks_plain_lines(struct vault *vault);

/* `leak HOST PORT KIND DONE NAME` from one of them, without its first word: records it, and reports it. `self` is the vault. */
void leaks_note(void *self, char *rest);

/* --- leak_files.c --- */

/* Lines for the front: the tokens of the user's files that the policy does not show. */
const char *leak_files_read(struct vault *vault);

/* Records which files could not be read. */
void leak_files_note_unread(const struct vault *vault);

/* --- secret_source.c --- */

/* Forks a process that bawn need not wait for. Returns 0 in that process, 1 in bawn's, -1 with errno. */
int fork_apart(void) must_check;

/* The caller's own value of a SECRET_ENVIRONMENT; NULL: there is none. */
const char *secret_variable(const struct secret_object *secret, const char *const *environment);

/* Is the secret's program or file one that commands inside cannot change? See outside/outside.h. */
int secret_check(const struct secret_object *secret, const struct plan *plan, const char *const *environment,
                 struct err *err) must_check;

/*
 * Checks the secret as secret_check does, and reads it in a process of its own. Returns the descriptor that its value comes through, and
 * then the end; without a value the secret could not be read.
 */
int secret_read(const struct secret_object *secret, const struct plan *plan, const char *const *environment,
                struct err *err) must_check;

/*
 * An unguessable text of the same shape: with the prefix of the value ("sk-ant-api03-", "ghp_") and its length, of characters that need no
 * quoting anywhere. Without a value, of the shape that the variable's name suggests.
 */
int placeholder_make(struct arena *arena, const char *name, struct bytes value, const char **ret_text,
                     struct err *err) must_check;
