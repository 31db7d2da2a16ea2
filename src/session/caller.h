/*
 * Who started bawn, and where: the file system, the current directory, the environment, the machine, and a person to speak
 * to. Nothing below cli/ looks at the process's own. main.c fills in the real ones; the golden tests fill in a made-up tree,
 * so that they mean the same on every machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/trace.h"
#include "kernel/cgroup.h"
#include "plan/walls.h"

/* What a plan has to know of the machine that it is made for. */
struct machine {
    uint64_t memory;            /* in bytes */
    bool is_root;               /* the caller is this machine's root */
    struct cgroup_place cgroup; /* where a control group can be made, and which limits it would hold */
    wall_set lacking;           /* of the walls that were asked about: those that cannot be raised here */
};

/* How the engine speaks to a person. cli/ implements it; the engine prints nothing itself. */
struct speaker {
    const void *context; /* of whoever implements it */
    bool is_read;        /* a person reads it on a terminal: results are worth a line, not only problems */
    bool can_answer;     /* that person can be asked as well */
    bool has_colours;
    void (*say)(const struct speaker *speaker, const char *message, const char *hint); /* hint may be NULL */
    void (*show)(const struct speaker *speaker, const struct buf *text);               /* as it is */
    /* Returns false where there is no answer: at the end of input, and on Ctrl-C. */
    bool (*ask)(const struct speaker *speaker, const char *question, char *ret_answer, int size);
    void (*show_progress)(const struct speaker *speaker, const char *line); /* "" takes the line back */
};

struct caller {
    int root_fd;
    const char *directory;          /* absolute */
    const char *const *environment; /* NAME=VALUE, ended by NULL */
    const char *account_home;       /* from the account database, where $HOME is not set; may be NULL */
    void (*look_at_machine)(wall_set asked, struct machine *ret_machine); /* called where a plan is made */
    const struct machine *machine; /* NULL, or what was seen of it already */
    struct trace trace;
    char *heap; /* below it in the allocator's memory there is more than bawn's own; NULL: not known */
    const struct speaker *speaker;
};

enum exit_status {
    EXIT_FINE = 0,
    EXIT_BAD_INPUT = 2,
    EXIT_REFUSED = 125, /* bawn itself refused or failed, where a command was to be run */
};

/* The value of a variable of the caller's, or NULL. */
const char *caller_variable(const struct caller *caller, const char *name);

void caller_say(const struct caller *caller, const char *message, const char *hint);
void caller_say_err(const struct caller *caller, const struct err *err);

/* The real machine. Only the walls that are asked about are tried, so that a run that gives none up pays for nothing. */
void machine_look(wall_set asked, struct machine *ret_machine);

/* --- progress --- */

/*
 * A line for the person who waits at the terminal: an operation that takes longer than a second says how far it is, in one line
 * that is overwritten again and again and is gone at the end. Where nobody reads along, nothing is shown.
 */

struct progress_line {
    struct progress progress;      /* the first member */
    const struct speaker *speaker; /* NULL: nobody reads it */
    const char *what;              /* "taking a snapshot" */
    struct timespec began, written;
};

/* Returns what is handed on to whoever works, or NULL. A child may tell of its progress, too. */
struct progress *progress_begin(struct progress_line *line, const struct speaker *speaker, const char *what);
void progress_end(const struct progress_line *line);
