/*
 * Capture: the snapshot before a run and the record of its changes after it, for `undo`, `diff` and `apply`. A run
 * may write several trees. The record of the first tree is in the run's session; each further tree gets a session.
 */
#pragma once

#include "hold/flags.h"
#include "journal/session.h"
#include "launch/launch.h"
#include "report/summary.h"
#include "session/caller.h"
#include "session/load.h"
#include "workspace/record.h"

struct captured_tree {
    const char *covered;    /* the directory: the record's workspace, or the prefix inside it */
    struct session session; /* its folder holds the record; without a journal if it is the run's own */
    bool is_own;            /* the session is for this tree alone */
    bool is_on;
    bool is_copied;       /* the command works in a copy of the tree */
    bool has_checkpoints; /* at least one was taken */
    bool is_recorded;     /* its changes are written down, and only the overlay or copy may be left */
    const char *breaks;   /* why the branch was not moved: what would break the repository; or NULL */
    struct record record;
    struct tree start;
};

struct capture {
    const struct caller *caller; /* of the run; NULL in a repair */
    const struct loaded *loaded;
    struct session *session; /* the run's; its journal is written through this one alone */
    const char *store;       /* absolute path of the content store */
    struct amendments *amendments;
    struct progress *progress;       /* may be NULL */
    const struct launched *launched; /* process 1, if it is there until the layers are removed; else NULL */
    VEC(struct captured_tree) trees;
};

/*
 * Before the command starts: takes the snapshots, or makes the overlays or copies and amends the plan with them.
 * Says what `bawn undo` will not be able to undo. Fails only if changes must be captured aside and cannot be; then
 * the command must not run.
 */
int capture_begin(const struct caller *caller, const struct loaded *loaded, struct amendments *amendments,
                  struct session *session, const struct run_request *request, struct capture **ret_capture,
                  struct err *err) must_check;

/*
 * Adds the stubs to copies of workspaces, so that the mounts find their targets. In the copy of a branch's repository, which the host's git finds too, the
 * frozen paths are amended: they are frozen there.
 */
int capture_add_places(const struct hold *hold, const struct capture *capture, struct err *err) must_check;

/* The contents of the workspaces at the start, where snapshots were taken. */
struct past capture_past(struct arena *arena, const struct capture *capture);

/* Runs in a child process: saves a checkpoint of each live tree. Returns how many trees have changed, or -1. */
int capture_checkpoint(const struct capture *capture, struct err *err) must_check;
void capture_has_checkpoints(struct capture *capture); /* the child has saved some */

/*
 * After the command has ended. Returns the mode and the number of changes of the run's own tree, and reports other
 * trees itself. Findings worth a line are added to the flags.
 */
struct capture_result {
    enum record_mode mode;
    uint64_t changes;
    bool is_unfinished; /* the record of the run's own tree could not be written: the next bawn tries again */
    bool
        lacks_changes; /* so it is with a tree whose changes are nowhere else: the run must not end as a success */
};
struct capture_result capture_end(struct capture *capture, struct flags *flags);

/*
 * Before capture_end: are there overlays whose layers it removes? Then process 1 is released only after it. Its overlay keeps most
 * directories of the layers open, and capture_end leaves the others to it, so that the kernel frees them when process 1 ends, for
 * which nobody waits.
 */
bool capture_leave_layers(struct capture *capture, const struct launched *launched);

/* For repair: takes up the capture of a killed run, and finishes it. */
int capture_take_up(const struct loaded *loaded, const struct session *session, const struct record *record,
                    struct capture **ret_capture, struct err *err) must_check;
int capture_finish(struct capture *capture, struct flags *flags, uint64_t *ret_changes, struct err *err)
    must_check;

/* Takes a snapshot of the tree. Before the capture is on, it is the snapshot of the start. */
int capture_snapshot(const struct capture *capture, const struct captured_tree *tree,
                     struct progress *progress, struct tree *ret_tree, struct err *err) must_check;

/* --- changed --- */

/* A summary of the changes of a session: how many files, and which of them would run on the host. */

/* Reads the record in the session's folder. */
void changed_find(const struct loaded *loaded, int session_fd, struct changed *changed);
void changed_free(struct changed *changed);

/* --- flagged --- */

/* The end of a run: the user decides about new content in flagged files, and is told about other findings. */

/* `may_ask`: the command ended by itself, so a person may be there. Returns how many files are held aside. */
size_t flagged_decide(const struct caller *caller, struct flags *flags, bool keep_all, bool may_ask);

/* Reports new programs, links out of the workspace and the like. */
void flagged_say_sightings(const struct caller *caller, const struct flags *flags);
