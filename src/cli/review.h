/*
 * A review: the person answers each change of a session with a key. An item is a file, a pair that looks like a
 * rename, or a whole repository. Nothing is replaced before the end, when the person confirms the answers.
 *
 * review_items.c groups changes into items and turns answers into decisions; review.c asks on a terminal, review_answers.c
 * takes answers from a program.
 */
#pragma once

#include "cli/answer.h"
#include "cli/dialogue.h"
#include "report/patch.h"

enum answer {
    ANSWER_NONE,
    ANSWER_YES = 'y',    /* apply it; live run: keep it */
    ANSWER_NO = 'n',     /* leave it: it waits; live run: it stays */
    ANSWER_OUT = 'x',    /* throw it away; live run: take it back */
    ANSWER_MERGE = 'm',  /* conflict: merge both */
    ANSWER_THEIRS = 't', /* conflict: overwrite the user's */
    ANSWER_HUNKS = 'h',  /* the hunks have their own answers */
};

struct item {
    VEC(size_t) members; /* indexes of decisions; the first one names the item */
    bool is_repository, is_risky;
    enum answer answer;
    struct buf old, new; /* the texts of the hunks */
    struct hunks hunks;
    VEC(char) hunk_answers; /* ANSWER_YES, ANSWER_NO, ANSWER_OUT or ANSWER_NONE */
    struct buf joined;      /* conflict: the merged text, if no lines clash */
};

struct review {
    const struct world *world;
    const struct choice *choice;
    const struct patch *patch;
    struct dialogue *dialogue;
    decision_list *decisions;
    const char *commits; /* why the commits of the session need approval, or NULL */
    bool is_live;        /* the session wrote the workspace directly: changes are kept or taken back */
    bool by_hunks;       /* begin each file with its hunks */
    struct answering answering;
    VEC(struct item) items;
};

/* Groups the decisions into items. */
void review_collect(struct review *review);
void review_free(struct review *review);

/* The change in the session's direction, even if the decisions undo it. */
struct change review_change(const struct review *review, size_t decision);

/* Can the item be answered hunk by hunk? Fills in the hunks. */
bool review_find_hunks(const struct review *review, struct item *item);

/* Turns the answers into courses of the decisions and revisions of the record. */
int review_decide(struct review *review, struct err *err) must_check;

struct review_tally {
    size_t yes, no, out;
};
struct review_tally review_count(const struct review *review);

/* Adds why an item is a conflict, and the lines that clash. If none do, merges both sides into item->joined and returns true. */
bool review_join(struct review *review, struct item *item, struct buf *out);

/* review_answers.c: the items as JSON, and answers to them from a file. `state` is that of the recorded trees. */
void review_add_json(const struct review *review, const char *state, struct buf *out);
int review_take_answers(struct review *review, const char *file, const char *state, struct err *err)
    must_check;

/* Asks about each item. Returns false if the person cancelled: then nothing may be replaced. */
bool review_ask(struct review *review);

/* The whole review of a session whose trees are open: summary, questions, result. Returns the exit status. */
struct args;
int review_session(const struct world *world, const struct args *args, struct choice *choice,
                   const struct record *record);

/* Shows a text screen by screen, and a question. Returns the key of the answer. */
char review_question(struct review *review, const struct buf *text, const char *question, const char *keys,
                     const char *help);
