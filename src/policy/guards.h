/*
 * Guards: commands that deserve a question, or are refused. `guard ask git push *` is compared with the arguments of a program that is executed.
 *
 * A guard is not a wall. A program can do the same without executing another one, by another name or with its arguments in another order.
 *
 * The text of a rule is "ask" or "refuse", the program's name and a pattern for each argument, with tabs between them. In a pattern `*` stands for any
 * run of characters. `**` alone stands for any number of arguments, and so does `*` as the last word.
 */
#pragma once

#include "policy/policy.h"

struct guard_rule {
    const struct rule *rule;
    bool refuses;
    size_t count;
    const char *words[16]; /* the program, and a pattern for each argument */
};

struct guards {
    VEC(struct guard_rule) all;
};

/* The guards of a policy. They lie in the arena. */
void guards_find(const struct policy *policy, struct arena *arena, struct guards *ret_guards);

/* Could one of them be about this program? Its arguments need not be read otherwise. */
bool guards_know(const struct guards *guards, const char *program);

/* The guard that decides: one that refuses before one that asks, the first of these. NULL: none. `arguments` are those after the program's name. */
const struct guard_rule *guards_decide(const struct guards *guards, const char *program,
                                       const char *const *arguments, size_t count);

void guards_free(struct guards *guards);
