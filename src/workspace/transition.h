/*
 * Applying and undoing: both take a workspace from one recorded state to another. What the user has changed since is a
 * conflict and is kept, unless it is said to be overwritten. The transition is itself recorded, so that it can be
 * undone, and finished after a crash.
 */
#pragma once

#include "workspace/judge.h"
#include "workspace/record.h"

enum course {
    COURSE_CONFLICT, /* left alone: the workspace's file is not what it was */
    COURSE_HELD,     /* left alone for another reason */
    COURSE_GO,
    COURSE_DROPPED, /* given up: the workspace keeps what it has */
    COURSE_DONE,    /* nothing to do */
};

struct decision {
    struct judged judged;
    enum course course;
    const char *why;     /* of a conflict, or of what is held back */
    bool breaks;         /* it is held back because it would break a repository */
    const char *details; /* of a conflict: the lines at which both sides clash; NULL: none are known */
};

typedef VEC(struct decision) decision_list;

struct transition {
    const char *directory; /* of the store */
    const char *workspace;
    const struct tree *from, *to;
    bool keeps_objects; /* of a repository nothing is removed that a commit made elsewhere may need */
    bool
        keeps_refs; /* nor is a branch moved that is not this workspace's own, nor a log of where branches stood */
    bool overwrites;           /* conflicts too */
    struct progress *progress; /* may be NULL */
};

/* What would happen. Nothing is changed. */
int transition_decide(const struct transition *transition, struct arena *arena, decision_list *ret_decisions,
                      struct err *err) must_check;

/*
 * Carries out the decisions to go, in the folder of a new session whose record is saved first. On failure what was done
 * is taken back; where that fails too, transition_finish comes later.
 */
int transition_run(const struct transition *transition, struct arena *arena, const decision_list *decisions,
                   int folder_fd, struct record *record, struct replaced *ret_replaced, struct err *err)
    must_check;

/* Finishes a transition that was ended in its middle. */
int transition_finish(const char *directory, int folder_fd, struct arena *arena, struct record *record,
                      struct replaced *ret_replaced, struct err *err) must_check;
