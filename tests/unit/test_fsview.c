#include "kernel/fsview.h"

#include "machine.h"
#include "unit.h"

/* Where a path leads, as "REAL kind, link, link". */
static const char *leads(const char *path)
{
    static const char *const kinds[] = {"missing", "file", "directory", "link", "socket", "other", "unknown"};
    const struct fs_place *place = NULL;
    struct err err;
    if (fs_resolve(&machine.fs, path, &place, &err) < 0)
        return arena_printf(&machine.arena, "!%s", err.message);
    const char *text = arena_printf(&machine.arena, "%s %s", place->real, kinds[place->kind]);
    for (const struct fs_link *link = place->links; link; link = link->next)
        text = arena_printf(&machine.arena, "%s, %s", text, link->path);
    return text;
}

TEST(links_are_followed_one_by_one_and_never_out_of_the_root)
{
    machine_make();
    machine_put("/usr/bin/sh", "x");
    machine_put("/home/u/dot/ssh/id", "x");
    machine_link("/bin", "usr/bin");
    machine_link("/home/u/.ssh", "dot/ssh");
    machine_link("/home/u/abs", "/usr/bin");
    machine_link("/home/u/up", "../../../../../usr");
    machine_link("/home/u/chain", "abs/sh");
    machine_link("/home/u/gone", "/nowhere/x");
    CHECK_STR(leads("/"), "/ directory");
    CHECK_STR(leads("/bin/sh"), "/usr/bin/sh file, /bin");
    CHECK_STR(leads("/home/u/.ssh/id"), "/home/u/dot/ssh/id file, /home/u/.ssh");
    CHECK_STR(leads("/home/u/abs"), "/usr/bin directory, /home/u/abs");
    CHECK_STR(leads("/home/u/up"), "/usr directory, /home/u/up");
    CHECK_STR(leads("/home/u/chain"), "/usr/bin/sh file, /home/u/chain, /home/u/abs");
    CHECK_STR(leads("/home/u/gone"), "/nowhere/x missing, /home/u/gone");
    CHECK_STR(leads("/home/u/none/x"), "/home/u/none/x missing");
    CHECK_STR(leads("/usr/bin/sh/x"), "/usr/bin/sh/x missing");
    machine_remove();
}

TEST(a_loop_of_links_is_an_error)
{
    machine_make();
    machine_link("/a", "b");
    machine_link("/b", "a");
    machine_link("/self", "self");
    CHECK(leads("/a")[0] == '!');
    CHECK(leads("/self/x")[0] == '!');
    machine_remove();
}

/* Every level doubles the links on the way: the kernel would give up after 40, and so must we. */
TEST(links_that_multiply_are_an_error)
{
    machine_make();
    machine_put("/l24/x", "");
    for (int i = 0; i < 24; i++) {
        char path[16], target[32];
        snprintf(path, sizeof(path), "/l%d", i);
        snprintf(target, sizeof(target), "l%d/../l%d", i + 1, i + 1);
        machine_link(path, target);
    }
    CHECK(leads("/l0")[0] == '!');
    CHECK_STR(leads("/l22/x"), "/l24/x file, /l22, /l23, /l23");
    machine_remove();
}

TEST(what_may_not_be_looked_at_is_not_missing)
{
    machine_make();
    machine_put("/d/x", "");
    char full[64];
    snprintf(full, sizeof(full), "%s/d", machine.path);
    CHECK_INT(chmod(machine.path, 0755), 0);
    CHECK_INT(chmod(full, 0), 0);
    bool is_root = geteuid() == 0; /* who may look at everything, and so looks as somebody else */
    CHECK_INT(is_root ? seteuid(65534) : 0, 0);
    CHECK_STR(leads("/d/x/y"), "/d/x/y unknown");
    CHECK_STR(leads("/none"), "/none missing");
    CHECK_INT(is_root ? seteuid(0) : 0, 0);
    CHECK_INT(chmod(full, 0700), 0);
    machine_remove();
}

TEST(only_regular_files_behind_no_link_are_read_and_only_up_to_a_size)
{
    machine_make();
    machine_put("/d/file", "hello");
    machine_link("/d/link", "file");
    machine_link("/e", "d");
    char full[64];
    snprintf(full, sizeof(full), "%s/fifo", machine.path);
    CHECK_INT(mkfifo(full, 0600), 0);
    char *bytes = NULL;
    size_t size = 0;
    struct err err;
    CHECK_INT(fs_read(&machine.fs, "/d/file", 5, &bytes, &size, &err), 1);
    CHECK_STR(bytes, "hello");
    CHECK_INT(fs_read(&machine.fs, "/d/file", 4, &bytes, &size, &err), -1);
    CHECK_INT(fs_read(&machine.fs, "/d/none", 5, &bytes, &size, &err), 0);
    CHECK_INT(fs_read(&machine.fs, "/d/link", 5, &bytes, &size, &err), -1);
    CHECK_INT(fs_read(&machine.fs, "/e/file", 5, &bytes, &size, &err), -1);
    CHECK_INT(fs_read(&machine.fs, "/d", 5, &bytes, &size, &err), -1);
    CHECK_INT(fs_read(&machine.fs, "/fifo", 5, &bytes, &size, &err),
              -1); /* and it does not wait for a writer */
    machine_remove();
}

TEST(names_are_listed_sorted)
{
    machine_make();
    machine_put("/d/b", "");
    machine_put("/d/a", "");
    machine_put("/d/.c", "");
    fs_names names = {0};
    fs_list(&machine.fs, "/d", 10, &names);
    CHECK_INT(names.count, 3);
    CHECK_STR(names.at[0], ".c");
    CHECK_STR(names.at[2], "b");
    names.count = 0;
    fs_list(&machine.fs, "/none", 10, &names);
    CHECK_INT(names.count, 0);
    vec_free(&names);
    machine_remove();
}

UNIT_MAIN()
