/* What the words of a shell command tell before it is run. */
#pragma once

#include "outside/judge.h"

/*
 * Refuses a command that names a place where a run can write, or a program that lies or leads there. The shell expands ~, $HOME and wildcards, and so does
 * this. What other variables and substitutions become cannot be told; the directory in front of one is judged.
 */
int shell_judge(const struct outside *outside, const struct trees *trees, struct arena *arena,
                const struct judged_path *path, const char *command, struct err *err) must_check;
