/*
 * Commands of the user's that are told of something: a tripwire while the run goes on (--notify), its end (--on-exit).
 * They run outside, so what they are told comes in variables alone: no byte from inside is part of a command line.
 */
#pragma once

#include "session/caller.h"

enum { HOOK_FACTS_MOST = 8 };

struct hook_fact {
    const char *name, *value; /* "BAWN_SESSION", "my-app-3" */
};

struct hook {
    const char *const *program;                  /* a program and its words, run without a shell; or NULL */
    const char *command;                         /* for the shell; NULL or "": a message on the desktop */
    const char *text;                            /* one sentence for a person, printable; BAWN_TEXT */
    struct hook_fact facts[HOOK_FACTS_MOST + 1]; /* ended by one without a name */
};

/* Starts it and goes on. It has no terminal and outlives nothing: whether it works is its own affair. */
void hook_start(const struct caller *caller, const struct hook *hook);

/* Runs it to its end, with the caller's streams. Returns its status as a shell has it, -1 where it could not be run. */
int hook_run(const struct caller *caller, const struct hook *hook);
