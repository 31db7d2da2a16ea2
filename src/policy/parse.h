/*
 * From text to rules. No effects: no file is opened, no variable read, and any bytes are taken; what is wrong is
 * reported, all of it, and what is right is still returned, so that one mistake does not hide the next.
 */
#pragma once

#include "base/arena.h"
#include "policy/diag.h"
#include "policy/rule.h"

enum { POLICY_LARGEST = 1024 * 1024, RULES_MOST = 65536 };

void parse_source(struct arena *arena, const struct source *source, rule_list *rules, struct diags *diags);

/* One flag of the command line: `--read PATH` is the rule `read PATH`. */
void parse_argument(struct arena *arena, const struct source *source, enum verb verb, const char *argument,
                    rule_list *rules, struct diags *diags);
