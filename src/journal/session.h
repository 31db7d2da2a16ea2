/*
 * A session: one run of one command, with a name (my-app-3) and a folder of its own below $XDG_STATE_HOME/bawn/sessions,
 * which no sandbox sees. The folder is locked as long as the run lasts.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
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

/*
 * Calls `repair` for each session whose bawn was killed, with its folder locked. Where that returns 0 the session is done
 * with; otherwise the next call comes back to it: after an error, or with 1 where it must wait. Costs one look into a folder that is empty as a rule.
 */
typedef int session_repair(void *context, struct session *session, struct err *err);
int session_repair_all(struct arena *arena, const char *state_directory, session_repair *repair,
                       void *context, struct err *err) must_check;
