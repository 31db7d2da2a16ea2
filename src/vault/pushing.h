/*
 * A push over https, read until it is known whether it may pass: its commands (git/push.h) and, where an update needs a proof, the commits at
 * the beginning of its pack (git/pack.h). Nothing of it is sent meanwhile. Pure.
 */
#pragma once

#include "git/pack.h"
#include "vault/vault.h"

enum { PUSHING_MOST_HELD = 8 * 1024 * 1024 }; /* bytes of a pack that wait for a proof */

enum pushing_state {
    PUSHING_MORE,    /* more must come before it can be judged */
    PUSHING_PASSES,  /* all of it may be sent: pushing_add, then what follows */
    PUSHING_REFUSED, /* nothing may: push_add_refusal says why */
    PUSHING_BAD,     /* it is none that git would send; `problem` says why */
};

struct pushing {
    struct buf head; /* of the request */
    struct push push;
    struct pack pack;
    struct buf held; /* what follows the commands */
    bool is_judged;
    const char *problem;
    VEC(struct push_rule) rules;
};

/* `head` is the request's. The rules are all of the settings for the repository. */
struct pushing *pushing_begin(const struct vault_settings *settings, const struct vault_forge *forge,
                              struct bytes head);
void pushing_free(struct pushing *pushing);

/* Takes content of the request, in which only a result of PUSHING_MORE may precede. `is_end`: this is all. */
enum pushing_state pushing_take(struct pushing *pushing, struct bytes content, bool is_end) must_check;

/* What is sent for all that was taken. *ret_taken: how many bytes that was. */
void pushing_add(const struct pushing *pushing, struct buf *out, size_t *ret_taken);
