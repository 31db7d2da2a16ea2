#include "cli/review.h"

#include <string.h>

#include "base/text.h"
#include "cli/say.h"
#include "git/repo.h"

static const char aside_help[] = "  y  apply it                  n  leave it waiting\n"
                                 "  x  throw it away             h  hunk by hunk\n"
                                 "  A  apply this and all that follow, except flagged files\n"
                                 "  k  previous                  j  next, without deciding\n"
                                 "  q  stop: undecided files stay waiting\n"
                                 "  Ctrl-C  stop and change nothing\n";
static const char live_help[] = "  y  keep it                   x  take it back\n"
                                "  h  hunk by hunk\n"
                                "  A  keep this and all that follow, except flagged files\n"
                                "  k  previous                  j  next, without deciding\n"
                                "  q  stop: undecided files are kept\n"
                                "  Ctrl-C  stop and change nothing\n";
static const char conflict_help[] =
    "You changed this file meanwhile.\n"
    "  m  merge both                t  overwrite yours with the session's\n"
    "  n  leave it waiting          x  keep yours, and give up the session's\n"
    "  k  previous                  j  next, without deciding\n"
    "  q  stop                      Ctrl-C  stop and change nothing\n";

/* --- a question --------------------------------------------------------------------------------------------------- */

/* Shows the next screen of the text. Returns where it ends. */
static size_t show_screen(const struct review *review, const struct buf *text, size_t from)
{
    size_t at = from;
    for (size_t rows = answer_rows(&review->answering) - 3; at < text->size && rows; rows--) {
        const char *end = memchr(text->bytes + at, '\n', text->size - at);
        at = end ? (size_t)(end - text->bytes) + 1 : text->size;
    }
    fwrite(buf_text(text) + from, 1, at - from, review->world->out);
    return at;
}

char review_question(struct review *review, const struct buf *text, const char *question, const char *keys,
                     const char *help)
{
    FILE *out = review->world->out;
    auto_buf struct buf prompt = {0};
    size_t shown = text->size ? show_screen(review, text, 0) : 0;
    for (;;) {
        prompt.size = 0;
        style_add(&review->patch->style, &prompt, COLOUR_BOLD, question);
        buf_add_str(&prompt, " [");
        for (const char *key = keys; *key; key++)
            buf_printf(&prompt, "%c,", *key);
        buf_printf(&prompt, "?]%s ", shown < text->size ? " (space shows more)" : "");
        char key = answer_key(&review->answering, buf_text(&prompt));
        bool is_known = key && strchr(keys, key);
        fprintf(out, "%c\n", is_known ? key : ' ');
        if (is_known || key == KEY_CANCEL || key == KEY_END || key == KEY_UNSURE)
            return key;
        if (key == ' ' && shown < text->size)
            shown = show_screen(review, text, shown);
        else if (key == '?')
            fputs(help, out);
    }
}

/* --- a file hunk by hunk ----------------------------------------------------------------------------------------------- */

static const char hunk_help[] = "  y  take this hunk            n  leave it\n"
                                "  x  throw it away             s  split it into smaller ones\n"
                                "  a  take this and all that follow in this file\n"
                                "  d  leave this and all that follow in this file\n"
                                "  k  previous                  j  next, without deciding\n"
                                "  q  stop: undecided hunks stay as they are\n";

/* Answers this hunk and all that follow. */
static void answer_hunks(struct item *item, size_t from, enum answer answer)
{
    for (size_t i = from; i < item->hunk_answers.count; i++)
        item->hunk_answers.at[i] = (char)answer;
}

static bool split(struct item *item, size_t number)
{
    size_t parts = hunks_split(&item->hunks, number);
    for (size_t i = 1; i < parts; i++)
        vec_push(&item->hunk_answers, ANSWER_NONE);
    /* The hunks that follow keep their answers. */
    size_t moved = item->hunk_answers.count - parts - number;
    memmove(item->hunk_answers.at + number + parts, item->hunk_answers.at + number + 1, moved);
    memset(item->hunk_answers.at + number, ANSWER_NONE, parts);
    return parts > 1;
}

/* Handles a key. Returns the number of the next hunk. */
static size_t obey_in_hunks(struct review *review, struct item *item, size_t number, char key)
{
    size_t count = item->hunks.list.count;
    switch (key) {
    case 'a':
        answer_hunks(item, number, ANSWER_YES);
        return count;
    case 'd':
        answer_hunks(item, number, ANSWER_NO);
        return count;
    case 'k':
        return number ? number - 1 : 0;
    case 'j':
        return number + 1;
    case 's':
        if (!split(item, number))
            fputs("This hunk cannot be split: it has no unchanged line in the middle.\n", review->world->out);
        return number;
    default:
        item->hunk_answers.at[number] = key;
        return number + 1;
    }
}

static char ask_hunks(struct review *review, struct item *item)
{
    struct change change = review_change(review, item->members.at[0]);
    struct arena *arena = review->patch->arena;
    auto_buf struct buf head = {0};
    patch_add_head(review->patch, &change, &head);
    put(review->world->out, &head);
    item->answer = ANSWER_HUNKS;
    for (size_t i = 0; i < item->hunks.list.count;) {
        auto_buf struct buf shown = {0};
        patch_add_hunk(review->patch, &item->hunks, i, &shown);
        const char *question = arena_printf(arena, "(%zu/%zu) %s", i + 1, item->hunks.list.count,
                                            review->is_live ? "Keep this hunk" : "Apply this hunk");
        char key = review_question(review, &shown, question, "ynxsadkjq", hunk_help);
        if (key == KEY_CANCEL || key == KEY_END || key == KEY_UNSURE || key == 'q')
            return key;
        i = obey_in_hunks(review, item, i, key);
    }
    return '\0';
}

/* --- item by item -------------------------------------------------------------------------------------------------------- */

/* Shows the old and new positions of branches; other files of a repository mean nothing to a person. */
static void add_repository(const struct review *review, const struct item *item, struct buf *out)
{
    const char *path = review->decisions->at[item->members.at[0]].judged.change.path;
    const char *git = arena_copy(review->patch->arena, path, git_directory_size(path) - 1);
    buf_add_str(out, "The repository in ");
    style_add(&review->patch->style, out, COLOUR_BOLD, git);
    buf_printf(out, ", %zu file%s:\n", item->members.count, item->members.count == 1 ? "" : "s");
    if (review->commits && arrivals_concern(path)) {
        style_add(&review->patch->style, out, COLOUR_YELLOW, "! risky: ");
        style_add(&review->patch->style, out, COLOUR_YELLOW, review->commits);
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < item->members.count; i++) {
        struct change change = review_change(review, item->members.at[i]);
        auto_buf struct buf old = {0}, new = {0};
        const char *inner = change.path + strlen(git) + 1;
        if (!git_is_position(change.path) || text_starts_with(inner, "logs/") ||
            patch_read(review->patch, &change, &old, &new))
            continue;
        enum { HASH_SHOWN = 12 };
        buf_add_str(out, "  ");
        style_add(&review->patch->style, out, COLOUR_PLAIN, inner);
        buf_add_str(out, "  ");
        text_add_printable(out, buf_text(&old), old.size < HASH_SHOWN ? old.size : HASH_SHOWN);
        buf_add_str(out, " -> ");
        text_add_printable(out, buf_text(&new), new.size < HASH_SHOWN ? new.size : HASH_SHOWN);
        buf_add_char(out, '\n');
    }
}

static void add_item(const struct review *review, const struct item *item, struct buf *out)
{
    if (item->is_repository) {
        add_repository(review, item, out);
        return;
    }
    for (size_t i = 0; i < item->members.count; i++) {
        struct change change = review_change(review, item->members.at[i]);
        patch_add_diff(review->patch, &change, out);
    }
}

bool review_join(struct review *review, struct item *item, struct buf *out)
{
    const struct decision *decision = &review->decisions->at[item->members.at[0]];
    struct err ignored;
    auto_conflict struct conflict conflict = {0};
    style_add(&review->patch->style, out, COLOUR_YELLOW, "! ");
    style_add(&review->patch->style, out, COLOUR_YELLOW, decision->why);
    buf_add_char(out, '\n');
    if (conflict_read(&review->dialogue->transition, review->patch->store, decision, &conflict, &ignored) <=
        0)
        return false;
    struct merge merge = {&conflict.base, &conflict.ours, &conflict.theirs, "yours",
                          review->dialogue->of->name};
    auto_buf struct buf clashes = {0};
    item->joined.size = 0;
    if (merge_texts(&merge, &item->joined) == 0) {
        buf_add_str(out, "No conflict: m merges both.\n");
        return true;
    }
    merge_clashes(&merge, &clashes);
    conflict_add(out, &review->patch->style, buf_text(&clashes));
    return false;
}

/* --- the review ----------------------------------------------------------------------------------------------------- */

static char ask_item(struct review *review, struct item *item, size_t number)
{
    bool has_conflict = false, can_join = false;
    auto_buf struct buf shown = {0};
    for (size_t i = 0; i < item->members.count; i++)
        has_conflict |= review->decisions->at[item->members.at[i]].course == COURSE_CONFLICT;
    add_item(review, item, &shown);
    if (has_conflict)
        can_join = item->members.count == 1 && review_join(review, item, &shown);
    bool has_hunks = review_find_hunks(review, item);
    const char *path = review_change(review, item->members.at[0]).path;
    const char *question = arena_printf(review->patch->arena, "(%zu/%zu) %s %s", number + 1,
                                        review->items.count, review->is_live ? "Keep" : "Apply",
                                        item->is_repository ? "the repository's changes" : path);
    if (has_conflict)
        return review_question(review, &shown, question, can_join ? "mntxkjq" : "ntxkjq", conflict_help);
    if (review->by_hunks && has_hunks)
        return ANSWER_HUNKS;
    if (review->is_live)
        return review_question(review, &shown, question, has_hunks ? "yxhAkjq" : "yxAkjq", live_help);
    return review_question(review, &shown, question, has_hunks ? "ynxhAkjq" : "ynxAkjq", aside_help);
}

/* Answers yes to this item and to the following ones without flags and conflicts. */
static void answer_rest(struct review *review, size_t from)
{
    for (size_t i = from; i < review->items.count; i++) {
        struct item *item = &review->items.at[i];
        bool goes = !item->is_risky || i == from;
        for (size_t j = 0; j < item->members.count; j++)
            goes &= review->decisions->at[item->members.at[j]].course == COURSE_GO;
        if (goes)
            item->answer = ANSWER_YES;
    }
}

/* The next item without an answer, or the count. */
static size_t next_open(const struct review *review, size_t from)
{
    while (from < review->items.count && review->items.at[from].answer)
        from++;
    return from;
}

bool review_ask(struct review *review)
{
    for (size_t i = 0; i < review->items.count;) {
        struct item *item = &review->items.at[i];
        char key = ask_item(review, item, i);
        if (key == ANSWER_HUNKS)
            key = ask_hunks(review, item);
        switch (key) {
        case KEY_CANCEL:
        case KEY_UNSURE:
            return false;
        case KEY_END:
        case 'q':
            return true;
        case 'k':
            i -= i > 0;
            break;
        case 'j':
            i++;
            break;
        case 'A':
            answer_rest(review, i);
            i = next_open(review, i);
            break;
        case '\0': /* ask_hunks has set the answers */
            i = next_open(review, i + 1);
            break;
        default:
            item->answer = (enum answer)key;
            i = next_open(review, i + 1);
        }
    }
    return true;
}
