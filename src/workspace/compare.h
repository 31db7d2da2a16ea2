/*
 * What changed between two trees: one change a path, in the order of a walk. This is what review, apply and undo all
 * speak of. A pure function of the two.
 */
#pragma once

#include "workspace/tree.h"

#define CHANGES(X)                                                                                           \
    X(ADDED, "added")                                                                                        \
    X(DELETED, "deleted")                                                                                    \
    X(KIND, "kind")       /* a file became a directory, a link a file … */                                 \
    X(CONTENT, "content") /* of a regular file */                                                            \
    X(TARGET, "target")   /* of a symbolic link */                                                           \
    X(MODE, "mode")                                                                                          \
    X(ATTRIBUTES, "attributes")                                                                              \
    X(LINKS, "links") /* it became another name of a file, or ceased to be one */                            \
    X(TIME, "time")

enum change_bit {
#define X(id, name) CHANGE_BIT_##id,
    CHANGES(X)
#undef X
        CHANGE_BITS,
};

enum change_kind {
#define X(id, name) CHANGE_##id = 1 << CHANGE_BIT_##id,
    CHANGES(X)
#undef X
};

const char *change_name(enum change_bit bit);

struct change {
    const char *path;
    const struct entry *before, *after; /* NULL: there is none */
    unsigned what;                      /* CHANGE_… */
    const struct change *renamed;       /* the other half of what looks like a rename; for display */
};

typedef VEC(struct change) change_list;

/* What differs between two entries of one path; 0: nothing. */
unsigned entries_differ(const struct entry *a, const struct entry *b);

/* Set-id bits of a file that it did not have before, with this content. */
uint32_t entry_new_ids(const struct entry *before, const struct entry *after);

/* Times alone count as a change too: whoever shows changes to a person passes over those. */
void compare_trees(const struct tree *before, const struct tree *after, change_list *ret_changes);

/* Is there anything that a person would call a change? */
bool change_is_shown(const struct change *change);

/* Pairs a deleted file with an added one of the same content. */
void compare_find_renames(change_list *changes);

/* Saves the changes as two partial trees: the entries before, and the entries after. */
int compare_save(int folder_fd, const struct tree *before, const struct tree *after, const char *before_name,
                 const char *after_name, struct err *err) must_check;
