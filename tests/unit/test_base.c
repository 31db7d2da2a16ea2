#include "base/base64.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/inflate.h"
#include "base/json.h"
#include "base/map.h"
#include "base/path.h"
#include "base/pattern.h"
#include "base/reader.h"
#include "base/text.h"
#include "unit.h"

static struct arena arena;

TEST(paths_are_cleaned)
{
    CHECK_STR(path_clean(&arena, "/", "/a//b/./c/"), "/a/b/c");
    CHECK_STR(path_clean(&arena, "/home/u", "x/../y"), "/home/u/y");
    CHECK_STR(path_clean(&arena, "/home/u", "../../../.."), "/");
    CHECK_STR(path_clean(&arena, "/", "a"), "/a");
    CHECK_STR(path_clean(&arena, "/home/u", "."), "/home/u");
    CHECK_STR(path_clean(&arena, "/home/u", "..a/.b"), "/home/u/..a/.b");
}

TEST(a_path_is_beneath_itself_and_its_parents_but_not_beneath_a_prefix)
{
    CHECK(path_is_beneath("/a/b", "/a"));
    CHECK(path_is_beneath("/a", "/a"));
    CHECK(path_is_beneath("/a", "/"));
    CHECK(!path_is_beneath("/ab", "/a"));
    CHECK(!path_is_beneath("/a", "/a/b"));
}

TEST(parents_and_depths)
{
    CHECK_INT(path_depth("/"), 0);
    CHECK_INT(path_depth("/usr/bin"), 2);
    CHECK_STR(path_parent(&arena, "/usr/bin"), "/usr");
    CHECK_STR(path_parent(&arena, "/usr"), "/");
    CHECK_STR(path_parent(&arena, "/"), "");
    CHECK_STR(path_moved(&arena, "/a/b/c", "/a/b", "/x"), "/x/c");
    CHECK_STR(path_moved(&arena, "/a/b", "/a/b", "~"), "~");
    CHECK(!path_moved(&arena, "/a/bc", "/a/b", "/x"));
    CHECK_STR(path_name("/usr/bin"), "bin");
    CHECK_STR(path_name("AGENTS.md"), "AGENTS.md");
    CHECK_STR(path_join(&arena, "/", "x"), "/x");
    CHECK_STR(path_join(&arena, "/a", ""), "/a");
}

static bool matches(const char *pattern, const char *path)
{
    return pattern_matches_path(pattern, path, strlen(path));
}

TEST(a_star_stays_within_a_name)
{
    CHECK(matches("/a/*.key", "/a/x.key"));
    CHECK(matches("/a/*.key", "/a/.key"));
    CHECK(!matches("/a/*.key", "/a/b/x.key"));
    CHECK(matches("/a/*/c", "/a/b/c"));
    CHECK(!matches("/a/*/c", "/a/c"));
    CHECK(matches("/a/x?z", "/a/xyz"));
    CHECK(!matches("/a/x?z", "/a/xz"));
    CHECK(matches("/a/*b*c*", "/a/abbccd"));
    CHECK(!matches("/a/*b*c", "/a/abbccd"));
}

TEST(two_stars_are_any_number_of_directories)
{
    CHECK(matches("/h/**/.env*", "/h/.env"));
    CHECK(matches("/h/**/.env*", "/h/a/b/c/.env.local"));
    CHECK(!matches("/h/**/.env*", "/h/a/env"));
    CHECK(matches("/h/**/a/**/b", "/h/x/a/a/y/b"));
    CHECK(!matches("/h/**/a/**/b", "/h/x/b"));
    CHECK(matches("/h/**", "/h"));
    CHECK(matches("/h/**", "/h/x/y"));
    CHECK(!matches("/h/**/x", "/hx/x"));
}

TEST(a_backslash_takes_the_next_character_as_it_is)
{
    CHECK(matches("/a/\\*", "/a/*"));
    CHECK(!matches("/a/\\*", "/a/x"));
    CHECK(matches("/a/\\?\\\\", "/a/?\\"));
    CHECK(!pattern_has_wildcard("/a/\\*"));
    CHECK(pattern_has_wildcard("/a/\\\\*"));
    CHECK_STR(pattern_literal(&arena, "/a\\*\\\\b"), "/a*\\b");
    CHECK_STR(pattern_quote(&arena, "a*b?\\"), "a\\*b\\?\\\\");
}

TEST(brackets_are_plain_names)
{
    CHECK(matches("/a/[slug]", "/a/[slug]"));
    CHECK(!matches("/a/[slug]", "/a/s"));
}

TEST(the_fixed_directory_of_a_pattern_ends_before_the_first_wildcard)
{
    CHECK_STR(pattern_fixed_directory(&arena, "/home/u/x*y/z"), "/home/u");
    CHECK_STR(pattern_fixed_directory(&arena, "/*"), "/");
    CHECK_STR(pattern_fixed_directory(&arena, "/a\\*/b?"), "/a*");
}

TEST(a_pattern_knows_where_it_may_match)
{
    CHECK(pattern_is_deep("/h/**/.env") && pattern_is_deep("/h/**") && pattern_is_deep("/**/x"));
    CHECK(!pattern_is_deep("/h/*/x") && !pattern_is_deep("/h/a**b") && !pattern_is_deep("/h"));
    CHECK(pattern_may_match_beneath("/h/**/.env", "/h/x/y"));
    CHECK(pattern_may_match_beneath("/h/**/.env", "/"));
    CHECK(pattern_may_match_beneath("/h/*/k", "/h/x"));
    CHECK(!pattern_may_match_beneath("/h/*/k", "/h/x/k"));
    CHECK(!pattern_may_match_beneath("/h/**/.env", "/usr"));
}

/* A pattern of many stars is the classic way to make a matcher take for ever. */
TEST(no_pattern_makes_matching_slow)
{
    char name[4000];
    memset(name, 'a', sizeof(name) - 1);
    name[0] = '/';
    name[sizeof(name) - 1] = '\0';
    CHECK(!matches("/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

TEST(sha256_of_the_standards_own_examples)
{
    char hex[SHA256_HEX_SIZE];
    sha256_hex("", 0, hex);
    CHECK_STR(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex("abc", 3, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha256_hex(two_blocks, sizeof(two_blocks) - 1, hex);
    CHECK_STR(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char million[1000];
    memset(million, 'a', sizeof(million));
    sha256_hex(million, sizeof(million), hex);
    CHECK_STR(hex, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

static const char *printable(const char *bytes)
{
    static struct buf buf;
    buf.size = 0;
    text_add_printable(&buf, bytes, strlen(bytes));
    return buf_text(&buf);
}

TEST(nothing_that_steers_a_terminal_is_printed_raw)
{
    CHECK_STR(printable("plain ä 漢"), "plain ä 漢");
    CHECK_STR(printable("\033[31m"), "\\x1b[31m");
    CHECK_STR(printable("a\nb\x7f"), "a\\x0ab\\x7f");
    CHECK_STR(printable("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");
    static const char right_to_left[] = {(char)0xe2, (char)0x80, (char)0xae, 0};
    CHECK_STR(printable(right_to_left), "\\u{202e}");
    CHECK_STR(printable("\xc2\x9b"), "\\u{9b}");
    CHECK_STR(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
}

TEST(characters_that_nobody_sees_are_shown)
{
    CHECK_STR(printable("soft\u00adhyphen"), "soft\\u{ad}hyphen");
    CHECK_STR(printable("a\u034fb\u115fc\u3164d\uffa0e\u2800f"),
              "a\\u{34f}b\\u{115f}c\\u{3164}d\\u{ffa0}e\\u{2800}f");
    CHECK_STR(printable("a\ufe00\U000e0100\U000e01ef"),
              "a\\u{fe00}\\u{e0100}\\u{e01ef}"); /* bytes can be hidden in these */
    CHECK_STR(printable("\u26a0\ufe0f 漢字 \u00ae\u00ac é"), "\u26a0\ufe0f 漢字 \u00ae\u00ac é");
}

TEST(json_escapes_and_keeps_bytes_that_are_not_utf8)
{
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    json_open(&json, NULL, '{');
    json_str(&json, "a\"b", "x\\\n\xff ä");
    json_open(&json, "empty", '[');
    json_close(&json, ']');
    json_int(&json, "n", -5);
    json_bool(&json, "t", true);
    json_close(&json, '}');
    CHECK_STR(
        buf_text(&out),
        "{\n  \"a\\\"b\": \"x\\\\\\u000a\\udcff ä\",\n  \"empty\": [],\n  \"n\": -5,\n  \"t\": true\n}\n");
}

TEST(a_slip_of_the_finger_is_recognised_and_a_different_word_is_not)
{
    static const char *const words[] = {"read", "write", "freeze", "host-port", NULL};
    CHECK_STR(text_closest("raed", words), "read");
    CHECK_STR(text_closest("wirte", words), "write");
    CHECK_STR(text_closest("hostport", words), "host-port");
    CHECK(text_closest("banana", words) == NULL);
    CHECK(text_closest("x", words) == NULL);
}

TEST(a_map_finds_what_was_put_in_however_much_it_grows)
{
    struct map map = {0};
    for (int i = 0; i < 5000; i++) {
        char *key = arena_printf(&arena, "/key/%d", i);
        *map_at(&map, key, strlen(key)) = key;
    }
    CHECK_INT(map.count, 5000);
    CHECK_STR(map_get(&map, "/key/4321", 9), "/key/4321");
    CHECK(map_get(&map, "/key/5000", 9) == NULL);
    CHECK(map_get(&map, "/key/4321", 8) != NULL);
    CHECK_STR(map_get(&map, "/key/4321", 8), "/key/432");
    map_free(&map);
    arena_free(&arena);
    buf_free(&(struct buf){0});
}

/* Every day of two centuries, and the end of one that has no leap day. */
TEST(formatted_text_is_whole_wherever_its_memory_ends)
{
    struct arena small = {0};
    struct buf buf = {0};
    size_t expected = 0;
    for (int i = 1; i < 2000; i++) {
        char *text = arena_printf(&small, "%*d", i, 7);
        CHECK_INT(strlen(text), i);
        CHECK_INT(text[i - 1], '7');
        buf_printf(&buf, "%*d", i, 7);
        CHECK_INT(buf.size, expected += (size_t)i);
        CHECK_INT(buf.bytes[buf.size - 1], '7');
        CHECK_INT(buf.bytes[buf.size], '\0');
    }
    CHECK_INT(strlen(arena_printf(&small, "%200000d", 7)), 200000);
    buf_printf(&buf, "%s", "");
    CHECK_INT(buf.size, expected);
    buf_free(&buf);
    arena_free(&small);
}

TEST(padding_fills_up_to_a_column_and_removes_nothing)
{
    struct buf buf = {0};
    buf_pad(&buf, 0, 3);
    CHECK_STR(buf_text(&buf), "   ");
    buf_add_str(&buf, "abc");
    buf_pad(&buf, 3, 2);
    CHECK_STR(buf_text(&buf), "   abc");
    buf_pad(&buf, 3, 5);
    CHECK_STR(buf_text(&buf), "   abc  ");
    buf_free(&buf);
}

TEST(a_moment_is_written_as_the_calendar_has_it)
{
    char text[MOMENT_SIZE], expected[MOMENT_SIZE];
    for (time_t day = 0; day < 74000; day++) {
        struct timespec moment = {.tv_sec = day * 86400 + day % 86400, .tv_nsec = 7000000};
        struct tm parts;
        gmtime_r(&moment.tv_sec, &parts);
        strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.007Z", &parts);
        text_of_moment(&moment, text);
        if (strcmp(text, expected) != 0)
            CHECK_STR(text, expected);
    }
    struct timespec last = {.tv_sec = 4107542399, .tv_nsec = 999999999};
    text_of_moment(&last, text);
    CHECK_STR(text, "2100-02-28T23:59:59.999Z");
}

TEST(a_reader_stays_within_its_bytes_and_fails_for_good)
{
    static const uint8_t bytes[] = {0x01, 0x02, 0x03, 0, 2, 'a', 'b', 0, 9, 'c'};
    struct reader reader = {bytes, sizeof(bytes), false};
    CHECK_INT(reader_number(&reader, 3), 0x010203);
    struct reader part = reader_vector(&reader, 2);
    CHECK(part.size == 2 && part.at == bytes + 5 && !reader.failed);
    CHECK(reader_vector(&reader, 2).failed && reader.failed);
    CHECK_INT(reader_number(&reader, 1), 0); /* the byte is there, but the reader has failed */
    CHECK(reader_take(&reader, 0).failed);
}

TEST(base64_decodes_what_it_wrote_and_no_other_spelling)
{
    static const char all[] = {'a', 0, (char)0xff, 'b', '\n', (char)0xfb, 'z'};
    for (size_t size = 0; size <= sizeof(all); size++) {
        auto_buf struct buf text = {0}, back = {0};
        base64_add(&text, bytes_of(all, size));
        CHECK(base64_decode(&back, bytes_of(buf_text(&text), text.size)));
        CHECK(back.size == size && memcmp(buf_text(&back), all, size) == 0);
    }
    static const char *const wrong[] = {
        "YQ", "YQ=", "Y===", "YR==", "YWJ=", "YQ==YQ==", "Y Q=", "YQ==\n", "_w==", "===="};
    for (size_t i = 0; i < array_len(wrong); i++) {
        auto_buf struct buf back = {0};
        CHECK(!base64_decode(&back, bytes_of(wrong[i], strlen(wrong[i]))));
        CHECK_INT(back.size, 0);
    }
}

/* What the stream has, or "short", or "bad". */
static const char *inflated(const unsigned char *stream, size_t size, size_t most)
{
    auto_buf struct buf out = {0};
    size_t used = 0;
    enum inflate_state state = inflate_stream(bytes_of((const char *)stream, size), most, &out, &used);
    return state == INFLATE_SHORT ? "short"
           : state == INFLATE_BAD ? "bad"
                                  : arena_printf(&arena, "%s", buf_text(&out));
}

TEST(compressed_bytes_come_back_whole_and_within_their_limit)
{
    static const unsigned char fixed[] = {
        0x78, 0x01, 0x2b, 0x29, 0x4a, 0x4d, 0x55, 0x48, 0xcc, 0x4b,
        0x51, 0x28, 0xc1, 0xca, 0x00, 0x00, 0xb2, 0x1a, 0x0b, 0x1a}; /* codes of fixed lengths */
    static const unsigned char dynamic[] = {
        0x78, 0xda, 0x25, 0x91, 0xc9, 0x01, 0xc4, 0x30, 0x08, 0x03, 0x5b, 0xa1, 0x04, 0x73, 0x18, 0x4c, 0xff,
        0x8d, 0xed, 0x28, 0xfb, 0x32, 0x09, 0x02, 0x06, 0x71, 0xcc, 0xad, 0x6c, 0xcd, 0xdb, 0xe2, 0x5a, 0xb6,
        0xd5, 0x5a, 0x97, 0x3d, 0x37, 0x3f, 0xc7, 0x3c, 0x78, 0xab, 0xc8, 0xa2, 0x58, 0x24, 0x68, 0xe2, 0xf2,
        0xbe, 0xb5, 0x8c, 0x42, 0x4f, 0x35, 0xba, 0x2a, 0xde, 0x57, 0x76, 0x63, 0xed, 0x4e, 0x5b, 0xa3, 0x6b,
        0xde, 0xe1, 0x7b, 0xf8, 0xff, 0xc8, 0x2f, 0xba, 0x6d, 0xf5, 0xa5, 0xd0, 0x0f, 0x1d, 0xdc, 0x69, 0xe5,
        0xea, 0xe9, 0x41, 0x73, 0x4f, 0x4d, 0x29, 0x8d, 0xbb, 0x9a, 0xdb, 0x02, 0x68, 0x91, 0x0c, 0x44, 0xfe,
        0x4a, 0x0c, 0x10, 0xc6, 0x11, 0x85, 0x8b, 0x38, 0xce, 0x5a, 0xe4, 0x29, 0x8b, 0x3a, 0x0e, 0x19, 0x15,
        0xd1, 0x8a, 0x46, 0xff, 0x9e, 0xb2, 0x8b, 0x2e, 0x55, 0x91, 0xf4, 0x17, 0x34, 0xe4, 0x49, 0xbf, 0x2c,
        0x3a, 0xa7, 0x66, 0xe4, 0x30, 0x2d, 0x1f, 0x73, 0x73, 0x21, 0xa8, 0x03, 0x4b, 0x89, 0xaa, 0x12, 0xbe,
        0x2a, 0x48, 0xab, 0x61, 0xae, 0xd1, 0xb6, 0x5a, 0xe3, 0x1e, 0xf6, 0xb9, 0xae, 0x85, 0x53, 0x1b, 0x93,
        0xb1, 0xab, 0x9d, 0xef, 0x28, 0x5a, 0xfe, 0xf5, 0x21, 0x4b, 0x95, 0xe3, 0x26, 0x15, 0x7d, 0xa9, 0xed,
        0xa1, 0x4b, 0x3f, 0xfa, 0xcd, 0xb9, 0x32, 0x87, 0x8a, 0x61, 0xa6, 0xcd, 0x65, 0xee, 0x0c, 0x04, 0xb3,
        0xb0, 0x3c, 0x59, 0xff, 0x02, 0xbe, 0x57, 0xba, 0x45, 0xc3, 0xfc, 0x1e, 0xf4, 0xab, 0x3d, 0x50, 0x10,
        0x41, 0x89, 0x9b, 0x6c, 0xb9, 0xef, 0x7c, 0xb7, 0x92, 0x59, 0x27, 0xbe, 0xb8, 0x8e, 0x0c, 0x6e, 0x14,
        0xd8, 0x8c, 0xd8, 0x5d, 0x75, 0xee, 0x91, 0x8a, 0x4b, 0x3e, 0x7a, 0xcb, 0x52, 0x7f, 0x72, 0x37, 0xfe,
        0x97, 0x4e, 0x79, 0x1e, 0x57, 0xf6, 0xc7, 0xe8, 0x12, 0xb1, 0xdf, 0x51, 0xbe, 0xfb, 0x64, 0xdd, 0xef,
        0x40, 0xba, 0x5a, 0xae, 0x0e, 0x58, 0xce, 0x46, 0x3f, 0x6e, 0x7d, 0x6b, 0x10}; /* codes of its own */
    static const unsigned char stored[] = {0x78, 0x01, 0x01, 0x03, 0x00, 0xfc, 0xff,
                                           'a',  'b',  'c',  0,    0,    0,    0};
    auto_buf struct buf squares = {0};
    for (int i = 0; i < 120; i++)
        buf_printf(&squares, "%d ", i * i);
    CHECK_STR(inflated(fixed, sizeof(fixed), 100), "tree and tree and tree and tree");
    CHECK_STR(inflated(dynamic, sizeof(dynamic), 1000), buf_text(&squares));
    CHECK_STR(inflated(stored, sizeof(stored), 3), "abc");
    CHECK_STR(inflated(stored, sizeof(stored), 2), "bad");
    CHECK_STR(inflated(fixed, sizeof(fixed), 30), "bad");
    CHECK_STR(inflated(dynamic, sizeof(dynamic), squares.size - 1), "bad");
    for (size_t size = 0; size < sizeof(dynamic); size++)
        CHECK_STR(inflated(dynamic, size, 1000), "short");
    static const unsigned char far[] = {0x78, 0x01, 0x63, 0x04, 0x41, 0x00, 0, 0, 0, 0},
                               kind[] = {0x78, 0x01, 0x07, 0, 0, 0}, head[] = {0x78, 0x02, 0x01};
    CHECK_STR(inflated(far, sizeof(far), 1000), "bad"); /* a copy of what never came */
    CHECK_STR(inflated(kind, sizeof(kind), 1000), "bad");
    CHECK_STR(inflated(head, sizeof(head), 1000), "bad");
}

UNIT_MAIN()
