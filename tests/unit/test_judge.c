/* What may lie in a git directory: by name, kind and form. That real git agrees is shown by tests/freeze. */
#include <string.h>
#include <sys/stat.h>

#include "git/index.h"
#include "git/judge.h"
#include "git/refs.h"
#include "unit.h"

#define HASH "0123456789abcdef0123456789abcdef01234567"

static const char *judge(const char *path, const char *text)
{
    return git_judge(&(struct git_entry){.path = path,
                                         .mode = S_IFREG | 0644,
                                         .links = 1,
                                         .length = strlen(text),
                                         .bytes = bytes_of(text, strlen(text))});
}

static bool is_inert(const char *path, const char *text)
{
    return judge(path, text) == NULL;
}

TEST(only_regular_files_and_directories)
{
    static const mode_t never[] = {S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK};
    static const char *const paths[] = {"HEAD",    "index",  "objects/pack", "refs/heads/x",
                                        "nothing", "config", "lfs/objects/x"};
    for (size_t i = 0; i < array_len(never); i++) {
        for (size_t j = 0; j < array_len(paths); j++)
            CHECK(git_judge(&(struct git_entry){.path = paths[j], .mode = never[i] | 0777, .links = 1}));
    }
    struct git_entry head = {"HEAD", S_IFREG | 0644, 2, 17, bytes_of("ref: refs/heads/x", 17), 0};
    CHECK(git_judge(&head) == git_is_second_name);
    head.links = 1;
    CHECK(!git_judge(&head));
    head.length = 18; /* more than was read */
    CHECK(git_judge(&head));
}

TEST(directories)
{
    static const char *const there[] = {"refs",           "refs/heads/a/b",   "objects",
                                        "objects/ab",     "objects/pack",     "logs/refs",
                                        "info",           "worktrees/x",      "modules/a/b",
                                        "lfs/objects/00", "worktrees/x/logs", "objects/tmp_objdir-in"};
    static const char *const never[] = {"index",           "HEAD",        "hooks",         "x",
                                        "objects/abc",     "objects/AB",  "rebase-merge",  "sequencer",
                                        "info/attributes", "packed-refs", "worktrees/x/y", "objects/pack/x"};
    for (size_t i = 0; i < array_len(there); i++)
        CHECK(!git_judge(&(struct git_entry){.path = there[i], .mode = S_IFDIR | 0755, .links = 3}));
    for (size_t i = 0; i < array_len(never); i++)
        CHECK(git_judge(&(struct git_entry){.path = never[i], .mode = S_IFDIR | 0755, .links = 3}));
}

TEST(refs_and_lists)
{
    CHECK(is_inert("HEAD", "ref: refs/heads/main\n") && is_inert("HEAD", "ref:refs/heads/main") &&
          is_inert("HEAD", HASH "\n"));
    CHECK(!is_inert("HEAD", "") && !is_inert("HEAD", "ref: ../x") &&
          !is_inert("HEAD", "ref: refs/heads/../x") && !is_inert("HEAD", HASH "0"));
    CHECK(is_inert("refs/stash", HASH "\n") && is_inert("refs/heads/-x", HASH) &&
          is_inert("worktrees/w/HEAD", HASH "\n"));
    CHECK(!is_inert("refs/heads/x", "evil") && !is_inert("refs/heads/.x", HASH) &&
          !is_inert("refs/heads/x..y", HASH) && !is_inert("refs/heads/a b", HASH) &&
          !is_inert("refs/heads/x.", HASH));
    CHECK(is_inert("MERGE_HEAD", HASH "\n" HASH "\n") && !is_inert("MERGE_HEAD", "") &&
          !is_inert("MERGE_HEAD", HASH "\nx\n"));
    CHECK(is_inert("packed-refs", "") &&
          is_inert("packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" HASH
                                  " refs/heads/a\n^" HASH "\n" HASH " refs/heads/b\n"));
    CHECK(!is_inert("packed-refs",
                    "# pack-refs with: sorted \n" HASH " refs/heads/b\n" HASH " refs/heads/a\n"));
    CHECK(is_inert("packed-refs", HASH " refs/heads/b\n" HASH " refs/heads/a\n"));
    CHECK(!is_inert("packed-refs", HASH " refs/heads/b\n" HASH " refs/heads/a\n" HASH " refs/heads/b\n"));
    CHECK(!is_inert("packed-refs", "^" HASH "\n") && !is_inert("packed-refs", HASH " refs/heads/b") &&
          !is_inert("packed-refs", HASH " refs/heads/b\n# x\n") && !is_inert("packed-refs", HASH " HEAD\n"));
    CHECK(is_inert("logs/HEAD", HASH " " HASH " a <b> 1 +0000\tcommit\n") &&
          is_inert("logs/refs/heads/x", ""));
    CHECK(!is_inert("logs/HEAD", HASH "\n") && !is_inert("logs/x", "") &&
          !is_inert("logs/refs/heads/.x", ""));
    CHECK(is_inert("shallow", HASH "\n") && !is_inert("shallow", "x\n"));
    CHECK(is_inert("FETCH_HEAD", HASH "\t\tbranch 'x' of .\n") && !is_inert("FETCH_HEAD", "x"));
}

TEST(what_git_obeys_and_what_nobody_knows)
{
    static const char *const live[] = {"objects/info/alternates",
                                       "objects/info/http-alternates",
                                       "commondir",
                                       "gitdir",
                                       "info/attributes",
                                       "info/sparse-checkout",
                                       "info/grafts",
                                       "rebase-merge/git-rebase-todo",
                                       "rebase-apply/0001",
                                       "sequencer/todo",
                                       "BISECT_LOG",
                                       "BISECT_NAMES",
                                       "worktrees/w/gitdir",
                                       "modules/a/commondir"};
    static const char *const unknown[] = {"x",
                                          "x.lock",
                                          "info/x",
                                          "HEAD2",
                                          "refs",
                                          "objects/ab/x",
                                          "objects/x",
                                          "index2",
                                          "gitk.cache",
                                          "worktrees/w/x",
                                          "modules/a",
                                          "sharedindex.",
                                          "sharedindex.x",
                                          "objects/pack/evil.pack",
                                          ("objects/pack/pack-" HASH ".so"),
                                          "lfs/x",
                                          "head",
                                          "fsmonitor--daemon.ipc"};
    static const char *const control[] = {"config",
                                          "config.worktree",
                                          "hooks/x",
                                          "remotes/x",
                                          "branches/y",
                                          "modules/a/config",
                                          "worktrees/w/config.worktree"};
    for (size_t i = 0; i < array_len(live); i++)
        CHECK(!is_inert(live[i], "") && !git_is_control(live[i]));
    for (size_t i = 0; i < array_len(unknown); i++)
        CHECK(!is_inert(unknown[i], HASH "\n") && !git_is_control(unknown[i]));
    for (size_t i = 0; i < array_len(control); i++)
        CHECK(!is_inert(control[i], "") && git_is_control(control[i]));
    const char *what = NULL;
    CHECK_INT(git_unfinished_size("rebase-merge/done", &what), strlen("rebase-merge"));
    CHECK_INT(git_unfinished_size("rebase-merged", &what), 0);
}

TEST(messages_locks_and_leftovers)
{
    static const char *const there[] = {"COMMIT_EDITMSG",
                                        "MERGE_MSG",
                                        "SQUASH_MSG",
                                        "TAG_EDITMSG",
                                        "MERGE_MODE",
                                        "description",
                                        "info/exclude",
                                        "index.lock",
                                        "refs/heads/x.lock",
                                        "packed-refs.lock",
                                        "config.lock",
                                        "objects/maintenance.lock",
                                        "objects/ab/tmp_obj_x",
                                        "objects/pack/tmp_pack_x",
                                        "objects/pack/.tmp-1-pack-x.pack",
                                        "gc.log",
                                        "lfs/objects/00/00/x",
                                        ("rr-cache/" HASH "/preimage"),
                                        "next-index-7.lock",
                                        "MERGE_RR"};
    for (size_t i = 0; i < array_len(there); i++)
        CHECK(is_inert(there[i], ""));
    CHECK(git_is_lock("index.lock") && git_is_lock("worktrees/w/HEAD.lock") && !git_is_lock("x.lock") &&
          !git_is_lock("index"));
    CHECK(!is_inert("MERGE_MODE", "x") && is_inert("MERGE_MODE", "no-ff"));
    static const char conflict[] = HASH "\ta/b", astray[] = HASH "\t.git/config", up[] = HASH ".1\t../x";
    const struct {
        const char *text;
        size_t size;
        bool is_inert;
    } conflicts[] = {{conflict, sizeof(conflict), true},
                     {astray, sizeof(astray), false},
                     {up, sizeof(up), false},
                     {conflict, sizeof(conflict) - 1, false}};
    for (size_t i = 0; i < array_len(conflicts); i++)
        CHECK_INT(!git_judge(&(struct git_entry){"MERGE_RR", S_IFREG, 1, conflicts[i].size,
                                                 bytes_of(conflicts[i].text, conflicts[i].size), 0}),
                  conflicts[i].is_inert);
}

TEST(objects_and_packs)
{
    CHECK(is_inert("objects/ab/cdef0123456789abcdef0123456789abcdef01", "\x78\x01xxxxxx"));
    CHECK(!is_inert("objects/ab/cdef0123456789abcdef0123456789abcdef01", "\x78\x02xxxxxx"));
    CHECK(!is_inert("objects/ab/cdef0123456789abcdef0123456789abcdef01", ""));
    CHECK(is_inert("objects/pack/pack-" HASH ".pack", "PACK0123456789"));
    CHECK(!is_inert("objects/pack/pack-" HASH ".pack", "KCAP0123456789"));
    CHECK(!is_inert("objects/pack/pack-" HASH ".idx", "x"));
    CHECK(is_inert("objects/pack/loose-" HASH ".promisor", ""));
    CHECK(is_inert("objects/info/packs", "P pack-" HASH ".pack\n\n") &&
          !is_inert("objects/info/packs", "evil\n"));
    CHECK(is_inert("objects/info/commit-graphs/commit-graph-chain", HASH "\n"));
    CHECK(git_is_commit_graph("objects/info/commit-graph") &&
          git_is_commit_graph("modules/x/objects/info/commit-graphs/commit-graph-chain") &&
          !git_is_commit_graph("objects/info/packs") && !git_is_commit_graph("objects/info/commit-graphs"));
    struct git_entry shared = {"objects/ab/cdef0123456789abcdef0123456789abcdef01",
                               S_IFREG | 0444,
                               2,
                               8,
                               bytes_of("\x78\x01", 2),
                               0};
    CHECK(!git_judge(&shared)); /* as a clone beside it makes them */
}

TEST(paths_that_no_index_holds)
{
    static const char *const refused[] = {"",
                                          "/a",
                                          "a//b",
                                          "a/",
                                          ".",
                                          "..",
                                          "./a",
                                          "../a",
                                          "a/..",
                                          "a/./b",
                                          ".git",
                                          ".GIT/x",
                                          "a/.gIt",
                                          ".git/hooks/x",
                                          "git~1",
                                          "GIT~1/x",
                                          "a/git~1",
                                          ".git.",
                                          ".git ",
                                          ".git...",
                                          ".git . .",
                                          ".git::$INDEX_ALLOCATION",
                                          ".git:x/y",
                                          "a\\.git",
                                          "a\\git~1\\x",
                                          "a\\.git\\x",
                                          ".g\xe2\x80\x8cit",
                                          "\xe2\x80\x8e.git",
                                          ".git\xef\xbb\xbf",
                                          ".gi\xe2\x81\xaft/config",
                                          "x/.git\xe2\x80\xaa\xe2\x80\xac"};
    static const char *const taken[] = {
        "a",        "a/b",   ".gitignore", ".gitmodules", ".github/x", "git",  "git~2",
        ".git-x",   "a.git", "x/...",      "..a",         ".gitx",     "a\\b", ".git\xf0\x9f\x98\x80",
        "\xc3\xa4", "a b",   "git~10"};
    for (size_t i = 0; i < array_len(refused); i++)
        CHECK(!git_path_is_allowed(refused[i], 0100644));
    for (size_t i = 0; i < array_len(taken); i++)
        CHECK(git_path_is_allowed(taken[i], 0100644));
    CHECK(!git_path_is_allowed(".gitmodules", 0120000) && !git_path_is_allowed("a/.GITMODULES ", 0120000) &&
          !git_path_is_allowed("gitmod~1", 0120000) && git_path_is_allowed("modules", 0120000));
    CHECK(git_path_is_allowed("a/", 0040000) && !git_path_is_allowed("a", 0040000) &&
          !git_path_is_allowed(".git/", 0040000));
    CHECK(!git_mode_is_written(0100777) && !git_mode_is_written(0) && !git_mode_is_written(0104755) &&
          git_mode_is_written(0160000));
}

TEST(where_a_git_directory_begins)
{
    static const struct {
        const char *path, *inner;
        bool is_linked;
    } parts[] = {{".git/HEAD", "HEAD", false},
                 {"a/.git/refs/x", "refs/x", false},
                 {".git/modules/a/b/index", "index", false},
                 {".git/worktrees/w/HEAD", "HEAD", true},
                 {".git/modules/a/worktrees/w/logs/HEAD", "logs/HEAD", true}};
    for (size_t i = 0; i < array_len(parts); i++) {
        struct git_inner inner = git_inner_of(parts[i].path);
        CHECK(inner.size > 0);
        CHECK_STR(inner.path, parts[i].inner);
        CHECK_INT(inner.is_linked, parts[i].is_linked);
    }
    CHECK_INT(git_inner_of("a/worktrees/x/y").size, 0);
}

UNIT_MAIN()
