/* Memory that is laid aside comes back byte for byte, or stays where it is; and on the disk nobody can read it. */
#include "kernel/rest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fd.h"
#include "unit.h"

/* After so many bytes the disk is full. */
static size_t bytes_left = SIZE_MAX;

/* In the place of the C library's, for all of this program. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): there they begin with underscores */
ssize_t write(int fd, const void *bytes, size_t size)
{
    size_t part = size < bytes_left ? size : bytes_left;
    if (size && !part) {
        errno = ENOSPC;
        return -1;
    }
    bytes_left -= bytes_left == SIZE_MAX ? 0 : part;
    return (ssize_t)syscall(SYS_write, fd, bytes, part);
}

enum { PAGES = 40 };

static const char secret[] = "token=0123456789abcdef";

static struct {
    size_t page, size;
    char *memory, *copy;
    int folder_fd;
} place;

/* Pages of every kind: text, nothing but zeros, never touched, and zeros but for one byte. */
static void place_make(void)
{
    place.page = (size_t)sysconf(_SC_PAGESIZE);
    place.size = PAGES * place.page;
    place.memory = mmap(NULL, place.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    place.copy = malloc(place.size);
    if (place.memory == MAP_FAILED || !place.copy)
        abort();
    for (size_t page = 0; page < PAGES; page++) {
        char *at = place.memory + page * place.page;
        if (page % 4 == 0)
            snprintf(at + 100, place.page - 100, "%s of page %zu", secret, page);
        else if (page % 4 == 1)
            memset(at, 0, place.page);
        else if (page % 4 == 2)
            at[place.page - 1] = 1;
    }
    memcpy(place.copy, place.memory, place.size);
    place.folder_fd = open("/var/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void place_remove(void)
{
    munmap(place.memory, place.size);
    free(place.copy);
    close(place.folder_fd);
    bytes_left = SIZE_MAX;
}

static bool is_as_it_was(void)
{
    return memcmp(place.memory, place.copy, place.size) == 0;
}

static bool begins(struct rest *ret_rest)
{
    return rest_begin(ret_rest, place.folder_fd, place.memory, place.memory + place.size);
}

/* Where /var/tmp is itself memory, or its file system makes no files without a name. */
#define REQUIRE_DISK(rest)                                                                                   \
    do {                                                                                                     \
        if (!begins(rest)) {                                                                                 \
            place_remove();                                                                                  \
            SKIP("needs a disk below /var/tmp");                                                             \
        }                                                                                                    \
    } while (0)

TEST(what_is_laid_aside_is_no_longer_memory_and_comes_back)
{
    place_make();
    struct rest rest;
    REQUIRE_DISK(&rest);
    unsigned char is_there[PAGES];
    CHECK_INT(mincore(place.memory, place.size, is_there), 0);
    for (size_t page = 0; page < PAGES; page++)
        CHECK_INT(is_there[page] & 1, 0);
    rest_end(&rest);
    CHECK(is_as_it_was());
    CHECK(begins(&rest)); /* and once more */
    rest_end(&rest);
    CHECK(is_as_it_was());
    place_remove();
}

TEST(parts_of_pages_are_left_alone)
{
    place_make();
    struct rest rest;
    REQUIRE_DISK(&rest);
    rest_end(&rest);
    CHECK(rest_begin(&rest, place.folder_fd, place.memory + 1, place.memory + place.size - 1));
    CHECK(rest.memory == place.memory + place.page);
    CHECK_INT(rest.pages, PAGES - 2);
    CHECK_INT(memcmp(place.memory, place.copy, place.page), 0);
    rest_end(&rest);
    CHECK(is_as_it_was());
    CHECK(!rest_begin(&rest, place.folder_fd, place.memory + 1, place.memory + place.page));
    CHECK(!rest_begin(&rest, place.folder_fd, place.memory + place.page, place.memory));
    CHECK(is_as_it_was());
    place_remove();
}

TEST(on_the_disk_nobody_can_read_it)
{
    place_make();
    struct rest rest;
    REQUIRE_DISK(&rest);
    off_t size = lseek(rest.fd, 0, SEEK_END);
    CHECK(size > 0 && (size_t)size < place.size); /* zeros are not written */
    auto_free char *bytes = malloc((size_t)size);
    CHECK_INT(pread(rest.fd, bytes, (size_t)size, 0), size);
    CHECK(!memmem(bytes, (size_t)size, secret, sizeof(secret) - 1));
    CHECK(memmem(place.copy, place.size, secret, sizeof(secret) - 1));
    rest_end(&rest);
    place_remove();
}

TEST(where_it_cannot_be_laid_aside_memory_is_as_it_was)
{
    place_make();
    struct rest rest;
    REQUIRE_DISK(&rest);
    rest_end(&rest);
    int disk_fd = place.folder_fd;
    place.folder_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(!begins(&rest));
    close(place.folder_fd);
    place.folder_fd = -1;
    CHECK(!begins(&rest));
    place.folder_fd = disk_fd;
    for (size_t pages = 0; pages < 4; pages++) { /* of the ten and ten that are not all zeros */
        bytes_left = pages * place.page + 10;
        CHECK(!begins(&rest));
        CHECK(is_as_it_was());
    }
    place_remove();
}

TEST(a_folder_that_is_itself_memory_gains_nothing)
{
    place_make();
    struct rest rest;
    int disk_fd = place.folder_fd;
    place.folder_fd = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place.folder_fd < 0)
        SKIP("needs /dev/shm");
    CHECK(!begins(&rest));
    CHECK(is_as_it_was());
    close(place.folder_fd);
    place.folder_fd = disk_fd;
    place_remove();
}

TEST(too_much_memory_stays)
{
    place_make();
    struct rest rest;
    size_t much = (REST_MOST_PAGES + 1) * place.page;
    char *memory = mmap(NULL, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    memory[0] = 'x';
    CHECK(!rest_begin(&rest, place.folder_fd, memory, memory + much));
    CHECK_INT(memory[0], 'x');
    munmap(memory, much);
    place_remove();
}

/* How a child ends that does this with the disk's file while it rests. */
static int status_after(void (*change)(int fd))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rest rest;
        if (!freopen("/dev/null", "w", stderr) || !begins(&rest))
            _exit(1);
        change(rest.fd);
        rest_end(&rest);
        _exit(is_as_it_was() ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void change_nothing(int fd)
{
    (void)fd;
}

static void change_a_byte(int fd)
{
    char byte;
    if (pread(fd, &byte, 1, 5000) != 1 || (byte ^= 1, pwrite(fd, &byte, 1, 5000)) != 1)
        _exit(3);
}

static void cut_it_off(int fd)
{
    if (ftruncate(fd, 5000) < 0)
        _exit(3);
}

TEST(who_does_not_get_its_memory_back_ends)
{
    place_make();
    struct rest rest;
    REQUIRE_DISK(&rest);
    rest_end(&rest);
    CHECK_INT(status_after(change_nothing), 0);
    CHECK_INT(status_after(change_a_byte), 125);
    CHECK_INT(status_after(cut_it_off), 125);
    place_remove();
}

/* A limit on files would otherwise be a signal that ends bawn. */
TEST(a_limit_on_the_size_of_files_ends_nobody)
{
    place_make();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rest rest;
        struct rlimit limit = {.rlim_cur = place.page, .rlim_max = place.page};
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
            _exit(1);
        bool is_changed = begins(&rest) || !is_as_it_was();
        _exit(is_changed ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    place_remove();
}

enum { DEEP = 256 * 1024 };

__attribute__((noinline)) static void use_stack(void)
{
    not_zeroed char deep[DEEP];
    memset(deep, 'x', sizeof(deep));
    __asm__ volatile("" : : "r"(deep) : "memory");
}

TEST(the_stack_below_is_let_go_and_what_is_in_use_is_not)
{
    place_make();
    char own[64];
    memset(own, 'y', sizeof(own));
    unsigned char is_there = 0;
    char *deep = __builtin_frame_address(0);
    deep -= DEEP / 2 + (uintptr_t)deep % place.page;
    use_stack();
    CHECK_INT(mincore(deep, place.page, &is_there), 0);
    CHECK_INT(is_there & 1, 1);
    rest_let_stack_go();
    CHECK_INT(mincore(deep, place.page, &is_there), 0);
    CHECK_INT(is_there & 1, 0);
    for (size_t i = 0; i < sizeof(own); i++)
        CHECK_INT(own[i], 'y');
    place_remove();
}

UNIT_MAIN()
