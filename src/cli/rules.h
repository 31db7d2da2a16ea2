/* Rules and where they come from, as a person and as a machine reads them. */
#pragma once

#include "base/style.h"
#include "policy/rule.h"

/* "seal ~/.ssh/": the rule as it would stand in a file. */
const char *rule_text(struct arena *arena, const struct rule *rule);

/* "base.bawn:12 (base)", "command line". */
const char *rule_place(const struct style *style, struct arena *arena, const struct rule *rule);

/* A word as a shell takes it: quoted where it must be. */
const char *shell_word(struct arena *arena, const char *word);
