/*
 * The place of a file that a person has named to be written outside: a page, a file that is fetched. The command may have left a link in the
 * workspace, so no link on the way is followed. A link of the system's by which the user spells the home is another matter.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "policy/policy.h"

/*
 * Opens the directory of the file, and gives the path of the file. If `name` is not NULL, what is asked for may be a directory, in which the file has
 * that name.
 */
int destination_open(struct arena *arena, const struct policy_request *request, const char *asked,
                     const char *name, const char **ret_path, struct err *err) must_check;

/* Writes the file, which replaces an older one as a whole. */
int destination_write(struct arena *arena, const struct policy_request *request, const char *asked,
                      const struct buf *text, struct err *err) must_check;
