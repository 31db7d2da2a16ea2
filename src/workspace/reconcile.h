/*
 * Conflicts: files that both the user and a session have changed. This file reads the texts that merge.c needs, and
 * stores the merged text as a new entry. Only texts are merged, and never the files of a git repository. Decisions
 * are made elsewhere.
 */
#pragma once

#include "workspace/diff.h"
#include "workspace/transition.h"

/* The three texts of a conflict. */
struct conflict {
    struct buf base, ours, theirs;
};

/*
 * Reads them. Returns 1, or 0 if one of them is not text or too large, or if the workspace's file is no longer the
 * one that was judged.
 */
int conflict_read(const struct transition *transition, struct store *store, const struct decision *decision,
                  struct conflict *ret_conflict, struct err *err) must_check;
void conflict_free(struct conflict *conflict);
#define auto_conflict __attribute__((cleanup(conflict_free)))

/* A text that replaces what the session wrote. */
struct rewrite {
    const struct decision *of;
    struct buf text;
    struct entry *entry; /* made by rewrite_all, in the arena */
};

typedef VEC(struct rewrite) rewrite_list;

/*
 * Puts the texts into the content store and makes their entries. An entry has the mode of the workspace's file,
 * unless the session changed the mode. A tree in the session's folder names the texts from now on: a person is asked before
 * another one does, and a prune in between must not remove them.
 */
int rewrite_all(const char *store_directory, int folder_fd, struct arena *arena, rewrite_list *rewrites,
                struct err *err) must_check;

/* Puts a text into the store and makes its entry, with the path and mode of `like`. Others see it only after store_flush. */
int entry_of_text(struct store *store, struct arena *arena, const struct entry *like, const struct buf *text,
                  struct entry **ret_entry, struct err *err) must_check;
void rewrites_free(rewrite_list *rewrites);
