#include "session/caller.h"

static struct later *later_of(const struct speaker *speaker)
{
    struct later *const *self = speaker->context;
    return *self;
}

static void keep_message(const struct speaker *speaker, const char *message, const char *hint)
{
    struct later *later = later_of(speaker);
    vec_push(&later->messages,
             (struct waiting_message){.message = arena_str(&later->arena, message),
                                      .hint = hint ? arena_str(&later->arena, hint) : NULL});
}

static void keep_text(const struct speaker *speaker, const struct buf *text)
{
    struct later *later = later_of(speaker);
    vec_push(&later->messages,
             (struct waiting_message){.text = arena_copy(&later->arena, buf_text(text), text->size),
                                      .size = text->size});
}

const struct speaker *later_begin(struct later *later, const struct speaker *real)
{
    *later = (struct later){.speaker = *real, .real = real};
    later->self = later;
    later->speaker.context = &later->self;
    later->speaker.say = keep_message;
    later->speaker.note = keep_message; /* nobody sees colours: this is no terminal */
    later->speaker.show = keep_text;
    return real->is_read || real->can_answer ? real : &later->speaker;
}

void later_end(struct later *later)
{
    const struct speaker *real = later->real;
    for (size_t i = 0; i < later->messages.count; i++) {
        const struct waiting_message *waiting = &later->messages.at[i];
        auto_buf struct buf text = {0};
        if (waiting->message) {
            real->say(real, waiting->message, waiting->hint);
            continue;
        }
        buf_add(&text, waiting->text, waiting->size);
        real->show(real, &text);
    }
    later_drop(later);
}

void later_drop(struct later *later)
{
    vec_free(&later->messages);
    arena_free(&later->arena);
}
