/* The summary that opens a review: what a finished session ran, was refused and changed. */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "journal/journal.h"
#include "journal/session.h"
#include "report/summary.h"
#include "report/time_text.h"

enum { JOURNAL_LARGEST = 16 * 1024 * 1024, MOST_NAMED = 8 };

/* What the journal says about the session. */
struct recorded {
    const char *command, *status; /* NULL: not recorded */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) refused; /* hosts, each once */
    size_t held;
};

static void read_record(struct recorded *recorded, const struct journal_record *record)
{
    const char *host = journal_record_text(record, "host");
    if (strcmp(record->event, "start") == 0)
        recorded->command = journal_record_text(record, "command");
    else if (strcmp(record->event, "end") == 0)
        recorded->status = journal_record_text(record, "status");
    else if (strcmp(record->event, "held") == 0)
        recorded->held++;
    else if (strcmp(record->event, "refused") == 0 && host && *host &&
             !text_is_among(host, recorded->refused.at, recorded->refused.count))
        vec_push(&recorded->refused, host);
}

static void read_journal(int session_fd, struct arena *arena, struct recorded *ret_recorded)
{
    *ret_recorded = (struct recorded){0};
    auto_fd int fd = openat(session_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    auto_buf struct buf text = {0};
    if (fd < 0 || buf_read(&text, fd, JOURNAL_LARGEST) < 0)
        return; /* the changes can be shown without it */
    for (const char *line = buf_text(&text), *end; (end = strchr(line, '\n')); line = end + 1) {
        struct journal_record record;
        if (!journal_record_parse(arena, line, (size_t)(end - line), &record))
            continue;
        read_record(ret_recorded, &record);
        journal_record_free(&record);
    }
}

static void add_counts(struct buf *out, const struct record *record, const change_list *changes)
{
    size_t added = 0, removed = 0, changed = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->at[i];
        if (!change_counts(changes, i))
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
        auto_vec gate_reasons reasons = patch_reasons(patch, &changes->at[i]);
        if (reasons.count) {
            buf_add_str(out, "  ! ");
            style_add(&patch->style, out, COLOUR_YELLOW, changes->at[i].path);
            for (size_t j = 0; j < reasons.count; j++) {
                buf_add_str(out, j ? "; " : ": ");
                style_add(&patch->style, out, COLOUR_PLAIN, reasons.at[j]);
            }
            buf_add_char(out, '\n');
        }
    }
}

void review_summary_add(const struct patch *patch, int session_fd, const struct record *record,
                        const change_list *changes, struct buf *out)
{
    struct recorded recorded;
    read_journal(session_fd, patch->arena, &recorded);
    style_add(&patch->style, out, COLOUR_BOLD, record->name);
    if (recorded.command) {
        buf_add_str(out, ": ");
        style_add(&patch->style, out, COLOUR_PLAIN, recorded.command);
    }
    buf_printf(out, ", %s, took %s", age_text(patch->arena, record->ended),
               duration_text(patch->arena, record->ended.tv_sec - record->began.tv_sec));
    if (recorded.status && strcmp(recorded.status, "0") != 0) {
        buf_add_str(out, ", ended with status ");
        style_add(&patch->style, out, COLOUR_RED, recorded.status);
    }
    buf_add_char(out, '\n');
    add_counts(out, record, changes);
    for (size_t i = 0; i < recorded.refused.count && i < MOST_NAMED; i++) {
        buf_add_str(out, i ? ", " : "  not reached: ");
        style_add(&patch->style, out, COLOUR_RED, recorded.refused.at[i]);
    }
    if (recorded.refused.count > MOST_NAMED)
        buf_printf(out, " and %zu more", recorded.refused.count - MOST_NAMED);
    if (recorded.refused.count)
        buf_printf(out, " (`bawn log %s --denied`)\n", record->name);
    if (recorded.held)
        buf_printf(out, "  set aside: %zu (`bawn held %s`)\n", recorded.held, record->name);
    add_flagged(patch, changes, out);
    vec_free(&recorded.refused);
}
