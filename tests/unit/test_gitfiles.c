/* Files of git's that are read without git: configuration, index, objects, refs. */
#include <sys/mman.h>

#include "base/buf.h"
#include "git/config.h"
#include "git/index.h"
#include "git/objects.h"
#include "git/refs.h"
#include "git/repo.h"
#include "git/within.h"
#include "machine.h"
#include "unit.h"

static struct arena arena;

TEST(settings_that_run_something)
{
    static const struct git_setting runs[] = {{"core", "", "fsmonitor", ""},
                                              {"filter", "x", "clean", ""},
                                              {"alias", "", "st", ""},
                                              {"include", "", "path", ""},
                                              {"diff", "x", "textconv", ""},
                                              {"core", "", "hookspath", ""},
                                              {"gc", "", "recentobjectshook", ""},
                                              {"lfs", "customtransfer.x", "path", ""},
                                              {"lfs", "extension.x", "smudge", ""},
                                              {"svn", "", "authorsprog", ""},
                                              {"rebase", "", "instructionformat", "%s"},
                                              {"remote", "x", "annex-shell-command", ""}};
    static const struct git_setting does_not[] = {{"core", "", "bare", ""},
                                                  {"user", "", "name", ""},
                                                  {"branch", "main", "merge", ""},
                                                  {"lfs", "", "repositoryformatversion", ""},
                                                  {"lfs", "https://x/info/lfs", "access", ""}};
    for (size_t i = 0; i < array_len(runs); i++)
        CHECK(git_setting_runs(&runs[i]));
    for (size_t i = 0; i < array_len(does_not); i++)
        CHECK(!git_setting_runs(&does_not[i]));
}

/* Does the last setting of a text lead here, where this setting of it is trusted? */
static bool leads_here(const char *text, int trusted)
{
    git_setting_list all = {0}, known = {0};
    CHECK_INT(git_setting_list_read(&arena, text, strlen(text), &all), 0);
    if (trusted >= 0)
        vec_push(&known, all.at[trusted]);
    bool leads = git_setting_leads_here(&all, &known, &all.at[all.count - 1]);
    vec_free(&all);
    vec_free(&known);
    return leads;
}

TEST(addresses_of_this_machine)
{
    static const char *const here[] = {"",        "x",     "./x",        "../x",        "/x/y",
                                       "x/y:z",   "./a:b", "file:///x",  "~/x",         "ext::x y",
                                       "ext://x", "fd::3", "gcrypt::/x", "HTTPS://x/y", "host::x",
                                       ".",       "..",    "x://host/y", ":://x",       "file:////x"};
    static const char *const elsewhere[] = {"https://x/y",  "http://x/y",   "ssh://x/y", "git://x/y",
                                            "git@host:x/y", "host:x",       "host:/x",   "[h:22]:x",
                                            "ftp://x/y",    "git+ssh://x/y"};
    static const char *const places[] = {"[remote \"o\"]\nurl", "[remote \"o\"]\npushurl",
                                         "[submodule \"s\"]\nurl", "[remote \"o\"]\nlfsurl",
                                         "[svn-remote \"svn\"]\nurl"};
    for (size_t i = 0; i < array_len(places); i++) {
        for (size_t j = 0; j < array_len(here); j++)
            CHECK(leads_here(arena_printf(&arena, "%s = \"%s\"\n", places[i], here[j]), -1));
        for (size_t j = 0; j < array_len(elsewhere); j++)
            CHECK(!leads_here(arena_printf(&arena, "%s = \"%s\"\n", places[i], elsewhere[j]), -1));
    }
}

TEST(names_of_remotes)
{
    static const char remote[] = "[remote \"o/p\"]\nurl = https://x\n",
                      local[] = "[remote \"o\"]\nurl = ../x\n";
    static const char *const names[] = {"[branch \"m\"]\nremote", "[branch \"m\"]\npushRemote",
                                        "[remote]\npushDefault"};
    for (size_t i = 0; i < array_len(names); i++) {
        CHECK(leads_here(arena_printf(&arena, "%s = o\n", names[i]), -1));
        CHECK(leads_here(arena_printf(&arena, "[remote \"o\"]\nfetch = x\n%s = o\n", names[i]), -1));
        CHECK(leads_here(arena_printf(&arena, "%s%s = o\n", local, names[i]), -1));
        CHECK(leads_here(arena_printf(&arena, "%s%s = o\n", remote, names[i]), 0));
        CHECK(!leads_here(arena_printf(&arena, "%s%s = o\n", local, names[i]), 0));
        CHECK(!leads_here(arena_printf(&arena, "%s%s = o/p\n", remote, names[i]), -1));
        CHECK(!leads_here(arena_printf(&arena, "%s = .\n", names[i]), -1));
        CHECK(!leads_here(arena_printf(&arena, "%s = git@host:x\n", names[i]), -1));
    }
    CHECK(leads_here("[remote \"o\"]\nfetch = x\n", -1));
    CHECK(leads_here("[remote \"o\"]\nurl = ../x\nfetch = x\n", -1));
    CHECK(!leads_here("[remote \"o\"]\nurl = ../x\nfetch = x\n", 0));
    CHECK(!leads_here("[remote \"o\"]\nurl = https://x\nfetch = x\n", -1));
    CHECK(!leads_here("[branch \"m\"]\nmerge = refs/heads/m\n", -1));
    CHECK(!leads_here("[branch \"m\"]\nvscode-merge-base = o/m\n", -1));
}

/* The text without each setting that runs something, and these as a text of their own. */
static void cut(const char *text, const char *rest, const char *alone)
{
    git_setting_list all = {0}, running = {0};
    auto_buf struct buf without = {0}, copied = {0};
    CHECK_INT(git_setting_list_read(&arena, text, strlen(text), &all), 0);
    vec_each (const struct git_setting, setting, &all) {
        if (git_setting_runs(setting))
            vec_push(&running, *setting);
    }
    git_setting_list_cut(&running, text, strlen(text), &without);
    git_setting_list_copy(&running, text, &copied);
    CHECK_STR(buf_text(&without), rest);
    CHECK_STR(buf_text(&copied), alone);
    vec_free(&all);
    vec_free(&running);
}

TEST(settings_are_cut_and_copied_as_they_were_written)
{
    cut("[user]\n\tname = a\n", "[user]\n\tname = a\n", "");
    cut("[core]\n\tbare = false\n\tpager = x # why\n[a]\n\tb = 1\n", "[core]\n\tbare = false\n[a]\n\tb = 1\n",
        "[core]\n\tpager = x # why\n");
    cut("[core] pager = x\n\tbare = false\n", "[core] \n\tbare = false\n", "[core]\n\tpager = x\n");
    cut("[core]\n  fsmonitor", "[core]\n", "[core]\n\tfsmonitor\n");
    cut("[filter \"a\\\"b\\\\\"]\n\tclean = x \\\n  y\n\tsmudge = \"#z\"\n;c\n",
        "[filter \"a\\\"b\\\\\"]\n;c\n",
        "[filter \"a\\\"b\\\\\"]\n\tclean = x \\\n  y\n[filter \"a\\\"b\\\\\"]\n\tsmudge = \"#z\"\n");
    cut("[Filter.LFS]\n\tCLEAN = x\n", "[Filter.LFS]\n", "[filter \"lfs\"]\n\tCLEAN = x\n");
}

static const char *sum_of(const char *head, const char *content, size_t size)
{
    static char text[SHA1_DIGITS + 1];
    struct git_hash hash;
    sha1_of(bytes_of(head, strlen(head)), bytes_of(content, size), hash.bytes);
    git_hash_format(&hash, text);
    return text;
}

TEST(hashes_as_git_has_them)
{
    struct git_hash hash;
    char text[SHA1_DIGITS + 1], many[200];
    CHECK(git_hash_of("blob", bytes_of("hello\n", 6), &hash));
    git_hash_format(&hash, text);
    CHECK_STR(text, "ce013625030ba8dba906f756967f9e9ca394464a");
    CHECK_STR(sum_of("", "", 0), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    memset(many, 'a', sizeof(many));
    many[55] = '\0';
    CHECK_STR(sum_of(many, many + 56, 64), "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56");
    CHECK(git_hash_parse("ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56", &hash));
    CHECK(!git_hash_parse("EE971065aaa017e0632a8ca6c77bb3bf8b1dfc56", &hash));
    CHECK(!git_hash_parse("ee97", &hash));
}

/* The first public collision of SHA-1 (Stevens and others, "The first collision for full SHA-1", 2017): both contents begin alike. */
enum { ALIKE = 192, COLLIDING = 320 };
static const char alike[ALIKE + 1] =
    "%PDF-1.3\n%\xe2\xe3\xcf\xd3\n\n\n1 0 obj\n<</Width 2 0 R/Height 3 0 R/Type 4 0 R/Subtype 5 0 R/Filter 6 0 R"
    "/ColorSpace 7 0 R/Length 8 0 R/BitsPerComponent 8>>\nstream\n\xff\xd8\xff\xfe\0$SHA-1 is dead!!!!!\x85/\xec\t"
    "#9u\x9c"
    "9\xb1\xa1\xc6<L\x97\xe1\xff\xfe\x01";
static const char colliding[2][COLLIDING - ALIKE + 1] = {
    "\x73\x46\xdc\x91\x66\xb6\x7e\x11\x8f\x02\x9a\xb6\x21\xb2\x56\x0f\xf9\xca\x67\xcc\xa8\xc7\xf8\x5b"
    "\xa8\x4c\x79\x03\x0c\x2b\x3d\xe2\x18\xf8\x6d\xb3\xa9\x09\x01\xd5\xdf\x45\xc1\x4f\x26\xfe\xdf\xb3"
    "\xdc\x38\xe9\x6a\xc2\x2f\xe7\xbd\x72\x8f\x0e\x45\xbc\xe0\x46\xd2\x3c\x57\x0f\xeb\x14\x13\x98\xbb"
    "\x55\x2e\xf5\xa0\xa8\x2b\xe3\x31\xfe\xa4\x80\x37\xb8\xb5\xd7\x1f\x0e\x33\x2e\xdf\x93\xac\x35\x00"
    "\xeb\x4d\xdc\x0d\xec\xc1\xa8\x64\x79\x0c\x78\x2c\x76\x21\x56\x60\xdd\x30\x97\x91\xd0\x6b\xd0\xaf"
    "\x3f\x98\xcd\xa4\xbc\x46\x29\xb1",
    "\x7f\x46\xdc\x93\xa6\xb6\x7e\x01\x3b\x02\x9a\xaa\x1d\xb2\x56\x0b\x45\xca\x67\xd6\x88\xc7\xf8\x4b"
    "\x8c\x4c\x79\x1f\xe0\x2b\x3d\xf6\x14\xf8\x6d\xb1\x69\x09\x01\xc5\x6b\x45\xc1\x53\x0a\xfe\xdf\xb7"
    "\x60\x38\xe9\x72\x72\x2f\xe7\xad\x72\x8f\x0e\x49\x04\xe0\x46\xc2\x30\x57\x0f\xe9\xd4\x13\x98\xab"
    "\xe1\x2e\xf5\xbc\x94\x2b\xe3\x35\x42\xa4\x80\x2d\x98\xb5\xd7\x0f\x2a\x33\x2e\xc3\x7f\xac\x35\x14"
    "\xe7\x4d\xdc\x0f\x2c\xc1\xa8\x74\xcd\x0c\x78\x30\x5a\x21\x56\x64\x61\x30\x97\x89\x60\x6b\xd0\xbf"
    "\x3f\x98\xcd\xa8\x04\x46\x29\xa1",
};

TEST(a_content_that_was_made_to_collide_is_known_by_itself)
{
    struct git_hash hash;
    char contents[2][COLLIDING + 100], text[SHA1_DIGITS + 1];
    for (size_t i = 0; i < 2; i++) {
        memcpy(contents[i], alike, ALIKE);
        memcpy(contents[i] + ALIKE, colliding[i], COLLIDING - ALIKE);
        memset(contents[i] + COLLIDING, 'x', 100);
    }
    CHECK(memcmp(contents[0], contents[1], COLLIDING) != 0);
    for (size_t i = 0; i < 2; i++) {
        char *content = contents[i];
        /* Plain SHA-1 takes both for the same. */
        CHECK_STR(sum_of("", content, COLLIDING), "f92d74e3874587aaf443d1db961d4e26dde13e9c");
        CHECK(!sha1_of_object((struct bytes){0}, bytes_of(content, COLLIDING), hash.bytes));
        git_hash_format(&hash, text);
        CHECK_STR(text, "f92d74e3874587aaf443d1db961d4e26dde13e9c");
        /* Whatever follows the colliding blocks, and however the content is cut in two. */
        CHECK(!sha1_of_object(bytes_of(content, 7), bytes_of(content + 7, COLLIDING + 93), hash.bytes));
        CHECK(!sha1_of_object(bytes_of(content, 250), bytes_of(content + 250, 70), hash.bytes));
        /* The first of the two colliding blocks alone ends in no collision, and other content before them leaves none. */
        CHECK(sha1_of_object((struct bytes){0}, bytes_of(content, COLLIDING - 64), hash.bytes));
        CHECK(sha1_of_object(bytes_of("x", 1), bytes_of(content, COLLIDING), hash.bytes));
        content[0] = 'x';
        CHECK(sha1_of_object((struct bytes){0}, bytes_of(content, COLLIDING), hash.bytes));
    }
}

TEST(honest_content_is_not_taken_for_an_attack)
{
    char content[3000];
    uint32_t word = 1;
    for (size_t i = 0; i < sizeof(content); i++) {
        word = word * 1664525 + 1013904223;
        content[i] = (char)(word >> 24);
    }
    for (size_t size = 0; size < sizeof(content); size += 7) {
        struct git_hash careful = {0}, plain = {0};
        CHECK(sha1_of_object((struct bytes){0}, bytes_of(content, size), careful.bytes));
        sha1_of((struct bytes){0}, bytes_of(content, size), plain.bytes);
        CHECK(memcmp(&careful, &plain, sizeof(careful)) == 0);
    }
}

static void add_name(void *context, const char *path)
{
    const char **names = context;
    *names = arena_printf(&arena, "%s%s ", *names, path);
}

TEST(names_in_an_index)
{
    /* Two entries, padded to eight bytes: "a" takes 64, "d/b" 72. */
    unsigned char index[12 + 64 + 72] = "DIRC\0\0\0\2\0\0\0\2";
    index[12 + 62] = 'a';
    index[12 + 64 + 62] = 'd', index[12 + 64 + 63] = '/', index[12 + 64 + 64] = 'b';
    const char *names = "";
    git_index_read(index, sizeof(index), add_name, &names);
    CHECK_STR(names, "a d/b ");
    index[12 + 62] = '/';
    names = "";
    git_index_read(index, sizeof(index), add_name, &names);
    CHECK_STR(names, "d/b ");
    names = "";
    git_index_read(index, sizeof(index) - 20, add_name, &names);
    CHECK_STR(names, "");
}

static void add_object(void *context, const char *digits)
{
    const char **found = context;
    *found = arena_printf(&arena, "%s%.4s ", *found, digits);
}

enum { INDEX_FIRST = 12, INDEX_SECOND = INDEX_FIRST + 64, INDEX_PART = INDEX_SECOND + 72 };

/* The tree of the whole, which is not valid any more: as git writes it. */
#define TREE_PART "TREE\0\0\0\6\0-1 0\n"

/* Two entries, "a" and "d/b", and what follows them; with the hash of it all. */
static size_t make_index(unsigned char *index, const char *part, size_t part_size)
{
    memset(index, 0, INDEX_PART);
    memcpy(index, "DIRC\0\0\0\2\0\0\0\2", INDEX_FIRST);
    memcpy(index + INDEX_FIRST + 24, "\0\0\x81\xa4", 4); /* 0100644 */
    memcpy(index + INDEX_SECOND + 24, "\0\0\x81\xa4", 4);
    index[INDEX_FIRST + 40] = 0x11, index[INDEX_SECOND + 40] = 0x22;
    index[INDEX_FIRST + 61] = 1, index[INDEX_SECOND + 61] = 3;
    index[INDEX_FIRST + 62] = 'a';
    memcpy(index + INDEX_SECOND + 62, "d/b", 3);
    memcpy(index + INDEX_PART, part, part_size);
    return INDEX_PART + part_size;
}

static size_t checked(unsigned char *index, size_t size)
{
    sha1_of((struct bytes){0}, bytes_of((const char *)index, size), index + size);
    return git_index_check(index, size + SHA1_SIZE);
}

TEST(indexes_that_git_could_read)
{
    unsigned char index[INDEX_PART + 64];
    size_t size = make_index(index, TREE_PART, sizeof(TREE_PART) - 1);
    const char *objects = "";
    CHECK_INT(checked(index, size), 20);
    git_index_objects(index, size + 20, 20, add_object, &objects);
    CHECK_STR(objects, "1100 2200 ");
    for (size_t length = 1; length <= size + 20; length++)
        CHECK_INT(git_index_check(index, size + 20 - length), 0);
    for (size_t i = 0; i < size + 20; i++) {
        index[i] ^= 1;
        CHECK_INT(git_index_check(index, size + 20), 0);
        index[i] ^= 1;
    }
    memset(index + size, 0, 20); /* as with index.skipHash */
    CHECK_INT(git_index_check(index, size + 20), 20);
    /* A submodule's commit is none of the repository's. */
    index[INDEX_FIRST + 26] = 0xe0;
    objects = "";
    git_index_objects(index, size + 20, 20, add_object, &objects);
    CHECK_STR(objects, "2200 ");
}

TEST(indexes_that_git_could_not_read)
{
    /* With the right hash: a wrong size of a name, a flag that nobody knows, names out of order, another version, more entries. */
    static const struct {
        size_t at;
        unsigned char byte;
    } wrong[] = {{INDEX_FIRST + 61, 2},
                 {INDEX_SECOND + 61, 0},
                 {INDEX_FIRST + 60, 0x40},
                 {INDEX_SECOND + 62, 'A'},
                 {INDEX_SECOND + 62, 0},
                 {7, 1},
                 {7, 5},
                 {11, 3},
                 {INDEX_PART, 't'},
                 {INDEX_PART + 7, 2},
                 {INDEX_PART + 4, 0xff},
                 {0, 'd'}};
    unsigned char index[INDEX_PART + 64];
    for (size_t i = 0; i < array_len(wrong); i++) {
        size_t size = make_index(index, TREE_PART, sizeof(TREE_PART) - 1);
        index[wrong[i].at] = wrong[i].byte;
        CHECK_INT(checked(index, size), 0);
    }
}

TEST(an_index_with_the_sides_of_a_conflict)
{
    enum { SIZE = INDEX_SECOND + 64 };
    unsigned char index[INDEX_PART + 64];
    make_index(index, "", 0);
    memcpy(index + INDEX_SECOND + 61, "\1a\0\0", 5);
    CHECK_INT(checked(index, SIZE), 0);
    index[INDEX_FIRST + 60] = 0x10, index[INDEX_SECOND + 60] = 0x20;
    CHECK_INT(checked(index, SIZE), 20);
    index[INDEX_FIRST + 60] = 0x30;
    CHECK_INT(checked(index, SIZE), 0);
}

TEST(an_index_that_adds_to_another)
{
    struct git_position base;
    unsigned char index[INDEX_PART + 64];
    size_t size = make_index(index, "link\0\0\0\24\253\315\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 28);
    CHECK_INT(checked(index, size), 20);
    CHECK(git_index_base(index, size + 20, 20, &base));
    CHECK_STR(base.digits, "abcd000000000000000000000000000000000000");
    index[INDEX_PART + 8] = index[INDEX_PART + 9] = 0;
    CHECK_INT(checked(index, size), 20);
    CHECK(!git_index_base(index, size + 20, 20, &base));
    /* Its names are in the other one. */
    memcpy(index + INDEX_FIRST + 61, "\0\0", 2);
    CHECK_INT(checked(index, size), 20);
    memcpy(index + INDEX_PART, "TREE", 4);
    CHECK_INT(checked(index, size), 0);
    size = make_index(index, "link\0\0\0\1x", 9);
    CHECK_INT(checked(index, size), 0);
}

TEST(indexes_that_say_the_same)
{
    enum { FIRST = 12, SECOND = FIRST + 64, CACHE = SECOND + 72, SIZE = CACHE + 8 + 4 + 20 };
    unsigned char index[SIZE] = "DIRC\0\0\0\2\0\0\0\2", other[SIZE];
    index[FIRST + 62] = 'a';
    index[SECOND + 62] = 'd', index[SECOND + 63] = '/', index[SECOND + 64] = 'b';
    memcpy(index + CACHE, "TREE\0\0\0\4xxxx", 12);
    memcpy(other, index, SIZE);
    CHECK(git_index_is_same(index, SIZE, other, SIZE));
    other[FIRST] = other[SECOND + 23] = other[SECOND + 28] = other[SECOND + 39] = 1; /* times, owner, size */
    other[CACHE + 8] = 'y';
    other[SIZE - 1] = 1; /* the hash of it all */
    CHECK(git_index_is_same(index, SIZE, other, SIZE));
    /* Its mode, its content, a stage, its name, whether the rest is a cache: one at a time. */
    static const size_t meant[] = {FIRST + 24, FIRST + 40,  SECOND + 59, SECOND + 60,
                                   FIRST + 62, SECOND + 64, CACHE,       CACHE + 7};
    for (size_t i = 0; i < array_len(meant); i++) {
        other[meant[i]] ^= 0x20;
        CHECK(!git_index_is_same(index, SIZE, other, SIZE));
        other[meant[i]] ^= 0x20;
    }
    CHECK(git_index_is_same(index, SIZE, other, SIZE));
    CHECK(!git_index_is_same(index, SIZE, other, SIZE - 1));
    CHECK(!git_index_is_same(index, CACHE, other, CACHE));
    other[11] = 1;
    CHECK(!git_index_is_same(index, SIZE, other, SIZE));
}

TEST(refs_that_are_old)
{
    machine_make();
    machine_put("/r/.git/HEAD", "ref: refs/heads/main\n");
    machine_put("/r/.git/refs/heads/main", "ce013625030ba8dba906f756967f9e9ca394464a\n");
    machine_put("/r/.git/packed-refs", "# pack-refs\nda39a3ee5e6b4b0d3255bfef95601890afd80709 refs/tags/x\n"
                                       "^ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56\n"
                                       "da39a3ee5e6b4b0d3255bfef95601890afd80709 refs/heads/main\n");
    const char *git_dir = arena_printf(&arena, "%s/r/.git", machine.path);
    struct timespec later, past = {.tv_sec = 1};
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec++;
    struct git_refs refs = {0}, none = {0};
    git_refs_read(git_dir, later, &arena, &refs);
    CHECK_INT(refs.list.count, 2);
    CHECK_STR(git_refs_find(&refs, "refs/heads/main")->at.digits, "ce013625030ba8dba906f756967f9e9ca394464a");
    CHECK(git_refs_find(&refs, "refs/tags/x")->is_packed);
    CHECK(!refs.unread);
    git_refs_read(git_dir, past, &arena, &none);
    CHECK_INT(none.list.count, 0);
    git_refs_free(&refs);
    machine_remove();
    arena_free(&arena);
}

/* The kind of a line as a letter, a capital one if it is as git writes it: ref, peeled, comment, junk. */
static char packed_kind(const char *text, size_t size)
{
    struct git_packed_line line = git_packed_parse(bytes_of(text, size));
    return line.is_plain ? "RP"[line.kind] : "rpcj"[line.kind];
}

TEST(lines_of_packed_refs)
{
#define SMALL "ce013625030ba8dba906f756967f9e9ca394464a"
#define LARGE "CE013625030ba8dba906f756967f9e9ca394464a"
    static const struct {
        const char *text;
        char kind;
    } lines[] = {
        {SMALL " refs/heads/a", 'R'},
        {LARGE " refs/heads/a", 'r'},
        {SMALL "\trefs/heads/a", 'r'},
        {SMALL " a b", 'R'},
        {"^" SMALL, 'P'},
        {"^" LARGE, 'p'},
        {"# pack-refs with:", 'c'},
        {"", 'j'},
        {"x", 'j'},
        {SMALL "0 refs/heads/a", 'j'},
        {SMALL "refs/heads/a", 'j'},
        {SMALL "", 'j'},
        {SMALL " ", 'j'},
        {" " SMALL " refs/heads/a", 'j'},
    };
    for (size_t i = 0; i < array_len(lines); i++)
        CHECK_INT(packed_kind(lines[i].text, strlen(lines[i].text)), lines[i].kind);
    CHECK_INT(packed_kind(SMALL " refs/heads/a\0b", sizeof(SMALL " refs/heads/a\0b") - 1), 'j');
    struct git_packed_line line = git_packed_parse(bytes_of(LARGE " refs/heads/a", 53));
    CHECK_STR(line.at.digits, SMALL);
    CHECK(bytes_equal(line.name, bytes_of("refs/heads/a", 12)));
    struct bytes rest = bytes_of("x\n\ny", 4);
    for (int count = 3; count--;)
        CHECK(git_packed_next(&rest, &line));
    CHECK(!git_packed_next(&rest, &line) && line.text.size == 1);
}

TEST(refs_in_a_line_that_git_cannot_read_are_not_checked)
{
    static const char *const texts[] = {"junk\n", "junk refs/heads/a\n"};
    const struct timespec always = {.tv_sec = INT64_MAX};
    for (size_t i = 0; i < array_len(texts); i++) {
        struct git_refs refs = {0};
        machine_make();
        machine_put("/r/.git/packed-refs", texts[i]);
        git_refs_read(arena_printf(&arena, "%s/r/.git", machine.path), always, &arena, &refs);
        CHECK(refs.unread != NULL);
        git_refs_free(&refs);
        machine_remove();
    }
    arena_free(&arena);
}

TEST(refs_as_git_reads_them)
{
    machine_make();
    machine_put("/r/.git/HEAD", "CE013625030BA8DBA906F756967F9E9CA394464A and more\n");
    machine_put("/r/.git/refs/heads/1/2/3/4/5/6/7/8/9/10/deep", "ce013625030ba8dba906f756967f9e9ca394464a");
    machine_put("/r/.git/refs/heads/junk", "junk\n");
    machine_put("/r/.git/refs/heads/led", "ref:refs/heads/main\n");
    const char *git_dir = arena_printf(&arena, "%s/r/.git", machine.path);
    const struct timespec always = {.tv_sec = INT64_MAX};
    struct git_refs refs = {0};
    git_refs_read(git_dir, always, &arena, &refs);
    CHECK_INT(refs.list.count, 2);
    CHECK_STR(git_refs_find(&refs, "HEAD")->at.digits, "ce013625030ba8dba906f756967f9e9ca394464a");
    CHECK(!refs.unread);
    machine_put("/r/.git/refs/heads/astray", "ref: ORIG_HEAD\n");
    refs.list.count = 0;
    git_refs_read(git_dir, always, &arena, &refs);
    CHECK(refs.unread && strstr(refs.unread, "/r/.git/refs/heads/astray"));
    git_refs_free(&refs);
    CHECK(git_ref_is_branch_or_tag("HEAD") && git_ref_is_branch_or_tag("refs/remotes/origin/main"));
    CHECK(!git_ref_is_branch_or_tag("refs/stash") && !git_ref_is_branch_or_tag("ORIG_HEAD"));
    machine_remove();
    arena_free(&arena);
}

TEST(objects_have_the_hash_that_names_them)
{
    const struct bytes content = bytes_of("hello\n", 6);
    CHECK(git_object_is("blob", content, "ce013625030ba8dba906f756967f9e9ca394464a", SHA1_DIGITS));
    CHECK(!git_object_is("tree", content, "ce013625030ba8dba906f756967f9e9ca394464a", SHA1_DIGITS));
    CHECK(git_object_is("blob", content, "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4",
                        SHA256_DIGITS));
}

/* The index of a pack with two objects, 11… and 1122…. */
static size_t make_pack_index(unsigned version, unsigned char *index)
{
    static const unsigned char head[] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
    size_t at = version == 2 ? sizeof(head) : 0;
    memset(index, 0, 2048);
    memcpy(index, head, at);
    for (size_t byte = 0x11; byte < 256; byte++)
        index[at + 4 * byte + 3] = 2;
    at += 1024;
    for (unsigned i = 0; i < 2; i++) {
        at += version == 1 ? 4 : 0;
        memset(index + at, 0x11, 20);
        index[at + 1] = i ? 0x22 : 0x11;
        at += 20;
    }
    return at + (version == 2 ? 16 : 0) + 40;
}

TEST(objects_in_the_index_of_a_pack)
{
    unsigned char index[2048];
    for (unsigned version = 1; version <= 2; version++) {
        size_t size = make_pack_index(version, index);
        int fd = memfd_create("index", MFD_CLOEXEC);
        REQUIRE(fd >= 0 && write(fd, index, size) == (ssize_t)size);
        CHECK(git_pack_index_has(fd, "1111111111111111111111111111111111111111"));
        CHECK(git_pack_index_has(fd, "1122111111111111111111111111111111111111"));
        CHECK(!git_pack_index_has(fd, "1133111111111111111111111111111111111111"));
        CHECK(!git_pack_index_has(fd, "0011111111111111111111111111111111111111"));
        CHECK(!git_pack_index_has(fd, "ff11111111111111111111111111111111111111"));
        CHECK(!git_pack_index_has(fd, "1111111111111111111111111111111111111111111111111111111111111111"));
        CHECK(!git_pack_index_has(fd, "1111"));
        CHECK(!git_pack_index_has(fd, ""));
        CHECK_INT(ftruncate(fd, (off_t)size - 1), 0); /* and any shorter one is none */
        CHECK(!git_pack_index_has(fd, "1111111111111111111111111111111111111111"));
        close(fd);
    }
    size_t size = make_pack_index(2, index);
    index[8 + 4 * 255] = 0xff; /* more than a file can hold */
    int fd = memfd_create("index", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, index, size) == (ssize_t)size);
    CHECK(!git_pack_index_has(fd, "1111111111111111111111111111111111111111"));
    close(fd);
}

/* Asked in ascending order, backwards, and between two names: each answer is that of the single question. */
TEST(many_objects_in_the_index_of_a_pack)
{
    unsigned char index[2048], hash[20];
    static const unsigned char asked[] = {0x00, 0x11, 0x12, 0x22, 0x33, 0x22, 0x11, 0x00};
    for (unsigned version = 1; version <= 2; version++) {
        size_t size = make_pack_index(version, index), count = 0;
        int fd = memfd_create("index", MFD_CLOEXEC);
        REQUIRE(fd >= 0 && write(fd, index, size) == (ssize_t)size);
        struct git_pack_names *names = git_pack_names_open(&fd, 20);
        REQUIRE(names != NULL);
        bool is_cut = true;
        for (const unsigned char *name; (name = git_pack_names_next(names, &is_cut)); count++)
            CHECK_INT(name[1], count ? 0x22 : 0x11);
        CHECK(count == 2 && !is_cut);
        struct git_lookup lookup = {.objects_fd = -1, .hash_size = 20};
        vec_push(&lookup.packs, names);
        memset(hash, 0x11, sizeof(hash));
        for (size_t i = 0; i < sizeof(asked); i++) {
            hash[1] = asked[i];
            CHECK_INT(git_lookup_has(&lookup, hash), asked[i] == 0x11 || asked[i] == 0x22);
        }
        git_lookup_end(&lookup);
    }
}

TEST(objects_of_a_store_and_of_those_that_it_borrows_from)
{
    static const char loose[] = "aa11111111111111111111111111111111111111";
    static const char empty[] = "bb11111111111111111111111111111111111111";
    static const char borrowed[] = "cc11111111111111111111111111111111111111";
    machine_make();
    machine_put("/a/objects/aa/11111111111111111111111111111111111111", "x");
    machine_put("/a/objects/bb/11111111111111111111111111111111111111", "");
    machine_put("/b/objects/cc/11111111111111111111111111111111111111", "x");
    int fd = openat(machine.fs.root_fd, "a/objects", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK_INT(git_objects_have(fd, &arena, loose), GIT_THERE);
    CHECK_INT(git_objects_have(fd, &arena, empty), GIT_MISSING);
    CHECK_INT(git_objects_have(fd, &arena, borrowed), GIT_MISSING);
    machine_put("/a/objects/info/alternates", "# a comment\n../../b/objects\n");
    machine_put("/b/objects/info/alternates", "../../a/objects\n../../b/objects\n"); /* round and round */
    CHECK_INT(git_objects_have(fd, &arena, borrowed), GIT_THERE);
    CHECK_INT(git_objects_have(fd, &arena, empty), GIT_UNCLEAR);
    machine_put("/b/objects/info/alternates", "");
    CHECK_INT(git_objects_have(fd, &arena, empty), GIT_MISSING);
    machine_put("/a/objects/info/alternates", "/no/such/store\n");
    CHECK_INT(git_objects_have(fd, &arena, loose), GIT_THERE);
    CHECK_INT(git_objects_have(fd, &arena, empty), GIT_UNCLEAR);
    close(fd);
    machine_remove();
}

TEST(paths_of_a_repository_and_of_those_in_it)
{
    CHECK_INT(git_repository_size(".git/HEAD"), 5);
    CHECK_INT(git_repository_size("a/.git/refs/heads/modules/x"), 7);
    CHECK_INT(git_repository_size(".git/modules/a/b/refs/heads/x"), 17);
    CHECK_INT(git_repository_size(".git/modules/a/modules/b/HEAD"), 25);
    CHECK_INT(git_repository_size(".git/modules/a/config"), 15);
    CHECK_INT(git_repository_size("a/HEAD"), 0);
}

/* What was found, below the tree, one after the other; or the error. */
static const char *found_within(const char *tree)
{
    struct fsview fs = {.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), .arena = &arena};
    git_paths found = {0};
    struct err err = {0};
    const char *text = "";
    if (git_find_within(&fs, tree, &found, &err) < 0)
        text = arena_str(&arena, err.message);
    for (size_t i = 0; i < found.count; i++)
        text = arena_printf(&arena, "%s %s", text, found.at[i] + strlen(tree));
    vec_free(&found);
    fs_free(&fs);
    close(fs.root_fd);
    return text;
}

TEST(what_git_obeys_in_a_tree)
{
    machine_make();
    const char *tree = arena_printf(&arena, "%s/t", machine.path);
    machine_put("/t/plain/HEAD", "not git's");
    CHECK_STR(found_within(tree), "");
    machine_put("/t/a/.git/HEAD", "ref: refs/heads/main\n");
    machine_put("/t/a/.git/config", "[core]\n\thooksPath = tool/hooks\n");
    machine_put("/t/a/tool/hooks/pre-commit", "#!/bin/sh\n");
    CHECK_STR(found_within(tree), " /a/.git /a/tool/hooks");
    CHECK(git_lies_in_repository(arena_printf(&arena, "%s/a/.git/hooks", tree)));
    CHECK(!git_lies_in_repository(arena_printf(&arena, "%s/a/tool", tree)));
    const char *config = arena_printf(&arena, "%s/a/.git/config", tree),
               *alias = arena_printf(&arena, "%s/plain/alias", tree);
    REQUIRE(link(config, alias) == 0);
    CHECK(strstr(found_within(tree), "/a/.git/config, which has a second name"));
    REQUIRE(unlink(alias) == 0);
    machine_put("/t/b/file", "");
    machine_link("/t/b/.git", "../a/.git");
    CHECK(strstr(found_within(tree), "/b/.git, which is a symbolic link"));
    machine_remove();
}

TEST(bare_repositories_in_a_tree)
{
    machine_make();
    const char *tree = arena_printf(&arena, "%s/t", machine.path);
    machine_put("/t/x/bare/HEAD", "ref: refs/heads/main\n");
    machine_put("/t/x/bare/objects/pack/p", "");
    machine_put("/t/x/bare/hooks/pre-receive", "");
    CHECK_STR(found_within(tree), " /x/bare");
    CHECK(git_lies_in_repository(arena_printf(&arena, "%s/x/bare/hooks", tree)));
    const char *bare = arena_printf(&arena, "%s/x/bare", tree);
    CHECK(strstr(found_within(bare), "git obeys all of "));
    machine_remove();
}

UNIT_MAIN()
