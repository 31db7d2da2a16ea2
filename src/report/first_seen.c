#include "report/first_seen.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/vec.h"
#include "journal/session.h"
#include "report/event.h"
#include "report/time_text.h"

enum {
    MOST_SESSIONS = 40,
    LOOKED_AT = 512 * 1024, /* of each journal, from its beginning */
};

struct candidate {
    const char *name;
    struct timespec time;
};
typedef VEC(struct candidate) candidate_list;

static int compare(const void *one, const void *other)
{
    const struct timespec a = ((const struct candidate *)one)->time,
                          b = ((const struct candidate *)other)->time;
    return a.tv_sec != b.tv_sec ? (a.tv_sec < b.tv_sec ? 1 : -1)
                                : (a.tv_nsec < b.tv_nsec) - (a.tv_nsec > b.tv_nsec);
}

/* The sessions, the latest first. */
static void list_sessions(int sessions_fd, struct arena *arena, candidate_list *ret_list)
{
    int fd = openat(sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_dir DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        struct stat status;
        if (*entry->d_name != '.' && fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode))
            vec_push(ret_list, (struct candidate){arena_str(arena, entry->d_name), status.st_mtim});
    }
    if (ret_list->count)
        qsort(ret_list->at, ret_list->count, sizeof(ret_list->at[0]), compare);
}

/* A host without its port. */
static const char *without_port(struct arena *arena, const char *object)
{
    const char *colon = strrchr(object, ':');
    return *object != '/' && colon && colon > object ? arena_copy(arena, object, (size_t)(colon - object))
                                                     : object;
}

static bool is_about(struct arena *arena, const struct journal_record *record, const char *object)
{
    static const char *const fields[] = {"object", "path", "command"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(event_field(record, fields[i]), object) == 0)
            return true;
    }
    return *object != '/' && strcmp(event_field(record, "host"), without_port(arena, object)) == 0;
}

/* Looks for one object in the lines of a journal, up to the question itself. */
static void look(struct arena *arena, const char *text, size_t size, const char *session,
                 struct first_seen *seen)
{
    const char *needle = without_port(arena, seen->object);
    size_t plain = strcspn(needle, "\"\\"); /* which a journal escapes */
    bool is_own = strcmp(session, seen->session) == 0;
    for (const char *at = text, *hit; (hit = memmem(at, size - (size_t)(at - text), needle, plain));) {
        const char *start = memrchr(text, '\n', (size_t)(hit - text)), *line = start ? start + 1 : text;
        const char *end = memchr(hit, '\n', size - (size_t)(hit - text));
        if (!end)
            return; /* its record is cut */
        struct journal_record record;
        if (journal_record_parse(arena, line, (size_t)(end - line), &record)) {
            struct timespec time;
            bool is_question = is_own && strcmp(record.event, "asked") == 0 &&
                               strcmp(event_field(&record, "id"), seen->question) == 0;
            bool counts =
                !is_question && is_about(arena, &record, seen->object) && event_time(&record, &time);
            if (counts && (!seen->seen_in || time.tv_sec < seen->time.tv_sec)) {
                seen->seen_in = session;
                seen->event = arena_str(arena, record.event);
                seen->time = time;
            }
            journal_record_free(&record);
            if (is_question || counts)
                return; /* what follows is later */
        }
        at = end;
    }
}

void first_seen_find(int sessions_fd, struct arena *arena, struct first_seen *all, size_t count,
                     struct seen_sources *ret_sources)
{
    auto_vec candidate_list sessions = {0};
    *ret_sources = (struct seen_sources){0};
    if (sessions_fd >= 0)
        list_sessions(sessions_fd, arena, &sessions);
    ret_sources->is_cut = sessions.count > MOST_SESSIONS;
    for (size_t i = 0; i < sessions.count && i < MOST_SESSIONS; i++) {
        const char *path = arena_printf(arena, "%s/" SESSION_JOURNAL, sessions.at[i].name);
        auto_fd int fd = openat(sessions_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        auto_buf struct buf text = {0};
        if (fd < 0 || buf_read(&text, fd, LOOKED_AT) < 0 || !text.size)
            continue;
        ret_sources->sessions++;
        ret_sources->is_cut |= text.size >= LOOKED_AT;
        for (size_t j = 0; j < count; j++)
            look(arena, text.bytes, text.size, sessions.at[i].name, &all[j]);
    }
}

const char *first_seen_text(struct arena *arena, const struct first_seen *seen,
                            const struct seen_sources *sources)
{
    if (seen->seen_in)
        return arena_printf(arena, "first seen %s, in %s (%s)%s", age_text(arena, seen->time), seen->seen_in,
                            seen->event, sources->is_cut ? "; older journals were not looked at" : "");
    return sources->is_cut ? arena_printf(arena,
                                          "new: it is not in the %zu latest journals, as far as they "
                                          "were looked at",
                                          sources->sessions)
                           : "new: no earlier session mentions it";
}
