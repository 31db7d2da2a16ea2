/* Profiles: named policies that others compose with `use`. The user's own come first, then the administrator's, then
 * those that are compiled in; the administrator's file never uses the user's. */
#pragma once

#include "kernel/fsview.h"
#include "policy/diag.h"
#include "policy/rule.h"

struct profile_finder {
    struct fsview *fs;
    const char *user_directory;  /* ~/.config/bawn/profiles; NULL where it must not count */
    const char *admin_directory; /* /etc/bawn/profiles */
};

/* Returns 1 with name, text, size, layer and is_profile filled; 0 where there is none of that name. */
int profile_find(const struct profile_finder *finder, const char *name, struct source *ret_source,
                 struct err *err) must_check;

/* The agent profile whose `match` has one of these names of a command, or NULL. */
const char *profile_for_command(const struct profile_finder *finder, fs_names *commands);

/* The words of a verb in a profile's own lines: those of `match`, `login`, `browse` … */
void profile_words(const struct profile_finder *finder, const char *name, enum verb verb,
                   fs_names *ret_words);

/* Every name that chooses an agent's profile. */
void profile_commands(const struct profile_finder *finder, fs_names *ret_commands);

/* The toolchain profiles whose `detect` has one of these names. */
void profiles_detected(const struct profile_finder *finder, fs_names *names, fs_names *ret_found);

/* Those whose `match` has the name of the command. */
void profiles_for_command(const struct profile_finder *finder, const char *command, fs_names *ret_found);

/* Those whose `detect` has one of these folders, given from the home on: "/.cargo/bin". */
void profiles_on_path(const struct profile_finder *finder, fs_names *folders, fs_names *ret_found);

/* The profile that a name was probably meant to be, or NULL. */
const char *profile_closest(const struct profile_finder *finder, const char *name);

/* Every name, sorted, each once. */
void profile_names(const struct profile_finder *finder, fs_names *ret_names);

/* What a profile says of itself, or "". */
const char *profile_about(const struct profile_finder *finder, const char *name);
