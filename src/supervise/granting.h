/*
 * Files, directories and variables that a program asks for: looks at a path and pins it before a person is asked, and carries a yes out. What
 * is given is what was pinned. broker/ decides what is a question.
 */
#pragma once

#include "broker/broker.h"
#include "hold/hold.h"
#include "launch/launch.h"
#include "plan/plan.h"
#include "supervise/loop.h"

/* A file that a question is about. */
struct pinned {
    unsigned question;
    int fd; /* O_PATH */
};

/* It is visible inside from now on, or `problem` says why not. */
typedef void granting_done(void *context, unsigned number, const char *problem);

/* May the command write the file or directory, beside what it writes already? */
typedef int granting_may_write(void *context, const char *path, struct err *err);

/* A file or directory is visible inside. */
typedef int granting_shown(void *context, const struct given_tree *given, const given_places *places,
                           struct err *err);

struct granting {
    const struct launch *launch; /* NULL: nothing is given but variables */
    struct launched *launched;
    const struct plan *plan;
    struct loop *loop;
    bool keeps_aside; /* what the run writes is kept aside: nothing of the host can be given for writing */
    bool counts_disk; /* `limit disk` counts the trees that are written from the start */
    int looked_at_fd; /* what was looked at last; -1: nothing */
    VEC(struct pinned) pinned;
    struct giving giving;    /* one at a time */
    unsigned number;         /* of that one */
    struct given_tree given; /* that one; its path is the question's */
    granting_may_write *may_write;
    granting_shown *shown;
    void *run; /* the context of both */
    granting_done *done;
    void *context;
};

#define GRANTING_NONE ((struct granting){.looked_at_fd = -1, .giving = GIVING_NONE})

/* broker_look; the context is the granting. */
const char *granting_look(void *context, struct arena *arena, const char *text, bool writes,
                          struct path_look *ret_look);

/* What was looked at last belongs to this question; 0: to none. */
void granting_keep(struct granting *granting, unsigned question);

/* A copy of what the question is about, a file's content or a variable's value, that nobody can change. Returns its descriptor. */
int granting_content(const struct granting *granting, const struct question *question, struct err *err)
    must_check;

/* Begins to show the file or directory inside. `done` is called with the number. */
int granting_show(struct granting *granting, const struct question *question, unsigned number,
                  struct err *err) must_check;

/*
 * Everything inside has ended. What is being shown at this moment counts as shown: it may have been visible before its process could say so.
 */
void granting_settle(struct granting *granting);

void granting_end(struct granting *granting);
