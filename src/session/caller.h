/*
 * The caller: file system, current directory, environment, machine and speaker. Code below cli/ uses these and
 * never the process's own. main.c fills in the real ones; the golden tests fill in a made-up tree.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/trace.h"
#include "base/vec.h"
#include "kernel/cgroup.h"
#include "outside/outside.h"
#include "plan/walls.h"

/* The facts about the machine that a plan depends on. */
struct machine {
    uint64_t memory;            /* in bytes */
    bool is_root;               /* the caller is this machine's root */
    struct cgroup_place cgroup; /* where a control group can be made, and which limits it supports */
    wall_set lacking;           /* the walls, of those asked about, that this machine does not support */
};

/* The engine speaks to a person through this alone. cli/ implements it; the engine prints nothing itself. */
struct speaker {
    const void *context; /* of the implementation */
    bool is_read;        /* a person reads on a terminal: report results as well as problems */
    bool can_answer;     /* the person can be asked */
    bool is_quiet;       /* problems alone are wanted: --quiet, --json */
    bool has_colours;
    void (*say)(const struct speaker *speaker, const char *message, const char *hint);  /* hint may be NULL */
    void (*note)(const struct speaker *speaker, const char *message, const char *hint); /* nothing is wrong */
    void (*show)(const struct speaker *speaker, const struct buf *text); /* prints the text unchanged */
    /* Returns the key that the person presses; a control character if there is no answer: at the end of input, on Ctrl-C … */
    char (*ask)(const struct speaker *speaker, const char *question);
    void (*show_progress)(const struct speaker *speaker, const char *line); /* "" erases the line */
    void (*command_ended)(
        const struct speaker
            *speaker); /* what the command left on the terminal must hide nothing; may be NULL */
};

struct caller {
    int root_fd;
    const char *directory;          /* absolute */
    const char *const *environment; /* NAME=VALUE, ended by NULL */
    const char *account_home;       /* from the account database if $HOME is not set; may be NULL */
    void (*look_at_machine)(wall_set asked, struct machine *ret_machine); /* called when a plan is made */
    bool (*lacks_namespaces)(void *context); /* can none be made here? NULL: they can */
    void *namespaces_context;
    bool (*lacks_vault)(void);                    /* is bawn-vault missing? NULL: it is there */
    const char *(*own_path)(struct arena *arena); /* of bawn, as process_own_path(); NULL: not known */
    const struct machine *machine;                /* NULL, or the result of an earlier look */
    struct trace trace;
    const struct speaker *speaker;
};

enum exit_status {
    EXIT_FINE = 0,
    EXIT_BAD_INPUT = 2,
    EXIT_REFUSED =
        125, /* bawn refused, failed before it could run the command, or could not keep what it wrote */
};

/* For programs that are started outside. `plan` is that of the run, or NULL. */
struct outside caller_outside(const struct caller *caller, const struct plan *plan);

/* The value of an environment variable, or NULL. */
const char *caller_variable(const struct caller *caller, const char *name);

void caller_say(const struct caller *caller, const char *message, const char *hint);
void caller_note(const struct caller *caller, const char *message, const char *hint); /* nothing is wrong */
void caller_say_err(const struct caller *caller, const struct err *err);

/* Looks at the real machine. Only the walls asked about are tested, so a run that gives none up pays nothing. */
void machine_look(wall_set asked, struct machine *ret_machine);

/* Tries whether the real machine makes namespaces. */
bool machine_lacks_namespaces(void *context);

/* Looks for bawn-vault beside bawn. */
bool machine_lacks_vault(void);

/* Since a moment of CLOCK_MONOTONIC. */
int64_t milliseconds_since(struct timespec moment);

/*
 * A progress line on the terminal for an operation that takes longer than a second. Each update overwrites the
 * line, and the end erases it. Nothing is shown unless a person reads.
 */
struct progress_line {
    struct progress progress;      /* the first member */
    const struct speaker *speaker; /* NULL: no person reads */
    const char *what;              /* "taking a snapshot" */
    struct timespec began, written;
};

/* Returns the callback for the operation, or NULL. A child process may call it as well. */
struct progress *progress_begin(struct progress_line *line, const struct speaker *speaker, const char *what);
void progress_end(const struct progress_line *line);

/* --- later.c --- */

/*
 * Messages that wait. Nobody may be reading a pipe that bawn writes to, and then a message blocks. At the end of a run everything is
 * therefore written down first and said after that. A person on a terminal is told at once.
 */

struct waiting_message {
    const char *message,
        *hint;        /* a message without a hint has NULL; of a text that is shown, `message` is NULL … */
    const char *text; /* … and this is it */
    size_t size;
};

struct later {
    struct speaker speaker; /* keeps what it is given */
    struct later *self;     /* the speaker's context */
    const struct speaker *real;
    struct arena arena;
    VEC(struct waiting_message) messages;
};

/* Returns the speaker to use until later_end. */
const struct speaker *later_begin(struct later *later, const struct speaker *real);

/* Says all that was kept. */
void later_end(struct later *later);

/* Says nothing of it. */
void later_drop(struct later *later);
