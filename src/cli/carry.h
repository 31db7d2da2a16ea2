/* Carries out a transition for a person: shows what it would do, asks, does it, and says what was left alone. */
#pragma once

#include "cli/choose.h"
#include "workspace/transition.h"

struct carry {
    enum record_mode mode;
    const struct record *of;
    struct transition transition;
    bool asks;
    const char *question;
    const char *done; /* "taken back", "applied" */
    /* Says of a change that it must wait for a person, and why; NULL: none must. */
    const char *(*holds_back)(void *context, const struct change *change);
    void *context;
    bool is_complete; /* afterwards: nothing was left alone, and no path was left out */
};

/* Returns the exit status. */
int carry_out(const struct world *world, struct choice *choice, struct carry *carry);

/* Sets the state in a session's record. */
void mark_state(const struct choice *choice, const char *name, enum record_state state);
