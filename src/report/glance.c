
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "journal/session.h"
#include "report/event.h"

enum { LOOKED_AT = 65536 }; /* bytes that are parsed at the beginning and at the end */

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
    glance->asked += strcmp(record->event, "asked") == 0;
    glance->answered += strcmp(record->event, "answered") == 0;
    if (strcmp(record->event, "start") == 0) {
        glance->workspace = journal_record_text(record, "workspace");
        glance->command = journal_record_text(record, "command");
    } else if (strcmp(record->event, "plan") == 0) {
        glance->mode = journal_record_text(record, "mode");
        glance->arguments = journal_record_text(record, "arguments");
        glance->agent = journal_record_text(record, "agent");
        glance->directory = journal_record_text(record, "directory");
        glance->typed = journal_record_text(record, "typed");
    } else if (strcmp(record->event, "end") == 0) {
        glance->status = journal_record_text(record, "status");
        const char *changes = event_field(record, "changes");
        glance->has_ended = true;
        if (!text_take_number(&changes, &glance->changes))
            glance->changes = 0;
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

/* Reads the complete lines of a part of the file that begins with one. Returns where the first incomplete one begins. */
static off_t take_part(int fd, off_t from, size_t most, struct arena *arena, const char *home,
                       struct glance *glance)
{
    char *part = arena_room(arena, most);
    ssize_t size = pread(fd, part, most, from);
    char *at = part, *end = part + (size > 0 ? size : 0), *line_end;
    for (; (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1) {
        struct journal_record record;
        if (!journal_record_parse(arena, at, (size_t)(line_end - at), &record))
            continue;
        take_record(&record, arena, home, glance);
        journal_record_free(&record);
    }
    return from + (at - part);
}

/*
 * What lies between the two parts is not parsed: a list has many such files. What was refused there is
 * counted, and the last one is kept.
 */
struct between {
    size_t connections, refusals, tripwires, asked, answered;
    struct buf line, denial; /* the beginning of a line; the last line about a denial */
};

/* The event of a line, without parsing it. Returns false where there is none. */
static bool read_event(const struct buf *line, char *ret_event, size_t room)
{
    static const char key[] = "\"event\":\"";
    enum { NEAR = 128 }; /* only a number and a time come before it */
    const char *at = memmem(line->bytes, line->size < NEAR ? line->size : NEAR, key, sizeof(key) - 1);
    const char *name = at ? at + sizeof(key) - 1 : NULL;
    const char *end = name ? memchr(name, '"', line->size - (size_t)(name - line->bytes)) : NULL;
    if (!end || (size_t)(end - name) >= room)
        return false;
    memcpy(ret_event, name, (size_t)(end - name));
    ret_event[end - name] = '\0';
    return true;
}

static void take_line(struct between *between)
{
    char event[32];
    if (!read_event(&between->line, event, sizeof(event)))
        return;
    between->connections += strcmp(event, "connected") == 0;
    between->tripwires += strcmp(event, "tripwire") == 0;
    between->asked += strcmp(event, "asked") == 0;
    between->answered += strcmp(event, "answered") == 0;
    if (!(event_kinds(event) & EVENT_DENIED))
        return;
    between->refusals++;
    between->denial.size = 0;
    buf_add(&between->denial, between->line.bytes, between->line.size);
}

/* Returns where the line begins in which the second place lies. */
static off_t read_between(int fd, off_t from, off_t to, struct between *between)
{
    not_zeroed char piece[LOOKED_AT];
    for (ssize_t got = 0; from < to; from += got) {
        got = pread(fd, piece, to - from < LOOKED_AT ? (size_t)(to - from) : LOOKED_AT, from);
        if (got <= 0)
            break;
        const char *at = piece, *end = piece + got, *line_end;
        for (; (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1) {
            buf_add(&between->line, at, (size_t)(line_end - at));
            take_line(between);
            between->line.size = 0;
        }
        buf_add(&between->line, at, (size_t)(end - at));
    }
    return from - (off_t)between->line.size;
}

/* A command that fills its journal does not hide there what it was refused. */
static off_t take_between(int fd, off_t from, off_t to, struct arena *arena, const char *home,
                          struct glance *glance)
{
    struct between between = {0};
    struct journal_record record;
    off_t end = read_between(fd, from, to, &between);
    between.connections += glance->connections;
    between.refusals += glance->refusals;
    between.tripwires += glance->tripwires;
    between.asked += glance->asked;
    between.answered += glance->answered;
    if (between.denial.size &&
        journal_record_parse(arena, between.denial.bytes, between.denial.size, &record)) {
        take_record(&record, arena, home, glance);
        journal_record_free(&record);
    }
    glance->connections = between.connections;
    glance->refusals = between.refusals;
    glance->tripwires = between.tripwires;
    glance->asked = between.asked;
    glance->answered = between.answered;
    buf_free(&between.line);
    buf_free(&between.denial);
    return end;
}

bool glance_at(int session_fd, struct arena *arena, const char *home, struct glance *ret_glance)
{
    *ret_glance = (struct glance){0};
    auto_fd int fd = openat(session_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    off_t size = lseek(fd, 0, SEEK_END), at = 0;
    if (size > 0)
        at = take_part(fd, 0, size < LOOKED_AT ? (size_t)size : (size_t)LOOKED_AT, arena, home, ret_glance);
    if (size > 2 * (off_t)LOOKED_AT)
        at = take_between(fd, at, size - LOOKED_AT, arena, home, ret_glance);
    if (size > LOOKED_AT)
        take_part(fd, at, (size_t)(size - at), arena, home, ret_glance);
    return true;
}
