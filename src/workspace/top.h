/* The top of a workspace, from which all else in it is found. */
#pragma once

#include "base/attr.h"
#include "base/err.h"

/*
 * Opens it through no link. Its path had none when the session began: one that is on the way now was put there since, perhaps by
 * another run that may write the folders above, and leads elsewhere. Returns its descriptor, or -1.
 */
int workspace_open(const char *path, struct err *err);
