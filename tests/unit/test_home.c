#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "git/config.h"
#include "home/files.h"
#include "home/memory.h"
#include "home/version.h"
#include "kernel/directories.h"
#include "unit.h"

static struct {
    char path[64];
    int fd;
    struct arena arena;
} folder;

static void make_folder(void)
{
    snprintf(folder.path, sizeof(folder.path), "/tmp/bawn-home-XXXXXX");
    CHECK(mkdtemp(folder.path) != NULL);
    folder.fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_folder(void)
{
    struct err err = {0};
    CHECK_INT(remove_tree(AT_FDCWD, folder.path, &err), 0);
    CHECK(access(folder.path, F_OK) < 0);
    close(folder.fd);
    arena_free(&folder.arena);
}

static void put(const char *name, const char *text)
{
    auto_fd int fd = openat(folder.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK_INT(write(fd, text, strlen(text)), strlen(text));
}

static const char *get(const char *name)
{
    char *text = arena_alloc(&folder.arena, 256);
    auto_fd int fd = openat(folder.fd, name, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, 255) >= 0 ? text : NULL;
}

/* What is in the folder: how many names. */
static int names(void)
{
    const char *command = arena_printf(&folder.arena, "exit $(ls -A '%s' | wc -l)", folder.path);
    int status = system(command); // NOLINT(cert-env33-c): a path of this test's own
    return WEXITSTATUS(status);
}

static struct version version_of(const char *name)
{
    struct version version;
    version_read(folder.fd, name, &version);
    return version;
}

/* Replaces "file" by the content of "wanted" if it still is what `expected` says. */
static int replace(const struct version *expected)
{
    struct err err = {0};
    auto_version struct version wanted = version_of("wanted");
    int result = version_replace(folder.fd, "file", &wanted, expected, &err);
    CHECK_STR(err.message, "");
    return result;
}

TEST(a_version_replaces_what_was_expected)
{
    make_folder();
    put("file", "old");
    put("wanted", "new");
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 3}};
    utimensat(folder.fd, "wanted", times, 0);
    auto_version struct version expected = version_of("file");
    CHECK_INT(replace(&expected), 1);
    CHECK_STR(get("file"), "new");
    struct stat status;
    CHECK_INT(fstatat(folder.fd, "file", &status, 0), 0);
    CHECK_INT(status.st_mode & 07777, 0600);
    CHECK_INT(status.st_mtim.tv_sec, 2000);
    CHECK_INT(status.st_mtim.tv_nsec, 3);
    CHECK_INT(names(), 2);
    remove_folder();
}

TEST(a_version_gives_way_to_whoever_was_faster)
{
    make_folder();
    put("file", "old");
    put("wanted", "new");
    auto_version struct version expected = version_of("file");
    put("file", "theirs");
    CHECK_INT(replace(&expected), 0);
    CHECK_STR(get("file"), "theirs");
    struct version none = {.state = VERSION_NONE};
    CHECK_INT(replace(&none), 0);
    CHECK_STR(get("file"), "theirs");
    unlinkat(folder.fd, "file", 0);
    CHECK_INT(replace(&expected), 0); /* removed meanwhile */
    CHECK(get("file") == NULL);
    CHECK_INT(replace(&none), 1);
    CHECK_STR(get("file"), "new");
    CHECK_INT(names(), 2);
    remove_folder();
}

TEST(a_version_gives_way_to_a_directory_and_a_link)
{
    make_folder();
    put("file", "old");
    put("wanted", "new");
    put("victim", "victim");
    auto_version struct version expected = version_of("file");
    unlinkat(folder.fd, "file", 0);
    CHECK_INT(mkdirat(folder.fd, "file", 0700), 0);
    CHECK_INT(replace(&expected), 0);
    CHECK_INT(unlinkat(folder.fd, "file", AT_REMOVEDIR), 0);
    CHECK_INT(symlinkat("victim", folder.fd, "file"), 0);
    CHECK_INT(version_of("file").state, VERSION_UNFIT);
    CHECK_INT(replace(&expected), 0);
    CHECK_STR(get("victim"), "victim");
    CHECK_INT(names(), 3);
    remove_folder();
}

TEST(a_version_does_not_take_the_file_from_under_a_writer)
{
    make_folder();
    put("file", "old");
    put("wanted", "new");
    auto_version struct version expected = version_of("file");
    auto_fd int writer = openat(folder.fd, "file", O_WRONLY | O_CLOEXEC);
    struct version while_open = version_of("file");
    if (while_open.state == VERSION_WHOLE) {
        version_free(&while_open);
        remove_folder();
        SKIP("needs a file system with leases");
    }
    CHECK_STR(while_open.why, "it is being written");
    CHECK_INT(replace(&expected), 0);
    CHECK_INT(write(writer, "whole", 5), 5);
    close(fd_take(&writer));
    CHECK_STR(get("file"), "whole");
    CHECK_INT(names(), 2);
    remove_folder();
}

TEST(a_version_is_removed_only_if_expected)
{
    make_folder();
    put("file", "old");
    struct err err = {0};
    struct version none = {.state = VERSION_NONE};
    auto_version struct version expected = version_of("file");
    put("file", "theirs");
    CHECK_INT(version_replace(folder.fd, "file", &none, &expected, &err), 0);
    CHECK_STR(get("file"), "theirs");
    put("file", "old");
    CHECK_INT(version_replace(folder.fd, "file", &none, &expected, &err), 1);
    CHECK_INT(names(), 0);
    CHECK_INT(version_replace(folder.fd, "file", &none, &expected, &err), 0);
    CHECK_INT(names(), 0);
    remove_folder();
}

TEST(only_whole_regular_files_are_versions)
{
    make_folder();
    put("empty", "");
    put("large", "x");
    CHECK_INT(truncate(arena_printf(&folder.arena, "%s/large", folder.path), VERSION_LARGEST + 1), 0);
    CHECK_INT(mkfifoat(folder.fd, "fifo", 0600), 0);
    CHECK_STR(version_of("empty").why, "it is empty");
    CHECK_STR(version_of("large").why, "it is larger than 1 MiB");
    CHECK_STR(version_of("fifo").why, "it is not a regular file");
    CHECK_STR(version_of("../").why, "it is not a regular file");
    CHECK_INT(version_of("missing").state, VERSION_NONE);
    remove_folder();
}

TEST(a_tree_is_removed_however_deep_and_closed)
{
    make_folder();
    CHECK_INT(mkdirat(folder.fd, "tree", 0700), 0);
    CHECK_INT(mkdirat(folder.fd, "tree/deep-1", 0700), 0);
    CHECK_INT(symlinkat("/", folder.fd, "tree/deep-2"), 0);
    auto_fd int at = openat(folder.fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 300; i++) {
        CHECK_INT(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK_INT(fchmodat(at, "d", i % 3 ? 0700 : 0, 0), 0);
        close(at);
        at = next;
    }
    struct err err = {0};
    CHECK_INT(remove_tree(folder.fd, "tree", &err), 0);
    CHECK_STR(err.message, "");
    CHECK_INT(names(), 0);
    remove_folder();
}

TEST(temporary_files_of_a_killed_bawn_are_swept_and_no_others)
{
    make_folder();
    put(".bawn-0123456789abcdef", "");
    put(".bawn-0123456789abcde", "");
    put(".bawn-0123456789abcdeg", "");
    files_sweep(folder.fd);
    CHECK_INT(names(), 2);
    remove_folder();
}

/* How many entries a memory has; -1: none were believed. */
static int remembered(const char *text, size_t size)
{
    struct memory memory;
    memory_parse(&memory, &folder.arena, text, size);
    int count = memory.text ? (int)memory.entries.count : -1;
    memory_free(&memory);
    return count;
}
#define REMEMBERED(text) remembered(text, sizeof(text) - 1)

TEST(a_memory_that_is_not_bawns_is_not_believed)
{
    CHECK_INT(REMEMBERED(""), 0);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 /a\0"
                         "1.2.3.4.5.6 /a/b c\0"),
              2);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6.7 /a\0"), 1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6.7.8 /a\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6. /a\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 /a"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5 /a\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.x /a\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 a\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 /\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 /a/../b\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 /a//b\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 /..\0"), -1);
    CHECK_INT(REMEMBERED("1.2.3.4.5.6 /a\0"
                         "1.2.3.4.5.6 /a\0"),
              -1);
    arena_free(&folder.arena);
}

static void add_setting(void *context, const struct git_setting *setting)
{
    buf_printf(context, "%s|%s|%s|%s;", setting->section, setting->subsection, setting->name,
               setting->value ? setting->value : "(true)");
}

/* All settings in one line; "!" at the end where something was refused. */
static const char *settings(const char *text)
{
    auto_buf struct buf out = {0};
    if (git_config_read(&folder.arena, text, strlen(text), add_setting, &out) < 0)
        buf_add_char(&out, '!');
    return arena_str(&folder.arena, buf_text(&out));
}

TEST(git_configuration_is_read_as_git_does)
{
    CHECK_STR(settings("[user]\n\tname = Ada L\n\tEmail=a@b # c\n"), "user||name|Ada L;user||email|a@b;");
    CHECK_STR(settings("\xef\xbb\xbf[A \"B\\\"c\"] d = \"x # ; y \" z ; w\r\n"), "a|B\"c|d|x # ; y  z;");
    CHECK_STR(settings("[a.B]x\n[a]y=\n"), "a|b|x|(true);a||y|;");
    CHECK_STR(settings("[a]\nx = one \\\n two\\n\\t\\\"\n# c\n; c\n"), "a||x|one  two\n\t\";");
    CHECK_STR(settings("[a] x = 1\n[a]\n"), "a||x|1;");
}

TEST(git_configuration_that_git_refuses_is_refused)
{
    static const char *const wrong[] = {"x = 1",        "[",        "[]x=1",  "[a",       "[a \"b]x=1",
                                        "[a]x = \"1\n", "[a]x=\\q", "[a]1=2", "[a]x y\n", "[a \"b\nc\"]",
                                        "[a]x=1\\",     "[a_b]x=1", "[a]\n=1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const char *found = settings(wrong[i]);
        if (!CHECK(*found && found[strlen(found) - 1] == '!'))
            printf("# %s\n", wrong[i]);
    }
    arena_free(&folder.arena);
}

UNIT_MAIN()
