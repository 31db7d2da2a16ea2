/*
 * The values of secrets, in the back. bawn is asked for one when a request first needs it, and answers with a pipe that the value comes
 * through. Values are kept in pages that are locked in memory and in no core.
 *
 * A token of a login changes while the run lasts. Answers are searched for the current one and for the one before.
 */
#pragma once

#include "base/buf.h"
#include "base/bytes.h"
#include "vault/swap.h"
#include "vault/vault.h"

struct values;

struct value {
    const struct vault_secret *secret;
    enum { VALUE_UNKNOWN, VALUE_ASKED, VALUE_KNOWN } state;
    struct bytes bytes;
    struct bytes placeholder;
    bool is_used; /* it was sent to a server as it is now */
    struct {
        char *at;
        size_t size;
        int pattern; /* what answers are searched for; -1: not yet */
    } rooms[2];      /* of a token: for the current one and for the one before */
    unsigned room;
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

/* Copies bytes into the locked pages, where they stay. Returns no bytes if there is no room. */
struct bytes values_keep(struct values *values, struct bytes bytes);

/* Takes over a token of a login. Returns false if there is no room for it: then it must not be used. */
bool value_set(struct value *value, struct bytes bytes) must_check;

/* The token of this kind in the same login; NULL: there is none. */
struct value *values_sibling(const struct value *value, enum token_kind kind);

/* Asks bawn for a value that is not known, unless it was asked for already. */
void value_ask(struct value *value);
