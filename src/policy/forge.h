/* Rules about repositories on servers: `forge HOST/OWNER/REPO RIGHT…`. */
#pragma once

#include "base/arena.h"
#include "policy/rule.h"

/* Do both name the same repository? */
bool forge_is_same(const struct forge_object *one, const struct forge_object *other);

/* "github.com/acme/app", with the user of ssh if it is not git. */
const char *forge_place(struct arena *arena, const struct forge_object *forge) returns_text;

/* "fetch push refs/heads/agent/x push+force" */
const char *forge_rights(struct arena *arena, const struct forge_object *forge) returns_text;
