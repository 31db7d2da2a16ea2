#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/walk.h"

/* What a text that is made of hunks, or of both sides of a conflict, is for. */
enum use {
    USE_NOW = 1,    /* the workspace gets it */
    USE_BEFORE = 2, /* what still waits begins with it */
    USE_AFTER = 4,  /* what still waits ends with it */
};

struct settling {
    struct walk *walk;
    rewrite_list rewrites;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(unsigned) uses; /* of each of them */
};

static void add_rewrite(struct settling *settling, const struct decision *decision, struct buf *text,
                        unsigned use)
{
    vec_push(&settling->rewrites, (struct rewrite){.of = decision, .text = *text});
    vec_push(&settling->uses, use);
    *text = (struct buf){0};
}

/* The old text with the hunks that have one of these answers. */
static struct buf compose(const struct item *item, const char *answers)
{
    struct buf text = {0};
    bool *are_taken = must_realloc(NULL, item->hunks.list.count + 1, sizeof(*are_taken));
    for (size_t i = 0; i < item->hunks.list.count; i++)
        are_taken[i] =
            strchr(answers, item->hunk_answers.at[i] ? item->hunk_answers.at[i] : ANSWER_NO) != NULL;
    hunks_compose(&item->hunks, are_taken, &text);
    free(are_taken);
    return text;
}

struct hunk_tally {
    size_t yes, no, out;
};

static struct hunk_tally count_hunks(const struct item *item)
{
    struct hunk_tally tally = {0};
    for (size_t i = 0; i < item->hunk_answers.count; i++) {
        tally.yes += item->hunk_answers.at[i] == ANSWER_YES;
        tally.out += item->hunk_answers.at[i] == ANSWER_OUT;
    }
    tally.no = item->hunk_answers.count - tally.yes - tally.out;
    return tally;
}

/* Of what waits: some hunks go into the workspace, some wait on, some are given up. */
static void settle_hunks(struct settling *settling, struct item *item, struct decision *decision)
{
    struct hunk_tally tally = count_hunks(item);
    decision->course = tally.yes ? COURSE_GO : tally.no ? COURSE_HELD : COURSE_DROPPED;
    if (tally.yes && tally.no + tally.out) {
        struct buf now = compose(item, "y");
        add_rewrite(settling, decision, &now, USE_NOW | (tally.no ? USE_BEFORE : USE_AFTER));
    }
    if (tally.no && tally.out) {
        struct buf rest = compose(item, "yn");
        add_rewrite(settling, decision, &rest, USE_AFTER);
    }
}

/* Of what was written to the workspace itself: some hunks are taken back. */
static void settle_live_hunks(struct settling *settling, struct item *item, struct decision *decision)
{
    struct hunk_tally tally = count_hunks(item);
    decision->course = tally.out ? COURSE_GO : COURSE_HELD;
    if (tally.out && tally.yes + tally.no) {
        struct buf rest = compose(item, "yn");
        add_rewrite(settling, decision, &rest, USE_NOW);
    }
}

static enum course course_of(const struct walk *walk, enum answer answer)
{
    if (walk->is_live)
        return answer == ANSWER_OUT || answer == ANSWER_MERGE || answer == ANSWER_THEIRS ? COURSE_GO
                                                                                         : COURSE_HELD;
    return answer == ANSWER_OUT                           ? COURSE_DROPPED
           : answer == ANSWER_NO || answer == ANSWER_NONE ? COURSE_HELD
                                                          : COURSE_GO;
}

static void settle_item(struct settling *settling, struct item *item)
{
    struct walk *walk = settling->walk;
    struct decision *first = &walk->decisions->at[item->members.at[0]];
    if (item->answer == ANSWER_HUNKS) {
        if (walk->is_live)
            settle_live_hunks(settling, item, first);
        else
            settle_hunks(settling, item, first);
        return;
    }
    for (size_t i = 0; i < item->members.count; i++)
        walk->decisions->at[item->members.at[i]].course = course_of(walk, item->answer);
    if (item->answer == ANSWER_MERGE)
        add_rewrite(settling, first, &item->joined, walk->is_live ? USE_NOW : USE_NOW | USE_AFTER);
}

/* What no person was asked about: directories go with what lies in them, times only with all the rest. */
static void settle_others(const struct walk *walk, const bool *were_asked)
{
    bool all_go = true;
    for (size_t i = 0; i < walk->decisions->count; i++)
        all_go &= !were_asked[i] || walk->decisions->at[i].course == COURSE_GO;
    for (size_t i = walk->decisions->count; i--;) {
        struct decision *decision = &walk->decisions->at[i];
        const char *path = decision->judged.change.path;
        size_t size = strlen(path), inside = 0, dropped = 0;
        if (were_asked[i] || (decision->course != COURSE_GO && decision->course != COURSE_CONFLICT))
            continue;
        for (size_t j = i + 1; j < walk->decisions->count; j++) {
            const char *inner = walk->decisions->at[j].judged.change.path;
            if (strncmp(inner, path, size) != 0 || inner[size] != '/')
                break;
            inside++;
            dropped += walk->decisions->at[j].course == COURSE_DROPPED;
        }
        bool is_directory = inside && change_is_shown(&decision->judged.change);
        if (!choose_has_path(walk->choice, path) || decision->course == COURSE_CONFLICT)
            decision->course = COURSE_DONE;
        else if (is_directory)
            decision->course = dropped == inside ? COURSE_DROPPED : COURSE_GO;
        else
            decision->course = all_go ? COURSE_GO : COURSE_DONE;
    }
    carry_fit_directories(walk->decisions);
}

/* In the order of a walk, as they are written down. */
static void revise_session(const struct settling *settling)
{
    struct carry *carry = settling->walk->carry;
    for (size_t i = 0; i < settling->walk->decisions->count; i++) {
        struct decision *decision = &settling->walk->decisions->at[i];
        const struct change *change = &decision->judged.change;
        if (decision->course == COURSE_DROPPED)
            vec_push(&carry->afters, (struct revision){change->path, change->before});
        for (size_t j = 0; j < settling->rewrites.count; j++) {
            const struct rewrite *rewrite = &settling->rewrites.at[j];
            if (rewrite->of != decision)
                continue;
            if (settling->uses.at[j] & USE_BEFORE)
                vec_push(&carry->befores, (struct revision){change->path, rewrite->entry});
            if (settling->uses.at[j] & USE_AFTER)
                vec_push(&carry->afters, (struct revision){change->path, rewrite->entry});
            if (settling->uses.at[j] & USE_NOW)
                decision->judged.change.after = rewrite->entry;
        }
    }
}

int walk_settle(struct walk *walk, struct err *err)
{
    struct settling settling = {.walk = walk};
    bool *were_asked = must_realloc(NULL, walk->decisions->count + 1, sizeof(*were_asked));
    memset(were_asked, 0, walk->decisions->count + 1);
    for (size_t i = 0; i < walk->items.count; i++) {
        struct item *item = &walk->items.at[i];
        settle_item(&settling, item);
        for (size_t j = 0; j < item->members.count; j++)
            were_asked[item->members.at[j]] = true;
    }
    settle_others(walk, were_asked);
    free(were_asked);
    int result = rewrite_all(walk->choice->store, walk->choice->loaded.policy.arena, &settling.rewrites, err);
    if (result == 0) {
        revise_session(&settling);
        result = carry_hold_broken(walk->choice, walk->carry, walk->decisions, err);
    }
    rewrites_free(&settling.rewrites);
    vec_free(&settling.uses);
    return result;
}

struct walk_tally walk_count(const struct walk *walk)
{
    struct walk_tally tally = {0};
    for (size_t i = 0; i < walk->items.count; i++) {
        const struct item *item = &walk->items.at[i];
        struct hunk_tally hunks = item->answer == ANSWER_HUNKS ? count_hunks(item) : (struct hunk_tally){0};
        tally.yes += hunks.yes || item->answer == ANSWER_YES || item->answer == ANSWER_MERGE ||
                     item->answer == ANSWER_THEIRS;
        tally.out += hunks.out || item->answer == ANSWER_OUT;
        tally.no += hunks.no || item->answer == ANSWER_NO || item->answer == ANSWER_NONE;
    }
    return tally;
}
