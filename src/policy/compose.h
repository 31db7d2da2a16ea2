/* The steps of policy_compose, each in its own file. */
#pragma once

#include "policy/policy.h"
#include "policy/profile.h"

/* find.c: which directories are workspaces. Adds their rules and fills policy->workspaces. */
void find_workspaces(struct policy *policy, struct diags *diags);

#define ADMIN_DIRECTORY "/etc/bawn"

/* sources.c: reads the rules of a source, and of the profiles that it uses. */
void compose_source(struct policy *policy, const struct source *source, struct diags *diags);
void use_profile(struct policy *policy, struct spot spot, const char *name, struct diags *diags);
void add_rules(struct policy *policy, const rule_list *rules, struct diags *diags);

/* sources.c: where the profiles lie that a layer may use. */
struct profile_finder profile_finder_for(const struct policy *policy, enum layer asked_by);

/* sources.c: a file of policy that lies in a writable tree must not be rewritten for the next start. */
void freeze_policy_file(struct policy *policy, const struct fs_place *place);

/* repository.c: the .bawn of a workspace, and those of the directories around it. */
void read_repository(struct policy *policy, size_t index, struct diags *diags);
void read_enclosing(struct policy *policy, size_t index, struct diags *diags);

/* The name by which the command was asked for, behind `env`. NULL where there is none, or it lies in a workspace. */
const char *command_name(struct policy *policy, const char *const *words);

/*
 * agent.c: the profile of the agent that the words of a command run, or NULL; and which of the words is it, before whose own
 * arguments a profile's go.
 */
const char *agent_for_words(struct policy *policy, const struct profile_finder *finder,
                            const char *const *words, size_t *ret_word);

/* place.c: puts every path rule in its place and indexes it. */
void place_rules(struct policy *policy, struct diags *diags);

/* place.c: does what it grants go into the private home, at the same place there? */
bool rule_is_of_home(const struct rule *rule, const char *spelled);

/* index.c: finds the rules on hosts, variables, limits and the mode again without reading all. */
void index_rules(struct policy *policy);

/* certificates.c: adds rules for what the caller's variables name, at most so many. After index_rules: it asks which pass. */
enum { CERTIFICATE_VARIABLES = 12 };
void show_certificates(struct policy *policy);

/* verify.c: refuses what must not start: grants through planted links or into seals, pins outside writable trees. */
void verify_places(struct policy *policy, struct diags *diags);

/* A rule that nobody wrote: a workspace that was found, a git directory that belongs to one. */
void add_found_rule(struct policy *policy, enum verb verb, const struct source *source, const char *path);

/* --- expand --- */

/* What stands for something else in a rule: ~, $HOME, $XDG_…, $SLUG. */

/* A path's pattern with $SLUG replaced; what is quoted stays quoted. */
const char *expand_slug(const struct policy *policy, const char *pattern);

/* A variable's value: everything replaced, and nothing quoted any more. */
const char *expand_value(const struct policy *policy, const char *value);
