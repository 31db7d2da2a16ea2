/* Files of git's that are read without git: configuration, index, objects, refs. */
#include "git/index.h"
#include "git/refs.h"
#include "git/running.h"
#include "git/sha1.h"
#include "machine.h"
#include "unit.h"

static struct arena arena;

TEST(settings_that_run_something)
{
    static const struct git_setting runs[] = {{"core", "", "fsmonitor", ""}, {"filter", "x", "clean", ""},
                                              {"alias", "", "st", ""},       {"include", "", "path", ""},
                                              {"diff", "x", "textconv", ""}, {"core", "", "hookspath", ""}};
    static const struct git_setting does_not[] = {
        {"core", "", "bare", ""}, {"user", "", "name", ""}, {"branch", "main", "merge", ""}};
    for (size_t i = 0; i < array_len(runs); i++)
        CHECK(git_setting_runs(&runs[i]));
    for (size_t i = 0; i < array_len(does_not); i++)
        CHECK(!git_setting_runs(&does_not[i]));
}

TEST(hashes_as_git_has_them)
{
    struct git_hash hash;
    char text[SHA1_DIGITS + 1];
    sha1_of("blob 6", 7, "hello\n", 6, hash.bytes);
    git_hash_format(&hash, text);
    CHECK_STR(text, "ce013625030ba8dba906f756967f9e9ca394464a");
    sha1_of("", 0, "", 0, hash.bytes);
    git_hash_format(&hash, text);
    CHECK_STR(text, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    char many[200];
    memset(many, 'a', sizeof(many));
    sha1_of(many, 55, many, 64, hash.bytes);
    git_hash_format(&hash, text);
    CHECK_STR(text, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56");
    CHECK(git_hash_parse(text, &hash));
    CHECK(!git_hash_parse("EE971065aaa017e0632a8ca6c77bb3bf8b1dfc56", &hash));
    CHECK(!git_hash_parse("ee97", &hash));
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
                                       "^ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56\n");
    const char *git_dir = arena_printf(&arena, "%s/r/.git", machine.path);
    struct timespec later, past = {.tv_sec = 1};
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec++;
    git_hashes hashes = {0};
    git_refs_before(git_dir, later, 10, &hashes);
    CHECK_INT(hashes.count, 3);
    hashes.count = 0;
    git_refs_before(git_dir, later, 2, &hashes);
    CHECK_INT(hashes.count, 2);
    hashes.count = 0;
    git_refs_before(git_dir, past, 10, &hashes);
    CHECK_INT(hashes.count, 0);
    vec_free(&hashes);
    machine_remove();
    arena_free(&arena);
}

UNIT_MAIN()
