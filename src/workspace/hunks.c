#include "workspace/hunks.h"

#include <string.h>

enum { CONTEXT = 3 };

void hunks_find(const struct buf *old, const struct buf *new, struct hunks *ret_hunks)
{
    *ret_hunks = (struct hunks){0};
    lines_split(buf_text(old), old->size, &ret_hunks->old);
    lines_split(buf_text(new), new->size, &ret_hunks->new);
    lines_compare(&ret_hunks->old, &ret_hunks->new, &ret_hunks->edits);
    const edit_list *edits = &ret_hunks->edits;
    for (size_t i = 0; i < edits->count;) {
        if (edits->at[i].kind == ' ') {
            i++;
            continue;
        }
        /* A hunk goes on as long as the next difference is nearer than two contexts. */
        size_t last = i;
        for (size_t j = i; j < edits->count && j <= last + 2UL * CONTEXT + 1; j++)
            last = edits->at[j].kind != ' ' ? j : last;
        vec_push(&ret_hunks->list, (struct hunk){i, last + 1});
        i = last + 1;
    }
}

void hunks_free(struct hunks *hunks)
{
    vec_free(&hunks->old);
    vec_free(&hunks->new);
    vec_free(&hunks->edits);
    vec_free(&hunks->list);
}

struct hunk hunks_with_context(const struct hunks *hunks, size_t number)
{
    struct hunk hunk = hunks->list.at[number];
    const edit_list *edits = &hunks->edits;
    for (int i = 0; i < CONTEXT && hunk.from > 0 && edits->at[hunk.from - 1].kind == ' '; i++)
        hunk.from--;
    for (int i = 0; i < CONTEXT && hunk.to < edits->count && edits->at[hunk.to].kind == ' '; i++)
        hunk.to++;
    return hunk;
}

size_t hunks_split(struct hunks *hunks, size_t number)
{
    const edit_list *edits = &hunks->edits;
    struct hunk whole = hunks->list.at[number];
    size_t count = 0;
    for (size_t i = whole.from, end; i < whole.to; count++) {
        for (end = i; end < whole.to && edits->at[end].kind != ' ';)
            end++;
        struct hunk part = {i, end};
        if (count) {
            vec_push(&hunks->list, part); /* room: those behind it make place */
            struct hunk *at = hunks->list.at + number + count;
            memmove(at + 1, at, (hunks->list.count - 1 - number - count) * sizeof(*at));
        }
        hunks->list.at[number + count] = part;
        for (i = end; i < whole.to && edits->at[i].kind == ' ';)
            i++;
    }
    return count;
}

void hunks_compose(const struct hunks *hunks, const bool *are_taken, struct buf *ret_text)
{
    size_t number = 0;
    for (size_t i = 0; i < hunks->edits.count; i++) {
        const struct line_edit *edit = &hunks->edits.at[i];
        while (number < hunks->list.count && i >= hunks->list.at[number].to)
            number++;
        bool is_taken = number < hunks->list.count && are_taken[number];
        const struct line *line = edit->kind == '+' ? &hunks->new.at[edit->new] : &hunks->old.at[edit->old];
        if (edit->kind == ' ' || (edit->kind == '+') == is_taken)
            buf_add(ret_text, line->text, line->size);
    }
}
