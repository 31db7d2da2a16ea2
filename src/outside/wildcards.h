/* What a path, and one with wildcards, is judged by, in the role that its word has in a command. */
#pragma once

#include "outside/judge.h"

enum judge_role {
    JUDGE_WORD,       /* it may be a path */
    JUDGE_SCRIPT,     /* what is there is executed, or read by an interpreter */
    JUDGE_AS_PROGRAM, /* it is executed, with its own interpreter */
};

int judge_in_role(const struct trees *trees, struct arena *arena, const struct judged_path *path,
                  const char *file, enum judge_role role, struct err *err) must_check;

struct wildcards {
    const struct trees *trees;
    struct arena *arena;
    const struct judged_path *path;
    const char *shown; /* for messages */
    enum judge_role role;
};

/*
 * Judges all that the pattern matches now, from a directory, and the trees of runs that it may match later. Elsewhere no run can make a file, so that
 * "~" followed by "/ *.log" is no problem where a tree lies beside.
 */
int wildcards_judge(const struct wildcards *wildcards, const char *directory, const char *pattern,
                    struct err *err) must_check;
