#include "workspace/repo_texts.h"

#include <stdlib.h>
#include <string.h>

#include "git/judge_form.h"
#include "git/refs.h"

static bool add_line(struct arena *arena, const struct git_packed_line *line, struct packed_refs *refs)
{
    const char *text = arena_printf(arena, "%.*s\n", (int)line->text.size, line->text.at);
    if (line->kind == GIT_PACKED_COMMENT && refs->lines.count == 0 && !*refs->head) {
        refs->head = text;
        return true;
    }
    if (!line->is_plain)
        return false;
    if (line->kind == GIT_PACKED_PEELED && refs->lines.count) {
        struct packed_ref *tag = &refs->lines.at[refs->lines.count - 1];
        tag->text = arena_printf(arena, "%s%s", tag->text, text);
        return true;
    }
    if (line->kind != GIT_PACKED_REF || !bytes_start_with(line->name, "refs/"))
        return false;
    vec_push(&refs->lines, (struct packed_ref){.name = arena_copy(arena, line->name.at, line->name.size),
                                               .value = arena_str(arena, line->at.digits),
                                               .text = text});
    return true;
}

void packed_refs_parse(struct arena *arena, const struct buf *text, struct packed_refs *ret_refs)
{
    struct bytes rest = bytes_of(buf_text(text), text->size);
    bool is_sound = true, is_form = git_form_packed_refs(rest);
    *ret_refs = (struct packed_refs){.is_there = true, .head = ""};
    for (struct git_packed_line line; is_sound && git_packed_next(&rest, &line);)
        is_sound = add_line(arena, &line, ret_refs);
    ret_refs->is_sound = is_sound && is_form;
    for (size_t i = 0; i < ret_refs->lines.count; i++) {
        const struct packed_ref *ref = &ret_refs->lines.at[i];
        *map_at(&ret_refs->by_name, ref->name, strlen(ref->name)) = &ret_refs->lines.at[i];
    }
}

void packed_refs_free(struct packed_refs *refs)
{
    vec_free(&refs->lines);
    map_free(&refs->by_name);
}

static const struct packed_ref *find(const struct packed_refs *refs, const char *name)
{
    return map_get(&refs->by_name, name, strlen(name));
}

const char *packed_refs_find(const struct packed_refs *refs, const char *name)
{
    const struct packed_ref *ref = find(refs, name);
    return ref ? ref->value : NULL;
}

void packed_refs_edit(packed_edits *edits, const char *name, const struct packed_refs *from)
{
    vec_push(edits, (struct packed_edit){name, from});
}

static int by_name(const void *a, const void *b)
{
    const struct packed_ref *left = *(const struct packed_ref *const *)a,
                            *right = *(const struct packed_ref *const *)b;
    return strcmp(left->name, right->name);
}

typedef VEC(const struct packed_ref *) line_list;

/* The lines with the edits, in git's order. */
static void edit(const struct packed_refs *refs, const packed_edits *edits, line_list *ret_lines)
{
    struct map edited = {0};
    for (size_t i = 0; i < edits->count; i++) {
        const struct packed_edit *one = &edits->at[i];
        const struct packed_ref *ref = one->from ? find(one->from, one->name) : NULL;
        *map_at(&edited, one->name, strlen(one->name)) = &edited;
        if (ref)
            vec_push(ret_lines, ref);
    }
    for (size_t i = 0; i < refs->lines.count; i++) {
        const struct packed_ref *ref = &refs->lines.at[i];
        if (!map_get(&edited, ref->name, strlen(ref->name)))
            vec_push(ret_lines, ref);
    }
    if (ret_lines->count)
        qsort(ret_lines->at, ret_lines->count, sizeof(*ret_lines->at), by_name);
    map_free(&edited);
}

bool packed_refs_become(const struct packed_refs *refs, const packed_edits *edits,
                        const struct packed_refs *other)
{
    auto_vec line_list lines = {0};
    edit(refs, edits, &lines);
    bool is_same = lines.count == other->lines.count;
    for (size_t i = 0; is_same && i < lines.count; i++) {
        const char *value = packed_refs_find(other, lines.at[i]->name);
        is_same = value && strcmp(value, lines.at[i]->value) == 0;
    }
    return is_same;
}

void packed_refs_write(const struct packed_refs *refs, const struct packed_refs *other,
                       const packed_edits *edits, struct buf *ret_text)
{
    auto_vec line_list lines = {0};
    edit(refs, edits, &lines);
    buf_add_str(ret_text, refs->is_there ? refs->head : other->is_there ? other->head : "");
    for (size_t i = 0; i < lines.count; i++)
        buf_add_str(ret_text, lines.at[i]->text);
}
