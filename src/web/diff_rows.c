/*
 * A difference as HTML. Lines that replace others are compared word by word, with the algorithm that compares lines. It knows no
 * language: a word is a run of letters and digits, and every other byte stands alone.
 */
#include <stdlib.h>
#include <string.h>

#include "web/changes.h"

enum { MOST_LINES = 1500, MOST_WORDS = 400, LONGEST_SHOWN = 2000 };

/* --- words ------------------------------------------------------------------------------------------------------------ */

static bool is_of_word(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '_' || (unsigned char)byte >= 128;
}

static void split_words(const struct line *line, line_list *words)
{
    for (size_t at = 0; at < line->size && words->count < MOST_WORDS;) {
        size_t size = 1;
        while (is_of_word(line->text[at]) && at + size < line->size && is_of_word(line->text[at + size]))
            size++;
        vec_push(words, (struct line){line->text + at, size});
        at += size;
    }
}

static size_t size_without_newline(const struct line *line)
{
    return line->size && line->text[line->size - 1] == '\n' ? line->size - 1 : line->size;
}

static size_t shown_size(const struct line *line)
{
    return html_piece(line->text, size_without_newline(line), LONGEST_SHOWN);
}

static void add_plain(struct html *page, const struct line *line)
{
    html_add_bytes(page, line->text, shown_size(line));
}

/* The rest of a long line is a click away: whoever decides about a file can see all of it. */
static void add_rest(struct html *page, const struct diff_view *view, const struct line *line, size_t number,
                     bool is_new)
{
    size_t shown = shown_size(line), rest = size_without_newline(line) - shown;
    if (!rest)
        return;
    html_add(page, "<span class=more>… ");
    if (view->bytes)
        html_add(page, "<a class=button data-more href=\"%s&amp;side=%s&amp;line=%zu&amp;from=%zu\">",
                 view->bytes, is_new ? "after" : "before", number, shown);
    html_add(page, "%zu byte%s more%s</span>", rest, rest == 1 ? "" : "s",
             view->bytes ? " in this line</a>" : "");
}

/* The line with those words marked that the other one lacks. */
static void add_words(struct html *page, const struct line *line, const struct line *other, bool is_new)
{
    auto_vec line_list own = {0}, others = {0};
    auto_vec edit_list edits = {0};
    const struct line shown = {line->text, shown_size(line)}, compared = {other->text, shown_size(other)};
    split_words(&shown, &own);
    split_words(&compared, &others);
    if (!own.count || own.count == MOST_WORDS || others.count == MOST_WORDS) {
        add_plain(page, line);
        return;
    }
    lines_compare(is_new ? &others : &own, is_new ? &own : &others, &edits);
    bool is_marked = false;
    vec_each (const struct line_edit, edit, &edits) {
        if (edit->kind == (is_new ? '-' : '+'))
            continue;
        const struct line *word = &own.at[is_new ? edit->new : edit->old];
        if (is_marked && edit->kind == ' ')
            html_add(page, "</mark>");
        else if (!is_marked && edit->kind != ' ')
            html_add(page, "<mark>");
        is_marked = edit->kind != ' ';
        html_add_bytes(page, word->text, word->size);
    }
    if (is_marked)
        html_add(page, "</mark>");
}

/* --- lines ------------------------------------------------------------------------------------------------------------ */

/* What is shown in a row: the numbers of edits, or SIZE_MAX. */
struct row {
    size_t old, new;
};
typedef VEC(struct row) row_list;

/* Pairs the lines of a run of removed ones with those of the added ones that follow. */
static size_t pair(const struct hunks *hunks, size_t at, size_t to, row_list *rows)
{
    size_t removed = at, added;
    while (removed < to && hunks->edits.at[removed].kind == '-')
        removed++;
    for (added = removed; added < to && hunks->edits.at[added].kind == '+'; added++) {
    }
    size_t olds = removed - at, news = added - removed;
    for (size_t i = 0; i < olds || i < news; i++)
        vec_push(rows, (struct row){i < olds ? at + i : SIZE_MAX, i < news ? removed + i : SIZE_MAX});
    return added;
}

static void collect_rows(const struct hunks *hunks, struct hunk hunk, row_list *rows)
{
    for (size_t at = hunk.from; at < hunk.to;) {
        if (hunks->edits.at[at].kind == ' ') {
            vec_push(rows, (struct row){at, at});
            at++;
        } else {
            at = pair(hunks, at, hunk.to, rows);
        }
    }
}

static const struct line *line_of(const struct hunks *hunks, size_t edit, bool is_new)
{
    const struct line_edit *at = &hunks->edits.at[edit];
    return is_new ? &hunks->new.at[at->new] : &hunks->old.at[at->old];
}

static void add_cell(struct html *page, const struct hunks *hunks, const struct diff_view *view,
                     struct row row, bool is_new)
{
    size_t edit = is_new ? row.new : row.old, other = is_new ? row.old : row.new;
    const struct line_edit *at = &hunks->edits.at[edit];
    const struct line *line = line_of(hunks, edit, is_new);
    if (other == SIZE_MAX || other == edit)
        add_plain(page, line);
    else
        add_words(page, line, line_of(hunks, other, !is_new), is_new);
    add_rest(page, view, line, is_new ? at->new : at->old, is_new);
}

static void add_side(struct html *page, const struct hunks *hunks, const struct diff_view *view,
                     struct row row, bool is_new)
{
    size_t edit = is_new ? row.new : row.old;
    if (edit == SIZE_MAX) {
        html_add(page, "<td class=no></td><td class=\"code none\"></td>");
        return;
    }
    const struct line_edit *at = &hunks->edits.at[edit];
    const char *kind = at->kind == ' ' ? "same" : is_new ? "new" : "old";
    html_add(page, "<td class=no>%zu</td><td class=\"code %s\"><span class=sign>%c</span>",
             (is_new ? at->new : at->old) + 1, kind, at->kind);
    add_cell(page, hunks, view, row, is_new);
    html_add(page, "</td>");
}

static void add_unified(struct html *page, const struct hunks *hunks, const struct diff_view *view,
                        struct row row, bool is_new)
{
    size_t edit = is_new ? row.new : row.old;
    const struct line_edit *at = &hunks->edits.at[edit];
    const char *kind = at->kind == ' ' ? "same" : is_new ? "new" : "old";
    html_add(page, "<tr><td class=no>");
    if (at->kind != '+')
        html_add(page, "%zu", at->old + 1);
    html_add(page, "</td><td class=no>");
    if (at->kind != '-')
        html_add(page, "%zu", at->new + 1);
    html_add(page, "</td><td class=\"code %s\"><span class=sign>%c</span>", kind, at->kind);
    add_cell(page, hunks, view, row, is_new);
    html_add(page, "</td></tr>\n");
}

/* Removed lines first, then added ones, until a line that both have. */
static size_t add_unified_run(struct html *page, const struct hunks *hunks, const struct diff_view *view,
                              const row_list *rows, size_t from)
{
    size_t to = from;
    if (rows->at[from].old == rows->at[from].new) {
        add_unified(page, hunks, view, rows->at[from], false);
        return from + 1;
    }
    while (to < rows->count && to - from < MOST_LINES && rows->at[to].old != rows->at[to].new)
        to++;
    for (size_t i = from; i < to; i++) {
        if (rows->at[i].old != SIZE_MAX)
            add_unified(page, hunks, view, rows->at[i], false);
    }
    for (size_t i = from; i < to; i++) {
        if (rows->at[i].new != SIZE_MAX)
            add_unified(page, hunks, view, rows->at[i], true);
    }
    return to;
}

/* --- hunks ------------------------------------------------------------------------------------------------------------ */

static void add_choice(struct html *page, const struct diff_view *view, size_t number)
{
    html_add(page, "<label>Hunk %zu <select name=\"h%zu.%zu\"><option value=\"\">as the file</option>",
             number + 1, view->id, number);
    if (view->is_live)
        html_add(page, "<option value=apply>keep</option><option value=discard>take back</option>");
    else
        html_add(page, "<option value=apply>apply</option><option value=leave>leave</option>"
                       "<option value=discard>discard</option>");
    html_add(page, "</select></label>");
}

static void add_hunk_head(struct html *page, const struct hunks *hunks, const struct diff_view *view,
                          size_t number)
{
    const struct line_edit *start = &hunks->edits.at[hunks_with_context(hunks, number).from];
    html_add(page, "<tr class=hunk><td colspan=%zu><span class=mono>@@ line %zu → %zu</span> ",
             (size_t)(view->is_side_by_side ? 4 : 3), start->old + 1, start->new + 1);
    if (view->asks)
        add_choice(page, view, number);
    html_add(page, "</td></tr>\n");
}

/* Adds rows from number `from` on. Returns the number of the next one that there was no room for, or SIZE_MAX. */
static size_t add_rows(struct html *page, const struct hunks *hunks, const struct diff_view *view)
{
    size_t number = 0, shown = 0;
    for (size_t i = 0; i < hunks->list.count; i++) {
        auto_vec row_list rows = {0};
        collect_rows(hunks, hunks_with_context(hunks, i), &rows);
        if (number >= view->from && shown < MOST_LINES)
            add_hunk_head(page, hunks, view, i);
        for (size_t j = 0; j < rows.count; number++) {
            if (number < view->from) {
                j++;
                continue;
            }
            if (shown >= MOST_LINES)
                return number;
            size_t before = j;
            if (view->is_side_by_side) {
                html_add(page, "<tr>");
                add_side(page, hunks, view, rows.at[j], false);
                add_side(page, hunks, view, rows.at[j++], true);
                html_add(page, "</tr>\n");
            } else {
                j = add_unified_run(page, hunks, view, &rows, j);
            }
            shown += j - before;
            number += j - before - 1;
        }
    }
    return SIZE_MAX;
}

void diff_add(struct html *page, struct arena *arena, const struct hunks *hunks, const struct diff_view *view)
{
    html_add(page, "<table class=\"diff %s\">", view->is_side_by_side ? "side" : "unified");
    html_add(page, "<thead class=off><tr>");
    if (view->is_side_by_side)
        html_add(page,
                 "<th scope=col>Line before<th scope=col>Before<th scope=col>Line after<th scope=col>After");
    else
        html_add(page, "<th scope=col>Line before<th scope=col>Line after<th scope=col>Text");
    html_add(page, "</tr></thead><tbody>\n");
    size_t rest = add_rows(page, hunks, view);
    html_add(page, "</tbody></table>\n");
    if (rest == SIZE_MAX)
        return;
    size_t added = 0, removed = 0;
    for (size_t i = 0; i < hunks->edits.count; i++) {
        added += hunks->edits.at[i].kind == '+';
        removed += hunks->edits.at[i].kind == '-';
    }
    html_add(
        page,
        "<p class=more><a class=button data-more href=\"%s\">Show more</a> <span class=dim>%zu lines added, %zu removed in "
        "all</span></p>\n",
        arena_printf(arena, "%s&from=%zu", view->more, rest), added, removed);
}
