/*
 * A session: one run of one command, with a name (my-app-3) and a folder of its own below $XDG_STATE_HOME/bawn/sessions,
 * which no sandbox sees. The folder is locked as long as the run lasts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/vec.h"
#include "journal/journal.h"

enum { SESSIONS_ALWAYS_KEPT = 10 }; /* the latest, however large they are */

#define SESSION_JOURNAL "journal.jsonl" /* its name in the session's folder */

struct session {
    const char *name;
    const char *folder; /* absolute */
    int folder_fd;      /* locked; -1: there is none */
    int running_fd;     /* of the folder of running sessions */
    int alive_fd;       /* of the file in which all of them hold a lock; or -1 */
    bool tidies_up;     /* at its end old ones are let go: a few do, so that most need not look */
    struct journal journal;
};

#define SESSION_NONE                                                                                         \
    ((struct session){.folder_fd = -1, .running_fd = -1, .alive_fd = -1, .journal = JOURNAL_NONE})

/* Begins a session that is named after a directory. */
int session_begin(struct arena *arena, const char *state_directory, const char *directory,
                  struct session *ret_session, struct err *err) must_check;

/* Opens the folder of a session and locks it. Fails with EWOULDBLOCK where the session runs. */
int session_lock(int sessions_fd, const char *name, struct err *err) must_check;

/* The name of the last session that was begun in a directory; NULL where none was. */
const char *session_latest(struct arena *arena, const char *state_directory, const char *directory);

/* What the first record of a session's journal says in a field ("workspace", "process" …), or NULL. */
const char *session_began_with(struct arena *arena, int folder_fd, const char *field);

/* It ended as it should, and left nothing behind that has to be put right. */
void session_end(struct session *session);

/* It ended, and something is left for the next bawn to put right. */
void session_leave(struct session *session);

typedef VEC(const char *) session_names;

/* The sessions whose bawn was killed. Costs one look into a folder that is empty as a rule. */
int session_list_killed(struct arena *arena, const char *state_directory, session_names *ret_names,
                        struct err *err) must_check;

/*
 * Calls `repair` for a session whose bawn was killed, with its folder locked. Where that returns 0 the session is over; with 1 it
 * must wait, and stays among those that were killed. A session that runs, or that another bawn repairs, is left alone.
 */
typedef int session_repair(void *context, struct session *session, struct err *err);
int session_repair_one(struct arena *arena, const char *state_directory, const char *name,
                       session_repair *repair, void *context, struct err *err) must_check;

/*
 * A session whose repair failed is no longer among those that were killed: it is set aside, until it is taken up or given up. Returns
 * whether this call did it.
 */
bool session_set_aside(struct arena *arena, const char *state_directory, const char *name);
void session_give_up(struct arena *arena, const char *state_directory, const char *name);
bool session_is_set_aside(struct arena *arena, const char *state_directory, const char *name);
int session_list_set_aside(struct arena *arena, const char *state_directory, session_names *ret_names,
                           struct err *err) must_check;

/* Counts a session among those that were killed. Returns false if it is there already. */
bool session_mark_killed(struct arena *arena, const char *state_directory, const char *name);

/* The sessions that were set aside are among those that were killed again. Returns how many. */
size_t session_take_up(struct arena *arena, const char *state_directory);

/*
 * Sorts sessions, oldest first. The number in a session's name only grows, and the clock may be set back: among the sessions of
 * one name the number decides, and no time counts as earlier than that of a lower number. Sessions of different names are
 * sorted by these times.
 */
struct session_age {
    const char *name;
    struct timespec time;
    size_t index; /* the caller's */
};
void sessions_sort(struct session_age *ages, size_t count);

struct retired {
    uint64_t sessions, bytes; /* that were removed */
    VEC(int)
    open; /* their files and folders: the kernel frees them when these are closed, and waits for the disk */
};

/*
 * Removes the oldest sessions if there are too many, or if all journals together exceed `most_bytes`. Sessions that run, or
 * that have more than a journal (changes to apply or undo, files held aside), stay.
 */
void sessions_retire(struct arena *arena, int sessions_fd, uint64_t most_bytes, struct retired *ret_retired);
void retired_close(struct retired *retired);
