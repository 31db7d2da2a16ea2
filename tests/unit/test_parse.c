#include "policy/parse.h"
#include "unit.h"

static struct arena arena;

/* A file of the user's, read: "verb object; verb object" or, after '!', its mistakes as "line:column message; …". */
static const char *read_as(enum layer layer, bool is_profile, const char *text, size_t size)
{
    struct source source = {
        .name = "p", .text = text, .size = size, .layer = layer, .is_profile = is_profile};
    struct diags diags = {.arena = &arena};
    rule_list rules = {0};
    const char *result = "";
    parse_source(&arena, &source, &rules, &diags);
    for (size_t i = 0; i < rules.count && diags.errors == 0; i++)
        result = arena_printf(&arena, "%s%s%s%s %s", result, i ? "; " : "", rules.at[i].locked ? "lock " : "",
                              verb_word(rules.at[i].verb), rules.at[i].written);
    for (size_t i = 0; i < diags.list.count; i++)
        result = arena_printf(&arena, "%s%s%u:%u %s", result, i ? "; " : "!", diags.list.at[i].line,
                              diags.list.at[i].column, diags.list.at[i].message);
    vec_free(&rules);
    diags_free(&diags);
    return result;
}

static const char *read_user(const char *text)
{
    return read_as(LAYER_USER, false, text, strlen(text));
}

/* The one path of a text, taken apart. */
static struct path_object path_of(const char *text)
{
    static struct source source = {.name = "p", .layer = LAYER_USER};
    struct diags diags = {.arena = &arena};
    rule_list rules = {0};
    struct path_object path = {0};
    source.text = text;
    source.size = strlen(text);
    parse_source(&arena, &source, &rules, &diags);
    if (rules.count == 1)
        path = rules.at[0].path;
    vec_free(&rules);
    diags_free(&diags);
    return path;
}

TEST(a_line_is_a_verb_and_its_objects)
{
    CHECK_STR(read_user("read /a /b # and no more\n\n\twrite ~/c/"), "read /a; read /b; write ~/c/");
    CHECK_STR(read_user("read /a\r\nread /b\r\n"), "read /a; read /b");
    CHECK_STR(read_user("\xef\xbb\xbfread /a"), "read /a");
    CHECK_STR(read_user("read /a#b"), "read /a#b");
    CHECK_STR(read_user(""), "");
}

TEST(all_mistakes_of_a_file_are_reported_each_at_its_place)
{
    CHECK_STR(read_user("raed /x\n  write\nconnect a b..c\nread /ok"),
              "!1:1 unknown verb 'raed' (did you mean 'read'?); 2:3 `write` needs PATH after it; "
              "3:11 the name has an empty part between two dots: 'b..c'");
    CHECK_STR(read_user("banana /x"), "!1:1 unknown verb 'banana'");
}

TEST(quotes_take_away_special_meaning)
{
    CHECK_STR(path_of("read '/a b/*'").pattern, "a b/\\*");
    CHECK(!path_of("read '/a b/*'").has_wildcard);
    CHECK(path_of("hide /a/*").has_wildcard);
    CHECK_STR(path_of("read \"/a\\x09\\n\\\"\"").pattern, "a\t\n\"");
    CHECK_STR(path_of("read /a\\ b").pattern, "a b");
    CHECK_INT(path_of("read '~/x'").start, START_RELATIVE);
    CHECK_INT(path_of("read \\~").start, START_RELATIVE);
    CHECK_STR(path_of("read /caf\xe9").pattern, "caf\xe9");
}

TEST(bad_words_are_refused)
{
    CHECK_STR(read_user("read 'a"), "!1:6 this quote is never closed");
    CHECK_STR(read_user("read \"a\\q\""), "!1:8 unknown escape in double quotes");
    CHECK_STR(read_user("read \"\\x00\""), "!1:7 unknown escape in double quotes");
    CHECK_STR(read_user("read a\\"), "!1:7 a backslash at the end of the line");
    CHECK_STR(read_user("read a\x01"), "!1:7 a control character (0x01) outside quotes");
    CHECK_STR(read_as(LAYER_USER, false, "read /a\0b\nraed", 14),
              "!1:8 a NUL byte; 2:1 unknown verb 'raed' (did you mean 'read'?)");
    char *longest = arena_alloc(&arena, 5000);
    memset(longest, 'a', 4999);
    memcpy(longest, "read ", 5);
    CHECK_STR(read_user(longest), "!1:6 this word is longer than 4096 bytes");
}

TEST(paths_start_somewhere)
{
    CHECK_INT(path_of("read /a").start, START_ROOT);
    CHECK_INT(path_of("read ~").start, START_HOME);
    CHECK_INT(path_of("read ~/a").start, START_HOME);
    CHECK_INT(path_of("read $HOME/a").start, START_HOME);
    CHECK_INT(path_of("read $XDG_STATE_HOME/a").start, START_STATE);
    CHECK_INT(path_of("freeze $GIT/config").start, START_GIT);
    CHECK_INT(path_of("freeze $GITLINK").start, START_GITLINK);
    CHECK_INT(path_of("read a").start, START_RELATIVE);
    CHECK_INT(path_of("read ../../a").start, START_RELATIVE);
    CHECK_STR(path_of("read .//./a/").pattern, "a");
    CHECK(path_of("read a/").is_directory);
    CHECK(path_of("read .").is_directory);
    CHECK(!path_of("read a").is_directory);
}

TEST(paths_that_mean_nothing_clear_are_refused)
{
    static const char *const refused[] = {
        "read ~bob/x",   "read $FOO/x",     "read a/../b",
        "read /../b",    "read ~/../x",     "read a/$HOME",
        "read ''",       "read $GITLINK/x", "hide a**",
        "hide a/**b",    "read /a/*",       "write ?",
        "freeze $GIT/*", "copy ~/*",        "sync ~/a*",
        "socket /run/*", "workspace ~/*",   "read $XDG_CONFIG_HOMEx",
    };
    for (size_t i = 0; i < array_len(refused); i++) {
        if (!CHECK(read_user(refused[i])[0] == '!'))
            printf("# it was '%s'\n", refused[i]);
    }
}

TEST(limits_ports_variables_and_modes)
{
    CHECK_STR(read_user("limit memory=8G pids=none time=90s"),
              "limit memory=8G; limit pids=none; limit time=90s");
    CHECK_STR(read_user("publish 8080:3000 3000\nhost-port 5432"),
              "publish 8080:3000; publish 3000; host-port 5432");
    CHECK_STR(read_user("env AWS_* A=b 'C=d e'\nunset X?"), "env AWS_*; env A=b; env 'C=d e'; unset X?");
    CHECK_STR(read_user("net off"), "net off");
    static const char *const refused[] = {
        "limit memory",
        "limit memory=",
        "limit memory=8",
        "limit cpu=1",
        "limit pids=8G",
        "limit time=1w",
        "limit pids=0",
        "limit memory=99999999999999999999",
        "limit memory=18446744073709551615",
        "limit memory=-1G",
        "publish 0",
        "publish 1:2:3",
        "publish x",
        "host-port 1:2",
        "host-port 70000",
        "env 1A",
        "env A*=b",
        "env =b",
        "env A-B",
        "unset A=b",
        "net on",
        "env A=$FOO",
        "env A=$GIT",
    };
    for (size_t i = 0; i < array_len(refused); i++) {
        bool is_size_without_unit = strcmp(refused[i], "limit memory=8") == 0; /* plain bytes are fine */
        if (!is_size_without_unit && !CHECK(read_user(refused[i])[0] == '!'))
            printf("# it was '%s'\n", refused[i]);
    }
}

TEST(some_verbs_belong_to_some_files)
{
    CHECK_STR(read_as(LAYER_ADMIN, false, "lock hide /x\nlock net allow", 27),
              "lock hide /x; lock net allow");
    CHECK(read_user("lock hide /x")[0] == '!');
    CHECK(read_as(LAYER_ADMIN, false, "lock use a", 10)[0] == '!');
    CHECK(read_as(LAYER_ADMIN, false, "lock", 4)[0] == '!');
    CHECK(read_user("match claude")[0] == '!');
    CHECK_STR(read_as(LAYER_AGENT, true, "match claude", 12), "match claude");
    CHECK(read_as(LAYER_AGENT, true, "workspace /x", 12)[0] == '!');
    CHECK(read_as(LAYER_REPOSITORY, false, "workspace /x", 12)[0] == '!');
}

TEST(unless_ends_a_hide_or_a_seal)
{
    CHECK_STR(read_user("seal ~/.x unless agent/x"), "seal ~/.x");
    CHECK_STR(read_user("hide 'unless'"), "hide 'unless'");
    CHECK(read_user("read x unless workspace")[0] == '!');
    CHECK(read_user("seal x unless")[0] == '!');
    CHECK(read_user("seal x unless a b")[0] == '!');
    CHECK(read_user("seal unless workspace")[0] == '!');
}

TEST(a_flood_of_mistakes_and_of_rules_is_bounded)
{
    static const size_t lines = 70000;
    char *text = arena_alloc(&arena, lines * 8 + 1);
    for (size_t i = 0; i < lines; i++)
        memcpy(text + i * 8, "read /a\n", 8);
    const char *result = read_as(LAYER_USER, false, text, lines * 8);
    CHECK(strstr(result, "there are more than 65536 rules") != NULL);
    for (size_t i = 0; i < lines; i++)
        memcpy(text + i * 8, "raed /a\n", 8);
    struct source source = {.name = "p", .text = text, .size = lines * 8, .layer = LAYER_USER};
    struct diags diags = {.arena = &arena};
    rule_list rules = {0};
    parse_source(&arena, &source, &rules, &diags);
    CHECK_INT(diags.list.count, MOST_DIAGS);
    CHECK_INT(diags.errors, lines);
    vec_free(&rules);
    diags_free(&diags);
    source.size = POLICY_LARGEST + 1;
    parse_source(&arena, &source, &rules, &diags);
    CHECK_STR(diags.list.at[0].message, "the file is larger than 1048576 bytes");
    diags_free(&diags);
    arena_free(&arena);
}

UNIT_MAIN()
