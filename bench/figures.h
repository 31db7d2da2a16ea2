/*
 * Samples of several contenders that met the same noise, and what can be said of them: medians, the 99th percentile, and
 * ratios with the interval in which nineteen of twenty resamplings lie. Ratios carry over to other machines, milliseconds
 * do not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MOST_CONTENDERS = 16 };

struct contender {
    const char *name;
    char *owned_name; /* of a contender that was read from a file, else NULL */
    char **command;
    double *samples;   /* one a run */
    double *processor; /* the same runs' processor time; NULL if nobody measured it */
    double goal;       /* the ratio at most, or at least where more is better; 0 if there is none */
};

struct figures {
    const char *title, *unit;
    struct contender contenders[MOST_CONTENDERS];
    size_t contender_count, runs;
    size_t base;         /* the contender that the others are compared with */
    bool more_is_better; /* a rate, not a time */
};

/* The contender of that name, or -1. */
int figures_find(const struct figures *figures, const char *name);

void figures_free(struct figures *figures);

/* A table for a person on standard output; with BENCH_JSON in the environment one line is appended to that file too. */
int figures_print(const struct figures *figures);
