#include "policy/parse.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "policy/request.h"

struct parser {
    struct arena *arena;
    const struct source *source;
    rule_list *rules;
    struct diags *diags;
};

static struct spot spot_of_word(const struct parser *parser, uint32_t line, const struct word *word)
{
    return (struct spot){
        .source = parser->source, .line = line, .column = word->column, .width = word->width};
}

/* Checks where a verb may appear: `lock` only in the administrator's file, some verbs only in profiles. */
static int check_place(const struct parser *parser, uint32_t line, const struct word *word,
                       const struct rule *rule)
{
    if (verb_is_of_profiles(rule->verb) && rule->verb != VERB_ABOUT && !parser->source->is_profile)
        return diag_error(
            parser->diags, spot_of_word(parser, line, word),
            rule->verb == VERB_DETECT
                ? "put it into a profile of your own, ~/.config/bawn/profiles/toolchain/NAME.bawn"
                : "put it into a profile of your own, ~/.config/bawn/profiles/agent/NAME.bawn",
            "`%s` belongs in a profile", verb_word(rule->verb));
    if (rule->verb == VERB_WORKSPACE &&
        (parser->source->is_profile || parser->source->layer == LAYER_REPOSITORY))
        return diag_error(
            parser->diags, spot_of_word(parser, line, word),
            "the user names workspaces, with --workspace or in ~/.config/bawn/policy.bawn; here, use `write`",
            "a profile or a repository cannot name a workspace");
    if (verb_is_setting(rule->verb) &&
        (parser->source->is_profile || parser->source->layer == LAYER_REPOSITORY))
        return diag_error(parser->diags, spot_of_word(parser, line, word),
                          "put it into ~/.config/bawn/policy.bawn", "`%s` is for your own policy",
                          verb_word(rule->verb));
    if (!rule->locked)
        return 0;
    if (parser->source->layer != LAYER_ADMIN)
        return diag_error(parser->diags, spot_of_word(parser, line, word), "leave `lock` out",
                          "only the administrator's /etc/bawn/policy.bawn may lock a rule");
    enum object_kind object = verb_object(rule->verb);
    if (object == OBJECT_NAME || object == OBJECT_TEXT || object == OBJECT_PORT || object == OBJECT_SECRET)
        return diag_error(
            parser->diags, spot_of_word(parser, line, word),
            "lock works with rules on paths, hosts, forges, ssh keys, variables, limits and `net`",
            "`%s` cannot be locked", verb_word(rule->verb));
    return 0;
}

/* Removes `unless WHAT` from the end of the words. Returns -1 if it is malformed. */
static int take_unless(const struct parser *parser, uint32_t line, word_list *words, struct rule *rule)
{
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->at[i].written, "unless") != 0) /* a quoted one is an object */
            continue;
        if (rule->verb == VERB_SECRET)
            return 0; /* it is part of the object */
        struct spot spot = spot_of_word(parser, line, &words->at[i]);
        if (rule->verb != VERB_HIDE && rule->verb != VERB_SEAL)
            return diag_error(parser->diags, spot, "quote the word if it is an object named unless",
                              "only `hide`, `seal` and `secret` may end in `unless`");
        if (i + 2 != words->count || !profile_name_is_valid(words->at[i + 1].text))
            return diag_error(parser->diags, spot,
                              "end the line with `unless workspace` or `unless agent/NAME`",
                              "`unless` needs exactly one word after it");
        rule->unless = words->at[i + 1].text;
        words->count = i;
        return 0;
    }
    return 0;
}

/* A program's name as messages show it: "rust-analyzer". */
static bool is_program_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
    enum { LONGEST = 32 };
    size_t size = strspn(text, allowed);
    return size > 0 && size <= LONGEST && text[size] == '\0';
}

/* Takes `by PROGRAM` off the end of a flag's words. A plain `by` elsewhere is an object like any other. */
static int take_by(const struct parser *parser, uint32_t line, word_list *words, struct rule *rule)
{
    if (rule->verb != VERB_FLAG || words->count < 4 || strcmp(words->at[words->count - 2].written, "by") != 0)
        return 0;
    const struct word *program = &words->at[words->count - 1];
    if (!is_program_name(program->text)) {
        diag_error(parser->diags, spot_of_word(parser, line, program), "use letters, digits and - _ . +",
                   "`by` needs the name of a program after it");
        return -1;
    }
    rule->by = program->text;
    words->count -= 2;
    return 0;
}

static void add_rule(struct parser *parser, const struct word *word, struct rule rule)
{
    if (object_parse(parser->arena, word, &rule, parser->diags) == 0)
        vec_push(parser->rules, rule);
}

static bool takes_line(enum verb verb)
{
    enum object_kind object = verb_object(verb);
    return object == OBJECT_SECRET || object == OBJECT_FORGE || object == OBJECT_SSH_KEY;
}

/* A rule that all words of its line make together. */
static void add_line(struct parser *parser, const struct word *words, size_t count, struct rule rule)
{
    struct arena *arena = parser->arena;
    int result = rule.verb == VERB_SECRET    ? secret_parse(arena, words, count, &rule, parser->diags)
                 : rule.verb == VERB_FORGE   ? forge_parse(arena, words, count, &rule, parser->diags)
                 : rule.verb == VERB_SSH_KEY ? ssh_key_parse(arena, words, count, &rule, parser->diags)
                                             : request_parse(arena, words, count, &rule, parser->diags);
    if (result == 0)
        vec_push(parser->rules, rule);
}

/* Hosts, each of which may have a path, and then methods after it. */
static void add_hosts(struct parser *parser, const struct word *words, size_t count, struct rule rule)
{
    for (size_t i = 0, used; i < count; i += used) {
        struct rule made = rule;
        used = 1;
        if (request_is_word(words[i].text)) {
            used += i + 1 < count && request_is_methods(&words[i + 1]);
            if (request_parse(parser->arena, &words[i], used, &made, parser->diags) == 0)
                vec_push(parser->rules, made);
        } else if (request_is_method(words[i].text)) {
            diag_error(parser->diags, spot_of_word(parser, rule.line, &words[i]),
                       "write HOST/"
                       "** GET for all paths of a host",
                       "methods need a path before them: '%s'", words[i].written);
        } else {
            add_rule(parser, &words[i], rule);
        }
    }
}

static int complain_of_guard(const struct parser *parser, uint32_t line, const struct word *word,
                             const char *what)
{
    return diag_error(parser->diags, spot_of_word(parser, line, word),
                      "write `guard ask git push *` or `guard refuse npm publish *`", "%s", what);
}

/* "ask PROGRAM ARGUMENT…": one rule a line, its words with tabs between them. */
static int add_guard(struct parser *parser, uint32_t line, const struct word *words, size_t count,
                     struct rule rule)
{
    auto_buf struct buf text = {0}, written = {0};
    if (strcmp(words[0].written, "ask") != 0 && strcmp(words[0].written, "refuse") != 0)
        return complain_of_guard(parser, line, &words[0], "`guard` needs `ask` or `refuse` after it");
    if (count < 2 || count > GUARD_MOST_WORDS)
        return complain_of_guard(parser, line, &words[0], "`guard` needs a command, of 15 words at most");
    if (!*words[1].text || strchr(words[1].text, '/'))
        return complain_of_guard(parser, line, &words[1], "this is not the name of a program");
    for (size_t i = 0; i < count; i++) {
        for (const char *at = words[i].text; *at; at++) {
            if ((unsigned char)*at < ' ')
                return complain_of_guard(parser, line, &words[i], "a guard has no control characters");
        }
        buf_printf(&text, "%s%s", i ? "\t" : "", words[i].text);
        buf_printf(&written, "%s%s", i ? " " : "", words[i].written);
    }
    rule.column = words[0].column;
    rule.text = arena_str(parser->arena, buf_text(&text));
    rule.written = arena_str(parser->arena, buf_text(&written));
    vec_push(parser->rules, rule);
    return 0;
}

/* `leak block plain`: both words are one object. */
static void add_plain_leak(struct parser *parser, const struct word *words, struct rule rule)
{
    struct word both = words[0];
    both.text = arena_printf(parser->arena, "%s plain", words[0].text);
    both.written = arena_printf(parser->arena, "%s %s", words[0].written, words[1].written);
    add_rule(parser, &both, rule);
}

/* Reports a space around "=", once for the line: its words would be as many mistakes, or other objects. `env A= B` is no mistake. */
static bool has_space_at_equals(const struct parser *parser, uint32_t line, const struct word *words,
                                size_t count, enum verb verb)
{
    for (size_t i = 0; i < count && (verb == VERB_LIMIT || verb == VERB_ENV); i++) {
        const char *text = words[i].text;
        bool is_before = i > 0 && *text == '=';
        bool is_after = verb == VERB_LIMIT && i + 1 < count && *text != '=' && text_ends_with(text, "=");
        if (!is_before && !is_after)
            continue;
        const struct word *name = is_before ? &words[i - 1] : &words[i];
        const char *value = is_before && text[1] ? text + 1 : i + 1 < count ? words[i + 1].text : "VALUE";
        diag_error(
            parser->diags, spot_of_word(parser, line, name),
            arena_printf(parser->arena, "write %.*s=%s", (int)strcspn(name->text, "="), name->text, value),
            "no space may stand before or after =");
        return true;
    }
    return false;
}

static void parse_words(struct parser *parser, uint32_t line, word_list *words)
{
    struct rule rule = {.source = parser->source, .line = line};
    size_t verb_at = 0;
    if (strcmp(words->at[0].text, "lock") == 0) {
        rule.locked = true;
        verb_at = 1;
    }
    const struct word *verb = verb_at < words->count ? &words->at[verb_at] : NULL;
    if (!verb) {
        diag_error(parser->diags, spot_of_word(parser, line, &words->at[0]),
                   "write `lock hide PATH` or the like", "`lock` needs a rule after it");
        return;
    }
    rule.verb = verb_from_word(verb->text);
    if (rule.verb == VERB_NONE) {
        const char *closest = verb_closest(verb->text);
        if (closest)
            diag_error(parser->diags, spot_of_word(parser, line, verb), NULL,
                       "unknown verb '%s' (did you mean '%s'?)", verb->written, closest);
        else
            diag_error(parser->diags, spot_of_word(parser, line, verb), "`man 5 bawn-policy` lists the verbs",
                       "unknown verb '%s'", verb->written);
        return;
    }
    if (check_place(parser, line, verb, &rule) < 0 || take_unless(parser, line, words, &rule) < 0 ||
        take_by(parser, line, words, &rule) < 0)
        return;
    if (words->count == verb_at + 1) {
        diag_error(parser->diags, spot_of_word(parser, line, verb), NULL, "`%s` needs %s after it",
                   verb_word(rule.verb), verb_placeholder(rule.verb));
        return;
    }
    if (takes_line(rule.verb)) {
        add_line(parser, words->at + verb_at + 1, words->count - verb_at - 1, rule);
        return;
    }
    if (rule.verb == VERB_GUARD) {
        add_guard(parser, line, &words->at[verb_at + 1], words->count - verb_at - 1, rule);
        return;
    }
    if (verb_object(rule.verb) == OBJECT_HOST) {
        add_hosts(parser, &words->at[verb_at + 1], words->count - verb_at - 1, rule);
        return;
    }
    size_t first = verb_at + 1;
    if (has_space_at_equals(parser, line, &words->at[first], words->count - first, rule.verb))
        return;
    if (rule.verb == VERB_LEAK && words->count == first + 2 &&
        strcmp(words->at[first + 1].text, "plain") == 0) {
        add_plain_leak(parser, &words->at[first], rule);
        return;
    }
    for (size_t i = first; i < words->count; i++)
        add_rule(parser, &words->at[i], rule);
}

static bool has_nul(struct parser *parser, uint32_t line, const char *bytes, size_t size)
{
    const char *nul = memchr(bytes, '\0', size);
    if (nul) {
        struct spot spot = {
            .source = parser->source, .line = line, .column = (uint32_t)(nul - bytes) + 1, .width = 1};
        diag_error(parser->diags, spot, "is this really a policy file?", "a NUL byte");
    }
    return nul != NULL;
}

void parse_source(struct arena *arena, const struct source *source, rule_list *rules, struct diags *diags)
{
    struct parser parser = {arena, source, rules, diags};
    auto_vec word_list words = {0};
    const char *at = source->text, *end = source->text + source->size;
    if (source->size > POLICY_LARGEST) {
        diag_error(diags, (struct spot){.source = source}, NULL, "the file is larger than %d bytes",
                   POLICY_LARGEST);
        return;
    }
    if (source->size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3; /* the byte order mark of some editors */
    for (uint32_t line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        size_t size = (size_t)(line_end - at), errors_before = diags->errors;
        if (rules->count >= RULES_MOST) {
            diag_error(diags, (struct spot){.source = source, .line = line},
                       "grant directories, not files one by one", "there are more than %d rules", RULES_MOST);
            break;
        }
        words.count = 0;
        if (!has_nul(&parser, line, at, size))
            lex_line(arena, source, line, at, size, &words, diags);
        if (words.count && diags->errors == errors_before)
            parse_words(&parser, line, &words);
        at = newline ? newline + 1 : end;
    }
}

void parse_argument(struct arena *arena, const struct source *source, enum verb verb, const char *argument,
                    rule_list *rules, struct diags *diags)
{
    struct parser parser = {arena, source, rules, diags};
    struct rule rule = {.verb = verb, .source = source};
    bool is_request = verb_object(verb) == OBJECT_HOST && request_is_word(argument);
    if (verb != VERB_GUARD && !takes_line(verb) && !is_request) {
        struct word word = lex_argument(arena, argument);
        add_rule(&parser, &word, rule);
        return;
    }
    auto_vec word_list words = {0}; /* the argument is the rest of a line, split as in a file */
    size_t errors_before = diags->errors;
    lex_line(arena, source, 0, argument, strlen(argument), &words, diags);
    if (diags->errors > errors_before)
        return;
    if (!words.count)
        diag_error(diags, (struct spot){.source = source}, NULL, "`--%s` needs %s after it", verb_word(verb),
                   verb_placeholder(verb));
    else if (verb == VERB_GUARD)
        add_guard(&parser, 0, words.at, words.count, rule);
    else
        add_line(&parser, words.at, words.count, rule);
}
