/* Repositories that are not the workspace's own: git on the host obeys them as soon as somebody works beside them. */
#pragma once

#include "hold/flags.h"

/* Looks at a `.git`, or at a directory that may be a bare repository; adds what is new and would run. */
void nested_look(struct flags *flags, const char *git_dir);
