/* What a record of a journal is about, and how it reads. Its texts are any bytes; what is made of them is printable. */
#pragma once

#include "base/buf.h"
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
