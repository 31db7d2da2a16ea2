/* Can a file, or a directory on the way to it, be changed from inside? */
#pragma once

#include "outside/trees.h"

enum judge_kind {
    JUDGE_FILE,    /* a file that is read, or a word that may be a path: the trees of runs count */
    JUDGE_PROGRAM, /* a file that is executed: the places that everybody can write count, too */
    JUDGE_FOLDER,  /* a directory of PATH: also what lies in it counts */
};

/* What was found at the end of a path. */
struct judged {
    int fd;           /* O_PATH; -1: there is nothing */
    const char *path; /* as it was asked for */
    const char *real; /* the path without links, as far as it could be followed */
    struct stat status;
    bool is_script; /* a program that another one reads: by judge_program and judge_name */
};

/*
 * Follows the path link by link and judges each step. Returns 1 with the opened file, 0 if there is none (its directories were judged, too), -1
 * with the reason for a refusal.
 */
int judge_open(const struct trees *trees, struct arena *arena, const char *path, enum judge_kind kind,
               struct judged *ret_judged, struct err *err) must_check;

/* PATH without what must not be in it. `folders` are the directories that were left out, each with the reason. */
struct judged_path {
    const char *text; /* "/usr/local/bin:/usr/bin" */
    struct left_out {
        const char *folder, *why;
    } * left_out;
    size_t left_out_count;
};
struct judged_path judge_search_path(const struct trees *trees, struct arena *arena, const char *path);

/* Fails, with the reason, if a directory that was left out has a program of this name. */
int judge_missing(const struct judged_path *path, struct arena *arena, const char *name, struct err *err)
    must_check;

/*
 * Judges a program, its interpreter, and every word of its #! line that may be a program or a file. Returns 1 with the opened file, 0 if it is none that can be executed, -1 if
 * it is refused.
 */
int judge_program(const struct trees *trees, struct arena *arena, const struct judged_path *path,
                  const char *program, struct judged *ret_judged, struct err *err) must_check;

/* The same for a name that is looked up in PATH. */
int judge_name(const struct trees *trees, struct arena *arena, const struct judged_path *path,
               const char *name, struct judged *ret_judged, struct err *err) must_check;
