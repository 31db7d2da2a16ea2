/* The answers of a review: a page to confirm them, then `bawn review --from`. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "web/changes.h"
#include "web/confirm.h"
#include "web/review_items.h"

struct decided {
    size_t id;
    const char *answer; /* of the file */
    char *hunks;        /* one letter a hunk: a, l, d; 0: as the file. NULL: not hunk by hunk */
    size_t hunk_count;
};

struct answers {
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct decided) list;
    size_t applied, discarded, left, unseen;
};

static bool is_answer(const char *text)
{
    static const char *const words[] = {"apply", "leave", "discard", "merge", "overwrite"};
    return text_is_among(text, words, array_len(words));
}

/* "a12" and "r12" are files, "h12.3" is a hunk of one. */
static bool parse_name(const char *name, char *ret_kind, size_t *ret_id, size_t *ret_hunk)
{
    uint64_t id = 0, hunk = 0;
    const char *at = name + (*name != '\0');
    *ret_kind = *name;
    if (!strchr("arh", *name) || !*name || !text_take_number(&at, &id))
        return false;
    if (*name == 'h' && (*at++ != '.' || !text_take_number(&at, &hunk)))
        return false;
    *ret_id = (size_t)id;
    *ret_hunk = (size_t)hunk;
    return !*at;
}

static struct decided *find(struct answers *answers, size_t id)
{
    for (size_t i = answers->list.count; i--;) {
        if (answers->list.at[i].id == id)
            return &answers->list.at[i];
    }
    return NULL;
}

/* How many hunks the file has, as the review counts them. */
static size_t count_hunks(struct changes *changes, size_t id)
{
    auto_buf struct buf old = {0}, new = {0};
    if (id >= changes->list.count || !change_has_hunks(&changes->list.at[id]) ||
        patch_read(&changes->patch, &changes->list.at[id], &old, &new))
        return 0;
    auto_hunks struct hunks hunks = {0};
    hunks_find(&old, &new, &hunks);
    return hunks.list.count;
}

/* Can all be seen that an answer is for? A directory in the place of a file is answered with what is in it. */
static bool can_be_seen(const struct changes *changes, size_t id)
{
    for (size_t i = id; i < changes->list.count; i++) {
        const struct change *change = &changes->list.at[i];
        if (i > id && !path_is_inside(change->path, changes->list.at[id].path))
            break;
        if (!change_can_be_seen(change))
            return false;
    }
    return true;
}

/* What no page can show is not among "all others". */
static void take_files(const struct visit *visit, const struct changes *changes, struct answers *answers)
{
    const char *rest = visit_field(visit, "rest");
    bool applies = strcmp(rest, "apply") == 0;
    vec_each (const struct form_field, field, &visit->form) {
        char kind;
        size_t id, hunk;
        if (!parse_name(field->name, &kind, &id, &hunk) || kind == 'h')
            continue;
        bool is_of_rest = kind == 'a' && !*field->value;
        const char *answer = *field->value ? field->value : is_of_rest ? rest : "leave";
        if (is_of_rest && applies && !can_be_seen(changes, id)) {
            answer = "leave";
            answers->unseen++;
        }
        vec_push(&answers->list, (struct decided){.id = id, .answer = is_answer(answer) ? answer : "leave"});
    }
}

static void take_hunks(const struct visit *visit, struct changes *changes, struct answers *answers)
{
    vec_each (const struct form_field, field, &visit->form) {
        char kind;
        size_t id, hunk;
        if (!*field->value || !parse_name(field->name, &kind, &id, &hunk) || kind != 'h' ||
            !is_answer(field->value))
            continue;
        struct decided *decided = find(answers, id);
        if (decided && !decided->hunks) {
            decided->hunk_count = count_hunks(changes, id);
            decided->hunks = must_realloc(NULL, decided->hunk_count + 1, 1);
            memset(decided->hunks, 0, decided->hunk_count + 1);
        }
        if (decided && hunk < decided->hunk_count)
            decided->hunks[hunk] = *field->value;
    }
}

static void count_answers(struct answers *answers)
{
    vec_each (const struct decided, decided, &answers->list) {
        bool applies = false, discards = false, leaves = false;
        for (size_t i = 0; i < (decided->hunks ? decided->hunk_count : 1); i++) {
            char letter = decided->hunks && decided->hunks[i] ? decided->hunks[i] : *decided->answer;
            applies |= letter == 'a' || letter == 'm' || letter == 'o';
            discards |= letter == 'd';
            leaves |= letter == 'l';
        }
        answers->applied += applies;
        answers->discarded += discards;
        answers->left += leaves;
    }
}

static void answers_free(struct answers *answers)
{
    vec_each (struct decided, decided, &answers->list)
        free(decided->hunks);
    vec_free(&answers->list);
}
#define auto_answers __attribute__((cleanup(answers_free)))

static const char *word_of(char letter, const char *otherwise)
{
    return letter == 'a' ? "apply" : letter == 'd' ? "discard" : letter == 'l' ? "leave" : otherwise;
}

static void write_answers(const struct answers *answers, const char *state, struct buf *out)
{
    struct json json = {.out = out, .on_one_line = true};
    json_open(&json, NULL, '{');
    json_str(&json, "state", state);
    json_open(&json, "answers", '[');
    vec_each (const struct decided, decided, &answers->list) {
        json_open(&json, NULL, '{');
        json_int(&json, "id", (int64_t)decided->id);
        if (!decided->hunks)
            json_str(&json, "answer", decided->answer);
        else
            json_open(&json, "hunks", '[');
        for (size_t i = 0; decided->hunks && i < decided->hunk_count; i++)
            json_str(&json, NULL, word_of(decided->hunks[i], decided->answer));
        if (decided->hunks)
            json_close(&json, ']');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* --- the pages ---------------------------------------------------------------------------------------------------------- */

static void add_head(struct visit *visit, const char *session, const char *title)
{
    const char *url = url_part(&visit->arena, session);
    page_begin(visit, title, "/");
    html_add(
        &visit->page,
        "<p class=crumbs><a href=\"/\">Sessions</a> › <a href=\"/session/%s\">%s</a> › <a href=\"/session/%s/review\">Review</a></p>"
        "<h1>%s</h1>\n",
        url, session, url, title);
}

/* The item of an answer. Both are in the same order, so the next one is looked at first. */
static const struct review_item *item_of(const struct review_list *list, size_t id, size_t *at)
{
    for (size_t i = 0; i < list->items.count; i++) {
        const struct review_item *item = &list->items.at[(*at + i) % list->items.count];
        if (item->id == id) {
            *at = (*at + i + 1) % list->items.count;
            return item;
        }
    }
    return NULL;
}

/* Some of its hunks have this answer, or the file has. */
static bool has_answer(const struct decided *decided, const char *letters)
{
    bool is_so = false;
    for (size_t i = 0; i < (decided->hunks ? decided->hunk_count : 1); i++)
        is_so |= strchr(letters,
                        decided->hunks && decided->hunks[i] ? decided->hunks[i] : *decided->answer) != NULL;
    return is_so;
}

static void add_name(struct html *out, const struct decided *decided, const struct review_item *item)
{
    html_add(out, "<li><span class=mono>%s</span>", item->path);
    if (item->changes > 1 && !item->renamed_from)
        html_add(out, " <span class=dim>%zu files</span>", item->changes);
    if (decided->hunks)
        html_add(out, " <span class=dim>some of its hunks</span>");
    if (item->conflict)
        html_add(out, " <span class=bad>▲ %s</span>",
                 strcmp(decided->answer, "overwrite") == 0 ? "overwrites yours" : "conflict");
    for (size_t i = 0; i < item->reasons.count; i++)
        html_add(out, " <span class=mark>▲ %s</span>", item->reasons.at[i]);
    html_add(out, "</li>\n");
}

/* The files that an act is about, with their risks; those that have one come first, and none of them is left out. */
static void add_names(struct html *out, const struct answers *answers, const struct review_list *list,
                      const char *letters, const char *title)
{
    enum { NAMED = 100 };
    size_t count = 0, plain = 0, named = 0;
    auto_html struct html risky = {0}, others = {0};
    size_t at = 0;
    vec_each (const struct decided, decided, &answers->list) {
        const struct review_item *item =
            has_answer(decided, letters) ? item_of(list, decided->id, &at) : NULL;
        bool is_risky = item && (item->reasons.count || item->conflict);
        count += item != NULL;
        plain += item && !is_risky;
        if (is_risky)
            add_name(&risky, decided, item);
        else if (item && named++ < NAMED)
            add_name(&others, decided, item);
    }
    if (!count)
        return;
    html_add(out, "<h2>%s %zu</h2><ul class=names>", title, count);
    html_join(out, &risky);
    html_join(out, &others);
    html_add(out, "</ul>");
    if (plain > NAMED)
        html_add(out, "<p class=dim>and %zu more files without a risk</p>", plain - NAMED);
}

static const char *files_text(struct arena *arena, size_t count)
{
    return arena_printf(arena, "%zu file%s", count, count == 1 ? "" : "s");
}

static void ask(struct visit *visit, const char *session, const struct answers *answers,
                const struct review_list *list)
{
    struct arena *arena = &visit->arena;
    const char *back = session_address(visit, session, "/review");
    bool is_live = list->is_live, changes_any = answers->discarded || (answers->applied && !is_live);
    auto_html struct html what = {0};
    if (is_live)
        html_add(&what, "<p class=lead>Take back %zu, keep %zu as they are.</p>\n", answers->discarded,
                 answers->applied + answers->left);
    else
        html_add(&what, "<p class=lead>Apply %zu, discard %zu, leave %zu as they are.</p>\n",
                 answers->applied, answers->discarded, answers->left);
    if (answers->unseen)
        html_add(
            &what,
            "<p class=bad>▲ %zu of those left cannot be shown here: answer each by itself to apply it.</p>\n",
            answers->unseen);
    if (!changes_any) {
        add_head(visit, session, "Nothing would change");
        html_join(&visit->page, &what);
        html_add(&visit->page, "<p><a class=button href=\"%s\">Back</a></p>", back);
        page_end(visit);
        return;
    }
    if (!is_live)
        add_names(&what, answers, list, "amo", "Apply");
    add_names(&what, answers, list, "d", is_live ? "Take back" : "Discard");
    const struct confirmation confirmation = {
        .title = arena_printf(arena, "Confirm: %s", session),
        .address = back,
        .act = is_live ? arena_printf(arena, "Take back %s", files_text(arena, answers->discarded))
               : !answers->discarded ? arena_printf(arena, "Apply %s", files_text(arena, answers->applied))
               : !answers->applied ? arena_printf(arena, "Discard %s", files_text(arena, answers->discarded))
                                   : arena_printf(arena, "Apply %s, discard %zu",
                                                  files_text(arena, answers->applied), answers->discarded),
        .back = back,
        .here = "/"};
    visit_confirm(visit, &confirmation, &what);
}

/* The list has the risks of the files, which the policy knows and this process does not. */
static void ask_with_list(struct visit *visit, const char *session, const struct answers *answers)
{
    struct review_list list;
    if (!visit_act(visit, ACT_REVIEW, NULL, (const char *[]){session, NULL}))
        return;
    if (visit->done_status == 0 && !visit->is_cut &&
        review_list_parse(&visit->arena, buf_text(&visit->done_text), visit->done_text.size, &list)) {
        ask(visit, session, answers, &list);
        review_list_free(&list);
        return;
    }
    add_head(visit, session, "Confirm");
    page_add_outcome(visit);
    page_end(visit);
}

/* The session that applied the answers can be undone. */
static void add_undo(struct visit *visit, const char *session)
{
    struct err ignored;
    auto_vec record_list records = {0};
    auto_fd int sessions_fd = visit_sessions(visit);
    const char *latest = NULL;
    if (sessions_fd < 0 || record_list_all(sessions_fd, &visit->arena, NULL, &records, &ignored) < 0)
        return;
    vec_each (const struct record, record, &records) {
        bool is_of = strcmp(record->of, session) == 0 && record->state == STATE_DONE;
        if (is_of && (record->mode == RECORD_APPLY || record->mode == RECORD_UNDO))
            latest = record->name;
    }
    if (!latest)
        return;
    html_add(&visit->page, "<form method=post action=\"/session/%s/undo\">", url_part(&visit->arena, latest));
    page_add_form_token(visit);
    html_add(&visit->page, "<button class=quiet>Undo this (%s)</button></form>\n", latest);
}

void review_decide_all(struct visit *visit, const char *session)
{
    auto_answers struct answers answers = {0};
    auto_changes struct changes changes = CHANGES_NONE;
    bool is_confirmed = visit_is_confirmed(visit);
    if (!is_confirmed || !visit->is_done) {
        if (!changes_open(visit, session, &changes)) {
            visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "The session has no changes.");
            return;
        }
        take_files(visit, &changes, &answers);
        take_hunks(visit, &changes, &answers);
        count_answers(&answers);
    }
    if (!is_confirmed) {
        ask_with_list(visit, session, &answers);
        return;
    }
    auto_buf struct buf text = {0};
    write_answers(&answers, visit_field(visit, "state"), &text);
    if (!visit_act(visit, ACT_DECIDE, &text, (const char *[]){session, NULL}))
        return;
    add_head(visit, session, "Result");
    page_add_outcome(visit);
    if (visit->done_status == 0 || visit->done_status == 1)
        add_undo(visit, session);
    page_end(visit);
}
