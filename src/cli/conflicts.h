/* Files that both the user and a session have changed: joined, given up or left, as the user said. */
#pragma once

#include "base/style.h"
#include "cli/carry.h"
#include "workspace/reconcile.h"

/*
 * What becomes of the conflicts among the decisions: of each that stays one, why, and the lines at which both sides clash.
 * Returns 0, or the exit status after having said what is wrong.
 */
int conflicts_settle(const struct world *world, const struct choice *choice, struct carry *carry,
                     decision_list *decisions);

/* The lines at which both sides clash, as a person reads them: mine, those before, the session's. */
void conflict_add(struct buf *out, const struct style *style, const char *clashes);
