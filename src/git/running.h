/* Settings of git that make it run, load or follow something. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "git/config.h"

typedef VEC(struct git_setting) git_setting_list;

/* All settings of a text, in order. The arena holds them, the caller frees the list. Returns -1 as git_config_read. */
int git_setting_list_read(struct arena *arena, const char *text, size_t size, git_setting_list *ret_settings)
    must_check;

/* Is the setting among these, with the same value? */
bool git_setting_list_has(const git_setting_list *settings, const struct git_setting *wanted);

/* "filter.lfs.clean". */
const char *git_setting_name(struct arena *arena, const struct git_setting *setting);

/* Does git run, load or follow something because of this setting? Names of programs, hooks, further files. */
bool git_setting_runs(const struct git_setting *setting);

/* Is there a line among a rebase's to-do list that git would execute when the rebase goes on? */
bool git_todo_runs(const char *text);
