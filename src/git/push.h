/*
 * What git's client says when it pushes, read strictly: pkt-lines with one command for each ref, then a pack. And which of it may pass.
 * Pure functions; the bytes come from a sandbox.
 *
 * The reader takes bytes until the commands are whole. What passes is written anew from what was understood (push_add_commands), so that the
 * server cannot read the same bytes in another way. Whatever is not understood is refused: a signed push, an unknown capability, a ref that
 * git would not take.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "git/refs.h"

/* --- pkt-lines --- */

enum { PKT_LARGEST = 65520, PKT_HEAD = 4 };

/* Adds one pkt-line with these bytes, which fit; and the packet that ends a list. */
void pkt_add(struct buf *out, struct bytes content);
void pkt_add_flush(struct buf *out);

/* --- the commands of a push --- */

enum { PUSH_LARGEST = 4 * 1024 * 1024, PUSH_MOST_COMMANDS = 4096, PUSH_MOST_LINES = 8192 };

enum push_kind { PUSH_CREATE, PUSH_UPDATE, PUSH_DELETE };

struct push_command {
    enum push_kind kind;
    struct git_position before, after; /* zeros: the ref is not there */
    const char *ref;
    const char *refusal; /* set by push_judge(); NULL: it may pass */
    bool needs_proof;    /* likewise: it may pass if `before` is an ancestor of `after` */
};

typedef VEC(const char *) push_texts;

enum push_state {
    PUSH_MORE,  /* the commands are not whole yet */
    PUSH_WHOLE, /* what follows is the pack */
    PUSH_BAD,   /* `problem` says why */
};

struct push {
    struct arena arena;
    enum push_state state;
    const char *problem;
    bool in_options;    /* the commands are whole, and push options follow */
    struct buf pending; /* a pkt-line that has begun */
    size_t taken;       /* bytes in all */
    VEC(struct push_command) commands;
    struct map refs;             /* those of the commands */
    push_texts shallow, options; /* as they were sent */
    const char *capabilities;    /* with spaces between them; NULL: there is no command yet */
    bool has_report, has_sideband, has_options;
    size_t digits; /* of a hash; 0: not known yet */
};

/* Takes bytes until the commands are whole. Returns how many; the rest belongs to the pack. */
size_t push_take(struct push *push, struct bytes bytes);
void push_free(struct push *push);

/* Does a pack follow the commands? Not if all of them delete. */
bool push_has_pack(const struct push *push);

/* Commands and options, in one spelling. */
void push_add_commands(const struct push *push, struct buf *out);

/* --- what may pass --- */

struct push_rule {
    const char *const *refs; /* patterns, as base/pattern.h has them */
    size_t ref_count;
    bool may_force, may_delete, may_send_options;
};

/* Sets what is refused and what needs a proof, of a push that is whole. */
void push_judge(struct push *push, const struct push_rule *rules, size_t count);

/* The proof for this command failed, or there is none. */
void push_refuse_unproven(struct push_command *command);

/* Is any command refused? Then nothing of the push may pass. */
bool push_is_refused(const struct push *push);

/* Adds the answer of a server that refuses: one line for each ref, and a sentence where the client shows one. */
void push_add_refusal(const struct push *push, struct buf *out);

/* --- ancestry.c: a proof that a commit is an ancestor of another --- */

enum { ANCESTRY_MOST_COMMITS = 100000, ANCESTRY_LARGEST_COMMIT = 1024 * 1024 };

/*
 * The proof is what `git cat-file --batch` prints for commits, children before their parents. Each must have the hash that its child names, so it
 * does not matter who wrote the proof. A commit that no child has named before is not counted.
 */
struct ancestry {
    struct arena arena;
    struct map reached; /* hashes: the later commit, and the parents of commits that were read */
    struct git_position before;
    size_t digits;
    struct buf pending;
    bool is_proven;
    bool has_failed; /* what was sent is not such a list, or too long */
};

void ancestry_begin(struct ancestry *ancestry, const struct push_command *command);
void ancestry_take(struct ancestry *ancestry, struct bytes bytes);
void ancestry_free(struct ancestry *ancestry);
