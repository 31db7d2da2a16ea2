/* Around a run: the snapshot before it and the record of what it changed after it, for `undo`, `diff` and `apply`. */
#pragma once

#include "cli/load.h"
#include "hold/flags.h"
#include "journal/session.h"
#include "workspace/record.h"

struct keeping;

/*
 * Before the command starts. What cannot be undone is said here, before anything happens. Fails only where changes were
 * to be kept aside and cannot be: then nothing may be run.
 */
int keep_begin(const struct world *world, const struct loaded *loaded, const struct session *session,
               flag_set flags, struct keeping **ret_keeping, struct err *err) must_check;

/* The folder for an overlay over the workspace, or NULL where it is written directly. NULL keeps nothing. */
const char *keep_overlay(const struct keeping *keeping, const struct session *session);

/* After it has ended. Tells how it was kept, and how many files it changed; what is worth a line is added to the sightings. */
struct keep_result {
    enum record_mode mode;
    uint64_t changes;
};
struct keep_result keep_end(const struct world *world, const struct loaded *loaded,
                            const struct session *session, struct keeping *keeping, struct flags *flags);

/* What the workspace held at the start, where a snapshot of it was taken. */
struct past keep_past(const struct keeping *keeping);

/* A killed run, taken up where it was left; and its end, which is now. */
int keep_take_up(const struct loaded *loaded, const struct session *session, const struct record *record,
                 struct keeping **ret_keeping, struct err *err) must_check;
int keep_finish(const struct loaded *loaded, const struct session *session, struct keeping *keeping,
                struct flags *flags, uint64_t *ret_changes, struct err *err) must_check;

/* The folder of contents. */
const char *keep_store(const struct loaded *loaded, struct arena *arena);
