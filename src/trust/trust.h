/*
 * The user's word on repositories: which content of which workspace's .bawn was read and accepted. One small file a
 * workspace, below $XDG_DATA_HOME/bawn/trust, which every sandbox has sealed. Both count: the same text in another
 * place means other paths, and other text in the same place is another policy.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "kernel/fsview.h"

bool trust_holds(struct fsview *fs, const char *data_directory, const char *workspace, const char *text,
                 size_t size);

int trust_pin(struct fsview *fs, const char *data_directory, const char *workspace, const char *text,
              size_t size, struct err *err) must_check;

/* Returns 1 where a pin was taken back, 0 where there was none. */
int trust_revoke(struct fsview *fs, const char *data_directory, const char *workspace, struct err *err)
    must_check;

/*
 * Adds a line to the end of the user's own policy file, unless it is there; all other bytes stay. A link is followed: people
 * keep such files elsewhere. Written aside and renamed, so that a crash leaves the old file or the new one. Returns 1 if the
 * line was added, 0 if it was there.
 */
int own_policy_add(struct arena *arena, const char *path, const char *line, struct err *err) must_check;
