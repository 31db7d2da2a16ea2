#include "kernel/rest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fd.h"

enum { LARGEST_PAGE = 64 * 1024 };

/* Is the folder in memory, or on another machine, which may be gone when the memory is needed? */
static bool is_unfit(int folder_fd)
{
    static const unsigned long unfit[] = {TMPFS_MAGIC,      RAMFS_MAGIC,      NFS_SUPER_MAGIC,
                                          FUSE_SUPER_MAGIC, SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC,
                                          V9FS_MAGIC,       AFS_FS_MAGIC};
    struct statfs system;
    if (fstatfs(folder_fd, &system) < 0)
        return true;
    for (size_t i = 0; i < array_len(unfit); i++) {
        if ((unsigned long)system.f_type == unfit[i])
            return true;
    }
    return false;
}

/* The kernel sends a signal to a process that exceeds the user's limit on file size. */
static bool may_write(int folder_fd, size_t size)
{
    struct rlimit limit;
    return !is_unfit(folder_fd) && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur > size;
}

static bool is_all_zero(const char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static bool is_kept(const struct rest *rest, size_t page)
{
    return rest->is_kept[page / 8] >> page % 8 & 1;
}

/* Writes everything before anything is changed: after a failure, memory is as it was. */
static bool write_pages(struct rest *rest)
{
    not_zeroed char enciphered[LARGEST_PAGE];
    struct blake2b hash;
    blake2b_begin(&hash);
    for (size_t page = 0; page < rest->pages; page++) {
        const char *bytes = rest->memory + page * rest->page;
        if (is_all_zero(bytes, rest->page))
            continue;
        rest->is_kept[page / 8] |= (unsigned char)(1U << page % 8);
        chacha20(rest->key, page, bytes, rest->page, enciphered);
        blake2b_add(&hash, enciphered, rest->page);
        if (write(rest->fd, enciphered, rest->page) != (ssize_t)rest->page)
            return false;
    }
    blake2b_end(&hash, rest->digest);
    return true;
}

bool rest_begin(struct rest *rest, int folder_fd, char *from, const char *to)
{
    *rest = (struct rest){.fd = -1, .page = (size_t)sysconf(_SC_PAGESIZE)};
    size_t beyond = (uintptr_t)from % rest->page;
    rest->memory = from + (beyond ? rest->page - beyond : 0);
    rest->pages = to > rest->memory ? (size_t)(to - rest->memory) / rest->page : 0;
    size_t size = rest->pages * rest->page;
    if (!rest->pages || rest->pages > REST_MOST_PAGES || rest->page > LARGEST_PAGE ||
        !may_write(folder_fd, size))
        return false;
    auto_fd int fd = openat(folder_fd, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || getrandom(rest->key, sizeof(rest->key), 0) != sizeof(rest->key))
        return false;
    rest->fd = fd;
    if (!write_pages(rest) || madvise(rest->memory, size, MADV_DONTNEED) < 0)
        return false;
    fd_take(&fd);
    return true;
}

static _Noreturn void end_without_memory(void)
{
    fputs("bawn: memory that bawn kept on the disk did not come back unchanged\n", stderr);
    _Exit(125);
}

static ssize_t read_page(const struct rest *rest, char *ret_bytes)
{
    ssize_t got;
    do {
        got = read(rest->fd, ret_bytes, rest->page);
    } while (got < 0 && errno == EINTR);
    return got;
}

void rest_end(struct rest *rest)
{
    not_zeroed char enciphered[LARGEST_PAGE];
    struct blake2b hash;
    unsigned char digest[BLAKE2B_SIZE];
    blake2b_begin(&hash);
    bool is_read = lseek(rest->fd, 0, SEEK_SET) == 0;
    for (size_t page = 0; is_read && page < rest->pages; page++) {
        if (!is_kept(rest, page))
            continue;
        is_read = read_page(rest, enciphered) == (ssize_t)rest->page;
        blake2b_add(&hash, enciphered, rest->page);
        chacha20(rest->key, page, enciphered, rest->page, rest->memory + page * rest->page);
    }
    blake2b_end(&hash, digest);
    if (!is_read || memcmp(digest, rest->digest, sizeof(digest)) != 0)
        end_without_memory();
    explicit_bzero(rest->key, sizeof(rest->key));
    close(rest->fd);
}

void rest_let_stack_go(void)
{
    enum { DEEPEST = 1024 * 1024, SPARED = 512 }; /* for the frames of functions called here */
    char *end = __builtin_frame_address(0);
    end -= SPARED;
    end -= (uintptr_t)end % (size_t)sysconf(_SC_PAGESIZE);
    /* If the stack is not that deep, the kernel fails after releasing what exists. */
    (void)madvise(end - DEEPEST, DEEPEST, MADV_DONTNEED);
}
