/* The steps that `bawn learn` and `bawn profile new` share. */
#pragma once

#include "cli/args.h"
#include "journal/wants.h"
#include "learn/learn.h"

/* A run that was learnt from, or the journal of an earlier one. */
struct lesson {
    struct loaded loaded; /* the policy that would apply to the next run */
    const char *session;
    const char *command; /* its first word; NULL: not known */
    struct wants wants;
    struct learnt learnt;
    FILE *out; /* of the report: standard error beside a command, standard output otherwise */
    int status;
};

/* Runs the command of the arguments and learns from it. Returns 0, or the exit status after saying what is wrong. */
int lesson_run(const struct world *world, const struct args *args, struct lesson *lesson);

/* Learns from the journal of a session. */
int lesson_read(const struct world *world, const char *session, struct lesson *lesson);

void lesson_free(struct lesson *lesson);
#define auto_lesson __attribute__((cleanup(lesson_free)))

/* Picks what is needed; asks a person about each line if there is a terminal. Returns false if the person gave up. */
bool lesson_pick(const struct world *world, struct lesson *lesson);

size_t lesson_count_picked(const struct lesson *lesson);

/* The report, as text; unless the lines are written, with the command that does it. */
void lesson_print(const struct world *world, struct lesson *lesson, bool is_written);
