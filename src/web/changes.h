/* The recorded changes of a session, opened for a page. */
#pragma once

#include "report/patch.h"
#include "web/visit.h"

struct changes {
    struct tree before, after;
    change_list list; /* numbered as `bawn review --json` numbers them */
    struct store store;
    struct patch patch;
    const char *state; /* of the trees: record_trees_state() */
};

#define CHANGES_NONE ((struct changes){.store = STORE_NONE})

/* Returns false if the session has no record of changes. */
bool changes_open(struct visit *visit, const char *session, struct changes *ret_changes);
void changes_close(struct changes *changes);
#define auto_changes __attribute__((cleanup(changes_close)))

/* The change that the query names by its number, or NULL. */
const struct change *changes_named(const struct visit *visit, const struct changes *changes);

/* Can it be answered hunk by hunk? */
bool change_has_hunks(const struct change *change);

/*
 * bytes_page.c: bytes that a difference cuts or leaves out, in pieces: the rest of a long line, a binary file. What not even this can show is applied
 * only by an answer of its own.
 */
bool change_can_be_seen(const struct change *change);

/* The contents that no difference shows: how large they are, and a link to each. */
void bytes_add_links(struct visit *visit, const char *session, const struct changes *changes,
                     const struct change *change);

/* diff_rows.c: a difference as rows of a table. */
struct diff_view {
    bool is_side_by_side;
    bool asks;         /* with a choice for each hunk, for the form of a review … */
    bool is_live;      /* … of a run that wrote the workspace itself */
    size_t id;         /* of the change */
    size_t from;       /* leaves out so many lines */
    const char *more;  /* the address of the rest, up to its `from` */
    const char *bytes; /* the address of the bytes of the file, up to its `side`; NULL: there is none */
};

/* Adds some lines of the hunks; if there are more, a link to them. */
void diff_add(struct html *page, struct arena *arena, const struct hunks *hunks,
              const struct diff_view *view);
