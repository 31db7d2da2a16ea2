/* Which session a verb is about: the one that was named, or the latest of this workspace. */
#pragma once

#include "cli/args.h"
#include "report/time_text.h"
#include "session/capture.h"
#include "workspace/record.h"

struct choice {
    struct loaded loaded;
    const char *directory; /* where the verb was called */
    const char *workspace, *state, *store;
    int sessions_fd;            /* -1: there has never been a session */
    record_list records;        /* of this workspace, oldest first */
    const struct record *named; /* by the first word, of any workspace; NULL: none was */
    VEC(const char *) paths;    /* the other words, relative to the workspace */
    int folder_fd;              /* of the session that was opened */
    struct tree before, after;
};

/*
 * Lists the sessions, with the policy of the named one's workspace, else of this one. Returns 0, or the exit status after having
 * said what is wrong.
 */
int choose_begin(const struct world *world, const struct args *args, struct choice *ret_choice);

/* For who judges nothing by the policy: mistakes in it are not said, and where no workspace can be, nothing has run. */
int choose_here(const struct world *world, const struct args *args, struct choice *ret_choice);
void choose_end(struct choice *choice);

/* The session whose changes wait: the named one, or the only one of this workspace. Returns 0, or the exit status. */
int choose_waiting(const struct world *world, const struct choice *choice, const char *verb,
                   const struct record **ret_record);

/* The trees of a session, in choice->before and choice->after. Returns 0, or the exit status. */
int choose_open(const struct world *world, struct choice *choice, const struct record *record);

/* Is the path one of those that were named, or beneath one? True where none was. */
bool choose_has_path(const struct choice *choice, const char *path);
