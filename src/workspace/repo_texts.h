/*
 * What the files of a git repository held at three moments. A file that neither tree has did not change between START
 * and END; its text NOW stands for all three. All texts may be a sandbox's, and are bounded.
 */
#pragma once

#include "content/store.h"
#include "workspace/packed_refs.h"
#include "workspace/tree.h"

enum moment { START, END, NOW, MOMENTS }; /* of a run; NOW: in the workspace */

struct repo_texts {
    const struct tree *start, *end; /* whole or partial */
    int top_fd;                     /* of the workspace */
    struct store *store;
    struct arena *arena;
    const char *prefix; /* the path of the git directory, with its slash */
    struct packed_refs packed[MOMENTS];
};

/* The other members are filled in; this reads the packed refs. */
void repo_texts_begin(struct repo_texts *texts);
void repo_texts_end(struct repo_texts *texts);

/* Reads a regular file of the repository. Returns false if there is none, or if it cannot be read. */
bool repo_texts_read(const struct repo_texts *texts, enum moment moment, const char *inner, size_t most,
                     struct buf *ret_text);

/* The value of a ref, loose or packed: a hash, or "ref: …"; NULL if there is none. */
const char *repo_texts_value(const struct repo_texts *texts, enum moment moment, const char *ref);
bool repo_texts_is_same(const char *value, const char *other);

/* The path after the git directory; "" if it belongs to another repository. */
const char *repo_texts_inner(const struct repo_texts *texts, const char *path);
