#include "git/refs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "kernel/beneath.h"

enum { PACKED_LARGEST = 4 * 1024 * 1024, DEEPEST = 8, MOST_FILES = 4000 };

static int digit_value(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

int git_hash_parse(const char *text, struct git_hash *ret_hash)
{
    for (size_t i = 0; i < SHA1_SIZE; i++) {
        int high = digit_value(text[2 * i]), low = high < 0 ? -1 : digit_value(text[2 * i + 1]);
        if (low < 0)
            return false;
        ret_hash->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

void git_hash_format(const struct git_hash *hash, char ret_text[SHA1_DIGITS + 1])
{
    text_hex(hash->bytes, SHA1_SIZE, ret_text);
}

void git_hash_of(const char *kind, struct bytes content, struct git_hash *ret_hash)
{
    char head[64];
    int head_size = snprintf(head, sizeof(head), "%s %zu", kind, content.size) + 1; /* with its NUL */
    sha1_of(head, (size_t)head_size, content.at, content.size, ret_hash->bytes);
}

struct search {
    struct timespec before;
    size_t most, files;
    git_hashes *hashes;
};

static void add_hash(struct search *search, const char *text)
{
    struct git_hash hash;
    if (!git_hash_parse(text, &hash))
        return;
    for (size_t i = 0; i < search->hashes->count; i++) {
        if (memcmp(&search->hashes->at[i], &hash, sizeof(hash)) == 0)
            return;
    }
    if (search->hashes->count < search->most)
        vec_push(search->hashes, hash);
}

/* Reads a file that has not been changed since, into a text of at most `size` - 1 bytes. Returns how many. */
static size_t read_old(const struct search *search, int directory_fd, const char *name, char *text,
                       size_t size)
{
    struct stat status;
    auto_fd int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    bool is_old = got > 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                  timespec_order(status.st_ctim, search->before) < 0;
    text[is_old ? got : 0] = '\0';
    return is_old ? (size_t)got : 0;
}

static void read_loose(struct search *search, int parent_fd, const char *name, unsigned depth)
{
    int fd = open_directory_at(parent_fd, name);
    auto_dir DIR *directory = fd < 0 || depth > DEEPEST ? NULL : fdopendir(fd);
    if (!directory && fd >= 0)
        close(fd);
    for (const struct dirent *entry;
         directory && search->files < MOST_FILES && (entry = readdir(directory));) {
        char text[SHA1_DIGITS + 2];
        if (*entry->d_name == '.')
            continue;
        search->files++;
        if (entry->d_type == DT_DIR)
            read_loose(search, fd, entry->d_name, depth + 1);
        else if (read_old(search, fd, entry->d_name, text, sizeof(text)) >= SHA1_DIGITS)
            add_hash(search, text);
    }
}

static void read_packed(struct search *search, int git_fd)
{
    auto_free char *text = must_realloc(NULL, PACKED_LARGEST, 1);
    read_old(search, git_fd, "packed-refs", text, PACKED_LARGEST);
    for (char *line = text, *end; *line; line = end + (*end != '\0')) {
        end = line + strcspn(line, "\n");
        bool is_peeled = *line == '^'; /* what the tag before it stands for */
        if (end - line - is_peeled >= SHA1_DIGITS)
            add_hash(search, line + is_peeled);
    }
}

void git_refs_before(const char *git_dir, struct timespec before, size_t most, git_hashes *ret_hashes)
{
    struct search search = {before, most, 0, ret_hashes};
    char text[SHA1_DIGITS + 2];
    auto_fd int git_fd = open_absolute(git_dir, O_RDONLY | O_DIRECTORY);
    if (git_fd < 0)
        return;
    static const char *const heads[] = {"HEAD", "ORIG_HEAD"};
    for (size_t i = 0; i < array_len(heads); i++) {
        if (read_old(&search, git_fd, heads[i], text, sizeof(text)) >= SHA1_DIGITS)
            add_hash(&search, text);
    }
    read_loose(&search, git_fd, "refs", 0);
    read_packed(&search, git_fd);
}
