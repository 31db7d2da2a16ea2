/*
 * From text to rules. No effects: no file is opened, no variable read, and any bytes are taken; what is wrong is
 * reported, all of it, and what is right is still returned, so that one mistake does not hide the next.
 */
#pragma once

#include "base/arena.h"
#include "policy/diag.h"
#include "policy/lex.h"
#include "policy/rule.h"

enum { POLICY_LARGEST = 1024 * 1024, RULES_MOST = 65536 };

void parse_source(struct arena *arena, const struct source *source, rule_list *rules, struct diags *diags);

/* One flag of the command line: `--read PATH` is the rule `read PATH`. */
void parse_argument(struct arena *arena, const struct source *source, enum verb verb, const char *argument,
                    rule_list *rules, struct diags *diags);

/* --- object --- */

/* Objects: the words after a verb, each read as its verb wants it. No effects: nothing is looked up or expanded. */

/* Fills the rule's object from the word, or reports what is wrong with it and returns -1. */
int object_parse(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
    must_check;

/* Could this be the name of a profile, such as "toolchain/node"? */
bool profile_name_is_valid(const char *name);

/* "512", "64K", "2G": bytes, more than none. */
bool size_parse(const char *text, uint64_t *ret_bytes);
