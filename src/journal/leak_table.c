/* What a text is searched for (leak.h), and bawn's lines about it. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "journal/leak.h"

bool leak_add_digest(struct leak_table *table, enum leak_kind kind, const char *name, size_t size,
                     const unsigned char digest[KEY_WORD_DIGEST])
{
    if (table->known.count == LEAK_MOST_KNOWN || size < KEY_WORD_SHORTEST || size > KEY_WORD_LONGEST)
        return false;
    struct leak_known known = {.kind = kind, .name = name};
    memcpy(known.digest, digest, KEY_WORD_DIGEST);
    vec_push(&table->known, known);
    table->has_size[size] = true;
    return true;
}

void leak_add_placeholder(struct leak_table *table, struct bytes placeholder)
{
    if (placeholder.size > LEAK_PLACEHOLDER)
        placeholder.size = LEAK_PLACEHOLDER;
    vec_push(&table->placeholders, placeholder);
}

void leak_table_free(struct leak_table *table)
{
    vec_free(&table->known);
    vec_free(&table->placeholders);
}

/* --- bawn's lines ----------------------------------------------------------------------------------------------------- */

static bool hex_read(const char *text, unsigned char *ret_bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char digits[3] = {text[0], text[0] ? text[1] : '\0'};
        if (strspn(digits, "0123456789abcdef") != 2)
            return false;
        ret_bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
        text += 2;
    }
    return *text == '\0';
}

int leak_take_answer(struct leak_table *table, char *rest, struct err *err)
{
    const char *answer = strsep(&rest, " ");
    table->answer = strcmp(answer, "block") == 0 ? LEAK_BLOCK : LEAK_WARN;
    if (!rest || !hex_read(rest, table->salt, sizeof(table->salt)))
        return err_set(err, "the search for leaks needs a key");
    return 0;
}

int leak_take_known(struct leak_table *table, struct arena *arena, char *rest, struct err *err)
{
    const char *kind = strsep(&rest, " "), *size_text = rest ? strsep(&rest, " ") : NULL,
               *hash = rest ? strsep(&rest, " ") : NULL;
    unsigned char digest[KEY_WORD_DIGEST];
    uint64_t size;
    if (!rest || !leak_kind_named(kind) || !text_take_number(&size_text, &size) ||
        !hex_read(hash, digest, sizeof(digest)))
        return err_set(err, "a known value needs a kind, a size, a hash and a name");
    leak_add_digest(table, leak_kind_named(kind), arena_str(arena, rest), size, digest);
    return 0;
}
