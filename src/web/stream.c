/*
 * Server-sent events. A stream sleeps, suspended, until inotify says that something was written. Two kinds:
 *
 *   - a file of lines, a session's journal or the lines of a proof, from where the page ended: each line
 *     becomes a row of a table. The stream ends with the file's last line.
 *   - the list of sessions: it says once that something changed there, and ends. The page then loads the list, and opens another one.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "journal/session.h"
#include "web/proofs.h"
#include "web/session_rows.h"
#include "web/visit.h"

enum { MOST_STREAMS = 16, MOST_WATCHED = 500, LINE_LONGEST = 256 * 1024 };

/* Makes a row of a line. Returns false if it is the last one. */
typedef bool line_function(struct html *row, struct arena *arena, const char *line, size_t size,
                           const char *home);

struct stream {
    struct web *web;
    struct MHD_Connection *connection;
    const char *home;
    line_function *take; /* NULL: a list, which has no lines */
    int fd;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(int) watches;
    struct buf unread, out;
    size_t sent; /* of `out` */
    bool is_over, is_asleep;
};

/* --- lines ---------------------------------------------------------------------------------------------------------- */

static bool take_record(struct html *row, struct arena *arena, const char *line, size_t size,
                        const char *home)
{
    struct journal_record record;
    if (!journal_record_parse(arena, line, size, &record))
        return true;
    timeline_add_row(row, arena, &record, home);
    bool is_last = strcmp(record.event, "end") == 0;
    journal_record_free(&record);
    return !is_last;
}

static bool take_finding(struct html *row, struct arena *arena, const char *line, size_t size,
                         const char *home not_used)
{
    return proof_add_row(row, arena, line, size);
}

/* The lines of an event must not begin a new one: a row has no newline in it. */
static void add_event(struct stream *stream, const char *line, size_t size)
{
    auto_arena struct arena arena = {0};
    auto_html struct html row = {0};
    stream->is_over = !stream->take(&row, &arena, line, size, stream->home);
    if (row.out.size) {
        buf_add_str(&stream->out, "event: row\ndata: ");
        for (size_t i = 0; i < row.out.size; i++)
            buf_add_char(&stream->out, row.out.bytes[i] == '\n' ? ' ' : row.out.bytes[i]);
        buf_add_str(&stream->out, "\n\n");
    }
    if (stream->is_over)
        buf_add_str(&stream->out, "event: end\ndata: end\n\n");
}

static void read_lines(struct stream *stream)
{
    char part[65536] not_zeroed;
    ssize_t size;
    while (!stream->is_over && (size = read(stream->fd, part, sizeof(part))) > 0) {
        buf_add(&stream->unread, part, (size_t)size);
        char *at = stream->unread.bytes, *end = at + stream->unread.size, *stop;
        for (; !stream->is_over && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
            add_event(stream, at, (size_t)(stop - at));
        stream->unread.size = (size_t)(end - at);
        memmove(stream->unread.bytes, at, stream->unread.size);
        if (stream->unread.size > LINE_LONGEST)
            stream->unread.size = 0; /* longer than any record */
    }
}

/* --- what is sent --------------------------------------------------------------------------------------------------- */

static ssize_t give(void *self, uint64_t at not_used, char *room, size_t most)
{
    struct stream *stream = self;
    if (stream->sent == stream->out.size) {
        stream->sent = stream->out.size = 0;
        if (stream->is_over)
            return MHD_CONTENT_READER_END_OF_STREAM;
        stream->is_asleep = true;
        MHD_suspend_connection(stream->connection);
        return 0;
    }
    size_t size = stream->out.size - stream->sent < most ? stream->out.size - stream->sent : most;
    memcpy(room, stream->out.bytes + stream->sent, size);
    stream->sent += size;
    return (ssize_t)size;
}

struct MHD_Response *stream_response(struct stream *stream)
{
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, give, stream, NULL);
}

static void wake(struct stream *stream)
{
    if (!stream->is_asleep)
        return;
    stream->is_asleep = false;
    MHD_resume_connection(stream->connection);
}

static bool is_watching(const struct stream *stream, int watch)
{
    for (size_t i = 0; i < stream->watches.count; i++) {
        if (stream->watches.at[i] == watch)
            return true;
    }
    return false;
}

/* A list says what happened once, and is asked for again. */
static void tell_lists(struct web *web, int watch)
{
    for (size_t i = 0; i < web->streams.count; i++) {
        struct stream *stream = web->streams.at[i];
        if (stream->take || stream->is_over || !is_watching(stream, watch))
            continue;
        buf_add_str(&stream->out, "event: changed\ndata: changed\n\n");
        stream->is_over = true;
    }
}

static void take_notices(struct web *web)
{
    char events[16384] not_zeroed;
    ssize_t size;
    while ((size = read(web->notice_fd, events, sizeof(events))) > 0) {
        struct inotify_event event;
        for (size_t at = 0; at + sizeof(event) <= (size_t)size; at += sizeof(event) + event.len) {
            memcpy(&event, events + at, sizeof(event));
            tell_lists(web, event.wd);
        }
    }
}

void streams_ready(struct web *web)
{
    take_notices(web);
    for (size_t i = 0; i < web->streams.count; i++) {
        struct stream *stream = web->streams.at[i];
        if (stream->take)
            read_lines(stream);
        if (stream->out.size > stream->sent || stream->is_over)
            wake(stream);
    }
}

/* A page that is gone is noticed only when something is sent to it: the oldest stream makes room. */
static void make_room(struct web *web)
{
    if (web->streams.count < MOST_STREAMS)
        return;
    web->streams.at[0]->is_over = true;
    wake(web->streams.at[0]);
}

/* --- opening and closing -------------------------------------------------------------------------------------------- */

static struct stream *begin(struct visit *visit, line_function *take, int fd)
{
    struct web *web = visit->web;
    make_room(web);
    struct stream *stream = must_realloc(NULL, 1, sizeof(*stream));
    *stream = (struct stream){
        .web = web, .connection = visit->connection, .home = web->place->home, .take = take, .fd = fd};
    buf_add_str(&stream->out, ": bawn\n\n");
    vec_push(&web->streams, stream);
    visit->stream = stream;
    visit->status = MHD_HTTP_OK;
    visit->type = "text/event-stream";
    return stream;
}

/* Returns false if there is nothing to watch. */
static bool add_watch(struct stream *stream, const char *path, uint32_t events)
{
    int number = inotify_add_watch(stream->web->notice_fd, path, events | IN_DONT_FOLLOW);
    if (number >= 0)
        vec_push(&stream->watches, number);
    return number >= 0;
}

static void open_lines(struct visit *visit, line_function *take, int folder_fd, const char *name,
                       const char *path)
{
    const char *from = visit_query(visit, "from");
    auto_fd int fd =
        folder_fd < 0 ? -1 : openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || lseek(fd, (off_t)strtoull(from, NULL, 10), SEEK_SET) < 0) {
        visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is nothing to follow.");
        return;
    }
    struct stream *stream = begin(visit, take, fd_take(&fd));
    stream->is_over = !add_watch(stream, path, IN_MODIFY);
    read_lines(stream);
}

void stream_journal(struct visit *visit, const char *session)
{
    auto_fd int folder_fd = visit_session(visit, session);
    open_lines(visit, take_record, folder_fd, SESSION_JOURNAL,
               arena_printf(&visit->arena, "%s/bawn/sessions/%s/" SESSION_JOURNAL, visit->web->place->state,
                            session));
}

void stream_proof(struct visit *visit, const char *proof)
{
    auto_fd int folder_fd = proof_open(visit->web->place, proof);
    open_lines(
        visit, take_finding, folder_fd, PROOF_LINES,
        arena_printf(&visit->arena, "%s/bawn/proofs/%s/" PROOF_LINES, visit->web->place->state, proof));
}

void stream_sessions(struct visit *visit)
{
    struct arena *arena = &visit->arena;
    const char *folder = arena_printf(arena, "%s/bawn/sessions", visit->web->place->state);
    auto_fd int sessions_fd = visit_sessions(visit);
    auto_vec listed_list sessions = {0};
    const struct sessions_wanted wanted = {.arena = arena, .state = visit->web->place->state};
    struct stream *stream = begin(visit, NULL, -1);
    buf_add_str(&stream->out, "event: ready\ndata: ready\n\n");
    add_watch(stream, folder, IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO);
    sessions_find(&wanted, sessions_fd, &sessions);
    for (size_t i = 0; i < sessions.count && i < MOST_WATCHED; i++) {
        const struct listed *listed = &sessions.at[i];
        bool goes_on = listed->is_running || (listed->has_record && !record_is_over(&listed->record));
        if (goes_on)
            add_watch(stream, arena_printf(arena, "%s/%s", folder, listed->name),
                      IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO);
    }
}

/* Two streams may watch the same: the kernel has one watch for both. */
static void forget_watches(const struct stream *stream)
{
    const struct web *web = stream->web;
    for (size_t i = 0; i < stream->watches.count; i++) {
        bool is_watched = false;
        for (size_t j = 0; j < web->streams.count; j++)
            is_watched |= is_watching(web->streams.at[j], stream->watches.at[i]);
        if (!is_watched)
            inotify_rm_watch(web->notice_fd, stream->watches.at[i]);
    }
}

void stream_close(struct stream *stream)
{
    struct web *web = stream->web;
    for (size_t i = 0; i < web->streams.count; i++) {
        if (web->streams.at[i] == stream)
            memmove(&web->streams.at[i], &web->streams.at[i + 1],
                    (--web->streams.count - i) * sizeof(web->streams.at[0]));
    }
    forget_watches(stream);
    fd_close(stream->fd);
    vec_free(&stream->watches);
    buf_free(&stream->unread);
    buf_free(&stream->out);
    free(stream);
}
