/* Objects: the words after a verb, each read as its verb wants it. No effects: nothing is looked up or expanded. */
#pragma once

#include "base/arena.h"
#include "policy/diag.h"
#include "policy/lex.h"
#include "policy/rule.h"

/* Fills the rule's object from the word, or reports what is wrong with it and returns -1. */
int object_parse(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
    must_check;

/* Could this be the name of a profile, such as "toolchain/node"? */
bool profile_name_is_valid(const char *name);

/* "512", "64K", "2G": bytes, more than none. */
bool size_parse(const char *text, uint64_t *ret_bytes);
