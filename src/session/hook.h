/*
 * Commands of the user's that run on an event: a tripwire during the run (--notify) or the end of the run
 * (--on-exit). They run outside the sandbox. Facts reach them in variables only: no byte from inside is part of a
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
    const char *command;        /* a shell command; NULL or "": a desktop message */
    struct hook_answer answer;
    const char *text;                            /* one printable sentence, passed as BAWN_TEXT */
    struct hook_fact facts[HOOK_FACTS_MOST + 1]; /* the last one has no name */
};

/* The caller's environment with the facts of the hook. The list itself is allocated, and its own facts lie in the arena. */
char **hook_environment(const struct caller *caller, struct arena *arena, const struct hook *hook);

/* Starts the hook and returns. The hook has no terminal, and its status is not read. */
void hook_start(const struct caller *caller, const struct hook *hook);

/* Waits for the hook, which has the caller's streams. Returns its status as a shell does, -1 if it cannot run. */
int hook_run(const struct caller *caller, const struct hook *hook);
