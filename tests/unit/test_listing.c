/* When a directory's listing may answer for the kernel, and when it may not. */
#include "kernel/directories.h"

#include <ctype.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "machine.h"
#include "unit.h"

/* While it is set, names are looked up as a file system does that takes "A" for "a". */
static bool ignores_case;

/* In the place of the C library's, for all of this program. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): there they begin with underscores */
int fstatat(int directory_fd, const char *restrict path, struct stat *restrict status, int flags)
{
    char lower[256];
    snprintf(lower, sizeof(lower), "%s", path);
    for (char *at = lower; ignores_case && *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return (int)syscall(SYS_newfstatat, directory_fd, lower, status, flags);
}

static bool reads(const char *path, struct listing *ret_listing)
{
    auto_fd int fd = openat(machine.fs.root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && listing_read(fd, &machine.arena, ret_listing);
}

TEST(a_listing_tells_kinds_and_what_is_missing)
{
    machine_make();
    machine_put("/d/file", "x");
    machine_put("/d/sub/x", "x");
    machine_link("/d/link", "nowhere");
    struct listing listing = {0};
    CHECK(reads("d", &listing));
    CHECK_INT(listing_type(&listing, "file"), DT_REG);
    CHECK_INT(listing_type(&listing, "sub"), DT_DIR);
    CHECK_INT(listing_type(&listing, "link"), DT_LNK);
    CHECK_INT(listing_type(&listing, "FILE"), -1);
    CHECK_INT(listing_type(&listing, ".."), -1);
    listing_free(&listing);
    machine_remove();
}

TEST(where_case_is_ignored_only_the_kernel_knows)
{
    machine_make();
    machine_put("/d/file", "x");
    machine_put("/digits/123", "x");
    machine_put("/both/file", "x");
    machine_put("/both/FILE", "x");
    struct listing listing = {0};
    ignores_case = true;
    CHECK(!reads("d", &listing));      /* "FILE" would be found */
    CHECK(!reads("digits", &listing)); /* nothing there to ask with */
    ignores_case = false;
    CHECK(reads("d", &listing));
    listing_free(&listing);
    CHECK(!reads("both", &listing)); /* both cases are there: neither tells */
    machine_remove();
}

/* Runs as nobody where the caller is root, whom no permission stops. */
static int as_ordinary_user(int (*act)(void))
{
    enum { NOBODY = 65534 };
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(getuid() == 0 &&
                      (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
                  ? 99
                  : act());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Three bits: can the directory be listed, does a name in it answer, may the listing speak for it? */
static int look(void)
{
    struct listing listing = {0};
    struct stat status;
    auto_fd int fd = openat(machine.fs.root_fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool answers = fstatat(machine.fs.root_fd, "d/file", &status, AT_SYMLINK_NOFOLLOW) == 0;
    return (fd >= 0) * 4 + answers * 2 + reads("d", &listing);
}

/* And the whole view: after many questions it still says what the kernel would. */
static int ask_often(void)
{
    int found = 0;
    for (int i = 0; i < 8; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/d/name-%d", i);
        (void)fs_kind(&machine.fs, path);
    }
    found = (int)fs_kind(&machine.fs, "/d/file");
    return found;
}

TEST(to_list_and_to_search_are_two_permissions)
{
    machine_make();
    machine_put("/d/file", "x");
    char path[64];
    snprintf(path, sizeof(path), "%s/d", machine.path);
    CHECK_INT(chmod(machine.path, 0755), 0);
    CHECK_INT(chmod(path, 0755), 0);
    CHECK_INT(as_ordinary_user(look), 4 + 2 + 1);
    CHECK_INT(as_ordinary_user(ask_often), FILE_REGULAR);
    CHECK_INT(chmod(path, 0444), 0); /* names can be read, and lead nowhere */
    CHECK_INT(as_ordinary_user(look), 4 + 0 + 0);
    CHECK_INT(as_ordinary_user(ask_often), FILE_UNKNOWN);
    CHECK_INT(chmod(path, 0111), 0); /* names lead on, and cannot be read */
    CHECK_INT(as_ordinary_user(look), 0 + 2 + 0);
    CHECK_INT(as_ordinary_user(ask_often), FILE_REGULAR);
    CHECK_INT(chmod(path, 0755), 0);
    machine_remove();
}

UNIT_MAIN()
