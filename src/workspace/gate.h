/*
 * The gate: would a change run something on the host, or steer what runs there? It judges one change at a time, by
 * name, file type and content. A policy lists the names of CI files, editor tasks and agents' instructions. This file
 * is about things that a list of names cannot express, and about git's own files wherever they lie.
 *
 * A pure function: no effects, and bounded in what it reads.
 */
#pragma once

#include "base/buf.h"
#include "workspace/tree.h"

/* Reads a file or the target of a symlink. Returns 1, or 0 if it is larger than `most` or unknown. */
typedef int gate_read(void *context, const struct entry *entry, size_t most, struct buf *ret_bytes);

struct gate_change {
    const char *path;                   /* relative to the top of the workspace */
    const struct entry *before, *after; /* NULL: it does not exist. Only mode and target are used */
    gate_read *read;
    void *context;
};

typedef VEC(const char *) gate_reasons; /* each a few words; static strings */

/*
 * Why the change is no inert data in a git directory, or NULL: a sentence without its subject (git/judge.h). Also NULL for what lies in
 * no git directory, for git's control files, which have reasons of their own, and for objects, which git itself reads.
 */
const char *gate_judge_git(const struct gate_change *change);

/*
 * What could run or be obeyed on the host if this file had some content, by its name alone: a few words, or NULL. The path is absolute, of any
 * directory.
 */
const char *gate_reason_of_name(const char *path);

/* Adds the reasons why a person must approve the change; none if it may pass. */
void gate_judge(const struct gate_change *change, gate_reasons *reasons);
