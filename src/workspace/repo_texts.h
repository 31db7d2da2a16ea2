/*
 * What the files of a git repository held at three moments. A file that neither tree has did not change between START
 * and END; its text NOW stands for all three. All texts may be a sandbox's, and are bounded.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "content/store.h"
#include "workspace/transition.h"
#include "workspace/tree.h"

/*
 * packed_refs.c: the text of git's `packed-refs`. Its refs in a list, and the text with some of them changed. The text comes from a
 * sandbox; a text with a line that git does not write, or with a ref twice, is not sound, and is not edited. Pure functions.
 */
struct packed_ref {
    const char *name, *value;
    const char *text; /* the line, and the line of what a tag stands for */
};

struct packed_refs {
    bool is_there, is_sound;
    const char *head; /* the first line, a comment; "" if there is none */
    VEC(struct packed_ref) lines;
    struct map by_name;
};

void packed_refs_parse(struct arena *arena, const struct buf *text, struct packed_refs *ret_refs);
void packed_refs_free(struct packed_refs *refs);

/* The value of a ref, or NULL. */
const char *packed_refs_find(const struct packed_refs *refs, const char *name);

/* The ref gets the line that it has in `from`; NULL: it gets none. */
struct packed_edit {
    const char *name;
    const struct packed_refs *from;
};

typedef VEC(struct packed_edit) packed_edits;

void packed_refs_edit(packed_edits *edits, const char *name, const struct packed_refs *from);

/* Does every ref have the same value in `other` as with the edits? */
bool packed_refs_become(const struct packed_refs *refs, const packed_edits *edits,
                        const struct packed_refs *other);

/* Writes the refs with the edits. `other` has the head if `refs` has none. */
void packed_refs_write(const struct packed_refs *refs, const struct packed_refs *other,
                       const packed_edits *edits, struct buf *ret_text);

/* repo_texts.c */

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

/* reflogs.c: the logs of a repository's refs. Which branches a run was on, and what of a log an undo brings back. */

/* Calls `add` for each branch, or other name, that the log of HEAD says that HEAD left or came to during the run. */
typedef void reflogs_branch(void *context, const char *name, size_t size);
void reflogs_find_branches(const struct repo_texts *texts, reflogs_branch *add, void *context);

/* Logs stay, so that every commit can be found. A log that is gone comes back, and so do lines that were lost. */
int reflogs_decide(const struct repo_texts *texts, const struct transition *transition,
                   struct decision *decision, struct err *err) must_check;

/* The log of a branch that goes: goes with it, if the log of HEAD has the commit. */
void reflogs_decide_removed(const struct repo_texts *texts, struct decision *log, const char *value);

/*
 * The list of stashes is the log of a ref, so both go together. They go back if stashes were dropped and none was
 * added; otherwise they stay, and are named. Either decision may be NULL.
 */
#define REFLOGS_STASH     "refs/stash"
#define REFLOGS_STASH_LOG "logs/refs/stash"
void reflogs_decide_stash(const struct repo_texts *texts, const struct transition *transition,
                          struct decision *ref, struct decision *log);
