/* Any bytes as JSON: what was found to be JSON as a whole can be walked to its end, and each value in it is JSON by itself. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"

enum { WALKED_DEEP = 4 }; /* each level is read again for each level above it */

static void walk(struct arena *arena, struct json_value value, unsigned depth)
{
    struct json_value again, key, inner;
    size_t members = 0, items = 0;
    if (!json_read(value.at, value.size, &again) || again.at != value.at || again.size != value.size)
        abort();
    const char *text = json_text(arena, value);
    if (text && (*value.at != '"' || (!memchr(value.at, '\\', value.size) && !json_is(value, text))))
        abort();
    if (depth == WALKED_DEEP)
        return;
    for (size_t at = 0; json_next_member(value, &at, &key, &inner); members++) {
        walk(arena, key, depth + 1);
        walk(arena, inner, depth + 1);
    }
    for (size_t at = 0; json_next_item(value, &at, &inner); items++)
        walk(arena, inner, depth + 1);
    if ((members && *value.at != '{') || (items && *value.at != '['))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct json_value whole;
    if (json_read((const char *)bytes, size, &whole))
        walk(&arena, whole, 0);
    arena_free(&arena);
    return 0;
}
