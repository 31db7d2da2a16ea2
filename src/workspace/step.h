/*
 * One file of a replacement: what is made under another name, and how it takes the name that it shall have. Used by settle.c
 * alone, which knows in which order files come and when what was written is on the disk.
 */
#pragma once

#include <limits.h>

#include "workspace/replace.h"

struct step {
    const struct replacement *replacement;
    struct replaced *replaced;
    const struct change *change;
    struct entry now;
    int parent_fd; /* -1: not open */
    const char *name;
    char temporary[64];      /* the name of what is not whole yet */
    char lock[NAME_MAX + 1]; /* git's name for that, where git may be replacing the file too; else empty */
};

/*
 * Finds where the change stands. Returns 1 where there is nothing to do. `has_temporary` says that this call has made what
 * lies there under the other name; else it is of a call that was ended, and goes.
 */
int step_begin(struct step *step, size_t number, bool has_temporary, struct err *err) must_check;
void step_end(struct step *step);

/* Makes what shall be there under another name. Returns 1 where nothing has to be made: it is done, or left alone. */
int step_make(struct step *step, struct err *err) must_check;

/* What was made under another name takes the name. What is written in it should be on the disk by then. */
int step_take_name(struct step *step, struct err *err) must_check;
void step_remove_temporary(const struct step *step);

/* Mode, attributes and times of a file that stays what it is. */
int step_adjust(struct step *step, struct err *err) must_check;
int step_remove_old(struct step *step, struct err *err) must_check;
