/*
 * A walk through what a session changed, one item after the other, each settled with a key: a file, a pair that looks like
 * a rename, or a repository as a whole. Nothing happens before the end, when all of it is shown once more and confirmed.
 *
 *   walk_items.c   which changes are one item
 *   walk_settle.c  what the answers mean for the decisions, and for what of the session still waits
 *   walk.c         the walk itself
 *   walk_hunks.c   a file hunk by hunk
 */
#pragma once

#include "cli/conflicts.h"
#include "cli/keys.h"
#include "report/patch.h"

enum answer {
    ANSWER_NONE,
    ANSWER_YES = 'y',    /* apply it; of a live run: keep it */
    ANSWER_NO = 'n',     /* leave it: it waits, or stays as it is */
    ANSWER_OUT = 'x',    /* throw it away; of a live run: take it back */
    ANSWER_MERGE = 'm',  /* of a conflict: join both */
    ANSWER_THEIRS = 't', /* of a conflict: overwrite mine */
    ANSWER_HUNKS = 'h',  /* each hunk has an answer of its own */
};

struct item {
    VEC(size_t) members; /* of the decisions; the first one gives the item its name */
    bool is_repository, is_risky;
    enum answer answer;
    struct buf old, new; /* what the hunks are of */
    struct hunks hunks;
    VEC(char) hunk_answers; /* ANSWER_YES, ANSWER_NO, ANSWER_OUT or ANSWER_NONE */
    struct buf joined;      /* of a conflict: both, where nothing clashes */
};

struct walk {
    const struct world *world;
    const struct choice *choice;
    const struct patch *patch;
    struct carry *carry;
    decision_list *decisions;
    bool is_live;  /* the session wrote the workspace itself: it can be kept or taken back */
    bool by_hunks; /* begin each file with its hunks */
    struct keys keys;
    VEC(struct item) items;
};

/* Puts the decisions into items. */
void walk_collect(struct walk *walk);
void walk_free(struct walk *walk);

/* The change as the session made it, whichever way the decisions go. */
struct change walk_change(const struct walk *walk, size_t decision);

/* Is it a file whose lines can be taken one by one? Fills in the item's hunks. */
bool walk_find_hunks(const struct walk *walk, struct item *item);

/* What the answers mean: the courses of the decisions, and what of the session still waits. */
int walk_settle(struct walk *walk, struct err *err) must_check;

struct walk_tally {
    size_t yes, no, out;
};
struct walk_tally walk_count(const struct walk *walk);

/* Asks about each item. Returns false where the person gave up: nothing may happen then. */
bool walk_ask(struct walk *walk);

/* Asks about each hunk of an item. Returns the key that ended it: KEY_CANCEL, 'q', or 0 where all have an answer. */
char walk_ask_hunks(struct walk *walk, struct item *item);

/* The whole of it, for a session whose trees are open: what happened, the walk, the end. Returns the exit status. */
struct args;
int walk_session(const struct world *world, const struct args *args, struct choice *choice,
                 const struct record *record);

/* Shows a text, a screen at a time, and a question with the keys that answer it; returns one of them. */
char walk_question(struct walk *walk, const struct buf *text, const char *question, const char *keys,
                   const char *help);
