/* Reads a message of the server. It is hostile: the server speaks with whoever connects. Pure functions. */
#include "web/acts.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"

static const struct {
    const char *verb, *kinds;
} acts[] = {
#define X(id, verb, kinds) {verb, kinds},
    ACTS(X)
#undef X
};

/* Letters, digits and marks of a list, and no flag. */
static bool is_made_of(const char *text, const char *marks)
{
    if (!*text || *text == '-')
        return false;
    for (; *text; text++) {
        bool is_plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                        (*text >= '0' && *text <= '9');
        if (!is_plain && !strchr(marks, *text))
            return false;
    }
    return true;
}

/* Names of sessions are made of the names of directories: any bytes that are no part of a path. */
static bool is_session(const char *text)
{
    return *text && *text != '.' && *text != '-' && !strchr(text, '/');
}

static bool is_question(const char *text)
{
    const char *slash = strrchr(text, '/');
    return slash && *text != '-' && *text != '.' && strchr(text, '/') == slash && slash > text &&
           is_made_of(slash + 1, "");
}

static bool is_of_kind(char kind, const char *text)
{
    static const char *const answers[] = {"once", "session", "always", "no", "never"};
    static const char *const destinations[] = {"user", "repository"};
    switch (kind) {
    case 's':
        return is_session(text);
    case 'q':
        return is_question(text);
    case 'h':
        return is_made_of(text, ".-_:[]*");
    case 'w':
        return text_is_among(text, answers, array_len(answers));
    case 'p':
        return text_is_among(text, destinations, array_len(destinations));
    case 't':
        return is_made_of(text, "") && strlen(text) == SHA256_HEX_SIZE - 1;
    case 'd':
        return *text == '/';
    case 'a':
        return is_made_of(text, ".-_+");
    case 'o':
    case 'l':
        return *text && *text != '-';
    default:
        return false;
    }
}

/* "read /srv/data\nconnect a.example": verbs of a list, and objects of one printable line. */
static bool take_lines(struct arena *arena, const char *text, line_texts *ret_lines)
{
    enum { MOST_LINES = 200 };
    static const char *const verbs[] = {"use", "read", "write", "hide",    "connect", "refuse",
                                        "env", "net",  "limit", "secrets", "require"};
    while (*text) {
        size_t size = strcspn(text, "\n"), verb = strcspn(text, " \n");
        struct policy_line line = {arena_copy(arena, text, verb),
                                   verb + 1 < size ? arena_copy(arena, text + verb + 1, size - verb - 1)
                                                   : ""};
        bool is_printable = true;
        for (const char *at = line.object; *at; at++)
            is_printable &= (unsigned char)*at >= ' ' && *at != 127;
        if (!*line.object || *line.object == '-' || !is_printable || ret_lines->count == MOST_LINES ||
            !text_is_among(line.verb, verbs, array_len(verbs)))
            return false;
        vec_push(ret_lines, line);
        text += size + (text[size] == '\n');
    }
    return ret_lines->count;
}

/* The verb's words, with the arguments at the question marks; NULL among the arguments stands for the lines. */
static void fill_in(struct arena *arena, const char *verb, const char *const *arguments,
                    struct act_order *order)
{
    act_words *words = &order->words;
    while (*verb) {
        size_t size = strcspn(verb, " ");
        const char *mark = memchr(verb, '?', size);
        const char *word = arena_copy(arena, verb, mark ? (size_t)(mark - verb) : size);
        if (mark && !*arguments) {
            vec_each (const struct policy_line, line, &order->lines) {
                vec_push(words, arena_printf(arena, "--%s", line->verb));
                vec_push(words, line->object);
            }
            arguments++;
        } else {
            vec_push(words, mark ? arena_printf(arena, "%s%s", word, *arguments++) : word);
        }
        verb += size + (verb[size] == ' ');
    }
}

void act_order_free(struct act_order *order)
{
    vec_free(&order->words);
    vec_free(&order->lines);
}

/* Puts an argument where it belongs. Returns false if it is wrong. */
static bool take_argument(struct arena *arena, char kind, const char *text, struct act_order *order,
                          const char **arguments, size_t *filled)
{
    const char *value = arena_str(arena, text);
    if (kind == 'd')
        order->directory = value;
    else
        arguments[(*filled)++] = kind == 'l' ? NULL : value;
    const char **const own = kind == 's'   ? &order->session
                             : kind == 'a' ? &order->agent
                             : kind == 'p' ? &order->destination
                             : kind == 't' ? &order->state
                                           : NULL;
    if (own)
        *own = value;
    return kind != 'l' || take_lines(arena, value, &order->lines);
}

int act_parse(struct arena *arena, const char *message, size_t size, struct act_order *ret_order,
              struct err *err)
{
    struct act_head head;
    if (size < sizeof(head))
        return err_set(err, "the message is too short");
    memcpy(&head, message, sizeof(head));
    if (head.act >= ACT_COUNT || head.count != strlen(acts[head.act].kinds))
        return err_set(err, "there is no such act");
    struct act_order order = {.act = (enum act)head.act};
    const char *arguments[ACT_ARGUMENTS_MOST] = {0}, *at = message + sizeof(head), *end = message + size;
    size_t filled = 0;
    bool is_good = true;
    for (const char *kind = acts[head.act].kinds; is_good && *kind; kind++) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));
        is_good = stop && is_of_kind(*kind, at);
        if (is_good)
            is_good = take_argument(arena, *kind, at, &order, arguments, &filled);
        at = stop ? stop + 1 : end;
    }
    if (!is_good || at != end) {
        act_order_free(&order);
        return err_set(err, is_good ? "the message is too long" : "an argument is not of its kind");
    }
    fill_in(arena, acts[head.act].verb, arguments, &order);
    *ret_order = order;
    return 0;
}
