/* What a person should know of a host before they allow it. */
#pragma once

#include "policy/policy.h"

/* A sentence without a full stop, or "". Nothing is looked up: a name that waits for an answer reaches no resolver. */
const char *warning_of_host(struct arena *arena, const struct policy *policy, const struct host_object *host)
    returns_text;
