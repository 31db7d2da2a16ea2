/* Opening files of a tree that others can write: no link is followed, and nothing above the top is reached. */
#include "kernel/beneath.h"

#include <errno.h>

#include "base/fd.h"
#include "kernel/directories.h"
#include "kernel/unix_sockets.h"
#include "machine.h"
#include "unit.h"

static int top(void)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/top", machine.path);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int errno_of(int top_fd, const char *path, int flags)
{
    auto_fd int fd = open_beneath(top_fd, path, flags, (flags & O_CREAT) ? 0600 : 0);
    return fd < 0 ? errno : 0;
}

static void make_tree(void)
{
    machine_make();
    machine_put("/secret", "secret");
    machine_put("/top/dir/file", "x");
    machine_link("/top/link", "dir/file");
    machine_link("/top/dir-link", "dir");
    machine_link("/top/out", "../secret");
    machine_link("/top/absolute", "/etc/passwd");
}

TEST(no_link_is_followed_at_the_end_or_on_the_way)
{
    make_tree();
    auto_fd int fd = top();
    CHECK_INT(errno_of(fd, "dir/file", O_RDONLY), 0);
    CHECK_INT(errno_of(fd, "link", O_RDONLY), ELOOP);
    CHECK_INT(errno_of(fd, "dir-link/file", O_RDONLY), ELOOP);
    CHECK_INT(errno_of(fd, "out", O_RDONLY), ELOOP);
    CHECK_INT(errno_of(fd, "absolute", O_RDONLY), ELOOP);
    CHECK_INT(errno_of(fd, "../secret", O_RDONLY), EXDEV);
    CHECK_INT(errno_of(fd, "out", O_WRONLY | O_CREAT), ELOOP);
    machine_remove();
}

/* With O_PATH a link can be opened, and then it is the link itself: what is frozen or held may be one. */
TEST(a_link_is_opened_as_itself)
{
    make_tree();
    auto_fd int fd = top();
    auto_fd int link = open_beneath(fd, "out", O_PATH, 0);
    struct stat status = {0};
    CHECK(link >= 0);
    CHECK_INT(fstat(link, &status), 0);
    CHECK(S_ISLNK(status.st_mode));
    machine_remove();
}

TEST(the_top_itself_and_the_parent_of_a_path)
{
    make_tree();
    auto_fd int fd = top();
    const char *name = NULL;
    CHECK_INT(errno_of(fd, "", O_RDONLY | O_DIRECTORY), 0);
    auto_fd int parent = open_parent_beneath(fd, "dir/file", &name);
    CHECK(parent >= 0);
    CHECK_STR(name, "file");
    auto_fd int through_link = open_parent_beneath(fd, "dir-link/file", &name);
    CHECK(through_link < 0);
    machine_remove();
}

TEST(directories_are_made_through_no_link)
{
    make_tree();
    machine_put("/elsewhere/x", "");
    machine_link("/top/away", "../elsewhere");
    auto_fd int fd = top();
    auto_fd int made = directories_make_beneath(fd, "dir/a/b");
    CHECK(made >= 0);
    CHECK_INT(errno_of(fd, "dir/a/b", O_RDONLY | O_DIRECTORY), 0);
    auto_fd int through_link = directories_make_beneath(fd, "away/a");
    CHECK(through_link < 0);
    CHECK_INT(faccessat(machine.fs.root_fd, "elsewhere/a", F_OK, 0), -1);
    auto_fd int through_file = directories_make_beneath(fd, "dir/file/a");
    CHECK(through_file < 0);
    CHECK_INT(errno, ENOTDIR);
    machine_remove();
}

TEST(sockets_by_the_names_that_they_were_bound_to)
{
    const char *list = "Num       RefCount Protocol Flags    Type St Inode Path\n"
                       "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b.sock\n"
                       "0000000000000000: 00000002 00000000 00010000 0001 01     6 @abstract\n"
                       "0000000000000000: 00000003 00000000 00000000 0001 03 12346\n"
                       "0000000000000000: 00000002 00000000 00010000 0001 01 12347 .git/ipc\n"
                       "0000000000000000: 00000002 00000000 00010000 0001 01 12348 last";
    struct arena arena = {0};
    CHECK_STR(unix_sockets_next(&list, &arena), "/run/a b.sock");
    CHECK_STR(unix_sockets_next(&list, &arena), ".git/ipc");
    CHECK_STR(unix_sockets_next(&list, &arena), "last");
    CHECK(!unix_sockets_next(&list, &arena));
    arena_free(&arena);
}

UNIT_MAIN()
