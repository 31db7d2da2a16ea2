/*
 * Any bytes as questions from inside, a line each, of two runs: with hosts on a list, and with none. Whatever is open was spelled in one way,
 * is printable and bounded; no line is granted that names no allowed host; and the list has as many lines as questions are open.
 */
#include <stdlib.h>
#include <string.h>

#include "broker/broker.h"
#include "fuzz.h"

enum { MOST_OPEN = 64, LONGEST_REASON = 4 * 301 };

static void check(bool holds)
{
    if (!holds)
        abort();
}

static bool is_plain(const char *text)
{
    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    }
    return true;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void ask_all(const char *net, const char *text)
{
    struct arena arena = {0};
    struct policy policy = {.arena = &arena};
    struct broker broker = {.arena = &arena, .policy = &policy, .net = net};
    struct asker asker = {.pid = 7, .program = text};
    size_t open = 0;
    while (*text) {
        size_t size = strcspn(text, "\n");
        struct decided decided =
            broker_take(&broker, &arena, arena_copy(&arena, text, size), &asker, (int64_t)size);
        check(decided.reply != REPLY_GRANTED || strcmp(net, "open") == 0);
        check(decided.reply == REPLY_OPEN ? decided.id > 0 : decided.sentence && is_plain(decided.sentence));
        open += decided.is_new;
        text += size + (text[size] == '\n');
    }
    check(open <= MOST_OPEN && open == broker.questions.count);
    vec_each (const struct question, question, &broker.questions)
        check(is_plain(question->object) && is_plain(question->because) && is_plain(question->program) &&
              strlen(question->because) <= LONGEST_REASON && !strpbrk(question->object, " \t"));
    auto_buf struct buf list = {0};
    broker_list(&broker, 0, &list);
    check(count_lines(buf_text(&list)) == open);
    broker_free(&broker);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { LONGEST = 65536 };
    if (size == 0 || size > LONGEST)
        return 0;
    struct arena arena = {0};
    const char *text = arena_copy(&arena, (const char *)bytes, strnlen((const char *)bytes, size));
    ask_all("allow", text);
    ask_all("off", text);
    ask_all("open", text);
    arena_free(&arena);
    return 0;
}
