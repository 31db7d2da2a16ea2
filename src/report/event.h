/* What a record of a journal is about, and how it reads. Its texts are any bytes; what is made of them is printable. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "journal/journal.h"

enum event_kind {
    EVENT_DENIED = 1 << 0, /* something was not given, or met what it must not */
    EVENT_NET = 1 << 1,
    EVENT_FILES = 1 << 2,
    EVENT_EXEC = 1 << 3,
};

/* A set of the above; none for an event that is not known. */
unsigned event_kinds(const char *event);

/* What the sentence of something denied speaks of: "last refused", "last decoy". */
const char *event_label(const char *event) returns_text;

/* "evil.test is not on the list of hosts, asked for by curl (12)". `home` is shown as ~; it may be NULL. */
void event_add_sentence(struct buf *out, const struct journal_record *record, const char *home);

/* The time of a record; false where it is none. */
bool event_time(const struct journal_record *record, struct timespec *ret_time);

/* --- glance --- */

/* What can be said of a session at a glance: from the beginning and the end of its journal, however long that is. */

struct glance {
    const char *workspace, *command; /* NULL: not known */
    const char *mode;                /* "live", "review" …; NULL: not known */
    struct timespec began, last;     /* the first and the last record's times */
    const char *status;              /* of its end; NULL: it has none */
    bool has_ended;                  /* its end was recorded */
    bool was_killed;
    const char *refusal;       /* the last one among the latest records, as a sentence; or NULL */
    const char *refusal_event; /* what kind of record that is */
};

/* Returns false where there is no journal. */
bool glance_at(int session_fd, struct arena *arena, const char *home, struct glance *ret_glance);

/* --- processes --- */

/* The processes that a journal tells of (`exec` and `exit`), as a tree. */

struct process {
    const char *pid, *arguments;
    const char *ending; /* "status 1", "signal 9"; "" as long as none is known */
    bool failed, is_top;
    size_t first_child, last_child, next_sibling; /* their places plus one; 0: none */
};

struct processes {
    VEC(struct process) all;
};

/* Takes a record; those that are of another kind are passed over. Texts stay the record's. */
void processes_take(struct processes *processes, const struct journal_record *record);
void processes_free(struct processes *processes);
