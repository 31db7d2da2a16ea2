/*
 * The places in a request that a rule may name for a secret, beside the usual headers: one header, a parameter of the query, the path, the
 * content.
 *
 * A value must not change the meaning of what is around it. So it is written as the place demands, or refused if no way of writing it is read
 * in one way by every server: "%2F" in a path is a slash to some of them.
 *
 * Pure.
 */
#pragma once

#include "policy/rule.h"
#include "vault/head.h"

enum writing {
    WRITING_PERCENT, /* of a query or a form: all but letters, digits and -._~ are encoded */
    WRITING_PATH,    /* the same, with ':' as it is. A value with / \ ? # % or ; is refused */
    WRITING_JSON,    /* in a string of JSON */
    WRITING_PLAIN, /* in content of another kind: a value with a character that formats give a meaning to is refused */
};

/* Adds the value. Returns false, and adds nothing, if it cannot be written there. */
bool carrier_write(enum writing writing, struct bytes value, struct buf *out) must_check;

/* How a value is written in the content that the head announces. */
enum writing carrier_writing_of(const struct head *head);

/* Does the carrier put secrets into the header of this name? */
bool carrier_is_header(const struct secret_carrier *carrier, struct bytes header);

/*
 * Adds the target with `written` in the place of the placeholder, if the carrier is the query or the path and the placeholder is there. If
 * not, returns false and adds nothing.
 */
bool carrier_swap_target(const struct secret_carrier *carrier, struct bytes target, struct bytes placeholder,
                         struct bytes written, struct buf *out);
