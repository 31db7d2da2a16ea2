/*
 * What would run on the host, or steer what runs there, if a change reached it: judged by name, kind and content, one
 * change at a time. Names that a policy can speak of (CI files, editors' tasks, agents' instructions) are the policy's:
 * this is about what no list of names catches, and about git's own files wherever they turn up.
 *
 * A pure function: no effects, and bounded in what it reads.
 */
#pragma once

#include "base/buf.h"
#include "workspace/tree.h"

/* The content of a file or the target of a link. Returns 1, or 0 where it is larger than `most` or not known. */
typedef int gate_read(void *context, const struct entry *entry, size_t most, struct buf *ret_bytes);

struct gate_change {
    const char *path;                   /* relative to the workspace's top */
    const struct entry *before, *after; /* NULL: there is none. Of an entry: mode, target */
    gate_read *read;
    void *context;
};

typedef VEC(const char *) gate_reasons; /* each a few words; none is owned */

/* Adds why the change must not pass without a person's word; nothing where it may. */
void gate_judge(const struct gate_change *change, gate_reasons *reasons);
