/*
 * The policy once more, for `bawn why` inside: what the administrator, the user and the command line said lies where no
 * sandbox looks, so it is told again in a file of its own, /run/bawn/policy.bawn. It holds nothing but rules.
 */
#pragma once

#include "cli/load.h"

#define RETOLD_POLICY "/run/bawn/policy.bawn"

/* NULL where nobody said anything beside the profiles that are compiled in, and no agent is run. */
const char *policy_retold(const struct loaded *loaded);
