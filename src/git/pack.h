/*
 * The commits in a pack that a client sends, as far as they are a proof that updates are fast-forwards (git/push.h). git sends commits
 * first, before trees and files; what follows them is not read. Pure and bounded; the bytes come from a sandbox.
 *
 * A pack has no commit that the server has already. So an update to such a commit has no proof here.
 */
#pragma once

#include "git/push.h"

enum {
    PACK_MOST_COMMITS = 20000,
    PACK_LARGEST_COMMITS = 16 * 1024 * 1024, /* of all, when they are decompressed */
    PACK_MOST_PROOFS = 16,                   /* further updates have none */
};

struct pack_commit {
    size_t offset; /* of its entry in the pack */
    struct bytes content;
};

struct pack {
    struct arena arena;
    VEC(struct pack_commit) commits;
    size_t at;   /* the entry that comes next */
    size_t left; /* entries */
    size_t total;
    bool has_begun;
    bool is_done; /* there is no further commit, or none that can be read */
    VEC(struct ancestry) proofs;
    VEC(struct push_command *) proving; /* the command of each proof */
};

/* For the commands that need a proof. The push must stay. */
void pack_begin(struct pack *pack, struct push *push);

/*
 * Reads on: `all` is the pack from its beginning, as far as it has come. Clears `needs_proof` where the proof is whole. Returns whether it
 * could read more if more came.
 */
bool pack_read(struct pack *pack, struct bytes all);

void pack_free(struct pack *pack);
