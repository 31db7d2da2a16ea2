#include "policy/guards.h"

#include <string.h>

#include "base/pattern.h"
#include "base/text.h"

static struct guard_rule guard_of(const struct rule *rule, struct arena *arena)
{
    struct guard_rule guard = {.rule = rule, .refuses = text_starts_with(rule->text, "refuse\t")};
    const char *at = rule->text + strcspn(rule->text, "\t");
    while (*at == '\t' && guard.count < array_len(guard.words)) {
        size_t size = strcspn(++at, "\t");
        guard.words[guard.count++] = arena_copy(arena, at, size);
        at += size;
    }
    return guard;
}

void guards_find(const struct policy *policy, struct arena *arena, struct guards *ret_guards)
{
    *ret_guards = (struct guards){0};
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_GUARD && policy_rule_counts(policy, rule))
            vec_push(&ret_guards->all, guard_of(rule, arena));
    }
}

static bool is_program(const struct guard_rule *guard, const char *program)
{
    return guard->count && pattern_matches_name(guard->words[0], program, strlen(program));
}

bool guards_know(const struct guards *guards, const char *program)
{
    vec_each (const struct guard_rule, guard, &guards->all) {
        if (is_program(guard, program))
            return true;
    }
    return false;
}

static bool is_any_number(const struct guard_rule *guard, size_t word)
{
    return strcmp(guard->words[word], "**") == 0 ||
           (word + 1 == guard->count && strcmp(guard->words[word], "*") == 0);
}

/* As a pattern with stars: after one, only the latest ever needs another try. So no command can make it slow. */
static bool matches(const struct guard_rule *guard, const char *const *arguments, size_t count)
{
    size_t word = 1, at = 0, star = 0, star_at = 0;
    while (at < count) {
        if (word < guard->count && is_any_number(guard, word)) {
            star = ++word;
            star_at = at;
        } else if (word < guard->count &&
                   pattern_matches_name(guard->words[word], arguments[at], strlen(arguments[at]))) {
            word++;
            at++;
        } else if (star) {
            word = star;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (word < guard->count && is_any_number(guard, word))
        word++;
    return word == guard->count;
}

const struct guard_rule *guards_decide(const struct guards *guards, const char *program,
                                       const char *const *arguments, size_t count)
{
    const struct guard_rule *asks = NULL;
    vec_each (const struct guard_rule, guard, &guards->all) {
        if (!is_program(guard, program) || !matches(guard, arguments, count))
            continue;
        if (guard->refuses)
            return guard;
        asks = asks ? asks : guard;
    }
    return asks;
}

void guards_free(struct guards *guards)
{
    vec_free(&guards->all);
}
