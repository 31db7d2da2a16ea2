/* Opening files of a tree that others can write: no link is followed, and nothing above the top is reached. */
#include "kernel/beneath.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/directories.h"
#include "kernel/unix_sockets.h"
#include "machine.h"
#include "unit.h"

/* While it is set, the kernel does not answer about sockets, as one that was built without. */
static bool has_no_netlink;

/* In the place of the C library's, for all of this program. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): there they begin with underscores */
int socket(int family, int type, int protocol)
{
    if (family == AF_NETLINK && has_no_netlink) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, family, type, protocol);
}

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

/* From now on this process has no openat2, as in a sandbox that root started. */
static bool lose_openat2(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The number of the first that is opened otherwise, from 1; 0: none. */
static int first_wrong(int fd)
{
    static const struct {
        const char *path;
        int flags, errnum;
    } wanted[] = {
        {"dir/file", O_RDONLY, 0},           {"dir//file", O_RDONLY, 0},
        {"", O_RDONLY | O_DIRECTORY, 0},     {".", O_RDONLY | O_DIRECTORY, 0},
        {"dir/", O_RDONLY | O_DIRECTORY, 0}, {"missing/file", O_RDONLY, ENOENT},
        {"link", O_RDONLY, ELOOP},           {"dir-link/file", O_RDONLY, ENOTDIR},
        {"absolute", O_RDONLY, ELOOP},       {"out", O_WRONLY | O_CREAT, ELOOP},
        {"../secret", O_RDONLY, EXDEV},      {"dir/../../secret", O_RDONLY, EXDEV},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (errno_of(fd, wanted[i].path, wanted[i].flags) != wanted[i].errnum)
            return (int)i + 1;
    }
    return 0;
}

TEST(without_openat2_no_link_is_followed_either)
{
    make_tree();
    auto_fd int fd = top();
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(lose_openat2() ? first_wrong(fd) : 100);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(WEXITSTATUS(status), 0);
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
    struct arena arena = {0};
    const char *list = unix_sockets_of_text(
        &arena, "Num       RefCount Protocol Flags    Type St Inode Path\n"
                "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b.sock\n"
                "0000000000000000: 00000002 00000000 00010000 0001 01     6 @abstract\n"
                "0000000000000000: 00000003 00000000 00000000 0001 03 12346\n"
                "0000000000000000: 00000002 00000000 00010000 0001 01 12347 .git/ipc\n"
                "0000000000000000: 00000002 00000000 00010000 0001 01 12348 last");
    CHECK_STR(unix_sockets_next(&list), "/run/a b.sock");
    CHECK_STR(unix_sockets_next(&list), ".git/ipc");
    CHECK_STR(unix_sockets_next(&list), "last");
    CHECK(!unix_sockets_next(&list));
    CHECK(!unix_sockets_next(&list));
    list = unix_sockets_of_text(&arena, "");
    CHECK(!unix_sockets_next(&list));
    arena_free(&arena);
}

static int bound(int type, const char *name)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", machine.path, name);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        abort();
    return fd;
}

static int connected(int type, const char *name)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", machine.path, name);
    return fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1 : fd;
}

static bool is_listed(const char *list, const char *name)
{
    size_t folder = strlen(machine.path);
    for (const char *listed; (listed = unix_sockets_next(&list));) {
        if (strncmp(listed, machine.path, folder) == 0 && strcmp(listed + folder + 1, name) == 0)
            return true;
    }
    return false;
}

/* Whatever somebody could connect or send to is there, in whichever way the kernel is asked. */
TEST(the_kernel_lists_every_socket_that_can_be_reached)
{
    static const char *const names[] = {"listens", "idle", "log", "packets"};
    machine_make();
    int servers[] = {bound(SOCK_STREAM, "listens"), bound(SOCK_STREAM, "idle"), bound(SOCK_DGRAM, "log"),
                     bound(SOCK_SEQPACKET, "packets"), bound(SOCK_STREAM, "two\nlines")};
    CHECK_INT(listen(servers[0], 1), 0);
    CHECK_INT(listen(servers[3], 1), 0);
    /* By its sender the kernel takes a log for connected, and yet everybody may send. */
    auto_fd int sender = connected(SOCK_DGRAM, "log"), another = connected(SOCK_DGRAM, "log");
    CHECK(sender >= 0 && another >= 0 && send(another, "x", 1, 0) == 1);
    VEC(int) many = {0}; /* so many that they do not come at once */
    for (int i = 0; i < 400; i++)
        vec_push(&many, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    for (int way = 0; way < 2; way++) {
        has_no_netlink = way == 1;
        const char *list = "";
        struct err err;
        CHECK_INT(unix_sockets_read(&machine.arena, &list, &err), 0);
        for (size_t i = 0; i < array_len(names); i++) {
            if (!CHECK(is_listed(list, names[i])))
                printf("# %s\n", names[i]);
        }
        CHECK(!is_listed(list, "nobody"));
        CHECK(is_listed(list, "two\nlines") || has_no_netlink); /* in a text the line ends the name */
    }
    has_no_netlink = false;
    for (size_t i = 0; i < array_len(servers); i++)
        close(servers[i]);
    for (size_t i = 0; i < many.count; i++)
        close(many.at[i]);
    vec_free(&many);
    machine_remove();
}

static uint64_t digest_of(const char *trees)
{
    struct socket_digest digest = {0};
    CHECK(unix_sockets_digest(trees, &digest));
    return digest.in_trees;
}

/* A list of one tree: the machine's own, or a folder beside it with a longer name. */
static const char *one_tree(const char *ending)
{
    const char *text = arena_printf(&machine.arena, "%s%s", machine.path, ending);
    return arena_copy(&machine.arena, text, strlen(text) + 1); /* two NULs at its end */
}

TEST(the_digest_changes_with_the_sockets_of_a_tree_and_not_with_connections)
{
    machine_make();
    const char *here = one_tree(""), *beside = one_tree("-more"), *none = "";
    uint64_t empty = digest_of(here);
    CHECK(empty == digest_of(none));
    int first = bound(SOCK_STREAM, "listens");
    CHECK_INT(listen(first, 1), 0);
    uint64_t opened = digest_of(here);
    CHECK(opened != empty);
    CHECK(digest_of(beside) == empty && digest_of(none) == empty);
    auto_fd int client = connected(SOCK_STREAM, "listens");
    /* cppcheck-suppress nullPointer; it need not tell the address */
    auto_fd int served = accept4(first, NULL, NULL, SOCK_CLOEXEC);
    CHECK(client >= 0 && served >= 0 && digest_of(here) == opened);
    close(first);
    CHECK(digest_of(here) == empty);
    CHECK_INT(unlinkat(machine.fs.root_fd, "listens", 0), 0);
    int again = bound(SOCK_DGRAM, "listens");
    CHECK(digest_of(here) != empty && digest_of(here) != opened);
    close(again);
    struct socket_digest unknown;
    has_no_netlink = true;
    CHECK(!unix_sockets_digest(here, &unknown));
    has_no_netlink = false;
    machine_remove();
}

UNIT_MAIN()
