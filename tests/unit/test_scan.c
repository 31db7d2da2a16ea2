/* A walk that looked ahead with several threads finds what one that looks at one directory after the other finds. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "machine.h"
#include "unit.h"
#include "workspace/scan.h"

enum { DIRECTORIES = 40, FILES = 50 };

static void write_file(int top_fd, const char *path)
{
    auto_fd int fd = openat(top_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, path, strlen(path)) == (ssize_t)strlen(path));
}

/* Enough files for threads, in directories at different depths, and one of each thing that a walk treats apart. */
static void make_tree(int top_fd)
{
    char path[128];
    for (int i = 0; i < DIRECTORIES; i++) {
        int size = snprintf(path, sizeof(path), "d%d", i % 7);
        mkdirat(top_fd, path, 0755);
        snprintf(path + size, sizeof(path) - (size_t)size, "/e%d", i);
        CHECK_INT(mkdirat(top_fd, path, 0755), 0);
        size = (int)strlen(path);
        for (int j = 0; j < FILES; j++) {
            snprintf(path + size, sizeof(path) - (size_t)size, "/f%d", j);
            write_file(top_fd, path);
        }
    }
    CHECK_INT(mkdirat(top_fd, "node_modules", 0755), 0);
    write_file(top_fd, "node_modules/left-out");
    CHECK_INT(symlinkat("d0/e0", top_fd, "link"), 0);
    CHECK_INT(linkat(top_fd, "d0/e0/f0", top_fd, "hard", 0), 0);
    CHECK_INT(mknodat(top_fd, "fifo", S_IFIFO | 0644, 0), 0);
    CHECK_INT(mkdirat(top_fd, "closed", 0755), 0);
    write_file(top_fd, "closed/file");
    CHECK_INT(fchmodat(top_fd, "closed", 0444, 0), 0);
}

static void walk(int top_fd, const struct tree *before, struct scan *ret_scan)
{
    static const struct skip node = {.name = "node_modules"};
    struct skips skips = {0};
    struct err err = {0};
    vec_push(&skips.list, node);
    const struct scan_request request = {.before = before, .skips = &skips};
    CHECK_INT(scan_tree(top_fd, &request, ret_scan, &err), 0);
    vec_free(&skips.list);
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    return strcmp(a->path, b->path) == 0 && look_is_same(a, b) && strcmp(a->target, b->target) == 0 &&
           strcmp(a->linked_to, b->linked_to) == 0 && a->content == b->content && a->is_whole == b->is_whole;
}

TEST(a_first_walk_with_threads_finds_what_a_walk_without_them_finds)
{
    machine_make();
    auto_fd int top_fd = open(machine.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_tree(top_fd);
    auto_scan struct scan ahead = {0}, alone = {0};
    const struct tree nothing = {0}; /* with an earlier walk nothing is looked at ahead */
    walk(top_fd, NULL, &ahead);
    walk(top_fd, &nothing, &alone);
    CHECK(ahead.tree.entries.count > (size_t)DIRECTORIES * FILES);
    REQUIRE(ahead.tree.entries.count == alone.tree.entries.count);
    for (size_t i = 0; i < alone.tree.entries.count; i++) {
        if (!CHECK(is_same(&ahead.tree.entries.at[i], &alone.tree.entries.at[i])))
            printf("# %s\n", alone.tree.entries.at[i].path);
    }
    CHECK_INT(ahead.fresh.count, alone.fresh.count);
    CHECK_INT(ahead.was_denied, alone.was_denied);
    CHECK(tree_find(&ahead.tree, "d0/e0/f0") && tree_find(&ahead.tree, "node_modules"));
    CHECK(!tree_find(&ahead.tree, "node_modules/left-out"));
    CHECK_INT(fchmodat(top_fd, "closed", 0755, 0), 0);
    machine_remove();
}

TEST(a_first_walk_of_more_files_than_are_permitted_fails)
{
    machine_make();
    auto_fd int top_fd = open(machine.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_tree(top_fd);
    struct scan scan = {0};
    struct err err = {0};
    const struct scan_request request = {.most_entries = 1000};
    CHECK_INT(scan_tree(top_fd, &request, &scan, &err), -1);
    CHECK_INT(err.errnum, E2BIG);
    CHECK_INT(fchmodat(top_fd, "closed", 0755, 0), 0);
    machine_remove();
}

UNIT_MAIN()
