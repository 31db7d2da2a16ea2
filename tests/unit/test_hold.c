/* Stubs, what is set aside, contents and second names: the file operations of src/hold/, on a made-up folder. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "hold/aside.h"
#include "hold/content.h"
#include "hold/hold.h"
#include "hold/stub.h"
#include "kernel/directories.h"
#include "machine.h"
#include "unit.h"

static struct arena arena;

static const char *place_of(const char *path)
{
    return arena_printf(&arena, "%s%s", machine.path, path);
}

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(place_of(path), &status) == 0;
}

static const char *text_at(const char *path)
{
    char text[64] = "";
    FILE *file = fopen(place_of(path), "r");
    if (!file)
        return "(none)";
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return arena_str(&arena, text);
}

static size_t records(void)
{
    size_t count = 0;
    DIR *folder = opendir(place_of("/state/bawn/stubs"));
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        count += *entry->d_name != '.';
    if (folder)
        closedir(folder);
    return count;
}

TEST(a_stub_is_made_shared_and_removed_by_the_last)
{
    machine_make();
    machine_put("/g/HEAD", "x");
    struct stubs one = stubs_in(&arena, place_of("/state")), two = stubs_in(&arena, place_of("/state"));
    struct err err = {0};
    CHECK_INT(stubs_hold(&one, place_of("/g/commondir"), false, "./\n", &err), 1);
    CHECK_INT(stubs_hold(&one, place_of("/g/hooks"), true, "", &err), 1);
    CHECK_INT(stubs_hold(&one, place_of("/g/HEAD"), false, "", &err), 1);
    CHECK_INT(one.held.count, 2); /* what was there already is nobody's stub */
    CHECK_STR(text_at("/g/commondir"), "./\n");
    CHECK_INT(stubs_hold(&two, place_of("/g/commondir"), false, "./\n", &err), 1);
    CHECK_INT(two.held.count, 1);
    stubs_release(&one);
    CHECK(is_there("/g/commondir"));
    CHECK(!is_there("/g/hooks"));
    stubs_release(&two);
    CHECK(!is_there("/g/commondir"));
    CHECK_STR(text_at("/g/HEAD"), "x");
    CHECK_INT(records(), 0);
    machine_remove();
}

TEST(what_is_no_longer_the_stub_stays)
{
    machine_make();
    machine_put("/g/HEAD", "x");
    struct stubs stubs = stubs_in(&arena, place_of("/state"));
    struct err err = {0};
    CHECK_INT(stubs_hold(&stubs, place_of("/g/config.worktree"), false, "", &err), 1);
    CHECK_INT(stubs_hold(&stubs, place_of("/g/commondir"), false, "./\n", &err), 1);
    CHECK_INT(stubs_hold(&stubs, place_of("/g/hooks"), true, "", &err), 1);
    machine_put("/g/new", "");
    rename(place_of("/g/new"), place_of("/g/config.worktree")); /* the same content in another file */
    machine_put("/g/commondir", "..\n");
    machine_put("/g/hooks/pre-commit", "x");
    stubs_release(&stubs);
    CHECK(is_there("/g/config.worktree"));
    CHECK_STR(text_at("/g/commondir"), "..\n");
    CHECK_STR(text_at("/g/hooks/pre-commit"), "x");
    CHECK_INT(records(), 0);
    machine_remove();
}

static void count_removed(void *context, const char *path)
{
    (void)path;
    ++*(int *)context;
}

TEST(what_a_killed_session_left_is_tidied_and_what_runs_is_not)
{
    machine_make();
    machine_put("/g/HEAD", "x");
    struct stubs killed = stubs_in(&arena, place_of("/state")),
                 running = stubs_in(&arena, place_of("/state"));
    struct err err = {0};
    int removed = 0;
    CHECK_INT(stubs_tidy(&arena, place_of("/state"), count_removed, &removed, &err), 0); /* no folder yet */
    CHECK_INT(stubs_hold(&killed, place_of("/g/commondir"), false, "./\n", &err), 1);
    CHECK_INT(stubs_hold(&running, place_of("/g/hooks"), true, "", &err), 1);
    close(killed.held.at[0].record_fd); /* as the kernel does */
    vec_free(&killed.held);
    machine_put("/state/bawn/stubs/half-written", "");
    CHECK_INT(stubs_tidy(&arena, place_of("/state"), count_removed, &removed, &err), 0);
    CHECK_INT(removed, 1);
    CHECK(!is_there("/g/commondir"));
    CHECK(is_there("/g/hooks"));
    CHECK_INT(records(), 1);
    stubs_release(&running);
    machine_remove();
}

/* Makes directories in one another, each with a second one beside it. Returns the innermost. */
static int make_deep(const char *top, unsigned depth)
{
    int at = open(place_of(top), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; at >= 0 && i < depth; i++) {
        int made = mkdirat(at, "beside", 0700) < 0 || mkdirat(at, "deep", 0700) < 0
                       ? -1
                       : openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = made;
    }
    return at;
}

TEST(a_second_name_is_found_where_its_path_is_longer_than_the_kernel_takes)
{
    enum { DEEP = 1000 };
    machine_make();
    machine_put("/g/config", "x");
    machine_put("/tree/file", "x");
    struct hold hold = {.arena = &arena};
    file_contents frozen = {0};
    struct err err = {0};
    content_add(&arena, place_of("/g/config"), &frozen);
    auto_fd int deepest = make_deep("/tree", DEEP);
    CHECK(deepest >= 0);
    const char *alias = NULL;
    CHECK_INT(alias_find_in(&hold, &frozen.at[0], place_of("/tree"), &alias, &err), 0);
    CHECK(alias == NULL);
    CHECK_INT(linkat(AT_FDCWD, place_of("/g/config"), deepest, "x", 0), 0);
    CHECK_INT(alias_find_in(&hold, &frozen.at[0], place_of("/tree"), &alias, &err), 0);
    CHECK(alias && strlen(alias) > DEEP * strlen("/deep") &&
          strcmp(alias + strlen(alias) - 7, "/deep/x") == 0);
    CHECK_INT(alias_find_in(&hold, &frozen.at[0], place_of("/g"), &alias, &err), 0);
    CHECK(alias == NULL); /* its own name is none */
    CHECK_INT(alias_find_in(&hold, &frozen.at[0], place_of("/none"), &alias, &err), 0);
    vec_free(&frozen);
    auto_fd int machine_fd = open(machine.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(remove_tree(machine_fd, "tree", &err), 0); /* nftw() takes no such path */
    machine_remove();
}

TEST(a_link_on_the_way_stops_a_stub)
{
    machine_make();
    machine_put("/g/HEAD", "x");
    machine_link("/l", "g");
    struct stubs stubs = stubs_in(&arena, place_of("/state"));
    struct err err = {0};
    CHECK_INT(stubs_hold(&stubs, place_of("/l/commondir"), false, "./\n", &err), -1);
    CHECK_INT(err.errnum, ENOTDIR);
    CHECK(!is_there("/g/commondir"));
    stubs_release(&stubs);
    machine_remove();
}

TEST(moved_aside_and_back)
{
    machine_make();
    machine_put("/w/d/x", "one");
    machine_put("/session/journal", "");
    auto_fd int session = open(place_of("/session"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};
    CHECK_INT(aside_move(&arena, session, place_of("/w/none"), &err), 0);
    CHECK_INT(aside_move(&arena, session, place_of("/w/d/x"), &err), 1);
    CHECK(!is_there("/w/d/x"));
    machine_put("/w/d/x", "two");
    CHECK_INT(aside_move(&arena, session, place_of("/w/d/x"), &err), 1);
    machine_put("/w/d/x~2", "no version of x");
    CHECK_INT(aside_move(&arena, session, place_of("/w/d/x~2"), &err), 1);
    held_list held = {0};
    aside_find(&arena, session, &held);
    CHECK_INT(held.count, 3);
    CHECK_STR(held.at[1].path, place_of("/w/d/x"));
    CHECK_STR(held.at[1].folder, "held-2");
    aside_keep_newest(&held);
    CHECK_INT(held.count, 2);
    CHECK_INT(held.at[0].number, 2);
    CHECK_STR(held.at[1].path, place_of("/w/d/x~2"));
    vec_free(&held);
    machine_put("/w/d/x", "three");
    CHECK_INT(aside_return(&arena, session, place_of("/w/d/x"), &err), 0);
    CHECK_STR(text_at("/w/d/x"), "two");
    CHECK_STR(text_at(arena_printf(&arena, "/session/held-3%s", place_of("/w/d/x"))), "three");
    CHECK_INT(aside_return(&arena, session, place_of("/w/d/y"), &err), -1);
    machine_remove();
}

TEST(what_comes_back_is_held_a_thousand_times_in_order)
{
    machine_make();
    machine_put("/session/journal", "");
    auto_fd int session = open(place_of("/session"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};
    for (int i = 1; i <= 1000; i++) {
        machine_put("/w/x", arena_printf(&arena, "%d", i));
        CHECK_INT(aside_move(&arena, session, place_of("/w/x"), &err), 1);
    }
    CHECK_STR(text_at(arena_printf(&arena, "/session/held%s", place_of("/w/x"))), "1");
    CHECK_STR(text_at(arena_printf(&arena, "/session/held-2%s", place_of("/w/x"))), "2");
    CHECK_STR(text_at(arena_printf(&arena, "/session/held-777%s", place_of("/w/x"))), "777");
    CHECK_STR(text_at(arena_printf(&arena, "/session/held-1000%s", place_of("/w/x"))), "1000");
    machine_put("/w/x", "1001");
    CHECK_INT(aside_move(&arena, session, place_of("/w/x"), &err), -1);
    CHECK_INT(err.errnum, EEXIST);
    CHECK_STR(text_at("/w/x"), "1001");
    machine_remove();
}

TEST(a_link_that_is_held_leads_nowhere)
{
    machine_make();
    machine_put("/victim/file", "victim");
    machine_put("/w/other", "");
    machine_link("/w/a", place_of("/victim"));
    machine_put("/session/journal", "");
    auto_fd int session = open(place_of("/session"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};
    CHECK_INT(aside_move(&arena, session, place_of("/w/a"), &err), 1);
    machine_put("/w/a/b/c", "below");
    CHECK_INT(aside_move(&arena, session, place_of("/w/a/b/c"), &err), 1); /* held/…/a is the link */
    CHECK(!is_there("/victim/b"));
    CHECK_STR(text_at(arena_printf(&arena, "/session/held-2%s", place_of("/w/a/b/c"))), "below");
    CHECK_INT(remove(place_of("/w/a/b")), 0);
    CHECK_INT(aside_return(&arena, session, place_of("/w/a/b/c"), &err), 0); /* and makes what is missing */
    CHECK_STR(text_at("/w/a/b/c"), "below");
    machine_remove();
}

TEST(contents_are_compared_and_brought_back)
{
    machine_make();
    machine_put("/w/a", "one");
    machine_put("/w/d/b", "two");
    machine_link("/w/d/l", "b");
    file_contents before = {0}, after = {0};
    struct err err = {0};
    content_add(&arena, place_of("/w"), &before);
    CHECK_INT(before.count, 3);
    machine_put("/w/a", "changed");
    content_add(&arena, place_of("/w"), &after);
    CHECK(!content_equal(content_find(&before, place_of("/w/a")), content_find(&after, place_of("/w/a"))));
    CHECK(content_equal(content_find(&before, place_of("/w/d/l")), content_find(&after, place_of("/w/d/l"))));
    CHECK_INT(content_restore(content_find(&before, place_of("/w/a")), &err), -1); /* what is there stays */
    CHECK_STR(text_at("/w/a"), "changed");
    CHECK_INT(remove(place_of("/w/a")), 0);
    CHECK_INT(content_restore(content_find(&before, place_of("/w/a")), &err), 0);
    CHECK_STR(text_at("/w/a"), "one");
    vec_free(&before);
    vec_free(&after);
    machine_remove();
    arena_free(&arena);
}

UNIT_MAIN()
