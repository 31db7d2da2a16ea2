#include "cli/story.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/style.h"
#include "base/text.h"
#include "journal/read.h"
#include "journal/session.h"

enum { JOURNAL_LARGEST = 16 * 1024 * 1024, MOST_NAMED = 8 };

/* What the journal has of it. */
struct story {
    const char *command, *status; /* NULL: not there */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) refused; /* hosts, each once */
    size_t held;
};

static void add_once(struct story *story, const char *host)
{
    for (size_t i = 0; i < story->refused.count; i++) {
        if (strcmp(story->refused.at[i], host) == 0)
            return;
    }
    vec_push(&story->refused, host);
}

static void read_record(struct story *story, const struct journal_record *record)
{
    const char *host = journal_record_text(record, "host");
    if (strcmp(record->event, "start") == 0)
        story->command = journal_record_text(record, "command");
    else if (strcmp(record->event, "end") == 0)
        story->status = journal_record_text(record, "status");
    else if (strcmp(record->event, "held") == 0)
        story->held++;
    else if (strcmp(record->event, "refused") == 0 && host && *host)
        add_once(story, host);
}

static void read_journal(const struct choice *choice, struct arena *arena, struct story *ret_story)
{
    *ret_story = (struct story){0};
    auto_fd int fd = openat(choice->folder_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    auto_buf struct buf text = {0};
    if (fd < 0 || buf_read(&text, fd, JOURNAL_LARGEST) < 0)
        return; /* what it changed is known all the same */
    for (const char *line = buf_text(&text), *end; (end = strchr(line, '\n')); line = end + 1) {
        struct journal_record record;
        if (!journal_record_parse(arena, line, (size_t)(end - line), &record))
            continue;
        read_record(ret_story, &record);
        journal_record_free(&record);
    }
}

/* "3 hours", "12 minutes", "5 seconds" */
static void add_duration(struct buf *out, int64_t seconds)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}};
    for (size_t i = 0; i < array_len(units); i++) {
        long long count = seconds / units[i].seconds;
        if (count > 0) {
            buf_printf(out, "%lld %s%s", count, units[i].name, count == 1 ? "" : "s");
            return;
        }
    }
    buf_printf(out, "%lld second%s", (long long)seconds, seconds == 1 ? "" : "s");
}

static void add_counts(struct buf *out, const struct record *record, const change_list *changes)
{
    size_t added = 0, removed = 0, changed = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->at[i];
        if (!change_is_shown(change))
            continue;
        added += !change->before;
        removed += !change->after;
        changed += change->before && change->after;
    }
    buf_printf(out, "  %s: %zu new, %zu changed, %zu removed\n",
               record->mode == RECORD_LIVE ? "changed in the workspace" : "waiting to be applied", added,
               changed, removed);
}

static void add_flagged(const struct patch *patch, const change_list *changes, struct buf *out)
{
    for (size_t i = 0; i < changes->count; i++) {
        reason_list reasons;
        patch_reasons(patch, &changes->at[i], &reasons);
        if (reasons.count) {
            buf_add_str(out, "  ! ");
            style_add(&patch->style, out, COLOUR_YELLOW, changes->at[i].path);
            for (size_t j = 0; j < reasons.count; j++) {
                buf_add_str(out, j ? "; " : ": ");
                style_add(&patch->style, out, COLOUR_PLAIN, reasons.at[j]);
            }
            buf_add_char(out, '\n');
        }
        vec_free(&reasons);
    }
}

void story_add(const struct patch *patch, const struct choice *choice, const struct record *record,
               const change_list *changes, struct buf *out)
{
    struct story story;
    read_journal(choice, patch->arena, &story);
    style_add(&patch->style, out, COLOUR_BOLD, record->name);
    if (story.command) {
        buf_add_str(out, ": ");
        style_add(&patch->style, out, COLOUR_PLAIN, story.command);
    }
    buf_printf(out, ", %s, took ", age_text(patch->arena, record->ended));
    add_duration(out, record->ended.tv_sec - record->began.tv_sec);
    if (story.status && strcmp(story.status, "0") != 0) {
        buf_add_str(out, ", ended with status ");
        style_add(&patch->style, out, COLOUR_RED, story.status);
    }
    buf_add_char(out, '\n');
    add_counts(out, record, changes);
    for (size_t i = 0; i < story.refused.count && i < MOST_NAMED; i++) {
        buf_add_str(out, i ? ", " : "  not reached: ");
        style_add(&patch->style, out, COLOUR_RED, story.refused.at[i]);
    }
    if (story.refused.count > MOST_NAMED)
        buf_printf(out, " and %zu more", story.refused.count - MOST_NAMED);
    if (story.refused.count)
        buf_printf(out, " (`bawn log %s --denied`)\n", record->name);
    if (story.held)
        buf_printf(out, "  held aside: %zu (`bawn held %s`)\n", story.held, record->name);
    add_flagged(patch, changes, out);
    vec_free(&story.refused);
}
