#include "workspace/diff.h"

#include <stdint.h>
#include <string.h>

enum { MOST_DIFFERENCES = 2000 };

bool lines_are_text(const char *bytes, size_t size)
{
    enum { LOOKED_AT = 8000 };
    return !memchr(bytes, '\0', size < LOOKED_AT ? size : LOOKED_AT);
}

void lines_split(const char *text, size_t size, line_list *ret_lines)
{
    *ret_lines = (line_list){0};
    const char *end = text + size;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *next = newline ? newline + 1 : end;
        vec_push(ret_lines, (struct line){text, (size_t)(next - text)});
        text = next;
    }
}

bool line_is_same(const struct line *a, const struct line *b)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no line of an empty text is ever compared */
    return a->size == b->size && (a->size == 0 || memcmp(a->text, b->text, a->size) == 0);
}

/* Both texts without the lines that they have in common at their beginning and end. */
struct middle {
    const struct line *old, *new;
    long old_count, new_count;
};

/*
 * Finds, for each number d of differences and each diagonal, the furthest point that can be reached. The edits are
 * read from these points. Returns the number of differences, or -1 if there are too many.
 */
static long find_differences(const struct middle *middle, int32_t **rounds)
{
    long most = middle->old_count + middle->new_count;
    most = most < MOST_DIFFERENCES ? most : MOST_DIFFERENCES;
    int32_t *furthest = must_realloc(NULL, (size_t)(2 * most + 3), sizeof(*furthest));
    memset(furthest, 0, (size_t)(2 * most + 3) * sizeof(*furthest));
    long offset = most + 1, found = -1;
    for (long d = 0; d <= most && found < 0; d++) {
        for (long k = -d; k <= d; k += 2) {
            bool goes_down = k == -d || (k != d && furthest[offset + k - 1] < furthest[offset + k + 1]);
            long x = goes_down ? furthest[offset + k + 1] : furthest[offset + k - 1] + 1;
            long y = x - k;
            while (x < middle->old_count && y < middle->new_count &&
                   line_is_same(&middle->old[x], &middle->new[y]))
                x++, y++;
            furthest[offset + k] = (int32_t)x;
            if (x >= middle->old_count && y >= middle->new_count)
                found = d;
        }
        rounds[d] = must_realloc(NULL, (size_t)(2 * d + 1), sizeof(**rounds));
        memcpy(rounds[d], furthest + offset - d, (size_t)(2 * d + 1) * sizeof(**rounds));
    }
    free(furthest);
    return found;
}

/* The furthest point on diagonal k after d differences. */
static long reached(int32_t *const *rounds, long d, long k)
{
    return k < -d || k > d ? -1 : rounds[d][k + d];
}

/* Adds the edits from the last to the first; the caller reverses them. */
static void trace_back(const struct middle *middle, int32_t *const *rounds, long d, edit_list *edits)
{
    long x = middle->old_count, y = middle->new_count;
    for (; d > 0; d--) {
        long k = x - y;
        bool goes_down = k == -d || (k != d && reached(rounds, d - 1, k - 1) < reached(rounds, d - 1, k + 1));
        long before = goes_down ? k + 1 : k - 1;
        long start_x = reached(rounds, d - 1, before), start_y = start_x - before;
        while (x > start_x + !goes_down && y > start_y + goes_down) {
            x--, y--;
            vec_push(edits, (struct line_edit){' ', (size_t)x, (size_t)y});
        }
        x = start_x;
        y = start_y;
        vec_push(edits, (struct line_edit){goes_down ? '+' : '-', (size_t)x, (size_t)y});
    }
    while (x > 0 && y > 0) {
        x--, y--;
        vec_push(edits, (struct line_edit){' ', (size_t)x, (size_t)y});
    }
}

static void replace_all(const struct middle *middle, edit_list *edits)
{
    for (long i = middle->new_count; i--;)
        vec_push(edits, (struct line_edit){'+', (size_t)middle->old_count, (size_t)i});
    for (long i = middle->old_count; i--;)
        vec_push(edits, (struct line_edit){'-', (size_t)i, 0});
}

/*
 * Is one text simply replaced by the other? Then the search, which takes 16 MB, is not worth it: one text has no lines, or so many more
 * that there are more differences than are searched for.
 */
static bool is_plain(const struct middle *middle)
{
    long more = middle->new_count - middle->old_count;
    return !middle->old_count || !middle->new_count || more > MOST_DIFFERENCES || -more > MOST_DIFFERENCES;
}

static void search(const struct middle *middle, edit_list *ret_edits)
{
    int32_t **rounds = must_realloc(NULL, MOST_DIFFERENCES + 1, sizeof(*rounds));
    memset(rounds, 0, (MOST_DIFFERENCES + 1) * sizeof(*rounds));
    long differences = find_differences(middle, rounds);
    if (differences < 0)
        replace_all(middle, ret_edits);
    else
        trace_back(middle, rounds, differences, ret_edits);
    for (size_t i = 0; i <= MOST_DIFFERENCES; i++)
        free(rounds[i]);
    free(rounds);
}

static void compare_middle(const struct middle *middle, edit_list *ret_edits)
{
    if (is_plain(middle))
        replace_all(middle, ret_edits);
    else
        search(middle, ret_edits);
    for (size_t i = 0; i < ret_edits->count / 2; i++) {
        struct line_edit other = ret_edits->at[ret_edits->count - 1 - i];
        ret_edits->at[ret_edits->count - 1 - i] = ret_edits->at[i];
        ret_edits->at[i] = other;
    }
}

void lines_compare(const line_list *old, const line_list *new, edit_list *ret_edits)
{
    *ret_edits = (edit_list){0};
    size_t shorter = old->count < new->count ? old->count : new->count, first = 0, last = 0;
    while (first < shorter && line_is_same(&old->at[first], &new->at[first]))
        first++;
    while (last < shorter - first &&
           line_is_same(&old->at[old->count - 1 - last], &new->at[new->count - 1 - last]))
        last++;
    for (size_t i = 0; i < first; i++)
        vec_push(ret_edits, (struct line_edit){' ', i, i});
    struct middle middle = {
        .old = first ? old->at + first : old->at, /* NULL must not be added to */
        .new = first ? new->at + first : new->at,
        .old_count = (long)(old->count - first - last),
        .new_count = (long)(new->count - first - last),
    };
    edit_list between = {0};
    if (middle.old_count || middle.new_count)
        compare_middle(&middle, &between);
    for (size_t i = 0; i < between.count; i++) {
        struct line_edit edit = between.at[i];
        vec_push(ret_edits, (struct line_edit){edit.kind, edit.old + first, edit.new + first});
    }
    vec_free(&between);
    for (size_t i = last; i--;)
        vec_push(ret_edits, (struct line_edit){' ', old->count - 1 - i, new->count - 1 - i});
}

/* --- hunks -------------------------------------------------------------------------------------------------------- */

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
        /* A hunk continues as long as the next difference is less than two contexts away. */
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
            vec_push(&hunks->list, part); /* makes room: the hunks after it move up */
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
