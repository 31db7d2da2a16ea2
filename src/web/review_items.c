#include "web/review_items.h"

#include "base/text.h"

static const char *text_or(struct arena *arena, struct json_value value, const char *otherwise)
{
    const char *text = json_text(arena, value);
    return text ? text : otherwise;
}

static size_t number_of(struct json_value value)
{
    const char *at = value.at;
    uint64_t number = 0;
    return text_take_number(&at, &number) ? (size_t)number : 0;
}

static void take_one(struct arena *arena, struct json_value object, struct review_item *item)
{
    struct review_member member = {.path = ""};
    struct json_value key, value;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        if (json_is(key, "id"))
            member.id = number_of(value);
        else if (json_is(key, "path"))
            member.path = text_or(arena, value, "");
    }
    vec_push(&item->members, member);
}

static void take_member(struct arena *arena, struct review_item *item, struct json_value key,
                        struct json_value value)
{
    const struct {
        const char *name;
        const char **text;
    } texts[] = {
        {"path", &item->path},         {"letter", &item->letter}, {"renamed_from", &item->renamed_from},
        {"conflict", &item->conflict}, {"yours", &item->yours},   {"base", &item->base},
        {"session", &item->session}};
    struct json_value one;
    for (size_t i = 0; i < array_len(texts); i++) {
        if (json_is(key, texts[i].name))
            *texts[i].text = text_or(arena, value, "");
    }
    if (json_is(key, "id"))
        item->id = number_of(value);
    else if (json_is(key, "changes"))
        item->changes = number_of(value);
    else if (json_is(key, "repository"))
        item->is_repository = true;
    else if (json_is(key, "can_merge"))
        item->can_merge = true;
    for (size_t at = 0; json_is(key, "members") && json_next_item(value, &at, &one);)
        take_one(arena, one, item);
    for (size_t at = 0; json_is(key, "risky") && json_next_item(value, &at, &one);)
        vec_push(&item->reasons, text_or(arena, one, ""));
}

static void take_item(struct arena *arena, struct json_value object, struct review_list *list)
{
    struct review_item item = {.path = "", .letter = "M"};
    struct json_value key, value;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);)
        take_member(arena, &item, key, value);
    vec_push(&list->items, item);
}

static void take_held(struct arena *arena, struct json_value object, struct review_list *list)
{
    struct form_field held = {"", ""};
    struct json_value key, value;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);)
        *(json_is(key, "path") ? &held.name : &held.value) = text_or(arena, value, "");
    vec_push(&list->held, held);
}

bool review_list_parse(struct arena *arena, const char *text, size_t size, struct review_list *ret_list)
{
    struct json_value object, key, value, one;
    *ret_list = (struct review_list){0};
    if (!json_read(text, size, &object) || *object.at != '{')
        return false;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        if (json_is(key, "state"))
            ret_list->state = json_text(arena, value);
        ret_list->is_live |= json_is(key, "live");
        for (size_t in = 0; json_is(key, "items") && json_next_item(value, &in, &one);)
            take_item(arena, one, ret_list);
        for (size_t in = 0; json_is(key, "held") && json_next_item(value, &in, &one);)
            take_held(arena, one, ret_list);
    }
    return ret_list->state;
}

void review_list_free(struct review_list *list)
{
    vec_each (struct review_item, item, &list->items) {
        vec_free(&item->members);
        vec_free(&item->reasons);
    }
    vec_free(&list->items);
    vec_free(&list->held);
}
