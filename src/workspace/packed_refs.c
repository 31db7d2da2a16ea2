#include "workspace/repo_texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static size_t hash_digits(const char *text)
{
    size_t digits = strspn(text, "0123456789abcdef");
    return digits == 40 || digits == 64 ? digits : 0;
}

static bool add_line(struct arena *arena, const char *line, size_t size, struct packed_refs *refs)
{
    size_t digits = hash_digits(line);
    if (*line == '#' && refs->lines.count == 0 && !*refs->head) {
        refs->head = arena_printf(arena, "%.*s\n", (int)size, line);
        return true;
    }
    if (*line == '^' && refs->lines.count && hash_digits(line + 1) + 1 == size) {
        struct packed_ref *tag = &refs->lines.at[refs->lines.count - 1];
        tag->text = arena_printf(arena, "%s%.*s\n", tag->text, (int)size, line);
        return true;
    }
    if (!digits || digits + 1 >= size || line[digits] != ' ' || !text_starts_with(line + digits + 1, "refs/"))
        return false;
    vec_push(&refs->lines,
             (struct packed_ref){.name = arena_copy(arena, line + digits + 1, size - digits - 1),
                                 .value = arena_copy(arena, line, digits),
                                 .text = arena_printf(arena, "%.*s\n", (int)size, line)});
    return true;
}

void packed_refs_parse(struct arena *arena, const struct buf *text, struct packed_refs *ret_refs)
{
    *ret_refs = (struct packed_refs){.is_there = true, .head = ""};
    bool is_sound = !memchr(buf_text(text), '\0', text->size);
    for (const char *line = buf_text(text), *end; is_sound && *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        is_sound = add_line(arena, line, (size_t)(end - line), ret_refs);
    }
    ret_refs->is_sound = is_sound;
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

void packed_refs_write(const struct packed_refs *refs, const struct packed_refs *other,
                       const packed_edits *edits, struct buf *ret_text)
{
    VEC(const struct packed_ref *) lines = {0};
    struct map edited = {0};
    for (size_t i = 0; i < edits->count; i++) {
        const struct packed_edit *edit = &edits->at[i];
        const struct packed_ref *ref = edit->from ? find(edit->from, edit->name) : NULL;
        *map_at(&edited, edit->name, strlen(edit->name)) = &edited;
        if (ref)
            vec_push(&lines, ref);
    }
    for (size_t i = 0; i < refs->lines.count; i++) {
        const struct packed_ref *ref = &refs->lines.at[i];
        if (!map_get(&edited, ref->name, strlen(ref->name)))
            vec_push(&lines, ref);
    }
    if (lines.count)
        qsort(lines.at, lines.count, sizeof(*lines.at), by_name);
    buf_add_str(ret_text, refs->is_there ? refs->head : other->is_there ? other->head : "");
    for (size_t i = 0; i < lines.count; i++)
        buf_add_str(ret_text, lines.at[i]->text);
    vec_free(&lines);
    map_free(&edited);
}
