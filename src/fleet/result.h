/* The result of a task: result.json, whose form docs/FLEET.md describes. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/vec.h"

enum { RESULT_SCHEMA = 1, RESULT_LARGEST = 1024 * 1024, MOST_HOSTS = 256 };

typedef VEC(const char *) text_list;

struct result {
    const char *id;
    int64_t status;        /* of the command, as a shell says it */
    const char *session;   /* NULL: bawn refused before there was one */
    const char *workspace; /* absolute */
    const char *branch;    /* that its commits are on; NULL: it was a review */
    const char *began, *ended;
    const char *ended_by; /* the limit for which bawn ended the command; NULL: none */
    uint64_t attempts;
    uint64_t milliseconds, cpu_milliseconds, peak_memory; /* in bytes, of the largest process */
    uint64_t changes, risky, held, tripwires;
    uint64_t output_dropped;  /* bytes that stdout and stderr lack */
    uint64_t hosts_refused;   /* how often, in all */
    text_list hosts, refused; /* "api.example.com:443" */
};

/* All members but the schema and the id. */
void result_add_members(const struct result *result, struct json *json);

/* The whole file. */
void result_add_json(const struct result *result, struct buf *out);

/* Is it the result of this task, whole and in the form that result_add_json writes? */
bool result_parse(struct bytes text, const char *id, struct arena *arena, struct result *ret_result);
void result_free(struct result *result);
