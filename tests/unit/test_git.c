#include "git/repo.h"

#include "machine.h"
#include "unit.h"

#include "git/refs.h"

/* What is found for a tree: "dirs | links | outside | problem". */
static const char *found(const char *root)
{
    struct git_repo repo;
    const char *text = "";
    git_find(&machine.fs, root, NULL, &repo);
    for (size_t i = 0; i < repo.dirs.count; i++)
        text = arena_printf(&machine.arena, "%s%s ", text, repo.dirs.at[i]);
    text = arena_printf(&machine.arena, "%s| ", text);
    for (size_t i = 0; i < repo.links.count; i++)
        text = arena_printf(&machine.arena, "%s%s ", text, repo.links.at[i]);
    text = arena_printf(&machine.arena, "%s| %s | %s", text, repo.outside ? repo.outside : "",
                        repo.problem ? repo.problem : "");
    git_repo_free(&repo);
    return text;
}

static void put_repo(const char *git_dir)
{
    machine_put(arena_printf(&machine.arena, "%s/HEAD", git_dir), "ref: refs/heads/main\n");
    machine_put(arena_printf(&machine.arena, "%s/config", git_dir), "[core]\n\tbare = false\n");
    machine_put(arena_printf(&machine.arena, "%s/objects/x", git_dir), "");
    machine_put(arena_printf(&machine.arena, "%s/refs/x", git_dir), "");
}

TEST(an_ordinary_repository)
{
    machine_make();
    put_repo("/r/.git");
    machine_put("/plain/x", "");
    machine_put("/empty/.git/x", "");
    CHECK(git_is_root(&machine.fs, "/r"));
    CHECK(!git_is_root(&machine.fs, "/plain"));
    CHECK(git_is_root(&machine.fs, "/empty")); /* or removing HEAD would let the next start climb further */
    CHECK_STR(found("/r"), "/r/.git | |  | ");
    CHECK_STR(found("/plain"), "| |  | ");
    machine_remove();
}

TEST(a_linked_worktree_and_its_main_repository)
{
    machine_make();
    put_repo("/main/.git");
    put_repo("/main/.git/worktrees/w");
    machine_put("/main/.git/worktrees/w/commondir", "../..\n");
    machine_put("/main/.git/worktrees/w/gitdir", "/w/.git\n");
    machine_put("/w/.git", "gitdir: /main/.git/worktrees/w\n");
    CHECK(git_is_root(&machine.fs, "/w"));
    CHECK_STR(found("/w"), "/main/.git /main/.git/worktrees/w | /w/.git | /main/.git | ");
    CHECK_STR(found("/main"), "/main/.git /main/.git/worktrees/w | |  | ");
    machine_remove();
}

TEST(a_submodule_seen_from_outside_and_from_inside)
{
    machine_make();
    put_repo("/s/.git");
    put_repo("/s/.git/modules/lib/x");
    machine_put("/s/.git/modules/lib/x/config", "[core]\n\tworktree = ../../../../lib/x\n");
    machine_put("/s/lib/x/.git", "gitdir: ../../.git/modules/lib/x\n");
    CHECK_STR(found("/s"), "/s/.git /s/.git/modules/lib/x | /s/lib/x/.git |  | ");
    CHECK_STR(found("/s/lib/x"), "/s/.git/modules/lib/x | /s/lib/x/.git | /s/.git/modules/lib/x | ");
    machine_remove();
}

/* Whoever wrote it: what lies in the tree is in the tree, and what git obeys there is to be frozen. */
TEST(a_git_directory_of_another_name_in_the_tree)
{
    machine_make();
    put_repo("/w/.bare");
    machine_put("/w/.git", "gitdir: ./.bare\n");
    CHECK_STR(found("/w"), "/w/.bare | /w/.git |  | ");
    machine_put("/w/.git", "gitdir: .\n");
    CHECK(strstr(found("/w"), "does not point back") != NULL);
    put_repo("/l/.bare");
    machine_link("/l/.git", ".bare");
    CHECK_STR(found("/l"), "/l/.bare | /l/.git |  | ");
    put_repo("/victim/.git");
    machine_put("/o/x", "");
    machine_link("/o/.git", "/victim/.git");
    CHECK_STR(found("/o"), "| /o/.git |  | it is a symbolic link");
    machine_remove();
}

TEST(a_tree_that_is_a_bare_repository)
{
    machine_make();
    put_repo("/r.git");
    machine_put("/plain/HEAD", "");
    CHECK_STR(found("/r.git"), "/r.git | |  | ");
    CHECK_STR(found("/plain"), "| |  | ");
    machine_remove();
}

TEST(a_git_directory_in_the_tree_whose_configuration_lies_beside_it)
{
    machine_make();
    machine_put("/shared/admin/HEAD", "ref: refs/heads/main\n");
    machine_put("/shared/admin/commondir", "../store\n");
    put_repo("/shared/store");
    machine_put("/shared/.git", "gitdir: admin\n");
    CHECK_STR(found("/shared"), "/shared/admin /shared/store | /shared/.git |  | ");
    machine_remove();
}

/* Each of these is what an agent could have written to get at another repository at the next start. */
TEST(a_forged_git_file_widens_nothing)
{
    static const char refusal[] = "| /w/.git |  | the git directory that it names does not point back at it";
    machine_make();
    put_repo("/victim/.git");
    put_repo("/victim/.git/worktrees/other");
    machine_put("/victim/.git/worktrees/other/commondir", "../..\n");
    machine_put("/victim/.git/worktrees/other/gitdir", "/other/.git\n");
    put_repo("/victim/.git/modules/m");
    machine_put("/victim/.git/modules/m/config", "[core]\n\tworktree = ../../../m\n");
    static const char *const forged[] = {
        "gitdir: /victim/.git\n",
        "gitdir: ../victim/.git\n",
        "gitdir: /victim/.git/worktrees/other\n",
        "gitdir: /victim/.git/modules/m\n",
    };
    for (size_t i = 0; i < array_len(forged); i++) {
        machine_put("/w/.git", forged[i]);
        if (!CHECK_STR(found("/w"), refusal))
            printf("# it was %s", forged[i]);
    }
    machine_put("/w/.git", "gitdir: /nowhere\n");
    CHECK(strstr(found("/w"), "is missing") != NULL);
    machine_put("/w/.git", "[core]\n");
    CHECK(strstr(found("/w"), "not a file that git writes") != NULL);
    machine_put("/w/.git", "gitdir: /victim/.git\ngitdir: /x\n");
    CHECK(strstr(found("/w"), "not a file that git writes") != NULL);
    machine_remove();
}

/* The worktree's own directory lies in the workspace, and its commondir points at the victim. */
TEST(a_forged_commondir_widens_nothing)
{
    machine_make();
    put_repo("/victim/.git");
    put_repo("/w/fake/.git");
    put_repo("/w/fake/.git/worktrees/w");
    machine_put("/w/fake/.git/worktrees/w/commondir", "/victim/.git\n");
    machine_put("/w/fake/.git/worktrees/w/gitdir", "/w/.git\n");
    machine_put("/w/.git", "gitdir: /w/fake/.git/worktrees/w\n");
    CHECK(strstr(found("/w"), "does not point back") != NULL);
    machine_link("/w/link", "/victim");
    machine_put("/w/.git", "gitdir: /w/link/.git\n");
    CHECK(strstr(found("/w"), "behind a symbolic link") != NULL);
    machine_remove();
}

/* A main directory that holds the worktree itself would grant everything around it. */
TEST(a_forged_main_directory_around_the_worktree_widens_nothing)
{
    machine_make();
    put_repo("/w");
    put_repo("/w/worktrees/x");
    machine_put("/w/worktrees/x/commondir", "../..\n");
    machine_put("/w/worktrees/x/gitdir", "../../lib/.git\n");
    machine_put("/w/lib/.git", "gitdir: ../worktrees/x\n");
    CHECK(strstr(found("/w/lib"), "does not point back") != NULL);
    machine_remove();
}

TEST(a_submodule_stays_one_when_its_head_is_removed)
{
    machine_make();
    put_repo("/s/.git");
    machine_put("/s/.git/modules/m/config", "[core]\n\tworktree = ../../../m\n");
    machine_put("/s/m/.git", "gitdir: ../.git/modules/m\n");
    CHECK_STR(found("/s"), "/s/.git /s/.git/modules/m | /s/m/.git |  | ");
    machine_remove();
}

TEST(links_of_worktrees_inside_the_tree_are_known)
{
    machine_make();
    put_repo("/r/.git");
    put_repo("/r/.git/worktrees/f");
    machine_put("/r/.git/worktrees/f/gitdir", "/r/.worktrees/f/.git\n");
    machine_put("/r/.worktrees/f/.git", "gitdir: /r/.git/worktrees/f\n");
    CHECK_STR(found("/r"), "/r/.git /r/.git/worktrees/f | /r/.worktrees/f/.git |  | ");
    machine_remove();
}

/* What cannot be looked through is frozen whole, not passed over. */
TEST(what_cannot_be_listed_is_named)
{
    machine_make();
    put_repo("/r/.git");
    machine_put("/elsewhere/x", "");
    machine_link("/r/.git/modules", "/elsewhere");
    struct git_repo repo;
    git_find(&machine.fs, "/r", NULL, &repo);
    CHECK_INT(repo.whole.count, 1);
    CHECK_STR(repo.whole.at[0].path, "/r/.git/modules");
    git_repo_free(&repo);
    machine_remove();
}

/* What was found of /r, with so many submodules in each of two directories. */
static void find_many(unsigned each, struct git_repo *ret_repo)
{
    machine_make();
    put_repo("/r/.git");
    for (unsigned i = 0; i < 2 * each; i++)
        machine_put(arena_printf(&machine.arena, "/r/.git/modules/%c/%u/config", i < each ? 'a' : 'b', i),
                    "");
    git_find(&machine.fs, "/r", NULL, ret_repo);
}

TEST(beyond_so_many_git_directories_the_rest_is_frozen_as_a_whole)
{
    struct git_repo repo;
    find_many(GIT_MOST_PARTS / 2 - 1, &repo); /* the control */
    CHECK_INT(repo.dirs.count, GIT_MOST_PARTS - 1);
    CHECK_INT(repo.whole.count, 0);
    CHECK(!repo.unsearched);
    git_repo_free(&repo);
    machine_remove();
    find_many(GIT_MOST_PARTS / 2, &repo);
    CHECK_INT(repo.dirs.count, GIT_MOST_PARTS - 1);
    CHECK_INT(repo.whole.count, 1);
    CHECK_STR(repo.whole.at[0].path, "/r/.git/modules/b");
    CHECK_STR(repo.unsearched, "/r/.git/modules/b");
    git_repo_free(&repo);
    machine_remove();
    find_many(GIT_MOST_PARTS + 1, &repo); /* too many to be listed */
    CHECK_INT(repo.dirs.count, 1);
    CHECK_STR(repo.whole.at[0].path, "/r/.git/modules/a");
    CHECK_STR(repo.whole.at[1].path, "/r/.git/modules/b");
    git_repo_free(&repo);
    machine_remove();
}

TEST(a_git_that_is_a_symbolic_link_is_not_followed)
{
    machine_make();
    put_repo("/victim/.git");
    machine_put("/w/x", "");
    machine_link("/w/.git", "/victim/.git");
    CHECK_STR(found("/w"), "| /w/.git |  | it is a symbolic link");
    machine_remove();
}

TEST(a_hostile_modules_tree_is_walked_only_so_far)
{
    machine_make();
    put_repo("/r/.git");
    char path[512] = "/r/.git/modules";
    for (int i = 0; i < 40; i++) {
        size_t size = strlen(path);
        snprintf(path + size, sizeof(path) - size, "/d");
        machine_put(path, NULL);
    }
    CHECK_STR(found("/r"), "/r/.git | |  | ");
    machine_remove();
}

TEST(names_of_branches_are_those_that_git_takes)
{
    static const char *const sound[] = {"main", "agent/work", "a.b", "x@y", "caf\303\251"};
    static const char *const unsound[] = {
        "",    "-x",  ".x", "/x",  "x/",   "x.",   "a..b", "a//b", "a/.b",   "a b",      "a~b",  "a^b",
        "a:b", "a?b", "a*", "a[b", "a\\b", "a@{b", "@",    "HEAD", "x.lock", "a.lock/b", "a\nb", "a\177b"};
    for (size_t i = 0; i < array_len(sound); i++)
        CHECK(git_branch_is_sound(sound[i]));
    for (size_t i = 0; i < array_len(unsound); i++) {
        if (!CHECK(!git_branch_is_sound(unsound[i])))
            printf("# %s\n", unsound[i]);
    }
}

TEST(a_position_is_a_hash_and_nothing_else)
{
    struct git_position position;
    char digits[GIT_DIGITS_MOST + 8];
    memset(digits, 'a', sizeof(digits));
    for (size_t size = 0; size < sizeof(digits) - 2; size++) {
        memset(digits, 'a', sizeof(digits));
        memcpy(digits + size, "\n", 2);
        CHECK_INT(git_position_parse(digits, &position), size == 40 || size == 64);
    }
    CHECK(!git_position_parse("ref: refs/heads/main\n", &position));
    CHECK(!git_position_parse("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nx", &position));
    CHECK(!git_position_parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", &position));
}

UNIT_MAIN()
