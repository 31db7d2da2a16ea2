#include "session/capture.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "hold/aside.h"

enum { MOST_NAMED = 10, LINES_SHOWN = 12, COLUMNS_SHOWN = 120 };

/* Shows the first lines of the new content, control characters made visible. */
static void show_content(const struct caller *caller, const struct file_content *content)
{
    auto_buf struct buf out = {0};
    const char *at = bytes_known(content->bytes) ? content->bytes.at : "", *end = at + content->bytes.size;
    for (int lines = 0; at < end && lines < LINES_SHOWN; lines++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((line_end ? line_end : end) - at);
        buf_add_str(&out, "  | ");
        text_add_printable(&out, at, size < COLUMNS_SHOWN ? size : COLUMNS_SHOWN);
        buf_add_char(&out, '\n');
        at += size + (line_end != NULL);
    }
    if (at < end)
        buf_add_str(&out, "  | ...\n");
    caller->speaker->show(caller->speaker, &out);
}

static const char *sentence(struct arena *arena, const struct new_content *change)
{
    if (change->why)
        return arena_printf(arena, "%s %s", change->now->path, change->why);
    if (change->is_removed)
        return arena_printf(arena, "%s, a flagged file, was deleted", change->now->path);
    return change->runs ? arena_printf(arena, "%s is new, and git on your machine would run %s",
                                       change->now->path, change->runs)
                        : arena_printf(arena, "%s is %s, and programs on your machine may run or obey it",
                                       change->now->path, change->before ? "changed" : "new");
}

/* Asks whether the file stays. 'a', 's' and 'b' answer for all that follow; 's' and 'b' mean the same. */
static bool shall_keep(const struct caller *caller, struct arena *arena, const struct new_content *change,
                       char *answer_for_all)
{
    if (*answer_for_all)
        return *answer_for_all == 'a';
    caller_say(caller, sentence(arena, change), NULL);
    show_content(caller, change->is_removed ? change->before : change->now);
    const char *question = change->is_removed
                               ? "Leave it deleted? [y]es, [a]ll, [N]o: bring it back, [b]ring all back: "
                               : "Keep it? [y]es, [a]ll, [N]o: set it aside, [s]et all aside: ";
    char key = caller->speaker->ask(caller->speaker, question);
    bool is_none = key == 's' || key == 'b' || (key < ' ' && key != '\n'); /* or no answer at all */
    if (key == 'a' || is_none)
        *answer_for_all = key == 'a' ? 'a' : 's';
    return key == 'y' || key == 'Y' || key == 'a';
}

void flagged_say_sightings(const struct caller *caller, const struct flags *flags)
{
    struct arena *arena = flags->hold->arena;
    size_t named = 0;
    for (size_t i = 0; i < flags->sightings.count; i++) {
        const struct sighting *seen = &flags->sightings.at[i];
        journal_event(&flags->hold->session->journal, "seen", "what", seen->what, "path", seen->path);
        if (seen->hint || (caller->speaker->is_read && named++ < MOST_NAMED))
            caller_say(caller, arena_printf(arena, "the command left %s: %s", seen->what, seen->path),
                       seen->hint);
    }
}

typedef VEC(const char *) path_list;

/* How many files lie in the directories that were held as a whole. */
static size_t count_in_directories(const struct hold *hold, const path_list *directories)
{
    auto_arena struct arena arena = {0};
    auto_vec held_list held = {0};
    size_t count = 0;
    aside_find(&arena, hold->session->folder_fd, &held);
    for (size_t i = 0; i < directories->count; i++) {
        for (size_t j = 0; j < held.count; j++)
            count += path_is_inside(held.at[j].path, directories->at[i]);
    }
    return count;
}

/* "2 files and 1 folder (5 files) are" */
static const char *held_text(const struct hold *hold, size_t files, const path_list *directories)
{
    struct arena *arena = hold->arena;
    size_t folders = directories->count, inside = folders ? count_in_directories(hold, directories) : 0;
    const char *verb = files + folders == 1 ? "is" : "are";
    const char *of_files = arena_printf(arena, "%zu file%s", files, files == 1 ? "" : "s");
    if (!folders)
        return arena_printf(arena, "%s %s", of_files, verb);
    return arena_printf(arena, "%s%s%zu folder%s (%zu file%s) %s", files ? of_files : "",
                        files ? " and " : "", folders, folders == 1 ? "" : "s", inside,
                        inside == 1 ? "" : "s", verb);
}

static void say_held(const struct caller *caller, const struct hold *hold, size_t held,
                     const path_list *directories)
{
    const char *name = hold->session->name;
    if (held)
        caller_say(caller,
                   arena_printf(hold->arena, "%s set aside",
                                held_text(hold, held - directories->count, directories)),
                   arena_printf(hold->arena,
                                "`bawn held %s` lists them, `bawn held --keep %s` puts them back", name,
                                name));
}

size_t flagged_decide(const struct caller *caller, struct flags *flags, bool keep_all, bool may_ask)
{
    struct hold *hold = flags->hold;
    char for_all = keep_all ? 'a' : may_ask && caller->speaker->can_answer ? '\0' : 's';
    auto_vec path_list directories = {0};
    size_t held = 0, kept = 0, restored = 0;
    for (size_t i = 0; i < flags->changes.count; i++) {
        const struct new_content *change = &flags->changes.at[i];
        struct err err = {0};
        if (!change->breaks && shall_keep(caller, hold->arena, change, &for_all)) {
            journal_event(&hold->session->journal, "kept", "path", change->now->path);
            kept++;
        } else if (flags_hold(flags, change, &err) < 0) {
            caller_say_err(caller, &err);
        } else {
            bool is_named = (change->is_removed ? restored++ : held++) < MOST_NAMED;
            if (!change->is_removed && S_ISDIR(change->now->mode))
                vec_push(&directories, change->now->path);
            if (is_named)
                caller_say(caller,
                           arena_printf(hold->arena, "%s: it is %s", sentence(hold->arena, change),
                                        change->is_removed ? "brought back" : "set aside"),
                           NULL);
        }
    }
    for (size_t i = 0; i < flags->cleared.count; i++)
        caller_say(caller,
                   arena_printf(hold->arena,
                                "%s was put where a directory with flagged files was: it is set aside",
                                flags->cleared.at[i]),
                   NULL);
    held += flags->cleared.count;
    say_held(caller, hold, held, &directories);
    if (restored > MOST_NAMED)
        caller_say(caller, arena_printf(hold->arena, "%zu deleted flagged files were restored", restored),
                   NULL);
    if (kept && caller->speaker->is_read)
        caller_note(caller,
                    arena_printf(hold->arena, "%zu flagged file%s kept", kept, kept == 1 ? " is" : "s are"),
                    NULL);
    return held;
}
