/* What a program inside is told of the questions of its run, open and answered. */
#include <inttypes.h>
#include <string.h>

#include "broker/broker.h"

/* The latest ones fit into one message. */
enum { MOST_TOLD = 24 };

static void add_state(struct buf *out, const struct question *question, int64_t now)
{
    bool is_open = question->answer == ANSWER_NONE || question->given;
    buf_printf(out, "%s %s: ", question_kind_word(question->kind), question->object);
    static const char *const states[] = {[ANSWER_ONCE] = "granted once",
                                         [ANSWER_SESSION] = "granted until this run ends",
                                         [ANSWER_LATER] = "granted from the next run on",
                                         [ANSWER_NO] = "refused"};
    if (is_open)
        buf_printf(out, "open, asked %" PRId64 " s ago\n", now - question->asked_at);
    else
        buf_printf(out, "%s\n", states[question->answer]);
}

static void add_given(struct buf *out, size_t most, const char *verb, const char *object)
{
    if (out->size + strlen(verb) + strlen(object) + 2 <= most)
        buf_printf(out, "%s\t%s\n", verb, object);
}

void broker_given(const struct broker *broker, size_t most, struct buf *out)
{
    for (size_t i = broker->questions.count; i-- > 0;) {
        const struct question *question = &broker->questions.at[i];
        bool is_rule = question->kind == QUESTION_CONNECT || question->kind == QUESTION_READ ||
                       question->kind == QUESTION_WRITE;
        if (is_rule && question->answer == ANSWER_SESSION && !question->given)
            add_given(out, most, question_kind_word(question->kind), question->object);
    }
    struct arena arena = {0};
    vec_each (const struct host_object, host, &broker->allowed)
        add_given(out, most, "connect", host_with_port(&arena, host_text(&arena, host), host->port));
    arena_free(&arena);
}

void broker_status(const struct broker *broker, int64_t now, struct buf *out)
{
    size_t count = broker->questions.count, first = count > MOST_TOLD ? count - MOST_TOLD : 0;
    if (count == 0)
        buf_add_str(out, "Nothing was asked in this run.\n");
    if (first)
        buf_printf(out, "%zu earlier questions are not listed.\n", first);
    for (size_t i = first; i < count; i++)
        add_state(out, &broker->questions.at[i], now);
}
