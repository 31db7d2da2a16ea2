
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/vec.h"
#include "journal/session.h"
#include "kernel/directories.h"

enum { MOST_SESSIONS = 300 };

struct aged {
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct session_age) sorted; /* by the time of the latest record */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(uint64_t) sizes; /* of the journals, by the `index` of a session */
};

/* A session without a journal is one that is just beginning, or one of which only the folder is left. */
static void list_sessions(struct arena *arena, int sessions_fd, struct aged *ret_sessions)
{
    auto_dir DIR *directory = directories_list(sessions_fd);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        const char *journal = arena_printf(arena, "%s/" SESSION_JOURNAL, entry->d_name);
        struct stat status;
        if (*entry->d_name == '.')
            continue;
        bool has_journal = fstatat(sessions_fd, journal, &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (!has_journal && fstatat(sessions_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        vec_push(&ret_sessions->sorted, (struct session_age){arena_str(arena, entry->d_name), status.st_mtim,
                                                             ret_sessions->sizes.count});
        vec_push(&ret_sessions->sizes, has_journal ? (uint64_t)status.st_size : 0);
    }
    sessions_sort(ret_sessions->sorted.at, ret_sessions->sorted.count);
}

static bool has_journal_alone(int folder_fd)
{
    auto_dir DIR *folder = directories_list(folder_fd);
    bool is_alone = folder != NULL;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        is_alone &= *entry->d_name == '.' || strcmp(entry->d_name, SESSION_JOURNAL) == 0;
    return is_alone;
}

static void keep_open(struct retired *retired, int *fd)
{
    enum { MOST_OPEN = 64 }; /* of the descriptors that a process may have */
    if (*fd >= 0 && retired->open.count < MOST_OPEN)
        vec_push(&retired->open, fd_take(fd));
}

/* Whatever ends bawn in between leaves an empty folder, which goes the next time. */
static bool forget(int sessions_fd, const char *name, struct retired *retired)
{
    struct err ignored;
    auto_fd int fd = session_lock(sessions_fd, name, &ignored);
    if (fd < 0 || !has_journal_alone(fd))
        return false;
    auto_fd int journal_fd = openat(fd, SESSION_JOURNAL, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is_gone = (unlinkat(fd, SESSION_JOURNAL, 0) == 0 || errno == ENOENT) &&
                   unlinkat(sessions_fd, name, AT_REMOVEDIR) == 0;
    if (is_gone) {
        keep_open(retired, &journal_fd);
        keep_open(retired, &fd);
    }
    return is_gone;
}

void sessions_retire(struct arena *arena, int sessions_fd, uint64_t most_bytes, struct retired *ret_retired)
{
    *ret_retired = (struct retired){0};
    struct aged sessions = {0};
    list_sessions(arena, sessions_fd, &sessions);
    uint64_t bytes = 0;
    const size_t all = sessions.sorted.count;
    size_t count = all;
    for (size_t i = 0; i < all; i++)
        bytes += sessions.sizes.at[i];
    for (size_t i = 0; i + SESSIONS_ALWAYS_KEPT < all && (count > MOST_SESSIONS || bytes > most_bytes); i++) {
        const struct session_age *oldest = &sessions.sorted.at[i];
        if (!forget(sessions_fd, oldest->name, ret_retired))
            continue;
        count--;
        bytes -= sessions.sizes.at[oldest->index];
        ret_retired->sessions++;
        ret_retired->bytes += sessions.sizes.at[oldest->index];
    }
    vec_free(&sessions.sorted);
    vec_free(&sessions.sizes);
}

void retired_close(struct retired *retired)
{
    vec_each (const int, fd, &retired->open)
        close(*fd);
    vec_free(&retired->open);
}
