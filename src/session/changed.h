/* What a session changed in the workspace, in short: how many files, which of them would run on the host. */
#pragma once

#include "session/load.h"
#include "workspace/record.h"

struct changed_file {
    char letter; /* patch_letter() */
    const char *path;
    const char *reason; /* why it must not pass without a person's word; NULL: it may */
};

struct changed {
    enum record_mode mode;
    uint64_t count;                 /* that a person would call so */
    size_t risky;                   /* of those that were looked at */
    size_t in_repository;           /* of .git, and nothing to speak of */
    VEC(struct changed_file) files; /* some of them, the risky ones first; texts are of the arena */
};

/* Reads what was written down at the end of the run. */
void changed_find(const struct loaded *loaded, int session_fd, struct changed *changed);
void changed_free(struct changed *changed);
