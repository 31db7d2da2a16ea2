/*
 * The git configuration that is made for each sandbox, as the system's own (/etc/gitconfig): whatever the repository or
 * the agent's own ~/.gitconfig says comes later and wins.
 */
#pragma once

#include "policy/policy.h"

/*
 * What keeps git quiet where its control files are frozen, and from the user's configuration who they are, what the first
 * branch is called, and aliases that run no program. Nothing else of it: it may hold tokens. Of the machine's own
 * /etc/gitconfig, where a rule shows it, what a list names.
 */
const char *git_settings(const struct policy *policy);
