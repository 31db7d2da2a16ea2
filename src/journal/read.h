/*
 * Reads a journal back, record by record. A journal lies where its owner can write: what is read here is taken apart
 * strictly, and its texts are any bytes, never to be printed as they are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/vec.h"

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
