#include "workspace/repo_texts.h"

#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "workspace/reconcile.h"

enum { LOG_LARGEST = 16 * 1024 * 1024 };

/* "checkout: moving from A to B", "rebase (finish): returning to refs/heads/B" */
static void read_line(const char *line, size_t size, reflogs_branch *add, void *context)
{
    static const char moving[] = "\tcheckout: moving from ", to[] = " to ",
                      back[] = "returning to refs/heads/";
    const char *at = memmem(line, size, moving, strlen(moving)), *end = line + size;
    if (at) {
        at += strlen(moving);
        const char *middle = memmem(at, (size_t)(end - at), to, strlen(to));
        if (!middle)
            return;
        add(context, at, (size_t)(middle - at));
        add(context, middle + strlen(to), (size_t)(end - middle) - strlen(to));
    } else if ((at = memmem(line, size, back, strlen(back)))) {
        at += strlen(back);
        add(context, at, (size_t)(end - at));
    }
}

/* The lines that the run has added. If lines were removed, nobody can tell which those are. */
void reflogs_find_branches(const struct repo_texts *texts, reflogs_branch *add, void *context)
{
    auto_buf struct buf start = {0}, end = {0};
    bool was_there = repo_texts_read(texts, START, "logs/HEAD", LOG_LARGEST, &start);
    if (!repo_texts_read(texts, END, "logs/HEAD", LOG_LARGEST, &end) ||
        (was_there && !text_starts_with(buf_text(&end), buf_text(&start))))
        return;
    for (const char *line = buf_text(&end) + strlen(buf_text(&start)), *line_end; *line;
         line = *line_end ? line_end + 1 : line_end) {
        line_end = strchrnul(line, '\n');
        read_line(line, (size_t)(line_end - line), add, context);
    }
}

int reflogs_decide(const struct repo_texts *texts, const struct transition *transition,
                   struct decision *decision, struct err *err)
{
    const struct change *change = &decision->judged.change;
    const char *inner = repo_texts_inner(texts, change->path);
    auto_buf struct buf start = {0}, now = {0};
    bool is_gone = change->after && !decision->judged.now.path;
    if (is_gone || transition->overwrites)
        return 0;
    decision->course = COURSE_DONE;
    if (!change->after || !S_ISREG(change->after->mode) ||
        !repo_texts_read(texts, START, inner, LOG_LARGEST, &start) ||
        !repo_texts_read(texts, NOW, inner, LOG_LARGEST, &now))
        return 0;
    size_t line = strcspn(buf_text(&now), "\n");
    bool has_expired = line && memmem(buf_text(&start), start.size, buf_text(&now), line);
    if (has_expired || text_starts_with(buf_text(&now), buf_text(&start)))
        return 0;
    struct entry *entry;
    buf_add(&start, buf_text(&now), now.size);
    if (entry_of_text(texts->store, texts->arena, change->after, &start, &entry, err) < 0)
        return -1;
    decision->judged.change.after = entry;
    decision->judged.judgement = JUDGED_CONFLICT; /* its present content is saved first */
    decision->course = COURSE_GO;
    decision->why = now.size ? "it has the lines of the run, too" : NULL;
    return 0;
}

void reflogs_decide_removed(const struct repo_texts *texts, struct decision *log, const char *value)
{
    auto_buf struct buf head = {0};
    if (!log->judged.change.after && log->judged.now.path && *value &&
        repo_texts_read(texts, NOW, "logs/HEAD", LOG_LARGEST, &head) && strstr(buf_text(&head), value))
        log->course = COURSE_GO;
}

/* Does the log have a line for a stash that the other one lacks? The second field of a line names the stash. */
static bool has_more(const struct buf *log, const struct buf *other)
{
    for (const char *line = buf_text(log), *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t first = strcspn(line, " \n"),
               second = line[first] == ' ' ? strcspn(line + first + 1, " \n") : 0;
        if (second && !memmem(buf_text(other), other->size, line + first, second + 2))
            return true;
    }
    return false;
}

void reflogs_decide_stash(const struct repo_texts *texts, const struct transition *transition,
                          struct decision *ref, struct decision *log)
{
    auto_buf struct buf start = {0}, end = {0};
    struct decision *told = ref ? ref : log;
    if (!told || transition->overwrites)
        return;
    bool was_there = repo_texts_read(texts, START, REFLOGS_STASH_LOG, LOG_LARGEST, &start);
    bool is_there = repo_texts_read(texts, END, REFLOGS_STASH_LOG, LOG_LARGEST, &end);
    bool was_added = is_there && has_more(&end, &start), was_dropped = was_there && has_more(&start, &end);
    bool is_gone =
        repo_texts_value(texts, START, REFLOGS_STASH) && !repo_texts_value(texts, NOW, REFLOGS_STASH);
    bool is_since = (ref && ref->course == COURSE_CONFLICT) || (log && log->course == COURSE_CONFLICT);
    if ((was_dropped || is_gone) && !was_added && !is_since)
        return;
    if (log)
        log->course = COURSE_DONE;
    told->course = was_added || was_dropped ? COURSE_HELD : COURSE_DONE;
    told->why = is_since    ? "it was changed since"
                : was_there ? "it was changed during the run, perhaps by you (--force takes that back)"
                            : "it was made during the run, perhaps by you (--force removes it)";
}
