#include "git/refs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

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

bool git_hash_of(const char *kind, struct bytes content, struct git_hash *ret_hash)
{
    char head[64];
    int head_size = snprintf(head, sizeof(head), "%s %zu", kind, content.size) + 1; /* with its NUL */
    return sha1_of_object(bytes_of(head, (size_t)head_size), content, ret_hash->bytes);
}

bool git_object_name(const char *kind, struct bytes content, size_t digits, char ret_name[SHA256_HEX_SIZE])
{
    if (digits == SHA1_DIGITS) {
        struct git_hash hash;
        bool is_sound = git_hash_of(kind, content, &hash);
        git_hash_format(&hash, ret_name);
        return is_sound;
    }
    auto_buf struct buf whole = {0};
    buf_printf(&whole, "%s %zu", kind, content.size);
    buf_add_char(&whole, '\0');
    buf_add(&whole, content.at, content.size);
    sha256_hex(whole.bytes, whole.size, ret_name);
    return true;
}

bool git_object_is(const char *kind, struct bytes content, const char *name, size_t digits)
{
    char found[SHA256_HEX_SIZE];
    return git_object_name(kind, content, digits, found) && strncmp(found, name, digits) == 0;
}

/* --- refs --------------------------------------------------------------------------------------------------------- */

enum { DEEPEST = 100, MOST_REFS = 100000, REF_LARGEST = 4096 };

struct search {
    const char *git_dir;
    struct timespec before;
    struct arena *arena;
    struct git_refs *refs;
    struct map names; /* those in the list */
};

static void leave_unread(const struct search *search, const char *name)
{
    if (!search->refs->unread)
        search->refs->unread = arena_printf(search->arena, "%s/%s", search->git_dir, name);
}

static void add_ref(struct search *search, const char *name, const struct git_position *at, bool is_packed)
{
    if (map_get(&search->names, name, strlen(name)))
        return;
    if (search->refs->list.count >= MOST_REFS) {
        leave_unread(search, name);
        return;
    }
    struct git_ref ref = {.name = arena_str(search->arena, name), .at = *at, .is_packed = is_packed};
    *map_at(&search->names, ref.name, strlen(ref.name)) = search;
    vec_push(&search->refs->list, ref);
}

/*
 * Reads a file that has not been changed since. Returns 1; 0 if it is missing or too new; -1 if it is not a file or cannot be
 * read.
 */
static int read_old(const struct search *search, int directory_fd, const char *name, size_t most,
                    struct buf *ret_text)
{
    struct stat status;
    auto_fd int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return -1;
    if (timespec_order(status.st_ctim, search->before) >= 0)
        return 0;
    return buf_read(ret_text, fd, most) < 0 ? -1 : 1;
}

static void read_file(struct search *search, int directory_fd, const char *file, const char *name)
{
    static const char symbolic[] = "ref:";
    auto_buf struct buf text = {0};
    int got = read_old(search, directory_fd, file, REF_LARGEST, &text);
    if (got < 0)
        leave_unread(search, name);
    if (got <= 0)
        return;
    struct bytes rest = bytes_of(buf_text(&text), strlen(buf_text(&text)));
    const char *target = rest.at + strlen(symbolic);
    struct git_position at;
    /* git ignores what follows the digits and a space. What is no position to git leads it nowhere. */
    if (git_position_take(&rest, &at) && (rest.size == 0 || strchr(" \t\n\r", *rest.at)))
        add_ref(search, name, &at, false);
    else if (text_starts_with(buf_text(&text), symbolic) &&
             !text_starts_with(target + strspn(target, " \t"), "refs/"))
        leave_unread(search, name); /* git would look for it outside refs/ */
}

static void read_loose(struct search *search, int parent_fd, const char *directory, unsigned depth)
{
    int fd = open_directory_at(parent_fd, path_name(directory)), trouble = 0;
    if (fd < 0 && errno == ENOENT && depth == 0)
        return; /* without `refs` git takes it for no repository */
    auto_dir DIR *list = depth > DEEPEST ? NULL : directories_take(fd);
    if (!list) {
        if (depth > DEEPEST && fd >= 0)
            close(fd);
        leave_unread(search, directory);
        return;
    }
    for (const struct dirent *entry;
         search->refs->list.count < MOST_REFS && (entry = directories_next(list, &trouble));) {
        if (*entry->d_name == '.')
            continue; /* git passes it over, too */
        const char *name = arena_printf(search->arena, "%s/%s", directory, entry->d_name);
        struct stat status;
        bool is_directory =
            entry->d_type == DT_DIR ||
            (entry->d_type == DT_UNKNOWN && fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
             S_ISDIR(status.st_mode));
        if (is_directory)
            read_loose(search, fd, name, depth + 1);
        else
            read_file(search, fd, entry->d_name, name);
    }
    if (trouble || search->refs->list.count >= MOST_REFS)
        leave_unread(search, directory);
}

/* The HEAD of each linked worktree. One without is none: git passes it over. */
static void read_worktrees(struct search *search, int git_fd)
{
    auto_fd int fd = open_beneath(git_fd, "worktrees", O_RDONLY | O_DIRECTORY, 0);
    auto_dir DIR *list = fd < 0 ? NULL : directories_list(fd);
    int trouble = fd < 0 && errno != ENOENT;
    for (const struct dirent *entry; list && (entry = directories_next(list, &trouble));) {
        auto_fd int worktree = open_directory_at(fd, entry->d_name);
        if (worktree >= 0)
            read_file(search, worktree, "HEAD",
                      arena_printf(search->arena, "worktrees/%s/HEAD", entry->d_name));
    }
    if (trouble)
        leave_unread(search, "worktrees");
}

static void read_packed(struct search *search, int git_fd)
{
    auto_buf struct buf text = {0};
    int got = read_old(search, git_fd, "packed-refs", GIT_PACKED_REFS_MOST, &text);
    if (got < 0)
        leave_unread(search, "packed-refs");
    struct bytes rest = got > 0 ? bytes_of(buf_text(&text), text.size) : (struct bytes){0};
    for (struct git_packed_line line; git_packed_next(&rest, &line);) {
        if (line.kind == GIT_PACKED_REF)
            add_ref(search, arena_copy(search->arena, line.name.at, line.name.size), &line.at, true);
        else if (line.kind == GIT_PACKED_JUNK)
            leave_unread(search, "packed-refs");
    }
}

void git_refs_read(const char *git_dir, struct timespec before, struct arena *arena, struct git_refs *refs)
{
    struct search search = {git_dir, before, arena, refs, {0}};
    struct stat status;
    auto_fd int git_fd = open_absolute(git_dir, O_RDONLY | O_DIRECTORY);
    if (git_fd < 0 || fstatat(git_fd, "reftable", &status, AT_SYMLINK_NOFOLLOW) == 0) {
        leave_unread(&search, git_fd < 0 ? "refs" : "reftable");
        return;
    }
    read_file(&search, git_fd, "HEAD", "HEAD");
    read_worktrees(&search, git_fd);
    read_loose(&search, git_fd, "refs", 0);
    read_packed(&search, git_fd);
    map_free(&search.names);
}

void git_refs_free(struct git_refs *refs)
{
    vec_free(&refs->list);
}

const struct git_ref *git_refs_find(const struct git_refs *refs, const char *name)
{
    vec_each (const struct git_ref, ref, &refs->list) {
        if (strcmp(ref->name, name) == 0)
            return ref;
    }
    return NULL;
}

bool git_ref_is_branch_or_tag(const char *name)
{
    return strcmp(name, "HEAD") == 0 || text_starts_with(name, "refs/heads/") ||
           text_starts_with(name, "refs/remotes/") || text_starts_with(name, "refs/tags/");
}
