/*
 * `bawn learn`: hears of every path that a program inside names, and notes those that it did not get although this user has them
 * outside. Nothing here changes what a program gets: the kernel carries out the call, behind the same walls as ever.
 *
 * The path comes from the memory of a process inside. It is looked up with O_PATH alone, which opens nothing; a process that
 * changes it meanwhile only changes what is noted. src/learn judges what may be proposed.
 */
#pragma once

#include "journal/wants.h"
#include "plan/operations.h"
#include "supervise/loop.h"

enum { LEARNING_WATCHED = 256, LEARNING_PARENTS = 8, LEARNING_OPENED = 1024 };

/* A process that wanted something. */
struct learner {
    int pid_fd; /* 0: none */
    pid_t pid;
    pid_t parents[LEARNING_PARENTS]; /* nearest first; 0: none */
    bool is_explained;               /* a child of it has failed for want of something */
    VEC(struct want *) wants;
};

/* Without namespaces: the sandbox has the host's root, and the private home is at a place of its own. */
struct learning_places {
    const char *home;         /* the user's */
    const char *private_home; /* the directory that HOME names inside */
    const char *scratch;      /* that of temporary files */
};

struct learning {
    struct wants wants;
    const struct operations *operations; /* of the run's plan */
    const char *cache;                   /* where programs keep their caches; NULL: not known */
    struct loop *loop;
    int listener_fd; /* -1: nothing is learnt */
    bool
        is_told; /* without namespaces: it is no listener, but the judge's socket: notices come and go back */
    struct learning_places places;
    int root_fd;              /* of the sandbox; -1: not seen yet */
    VEC(const char *) opened; /* files of a workspace that were read or run, the first LEARNING_OPENED … */
    struct map opened_known;  /* … and which these are */
    struct learner *watched;  /* LEARNING_WATCHED of them, whose end is awaited */
};

/* The descriptor becomes the learning's own. */
void learning_begin(struct learning *learning, int listener_fd, bool is_told,
                    const struct operations *operations, const char *cache, struct loop *loop);

/* Writes the wants to the journal. */
void learning_end(struct learning *learning, struct journal *journal);
