#include "broker/broker.h"
#include "policy/compose.h"
#include "unit.h"

static struct arena arena;
static const struct source admin = {.name = "admin", .layer = LAYER_ADMIN},
                           user = {.name = "user", .layer = LAYER_USER};

static struct rule host_rule(enum verb verb, const char *text, const struct source *source, bool locked)
{
    struct rule rule = {.verb = verb, .source = source, .locked = locked};
    const char *problem = NULL, *hint = NULL;
    CHECK(host_parse(&arena, text, &rule.host, &problem, &hint) == 0);
    return rule;
}

/* How a question for a host is taken, with one rule about it: "granted", "open", or the reason of the refusal. */
static const char *taken(struct rule rule, const char *host)
{
    struct policy policy = {.arena = &arena};
    vec_push(&policy.rules, rule);
    index_rules(&policy);
    struct broker broker = {.arena = &arena, .policy = &policy, .net = "allow"};
    struct asker asker = {.pid = 7, .program = "curl"};
    const char *line = arena_printf(&arena, "connect\t%s\t", host);
    struct decided decided = broker_take(&broker, &arena, line, &asker, 0);
    broker_free(&broker);
    map_free(&policy.by_host);
    vec_free(&policy.rules);
    return decided.reply == REPLY_GRANTED ? "granted"
           : decided.reply == REPLY_OPEN  ? "open"
                                          : decided.sentence;
}

TEST(the_administrators_lock_cannot_be_asked_away)
{
    static const char locked[] =
        "the administrator of this machine refuses that host, and nobody can allow it here";
    CHECK_STR(taken(host_rule(VERB_REFUSE, "a.example", &admin, true), "a.example"), locked);
    CHECK_STR(taken(host_rule(VERB_REFUSE, "*.example", &admin, true), "a.example"), locked);
    CHECK_STR(taken(host_rule(VERB_REFUSE, "a.example", &user, false), "a.example"),
              "a rule of the policy refuses a.example:443");
    CHECK_STR(taken(host_rule(VERB_CONNECT, "a.example:443", &user, false), "a.example"), "granted");
    CHECK_STR(taken(host_rule(VERB_REFUSE, "b.example", &admin, true), "a.example"),
              "open"); /* the control */
}

/* How a question for a variable is taken, with one rule about it. */
static const char *taken_variable(enum verb verb, bool locked, const char *const *environment)
{
    struct policy policy = {.arena = &arena, .request = {.environment = environment}};
    struct rule rule = {.verb = verb, .source = &admin, .locked = locked, .env = {.name = "A_THING"}};
    vec_push(&policy.env_rules, &rule);
    struct broker broker = {.arena = &arena, .policy = &policy, .net = "allow"};
    struct asker asker = {.pid = 7, .program = "sh"};
    struct decided decided = broker_take(&broker, &arena, "env\tA_THING\t", &asker, 0);
    broker_free(&broker);
    vec_free(&policy.env_rules);
    return decided.reply == REPLY_GRANTED ? "granted"
           : decided.reply == REPLY_OPEN  ? "open"
                                          : decided.sentence;
}

TEST(a_locked_variable_cannot_be_asked_away)
{
    static const char *const environment[] = {"A_THING=1", NULL}, *const none[] = {NULL};
    CHECK_STR(taken_variable(VERB_UNSET, true, environment),
              "the administrator of this machine keeps that variable out, and nobody can give it here");
    CHECK_STR(taken_variable(VERB_UNSET, false, environment), "a rule of the policy keeps A_THING out");
    CHECK_STR(taken_variable(VERB_ENV, false, environment), "granted");
    CHECK_STR(taken_variable(VERB_ENV, false, none), "open"); /* the control */
}

TEST(a_secret_that_stays_outside_cannot_be_asked_for)
{
    static const char *const environment[] = {"A_THING=1", NULL};
    struct secret_object secret = {.name = "A_THING"};
    struct policy policy = {.arena = &arena, .request = {.environment = environment}};
    vec_push(&policy.rules, (struct rule){.verb = VERB_SECRET, .source = &user, .secret = &secret});
    index_rules(&policy);
    struct broker broker = {.arena = &arena, .policy = &policy, .net = "allow"};
    struct asker asker = {.pid = 7, .program = "sh"};
    CHECK_STR(broker_take(&broker, &arena, "env\tA_THING\t", &asker, 0).sentence,
              "A_THING stays outside: its placeholder works at the hosts that it is for");
    policy.rules.count = policy.secret_rules.count = 0; /* the control */
    CHECK(broker_take(&broker, &arena, "env\tA_THING\t", &asker, 0).reply == REPLY_OPEN);
    broker_free(&broker);
    vec_free(&policy.rules);
    vec_free(&policy.secret_rules);
}

/* Looks at a path of a made-up machine. */
static const char *look_at_made_up(void *context, struct arena *in, const char *text, bool writes not_used,
                                   struct path_look *ret_look)
{
    *ret_look = (struct path_look){
        .path = arena_str(in, text), .identity = context, .not_now = "", .kind = FILE_REGULAR};
    return NULL;
}

TEST(another_file_at_the_same_path_is_another_question)
{
    char one[] = "1:1", other[] = "1:2";
    struct policy policy = {.arena = &arena};
    struct broker broker = {
        .arena = &arena, .policy = &policy, .net = "allow", .look = look_at_made_up, .context = one};
    struct asker asker = {.pid = 7, .program = "sh"};
    struct decided first = broker_take(&broker, &arena, "read\t/srv/a\t", &asker, 0);
    struct decided again = broker_take(&broker, &arena, "read\t/srv/a\t", &asker, 0);
    broker.context = other;
    struct decided swapped = broker_take(&broker, &arena, "read\t/srv/a\t", &asker, 0);
    CHECK(first.reply == REPLY_OPEN && again.id == first.id && !again.is_new);
    CHECK(swapped.reply == REPLY_OPEN && swapped.id != first.id && swapped.is_new);
    broker_free(&broker);
}

TEST(a_yes_that_is_not_in_use_yet_is_waited_for)
{
    struct policy policy = {.arena = &arena};
    struct broker broker = {.arena = &arena, .policy = &policy, .net = "allow"};
    struct asker asker = {.pid = 7, .program = "curl"};
    struct decided first = broker_take(&broker, &arena, "publish\t3000\t", &asker, 0);
    struct question *question = broker_find(&broker, first.id);
    CHECK(first.reply == REPLY_OPEN && question);
    question->answer = ANSWER_SESSION;
    question->given = 1;
    CHECK(broker_take(&broker, &arena, "publish\t3000\t", &asker, 0).reply == REPLY_OPEN);
    question->given = 0;
    CHECK(broker_take(&broker, &arena, "publish\t3000\t", &asker, 0).reply == REPLY_GRANTED);
    broker_free(&broker);
}

/* Asks for a port, answers it, and says whether a person was told. */
static bool is_shown(struct broker *broker, unsigned port, int64_t now)
{
    struct asker asker = {.pid = 7, .program = "curl"};
    const char *line = arena_printf(&arena, "publish\t%u\t", port);
    struct question *question = broker_find(broker, broker_take(broker, &arena, line, &asker, now).id);
    CHECK(question);
    question->answer = ANSWER_NO;
    return question->is_shown;
}

TEST(a_person_is_told_of_twenty_questions_an_hour)
{
    enum { AN_HOUR = 3600 };
    struct policy policy = {.arena = &arena};
    struct broker broker = {.arena = &arena, .policy = &policy, .net = "allow"};
    unsigned port = 3000;
    for (int i = 0; i < 20; i++)
        CHECK(is_shown(&broker, port++, i));
    CHECK(!is_shown(&broker, port++, 20));
    CHECK(!is_shown(&broker, port++, AN_HOUR - 1));
    CHECK(is_shown(&broker, port++, AN_HOUR));
    CHECK(!is_shown(&broker, port++, AN_HOUR));
    broker_free(&broker);
}

UNIT_MAIN()
