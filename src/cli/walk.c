#include "cli/walk.h"

#include <string.h>

#include "base/text.h"
#include "cli/say.h"
#include "git/paths.h"

static const char aside_help[] = "  y  apply it                  n  leave it: it waits\n"
                                 "  x  throw it away             h  hunk by hunk\n"
                                 "  A  apply this and all that follow, but for what is flagged\n"
                                 "  k  the one before            j  the next, this one undecided\n"
                                 "  q  enough: whatever is left undecided waits\n"
                                 "  Ctrl-C  nothing happens at all\n";
static const char live_help[] = "  y  keep it                   x  take it back\n"
                                "  h  hunk by hunk\n"
                                "  A  keep this and all that follow, but for what is flagged\n"
                                "  k  the one before            j  the next, this one undecided\n"
                                "  q  enough: whatever is left undecided is kept\n"
                                "  Ctrl-C  nothing happens at all\n";
static const char conflict_help[] =
    "You have changed this file since.\n"
    "  m  join both                 t  overwrite yours with the session's\n"
    "  n  leave it: it waits        x  keep yours, and give up the session's\n"
    "  k  the one before            j  the next, this one undecided\n"
    "  q  enough                    Ctrl-C  nothing happens at all\n";

/* --- a question --------------------------------------------------------------------------------------------------- */

/* The next screen of a text. Returns where it ends. */
static size_t show_screen(const struct walk *walk, const struct buf *text, size_t from)
{
    size_t at = from;
    for (size_t rows = keys_rows(&walk->keys) - 3; at < text->size && rows; rows--) {
        const char *end = memchr(text->bytes + at, '\n', text->size - at);
        at = end ? (size_t)(end - text->bytes) + 1 : text->size;
    }
    fwrite(buf_text(text) + from, 1, at - from, walk->world->out);
    return at;
}

char walk_question(struct walk *walk, const struct buf *text, const char *question, const char *keys,
                   const char *help)
{
    FILE *out = walk->world->out;
    auto_buf struct buf prompt = {0};
    size_t shown = text->size ? show_screen(walk, text, 0) : 0;
    for (;;) {
        prompt.size = 0;
        style_add(&walk->patch->style, &prompt, COLOUR_BOLD, question);
        buf_add_str(&prompt, " [");
        for (const char *key = keys; *key; key++)
            buf_printf(&prompt, "%c,", *key);
        buf_printf(&prompt, "?]%s ", shown < text->size ? " (space shows more)" : "");
        put(out, &prompt);
        fflush(out);
        char key = keys_read(&walk->keys);
        bool is_known = key && strchr(keys, key);
        fprintf(out, "%c\n", is_known ? key : ' ');
        if (is_known || key == KEY_CANCEL || key == KEY_END)
            return key;
        if (key == ' ' && shown < text->size)
            shown = show_screen(walk, text, shown);
        else if (key == '?')
            fputs(help, out);
    }
}

/* --- what is shown of an item ------------------------------------------------------------------------------------- */

/* Where the branches stood and stand: the rest of a repository says nothing to a person. */
static void add_repository(const struct walk *walk, const struct item *item, struct buf *out)
{
    const char *path = walk->decisions->at[item->members.at[0]].judged.change.path;
    const char *git = arena_copy(walk->patch->arena, path, git_directory_size(path) - 1);
    buf_add_str(out, "The repository in ");
    style_add(&walk->patch->style, out, COLOUR_BOLD, git);
    buf_printf(out, ", %zu file%s:\n", item->members.count, item->members.count == 1 ? "" : "s");
    for (size_t i = 0; i < item->members.count; i++) {
        struct change change = walk_change(walk, item->members.at[i]);
        auto_buf struct buf old = {0}, new = {0};
        const char *inner = change.path + strlen(git) + 1;
        if (!git_is_position(change.path) || text_starts_with(inner, "logs/") ||
            patch_read(walk->patch, &change, &old, &new))
            continue;
        enum { HASH_SHOWN = 12 };
        buf_add_str(out, "  ");
        style_add(&walk->patch->style, out, COLOUR_PLAIN, inner);
        buf_add_str(out, "  ");
        text_add_printable(out, buf_text(&old), old.size < HASH_SHOWN ? old.size : HASH_SHOWN);
        buf_add_str(out, " -> ");
        text_add_printable(out, buf_text(&new), new.size < HASH_SHOWN ? new.size : HASH_SHOWN);
        buf_add_char(out, '\n');
    }
}

static void add_item(const struct walk *walk, const struct item *item, struct buf *out)
{
    if (item->is_repository) {
        add_repository(walk, item, out);
        return;
    }
    for (size_t i = 0; i < item->members.count; i++) {
        struct change change = walk_change(walk, item->members.at[i]);
        patch_add_diff(walk->patch, &change, out);
    }
}

/* A conflict three ways; where nothing clashes, both are joined for the case that they shall be. */
static bool add_conflict(struct walk *walk, struct item *item, struct buf *out)
{
    const struct decision *decision = &walk->decisions->at[item->members.at[0]];
    struct err ignored;
    auto_conflict struct conflict conflict;
    style_add(&walk->patch->style, out, COLOUR_YELLOW, "! ");
    style_add(&walk->patch->style, out, COLOUR_YELLOW, decision->why);
    buf_add_char(out, '\n');
    if (conflict_read(&walk->carry->transition, walk->patch->store, decision, &conflict, &ignored) <= 0)
        return false;
    struct merge merge = {&conflict.base, &conflict.ours, &conflict.theirs, "yours", walk->carry->of->name};
    auto_buf struct buf clashes = {0};
    item->joined.size = 0;
    if (merge_texts(&merge, &item->joined) == 0) {
        buf_add_str(out, "Nothing of it clashes: m joins both.\n");
        return true;
    }
    merge_clashes(&merge, &clashes);
    conflict_add(out, &walk->patch->style, buf_text(&clashes));
    return false;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

static char ask_item(struct walk *walk, struct item *item, size_t number)
{
    bool has_conflict = false, can_join = false;
    auto_buf struct buf shown = {0};
    for (size_t i = 0; i < item->members.count; i++)
        has_conflict |= walk->decisions->at[item->members.at[i]].course == COURSE_CONFLICT;
    add_item(walk, item, &shown);
    if (has_conflict)
        can_join = item->members.count == 1 && add_conflict(walk, item, &shown);
    bool has_hunks = walk_find_hunks(walk, item);
    const char *path = walk_change(walk, item->members.at[0]).path;
    const char *question = arena_printf(walk->patch->arena, "(%zu/%zu) %s %s", number + 1, walk->items.count,
                                        walk->is_live ? "Keep" : "Apply",
                                        item->is_repository ? "the repository's changes" : path);
    if (has_conflict)
        return walk_question(walk, &shown, question, can_join ? "mntxkjq" : "ntxkjq", conflict_help);
    if (walk->by_hunks && has_hunks)
        return ANSWER_HUNKS;
    if (walk->is_live)
        return walk_question(walk, &shown, question, has_hunks ? "yxhAkjq" : "yxAkjq", live_help);
    return walk_question(walk, &shown, question, has_hunks ? "ynxhAkjq" : "ynxAkjq", aside_help);
}

/* Those that follow and are neither flagged nor in conflict. */
static void answer_rest(struct walk *walk, size_t from)
{
    for (size_t i = from; i < walk->items.count; i++) {
        struct item *item = &walk->items.at[i];
        bool goes = !item->is_risky || i == from;
        for (size_t j = 0; j < item->members.count; j++)
            goes &= walk->decisions->at[item->members.at[j]].course == COURSE_GO;
        if (goes)
            item->answer = ANSWER_YES;
    }
}

/* The next item without an answer, or the end. */
static size_t next_open(const struct walk *walk, size_t from)
{
    while (from < walk->items.count && walk->items.at[from].answer)
        from++;
    return from;
}

bool walk_ask(struct walk *walk)
{
    for (size_t i = 0; i < walk->items.count;) {
        struct item *item = &walk->items.at[i];
        char key = ask_item(walk, item, i);
        if (key == ANSWER_HUNKS)
            key = walk_ask_hunks(walk, item);
        switch (key) {
        case KEY_CANCEL:
            return false;
        case KEY_END:
        case 'q':
            return true;
        case 'k':
            i -= i > 0;
            break;
        case 'j':
            i++;
            break;
        case 'A':
            answer_rest(walk, i);
            i = next_open(walk, i);
            break;
        case '\0': /* its hunks have their answers */
            i = next_open(walk, i + 1);
            break;
        default:
            item->answer = (enum answer)key;
            i = next_open(walk, i + 1);
        }
    }
    return true;
}
