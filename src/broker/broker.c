#include "broker/broker.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "broker/objects.h"
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

bool question_kind_is_asked(enum question_kind kind)
{
    return kind != QUESTION_RUN && kind != QUESTION_SSH_KEY && kind != QUESTION_SETTINGS;
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
const char *broker_printable(struct arena *arena, const char *text, size_t columns)
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

struct decided decided_granted(const char *sentence)
{
    return (struct decided){.reply = REPLY_GRANTED, .sentence = sentence};
}

struct decided decided_refused(const char *sentence)
{
    return (struct decided){.reply = REPLY_REFUSED, .sentence = sentence};
}

static const struct decided is_a_question = {.reply = REPLY_OPEN};

void broker_allow(struct broker *broker, const char *text)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    if (host_parse_target(broker->arena, text, &host, &problem, &hint) == 0)
        vec_push(&broker->allowed, host);
}

/* `refused` is the policy's rule against the host, or NULL: it holds within a wider grant. */
static bool was_allowed(const struct broker *broker, const struct host_object *host,
                        const struct rule *refused)
{
    vec_each (const struct host_object, allowed, &broker->allowed) {
        if (allowed->port == host->port && host_covers(allowed, host) &&
            (!refused || host_specificity(&refused->host) <= host_specificity(allowed)))
            return true;
    }
    return false;
}

/* Must a person be asked for this host? Spells it in one way. */
static struct decided judge_host(const struct broker *broker, struct arena *arena, const char *text,
                                 struct question *question)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    if (host_parse_target(arena, text, &host, &problem, &hint) == 0)
        problem = host_problem_with_grant(arena, &host, &hint);
    if (problem)
        return decided_refused(
            arena_printf(arena, "%s: %s", broker_printable(arena, text, NAME_LONGEST), problem));
    if (host.kind != HOST_NAME && !(host.kind == HOST_ADDRESS && host.prefix == 128))
        return decided_refused("ask for one host: a name or an address, without a wildcard");
    question->object = host_with_port(arena, host_text(arena, &host), host.port);
    if (strcmp(broker->net, "open") == 0)
        return decided_granted("every host can be reached in this run");
    if (strcmp(broker->net, "off") == 0)
        return decided_refused("this run has no network, and cannot get one");
    const struct rule *decides = decide_host(broker->policy, &host, host.port, NULL).decides;
    if ((decides && decides->verb == VERB_CONNECT) || was_allowed(broker, &host, decides))
        return decided_granted(arena_printf(arena, "%s can be reached already", question->object));
    if (decides && decide_host_lock(broker->policy, &host))
        return decided_refused(
            "the administrator of this machine refuses that host, and nobody can allow it here");
    if (decides)
        return decided_refused(arena_printf(arena, "a rule of the policy refuses %s", question->object));
    question->warning = warning_of_host(arena, broker->policy, &host);
    return is_a_question;
}

static struct decided judge_port(const struct broker *broker, struct arena *arena, const char *text,
                                 struct question *question)
{
    uint16_t port;
    if (!port_parse(text, &port))
        return decided_refused("ask for a port from 1 to 65535");
    if (strcmp(broker->net, "open") == 0)
        return decided_granted("this run uses this machine's network, so its ports are open here already");
    question->object = arena_printf(arena, "%u", port);
    return is_a_question;
}

static const struct question *find_same(const struct broker *broker, const struct question *asked)
{
    vec_each (const struct question, question, &broker->questions) {
        bool is_over = question->answer == ANSWER_ONCE && !question->given;
        if (question->kind == asked->kind && strcmp(question->object, asked->object) == 0 &&
            strcmp(question->identity, asked->identity) == 0 && !is_over)
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

bool question_is_granted(const struct question *question)
{
    return question->answer == ANSWER_ONCE || question->answer == ANSWER_SESSION;
}

/* An answer that was given holds for whoever asks later. */
static struct decided ask_again(struct arena *arena, const struct question *question)
{
    if (question->answer == ANSWER_NONE || question->given)
        return (struct decided){.reply = REPLY_OPEN, .id = question->id};
    struct decided decided = question_is_granted(question) ? decided_granted("") : decided_refused("");
    decided.sentence = broker_sentence(arena, question);
    decided.id = question->id;
    return decided;
}

/* Everything before it is kept lies in the asker's arena: code inside may ask without end. */
static unsigned keep(struct broker *broker, struct question question, const char *because)
{
    struct arena *arena = broker->arena;
    question.object = arena_str(arena, question.object);
    question.identity = arena_str(arena, question.identity);
    question.warning = arena_str(arena, question.warning);
    question.says = broker_printable(arena, question.says, REASON_COLUMNS);
    question.not_now = broker_printable(arena, question.not_now, REASON_COLUMNS);
    question.parents = broker_printable(arena, question.parents, REASON_COLUMNS);
    question.because = broker_printable(arena, because, REASON_COLUMNS);
    question.program = broker_printable(arena, question.program, REASON_COLUMNS);
    question.is_shown = has_budget(broker, question.asked_at);
    question.id = (unsigned)broker->questions.count + 1;
    if (question.is_shown)
        vec_push(&broker->shown_at, question.asked_at);
    vec_push(&broker->questions, question);
    return question.id;
}

static struct decided judge(const struct broker *broker, struct arena *arena, const char *text,
                            struct question *question)
{
    switch (question->kind) {
    case QUESTION_CONNECT:
        return judge_host(broker, arena, text, question);
    case QUESTION_PUBLISH:
        return judge_port(broker, arena, text, question);
    case QUESTION_ENV:
        return judge_variable(broker, arena, text, question);
    case QUESTION_RUN:
    case QUESTION_SSH_KEY:
    case QUESTION_SETTINGS:
        question->object = text;
        return *question->identity ? is_a_question
                                   : decided_refused("this cannot be asked for; do it, and bawn asks");
    default:
        return judge_path(broker, arena, text, question);
    }
}

struct decided broker_take(struct broker *broker, struct arena *arena, const char *line,
                           const struct asker *asker, int64_t now)
{
    const char *fields[FIELDS];
    struct question question = {.because = "",
                                .identity = asker->identity ? asker->identity : "",
                                .warning = "",
                                .says = asker->says ? asker->says : "",
                                .not_now = "",
                                .program = asker->program,
                                .parents = asker->parents ? asker->parents : "",
                                .pid = asker->pid,
                                .asked_at = now};
    if (!split(arena, line, fields) || !find_kind(fields[0], &question.kind))
        return decided_refused("this cannot be asked for; `bawn ask` says what can");
    struct decided decided = judge(broker, arena, fields[1], &question);
    if (decided.reply != REPLY_OPEN)
        return decided;
    const struct question *same = find_same(broker, &question);
    if (same)
        return ask_again(arena, same);
    if (count_open(broker, false) >= MOST_OPEN)
        return decided_refused("too many questions are open; wait until they are answered");
    decided.id = keep(broker, question, fields[2]);
    decided.is_new = true;
    return decided;
}

struct question *broker_find(struct broker *broker, unsigned id)
{
    struct question *found = id && id <= broker->questions.count ? &broker->questions.at[id - 1] : NULL;
    return found && found->answer == ANSWER_NONE ? found : NULL;
}

const struct question *broker_known(const struct broker *broker, unsigned id)
{
    return id && id <= broker->questions.count ? &broker->questions.at[id - 1] : NULL;
}

const char *broker_problem_with(const struct question *question, enum question_answer answer)
{
    bool is_path = question->kind == QUESTION_READ || question->kind == QUESTION_WRITE;
    if (answer == ANSWER_NO)
        return NULL;
    if (question->is_missing)
        return "there is nothing to give: answer `no`";
    if (question->is_sealed && !question->is_content)
        return "it is sealed, and only single files of it can be given: answer `no`";
    bool is_one_time = question->kind == QUESTION_CONNECT || !question_kind_is_asked(question->kind);
    if (answer == ANSWER_ONCE && !is_one_time && !question->is_content)
        return "this cannot be given just once: answer `session` or `no`";
    if (answer != ANSWER_ONCE && question->is_sealed)
        return "it is sealed, and can only be given once: answer `once` or `no`";
    if (answer == ANSWER_LATER && !is_path)
        return "this run can get it: answer `session`";
    if (answer == ANSWER_SESSION && *question->not_now)
        return "this run cannot get it: answer `always`, which gives it from the next run on, or `no`";
    return NULL;
}

enum question_answer question_answer_of(const char *word)
{
    return strcmp(word, "once") == 0      ? ANSWER_ONCE
           : strcmp(word, "session") == 0 ? ANSWER_SESSION
           : strcmp(word, "later") == 0   ? ANSWER_LATER
           : strcmp(word, "no") == 0      ? ANSWER_NO
                                          : ANSWER_NONE;
}

static const char *act_of(enum question_kind kind)
{
    static const char *const acts[] = {
        [QUESTION_CONNECT] = "connect to",  [QUESTION_PUBLISH] = "publish port",  [QUESTION_READ] = "read",
        [QUESTION_WRITE] = "write",         [QUESTION_ENV] = "have the variable", [QUESTION_RUN] = "run",
        [QUESTION_SSH_KEY] = "log in with", [QUESTION_SETTINGS] = "change",
    };
    return acts[kind];
}

const char *broker_sentence(struct arena *arena, const struct question *question)
{
    const char *act = act_of(question->kind), *object = question->object;
    switch (question->answer) {
    case ANSWER_ONCE:
        return arena_printf(arena, "you may %s %s once: %s", act, object,
                            question->is_content ? "this is what is in it"
                                                 : "the next connection is let through");
    case ANSWER_SESSION:
        return arena_printf(arena, "you may %s %s until this run ends", act, object);
    case ANSWER_LATER:
        return arena_printf(
            arena, "you may not %s %s in this run, but from the next one on. Say so, and stop", act, object);
    default:
        return arena_printf(arena, "you may not %s %s: a person said no. Go on without it", act, object);
    }
}

void broker_list(const struct broker *broker, int64_t now, struct buf *out)
{
    vec_each (const struct question, question, &broker->questions) {
        if (question->answer == ANSWER_NONE)
            buf_printf(out, "%u\t%s\t%s\t%" PRId64 "\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", question->id,
                       question_kind_word(question->kind), question->object, now - question->asked_at,
                       question->pid, question->program, question->warning, question->because, question->says,
                       question->parents, question->not_now);
    }
}

void broker_free(struct broker *broker)
{
    vec_free(&broker->questions);
    vec_free(&broker->shown_at);
    vec_free(&broker->allowed);
}
