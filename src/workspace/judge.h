/* How a file of the workspace stands to what was written down of it: what judging and replacing share. */
#pragma once

#include "workspace/replace.h"

enum judgement {
    JUDGED_CONFLICT,  /* it is neither as it was nor as it shall be */
    JUDGED_AS_BEFORE, /* it is as it was */
    JUDGED_RESTATED,  /* the same: an index in which git has only noted anew how the files look */
    JUDGED_AS_AFTER,  /* it is as it shall be */
};

struct judged {
    struct change change;
    enum judgement judgement;
    struct entry now; /* path NULL: there is nothing */
};

typedef VEC(struct judged) judged_list;

/* How the workspace stands to each change. Reads contents where times say that a file has changed. Needs no mark. */
int judge_changes(const struct replacement *replacement, judged_list *ret_judged, struct err *err) must_check;

bool judge_same_kind(const struct entry *a, const struct entry *b);
bool judge_same_looks(const struct entry *a, const struct entry *b);

/*
 * Is it the file that was written down? Looks only, reads nothing; a directory is judged by what lies in it. An inode of
 * zero is any: what has just been made is not written down anew.
 */
bool judge_is_expected(const struct entry *now, const struct entry *expected);

/* Is it what it shall become? */
bool judge_is_done(const struct entry *now, const struct change *change);
