/*
 * A review by a program: `bawn review --json` lists the items, `bawn review --from FILE` takes the answers. A page or an editor asks the
 * person in its own way; items, answers and what they mean are those of the dialogue on a terminal.
 *
 * An item is named by the number of its first change. The numbers mean the same as long as the recorded trees are the same, which
 * the field `state` tells: answers for another state are refused.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/review.h"
#include "cli/say.h"

enum { ANSWERS_LARGEST = 4 * 1024 * 1024, SIDE_LARGEST = 64 * 1024, MOST_HUNKS = 1000000 };

/* --- the list ------------------------------------------------------------------------------------------------------- */

/* The three versions, if they are short texts. */
static void add_sides(struct json *json, const struct review *review, const struct decision *decision)
{
    struct err ignored;
    auto_conflict struct conflict conflict = {0};
    if (conflict_read(&review->dialogue->transition, review->patch->store, decision, &conflict, &ignored) <=
        0)
        return;
    const struct {
        const char *name;
        const struct buf *text;
    } sides[] = {{"yours", &conflict.ours}, {"base", &conflict.base}, {"session", &conflict.theirs}};
    auto_buf struct buf joined = {0};
    struct merge merge = {&conflict.base, &conflict.ours, &conflict.theirs, "yours",
                          review->dialogue->of->name};
    json_true(json, "can_merge", merge_texts(&merge, &joined) == 0);
    for (size_t i = 0; i < array_len(sides); i++) {
        if (sides[i].text->size <= SIDE_LARGEST)
            json_str(json, sides[i].name, buf_text(sides[i].text));
    }
}

static void add_reasons(struct json *json, const struct review *review, const struct item *item)
{
    json_open(json, "risky", '[');
    for (size_t i = 0; i < item->members.count; i++) {
        struct change change = review_change(review, item->members.at[i]);
        auto_vec gate_reasons reasons = patch_reasons(review->patch, &change);
        for (size_t j = 0; j < reasons.count; j++)
            json_str(json, NULL, reasons.at[j]);
    }
    if (item->is_repository && item->is_risky)
        json_str(json, NULL, review->commits);
    json_close(json, ']');
}

/* A directory in the place of a file: one answer is for all that is in it, so each of them can be looked at. */
static void add_members(struct json *json, const struct review *review, const struct item *item)
{
    json_open(json, "members", '[');
    for (size_t i = 0; i < item->members.count; i++) {
        json_open(json, NULL, '{');
        json_int(json, "id", (int64_t)item->members.at[i]);
        json_str(json, "path", review_change(review, item->members.at[i]).path);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void add_item(struct json *json, const struct review *review, const struct item *item)
{
    const struct decision *first = &review->decisions->at[item->members.at[0]];
    struct change change = review_change(review, item->members.at[0]);
    const char letter[] = {patch_letter(&change), '\0'};
    json_open(json, NULL, '{');
    json_int(json, "id", (int64_t)item->members.at[0]);
    json_str(json, "path", change.path);
    json_str(json, "letter", letter);
    json_str(json, "renamed_from", change.renamed ? change.renamed->path : NULL);
    json_int(json, "changes", (int64_t)item->members.count);
    json_true(json, "repository", item->is_repository);
    if (item->members.count > 1 && !item->is_repository && !change.renamed)
        add_members(json, review, item);
    add_reasons(json, review, item);
    for (size_t i = 0; i < item->members.count; i++) {
        const struct decision *decision = &review->decisions->at[item->members.at[i]];
        if (decision->course != COURSE_CONFLICT)
            continue;
        json_str(json, "conflict", decision->why);
        if (item->members.count == 1)
            add_sides(json, review, first);
        break;
    }
    json_close(json, '}');
}

void review_add_json(const struct review *review, const char *state, struct buf *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_str(&json, "session", review->dialogue->of->name);
    json_str(&json, "state", state);
    json_true(&json, "live", review->is_live);
    json_open(&json, "items", '[');
    vec_each (const struct item, item, &review->items)
        add_item(&json, review, item);
    json_close(&json, ']');
    json_open(&json, "held", '[');
    vec_each (const struct decision, decision, review->decisions) {
        if (decision->course != COURSE_HELD || !change_is_shown(&decision->judged.change))
            continue;
        json_open(&json, NULL, '{');
        json_str(&json, "path", decision->judged.change.path);
        json_str(&json, "why", decision->why);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    buf_add_char(out, '\n');
}

/* --- the answers ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum answer answer;
} words[] = {
    {"apply", ANSWER_YES},   {"leave", ANSWER_NO},         {"discard", ANSWER_OUT},
    {"merge", ANSWER_MERGE}, {"overwrite", ANSWER_THEIRS},
};

static enum answer answer_of(struct json_value value)
{
    for (size_t i = 0; i < array_len(words); i++) {
        if (json_is(value, words[i].word))
            return words[i].answer;
    }
    return ANSWER_NONE;
}

static struct item *find_item(struct review *review, struct json_value id)
{
    const char *at = id.at;
    uint64_t number;
    if (!id.size || !text_take_number(&at, &number) || at != id.at + id.size)
        return NULL;
    vec_each (struct item, item, &review->items) {
        if (item->members.at[0] == number)
            return item;
    }
    return NULL;
}

static int take_hunks(const struct review *review, struct item *item, struct json_value hunks,
                      struct err *err)
{
    struct json_value value;
    size_t at = 0, count = 0;
    if (!review_find_hunks(review, item))
        return err_set(err, "a file cannot be answered hunk by hunk");
    while (count < MOST_HUNKS && json_next_item(hunks, &at, &value)) {
        enum answer answer = answer_of(value);
        if (answer != ANSWER_YES && answer != ANSWER_NO && answer != ANSWER_OUT)
            return err_set(err, "a hunk's answer is apply, leave or discard");
        if (count < item->hunk_answers.count)
            item->hunk_answers.at[count] = (char)answer;
        count++;
    }
    if (count != item->hunk_answers.count)
        return err_set(err, "there are %zu hunks and %zu answers", item->hunk_answers.count, count);
    item->answer = ANSWER_HUNKS;
    return 0;
}

/* An answer of a conflict must be one that its question has on a terminal, and the reverse. */
static int check_answer(struct review *review, struct item *item, struct err *err)
{
    bool has_conflict = false;
    for (size_t i = 0; i < item->members.count; i++)
        has_conflict |= review->decisions->at[item->members.at[i]].course == COURSE_CONFLICT;
    bool is_for_conflict = item->answer == ANSWER_MERGE || item->answer == ANSWER_THEIRS;
    const char *path = review_change(review, item->members.at[0]).path;
    auto_buf struct buf shown = {0};
    if (has_conflict && item->answer == ANSWER_YES)
        return err_set(err, "%s is a conflict: merge, overwrite, leave or discard it", path);
    if (!has_conflict && is_for_conflict)
        return err_set(err, "%s is not a conflict", path);
    if (item->answer == ANSWER_MERGE && (item->members.count > 1 || !review_join(review, item, &shown)))
        return err_set(err, "%s cannot be merged: the same lines were changed", path);
    return 0;
}

static int take_answer(struct review *review, struct json_value object, struct err *err)
{
    struct json_value key, value, id = {0}, answer = {0}, hunks = {0};
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        if (json_is(key, "id"))
            id = value;
        else if (json_is(key, "answer"))
            answer = value;
        else if (json_is(key, "hunks"))
            hunks = value;
        else
            return err_set(err, "an answer has the fields id, and answer or hunks");
    }
    struct item *item = find_item(review, id);
    if (!item)
        return err_set(err, "an answer names no item of the list");
    if (hunks.size)
        return answer.size ? err_set(err, "an answer is for the file or for its hunks")
                           : take_hunks(review, item, hunks, err);
    item->answer = answer_of(answer);
    if (item->answer == ANSWER_NONE)
        return err_set(err, "an answer is apply, leave, discard, merge or overwrite");
    return check_answer(review, item, err);
}

static int take_all(struct review *review, const char *state, struct json_value object, struct err *err)
{
    struct json_value key, value, answers = {0}, seen = {0}, one;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        if (json_is(key, "state"))
            seen = value;
        else if (json_is(key, "answers"))
            answers = value;
        else
            return err_set(err, "the answers have the fields state and answers");
    }
    if (!seen.size || !json_is(seen, state)) {
        err_set(err, "the changes of %s are not those that were answered", review->dialogue->of->name);
        return err_hint(err, "look at them again");
    }
    for (size_t at = 0; json_next_item(answers, &at, &one);) {
        if (take_answer(review, one, err) < 0)
            return -1;
    }
    return 0;
}

int review_take_answers(struct review *review, const char *file, const char *state, struct err *err)
{
    bool is_input = strcmp(file, "-") == 0;
    auto_fd int fd =
        is_input ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    auto_buf struct buf text = {0};
    struct json_value object;
    if (fd < 0 || buf_read(&text, fd, ANSWERS_LARGEST) < 0)
        return err_sys(err, errno, "cannot read the answers from %s", file);
    if (text.size >= ANSWERS_LARGEST || !json_read(buf_text(&text), text.size, &object) || *object.at != '{')
        return err_set(err, "the answers in %s are not a JSON object", file);
    return take_all(review, state, object, err);
}
