/*
 * What lay at a path of a workspace when the command started, from the snapshot of that moment. A name that the snapshot
 * does not have was not there, whatever the times of a file say that has it now.
 */
#pragma once

#include "hold/content.h"
#include "plan/amendments.h"
#include "workspace/tree.h"

struct past {
    const char *workspace;   /* absolute */
    const struct tree *tree; /* NULL: nothing is known */
    const char *directory;   /* of the store, absolute; NULL: contents are not read */
    struct store store;      /* opened when it is needed */
    struct past *next;       /* of a further workspace, or NULL */
};

enum past_answer { PAST_UNKNOWN, PAST_NOTHING, PAST_SOMETHING };

/*
 * Fills in what lay at the path of `now`. Where that is the very same file, unchanged, or is larger than what is kept,
 * its bytes are left out: content_equal() can do without.
 */
enum past_answer past_find(struct past *past, struct arena *arena, const struct file_content *now,
                           struct file_content *ret_before);

/*
 * sockets.c, before the launch: hides the workspaces' Unix sockets that a process of the host has bound. The launcher finds those that
 * were bound by an absolute path. Of a relative path, which daemons often use, the kernel tells too little; but the
 * snapshot has seen every socket of the workspace. A socket that nobody has bound may be made anew, and stays.
 */
int sockets_hide(struct amendments *amendments, struct arena *arena, const struct past *past, struct err *err)
    must_check;

void past_free(struct past *past);
