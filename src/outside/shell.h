/* What the words of a shell command tell before it is run. */
#pragma once

#include "outside/judge.h"

/*
 * Refuses a command that names a place where a run can write, or a program that lies or leads there. Words are judged that have nothing for the
 * shell to expand but ~ and $HOME; the others cannot be told.
 */
int shell_judge(const struct outside *outside, const struct trees *trees, struct arena *arena,
                const struct judged_path *path, const char *command, struct err *err) must_check;
