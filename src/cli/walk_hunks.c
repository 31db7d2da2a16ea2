#include <string.h>

#include "cli/say.h"
#include "cli/walk.h"

static const char hunk_help[] = "  y  take this hunk            n  leave it\n"
                                "  x  throw it away             s  split it into smaller ones\n"
                                "  a  take this and all that follow in this file\n"
                                "  d  leave this and all that follow in this file\n"
                                "  k  the one before            j  the next, this one undecided\n"
                                "  q  enough: whatever is left undecided is left as it is\n";

/* An answer for this one and all that follow. */
static void answer_rest(struct item *item, size_t from, enum answer answer)
{
    for (size_t i = from; i < item->hunk_answers.count; i++)
        item->hunk_answers.at[i] = (char)answer;
}

static bool split(struct item *item, size_t number)
{
    size_t parts = hunks_split(&item->hunks, number);
    for (size_t i = 1; i < parts; i++)
        vec_push(&item->hunk_answers, ANSWER_NONE);
    /* Those that follow keep their answers. */
    size_t moved = item->hunk_answers.count - parts - number;
    memmove(item->hunk_answers.at + number + parts, item->hunk_answers.at + number + 1, moved);
    memset(item->hunk_answers.at + number, ANSWER_NONE, parts);
    return parts > 1;
}

/* Does what the key says. Returns the next hunk's number. */
static size_t obey(struct walk *walk, struct item *item, size_t number, char key)
{
    size_t count = item->hunks.list.count;
    switch (key) {
    case 'a':
        answer_rest(item, number, ANSWER_YES);
        return count;
    case 'd':
        answer_rest(item, number, ANSWER_NO);
        return count;
    case 'k':
        return number ? number - 1 : 0;
    case 'j':
        return number + 1;
    case 's':
        if (!split(item, number))
            fputs("There is no line in its middle that stayed: it cannot be split.\n", walk->world->out);
        return number;
    default:
        item->hunk_answers.at[number] = key;
        return number + 1;
    }
}

char walk_ask_hunks(struct walk *walk, struct item *item)
{
    struct change change = walk_change(walk, item->members.at[0]);
    struct arena *arena = walk->patch->arena;
    auto_buf struct buf head = {0};
    patch_add_head(walk->patch, &change, &head);
    put(walk->world->out, &head);
    item->answer = ANSWER_HUNKS;
    for (size_t i = 0; i < item->hunks.list.count;) {
        auto_buf struct buf shown = {0};
        patch_add_hunk(walk->patch, &item->hunks, i, &shown);
        const char *question = arena_printf(arena, "(%zu/%zu) %s", i + 1, item->hunks.list.count,
                                            walk->is_live ? "Keep this hunk" : "Apply this hunk");
        char key = walk_question(walk, &shown, question, "ynxsadkjq", hunk_help);
        if (key == KEY_CANCEL || key == KEY_END || key == 'q')
            return key;
        i = obey(walk, item, i, key);
    }
    return '\0';
}
