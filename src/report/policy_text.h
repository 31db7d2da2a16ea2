/* A policy in words: all of it, and the rule that decides about one object. `style->home` is the user's. */
#pragma once

#include "base/json.h"
#include "base/style.h"
#include "plan/plan.h"

/* policy_listing.c: what can be written, read and reached, each with the rule that grants it; and every seal. */
void policy_add_listing(const struct plan *plan, const struct style *style, struct buf *out);

/* "src/" for a path inside the workspace, "~/x" or "/x" elsewhere; a directory ends in '/'. */
const char *operation_shown_path(const struct plan *plan, const struct operation *operation);

/* Is it a seal whose path or pattern reaches into a workspace, and does not apply there? */
bool seal_spares_workspace(const struct policy *policy, const struct placed *placed);

/* policy_screen.c: the same on one screen, without the rules. What does not fit is counted. */
void policy_add_screen(const struct plan *plan, const struct style *style, struct buf *out);

/*
 * why.c: which rule decides about a path, a host or a $NAME, which rules it beat, and what would change it. `json`: as
 * JSON there, and not as text in `out`; or NULL.
 */
int why_add(const struct plan *plan, const struct style *style, const char *asked, struct json *json,
            struct buf *out, struct err *err) must_check;
