/*
 * The append-only record of a session: one line of JSON an event, each chained to the one before by a hash, so that a
 * line that was edited, dropped or moved is found. Written by the unsandboxed side alone.
 *
 * Nothing here stops a run: a disk that is full costs records, and the next record that can be written says how many. So
 * does a journal that has grown to its largest size: from then on only the end is written.
 */
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/sha256.h"
#include "journal/redact.h"

struct journal {
    int fd; /* -1: nothing is recorded */
    uint64_t next;
    uint64_t lost;                 /* records that could not be written */
    uint64_t size;                 /* of the file */
    const struct secrets *secrets; /* left out of every record; may be NULL */
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

/* Checks a journal from its first record on. On failure the error names the record at which the chain breaks. */
struct journal_end {
    uint64_t records;
    char chain[SHA256_HEX_SIZE]; /* of the last one */
};
int journal_verify(int folder_fd, const char *name, struct journal_end *ret_end, struct err *err) must_check;
