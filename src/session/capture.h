/*
 * Around a run: the snapshot before it and the record of what it changed after it, for `undo`, `diff` and `apply`. A run may
 * write several trees; the first one is kept in the run's own session, each other in a further one.
 */
#pragma once

#include "hold/flags.h"
#include "journal/session.h"
#include "report/summary.h"
#include "session/caller.h"
#include "session/load.h"
#include "workspace/record.h"

struct captured_tree {
    const char *covered;    /* the directory: the record's workspace, or its prefix in that */
    struct session session; /* whose folder has the record */
    bool is_own;            /* that session is for this tree alone */
    bool is_on;
    bool is_copied;       /* the command works in a copy of it */
    bool has_checkpoints; /* taken by now */
    const char *breaks;   /* why a branch was left where it was: what would break the repository; or NULL */
    struct record record;
    struct tree start;
};

struct capture {
    const char *store; /* where contents are kept, absolute */
    struct amendments *amendments;
    struct progress *progress; /* may be NULL */
    VEC(struct captured_tree) trees;
};

/*
 * Before the command starts. What cannot be undone is said here, before anything happens. Where what is
 * written goes elsewhere, that becomes an amendment. Fails only where changes were to be kept aside and cannot be: then nothing may be run.
 */
int capture_begin(const struct caller *caller, const struct loaded *loaded, struct amendments *amendments,
                  const struct session *session, const struct run_request *request,
                  struct capture **ret_capture, struct err *err) must_check;

/* What was put into workspaces since is there: where a command works in a copy, that gets a place for it. */
int capture_add_places(const struct hold *hold, const struct capture *capture, struct err *err) must_check;

/* What the workspaces held at the start, where snapshots of them were taken. */
struct past capture_past(struct arena *arena, const struct capture *capture);

/* While it runs, in a process of its own: keeps what live trees hold now. Returns how many have changed, or -1. */
int capture_checkpoint(const struct loaded *loaded, struct capture *capture, struct err *err) must_check;
void capture_has_checkpoints(struct capture *capture); /* that process has kept some */

/*
 * After it has ended. Tells how the run's own tree was kept, and how many files it changed; what is worth a line is added to the
 * sightings. Of other trees it is said here.
 */
struct capture_result {
    enum record_mode mode;
    uint64_t changes;
    bool is_unfinished; /* it could not be written down: the next bawn tries again */
};
struct capture_result capture_end(const struct caller *caller, const struct loaded *loaded,
                                  struct capture *capture, struct flags *flags);

/* A killed run, taken up where it was left; and its end, which is now. */
int capture_take_up(const struct loaded *loaded, const struct session *session, const struct record *record,
                    struct capture **ret_capture, struct err *err) must_check;
int capture_finish(const struct loaded *loaded, struct capture *capture, struct flags *flags,
                   uint64_t *ret_changes, struct err *err) must_check;

/* A snapshot of the tree: that of the start, as long as none was taken. */
int capture_snapshot(const struct loaded *loaded, const char *store, const struct captured_tree *tree,
                     struct progress *progress, struct tree *ret_tree, struct err *err) must_check;

/* --- changed --- */

/* What a session changed in the workspace, in short: how many files, which of them would run on the host. */

/* Reads what was written down at the end of the run. */
void changed_find(const struct loaded *loaded, int session_fd, struct changed *changed);
void changed_free(struct changed *changed);

/* --- flagged --- */

/* The end of a run: the user decides about new content in flagged files, and is told what else the run left. */

/* `may_ask`: the command ended by itself, and a person may be there. Returns how many files are held aside. */
size_t flagged_settle(const struct caller *caller, struct flags *flags, bool keep_all, bool may_ask);

/* New programs, links out of the workspace and the like. */
void flagged_say_sightings(const struct caller *caller, const struct flags *flags);
