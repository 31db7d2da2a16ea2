/*
 * A review: the person goes through what a session changed, one item after the other, and answers each with a key. An item is a
 * file, a pair that looks like a rename, or a repository as a whole. Nothing happens before the end, when all of it is shown once
 * more and confirmed.
 *
 *   review_items.c  which changes are one item, and what the answers mean
 *   review.c        the questions, item by item and hunk by hunk
 */
#pragma once

#include "cli/dialogue.h"
#include "cli/terminal.h"
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

struct review {
    const struct world *world;
    const struct choice *choice;
    const struct patch *patch;
    struct dialogue *dialogue;
    decision_list *decisions;
    bool is_live;  /* the session wrote the workspace itself: it can be kept or taken back */
    bool by_hunks; /* begin each file with its hunks */
    struct keys keys;
    VEC(struct item) items;
};

/* Puts the decisions into items. */
void review_collect(struct review *review);
void review_free(struct review *review);

/* The change as the session made it, whichever way the decisions go. */
struct change review_change(const struct review *review, size_t decision);

/* Is it a file whose lines can be taken one by one? Fills in the item's hunks. */
bool review_find_hunks(const struct review *review, struct item *item);

/* What the answers mean: the courses of the decisions, and what of the session still waits. */
int review_settle(struct review *review, struct err *err) must_check;

struct review_tally {
    size_t yes, no, out;
};
struct review_tally review_count(const struct review *review);

/* Asks about each item. Returns false where the person gave up: nothing may happen then. */
bool review_ask(struct review *review);

/* The whole of it, for a session whose trees are open: what happened, the review, the end. Returns the exit status. */
struct args;
int review_session(const struct world *world, const struct args *args, struct choice *choice,
                   const struct record *record);

/* Shows a text, a screen at a time, and a question with the keys that answer it; returns one of them. */
char review_question(struct review *review, const struct buf *text, const char *question, const char *keys,
                     const char *help);
