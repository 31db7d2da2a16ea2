/*
 * The values of secrets, in the back. bawn is asked for one when a request first needs it, and answers with a pipe that the value comes
 * through. Values are kept in pages that are locked in memory and in no core.
 *
 * A token of a login changes while the run lasts, and so does a value whose source says when it expires. Answers are searched for the current
 * one and for the one before, and for the forms in which they were sent.
 *
 * A value that expires is asked for again while it is still good, and used meanwhile. If its source fails then, it is used until it expires.
 * After that a request waits for a new one, and fails if there is none.
 */
#pragma once

#include "base/buf.h"
#include "base/bytes.h"
#include "vault/swap.h"
#include "vault/vault.h"

struct values;

enum { VALUE_MOST_FORMS = 16 };

/* A place in the locked pages, and the pattern for what is in it. */
struct value_room {
    char *at;
    size_t size;
    int pattern; /* what answers are searched for; -1: not yet */
    unsigned turn;
};

struct value {
    const struct vault_secret *secret;
    bool is_known, is_asked; /* both: a newer one is asked for */
    int64_t expires;         /* second since 1970; 0: it does not */
    int64_t renew;           /* and when it is to be asked for again */
    struct bytes bytes;
    struct bytes placeholder;
    bool is_used;                              /* it was sent to a server as it is now */
    struct value_room rooms[2];                /* for the current one and for the one before */
    struct value_room forms[VALUE_MOST_FORMS]; /* for forms in which one was sent, other than the value */
    unsigned room;
    unsigned turn;         /* how often it has changed */
    struct watcher source; /* the pipe that it comes through */
    struct buf coming;
    struct values *all;
};

struct values {
    struct poller *poller;
    struct watcher link; /* to bawn */
    struct value *at;
    size_t count;
    char *page_free, *page_end;
    struct arena *arena;
    struct patterns *patterns; /* tokens are put into it */
    void (*keeper_came)(struct values *values, const char *name,
                        int fd); /* for the refresh of a login; owns the descriptor */
    void (*came)(struct values *values,
                 bool is_usable); /* one that was asked for has come, or cannot be had */
};

/* All pointers must be set. */
int values_open(struct values *values, struct vault_settings *settings, int link_fd, struct err *err)
    must_check;

/* Sends a line to bawn: a verb and its words. */
void values_tell(struct values *values, const char *verb, const char *words);

/* Takes over a value. Returns false if there is no room for it: then it must not be used. */
bool value_set(struct value *value, struct bytes bytes) must_check;

/* From now on answers are searched for a form of the value, which becomes `instead`. Returns false if there is no room: it must not be sent. */
bool value_watch_form(struct value *value, struct bytes form, struct bytes instead) must_check;

/* A request needs the value. Returns whether it is there; if not, or if it expires soon, bawn is asked for it. */
bool value_need(struct value *value) must_check;

/* Is it there, and has it not expired? */
bool value_is_good(const struct value *value);

/* The token of this kind in the same login; NULL: there is none. */
struct value *values_sibling(const struct value *value, enum token_kind kind);
