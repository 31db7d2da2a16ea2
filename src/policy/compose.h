/* The steps of policy_compose, each in its own file. */
#pragma once

#include "policy/policy.h"
#include "policy/profile.h"

/* find.c: finds the workspaces, adds their rules, and fills policy->workspaces. */
void find_workspaces(struct policy *policy, struct diags *diags);

#define ADMIN_DIRECTORY "/etc/bawn"

/* sources.c: reads the rules of a source and of the profiles that it uses. */
void compose_source(struct policy *policy, const struct source *source, struct diags *diags);
void use_profile(struct policy *policy, struct spot spot, const char *name, struct diags *diags);
void add_rules(struct policy *policy, const rule_list *rules, struct diags *diags);

/* sources.c: the directories of the profiles that a layer may use. */
struct profile_finder profile_finder_for(const struct policy *policy, enum layer asked_by);

/* sources.c: freezes a policy file, so that a run cannot rewrite it for the next start. */
void freeze_policy_file(struct policy *policy, const struct fs_place *place);

/* sources.c: what lies in the administrator's directory may lock rules. Such a file that everybody may change is an error, and false. */
bool is_trusted_to_lock(struct policy *policy, struct spot whole, const struct fs_place *place,
                        struct diags *diags);

/* repository.c: reads the .bawn of a workspace, and those of the directories around it. */
void read_repository(struct policy *policy, size_t index, struct diags *diags);
void read_parts(struct policy *policy, size_t index, struct diags *diags);
void read_enclosing(struct policy *policy, size_t index, struct diags *diags);

/* agent.c: the command's name, behind `env` or `python -m`. NULL where there is none, or where it lies in a workspace. */
const char *command_name(struct policy *policy, const char *const *words);

/* agent.c: does the command's program lie in an environment of Python's, or did the caller activate one? */
#define ENVIRONMENT_FILE "pyvenv.cfg" /* what makes a directory such an environment */
bool command_has_environment(struct policy *policy, const char *const *words);

/* agent.c: the profile of the agent that a command runs, or NULL. The profile's arguments follow the word *ret_word. */
const char *agent_for_words(struct policy *policy, const struct profile_finder *finder,
                            const char *const *words, size_t *ret_word);

/* place.c: finds the absolute places of every path rule and indexes them. */
void place_rules(struct policy *policy, struct diags *diags);

/* place.c: does the rule put something into the private home, at the same path? */
bool rule_is_of_home(const struct policy *policy, const struct rule *rule, const char *spelled);

/* index.c: indexes the rules on hosts, variables, limits and the network mode. */
void index_rules(struct policy *policy);

/* Converts a share to bytes, in whole MiB and at least one, so that it can be compared with other amounts. */
void limit_resolve_share(const struct policy *policy, struct rule *rule);

/* certificates.c: adds rules for files that the caller's variables name. index_rules must run first: it says which pass. */
enum { CERTIFICATE_VARIABLES = 12, CERTIFICATE_SETTINGS_MOST = 16 };
void show_certificates(struct policy *policy);

/* agent_socket.c: the same for the socket of the user's ssh agent; at most one rule. */
void show_agent_socket(struct policy *policy);

/* forge_requests.c: adds a rule on requests for each that git makes to a repository whose token stays outside. They come before index_rules. */
void open_forges(struct policy *policy);

/* forge_requests.c: replaces each rule with REQUEST_FORGE in its path by one for each repository at that server whose token stays outside. */
void expand_forges(struct policy *policy);

/* Finds out which `unless` ends a rule for a secret. */
void settle_secrets(struct policy *policy);

/* verify.c: reports grants through planted symlinks or into seals, freezes outside writable trees, and the like. */
void verify_places(struct policy *policy, struct diags *diags);

/* Adds a rule that nobody wrote: for a workspace that was found, or a git directory that belongs to one. */
void add_found_rule(struct policy *policy, enum verb verb, const struct source *source, const char *path);

/* --- agent_folder --- */

/* Sets $CLAUDE_CONFIG_DIR and $CLAUDE_STATE_DIR of paths. The workspaces are known. */
void find_agent_folder(struct policy *policy);

/* --- expand --- */

/* Expands ~, $HOME, $XDG_… and $SLUG in rules. */

/* Replaces $SLUG in a path pattern. Quoted characters stay quoted. */
const char *expand_slug(const struct policy *policy, const char *pattern);

/* Expands everything in a variable's value, and removes the quoting. */
const char *expand_value(const struct policy *policy, const char *value);

/* nested.c: forgets the repositories that were asked about. */
void nested_free(struct policy *policy);
