/*
 * The append-only record of a session: one line of JSON an event, each chained to the one before by a hash, so that a
 * line that was edited, dropped or moved is found. Written by the unsandboxed side alone.
 *
 * Nothing here stops a run: a disk that is full costs records, and the next record that can be written says how many. So
 * does a journal that has grown to its largest size. A part of that size is reserved for refusals, a part for held files and limits, and
 * a part for tripwires; the end is always written. What a run was given, used or was refused has a share for each kind of record: no number of
 * records keeps out one of another kind.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

/* --- redact.c --- */

/*
 * Takes secrets out of what is written down: values of variables whose names say that they are secret, passwords in
 * addresses, and words that look like keys of well-known makers. It errs on the side of leaving out; what it does not
 * know it cannot find, so a journal is still not for everybody's eyes.
 */

struct secret {
    const char *name, *value;
    size_t size;
};

/* The variables of an environment (NAME=VALUE, ended by NULL) that are secret; their texts are the environment's. */
struct secrets {
    VEC(struct secret) known;
};

/* Does the name of a variable say that it is a secret? */
bool secret_is_name(const char *name, size_t size);

void secrets_find(struct arena *arena, const char *const *environment, struct secrets *ret_secrets);
/* Does the name of a variable say that its value is secret? */
bool secrets_is_name(const char *name);
void secrets_free(struct secrets *secrets);

/* Adds the text without what is secret in it. `secrets` may be NULL. */
void redact_add(struct buf *out, const struct secrets *secrets, const char *text, size_t size);

/* --- journal.c --- */

enum { JOURNAL_KINDS = 48 };

struct journal {
    int fd; /* -1: nothing is recorded */
    uint64_t next;
    uint64_t lost;                  /* events that could not be written, or were left out */
    uint64_t size;                  /* of the file, but for records on the shares of their kinds */
    uint64_t shares[JOURNAL_KINDS]; /* bytes that were written on each */
    const struct secrets *secrets;  /* left out of every record; may be NULL */
    char chain[SHA256_HEX_SIZE];
};

#define JOURNAL_NONE ((struct journal){.fd = -1})

/* Begins a new journal, or goes on with the one that is there, after its last whole record. */
int journal_open(int folder_fd, const char *name, struct journal *ret_journal, struct err *err) must_check;
void journal_close(struct journal *journal);

/*
 * Adds a record: journal_event(&journal, "refused", "host", name, "port", "443"): what happened, and pairs of names and
 * texts. Texts may hold any bytes; secrets in them are left out, and they are cut at 4,096. None is NULL.
 */
#define journal_event(journal, ...) journal_add((journal), (const char *const[]){__VA_ARGS__, NULL})
void journal_add(struct journal *journal, const char *const *texts);

/* There was an event that is not recorded, because its source has too many. The next record counts it as lost. */
void journal_leave_out(struct journal *journal);

/* Checks a journal from its first record on. On failure the error names the record at which the chain breaks. */
struct journal_end {
    uint64_t records;
    char chain[SHA256_HEX_SIZE]; /* of the last one */
};
int journal_verify(int folder_fd, const char *name, struct journal_end *ret_end, struct err *err) must_check;

/*
 * Sends the head of the hash chain to the system log, which this user cannot rewrite: "my-app-3 begins, record 2, 3fa9…". A
 * journal that was rewritten from its beginning does not match it. Sends nothing if the log does not take it at once.
 */
void system_log_head(const char *session, const char *moment, const struct journal *journal);

/*
 * A journal is read back record by record. Its owner can write it: it is parsed strictly, and its texts may contain any
 * bytes, so that they must not be printed as they are.
 */
struct record_field {
    const char *name, *text; /* a number is its digits */
};

struct journal_record {
    uint64_t number;
    const char *at;                  /* "2026-01-31T12:00:00.000Z" */
    const char *event;               /* "start", "refused" … */
    VEC(struct record_field) fields; /* the others, without the chain */
};

/* Takes one line (without its end) apart. Returns false where it is not a record. The fields are freed with journal_record_free. */
bool journal_record_parse(struct arena *arena, const char *line, size_t size,
                          struct journal_record *ret_record);
void journal_record_free(struct journal_record *record);

/* The text of a field; NULL where the record has none of that name. */
const char *journal_record_text(const struct journal_record *record, const char *name);
