
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "base/vec.h"
#include "journal/session.h"
#include "kernel/directories.h"

enum { MOST_SESSIONS = 300 };

struct aged {
    const char *name;
    struct timespec time; /* of its latest record */
    uint64_t size;        /* of its journal */
};

typedef VEC(struct aged) aged_list;

static int older_first(const void *one, const void *two)
{
    const struct aged *a = one, *b = two;
    return timespec_order(a->time, b->time);
}

/* A session without a journal is one that is just beginning, or one of which only the folder is left. */
static void list_sessions(struct arena *arena, int sessions_fd, aged_list *ret_sessions)
{
    auto_dir DIR *directory = directories_list(sessions_fd);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        const char *journal = arena_printf(arena, "%s/" SESSION_JOURNAL, entry->d_name);
        struct stat status;
        if (*entry->d_name == '.')
            continue;
        bool has_journal = fstatat(sessions_fd, journal, &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (has_journal || fstatat(sessions_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            vec_push(ret_sessions, (struct aged){arena_str(arena, entry->d_name), status.st_mtim,
                                                 has_journal ? (uint64_t)status.st_size : 0});
    }
    if (ret_sessions->count)
        qsort(ret_sessions->at, ret_sessions->count, sizeof(*ret_sessions->at), older_first);
}

static bool has_journal_alone(int folder_fd)
{
    auto_dir DIR *folder = directories_list(folder_fd);
    bool is_alone = folder != NULL;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        is_alone &= *entry->d_name == '.' || strcmp(entry->d_name, SESSION_JOURNAL) == 0;
    return is_alone;
}

/* Whatever ends bawn in between leaves an empty folder, which goes the next time. */
static bool forget(int sessions_fd, const char *name)
{
    struct err ignored;
    auto_fd int fd = session_lock(sessions_fd, name, &ignored);
    return fd >= 0 && has_journal_alone(fd) && (unlinkat(fd, SESSION_JOURNAL, 0) == 0 || errno == ENOENT) &&
           unlinkat(sessions_fd, name, AT_REMOVEDIR) == 0;
}

void sessions_retire(struct arena *arena, int sessions_fd, uint64_t most_bytes, struct retired *ret_retired)
{
    *ret_retired = (struct retired){0};
    auto_vec aged_list sessions = {0};
    list_sessions(arena, sessions_fd, &sessions);
    uint64_t bytes = 0;
    size_t count = sessions.count;
    for (size_t i = 0; i < sessions.count; i++)
        bytes += sessions.at[i].size;
    for (size_t i = 0;
         i + SESSIONS_ALWAYS_KEPT < sessions.count && (count > MOST_SESSIONS || bytes > most_bytes); i++) {
        if (!forget(sessions_fd, sessions.at[i].name))
            continue;
        count--;
        bytes -= sessions.at[i].size;
        ret_retired->sessions++;
        ret_retired->bytes += sessions.at[i].size;
    }
}
