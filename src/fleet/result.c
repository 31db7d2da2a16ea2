#include "fleet/result.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* One list for writing and reading. */
static const struct {
    const char *name;
    size_t field;
    bool may_lack;
} texts[] = {
    {"session", offsetof(struct result, session), true},
    {"workspace", offsetof(struct result, workspace), true},
    {"branch", offsetof(struct result, branch), true},
    {"began", offsetof(struct result, began), false},
    {"ended", offsetof(struct result, ended), false},
    {"ended_by", offsetof(struct result, ended_by), true},
};
static const struct {
    const char *name;
    size_t field;
} numbers[] = {
    {"attempts", offsetof(struct result, attempts)},
    {"milliseconds", offsetof(struct result, milliseconds)},
    {"cpu_milliseconds", offsetof(struct result, cpu_milliseconds)},
    {"peak_memory", offsetof(struct result, peak_memory)},
    {"output_dropped", offsetof(struct result, output_dropped)},
    {"changes", offsetof(struct result, changes)},
    {"risky", offsetof(struct result, risky)},
    {"held", offsetof(struct result, held)},
    {"tripwires", offsetof(struct result, tripwires)},
    {"hosts_refused", offsetof(struct result, hosts_refused)},
};
static const struct {
    const char *name;
    size_t field;
} lists[] = {
    {"hosts", offsetof(struct result, hosts)},
    {"refused", offsetof(struct result, refused)},
};

static const void *member(const struct result *result, size_t field)
{
    return (const char *)result + field;
}

static void *member_to_set(struct result *result, size_t field)
{
    return (char *)result + field;
}

void result_add_members(const struct result *result, struct json *json)
{
    json_int(json, "status", result->status);
    for (size_t i = 0; i < array_len(texts); i++)
        json_str(json, texts[i].name, *(const char *const *)member(result, texts[i].field));
    for (size_t i = 0; i < array_len(numbers); i++)
        json_int(json, numbers[i].name, (int64_t) * (const uint64_t *)member(result, numbers[i].field));
    for (size_t i = 0; i < array_len(lists); i++) {
        const text_list *list = member(result, lists[i].field);
        json_open(json, lists[i].name, '[');
        for (size_t j = 0; j < list->count; j++)
            json_str(json, NULL, list->at[j]);
        json_close(json, ']');
    }
}

void result_add_json(const struct result *result, struct buf *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_int(&json, "schema", RESULT_SCHEMA);
    json_str(&json, "id", result->id);
    result_add_members(result, &json);
    json_close(&json, '}');
}

static bool take_number(struct json_value value, uint64_t *ret_number)
{
    char digits[24];
    if (value.size >= sizeof(digits))
        return false;
    memcpy(digits, value.at, value.size);
    digits[value.size] = '\0';
    const char *at = digits;
    return text_take_number(&at, ret_number) && !*at && *ret_number <= INT64_MAX;
}

static bool take_list(struct json_value array, struct arena *arena, text_list *list)
{
    struct json_value item;
    if (*array.at != '[' || list->count)
        return false;
    for (size_t at = 0; json_next_item(array, &at, &item);) {
        const char *text = json_text(arena, item);
        if (!text || list->count == MOST_HOSTS)
            return false;
        vec_push(list, text);
    }
    return true;
}

/* Takes one member; false where it is in another form than ours. Members that are unknown are a later schema's. */
static bool take_member(struct json_value key, struct json_value value, const char *id, struct arena *arena,
                        struct result *result)
{
    uint64_t number;
    if (json_is(key, "schema"))
        return take_number(value, &number) && number == RESULT_SCHEMA;
    if (json_is(key, "id")) {
        result->id = json_text(arena, value);
        return text_equal(result->id, id);
    }
    if (json_is(key, "status")) {
        bool is_fine = take_number(value, &number) && number < 256;
        result->status = is_fine ? (int64_t)number : 0;
        return is_fine;
    }
    for (size_t i = 0; i < array_len(texts); i++) {
        if (json_is(key, texts[i].name))
            return (*(const char **)member_to_set(result, texts[i].field) = json_text(arena, value)) != NULL;
    }
    for (size_t i = 0; i < array_len(numbers); i++) {
        if (json_is(key, numbers[i].name))
            return take_number(value, member_to_set(result, numbers[i].field));
    }
    for (size_t i = 0; i < array_len(lists); i++) {
        if (json_is(key, lists[i].name))
            return take_list(value, arena, member_to_set(result, lists[i].field));
    }
    return true;
}

bool result_parse(struct bytes text, const char *id, struct arena *arena, struct result *ret_result)
{
    struct json_value object, key, value;
    struct result result = {0};
    bool has_status = false,
         is_fine = text.size <= RESULT_LARGEST && json_read(text.at, text.size, &object) && *object.at == '{';
    for (size_t at = 0; is_fine && json_next_member(object, &at, &key, &value);) {
        is_fine = take_member(key, value, id, arena, &result);
        has_status |= json_is(key, "status");
    }
    is_fine = is_fine && has_status && result.id;
    for (size_t i = 0; is_fine && i < array_len(texts); i++)
        is_fine = texts[i].may_lack || *(const char *const *)member(&result, texts[i].field);
    if (is_fine)
        *ret_result = result;
    else
        result_free(&result);
    return is_fine;
}

void result_free(struct result *result)
{
    vec_free(&result->hosts);
    vec_free(&result->refused);
}
