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

/* why.c: which rule decides about a path, a host or a $NAME, which ones it beat, and what would change it. */
int why_add_text(const struct plan *plan, const struct style *style, const char *asked, struct buf *out,
                 struct err *err) must_check;
int why_add_json(const struct plan *plan, const struct style *style, const char *asked, struct json *json,
                 struct err *err) must_check;
