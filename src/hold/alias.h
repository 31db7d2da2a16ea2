/* Other names of a frozen file: what a mount holds is a name, and a hard link is another one. */
#pragma once

#include "hold/hold.h"

/*
 * A second name of the file in a tree that the command may write, or NULL. Costs a walk: for files with several names. It fails
 * where it could not look everywhere.
 */
int alias_find(struct hold *hold, const struct file_content *content, const char **ret_alias, struct err *err)
    must_check;
