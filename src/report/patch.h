/* The changes of a session as text: unified diff, statistics, names, JSON. */
#pragma once

#include "base/json.h"
#include "base/style.h"
#include "content/store.h"
#include "policy/policy.h"
#include "workspace/compare.h"
#include "workspace/diff.h"
#include "workspace/gate.h"

struct patch {
    const struct policy *policy;
    struct style style;
    struct store *store;
    struct arena *arena;
    bool is_raw; /* for a program: as `git apply --binary` takes it, the files' contents byte by byte */
};

/* Why a person must approve a change: the policy's flags, and the gate. The texts live in the patch's arena. */
gate_reasons patch_reasons(const struct patch *patch, const struct change *change);

/* Reads both contents. Returns NULL, or why they cannot be shown line by line: "is binary". */
const char *patch_read(const struct patch *patch, const struct change *change, struct buf *old,
                       struct buf *new);

/* One content. Returns NULL, or why it cannot be had: "has content that was not kept". */
const char *patch_read_side(const struct patch *patch, const struct entry *entry, size_t most,
                            struct buf *ret_bytes);

/* A name as git writes it in a diff: in quotes if it has a byte that could be misread. */
const char *patch_quoted_name(const struct patch *patch, const char *prefix, const char *path);

/* The lines above the first hunk: reasons, names, modes. */
void patch_add_reasons(const struct patch *patch, const struct change *change, struct buf *out);
void patch_add_head(const struct patch *patch, const struct change *change, struct buf *out);
void patch_add_hunk(const struct patch *patch, const struct hunks *hunks, size_t number, struct buf *out);

/* git_patch.c */
void patch_add_for_git(const struct patch *patch, const struct change *change, struct buf *out);

void patch_add_diff(const struct patch *patch, const struct change *change, struct buf *out);
void patch_add_stat(const struct patch *patch, const struct change *change, struct buf *out);
void patch_add_json(const struct patch *patch, const struct change *change, struct json *json);

/* One letter for a list: M, A, D, R or T. */
char patch_letter(const struct change *change);

/* Adds the clashing lines for a person to read: yours, the base, the session's. */
void conflict_add(struct buf *out, const struct style *style, const char *clashes);
