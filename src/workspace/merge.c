
#include <string.h>

#include "workspace/diff.h"

/* Lines from `from` to before `to`. */
struct span {
    size_t from, to;
};

/* Lines of the base that a side has replaced with its own lines. */
struct piece {
    struct span base, own;
    struct span reach; /* in the base: where the same edit could also have been made, with the same result */
};

struct side {
    line_list lines;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct piece) pieces;
    size_t next;      /* the first piece that is not merged yet */
    size_t own_start; /* the side's line at the position in the base that the merge has reached */
};

/*
 * If several lines are equal, nobody can tell which of them was added or removed. The piece reaches as far as it
 * could be moved along equal lines.
 */
static struct span find_reach(const line_list *lines, struct span moved, struct span base)
{
    enum { FURTHEST = 1000 };
    struct span span = moved, reach = base;
    while (span.from > 0 && reach.from > 0 && base.from - reach.from < FURTHEST &&
           line_is_same(&lines->at[span.from - 1], &lines->at[span.to - 1]))
        span.from--, span.to--, reach.from--;
    for (span = moved; span.to < lines->count && reach.to - base.to < FURTHEST &&
                       line_is_same(&lines->at[span.from], &lines->at[span.to]);
         reach.to++)
        span.from++, span.to++;
    return reach;
}

static void side_make(const line_list *base, const struct buf *text, struct side *ret_side)
{
    *ret_side = (struct side){0};
    lines_split(buf_text(text), text->size, &ret_side->lines);
    edit_list edits;
    lines_compare(base, &ret_side->lines, &edits);
    size_t old = 0, new = 0;
    for (size_t i = 0; i < edits.count;) {
        if (edits.at[i].kind == ' ') {
            i++, old++, new ++;
            continue;
        }
        struct piece piece = {.base = {old, old}, .own = {new, new}};
        for (; i < edits.count && edits.at[i].kind != ' '; i++) {
            piece.base.to += edits.at[i].kind == '-';
            piece.own.to += edits.at[i].kind == '+';
        }
        old = piece.base.to;
        new = piece.own.to;
        piece.reach = piece.base.from == piece.base.to ? find_reach(&ret_side->lines, piece.own, piece.base)
                      : piece.own.from == piece.own.to ? find_reach(base, piece.base, piece.base)
                                                       : piece.base;
        vec_push(&ret_side->pieces, piece);
    }
    vec_free(&edits);
}

static void side_free(struct side *side)
{
    vec_free(&side->lines);
    vec_free(&side->pieces);
}

static const struct piece *next_piece(const struct side *side)
{
    return side->next < side->pieces.count ? &side->pieces.at[side->next] : NULL;
}

static void grow(struct span *span, struct span by)
{
    span->from = by.from < span->from ? by.from : span->from;
    span->to = by.to > span->to ? by.to : span->to;
}

/* Takes the side's pieces that touch the place, and extends the place by them. Returns true if there were any. */
static bool take_pieces(struct side *side, struct piece *place)
{
    size_t first = side->next;
    for (const struct piece *piece; (piece = next_piece(side)) && piece->reach.from <= place->reach.to &&
                                    piece->reach.to >= place->reach.from;
         side->next++) {
        grow(&place->base, piece->base);
        grow(&place->reach, piece->reach);
    }
    return side->next > first;
}

/* The side's lines in the place of those lines of the base. `first` is its first piece there. */
static struct span side_span(const struct side *side, size_t first, struct span base)
{
    if (first == side->next) /* no piece: the same number of lines as the base */
        return (struct span){side->own_start, side->own_start + (base.to - base.from)};
    const struct piece *begin = &side->pieces.at[first], *end = &side->pieces.at[side->next - 1];
    return (struct span){begin->own.from - (begin->base.from - base.from),
                         end->own.to + (base.to - end->base.to)};
}

static void add_lines(struct buf *out, const line_list *lines, struct span span)
{
    for (size_t i = span.from; i < span.to; i++)
        buf_add(out, lines->at[i].text, lines->at[i].size);
}

static bool same_lines(const line_list *a, struct span in_a, const line_list *b, struct span in_b)
{
    if (in_a.to - in_a.from != in_b.to - in_b.from)
        return false;
    for (size_t i = 0; i < in_a.to - in_a.from; i++) {
        if (!line_is_same(&a->at[in_a.from + i], &b->at[in_b.from + i]))
            return false;
    }
    return true;
}

/* Adds a marker on a line of its own, even if the last line has no newline. */
static void add_mark(struct buf *out, const char *mark, const char *name)
{
    if (out->size && out->bytes[out->size - 1] != '\n')
        buf_add_char(out, '\n');
    buf_printf(out, "%s%s%s\n", mark, *name ? " " : "", name);
}

struct joining {
    const struct merge *merge;
    line_list base;
    struct side ours, theirs;
    bool clashes_only;
    size_t clashes;
    struct buf *out;
};

static void add_clash(struct joining *joining, struct span base, struct span ours, struct span theirs)
{
    joining->clashes++;
    add_mark(joining->out, "<<<<<<<", joining->merge->our_name);
    add_lines(joining->out, &joining->ours.lines, ours);
    add_mark(joining->out, "|||||||", "before");
    add_lines(joining->out, &joining->base, base);
    add_mark(joining->out, "=======", "");
    add_lines(joining->out, &joining->theirs.lines, theirs);
    add_mark(joining->out, ">>>>>>>", joining->merge->their_name);
}

/* Merges the next place at which a side differs from the base. Returns the end of the place in the base. */
static size_t join_place(struct joining *joining, const struct piece *first)
{
    struct piece place = *first;
    size_t our_first = joining->ours.next, their_first = joining->theirs.next;
    for (bool grows = true; grows;) {
        grows = take_pieces(&joining->ours, &place);
        grows |= take_pieces(&joining->theirs, &place);
    }
    struct span ours = side_span(&joining->ours, our_first, place.base);
    struct span theirs = side_span(&joining->theirs, their_first, place.base);
    bool is_ours = joining->ours.next > our_first, is_theirs = joining->theirs.next > their_first;
    if (is_ours && is_theirs && !same_lines(&joining->ours.lines, ours, &joining->theirs.lines, theirs))
        add_clash(joining, place.base, ours, theirs);
    else if (!joining->clashes_only)
        add_lines(joining->out, is_ours ? &joining->ours.lines : &joining->theirs.lines,
                  is_ours ? ours : theirs);
    joining->ours.own_start = ours.to;
    joining->theirs.own_start = theirs.to;
    return place.base.to;
}

static size_t join(const struct merge *merge, bool clashes_only, struct buf *ret_text)
{
    struct joining joining = {.merge = merge, .clashes_only = clashes_only, .out = ret_text};
    lines_split(buf_text(merge->base), merge->base->size, &joining.base);
    side_make(&joining.base, merge->ours, &joining.ours);
    side_make(&joining.base, merge->theirs, &joining.theirs);
    size_t at = 0; /* in the base */
    for (;;) {
        const struct piece *ours = next_piece(&joining.ours), *theirs = next_piece(&joining.theirs);
        const struct piece *first = !ours || (theirs && theirs->base.from < ours->base.from) ? theirs : ours;
        size_t next = first ? first->base.from : joining.base.count;
        if (!clashes_only)
            add_lines(joining.out, &joining.base, (struct span){at, next});
        joining.ours.own_start += next - at;
        joining.theirs.own_start += next - at;
        if (!first)
            break;
        at = join_place(&joining, first);
    }
    vec_free(&joining.base);
    side_free(&joining.ours);
    side_free(&joining.theirs);
    return joining.clashes;
}

size_t merge_texts(const struct merge *merge, struct buf *ret_text)
{
    return join(merge, false, ret_text);
}

size_t merge_clashes(const struct merge *merge, struct buf *ret_text)
{
    return join(merge, true, ret_text);
}
