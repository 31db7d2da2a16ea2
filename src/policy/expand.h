/* What stands for something else in a rule: ~, $HOME, $XDG_…, $SLUG. */
#pragma once

#include "policy/policy.h"

/* A path's pattern with $SLUG replaced; what is quoted stays quoted. */
const char *expand_slug(const struct policy *policy, const char *pattern);

/* A variable's value: everything replaced, and nothing quoted any more. */
const char *expand_value(const struct policy *policy, const char *value);
