/*
 * Programs outside: everything of the user's that bawn starts without walls. A token's command, --notify, ask-command, --on-exit, ssh, Slurm's
 * tools, a browser, a pager, a desktop message.
 *
 * The danger: a command inside writes .venv/bin/gh, or ./helper.py, and bawn runs it outside as the user. So every program is found, judged and
 * started here (tools/check-banned finds a start elsewhere):
 *
 *  1. It starts in the directory /, so that no relative name leads into a workspace.
 *  2. PATH keeps only directories in which no run can write (outside_path).
 *  3. The environment is a short list of variables (environment.c). None of them makes a usual program load code, and none leads to where a run
 *     can write.
 *  4. The file, each link and directory on the way to it, and the words of its #! line lie where no run can write (judge.c). The file is
 *     opened first, and what was opened is judged and executed. A script is executed by its path, because its interpreter opens it again.
 *     That path is as safe: no step of it can be changed from inside.
 *  5. A shell command is judged by its words, as far as they tell: a path, a pattern, a list of paths, or the name of a program (shell.c).
 *
 * Where runs can write (trees.c): the trees of the run's plan, those that earlier and other runs could write (the record below $XDG_STATE_HOME/bawn,
 * and the workspaces of the sessions), bawn's own directories with private homes, layers and branches, and the places that everybody can write.
 * They are gathered when a program is about to start, so that an ordinary run pays only for its entry in the record.
 */
#pragma once

#include "plan/plan.h"

/* What is known about the caller and the run. */
struct outside {
    const char *const *environment; /* the caller's, as NAME=VALUE; ended by NULL */
    const char *home;               /* used where HOME is not set; may be NULL */
    const struct plan *plan;        /* of the run that is going on; NULL: there is none */
};

/* The same for the run of a plan. */
struct outside outside_of_plan(const struct plan *plan, const char *const *environment);

/* A program that was judged. It lasts as long as the arena, and is closed with outside_close. */
struct outside_program {
    int fd; /* of the judged file; -1: a script, which is executed by its path */
    const char *path;
    const char *const *words;       /* ended by NULL */
    const char *const *environment; /* ended by NULL */
};

#define OUTSIDE_NONE ((struct outside_program){.fd = -1})

/*
 * Finds the program of the first word, an absolute path or a name in PATH. `facts` are variables to add (NAME=VALUE, ended by NULL); may be NULL.
 * Returns 1, 0 if there is no such program, -1 if it is refused.
 */
int outside_find(const struct outside *outside, struct arena *arena, const char *const *words,
                 const char *const *facts, struct outside_program *ret_program, struct err *err) must_check;

/* The same for a command of the shell's. Its own programs are found by the shell. Returns 0 or -1. */
int outside_shell(const struct outside *outside, struct arena *arena, const char *command,
                  const char *const *facts, struct outside_program *ret_program, struct err *err) must_check;

/* Becomes the program, in /. Returns only if that fails: the process then ends with status 127. Async-signal-safe. */
void outside_become(const struct outside_program *program);

void outside_close(struct outside_program *program);

/*
 * Is what is read outside out of reach for commands inside? `files` are absolute paths, such as that of a secret; one that is missing is judged by
 * its directories. `texts` are judged as shell commands are: the lines of a file that name files and programs. Both lists end with NULL.
 */
int outside_check(const struct outside *outside, const char *const *files, const char *const *texts,
                  struct err *err) must_check;

/* --- the record of what runs can write ---------------------------------------------------------------------------- */

/* Adds the trees that the run of the plan can write, before its command begins. `state` is $XDG_STATE_HOME. */
int outside_record(const char *state, const struct plan *plan, struct err *err) must_check;

/* Adds a tree that a person gave to a running command. */
int outside_record_tree(const char *state, const char *path, struct err *err) must_check;
