/* A policy in words: all of it, and the rule that decides about one object. `style->home` is the user's. */
#pragma once

#include "base/json.h"
#include "base/style.h"
#include "plan/plan.h"

/*
 * policy_listing.c: what can be written, read and reached, each with the rule that grants it. `with_absent`: also the
 * sealed places that do not exist here.
 */
void policy_add_listing(const struct plan *plan, const struct style *style, bool with_absent,
                        struct buf *out);

/*
 * why.c: which rule decides about a path, a host or a $NAME, which rules it beat, and what would change it. `json`: as
 * JSON there, and not as text in `out`; or NULL.
 */
int why_add(const struct plan *plan, const struct style *style, const char *asked, struct json *json,
            struct buf *out, struct err *err) must_check;
