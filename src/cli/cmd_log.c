/* What a session did, tried and was refused, from its journal. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/style.h"
#include "journal/read.h"
#include "journal/session.h"

enum { JOURNAL_LARGEST = 64 * 1024 * 1024, EXIT_NOT_WHOLE = 1 };

/* Events in which something was not given. */
static bool is_denial(const char *event)
{
    static const char *const denials[] = {"refused", "unreachable",     "held",
                                          "failed",  "network-trouble", "tripwire"};
    for (size_t i = 0; i < array_len(denials); i++) {
        if (strcmp(event, denials[i]) == 0)
            return true;
    }
    return false;
}

/* "2026-01-31T12:00:00.000Z" as the time of day here; the text itself where it is no such time. */
static const char *time_of_day(struct arena *arena, const char *at)
{
    struct tm parts = {0};
    const char *rest = strptime(at, "%Y-%m-%dT%H:%M:%S", &parts);
    if (!rest)
        return at;
    time_t moment = timegm(&parts);
    localtime_r(&moment, &parts);
    return arena_printf(arena, "%02d:%02d:%02d", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

static void add_line(struct buf *out, const struct style *style, struct arena *arena,
                     const struct journal_record *record)
{
    style_add(style, out, COLOUR_DIM, time_of_day(arena, record->at));
    buf_add_str(out, "  ");
    size_t columns =
        style_add(style, out, is_denial(record->event) ? COLOUR_RED : COLOUR_BOLD, record->event);
    for (; record->fields.count && columns < 15; columns++)
        buf_add_char(out, ' ');
    for (size_t i = 0; i < record->fields.count; i++) {
        buf_add_str(out, "  ");
        style_add(style, out, COLOUR_DIM, record->fields.at[i].name);
        buf_add_char(out, ' ');
        style_add_path(style, out, COLOUR_PLAIN, record->fields.at[i].text);
    }
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

static void print(const struct world *world, const struct args *args, struct loaded *loaded, const char *text)
{
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    struct style style = style_for_out(world);
    style.home = loaded->request.home;
    if (args->flags & FLAG_JSON)
        json_open(&json, NULL, '[');
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct journal_record record;
        if (!journal_record_parse(&loaded->arena, line, (size_t)(end - line), &record))
            continue; /* the check of the chain names it */
        if (args->flags & FLAG_JSON)
            add_json(&json, &record);
        else if (!(args->flags & FLAG_DENIED) || is_denial(record.event))
            add_line(&out, &style, &loaded->arena, &record);
        journal_record_free(&record);
    }
    if (args->flags & FLAG_JSON)
        json_close(&json, ']');
    put(world->out, &out);
}

/* The name that was given, or the latest session of this workspace; NULL after having said what is wrong. */
static const char *choose(const struct world *world, const struct args *args, struct loaded *loaded)
{
    const char *workspace =
        loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].path : loaded->request.directory;
    const char *name = args->words.count
                           ? args->words.at[0]
                           : session_latest(&loaded->arena, loaded->request.starts[START_STATE], workspace);
    if (!name)
        say_problem(world, "no session has been run here",
                    "`bawn log SESSION` shows one of another workspace");
    return name;
}

static int show_journal(const struct world *world, const struct args *args, struct loaded *loaded,
                        const char *name)
{
    struct err err = {0};
    const char *path = arena_printf(&loaded->arena, "%s/bawn/sessions/%s/" SESSION_JOURNAL,
                                    loaded->request.starts[START_STATE], name);
    char *text = NULL;
    size_t size;
    int found = strchr(name, '/') || *name == '.'
                    ? 0
                    : fs_read(&loaded->fs, path, JOURNAL_LARGEST, &text, &size, &err);
    if (found == 0) {
        say_problem(world, arena_printf(&loaded->arena, "there is no session %s", name),
                    "`bawn sessions --all` lists those that left something");
        return EXIT_BAD_INPUT;
    }
    auto_fd int folder_fd =
        found < 0 ? -1
                  : open(path_parent(&loaded->arena, path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uint64_t records = 0;
    int whole = folder_fd < 0 ? -1 : journal_verify(folder_fd, SESSION_JOURNAL, &records, &err);
    if (args->flags & FLAG_VERIFY && whole == 0)
        fprintf(world->out, "%s: %llu records, each follows from the one before\n", name,
                (unsigned long long)records);
    else if (found > 0 && !(args->flags & FLAG_VERIFY))
        print(world, args, loaded, text);
    if (whole < 0)
        say_err(world, &err);
    return whole < 0 ? EXIT_NOT_WHOLE : EXIT_FINE;
}

int cmd_log(const struct world *world, const struct args *args)
{
    struct loaded loaded = {0};
    int status = load_policy(world, args, &loaded);
    const char *name = status ? NULL : choose(world, args, &loaded);
    if (status == 0)
        status = name ? show_journal(world, args, &loaded, name) : EXIT_BAD_INPUT;
    loaded_free(&loaded);
    return status;
}
