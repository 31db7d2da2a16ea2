/*
 * Says of one path in a git directory whether it is inert data in its valid form: something that git reads, and neither
 * runs, follows nor obeys. This is a list of what may stay. Whatever is not on it is held: also what a later git adds.
 *
 *   judge.c         which name is which kind of file
 *   judge_form.c    the form of refs, packed refs, reflogs, lists of commits, messages
 *   judge_store.c   the form of objects, packs and what git keeps beside them
 *   verify.c        which paths may stand in an index
 *   index.c         the index itself
 *
 * Pure: no system call and no memory but the caller's. Everything in an entry may come from an attacker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"

struct git_entry {
    const char *path; /* below the git directory, without a slash at its end: "refs/heads/main" */
    mode_t mode;      /* with its kind, as lstat gives it */
    nlink_t links;    /* names that it has; 0: not known, and not judged */
    uint64_t length;
    struct bytes bytes; /* of a regular file: the first git_judge_wants() bytes, or all where it has fewer */
    size_t hash_size;   /* of the repository's hashes: 20 or 32 bytes; 0: not known, either may be */
};

/* How many bytes of a regular file at this path the judge reads at most; 0: name, kind and length are enough. */
size_t git_judge_wants(const char *path);

/*
 * Returns NULL for inert data, and for a directory that may lie there. Otherwise why it is held: a sentence without its
 * subject and full stop ("is a symbolic link in a git directory"). The text is constant.
 *
 * What git_is_control() says yes to is never inert. Bawn freezes it, and has rules of its own for what is new in it: ask that first.
 */
const char *git_judge(const struct git_entry *entry);

/* What git_judge() returns (the very address) for a file that is held for nothing but its second name, or for that first. */
extern const char git_is_second_name[];

/* The same for a file or directory whose name is none of git's. */
extern const char git_is_unknown[];

/* Configuration, hooks, old files of remotes: "config", "config.worktree", "hooks/…", "remotes/…", "branches/…". */
bool git_is_control(const char *path);

/* Is it a commit-graph, or a part of one? git believes what it says of commits, and does not read them. */
bool git_is_commit_graph(const char *path);

/* Is it an index of several packs, or a part of one? git believes where it says that an object lies. */
bool git_is_multi_pack_index(const char *path);

/*
 * The size of the part of a path that is held as a whole ("rebase-merge" of "rebase-merge/done"): files of one unfinished
 * operation, which mean nothing without each other. 0: the file is held by itself. `ret_what` says which operation it is ("a
 * rebase that is not finished").
 */
size_t git_unfinished_size(const char *path, const char **ret_what);

/* Is it a lock ("index.lock")? It is inert, but git on the host does not work while it lies there. */
bool git_is_lock(const char *path);

/* A path of a workspace (or any other), in two parts at its git directory. */
struct git_inner {
    size_t
        size; /* of the git directory's path, with its slash: of "sub/.git/", ".git/modules/NAME/"; 0: in none */
    const char
        *path; /* below it: "HEAD", "refs/heads/main"; of a linked worktree, the part after its directory */
    bool is_linked; /* in "worktrees/NAME/", of which `size` does not count a byte */
};

struct git_inner git_inner_of(const char *path);

/* Of a path below a git directory: the size of the part that leads into a submodule's own ("modules/NAME/"), or 0. */
size_t git_module_size(const char *path);

/* --- forms, for whoever looks up what a file names -------------------------------------------------------------------------- */

/* "refs/…" in a form that git takes. */
bool git_ref_is_sound(const char *ref);

enum { GIT_REF_LARGEST = 4096 };

/*
 * The ref that a symbolic ref names ("ref: refs/heads/main", with or without the space), as a part of the text. Returns false where
 * the text is none.
 */
bool git_symbolic_parse(struct bytes text, struct bytes *ret_ref);

/* Is it a ref or a peeled tag in the form that git writes, with a name that git takes? */
struct git_packed_line;
bool git_packed_is_sound(const struct git_packed_line *line);
