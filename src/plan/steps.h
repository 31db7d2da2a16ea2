/* The steps of plan_make, each in its own file. */
#pragma once

#include "plan/plan.h"

/* plan.c */
void plan_add(struct plan *plan, struct operation operation);
bool plan_is_public(const struct plan *plan, const struct rule *because, const char *path);

/* decoy_places.c: adds decoys to the home, where nothing else is. */
void plan_add_decoys(struct plan *plan);

/* settings.c */
void plan_add_network(struct plan *plan);
void plan_add_environment(struct plan *plan);
void plan_add_secrets(struct plan *plan);
void plan_add_leak(struct plan *plan);
void plan_add_limits(struct plan *plan);

/* forges.c */
void plan_add_forges(struct plan *plan);
void plan_note_forges(struct plan *plan);

/* Is it a variable that leads git to bawn, and so not the caller's or a rule's? */
bool plan_forge_sets(const struct plan *plan, const char *name);

/* ssh_keys.c */
void plan_add_ssh_keys(struct plan *plan);
void plan_note_ssh_keys(struct plan *plan);

/* Is it the variable that leads ssh to bawn's own agent? */
bool plan_ssh_key_sets(const struct plan *plan, const char *name);

/* arguments.c: adds arguments of the agent's profile. */
void plan_add_arguments(struct plan *plan);
const char *plan_own_path(const struct policy *policy);
bool plan_argument_informs(const struct plan *plan,
                           const struct operation *argument); /* its line has $BRIEFING */

/* arguments.c: the path of bawn for an agent that is to start `bawn mcp`. NULL: it cannot, or must not. */
const char *plan_tools_path(const struct policy *policy);

/* arguments.c: a word with the path of bawn in the place of its variable. Only where plan_tools_path() finds one. */
const char *plan_with_tools(const struct policy *policy, const char *word);

/* settings.c: what the machine must have. */
void plan_add_requirements(struct plan *plan);

/* settings.c: commands that are asked about or refused. */
void plan_add_guards(struct plan *plan);

/* settings.c: names of build directories. */
void plan_add_artifacts(struct plan *plan);

/* given_up.c: the walls that modes and --degrade give up. */
void plan_add_given_up(struct plan *plan);

/* servers.c: MCP servers of an agent that no rule allows, and the flag that would. */
struct server {
    const char *name, *file, *flag;
};

typedef VEC(struct server) server_list;

/* "https://HOST[:PORT]/…": the flag that would allow it; NULL: it is allowed, or not a URL. */
const char *plan_flag_for_url(const struct plan *plan, const char *url);

void plan_find_servers(const struct plan *plan, server_list *ret_found);

/* bare.c: says at each start what walls on Landlock alone do not hold. */
void plan_note_landlock(struct plan *plan);

/* notes.c: messages for the user before the run starts. */
void plan_add_notes(struct plan *plan);
