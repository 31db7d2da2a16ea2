/* Chooses the session of a verb: the named one, or the latest of this workspace. */
#pragma once

#include "cli/args.h"
#include "report/sessions.h"
#include "report/time_text.h"
#include "session/capture.h"
#include "workspace/record.h"

struct choice {
    struct loaded loaded;
    const char *directory; /* the current directory */
    const char *workspace, *state, *store;
    int sessions_fd;            /* -1: there was never a session */
    record_list records;        /* of this workspace, oldest first */
    const struct record *named; /* by the first word, in any workspace; NULL: none */
    VEC(const char *) paths;    /* the other words, relative to the workspace … */
    const char *const *words;   /* … and as they were typed */
    bool is_idle;               /* the first word names a run that changed nothing: nothing is left to do */
    int folder_fd;              /* of the opened session */
    int deciding_fd;            /* choose_alone(): others decide nothing meanwhile */
    struct tree before, after;
};

/* Opens the directory of all sessions. Returns -1 if there is none. */
int sessions_open(struct loaded *loaded);

typedef int choice_function(const struct world *world, const struct args *args, struct choice *choice);

/*
 * Lists the sessions, loads the policy of the named session's workspace or of this one, and calls `act`. Returns the
 * exit status: that of `act`, or another after saying what is wrong.
 */
int choose_then(const struct world *world, const struct args *args, choice_function *act);

/* For verbs that judge nothing by the policy: mistakes in it are not said, and no workspace is needed. */
int choose_here_then(const struct world *world, const struct args *args, choice_function *act);

/* The session whose changes wait: the named one, or the only one here. Returns 0, or the exit status. */
int choose_waiting(const struct world *world, const struct choice *choice, const char *verb,
                   const struct record **ret_record);

/*
 * The session was not named. Returns 0 where it is unmistakable, or there is a person to ask: the verb will name it. Otherwise says what else may be
 * meant, and returns the exit status: a script must not decide about what another run left.
 */
int choose_unmistakable(const struct world *world, const struct args *args, const struct choice *choice,
                        const struct record *record);

/* The latest session of the workspace, if it is a run that left no record: it changed nothing. Otherwise NULL. */
const char *choose_idle_run(const struct choice *choice);

/*
 * From here on only this process decides about the session. Reads its record and those of the others anew: *record has the new one. Returns 0, or the exit
 * status: another process decides, or the session is in another state now.
 */
int choose_alone(const struct world *world, struct choice *choice, const char *verb,
                 const struct record **record);

/* Loads the trees of a session into choice->before and choice->after, and checks the paths. Returns 0, or the exit status. */
int choose_open(const struct world *world, struct choice *choice, const struct record *record);

/* Is the path named, or beneath a named one? True if no path was named. */
bool choose_has_path(const struct choice *choice, const char *path);

/* Sets the state in a session's record. */
void mark_state(const struct choice *choice, const char *name, enum record_state state);

/* cmd_allow.c: the sessions that run now, the folder of one, and a line for one. Returns the exit status. */
void running_find(struct loaded *loaded, fs_names *ret_names);
const char *running_folder(struct loaded *loaded, const char *session);
int running_tell(const struct world *world, struct loaded *loaded, const char *session, const char *line);

/* cmd_allow.c: adds a rule to the user's policy file, and says so. Returns the exit status. */
int policy_line_add(const struct world *world, struct loaded *loaded, const char *verb, const char *object);
