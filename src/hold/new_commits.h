/*
 * What refs bring that were moved: git reads every object that their new positions reach and the old ones did not, and
 * lists the commits among them with the files that they change.
 *
 * Theory of operation. One script of git commands runs in a sandbox of its own (read-only, no network, bounded in time and
 * output). Its input are the new positions and, with a caret, the old ones, so that it costs as much as is new.
 *
 *   1. `rev-list --verify-objects` walks from the new positions. It fails where an object is missing or cannot be unpacked,
 *      and where the content of a blob does not have the hash that names it.
 *   2. `cat-file --batch` prints the commits, trees and tags among them. new_commits.c compares their hashes itself, because
 *      git believes their names until `git fsck`.
 *   3. `log --raw` lists the commits with the files that they change, and what each file is then.
 *
 * Positions that only logs name are walked as well, since `git fsck` and `git gc` follow them. Their commits are not listed.
 *
 * Where the walk fails, or a hash is not right, each position is walked by itself: the sound ones are listed, the others are
 * `broken`. Whatever a limit or an error cuts off is `unchecked`, and never passes for sound.
 */
#pragma once

#include "hold/versions.h"

struct new_commits_question {
    struct arena *arena;
    versions_ask *ask; /* NULL: nobody can be asked, and nothing is checked */
    void *context;
    const char *work_tree;
    const char *git_dir; /* NULL: that of the work tree */
    const struct git_refs *before, *after;
    const struct git_refs *logged; /* positions that only logs name, or NULL */
    const char *const
        *packs; /* indexes of packs that are new, "pack-….idx": looked at only where something is broken */
    size_t pack_count;
};

struct new_commit {
    const char *name;
    VEC(const char *) files;    /* that it changes, relative to the work tree */
    VEC(const char *) contents; /* of each file: its mode and hash, "100644 1234…"; zeros: it is removed */
};

struct new_commits {
    VEC(const char *) broken; /* positions that lead to something missing or damaged */
    VEC(const char *)
    damaged; /* files of the object store that git cannot read: "ab/cdef…"; of a pack "pack/pack-….idx" and "….pack" */
    VEC(struct new_commit) commits;
    const char *unchecked; /* why something was not looked at, or NULL */
};

void new_commits_find(const struct new_commits_question *question, struct new_commits *ret_found);
void new_commits_free(struct new_commits *found);

/*
 * A function of the shell: prints "damaged FILE" for each loose object of the directory $objects that git cannot read, or that has not the
 * hash that names it. It fails if git could not look at all of them.
 */
#define NEW_COMMITS_READ_LOOSE                                                                                                    \
    "read_loose() {\n"                                                                                                            \
    "    format=$(git rev-parse --show-object-format 2>/dev/null || echo sha1)\n"                                                 \
    "    (unset GIT_OBJECT_DIRECTORY; git init -q --bare --template= --object-format=\"$format\" \"$t/empty\") || return\n"       \
    "    GIT_OBJECT_DIRECTORY=$objects git --git-dir=\"$t/empty\" fsck --no-full --no-dangling --no-progress >\"$t/said\" 2>&1\n" \
    "    test $? -lt 128 || return\n"                                                                                             \
    "    sed -n 's,^error: .*/\\(../[0-9a-f]*\\)$,damaged \\1,p' \"$t/said\"\n"                                                   \
    "}\n"

/* Does a ref stand at a position that none had before? Else git is asked nothing. */
bool new_commits_has_new(const struct git_refs *before, const struct git_refs *after);

/* Adds a damaged file of the object store. A pack is named by its index, and is damaged with it. */
void new_commits_add_damaged(struct arena *arena, const char *file, struct new_commits *found);

bool new_commits_is_broken(const struct new_commits *found, const char *digits);
