/* Walks JSON that another tool reads. A key that stands twice is not translated: readers differ in which one they take. */
#include <string.h>

#include "base/json.h"
#include "translate/import.h"

int import_json(struct import *import, struct json_value *ret_object, struct err *err)
{
    if (!json_read(import->text, import->size, ret_object) || *ret_object->at != '{') {
        err_set(err, "the file is not a JSON object");
        return err_hint(err, "remove comments and trailing commas");
    }
    return 0;
}

static size_t count_of(struct json_value object, const char *key, struct json_value *ret_value)
{
    struct json_value name, value;
    size_t count = 0;
    for (size_t at = 0; json_next_member(object, &at, &name, &value);) {
        if (!json_is(name, key))
            continue;
        *ret_value = value;
        count++;
    }
    return count;
}

bool import_member(struct json_value object, const char *key, struct json_value *ret_value)
{
    struct json_value value;
    if (count_of(object, key, &value) != 1)
        return false;
    *ret_value = value;
    return true;
}

bool import_is_true(struct json_value value)
{
    return value.size == 4 && memcmp(value.at, "true", 4) == 0;
}

bool import_is_empty(struct json_value array)
{
    struct json_value item;
    size_t at = 0;
    return *array.at == '[' && !json_next_item(array, &at, &item);
}

static void import_list(struct import *import, struct json_value list, const char *where,
                        const struct import_key *key)
{
    struct json_value item;
    for (size_t at = 0; json_next_item(list, &at, &item);) {
        const char *text = json_text(import->arena, item);
        import_item(import, "%s.%s %.*s", where, key->key, (int)(item.size < 1000 ? item.size : 1000),
                    item.at);
        if (text)
            key->each(import, text);
        else
            import_left(import, key->lost, "it is not a plain text");
    }
}

static void import_value(struct import *import, struct json_value value, const char *where,
                         const struct import_key *key)
{
    if (key->each && *value.at == '[') {
        import_list(import, value, where, key);
        return;
    }
    if (key->whole && *value.at == '{') {
        key->whole(import, value);
        return;
    }
    import_item(import, "%s.%s %.*s", where, key->key, (int)(value.size < 1000 ? value.size : 1000),
                value.at);
    if (key->whole)
        key->whole(import, value);
    else
        import_left(import, key->lost, "bawn has no such setting");
}

void import_object(struct import *import, struct json_value object, const char *where,
                   const struct import_key *keys, size_t count)
{
    struct json_value name, value;
    for (size_t i = 0; i < count; i++) {
        size_t times = count_of(object, keys[i].key, &value);
        if (times == 1) {
            import_value(import, value, where, &keys[i]);
        } else if (times > 1) {
            import_item(import, "%s.%s", where, keys[i].key);
            import_left(import, keys[i].lost, "the file has it twice");
        }
    }
    for (size_t at = 0; json_next_member(object, &at, &name, &value);) {
        bool is_known = false;
        for (size_t i = 0; i < count; i++)
            is_known |= json_is(name, keys[i].key);
        if (is_known)
            continue;
        import_item(import, "%s.%.*s", where, (int)(name.size < 200 ? name.size : 200), name.at);
        import_left(import, LOST_OTHER, "bawn has no such setting");
    }
}
