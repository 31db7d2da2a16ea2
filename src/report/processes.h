/* The processes that a journal tells of (`exec` and `exit`), as a tree. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "journal/journal.h"

struct process {
    const char *pid, *arguments;
    const char *ending; /* "status 1", "signal 9"; "" as long as none is known */
    bool failed, is_top;
    size_t first_child, last_child, next_sibling; /* their places plus one; 0: none */
};

struct processes {
    VEC(struct process) all;
};

/* Takes a record; those that are of another kind are passed over. Texts stay the record's. */
void processes_take(struct processes *processes, const struct journal_record *record);
void processes_free(struct processes *processes);
