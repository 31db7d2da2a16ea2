/* The kinds of journal records, and their sentences. Records may have any bytes; sentences are printable. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "journal/journal.h"

enum event_kind {
    EVENT_DENIED = 1 << 0, /* denied, or a decoy was opened */
    EVENT_NET = 1 << 1,
    EVENT_FILES = 1 << 2,
    EVENT_EXEC = 1 << 3,
    EVENT_ASKED = 1 << 4,
};

/* A set of the above; 0 for an unknown event. */
unsigned event_kinds(const char *event);

/* The label of a denial: "last refused", "last decoy". */
const char *event_label(const char *event) returns_text;

/* "evil.test is not on the list of hosts, asked for by curl (12)". `home` is shown as ~; it may be NULL. */
void event_add_sentence(struct buf *out, const struct journal_record *record, const char *home);

/* The time of a record; false if it is not valid. */
bool event_time(const struct journal_record *record, struct timespec *ret_time);

/* --- glance --- */

/* A session at a glance. Of a long journal only the beginning, the end and the last denial are parsed. */

struct glance {
    const char *workspace, *command; /* NULL: not known */
    const char *mode;                /* "live", "review" …; NULL: not known */
    const char *arguments;           /* the command with them; NULL: not known */
    const char *agent;               /* its profile, "agent/claude"; NULL: not known */
    const char *directory, *typed;   /* where bawn was started, and its arguments; NULL: not known */
    struct timespec began, last;     /* the first and the last record's times */
    const char *status;              /* of its end; NULL: none recorded */
    bool has_ended;                  /* its end was recorded */
    uint64_t changes;                /* files that it changed, as its end says */
    bool was_killed;
    const char *refusal;       /* the last one, as a sentence; or NULL */
    const char *refusal_event; /* the event of that record */
    size_t connections, refusals, tripwires;
    size_t asked, answered; /* questions of programs inside */
};

/* The text of a field; "" without the field or the record. */
const char *event_field(const struct journal_record *record, const char *name) returns_text;

/* Returns false if there is no journal. */
bool glance_at(int session_fd, struct arena *arena, const char *home, struct glance *ret_glance);

/*
 * resume.c: the line that starts the run again, where the agent can, with its latest conversation: "cd ~/app && bawn claude --continue". NULL: not
 * known. Printable.
 */
const char *glance_resume(struct arena *arena, const struct glance *glance);

/* --- processes --- */

/* The processes of a journal (`exec` and `exit`), as a tree. */

struct process {
    const char *pid, *arguments;
    const char *ending; /* "status 1", "signal 9"; "": not known */
    bool failed, is_top;
    size_t first_child, last_child, next_sibling; /* index plus one; 0: none */
};

struct processes {
    VEC(struct process) all;
};

/* Adds an exec or exit record, and ignores others. The texts stay the record's. */
void processes_take(struct processes *processes, const struct journal_record *record);
void processes_free(struct processes *processes);
