/*
 * What is told at the end of a run: on a terminal a few lines, and nothing where there is nothing to tell; with --json
 * one line of JSON; one sentence where it runs unattended and CI is set; Markdown for a step of GitHub's. In a pipe
 * otherwise not a byte.
 */
#pragma once

#include "cli/args.h"
#include "home/left.h"
#include "session/changed.h"
#include "session/flagged.h"
#include "supervise/network.h"
#include "supervise/tripwires.h"

struct summary {
    const struct world *world;
    const struct args *args;
    const struct loaded *loaded;
    const char *session; /* NULL: there was no place for one */
    int status;
    uint64_t milliseconds;
    struct flagged_counts settlement;
    const struct changed *changed;
    const struct network *network;     /* NULL: it was never begun */
    const struct tripwires *tripwires; /* likewise */
    const struct left *left;           /* may be NULL */
};

void summary_tell(const struct summary *summary);

/* Will anybody read what was changed, file by file? Looking costs. */
bool summary_is_wanted(const struct world *world, const struct args *args);

/* "1 m 12 s" */
const char *summary_time(const struct summary *summary);

/* "other.test", "other.test:22": what `bawn allow` takes. */
const char *refused_object(struct arena *arena, const struct refused_host *refused);

/* " other.test other.test:22": all that one `bawn allow` would open; empty where nothing would. */
void refused_add_objects(struct buf *out, struct arena *arena, const struct network *network);

/* summary_forms.c: the other forms. */
void summary_add_json(const struct summary *summary, struct buf *out);
void summary_add_line(const struct summary *summary, struct buf *out);
void summary_add_markdown(const struct summary *summary, struct buf *out);
