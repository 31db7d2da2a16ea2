/* Changes as a person or a program reads them: unified diff, statistics, names, JSON. */
#pragma once

#include "base/style.h"
#include "cli/choose.h"
#include "workspace/diff.h"

struct patch {
    const struct world *world;
    const struct loaded *loaded;
    struct style style;
    struct store *store;
    struct arena *arena;
    bool is_raw; /* for a program: the bytes as they are, so that `git apply` takes them */
};

/* Why a change must wait for a person's word: the policy's flags and the gate. The texts live in the patch's arena. */
typedef VEC(const char *) reason_list;
void patch_reasons(const struct patch *patch, const struct change *change, reason_list *ret_reasons);

/* Both contents. Returns NULL, or why they cannot be shown line by line: "is binary". */
const char *patch_read(const struct patch *patch, const struct change *change, struct buf *old,
                       struct buf *new);

/* What comes before the lines: reasons, names, modes. */
void patch_add_head(const struct patch *patch, const struct change *change, struct buf *out);
void patch_add_hunk(const struct patch *patch, const struct hunks *hunks, size_t number, struct buf *out);

void patch_add_diff(const struct patch *patch, const struct change *change, struct buf *out);
void patch_add_stat(const struct patch *patch, const struct change *change, struct buf *out);
void patch_add_json(const struct patch *patch, const struct change *change, struct json *json);

/* "M", "A", "D", "R", "T": one letter for a list. */
char patch_letter(const struct change *change);
