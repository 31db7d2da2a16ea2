#include "broker/broker.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "broker/warning.h"
#include "policy/decide.h"

enum {
    MOST_OPEN = 64,
    MOST_OPEN_SHOWN = 3,
    MOST_SHOWN_AN_HOUR = 20,
    HOUR = 3600,
    REASON_COLUMNS = 300,
    FIELDS = 3,
};

const char *question_kind_word(enum question_kind kind)
{
    static const char *const words[] = {
#define X(id, word) [id] = word,
        QUESTION_KINDS(X)
#undef X
    };
    return words[kind];
}

/* Splits a line at its tabs. False: it has too many. */
static bool split(struct arena *arena, const char *line, const char *ret_fields[FIELDS])
{
    for (size_t i = 0; i < FIELDS; i++) {
        size_t size = strcspn(line, "\t");
        ret_fields[i] = arena_copy(arena, line, size);
        line += size + (line[size] != '\0');
    }
    return *line == '\0';
}

static bool find_kind(const char *word, enum question_kind *ret_kind)
{
    for (size_t i = 0; i < QUESTION_KIND_COUNT; i++) {
        if (strcmp(word, question_kind_word((enum question_kind)i)) != 0)
            continue;
        *ret_kind = (enum question_kind)i;
        return true;
    }
    return false;
}

/* Any bytes as printable text, cut to a number of columns. */
static const char *printable(struct arena *arena, const char *text, size_t columns)
{
    auto_buf struct buf out = {0};
    size_t used = 0;
    for (size_t at = 0, size = strlen(text); at < size;) {
        uint32_t code;
        size_t length = utf8_decode(text + at, size - at, &code);
        length = length ? length : 1;
        size_t before = out.size;
        used += text_add_printable(&out, text + at, length);
        if (used > columns) {
            out.size = before;
            buf_add_str(&out, "…");
            break;
        }
        at += length;
    }
    return arena_str(arena, buf_text(&out));
}

static struct decided granted(const char *sentence)
{
    return (struct decided){.reply = REPLY_GRANTED, .sentence = sentence};
}

static struct decided refused(const char *sentence)
{
    return (struct decided){.reply = REPLY_REFUSED, .sentence = sentence};
}

static const struct decided is_a_question = {.reply = REPLY_OPEN};

/* Must a person be asked for this host? Spells it in one way. */
static struct decided judge_host(const struct broker *broker, struct arena *arena, const char *text,
                                 struct question *question)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    if (host_parse_target(arena, text, &host, &problem, &hint) == 0)
        problem = host_problem_with_grant(arena, &host, &hint);
    if (problem)
        return refused(arena_printf(arena, "%s: %s", printable(arena, text, NAME_LONGEST), problem));
    if (host.kind != HOST_NAME && !(host.kind == HOST_ADDRESS && host.prefix == 128))
        return refused("ask for one host: a name or an address, without a wildcard");
    question->object = host_with_port(arena, host_text(arena, &host), host.port);
    if (strcmp(broker->net, "open") == 0)
        return granted("every host can be reached in this run");
    if (strcmp(broker->net, "off") == 0)
        return refused("this run has no network, and cannot get one");
    if (decide_host_lock(broker->policy, &host))
        return refused("the administrator of this machine refuses that host, and nobody can allow it here");
    const struct rule *decides = decide_host(broker->policy, &host, host.port, NULL).decides;
    if (decides && decides->verb == VERB_CONNECT)
        return granted(arena_printf(arena, "%s can be reached already", question->object));
    if (decides)
        return refused(arena_printf(arena, "a rule of the policy refuses %s", question->object));
    question->warning = warning_of_host(arena, broker->policy, &host);
    return is_a_question;
}

static struct decided judge_port(const struct broker *broker, struct arena *arena, const char *text,
                                 struct question *question)
{
    uint16_t port;
    if (!port_parse(text, &port))
        return refused("ask for a port from 1 to 65535");
    if (strcmp(broker->net, "open") == 0)
        return granted("this run uses the host's network, so its ports are open on this machine already");
    question->object = arena_printf(arena, "%u", port);
    return is_a_question;
}

static const struct question *find_same(const struct broker *broker, const struct question *asked)
{
    vec_each (const struct question, question, &broker->questions) {
        if (question->kind == asked->kind && strcmp(question->object, asked->object) == 0)
            return question;
    }
    return NULL;
}

static size_t count_open(const struct broker *broker, bool only_shown)
{
    size_t count = 0;
    vec_each (const struct question, question, &broker->questions)
        count += question->answer == ANSWER_NONE && (question->is_shown || !only_shown);
    return count;
}

/* May one more be shown to a person now? */
static bool has_budget(const struct broker *broker, int64_t now)
{
    size_t lately = 0;
    vec_each (const int64_t, at, &broker->shown_at)
        lately += now - *at < HOUR;
    return count_open(broker, true) < MOST_OPEN_SHOWN && lately < MOST_SHOWN_AN_HOUR;
}

/* An answer that was given holds for whoever asks later. */
static struct decided ask_again(struct arena *arena, const struct question *question)
{
    if (question->answer == ANSWER_NONE)
        return (struct decided){.reply = REPLY_OPEN, .id = question->id};
    struct decided decided = question->answer == ANSWER_SESSION ? granted("") : refused("");
    decided.sentence = broker_sentence(arena, question);
    decided.id = question->id;
    return decided;
}

/* Everything before it is kept lies in the asker's arena: code inside may ask without end. */
static unsigned keep(struct broker *broker, struct question question, const char *because)
{
    struct arena *arena = broker->arena;
    question.object = arena_str(arena, question.object);
    question.warning = arena_str(arena, question.warning);
    question.because = printable(arena, because, REASON_COLUMNS);
    question.program = printable(arena, question.program, REASON_COLUMNS);
    question.is_shown = has_budget(broker, question.asked_at);
    question.id = (unsigned)broker->questions.count + 1;
    if (question.is_shown)
        vec_push(&broker->shown_at, question.asked_at);
    vec_push(&broker->questions, question);
    return question.id;
}

struct decided broker_take(struct broker *broker, struct arena *arena, const char *line,
                           const struct asker *asker, int64_t now)
{
    const char *fields[FIELDS];
    struct question question = {
        .because = "", .warning = "", .program = asker->program, .pid = asker->pid, .asked_at = now};
    if (!split(arena, line, fields) || !find_kind(fields[0], &question.kind))
        return refused("this cannot be asked for; `bawn ask` says what can");
    struct decided decided = question.kind == QUESTION_CONNECT
                                 ? judge_host(broker, arena, fields[1], &question)
                                 : judge_port(broker, arena, fields[1], &question);
    if (decided.reply != REPLY_OPEN)
        return decided;
    const struct question *same = find_same(broker, &question);
    if (same)
        return ask_again(arena, same);
    if (count_open(broker, false) >= MOST_OPEN)
        return refused("too many questions are open; wait until they are answered");
    decided.id = keep(broker, question, fields[2]);
    decided.is_new = true;
    return decided;
}

struct question *broker_find(struct broker *broker, unsigned id)
{
    struct question *found = id && id <= broker->questions.count ? &broker->questions.at[id - 1] : NULL;
    return found && found->answer == ANSWER_NONE ? found : NULL;
}

int broker_answer(struct broker *broker, unsigned id, const char *word, struct err *err)
{
    struct question *question = broker_find(broker, id);
    if (!question)
        return err_set(err, "there is no open question %u: it was answered already, or never asked", id);
    if (strcmp(word, "session") == 0)
        question->answer = ANSWER_SESSION;
    else if (strcmp(word, "no") == 0)
        question->answer = ANSWER_NO;
    else
        return err_set(err, "an answer is `session` or `no`");
    return 0;
}

const char *broker_sentence(struct arena *arena, const struct question *question)
{
    const char *what = question->kind == QUESTION_CONNECT ? "connect to %s" : "publish port %s";
    auto_buf struct buf text = {0};
    buf_printf(&text, what, question->object);
    if (question->answer == ANSWER_SESSION)
        return arena_printf(arena, "you may %s until this run ends", buf_text(&text));
    return arena_printf(arena, "you may not %s: a person said no. Go on without it", buf_text(&text));
}

void broker_list(const struct broker *broker, int64_t now, struct buf *out)
{
    vec_each (const struct question, question, &broker->questions) {
        if (question->answer == ANSWER_NONE)
            buf_printf(out, "%u\t%s\t%s\t%" PRId64 "\t%d\t%s\t%s\t%s\n", question->id,
                       question_kind_word(question->kind), question->object, now - question->asked_at,
                       question->pid, question->program, question->warning, question->because);
    }
}

void broker_free(struct broker *broker)
{
    vec_free(&broker->questions);
    vec_free(&broker->shown_at);
}
