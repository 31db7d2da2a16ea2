/*
 * Commands of the user's that run on an event: a tripwire during the run (--notify) or the end of the run
 * (--on-exit). They run outside the sandbox, started as outside/outside.h says. Facts reach them in variables only: no byte from inside is part of a
 * command line.
 */
#pragma once

#include "session/caller.h"

enum { HOOK_FACTS_MOST = 8 };

struct hook_fact {
    const char *name, *value; /* "BAWN_SESSION", "my-app-3" */
};

/* A desktop message with buttons: the answer that a person chooses goes to `PROGRAM answer QUESTION WORD`. */
struct hook_answer {
    const char *program, *question; /* NULL: no buttons */
};

struct hook {
    const char *const *program; /* a program and its arguments, run without a shell; or NULL */
    const struct plan *plan;    /* of the run; NULL: there is none */
    const char *command;        /* a shell command; NULL or "": a desktop message */
    struct hook_answer answer;
    const char *text;                            /* one printable sentence, passed as BAWN_TEXT */
    struct hook_fact facts[HOOK_FACTS_MOST + 1]; /* the last one has no name */
};

/* The caller's environment with the facts of the hook, for bawn itself. The list itself is allocated, and its own facts lie in the arena. */
const char **hook_environment(const struct caller *caller, struct arena *arena, const struct hook *hook);

/* Fails if the hook's program could be changed from inside, see outside/outside.h. */
int hook_check(const struct caller *caller, const struct hook *hook, struct err *err) must_check;

/* Starts the hook and returns. The hook has no terminal, and its status is not read. One that is refused is reported. */
void hook_start(const struct caller *caller, const struct hook *hook);

/* Waits for the hook, which has the caller's streams. Returns its status as a shell does, -1 if it cannot run, which is reported. */
int hook_run(const struct caller *caller, const struct hook *hook);
