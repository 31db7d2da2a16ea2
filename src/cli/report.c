#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/say.h"
#include "journal/session.h"
#include "report/page.h"
#include "session/changed.h"
#include "workspace/record.h"

enum { JOURNAL_MOST = 16 * 1024 * 1024 };

static void read_records(struct arena *arena, int session_fd, struct page *page)
{
    auto_fd int fd = openat(session_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    auto_buf struct buf text = {0};
    if (fd < 0 || (buf_read(&text, fd, JOURNAL_MOST) < 0 && !text.size))
        return;
    for (const char *line = buf_text(&text), *end; (end = strchr(line, '\n')); line = end + 1) {
        struct journal_record record;
        if (journal_record_parse(arena, line, (size_t)(end - line), &record))
            vec_push(&page->records, record);
    }
}

static void read_changes(const struct loaded *loaded, int session_fd, struct changed *ret_changed)
{
    struct record record;
    struct err ignored;
    if (record_load(session_fd, loaded->policy.arena, &record, &ignored) <= 0)
        return;
    ret_changed->count = record.changes;
    changed_find(loaded, session_fd, ret_changed);
}

/* The file is where the user says; a link in its place, which somebody inside may have put there, is not followed. */
static int write_file(const char *file, const struct buf *out, struct err *err)
{
    auto_fd int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t written = 0;
    while (fd >= 0 && written < out->size) {
        ssize_t now = write(fd, out->bytes + written, out->size - written);
        if (now <= 0)
            break;
        written += (size_t)now;
    }
    return fd < 0 || written < out->size ? err_sys(err, errno, "cannot write the report to %s", file) : 0;
}

int report_write(const struct world *world, struct loaded *loaded, int session_fd, const char *session,
                 const char *file)
{
    struct err err = {0};
    struct journal_end end;
    struct changed changed = {0};
    struct page page = {.session = session, .home = loaded->request.home, .changed = &changed};
    page.is_whole = journal_verify(session_fd, SESSION_JOURNAL, &end, &err) == 0;
    page.integrity =
        page.is_whole ? arena_printf(&loaded->arena, "%" PRIu64 " records, each follows from the one before.",
                                     end.records)
                      : arena_printf(&loaded->arena, "This journal does not hold together: %s.", err.message);
    read_records(&loaded->arena, session_fd, &page);
    read_changes(loaded, session_fd, &changed);
    auto_buf struct buf out = {0};
    page_add(&out, &loaded->arena, &page);
    for (size_t i = 0; i < page.records.count; i++)
        journal_record_free(&page.records.at[i]);
    vec_free(&page.records);
    changed_free(&changed);
    if (strcmp(file, "-") == 0) {
        put(world->out, &out);
    } else if (write_file(file, &out, &err) < 0) {
        say_err(world, &err);
        return EXIT_BAD_INPUT;
    }
    return page.is_whole ? EXIT_FINE : 1;
}
