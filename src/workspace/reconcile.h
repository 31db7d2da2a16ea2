/*
 * A file that both the user and a session have changed: whether the two go together, and what comes of it. Nothing is
 * decided here; texts alone are joined, and nothing of a repository's own files.
 */
#pragma once

#include "workspace/merge.h"
#include "workspace/transition.h"

/* The three texts of a conflict. */
struct conflict {
    struct buf base, ours, theirs;
};

/*
 * Reads them. Returns 1, or 0 where one of the three is not a text, or is too large, or the workspace's own is not what
 * was judged any more.
 */
int conflict_read(const struct transition *transition, struct store *store, const struct decision *decision,
                  struct conflict *ret_conflict, struct err *err) must_check;
void conflict_free(struct conflict *conflict);
#define auto_conflict __attribute__((cleanup(conflict_free)))

/* A text in the place of what the session wrote, and the entry that it becomes. */
struct rewrite {
    const struct decision *of;
    struct buf text;
    struct entry *entry; /* made by rewrite_all, in the arena */
};

typedef VEC(struct rewrite) rewrite_list;

/* Keeps the texts in the store. An entry has the workspace's mode, unless the session has changed it. */
int rewrite_all(const char *store_directory, struct arena *arena, rewrite_list *rewrites, struct err *err)
    must_check;
void rewrites_free(rewrite_list *rewrites);
