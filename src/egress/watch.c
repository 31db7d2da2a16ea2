#include "egress/watch.h"

#include <ctype.h>
#include <string.h>

#include "policy/host.h"

void watch_add(struct watch *watch, struct arena *arena, const char *name, const char *text)
{
    size_t size = strlen(text);
    vec_push(&watch->list,
             (struct watched){arena_str(arena, name), bytes_of(arena_copy(arena, text, size), size)});
    if (size > watch->longest)
        watch->longest = size;
}

const struct watched *watch_find(const struct watch *watch, struct bytes bytes)
{
    vec_each (const struct watched, watched, &watch->list) {
        if (bytes.size && memmem(bytes.at, bytes.size, watched->text.at, watched->text.size))
            return watched;
    }
    return NULL;
}

/* Without dots, in lower case. Returns the size. */
static size_t fold(const char *text, size_t size, char *ret_folded)
{
    size_t kept = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '.')
            ret_folded[kept++] = (char)tolower((unsigned char)text[i]);
    }
    return kept;
}

const struct watched *watch_find_in_name(const struct watch *watch, const char *name)
{
    char folded[NAME_LONGEST + 1], sought[NAME_LONGEST + 1];
    size_t size = strlen(name);
    if (!watch->list.count || size > NAME_LONGEST)
        return NULL;
    size = fold(name, size, folded);
    vec_each (const struct watched, watched, &watch->list) {
        if (watched->text.size > NAME_LONGEST)
            continue; /* no name can hold it */
        size_t sought_size = fold(watched->text.at, watched->text.size, sought);
        if (sought_size && size && memmem(folded, size, sought, sought_size))
            return watched;
    }
    return NULL;
}
