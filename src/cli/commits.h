/* The commits that an apply or a review would take, where they change files that a person must approve. */
#pragma once

#include "report/patch.h"
#include "session/arrivals.h"

/*
 * Why the commits need approval, or NULL: "the commits change files that wait for your word: 1234567890 (CLAUDE.md)", or that
 * they could not be checked. A path counts if the policy flags or freezes it, or if the session's own change of it is risky.
 */
const char *commits_reason(const struct patch *patch, const struct arrivals *arrivals,
                           const decision_list *decisions);
