/*
 * The versions of a path that a repository had when a command started: at the tips of its branches and tags, or in a commit
 * that came before one of them. Content that merely lies in the store does not count: anybody can put it there unseen.
 *
 * git is asked, and may answer what it likes: each answer must have the hash that was asked for, in a chain that begins
 * with the tips noted before the command ran.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"
#include "git/refs.h"

/*
 * Asks git, in a sandbox of its own, in the work tree: a command (ended by NULL) with these lines as its input. The output and
 * the time are bounded by the callee. Returns 0 if the command succeeds and all of its output came.
 */
typedef int versions_ask(void *context, const char *work_tree, const char *const *command,
                         const struct buf *input, struct buf *ret_output);

/* The refs of a git directory when the command started. */
struct refs_at_start {
    const char *git_dir;
    struct git_refs refs;
};

struct versions {
    struct arena *arena;
    versions_ask *ask; /* NULL: nobody can be asked, and no version is known */
    void *context;
    git_hashes tips; /* of branches and tags; at most as many as one question can follow */
    VEC(struct refs_at_start) starts;
    struct map objects; /* hash → what it holds, verified */
};

/* Was this ever the content of the path, relative to the work tree? */
struct version {
    const char *path;
    struct bytes content; /* one that was not read is never an old version */
    bool was_there;       /* the answer */
};

/* Notes the refs of one more git directory, as they were before that time. */
void versions_begin(struct versions *versions, struct arena *arena, const char *git_dir,
                    struct timespec before);

/* The same for the repository of a submodule: what its branches had are no versions of the work tree's files. */
void versions_begin_part(struct versions *versions, struct arena *arena, const char *git_dir,
                         struct timespec before);

/* All questions about a work tree at once: each round to git costs a sandbox. */
void versions_find(struct versions *versions, const char *work_tree, struct version *wanted, size_t count);

/*
 * Did the repository have a state without the path on which this commit is built? That is the commit itself, if it is a tip or came
 * before one, or the last such commit on a line of descent. False where nobody can tell.
 */
bool versions_lack(struct versions *versions, const char *work_tree, const char *commit, const char *path);

/* Does this commit hold the version, as its objects prove? */
bool versions_commit_has(struct versions *versions, const char *work_tree, const char *commit,
                         const struct version *version);

/* The refs that were noted for a git directory, or NULL. */
const struct git_refs *versions_refs(const struct versions *versions, const char *git_dir);

/* One answer of `git cat-file --batch`. */
struct git_answer {
    const char *name; /* its digits */
    const char *kind;
    struct bytes content; /* not known: the object is missing */
};

/* Takes the next answer from the text. Returns false at the end, or where it is cut off. */
bool git_answer_take(struct arena *arena, struct bytes *text, struct git_answer *ret_answer);

void versions_free(struct versions *versions);
