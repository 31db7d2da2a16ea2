/*
 * git's configuration language, read without git: no include is followed and nothing is run. What git would refuse is
 * refused here too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/vec.h"

struct git_setting {
    const char *section;    /* in lower case */
    const char *subsection; /* as written; "" where there is none */
    const char *name;       /* in lower case */
    const char *value;      /* NULL: the name alone, which means true */
    size_t at, end;         /* where it stands in the text: its name, and the end of its line */
};

/* Calls back for each setting in order. Returns -1 at the first line that is none; what came before has been told. */
typedef void git_setting_found(void *context, const struct git_setting *setting);
int git_config_read(struct arena *arena, const char *text, size_t size, git_setting_found *found,
                    void *context) must_check;

struct buf;

/* Adds "name = value" as git reads it back; a value that git could not hold is left out. */
void git_config_add(struct buf *out, const char *name, const char *value);

/* --- running --- */

/* Settings of git that make it run, load or follow something. */

typedef VEC(struct git_setting) git_setting_list;

/* All settings of a text, in order. The arena holds them, the caller frees the list. Returns -1 as git_config_read. */
int git_setting_list_read(struct arena *arena, const char *text, size_t size, git_setting_list *ret_settings)
    must_check;

/* Is the setting among these, with the same value? */
bool git_setting_list_has(const git_setting_list *settings, const struct git_setting *wanted);

/* Adds the text without these settings, which were read from it: the lines that are theirs alone go as a whole. */
void git_setting_list_cut(const git_setting_list *settings, const char *text, size_t size, struct buf *out);

/* Adds these settings as a text of their own, each as it was written in the text that they were read from. */
void git_setting_list_copy(const git_setting_list *settings, const char *text, struct buf *out);

/* "filter.lfs.clean". */
const char *git_setting_name(struct arena *arena, const struct git_setting *setting);

/* Does git run, load or follow something because of this setting? Names of programs, hooks, further files. */
bool git_setting_runs(const struct git_setting *setting);

/*
 * address.c: would a push or a fetch reach a repository of this machine because of this setting, which is one of these? What git runs there is what
 * lies there. An address that is among the trusted ones may stand behind the name of a remote.
 */
bool git_setting_leads_here(const git_setting_list *settings, const git_setting_list *trusted,
                            const struct git_setting *setting);

/* What the value of a setting is, as far as it may be a path. */
enum git_value {
    GIT_VALUE_PLAIN,
    GIT_VALUE_PATH,    /* of a file or directory that git obeys or runs */
    GIT_VALUE_HOOKS,   /* of the directory of hooks */
    GIT_VALUE_INCLUDE, /* of a further file of settings */
    GIT_VALUE_COMMAND, /* a command for the shell, or a program */
};

enum git_value git_setting_value(const struct git_setting *setting);

/* The command that a setting holds, without the mark before it ("!", "ext::"). */
const char *git_setting_command(const struct git_setting *setting);

/* The names of git's hooks; the list ends with NULL. */
extern const char *const git_hook_names[];

/* Is there a line among a rebase's to-do list that git would execute when the rebase goes on? */
bool git_todo_runs(const char *text);
