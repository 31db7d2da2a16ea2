#include "base/json.h"
#include "unit.h"

static struct arena arena;
static struct json_value value;

static bool reads(const char *text)
{
    return json_read(text, strlen(text), &value);
}

TEST(what_is_json_is_read)
{
    static const char *const right[] = {
        "{}",   " [ ] ", "0",    "-0.5e+10",
        "\"\"", "true",  "null", "{\"a\":[1,2,{\"b\":null}],\"c\":\"\\u00e9\\n\"}\n"};
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
        CHECK(reads(right[i]));
}

TEST(what_is_none_is_refused)
{
    static const char *const wrong[] = {
        "",        " ",           "{",         "}",      "[1,]",  "{\"a\":1,}",
        "{a:1}",   "{\"a\" 1}",   "{\"a\":}",  "01",     "1.",    ".5",
        "1e",      "-",           "+1",        "tru",    "truer", "\"a",
        "\"\\x\"", "\"\\u12g4\"", "\"\\",      "\"\n\"", "{} {}", "// x\n{}",
        "[1 2]",   "[}",          "{\"a\":1]", "'a'",    "nan",   "{\"a\":1 \"b\":2}",
        "[,]",     "\"\\u123\""};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        CHECK(!reads(wrong[i]));
    CHECK(!json_read("\"a\0b\"", 5, &value));
    CHECK(!json_read("\"\\\0\"", 4, &value));
    CHECK(!json_read("[1]", 2, &value));
}

TEST(depth_is_bounded)
{
    char text[2 * JSON_READ_DEEPEST + 3] = "";
    memset(text, '[', JSON_READ_DEEPEST);
    memset(text + JSON_READ_DEEPEST, ']', JSON_READ_DEEPEST);
    CHECK(reads(text));
    memset(text, '[', JSON_READ_DEEPEST + 1);
    memset(text + JSON_READ_DEEPEST + 1, ']', JSON_READ_DEEPEST + 1);
    CHECK(!reads(text));
}

TEST(members_and_items_come_in_their_order)
{
    struct json_value key, member, item;
    size_t at = 0, inside = 0;
    CHECK(reads(" {\"a\" : [1 , \"x,]\"] ,\"b\":{}} "));
    struct json_value object = value;
    CHECK(json_next_member(object, &at, &key, &member));
    CHECK(json_is(key, "a") && !json_is(key, "ab") && !json_is(key, ""));
    CHECK(json_next_item(member, &inside, &item));
    CHECK(item.size == 1 && *item.at == '1');
    CHECK(json_next_item(member, &inside, &item));
    CHECK_STR(json_text(&arena, item), "x,]");
    CHECK(!json_next_item(member, &inside, &item));
    CHECK(json_next_member(object, &at, &key, &member));
    CHECK(json_is(key, "b"));
    inside = 0;
    CHECK(!json_next_member(member, &inside, &key, &item));
    CHECK(!json_next_item(member, &inside, &item));
    CHECK(!json_next_member(object, &at, &key, &member));
}

TEST(texts_are_decoded)
{
    CHECK(reads("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\""));
    CHECK_STR(json_text(&arena, value), "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK(reads("\"\\ud83dx\\udc00\""));
    CHECK_STR(json_text(&arena, value), "\xef\xbf\xbdx\xef\xbf\xbd");
    CHECK(reads("\"a\\u0000b\""));
    CHECK(json_text(&arena, value) == NULL);
    CHECK(reads("1"));
    CHECK(json_text(&arena, value) == NULL);
    arena_free(&arena);
}

UNIT_MAIN()
