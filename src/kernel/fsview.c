#include "kernel/fsview.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { MOST_LINKS = 40 }; /* as the kernel's own limit */

/* "/a/b" relative to a directory: "a/b"; "." for "/". */
static const char *beneath_root(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int open_without_links(const struct fsview *fs, const char *path, int flags)
{
    return open_beneath(fs->root_fd, beneath_root(path), flags | O_NOCTTY | O_NONBLOCK, 0);
}

/* Remembers why a file could not be looked at, if that must not count as an answer. */
static void note_trouble(struct fsview *fs, int errnum, const char *path)
{
    if (fs->trouble || !errno_is_of_machine(errnum))
        return;
    struct err *trouble = arena_new(fs->arena, struct err);
    err_sys(trouble, errnum, "cannot look at %s", path);
    fs->trouble = trouble;
}

int fs_check(const struct fsview *fs, struct err *err)
{
    if (!fs->trouble)
        return 0;
    *err = *fs->trouble;
    return -1;
}

static enum file_kind kind_of_mode(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return FILE_REGULAR;
    case S_IFDIR:
        return FILE_DIRECTORY;
    case S_IFLNK:
        return FILE_LINK;
    case S_IFSOCK:
        return FILE_SOCKET;
    default:
        return FILE_OTHER;
    }
}

static enum file_kind kind_of_type(int type)
{
    return type < 0 ? FILE_MISSING : kind_of_mode(DTTOIF((mode_t)type));
}

/* A directory: how often it was asked about, and after some questions its names. */
struct directory {
    unsigned questions;
    bool is_listed;
    struct listing listing;
};

enum { QUESTIONS_BEFORE_LISTING = 4 };

/* A place, and its directory. For a link this is the directory that the link leads to. */
struct known {
    struct fs_place place;
    struct directory *directory;
};

static enum file_kind kind_by_itself(struct fsview *fs, const char *path)
{
    struct stat status;
    if (fstatat(fs->root_fd, beneath_root(path), &status, AT_SYMLINK_NOFOLLOW) == 0)
        return kind_of_mode(status.st_mode);
    if (errno == ENOENT || errno == ENOTDIR)
        return FILE_MISSING;
    note_trouble(fs, errno, path);
    return FILE_UNKNOWN;
}

/* The kind of the last name of `path`, which lies in that place. */
static enum file_kind kind_in(struct fsview *fs, const struct known *parent, const char *path)
{
    struct directory *directory = parent->directory;
    if (parent->place.kind != FILE_DIRECTORY)
        return parent->place.kind == FILE_UNKNOWN ? FILE_UNKNOWN : FILE_MISSING;
    if (++directory->questions == QUESTIONS_BEFORE_LISTING) {
        auto_fd int fd = open_without_links(fs, parent->place.real, O_RDONLY | O_DIRECTORY);
        directory->is_listed = fd >= 0 && listing_read(fd, fs->arena, &directory->listing);
    }
    int type = directory->is_listed ? listing_type(&directory->listing, path_name(path)) : DT_UNKNOWN;
    return type == DT_UNKNOWN ? kind_by_itself(fs, path) : kind_of_type(type);
}

/* Joins two lists; fails with *err if there are more links than a path may have. */
static int append_links(struct arena *arena, const struct fs_link *first, const struct fs_link *second,
                        const struct fs_link **ret_links, struct err *err)
{
    struct fs_link *copies[MOST_LINKS];
    size_t count = 0;
    for (const struct fs_link *link = first; link; link = link->next) {
        if (count == MOST_LINKS)
            return err_sys(err, ELOOP, "cannot follow %s", link->path);
        copies[count] = arena_new(arena, struct fs_link);
        *copies[count++] = *link;
    }
    size_t total = count;
    for (const struct fs_link *link = second; link; link = link->next) {
        if (++total > MOST_LINKS)
            return err_sys(err, ELOOP, "cannot follow %s", link->path);
    }
    const struct fs_link *links = second;
    while (count) {
        copies[--count]->next = links;
        links = copies[count];
    }
    *ret_links = links;
    return 0;
}

static const struct known *resolve(struct fsview *fs, const char *path, size_t size, unsigned links_left,
                                   struct err *err);

const char *fs_link_target(struct fsview *fs, const char *path)
{
    not_zeroed char target[PATH_LONGEST];
    ssize_t size = readlinkat(fs->root_fd, beneath_root(path), target, sizeof(target));
    if (size < 0)
        note_trouble(fs, errno, path);
    return size > 0 && (size_t)size < sizeof(target) ? arena_copy(fs->arena, target, (size_t)size) : NULL;
}

/* Where the link at this path leads; NULL with *err if it cannot be followed. */
static const struct known *follow(struct fsview *fs, const char *link_path, unsigned links_left,
                                  struct err *err)
{
    not_zeroed char target[PATH_LONGEST];
    ssize_t size = readlinkat(fs->root_fd, beneath_root(link_path), target, sizeof(target));
    if (size <= 0 || (size_t)size == sizeof(target)) {
        int errnum = size < 0 ? errno : ENAMETOOLONG;
        note_trouble(fs, errnum, link_path);
        err_sys(err, errnum, "cannot read the symbolic link %s", link_path);
        return NULL;
    }
    if (links_left == 0) {
        err_sys(err, ELOOP, "cannot follow %s", link_path);
        return NULL;
    }
    struct fs_link *link = arena_new(fs->arena, struct fs_link);
    link->path = link_path;
    link->target = arena_copy(fs->arena, target, (size_t)size);
    /* The link's directory has no links, so ".." may be resolved in the text up to the next link. */
    size_t start_size = *link->target == '/' ? 1 : path_parent_size(link_path, strlen(link_path));
    const struct known *at = resolve(fs, link_path, start_size, links_left - 1, err);
    const struct fs_link *links = NULL;
    for (const char *rest = link->target; at && *rest;) {
        size_t name_size = strcspn(rest, "/");
        const char *name = arena_copy(fs->arena, rest, name_size);
        rest += name_size + (rest[name_size] == '/');
        const char *next = path_clean(fs->arena, at->place.real, name);
        at = resolve(fs, next, strlen(next), links_left - 1, err);
        if (at && append_links(fs->arena, links, at->place.links, &links, err) < 0)
            return NULL;
    }
    if (!at)
        return NULL;
    link->next = links;
    struct known *known = arena_new(fs->arena, struct known);
    *known = *at;
    known->place.links = link;
    return known;
}

/* The last name of a path, in a known place. */
static const struct known *resolve_name(struct fsview *fs, const struct known *parent, const char *path,
                                        unsigned links_left, struct err *err)
{
    struct known *known = arena_new(fs->arena, struct known);
    /* Without links, the place has the path as it was spelled. */
    known->place.real =
        parent->place.links ? path_join(fs->arena, parent->place.real, path_name(path)) : path;
    known->place.links = parent->place.links;
    known->place.kind = kind_in(fs, parent, known->place.real);
    if (known->place.kind == FILE_DIRECTORY)
        known->directory = arena_new(fs->arena, struct directory);
    if (known->place.kind != FILE_LINK)
        return known;
    const struct known *beyond = follow(fs, known->place.real, links_left, err);
    if (!beyond)
        return NULL;
    *known = *beyond;
    return append_links(fs->arena, parent->place.links, beyond->place.links, &known->place.links, err) < 0
               ? NULL
               : known;
}

static const struct known *resolve_root(struct fsview *fs)
{
    struct known *root = arena_new(fs->arena, struct known);
    root->place = (struct fs_place){.real = "/", .kind = FILE_DIRECTORY};
    root->directory = arena_new(fs->arena, struct directory);
    return root;
}

/* Where the first `size` bytes of a path lead. */
static const struct known *resolve(struct fsview *fs, const char *path, size_t size, unsigned links_left,
                                   struct err *err)
{
    if (size >= PATH_LONGEST) {
        err_sys(err, ENAMETOOLONG, "cannot look up %.60s...", path);
        return NULL;
    }
    fs->looked_up += size;
    const struct known *known = map_get(&fs->places, path, size);
    if (known)
        return known;
    const char *own = arena_copy(fs->arena, path, size);
    const struct known *parent =
        size == 1 ? NULL : resolve(fs, path, path_parent_size(path, size), links_left, err);
    if (size == 1)
        known = resolve_root(fs);
    else if (parent)
        known = resolve_name(fs, parent, own, links_left, err);
    if (known)
        *map_at(&fs->places, own, size) = (void *)known;
    return known;
}

int fs_resolve(struct fsview *fs, const char *path, const struct fs_place **ret_place, struct err *err)
{
    const struct known *known = resolve(fs, path, strlen(path), MOST_LINKS, err);
    if (!known)
        return -1;
    *ret_place = &known->place;
    return 0;
}

enum file_kind fs_kind(struct fsview *fs, const char *path)
{
    size_t parent_size = path_parent_size(path, strlen(path));
    struct err ignored;
    const struct known *parent = parent_size ? resolve(fs, path, parent_size, MOST_LINKS, &ignored) : NULL;
    if (!parent)
        return parent_size ? FILE_UNKNOWN : FILE_DIRECTORY;
    return parent->place.links ? kind_by_itself(fs, path) : kind_in(fs, parent, path);
}

void fs_free(struct fsview *fs)
{
    for (size_t i = 0; i < fs->places.capacity; i++) {
        const struct known *known = fs->places.slots[i].value;
        if (known && known->directory)
            listing_free(&known->directory->listing);
    }
    map_free(&fs->places);
}

static int read_all(int fd, const char *path, size_t most, struct arena *arena, char **ret_bytes,
                    size_t *ret_size, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return err_sys(err, errno, "cannot read %s", path);
    if (!S_ISREG(status.st_mode))
        return err_set(err, "cannot read %s: it is not a regular file", path);
    if (status.st_size < 0 || (size_t)status.st_size > most)
        return err_set(err, "cannot read %s: it is larger than %zu bytes", path, most);

    size_t expected = (size_t)status.st_size, size = 0;
    char *bytes = arena_alloc(arena, expected + 1);
    while (size < expected) {
        ssize_t got = read(fd, bytes + size, expected - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read %s", path);
        if (got == 0)
            break; /* the file has shrunk: what was read is its content */
        size += (size_t)got;
    }
    bytes[size] = '\0';
    *ret_bytes = bytes;
    *ret_size = size;
    return 1;
}

int fs_read(struct fsview *fs, const char *path, size_t most, char **ret_bytes, size_t *ret_size,
            struct err *err)
{
    auto_fd int fd = open_without_links(fs, path, O_RDONLY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 && errno == ELOOP)
        return err_set(err, "cannot read %s: it is, or lies behind, a symbolic link", path);
    int result = fd < 0 ? err_sys(err, errno, "cannot read %s", path)
                        : read_all(fd, path, most, fs->arena, ret_bytes, ret_size, err);
    if (result < 0)
        note_trouble(fs, err->errnum, path);
    return result;
}

bool fs_is_open_to_all(struct fsview *fs, const char *path)
{
    for (size_t size = strlen(path); size; size = path_parent_size(path, size)) {
        struct stat status;
        const char *part = arena_printf(fs->arena, "%.*s", (int)size, path);
        /* in a sticky directory only its owner replaces a file */
        if (fstatat(fs->root_fd, beneath_root(part), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_mode & S_IWOTH && !S_ISLNK(status.st_mode) &&
            !(S_ISDIR(status.st_mode) && status.st_mode & S_ISVTX))
            return true;
    }
    return false;
}

bool fs_can_list(struct fsview *fs, const char *path)
{
    auto_fd int fd = open_without_links(fs, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        note_trouble(fs, errno, path);
    return fd >= 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void fs_sort_names(fs_names *names)
{
    if (names->count)
        qsort(names->at, names->count, sizeof(*names->at), compare_names);
}

bool fs_has_name(const fs_names *names, const char *name)
{
    return text_is_among(name, names->at, names->count);
}

void fs_list(struct fsview *fs, const char *path, size_t most, fs_names *ret_names)
{
    auto_dir DIR *directory = directories_take(open_without_links(fs, path, O_RDONLY | O_DIRECTORY));
    if (!directory) {
        note_trouble(fs, errno, path);
        return;
    }
    int trouble = 0;
    for (const struct dirent *entry;
         ret_names->count < most && (entry = directories_next(directory, &trouble));)
        vec_push(ret_names, arena_str(fs->arena, entry->d_name));
    note_trouble(fs, trouble, path);
    fs_sort_names(ret_names);
}

bool fs_list_links(struct fsview *fs, const char *path, size_t most, fs_names *ret_names)
{
    auto_dir DIR *directory = directories_take(open_without_links(fs, path, O_RDONLY | O_DIRECTORY));
    if (!directory) {
        note_trouble(fs, errno, path);
        return false;
    }
    int trouble = 0;
    const struct dirent *entry;
    while ((entry = directories_next(directory, &trouble)) && most) {
        most--;
        bool is_link = entry->d_type == DT_LNK ||
                       (entry->d_type == DT_UNKNOWN &&
                        kind_by_itself(fs, path_join(fs->arena, path, entry->d_name)) == FILE_LINK);
        if (is_link)
            vec_push(ret_names, arena_str(fs->arena, entry->d_name));
    }
    note_trouble(fs, trouble, path);
    return !entry && !trouble;
}
