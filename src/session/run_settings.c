/*
 * Frozen files that were changed outside while the command runs: the user hears of it at once. Of settings that were taken out of a
 * configuration of git's, the user is asked whether they shall be added. What is added is what was shown, and nothing else.
 */
#include <string.h>
#include <unistd.h>

#include "broker/objects.h"
#include "session/run_parts.h"
#include "session/tell_person.h"

enum { SENTENCE_COLUMNS = 400, SHOWN_COLUMNS = 250 };

static void tell_changed(void *context, const char *sentence)
{
    auto_arena struct arena arena = {0};
    tell_sentence(context, broker_printable(&arena, sentence, SENTENCE_COLUMNS));
}

/* What a person could not see as it is, or not all of it, is not asked for. */
static bool is_seen_whole(struct arena *arena, const char *text)
{
    return strcmp(broker_printable(arena, text, SHOWN_COLUMNS), text) == 0;
}

static bool ask_to_add(void *context, size_t number)
{
    struct run *run = context;
    struct addition *addition = &run->guard.hold.additions.at[number];
    auto_arena struct arena arena = {0};
    if (!is_seen_whole(&arena, addition->path) || !is_seen_whole(&arena, addition->shown))
        return false;
    struct asker asker = {
        .pid = getpid(),
        .program = "bawn",
        .identity = arena_printf(&arena, "%s %s", addition->path, addition->shown),
        .says =
            arena_printf(&arena, "%s; changed outside, by you or with the command's help", addition->shown)};
    struct decided decided =
        asking_put(&run->asking, &arena, arena_printf(&arena, "settings\t%s\t", addition->path), &asker);
    addition->question = decided.reply == REPLY_OPEN ? decided.id : 0;
    const struct question *question = broker_find(&run->asking.broker, addition->question);
    return question && question->is_shown && run->asking.shown;
}

static void is_answered(void *context, const struct question *question)
{
    struct run *run = context;
    struct hold *hold = &run->guard.hold;
    for (size_t i = 0; i < hold->additions.count; i++) {
        if (hold->additions.at[i].question != question->id)
            continue;
        struct err err = {0};
        if (question_is_granted(question) && pins_add_settings(&run->guard.pins, i, &err) < 0)
            hold_note(hold, "not-held", hold->additions.at[i].path,
                      arena_printf(hold->arena, "%s", err.message));
        return;
    }
}

void run_watch_settings(struct run *run)
{
    if (!run->has_guard)
        return;
    run->guard.hold.person = (struct hold_person){tell_changed, ask_to_add, run};
    asking_hear(&run->asking, is_answered, run);
}
