/*
 * Judges each change between two trees: is the workspace's file as before the change, as after it, or neither? The
 * functions at the end are shared with step.c.
 */
#pragma once

#include "workspace/replace.h"

enum judgement {
    JUDGED_CONFLICT,  /* neither as before nor as after */
    JUDGED_AS_BEFORE, /* as before the change */
    JUDGED_RESTATED,  /* as before, except that git rewrote an index with the same meaning */
    JUDGED_AS_AFTER,  /* as after the change */
    JUDGED_DENIED,    /* it lies in a directory that is closed to its owner */
};

struct judged {
    struct change change;
    enum judgement judgement;
    struct entry now; /* path NULL: it does not exist */
};

typedef VEC(struct judged) judged_list;

/* Judges all changes from `from` to `to`. Reads a file only if its times do not decide. Needs no mark. */
int judge_changes(const struct replacement *replacement, judged_list *ret_judged, struct err *err) must_check;

bool judge_same_kind(const struct entry *a, const struct entry *b);
bool judge_same_looks(const struct entry *a, const struct entry *b);

/*
 * Is it the recorded file, by inode, size and time? Nothing is read, and the content of a directory does not count.
 * An expected inode of 0 is any inode: bawn does not record the inodes of files that it makes.
 */
bool judge_is_expected(const struct entry *now, const struct entry *expected);

/* Is it as after the change? */
bool judge_is_done(const struct entry *now, const struct change *change);
