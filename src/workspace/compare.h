/* The changes between two trees, one for each path, in walk order. Review, apply and undo all work on this list. */
#pragma once

#include "workspace/tree.h"

#define CHANGES(X)                                                                                           \
    X(ADDED, "added")                                                                                        \
    X(DELETED, "deleted")                                                                                    \
    X(KIND, "kind")       /* the file type: a file became a directory, a symlink became a file … */        \
    X(CONTENT, "content") /* of a regular file */                                                            \
    X(TARGET, "target")   /* of a symlink */                                                                 \
    X(MODE, "mode")                                                                                          \
    X(ATTRIBUTES, "attributes")                                                                              \
    X(LINKS, "links") /* it became a hard link of another path, or is one no longer */                       \
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

const char *change_name(enum change_bit value);

struct change {
    const char *path;
    const struct entry *before, *after; /* NULL: the path does not exist */
    unsigned what;                      /* CHANGE_… */
    const struct change *renamed;       /* the other half of a probable rename; for display */
};

typedef VEC(struct change) change_list;

/* Returns what differs between two entries of one path, or 0. */
unsigned entries_differ(const struct entry *a, const struct entry *b);

/* Returns the set-id bits that the file did not have before with this content. */
uint32_t entry_new_ids(const struct entry *before, const struct entry *after);

/* Finds all changes. A change of time alone counts, too; code that shows changes leaves those out. */
void compare_trees(const struct tree *before, const struct tree *after, change_list *ret_changes);

/* Is this a change that is shown to a person? */
bool change_is_shown(const struct change *change);

/* Is the path there before and after, and differs in nothing but its mode, attributes and time? */
static inline bool change_is_mode(const struct change *change)
{
    const unsigned shown = CHANGE_MODE | CHANGE_ATTRIBUTES, other = change->what & ~(shown | CHANGE_TIME);
    return change->before && change->after && change->what & shown && !other;
}

/*
 * Is it counted? Those that are shown are, except a directory that was made or removed with something in it: a person counts the
 * files. So the count is 0 only if nothing is shown.
 */
bool change_counts(const change_list *changes, size_t number);
uint64_t changes_count(const change_list *changes);

/* Pairs each deleted file with an added file of the same content. */
void compare_find_renames(change_list *changes);

/* Saves the changes as two partial trees: the entries before, and the entries after. */
int compare_save(int folder_fd, const struct tree *before, const struct tree *after, const char *before_name,
                 const char *after_name, struct err *err) must_check;

/* The same for a list of changes between these trees. It may contain entries that are the same before and after: context. */
int compare_save_list(int folder_fd, const change_list *changes, const struct tree *before,
                      const struct tree *after, const char *before_name, const char *after_name,
                      struct err *err) must_check;
