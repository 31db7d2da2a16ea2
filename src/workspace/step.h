/*
 * One change of a replacement: makes the new file under a temporary name, and gives it its name. replace.c decides
 * about the order of steps, and about when the contents must be on the disk.
 */
#pragma once

#include <limits.h>

#include "workspace/replace.h"

struct step {
    const struct replacement *replacement;
    struct replaced *replaced;
    const struct change *change;
    struct entry now;
    int parent_fd; /* of the directory that contains the file; -1: not open */
    const char *name;
    char temporary
        [64]; /* name of the new file until it is complete, and of the old file until it is removed */
    char lock[NAME_MAX + 1]; /* NAME.lock, if git may be replacing the file, too; otherwise empty */
};

/*
 * Looks at the file of the change. Returns 1 if there is nothing to do. Without `has_temporary`, a file with the
 * temporary name is from an interrupted call and is removed.
 */
int step_begin(struct step *step, size_t number, bool has_temporary, struct err *err) must_check;
void step_end(struct step *step);

/*
 * Makes the new file under its temporary name. Returns 1 if none is needed: the change is complete, or the file is
 * left alone.
 */
int step_make(struct step *step, struct err *err) must_check;

/* Gives the new file its name. The caller sees to it that its content is on the disk. */
int step_take_name(struct step *step, struct err *err) must_check;
void step_remove_temporary(const struct step *step);

/* Sets mode, attributes and times of a file whose content stays. */
int step_adjust(struct step *step, struct err *err) must_check;
int step_remove_old(struct step *step, struct err *err) must_check;
