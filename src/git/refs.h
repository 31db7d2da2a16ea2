/* The refs of a repository, read from its files without git: "HEAD", and whatever lies below refs/ or in packed-refs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/vec.h"

/* --- branch.c: where branches stand, read through no link. Any hash that git has: 40 or 64 digits. */

enum { GIT_DIGITS_MOST = 64 };

struct git_position {
    char digits[GIT_DIGITS_MOST + 1];
};

/* Would git take it for the name of a branch? */
bool git_branch_is_sound(const char *name);

/* A text of nothing but a hash and the end of its line. */
bool git_position_parse(const char *text, struct git_position *ret_position);

/* The commit of "refs/heads/NAME". Returns false where there is none. */
bool git_branch_position(int git_dir_fd, const char *name, struct git_position *ret_position);

/* The branch that HEAD of a git directory is on, or NULL; `ret_name` has room for it. */
enum { GIT_NAME_MOST = 255 };
bool git_head_branch(int git_dir_fd, const char *head, char ret_name[GIT_NAME_MOST + 1]);

/* The commit that a HEAD stands at: "HEAD" or "worktrees/NAME/HEAD". */
bool git_head_position(int git_dir_fd, const char *head, struct git_position *ret_position);

/* --- packed.c: hashes in a text, and the lines of packed-refs. Pure functions. The text may come from a sandbox. */

enum { SHA1_SIZE = 20, SHA1_DIGITS = 40, SHA256_DIGITS = 64 };

/* Takes a hash off the front of a text: 40 or 64 digits of either case, as git reads them. The position has small letters. */
bool git_position_take(struct bytes *text, struct git_position *ret_position);

/* The same, for digits in small letters alone, as git writes them. */
bool git_position_take_small(struct bytes *text, struct git_position *ret_position);

/* Is it the position of nothing, all zeros? */
bool git_position_is_null(const struct git_position *position);

/* A line of a reflog, without its newline: where its ref stood before and after. Returns false if git does not write such a line. */
bool git_logged_parse(struct bytes line, struct git_position *ret_old, struct git_position *ret_new);

enum { GIT_PACKED_REFS_MOST = 64 * 1024 * 1024 };

enum git_packed_kind {
    GIT_PACKED_REF,     /* "HASH NAME" */
    GIT_PACKED_PEELED,  /* "^HASH": what the tag of the line before stands for, as somebody claims */
    GIT_PACKED_COMMENT, /* "# …": git allows it on the first line alone */
    GIT_PACKED_JUNK,    /* git could not read it, or it has a NUL */
};

struct git_packed_line {
    enum git_packed_kind kind;
    struct bytes text;      /* without its newline */
    struct bytes name;      /* of a ref: never empty; git_ref_is_sound() may still refuse it */
    struct git_position at; /* of a ref, and of a peeled tag */
    bool
        is_plain; /* of those two: as git writes it. git also reads capital digits, and a tab for the space. */
};

struct git_packed_line git_packed_parse(struct bytes text);

/* Takes a line off the text. The last one may lack its newline. Returns false at the end. */
bool git_packed_next(struct bytes *rest, struct git_packed_line *ret_line);

/* The commit of a ref ("refs/heads/NAME") in the text of packed refs. Returns false where there is none. */
bool git_packed_position(struct bytes packed, const char *ref, struct git_position *ret_position);

/* --- refs.c: all refs, and the names of objects */

struct git_hash {
    unsigned char bytes[SHA1_SIZE];
};

typedef VEC(struct git_hash) git_hashes;

struct git_ref {
    const char *name; /* "HEAD" where it is detached, "worktrees/NAME/HEAD", "refs/heads/main" */
    struct git_position at;
    bool is_packed;
};

/* Each name once, as git reads it: a file of its own counts, not the line in packed-refs. */
struct git_refs {
    VEC(struct git_ref) list;
    const char *unread; /* the first thing that a limit or an error cut off; NULL: all refs were read */
};

/*
 * Files that were changed since `before` are left out: somebody else may have written them. A symbolic ref has no position
 * of its own, and is left out. What git would follow and this function does not (a link, a reftable) is `unread`.
 */
void git_refs_read(const char *git_dir, struct timespec before, struct arena *arena, struct git_refs *refs);
void git_refs_free(struct git_refs *refs);

/* The ref of that name, or NULL. */
const struct git_ref *git_refs_find(const struct git_refs *refs, const char *name);

/* Is it HEAD, a branch (also a remote's) or a tag? Neither the stash nor what a tool keeps for itself below refs/. */
bool git_ref_is_branch_or_tag(const char *name);

/* Forty digits. Returns false for anything else. */
int git_hash_parse(const char *text, struct git_hash *ret_hash);
void git_hash_format(const struct git_hash *hash, char ret_text[SHA1_DIGITS + 1]);

/*
 * The name that git gives an object of this kind. Returns false if its content is the half of a collision attack on SHA-1: other content may
 * have the same name, so that it says nothing of what is meant.
 */
bool git_hash_of(const char *kind, struct bytes content, struct git_hash *ret_hash) must_check;

/* The same in digits, of either hash: `digits` is SHA1_DIGITS or SHA256_DIGITS. */
bool git_object_name(const char *kind, struct bytes content, size_t digits, char ret_name[SHA256_HEX_SIZE])
    must_check;
bool git_object_is(const char *kind, struct bytes content, const char *name, size_t digits);

/* --- sha1.c: SHA-1 (FIPS 180-4), of two pieces after one another. git names its objects by it: a head stands before their content. */

/* A checksum, which vouches for nothing: anybody can make two contents that share it. */
void sha1_of(struct bytes head, struct bytes content, unsigned char ret_hash[SHA1_SIZE]);

/* Of an object. Returns false if it has the marks of a collision attack; git refuses such an object, too. Ten times as slow. */
bool sha1_of_object(struct bytes head, struct bytes content, unsigned char ret_hash[SHA1_SIZE]) must_check;
