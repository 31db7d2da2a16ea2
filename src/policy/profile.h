/*
 * Profiles: named policies for `use`. The user's profiles come first, then the administrator's, then the built-in ones. The
 * administrator's file never uses the user's.
 */
#pragma once

#include "kernel/fsview.h"
#include "policy/diag.h"
#include "policy/rule.h"

struct profile_finder {
    struct fsview *fs;
    const char *user_directory;  /* ~/.config/bawn/profiles; NULL: not used */
    const char *admin_directory; /* /etc/bawn/profiles */
};

/* Returns 1 and fills name, text, size, layer and is_profile; 0 if there is no such profile. */
int profile_find(const struct profile_finder *finder, const char *name, struct source *ret_source,
                 struct err *err) must_check;

/* The agent profile whose `match` has one of these command names, or NULL. */
const char *profile_for_command(const struct profile_finder *finder, fs_names *commands);

/* The words of a verb (`match`, `login`, `browse` …) in a profile's own lines. */
void profile_words(const struct profile_finder *finder, const char *name, enum verb verb,
                   fs_names *ret_words);

/* All names that choose an agent profile. */
void profile_commands(const struct profile_finder *finder, fs_names *ret_commands);

/* The toolchain profiles whose `detect` has a name in one of these directories, or in a directory there: ".venv/pyvenv.cfg". */
void profiles_detected(const struct profile_finder *finder, const fs_names *directories, fs_names *ret_found);

/* The toolchain profiles whose `detect` has this name. */
void profiles_for_file(const struct profile_finder *finder, const char *name, fs_names *ret_found);

/* The toolchain profiles whose `match` has the name of the command. */
void profiles_for_command(const struct profile_finder *finder, const char *command, fs_names *ret_found);

/* The toolchain profiles whose `detect` has one of these directories, written from the home: "/.cargo/bin". */
void profiles_on_path(const struct profile_finder *finder, fs_names *folders, fs_names *ret_found);

/* The profile with the most similar name, or NULL. */
const char *profile_closest(const struct profile_finder *finder, const char *name);

/* All names, sorted, each once. */
void profile_names(const struct profile_finder *finder, fs_names *ret_names);

/* The text of the profile's `about`, or "". */
const char *profile_about(const struct profile_finder *finder, const char *name);

/* The shipped profile of the package registry that the host, a name in lower case, belongs to: "net/pypi"; NULL: of none. */
const char *profile_of_registry(const char *host);
