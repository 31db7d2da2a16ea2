/*
 * What a run without namespaces needs beside its plan. The command sees the host's paths, and nothing is mounted for it: variables, links and
 * the directory in which it starts lead it to what would be mounted otherwise.
 */
#pragma once

#include "session/run.h"

/* Makes a directory for temporary files in the session's folder. Does nothing where the walls stand on namespaces. */
int bare_make_scratch(struct run *run, struct err *err) must_check;

/*
 * Once the home is open: makes links in the private home to what is granted of the user's own, and the variables that name the home and the
 * directory for temporary files; the worktree of --branch leads to the copy of its repository. Does nothing where the walls stand on
 * namespaces.
 */
int bare_prepare(struct run *run, struct err *err) must_check;

/* The guard has ended: from here on git outside finds the repository of --branch itself, and bawn's search for flagged files with it. */
void bare_end_branch(struct run *run);

/* The command has ended: removes the directory for temporary files. Also after a kill. */
int bare_remove(const struct session *session, struct err *err) must_check;
