/* Groups changes into the items of a review, and turns the answers into decisions and revisions. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cli/review.h"
#include "git/repo.h"

/* --- which changes are one item ---------------------------------------------------------------------------------- */

struct change review_change(const struct review *review, size_t decision)
{
    struct change change = review->decisions->at[decision].judged.change;
    if (review->is_live) {
        const struct entry *after = change.before;
        change.before = change.after;
        change.after = after;
        change.what = !change.before ? CHANGE_ADDED : !change.after ? CHANGE_DELETED : change.what;
    }
    return change;
}

static bool is_directory(const struct entry *entry)
{
    return entry && S_ISDIR(entry->mode);
}

static bool can_be_asked(const struct review *review, size_t number)
{
    const struct decision *decision = &review->decisions->at[number];
    return (decision->course == COURSE_GO || decision->course == COURSE_CONFLICT) &&
           change_is_shown(&decision->judged.change) &&
           choose_has_path(review->choice, decision->judged.change.path);
}

/* A new or removed directory is decided with the files in it. */
static bool follows_others(const struct review *review, size_t number)
{
    const struct change *change = &review->decisions->at[number].judged.change;
    if (!is_directory(change->after ? change->after : change->before) || (change->before && change->after))
        return false;
    return number + 1 < review->decisions->count &&
           path_is_inside(review->decisions->at[number + 1].judged.change.path, change->path);
}

static bool is_risky(const struct review *review, size_t number)
{
    struct change change = review_change(review, number);
    auto_vec gate_reasons reasons = patch_reasons(review->patch, &change);
    return reasons.count;
}

static struct item *add_item(struct review *review, size_t number)
{
    vec_push(&review->items, (struct item){0});
    struct item *item = &review->items.at[review->items.count - 1];
    vec_push(&item->members, number);
    return item;
}

static void add_member(struct review *review, struct item *item, size_t number)
{
    vec_push(&item->members, number);
    item->is_risky |= is_risky(review, number);
}

/* The item of the same repository, or NULL. */
static struct item *find_repository(const struct review *review, const char *path)
{
    size_t size = git_directory_size(path);
    for (size_t i = 0; size && i < review->items.count; i++) {
        struct item *item = &review->items.at[i];
        const char *other = review->decisions->at[item->members.at[0]].judged.change.path;
        if (item->is_repository && strncmp(path, other, size) == 0)
            return item;
    }
    return NULL;
}

/* A file that became a directory, or the reverse, is one item with everything beneath it. */
static size_t add_beneath(struct review *review, struct item *item, size_t number)
{
    const struct change *change = &review->decisions->at[number].judged.change;
    if (!change->before || !change->after || is_directory(change->before) == is_directory(change->after))
        return number;
    while (number + 1 < review->decisions->count &&
           path_is_inside(review->decisions->at[number + 1].judged.change.path, change->path))
        add_member(review, item, ++number);
    return number;
}

static size_t index_of(const struct review *review, const char *path)
{
    size_t low = 0, high = review->decisions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = tree_order(review->decisions->at[middle].judged.change.path, path);
        if (order == 0)
            return middle;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return SIZE_MAX;
}

/* Marks renames in the decisions, as `bawn diff` shows them. */
static void find_renames(struct review *review)
{
    auto_vec change_list changes = {0};
    for (size_t i = 0; i < review->decisions->count; i++)
        vec_push(&changes, review_change(review, i));
    compare_find_renames(&changes);
    for (size_t i = 0; i < changes.count; i++) {
        const struct change *other = changes.at[i].renamed;
        if (other)
            review->decisions->at[i].judged.change.renamed =
                &review->decisions->at[index_of(review, other->path)].judged.change;
    }
}

void review_collect(struct review *review)
{
    find_renames(review);
    for (size_t i = 0; i < review->decisions->count; i++) {
        const struct change *change = &review->decisions->at[i].judged.change;
        if (!can_be_asked(review, i) || follows_others(review, i))
            continue;
        struct change made = review_change(review, i);
        if (made.renamed && made.what & CHANGE_DELETED)
            continue; /* belongs to the item of the new name */
        bool risky = is_risky(review, i), in_git = git_directory_size(change->path) && !risky;
        struct item *item = in_git ? find_repository(review, change->path) : NULL;
        if (item) {
            vec_push(&item->members, i);
            continue;
        }
        item = add_item(review, i);
        item->is_repository = in_git;
        item->is_risky = risky || (in_git && review->commits && arrivals_concern(change->path));
        if (made.renamed)
            add_member(review, item, index_of(review, made.renamed->path));
        else
            i = add_beneath(review, item, i);
    }
}

void review_free(struct review *review)
{
    vec_each (struct item, item, &review->items) {
        vec_free(&item->members);
        vec_free(&item->hunk_answers);
        hunks_free(&item->hunks);
        buf_free(&item->old);
        buf_free(&item->new);
        buf_free(&item->joined);
    }
    vec_free(&review->items);
}

bool review_find_hunks(const struct review *review, struct item *item)
{
    struct change change = review_change(review, item->members.at[0]);
    bool is_file =
        change.before && change.after && S_ISREG(change.before->mode) && S_ISREG(change.after->mode);
    if (item->members.count > 1 || !is_file || !(change.what & CHANGE_CONTENT) ||
        review->decisions->at[item->members.at[0]].course != COURSE_GO)
        return false;
    if (item->hunks.list.count)
        return true;
    if (patch_read(review->patch, &change, &item->old, &item->new))
        return false;
    hunks_find(&item->old, &item->new, &item->hunks);
    for (size_t i = 0; i < item->hunks.list.count; i++)
        vec_push(&item->hunk_answers, ANSWER_NONE);
    return item->hunks.list.count > 0;
}

/* --- what the answers mean ---------------------------------------------------------------------------------------------------- */

/* The uses of a text composed of hunks, or of both sides of a conflict. */
enum use {
    USE_NOW = 1,    /* written to the workspace */
    USE_BEFORE = 2, /* the new "before" of the record */
    USE_AFTER = 4,  /* the new "after" of the record */
};

struct revising {
    struct review *review;
    rewrite_list rewrites;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(unsigned) uses; /* of each rewrite */
};

static void add_rewrite(struct revising *revising, const struct decision *decision, struct buf *text,
                        unsigned use)
{
    vec_push(&revising->rewrites, (struct rewrite){.of = decision, .text = *text});
    vec_push(&revising->uses, use);
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

static struct review_tally count_hunks(const struct item *item)
{
    struct review_tally tally = {0};
    for (size_t i = 0; i < item->hunk_answers.count; i++) {
        tally.yes += item->hunk_answers.at[i] == ANSWER_YES;
        tally.out += item->hunk_answers.at[i] == ANSWER_OUT;
    }
    tally.no = item->hunk_answers.count - tally.yes - tally.out;
    return tally;
}

/* A review: some hunks are applied, some still wait, some are dropped. */
static void decide_hunks(struct revising *revising, struct item *item, struct decision *decision)
{
    struct review_tally tally = count_hunks(item);
    decision->course = tally.yes ? COURSE_GO : tally.no ? COURSE_HELD : COURSE_DROPPED;
    if (tally.out)
        vec_push(&revising->review->dialogue->dropped, decision->judged.change.path);
    if (tally.yes && tally.no + tally.out) {
        struct buf now = compose(item, "y");
        add_rewrite(revising, decision, &now, USE_NOW | (tally.no ? USE_BEFORE : USE_AFTER));
    }
    if (tally.no && tally.out) {
        struct buf rest = compose(item, "yn");
        add_rewrite(revising, decision, &rest, USE_AFTER);
    }
}

/* A live run: some hunks are taken back. */
static void decide_live_hunks(struct revising *revising, struct item *item, struct decision *decision)
{
    struct review_tally tally = count_hunks(item);
    decision->course = tally.out ? COURSE_GO : COURSE_HELD;
    if (tally.out && tally.yes + tally.no) {
        struct buf rest = compose(item, "yn");
        add_rewrite(revising, decision, &rest, USE_NOW);
    }
}

static enum course course_of(const struct review *review, enum answer answer)
{
    if (review->is_live)
        return answer == ANSWER_OUT || answer == ANSWER_MERGE || answer == ANSWER_THEIRS ? COURSE_GO
                                                                                         : COURSE_HELD;
    return answer == ANSWER_OUT                           ? COURSE_DROPPED
           : answer == ANSWER_NO || answer == ANSWER_NONE ? COURSE_HELD
                                                          : COURSE_GO;
}

static void decide_item(struct revising *revising, struct item *item)
{
    struct review *review = revising->review;
    struct decision *first = &review->decisions->at[item->members.at[0]];
    if (item->answer == ANSWER_HUNKS) {
        if (review->is_live)
            decide_live_hunks(revising, item, first);
        else
            decide_hunks(revising, item, first);
        return;
    }
    for (size_t i = 0; i < item->members.count; i++)
        review->decisions->at[item->members.at[i]].course = course_of(review, item->answer);
    if (item->answer == ANSWER_MERGE)
        add_rewrite(revising, first, &item->joined, review->is_live ? USE_NOW : USE_NOW | USE_AFTER);
}

/*
 * Decides the changes without a question: directories follow their contents, changes of times follow all the rest.
 */
static void decide_others(const struct review *review, const bool *were_asked)
{
    bool all_go = true;
    for (size_t i = 0; i < review->decisions->count; i++)
        all_go &= !were_asked[i] || review->decisions->at[i].course == COURSE_GO;
    for (size_t i = review->decisions->count; i--;) {
        struct decision *decision = &review->decisions->at[i];
        const char *path = decision->judged.change.path;
        size_t size = strlen(path), inside = 0, dropped = 0;
        if (were_asked[i] || (decision->course != COURSE_GO && decision->course != COURSE_CONFLICT))
            continue;
        for (size_t j = i + 1; j < review->decisions->count; j++) {
            const char *inner = review->decisions->at[j].judged.change.path;
            if (strncmp(inner, path, size) != 0 || inner[size] != '/')
                break;
            inside++;
            dropped += review->decisions->at[j].course == COURSE_DROPPED;
        }
        bool has_inside = inside && change_is_shown(&decision->judged.change);
        bool is_chosen =
            choose_has_path(review->choice, path) || dialogue_must_make(review->choice, review->decisions, i);
        if (!is_chosen || decision->course == COURSE_CONFLICT)
            decision->course = COURSE_DONE;
        else if (has_inside)
            decision->course = dropped == inside ? COURSE_DROPPED : COURSE_GO;
        else
            decision->course = all_go ? COURSE_GO : COURSE_DONE;
    }
    dialogue_fit_directories(review->decisions);
}

/* In tree order, as records are stored. */
static void revise_session(const struct revising *revising)
{
    struct dialogue *dialogue = revising->review->dialogue;
    vec_each (struct decision, decision, revising->review->decisions) {
        const struct change *change = &decision->judged.change;
        if (decision->course == COURSE_DROPPED) {
            vec_push(&dialogue->dropped, change->path);
            vec_push(&dialogue->afters, (struct revision){change->path, change->before});
        }
        for (size_t j = 0; j < revising->rewrites.count; j++) {
            const struct rewrite *rewrite = &revising->rewrites.at[j];
            if (rewrite->of != decision)
                continue;
            if (revising->uses.at[j] & USE_BEFORE)
                vec_push(&dialogue->befores, (struct revision){change->path, rewrite->entry});
            if (revising->uses.at[j] & USE_AFTER)
                vec_push(&dialogue->afters, (struct revision){change->path, rewrite->entry});
            if (revising->uses.at[j] & USE_NOW)
                decision->judged.change.after = rewrite->entry;
        }
    }
}

int review_decide(struct review *review, struct err *err)
{
    struct revising revising = {.review = review};
    bool *were_asked = must_realloc(NULL, review->decisions->count + 1, sizeof(*were_asked));
    memset(were_asked, 0, review->decisions->count + 1);
    vec_each (struct item, item, &review->items) {
        decide_item(&revising, item);
        for (size_t j = 0; j < item->members.count; j++)
            were_asked[item->members.at[j]] = true;
    }
    decide_others(review, were_asked);
    free(were_asked);
    int result = rewrite_all(review->choice->store, review->choice->folder_fd,
                             review->choice->loaded.policy.arena, &revising.rewrites, err);
    if (result == 0) {
        revise_session(&revising);
        result = dialogue_exclude_broken(review->choice, review->dialogue, review->decisions, err);
    }
    rewrites_free(&revising.rewrites);
    vec_free(&revising.uses);
    return result;
}

struct review_tally review_count(const struct review *review)
{
    struct review_tally tally = {0};
    vec_each (const struct item, item, &review->items) {
        struct review_tally hunks =
            item->answer == ANSWER_HUNKS ? count_hunks(item) : (struct review_tally){0};
        tally.yes += hunks.yes || item->answer == ANSWER_YES || item->answer == ANSWER_MERGE ||
                     item->answer == ANSWER_THEIRS;
        tally.out += hunks.out || item->answer == ANSWER_OUT;
        tally.no += hunks.no || item->answer == ANSWER_NO || item->answer == ANSWER_NONE;
    }
    return tally;
}
