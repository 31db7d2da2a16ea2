/*
 * Apply and undo: a transition takes a workspace from one recorded tree to another. A file that the user has changed
 * since is a conflict. It is left alone, unless the caller asks to overwrite it. A transition has a session of its
 * own, so that it can be undone, and finished after a crash. transition.c explains how.
 */
#pragma once

#include "workspace/judge.h"
#include "workspace/record.h"

enum course {
    COURSE_CONFLICT, /* left alone: the user has changed the file */
    COURSE_HELD,     /* left alone for another reason */
    COURSE_GO,
    COURSE_DROPPED, /* given up: the workspace's file stays */
    COURSE_SKIPPED, /* a directory that snapshots leave out: it stays, and that is as it should be */
    COURSE_DONE,    /* nothing to do */
};

struct decision {
    struct judged judged;
    enum course course;
    const char *why;     /* of a conflict, or of a change that is held back */
    bool breaks;         /* it is held back because it would break a repository */
    const char *details; /* of a conflict: the lines that both sides changed; NULL: not known */
};

typedef VEC(struct decision) decision_list;

struct transition {
    const char *directory; /* of the content store */
    const char *workspace;
    const struct tree *from, *to;
    bool keeps_objects; /* objects that a commit made elsewhere may need are not removed from a repository */
    bool
        keeps_refs; /* of a live run: refs and objects are judged by what they are, not file by file (positions.c) */
    bool overwrites;           /* conflicts, too */
    struct progress *progress; /* may be NULL */
};

/* Decides about every change. Nothing in the workspace is written. */
int transition_decide(const struct transition *transition, struct arena *arena, decision_list *ret_decisions,
                      struct err *err) must_check;

/*
 * Carries out the decisions to go. `folder_fd` is the folder of a new session, whose record is saved first. If this
 * fails, what was done is taken back; if that fails too, transition_finish does the rest later.
 */
int transition_run(const struct transition *transition, struct arena *arena, const decision_list *decisions,
                   int folder_fd, struct record *record, struct replaced *ret_replaced, struct err *err)
    must_check;

/* Finishes a transition that was interrupted. */
int transition_finish(const char *directory, int folder_fd, struct arena *arena, struct record *record,
                      struct replaced *ret_replaced, struct err *err) must_check;

/* --- repo check --- */

/*
 * Checks what a sandbox wrote to a git repository before it is applied. A branch without its commit, a HEAD without a
 * meaning or an unreadable index would leave the user with a broken repository. Objects are looked up by name only:
 * nothing is unpacked, and git does not run here. What git says of the objects comes from the caller.
 */

/* What git found when it read the objects that would come: session/arrivals.h. */
struct repo_findings {
    const char *const *broken; /* positions that lead to something missing or damaged */
    size_t broken_count;
    const char *const *damaged; /* files below objects/ */
    size_t damaged_count;
};

/* Holds back the decisions that would break a repository. Called after all other decisions are made. */
int repo_check_hold_broken(const struct transition *transition, struct arena *arena,
                           struct repo_findings findings, decision_list *decisions, struct err *err)
    must_check;
