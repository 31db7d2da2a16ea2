/* Mistakes and failures in sentences: "bawn: …", and what is wrong with a policy, as a compiler reports it. */
#pragma once

#include "base/style.h"
#include "policy/diag.h"

/* "bawn: SENTENCE. HINT.\n"; the hint may be NULL. */
void report_add_problem(struct buf *out, const struct style *style, const char *message, const char *hint);

/* Every diagnostic: its place, its message, the line of the source and a hint. */
void report_add_diags(struct buf *out, const struct style *style, const struct diags *diags);
