
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "journal/session.h"
#include "report/event.h"

enum { LOOKED_AT = 65536 }; /* at the beginning, and at the end */

static void take_record(const struct journal_record *record, struct arena *arena, const char *home,
                        struct glance *glance)
{
    struct timespec time;
    if (event_time(record, &time)) {
        if (record->number == 1)
            glance->began = time;
        glance->last = time;
    }
    glance->connections += strcmp(record->event, "connected") == 0;
    glance->tripwires += strcmp(record->event, "tripwire") == 0;
    if (strcmp(record->event, "start") == 0) {
        glance->workspace = journal_record_text(record, "workspace");
        glance->command = journal_record_text(record, "command");
    } else if (strcmp(record->event, "plan") == 0) {
        glance->mode = journal_record_text(record, "mode");
        glance->agent = journal_record_text(record, "agent");
        glance->directory = journal_record_text(record, "directory");
        glance->typed = journal_record_text(record, "typed");
    } else if (strcmp(record->event, "end") == 0) {
        glance->status = journal_record_text(record, "status");
        glance->has_ended = true;
    } else if (strcmp(record->event, "killed") == 0) {
        glance->was_killed = true;
    } else if (event_kinds(record->event) & EVENT_DENIED) {
        auto_buf struct buf sentence = {0};
        event_add_sentence(&sentence, record, home);
        glance->refusal = arena_str(arena, buf_text(&sentence));
        glance->refusal_event = record->event;
        glance->refusals++;
    }
}

/* Reads the complete lines of a part of the file. `most` is its size, as far as it is looked at: a list has many such files. */
static void take_part(int fd, off_t from, size_t most, struct arena *arena, const char *home,
                      struct glance *glance)
{
    char *part = arena_room(arena, most);
    ssize_t size = pread(fd, part, most, from);
    char *at = part, *end = part + (size > 0 ? size : 0), *line_end;
    if (from > 0 && at < end) { /* the first one is cut */
        line_end = memchr(at, '\n', (size_t)(end - at));
        at = line_end ? line_end + 1 : end;
    }
    for (; (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1) {
        struct journal_record record;
        if (!journal_record_parse(arena, at, (size_t)(line_end - at), &record))
            continue;
        take_record(&record, arena, home, glance);
        journal_record_free(&record);
    }
}

bool glance_at(int session_fd, struct arena *arena, const char *home, struct glance *ret_glance)
{
    *ret_glance = (struct glance){0};
    auto_fd int fd = openat(session_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    off_t size = lseek(fd, 0, SEEK_END);
    if (size > 0)
        take_part(fd, 0, size < LOOKED_AT ? (size_t)size : (size_t)LOOKED_AT, arena, home, ret_glance);
    if (size > LOOKED_AT)
        take_part(fd, size - LOOKED_AT, LOOKED_AT, arena, home, ret_glance);
    return true;
}
