/* `bawn review`: reports a session, then asks about its changes one by one. */
#include "cli/approval.h"
#include "cli/commands.h"
#include "cli/review.h"
#include "cli/say.h"
#include "report/summary.h"

const char review_usage[] = "bawn review [--patch] [SESSION] [PATH...]\n"
                            "       bawn review --json | --from FILE [SESSION] [PATH...]\n"
                            "\n"
                            "Show what a session did and tried, then each file that it changed. Press a key\n"
                            "to apply a file, leave it waiting or throw it away. After a run without\n"
                            "--review, keep a file or take it back. Nothing happens before you confirm at\n"
                            "the end, and you can undo it. Without SESSION: the session that waits here, or\n"
                            "else the latest run.\n"
                            "\n"
                            "  --patch       show the hunks of each file first\n"
                            "  --json        list what can be answered, for a program\n"
                            "  --from FILE   take the answers from FILE, as JSON; - is standard input\n"
                            "\n"
                            "Keys: y apply   n leave   x throw away   h hunk by hunk   A all the rest\n"
                            "      k back   j next   ? help\n"
                            "\n"
                            "  bawn review\n"
                            "  bawn review my-app-3 src/\n";

/* The named session, else the one that waits, else the latest live run with changes. */
static int choose_reviewed(const struct world *world, const struct choice *choice,
                           const struct record **ret_record)
{
    const struct record *live = NULL;
    bool any_waits = false;
    vec_each (const struct record, record, &choice->records) {
        bool is_run = record->mode == RECORD_LIVE && record->state == STATE_DONE && record->changes;
        any_waits |= record->mode == RECORD_REVIEW && record->state == STATE_WAITING;
        live = is_run ? record : live;
    }
    if (choice->named)
        live =
            choice->named->mode == RECORD_LIVE && choice->named->state == STATE_DONE ? choice->named : NULL;
    if (!live || (any_waits && !choice->named))
        return choose_waiting(world, choice, "review", ret_record);
    *ret_record = live;
    return 0;
}

/*
 * Lists the changes that cannot be applied or undone, with the reason. `is_after`: those found only after the
 * answers, because they would break a repository.
 */
static void say_left_alone(const struct review *review, bool is_after)
{
    auto_buf struct buf out = {0};
    vec_each (const struct decision, decision, review->decisions) {
        if (decision->course != COURSE_HELD || decision->breaks != is_after ||
            !change_is_shown(&decision->judged.change))
            continue;
        buf_add_str(&out, "  cannot be applied: ");
        style_add(&review->patch->style, &out, COLOUR_YELLOW, decision->judged.change.path);
        buf_add_str(&out, ": ");
        style_add(&review->patch->style, &out, COLOUR_PLAIN, decision->why);
        buf_add_char(&out, '\n');
    }
    put(review->world->out, &out);
}

static bool confirm(struct review *review)
{
    struct review_tally tally = review_count(review);
    struct buf nothing = {0};
    bool does_anything = review->is_live ? tally.out : tally.yes || tally.out;
    if (!does_anything)
        return false;
    const char *question =
        review->is_live
            ? arena_printf(review->patch->arena, "Take back %zu, keep %zu. Continue?", tally.out,
                           tally.yes + tally.no)
            : arena_printf(review->patch->arena, "Apply %zu, throw away %zu, leave %zu waiting. Continue?",
                           tally.yes, tally.out, tally.no);
    return review_question(review, &nothing, question, "yn", "  y  continue    n  change nothing\n") == 'y';
}

/* A path that needs approval, was not taken, and would come with the commits; NULL: there is none. */
static const char *find_left(const struct review *review, const char **ret_why)
{
    vec_each (const struct item, item, &review->items) {
        bool is_taken =
            item->answer == ANSWER_YES || item->answer == ANSWER_MERGE || item->answer == ANSWER_THEIRS;
        for (size_t i = 0; item->is_risky && !item->is_repository && !is_taken && i < item->members.count;
             i++) {
            const char *path = review->decisions->at[item->members.at[i]].judged.change.path;
            *ret_why = approval_commit_of(review->patch->arena, &review->dialogue->arrivals, path);
            if (*ret_why)
                return path;
        }
    }
    return NULL;
}

/* A path has one decision, the same for the files and the commits: the commits wait with what is left out. */
static void leave_commits(struct review *review)
{
    const char *why = NULL, *left = review->is_live ? NULL : find_left(review, &why);
    auto_buf struct buf out = {0};
    vec_each (struct item, item, &review->items) {
        if (!left || !item->is_repository || !item->is_risky || item->answer != ANSWER_YES)
            continue;
        item->answer = ANSWER_NO;
        buf_add_str(&out, "The commits wait: you leave out ");
        style_add(&review->patch->style, &out, COLOUR_YELLOW, left);
        buf_printf(&out, ", and %s.\n", why);
    }
    put(review->world->out, &out);
}

static int carry_out(struct review *review, const struct record *record)
{
    const struct world *world = review->world;
    struct err err = {0};
    struct review_tally tally = review_count(review);
    if (review_decide(review, &err) < 0)
        return say_refused(world, &err);
    say_left_alone(review, true);
    struct dialogue *dialogue = review->dialogue;
    bool are_all_decided = review->is_live ? tally.yes + tally.no == 0 : tally.no == 0;
    dialogue->is_complete = are_all_decided && review->choice->paths.count == 0;
    for (size_t i = 0; i < review->decisions->count; i++)
        dialogue->is_complete &= review->decisions->at[i].course != COURSE_HELD;
    int status = dialogue_finish(world, review->choice, dialogue, review->decisions);
    if (tally.out && !review->is_live && status == EXIT_FINE)
        fprintf(world->out, "%zu thrown away. `bawn undo %s` makes %s wait again.\n", tally.out, record->name,
                tally.out == 1 ? "it" : "them");
    if (!review->is_live)
        waiting_end(review->choice, dialogue);
    else if (dialogue->is_complete)
        mark_state(review->choice, record->name, STATE_UNDONE);
    return status;
}

/* The dialogue on a terminal. */
static int ask_and_carry_out(struct review *review, const struct record *record, const change_list *changes)
{
    auto_buf struct buf out = {0};
    review_summary_add(review->patch, review->choice->folder_fd, record, changes, &out);
    put(review->world->out, &out);
    say_left_alone(review, false);
    bool is_answered = review_ask(review);
    if (is_answered)
        leave_commits(review);
    if (is_answered && confirm(review))
        return carry_out(review, record);
    fputs("Nothing was changed.\n", review->world->out);
    return EXIT_FINE;
}

/* For a program: the list with --json, the answers with --from. */
static int serve_program(struct review *review, const struct args *args, const struct record *record)
{
    struct err err = {0};
    const char *state = record_trees_state(review->patch->arena, review->choice->folder_fd);
    if (!args->from) {
        auto_buf struct buf out = {0};
        review_add_json(review, state, &out);
        put(review->world->out, &out);
        return EXIT_FINE;
    }
    if (review_take_answers(review, args->from, state, &err) < 0)
        return say_err(review->world, &err);
    leave_commits(review);
    return carry_out(review, record);
}

int review_session(const struct world *world, const struct args *args, struct choice *choice,
                   const struct record *record)
{
    struct err err = {0};
    auto_store struct store store = STORE_NONE;
    bool is_live = record->mode == RECORD_LIVE;
    struct patch patch = {.policy = &choice->loaded.policy,
                          .style = style_for_out(world, NULL),
                          .store = &store,
                          .arena = choice->loaded.policy.arena};
    struct dialogue dialogue = {
        .mode = is_live ? RECORD_UNDO : RECORD_APPLY,
        .of = record,
        .transition = {.directory = choice->store,
                       .workspace = choice->workspace,
                       .from = is_live ? &choice->after : &choice->before,
                       .to = is_live ? &choice->before : &choice->after,
                       .keeps_objects = true,
                       .keeps_refs = is_live},
        .done = is_live ? "taken back" : "applied",
    };
    struct review review = {.world = world,
                            .choice = choice,
                            .patch = &patch,
                            .dialogue = &dialogue,
                            .is_live = is_live,
                            .by_hunks = args->flags & FLAG(PATCH)};
    auto_vec decision_list decisions = {0};
    bool is_program = args->flags & (FLAG(JSON) | FLAG(FROM));
    if (!is_program && !answer_begin(world, world->out, &review.answering))
        return say_bad_input(
            world, arena_printf(patch.arena, "`bawn %s` needs a terminal to ask on", args->verb->name),
            "`bawn diff` shows the changes; `bawn apply PATH...` and `bawn discard` work without a terminal");
    if (store_open(choice->store, &store, &err) < 0 ||
        transition_decide(&dialogue.transition, patch.arena, &decisions, &err) < 0)
        return say_refused(world, &err);
    if (dialogue_look_at_commits(world, choice, &dialogue, &decisions, &err) < 0)
        return say_refused(world, &err);
    review.commits = approval_reason_of_commits(&patch, &dialogue.arrivals, &decisions);
    review.decisions = &decisions;
    auto_vec change_list changes = {0};
    compare_trees(&choice->before, &choice->after, &changes);
    review_collect(&review);
    int status =
        is_program ? serve_program(&review, args, record) : ask_and_carry_out(&review, record, &changes);
    review_free(&review);
    answer_end(&review.answering);
    dialogue_free(&dialogue);
    return status;
}

static int review_chosen(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = NULL;
    int status = choose_reviewed(world, choice, &record);
    if (status == 0 && !(args->flags & FLAG(JSON)))
        status = choose_alone(world, choice, args->verb->name, &record);
    if (status == 0)
        status = choose_open(world, choice, record);
    return status ? status : review_session(world, args, choice, record);
}

int cmd_review(const struct world *world, const struct args *args)
{
    return choose_then(world, args, review_chosen);
}
