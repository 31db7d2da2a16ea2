/* `bawn log`: shows a session's journal, or verifies its hash chain. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/say.h"
#include "journal/session.h"
#include "kernel/beneath.h"
#include "report/event.h"
#include "report/summary.h"
#include "report/time_text.h"
#include "session/capture.h"
#include "session/load.h"
#include "workspace/record.h"

const char log_usage[] = "bawn log [SESSION] [--denied] [--net] [--files] [--exec] [--asked]\n"
                         "                [--since TIME] [--grep TEXT] [--follow] [--json]\n"
                         "       bawn log [SESSION] --report FILE | --verify\n"
                         "\n"
                         "Show the journal of a session. Without SESSION: the latest of this workspace.\n"
                         "\n"
                         "  --denied       only what was refused, not reached or set aside, and decoys\n"
                         "  --net          only the network; combine with --files and --exec\n"
                         "  --files        only flagged files and opened decoys\n"
                         "  --exec         only processes\n"
                         "  --asked        only questions from inside, and their answers\n"
                         "  --since TIME   only the last 90s, 30m, 2h, 1d\n"
                         "  --grep TEXT    only lines that contain TEXT, ignoring case\n"
                         "  --follow       keep printing until the session ends\n"
                         "  --report FILE  write everything as one HTML page; - is standard output\n"
                         "  --verify       check the hash chain; exit status 1 if it is broken\n"
                         "  --json         print JSON; with --follow one object per line\n"
                         "\n"
                         "  bawn log\n"
                         "  bawn log my-app-3 --denied --since 2h\n"
                         "  bawn log --report run.html\n";

enum { EXIT_NOT_WHOLE = 1, LINE_LONGEST = 256 * 1024 };

struct view {
    const struct world *world;
    const struct args *args;
    struct loaded *loaded;
    struct style style;
    const char *name; /* the session's name */
    int sessions_fd, folder_fd, journal_fd;
    time_t since;   /* 0: from the beginning */
    unsigned kinds; /* 0: all */
};

/* --- which records -------------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct view *view, const struct journal_record *record, const char *sentence)
{
    unsigned kinds = event_kinds(record->event);
    struct timespec time;
    if (view->args->flags & FLAG(DENIED) && !(kinds & EVENT_DENIED))
        return false;
    if (view->kinds && !(kinds & view->kinds))
        return false;
    if (view->since && (!event_time(record, &time) || time.tv_sec < view->since))
        return false;
    return !view->args->grep || strcasestr(sentence, view->args->grep) ||
           strcasestr(record->event, view->args->grep);
}

/* --- one record ------------------------------------------------------------------------------------------------------ */

/* The local time of day; the text itself if it is not a time. */
static const char *time_of_day(struct arena *arena, const struct journal_record *record)
{
    struct timespec time;
    struct tm parts;
    if (!event_time(record, &time))
        return record->at;
    localtime_r(&time.tv_sec, &parts);
    return arena_printf(arena, "%02d:%02d:%02d", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

static void add_line(const struct view *view, struct buf *out, const struct journal_record *record,
                     const char *sentence)
{
    enum { EVENT_COLUMNS = 12 };
    auto_arena struct arena arena = {0};
    bool is_denial = event_kinds(record->event) & EVENT_DENIED;
    style_add(&view->style, out, COLOUR_DIM, time_of_day(&arena, record));
    buf_add_str(out, "  ");
    size_t columns = style_add(&view->style, out, is_denial ? COLOUR_RED : COLOUR_BOLD, record->event);
    for (; *sentence && columns < EVENT_COLUMNS; columns++)
        buf_add_char(out, ' ');
    buf_printf(out, "%s%s", *sentence ? "  " : "", sentence); /* already printable */
    const char *lost = journal_record_text(record, "lost");
    if (lost)
        style_add(&view->style, out, COLOUR_YELLOW,
                  arena_printf(&arena, "  (%s earlier events are not recorded)", lost));
    buf_add_char(out, '\n');
}

static void add_json(struct json *json, const struct journal_record *record)
{
    json_open(json, NULL, '{');
    json_int(json, "n", (int64_t)record->number);
    json_str(json, "at", record->at);
    json_str(json, "event", record->event);
    for (size_t i = 0; i < record->fields.count; i++)
        json_str(json, record->fields.at[i].name, record->fields.at[i].text);
    json_close(json, '}');
}

/* Adds a line of the journal, if it is a record and passes the filters. --follow makes each JSON object a line. */
static void show_line(const struct view *view, const char *line, size_t size, struct buf *out,
                      struct json *json)
{
    auto_arena struct arena arena = {0};
    struct journal_record record;
    auto_buf struct buf sentence = {0};
    /* A line that is not a record is reported by verify(). */
    if (journal_record_parse(&arena, line, size, &record)) {
        event_add_sentence(&sentence, &record, view->loaded->request.home);
        bool as_json = view->args->flags & FLAG(JSON), follows = view->args->flags & FLAG(FOLLOW);
        struct json alone = {.out = out, .on_one_line = true};
        if (!is_wanted(view, &record, buf_text(&sentence)))
            ;
        else if (as_json)
            add_json(follows ? &alone : json, &record);
        else
            add_line(view, out, &record, buf_text(&sentence));
        if (as_json && follows && out->size && out->bytes[out->size - 1] == '}')
            buf_add_char(out, '\n');
        journal_record_free(&record);
    }
}

/* --- the journal ------------------------------------------------------------------------------------------------------ */

/* Shows the new lines; an incomplete line stays in `unread`. Returns whether anything was read. */
static bool show_new(const struct view *view, struct buf *unread, struct json *json, struct buf *out)
{
    char part[65536];
    ssize_t got = read(view->journal_fd, part, sizeof(part));
    if (got <= 0)
        return false;
    buf_add(unread, part, (size_t)got);
    size_t done = 0;
    for (const char *end; (end = memchr(unread->bytes + done, '\n', unread->size - done));) {
        size_t size = (size_t)(end - unread->bytes) - done;
        show_line(view, unread->bytes + done, size, out, json);
        done += size + 1;
    }
    memmove(unread->bytes, unread->bytes + done, unread->size - done);
    unread->size -= done;
    if (unread->size > LINE_LONGEST)
        unread->size = 0; /* longer than any record */
    return true;
}

static void show_all(const struct view *view)
{
    auto_buf struct buf unread = {0}, out = {0};
    struct json json = {.out = &out};
    bool as_json = view->args->flags & FLAG(JSON);
    if (as_json)
        json_open(&json, NULL, '[');
    while (show_new(view, &unread, &json, &out)) {
        if (!as_json) {
            put(view->world->out, &out);
            out.size = 0;
        }
    }
    if (as_json) {
        json_close(&json, ']');
        buf_add_char(&out, '\n');
    }
    put(view->world->out, &out);
}

/* Shows new records until the session ends or the reader closes the output. */
static void follow(const struct view *view)
{
    enum { LOOK_MILLISECONDS = 1000 }; /* a killed session writes no last record */
    auto_buf struct buf unread = {0};
    auto_fd int watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    inotify_add_watch(watch_fd, fd_path(view->journal_fd).text, IN_MODIFY);
    for (bool is_over = false; !is_over && !ferror(view->world->out);) {
        is_over = !record_is_busy(view->sessions_fd,
                                  view->name); /* before reading: the last records come before the end */
        auto_buf struct buf out = {0};
        while (show_new(view, &unread, NULL, &out)) {
        }
        put(view->world->out, &out);
        fflush(view->world->out);
        struct pollfd ready = {.fd = watch_fd, .events = POLLIN};
        char events[4096];
        if (!is_over && poll(&ready, 1, LOOK_MILLISECONDS) > 0 && read(watch_fd, events, sizeof(events)) < 0)
            continue;
    }
}

static int verify(const struct view *view, bool is_asked)
{
    struct err err = {0};
    struct journal_end end;
    if (journal_verify(view->folder_fd, SESSION_JOURNAL, &end, &err) < 0) {
        say_err(view->world, &err);
        return EXIT_NOT_WHOLE;
    }
    if (is_asked)
        fprintf(view->world->out, "%s: %" PRIu64 " records, hash chain intact\nlast hash: %s\n", view->name,
                end.records, end.chain);
    return EXIT_FINE;
}

/* --- the verb ---------------------------------------------------------------------------------------------------------- */

/* The named session, or the latest of this workspace; NULL after saying what is wrong. */
static const char *choose(const struct world *world, const struct args *args, struct loaded *loaded)
{
    const char *workspace =
        loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].path : loaded->request.directory;
    const char *name = args->words.count
                           ? args->words.at[0]
                           : session_latest(&loaded->arena, loaded->request.starts[START_STATE], workspace);
    if (!name)
        say_problem(world, "no session has run here",
                    "`bawn log SESSION` shows a session of another workspace");
    return name;
}

static int open_session(struct view *view)
{
    struct arena *arena = &view->loaded->arena;
    view->sessions_fd = sessions_open(view->loaded);
    view->folder_fd = session_open(view->sessions_fd, view->name);
    view->journal_fd = view->folder_fd < 0 ? -1
                                           : openat(view->folder_fd, SESSION_JOURNAL,
                                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (view->journal_fd >= 0)
        return 0;
    return say_bad_input(view->world, arena_printf(arena, "there is no session %s", view->name),
                         "`bawn sessions --all` lists all sessions");
}

/* "-" is standard output. O_NOFOLLOW, because a sandbox may have put a symlink there. */
static int write_report(const struct view *view, const char *file)
{
    struct loaded *loaded = view->loaded;
    struct changed changed = {0};
    struct record record;
    struct err err = {0}, ignored;
    if (record_load(view->folder_fd, loaded->policy.arena, &record, &ignored) > 0) {
        changed.count = record.changes;
        changed_find(loaded, view->folder_fd, &changed);
    }
    auto_buf struct buf out = {0};
    bool is_whole =
        session_page_add(&out, &loaded->arena, view->folder_fd, view->name, loaded->request.home, &changed);
    changed_free(&changed);
    if (strcmp(file, "-") == 0) {
        put(view->world->out, &out);
        return is_whole ? EXIT_FINE : EXIT_NOT_WHOLE;
    }
    if (destination_write(&loaded->arena, &loaded->request, file, &out, &err) < 0)
        return say_refused(view->world, &err);
    return is_whole ? EXIT_FINE : EXIT_NOT_WHOLE;
}

static int show(struct view *view)
{
    flag_set flags = view->args->flags;
    uint64_t seconds = 0;
    if (view->args->since && !duration_parse(view->args->since, &seconds))
        return say_bad_input(
            view->world,
            arena_printf(&view->loaded->arena, "'%s' is not a length of time", view->args->since),
            "write a number and s, m, h, d or w, such as --since 2h");
    view->since = view->args->since ? time(NULL) - (time_t)seconds : 0;
    view->kinds =
        ((flags & FLAG(LOG_NET)) ? EVENT_NET : 0U) | ((flags & FLAG(LOG_FILES)) ? EVENT_FILES : 0U) |
        ((flags & FLAG(LOG_EXEC)) ? EVENT_EXEC : 0U) | ((flags & FLAG(LOG_ASKED)) ? EVENT_ASKED : 0U);
    int status = open_session(view);
    if (status)
        return status;
    if (flags & FLAG(VERIFY))
        return verify(view, true);
    if (view->args->report)
        return write_report(view, view->args->report);
    if (flags & FLAG(FOLLOW))
        follow(view);
    else
        show_all(view);
    return verify(view, false);
}

int cmd_log(const struct world *world, const struct args *args)
{
    const struct run_request request = args_request(args);
    auto_loaded struct loaded loaded = {0};
    int status = load_policy(&world->caller, &request, &loaded);
    struct view view = {
        .world = world,
        .args = args,
        .loaded = &loaded,
        .style = style_for_out(world, NULL),
        .sessions_fd = -1,
        .folder_fd = -1,
        .journal_fd = -1,
    };
    if (status == 0) {
        view.name = choose(world, args, &loaded);
        status = view.name ? show(&view) : EXIT_BAD_INPUT;
    }
    const int fds[] = {view.journal_fd, view.folder_fd, view.sessions_fd};
    for (size_t i = 0; i < array_len(fds); i++)
        fd_close(fds[i]);
    return status;
}
