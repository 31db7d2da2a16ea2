/*
 * Searches for other names of a frozen file. A search that was cut off has no answer: it fails, and the run is refused.
 *
 * The command of an earlier run made the tree: it may be of any depth, with paths longer than the kernel takes. So one directory is open at
 * a time, the walk goes from each to the next by a single name, and goes back by "..", which must be the directory that it came from.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "hold/hold.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { MOST_ENTRIES = 2000000 };

/* A directory on the way down. */
struct level {
    const char *name; /* "" for the top of the tree */
    dev_t device;
    ino_t inode;
    size_t folders; /* of those still to be searched, how many lie above it, or beside it */
};

struct search {
    struct arena *arena; /* of the path that is found */
    struct arena names;
    const struct file_content *content;
    const char *tree;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct level) levels;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) folders; /* still to be searched: at the end those of the last level */
    size_t entries;
    const char *found;
    int trouble; /* why a part could not be searched, or 0 */
    const char *place;
};

static const char *path_of(struct search *search, const char *name)
{
    auto_buf struct buf path = {0};
    buf_add_str(&path, search->tree);
    for (size_t i = 1; i < search->levels.count; i++)
        buf_printf(&path, "/%s", search->levels.at[i].name);
    if (*name)
        buf_printf(&path, "/%s", name);
    return arena_str(search->arena, buf_text(&path));
}

/* What is gone by now was taken away by the host. */
static void note_trouble(struct search *search, int errnum, const char *name)
{
    if (errnum == ENOENT || search->trouble)
        return;
    search->trouble = errnum;
    search->place = path_of(search, name);
}

static bool is_content(const struct search *search, const struct stat *status)
{
    return status->st_ino == search->content->inode && status->st_dev == search->content->device;
}

/* Every file is looked at: on some file systems a directory's entries say another inode than the files. */
static void look_at_entry(struct search *search, int directory_fd, const struct dirent *entry)
{
    struct stat status = {.st_mode = S_IFDIR};
    const char *name = entry->d_name;
    if (search->entries++ >= MOST_ENTRIES)
        note_trouble(search, E2BIG, "");
    else if (entry->d_type != DT_DIR && fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        note_trouble(search, errno, name);
    else if (S_ISDIR(status.st_mode))
        vec_push(&search->folders, arena_str(&search->names, name));
    else if (is_content(search, &status)) {
        const char *path = path_of(search, name);
        search->found = strcmp(path, search->content->path) != 0 ? path : NULL;
    }
}

static bool goes_on(const struct search *search)
{
    return !search->found && !search->trouble;
}

/* Looks at the files of a directory, and notes the directories in it. */
static void enter(struct search *search, int directory_fd, const char *name)
{
    struct stat status;
    int trouble = 0;
    auto_dir DIR *directory = directories_list(directory_fd);
    if (!directory || fstat(directory_fd, &status) < 0) {
        note_trouble(search, errno, name);
        return;
    }
    vec_push(&search->levels, (struct level){name, status.st_dev, status.st_ino, search->folders.count});
    for (const struct dirent *entry; goes_on(search) && (entry = directories_next(directory, &trouble));)
        look_at_entry(search, dirfd(directory), entry);
    if (trouble)
        note_trouble(search, trouble, "");
}

/* Goes to the next directory of the last level. Returns its descriptor; -1 where it is gone, or cannot be searched. */
static int go_down(struct search *search, int directory_fd)
{
    const char *name = search->folders.at[--search->folders.count];
    int fd = open_directory_at(directory_fd, name);
    size_t levels = search->levels.count;
    if (fd < 0)
        note_trouble(search, errno, name);
    else
        enter(search, fd, name);
    if (fd >= 0 && search->levels.count > levels)
        return fd;
    fd_close(fd);
    return -1;
}

/* Goes back to the directory around the last level. */
static int go_up(struct search *search, int directory_fd)
{
    struct stat status = {0};
    auto_fd int fd = open_directory_at(directory_fd, "..");
    search->levels.count--;
    const struct level *level = &search->levels.at[search->levels.count - 1];
    bool is_known =
        fd >= 0 && fstat(fd, &status) == 0 && status.st_ino == level->inode && status.st_dev == level->device;
    if (is_known)
        return fd_take(&fd);
    search->trouble = fd < 0 ? errno : ESTALE; /* also where it is gone: the rest of it was not searched */
    search->place = path_of(search, "");
    return -1;
}

static void search_tree(struct search *search, int tree_fd)
{
    auto_fd int at = tree_fd;
    enter(search, at, "");
    while (goes_on(search) && search->levels.count) {
        bool has_more = search->folders.count > search->levels.at[search->levels.count - 1].folders;
        if (!has_more && search->levels.count == 1)
            break;
        int next = has_more ? go_down(search, at) : go_up(search, at);
        if (next >= 0) {
            close(at);
            at = next;
        }
    }
}

/* Searches a file or tree. */
static void search_in(struct search *search, const char *path)
{
    struct stat status;
    search->tree = path;
    search->entries = search->levels.count = search->folders.count = 0;
    auto_fd int place = open_absolute(path, O_PATH);
    if (place < 0 || fstat(place, &status) < 0) {
        note_trouble(search, errno, "");
    } else if (!S_ISDIR(status.st_mode)) {
        search->found = is_content(search, &status) && strcmp(path, search->content->path) != 0 ? path : NULL;
    } else {
        int fd = open_directory_at(place, ".");
        if (fd < 0)
            note_trouble(search, errno, "");
        else
            search_tree(search, fd);
    }
}

static int end_search(struct search *search, const char **ret_alias, struct err *err)
{
    vec_free(&search->levels);
    vec_free(&search->folders);
    arena_free(&search->names);
    *ret_alias = search->found;
    if (search->found || !search->trouble)
        return 0;
    const char *path = search->content->path;
    if (search->trouble == E2BIG)
        err_set(err, "cannot look for hard links of %s, which is frozen: %.500s has more than %d files", path,
                search->tree, MOST_ENTRIES);
    else
        err_sys(err, search->trouble, "cannot look for hard links of %s, which is frozen, in %.500s", path,
                search->place);
    return err_hint(err, "make %s a file of its own, then none is looked for: cp -p %s x && mv x %s", path,
                    path, path);
}

int alias_find_in(const struct hold *hold, const struct file_content *content, const char *path,
                  const char **ret_alias, struct err *err)
{
    struct search search = {.arena = hold->arena, .content = content};
    search_in(&search, path);
    return end_search(&search, ret_alias, err);
}

int alias_find(const struct hold *hold, const struct file_content *content, const char **ret_alias,
               struct err *err)
{
    struct search search = {.arena = hold->arena, .content = content};
    for (size_t i = 0; goes_on(&search) && i < hold->plan->operations.count; i++) {
        if (hold->plan->operations.at[i].kind == OP_BIND_WRITE)
            search_in(&search, hold->plan->operations.at[i].path);
    }
    return end_search(&search, ret_alias, err);
}
