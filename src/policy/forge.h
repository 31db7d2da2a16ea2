/* Rules about repositories on servers: `forge HOST/OWNER/REPO RIGHT… [token from SOURCE]`. */
#pragma once

#include "base/arena.h"
#include "policy/rule.h"

/* Do both name the same repository, whoever logs in there? */
bool forge_is_same(const struct forge_object *one, const struct forge_object *other);

/* The same where the server takes capital and small letters for equal, as most do. What closes a repository closes all of these. */
bool forge_may_be_same(const struct forge_object *one, const struct forge_object *other);

/* At which a rule with a token reaches its host. */
uint16_t forge_https_port(const struct forge_object *forge);

/* The same where it is reached by ssh. */
uint16_t forge_ssh_port(const struct forge_object *forge);

/* "github.com/acme/app", with the user of ssh if it is not git. */
const char *forge_place(struct arena *arena, const struct forge_object *forge) returns_text;

/* "fetch push refs/heads/agent/x push+force token from env" */
const char *forge_rights(struct arena *arena, const struct forge_object *forge) returns_text;
