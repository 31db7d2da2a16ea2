/*
 * Parses text into rules, without side effects: opens no file, reads no variable, accepts any bytes. Reports every mistake and
 * returns the valid rules, so that one mistake does not hide the next.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "policy/diag.h"
#include "policy/rule.h"

/* --- lex.c --- */

/*
 * Splits lines into words. In a word's text, a character that was quoted has a backslash; every other character may have its
 * special meaning. So "a b*" (with the quotes) becomes `a b\*`, and later stages need not know the quotes.
 */

enum { WORD_LONGEST = 4096, GUARD_MOST_WORDS = 16 };

struct word {
    const char *text;
    const char *written; /* exactly as in the file */
    uint32_t column, width;
};

typedef VEC(struct word) word_list;

/* Splits one line (without its newline). Reports mistakes, and still returns the words before them. */
void lex_line(struct arena *arena, const struct source *source, uint32_t line, const char *bytes, size_t size,
              word_list *words, struct diags *diags);

/* Makes one word of one command-line argument. */
struct word lex_argument(struct arena *arena, const char *argument);

/* The text without its backslashes. */
char *word_plain(struct arena *arena, const char *text);

/* Is it the keyword, and not an object in quotes? */
bool word_is_keyword(const struct word *word, const char *keyword);

/* The words as one text, with spaces between them. */
const char *words_join(struct arena *arena, const struct word *words, size_t count, bool as_written);

/* The text as one word of a policy, every character as it is; with `wildcards`, but * and ?. */
const char *word_quote(struct arena *arena, const char *text, bool wildcards);

/* --- object.c --- */

/* Where the path starts; moves *rest behind it. START_COUNT: unknown. */
enum path_start path_start(const char **rest);

/* --- parse.c --- */

enum { POLICY_LARGEST = 1024 * 1024, RULES_MOST = 65536 };

void parse_source(struct arena *arena, const struct source *source, rule_list *rules, struct diags *diags);

/* Parses one flag of the command line: `--read PATH` is the rule `read PATH`. */
void parse_argument(struct arena *arena, const struct source *source, enum verb verb, const char *argument,
                    rule_list *rules, struct diags *diags);

/* --- object.c --- */

/* Objects: the words after a verb, parsed as the verb requires. Nothing is looked up or expanded. */

/* Fills the rule's object from the word, or reports the mistake and returns -1. */
int object_parse(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
    must_check;

/* Reports a mistake at a word of the rule's line. Returns -1. */
int object_complain(struct diags *diags, const struct rule *rule, const struct word *word, const char *hint,
                    const char *message);

/* Could this be the name of a profile, such as "toolchain/node"? */
bool profile_name_is_valid(const char *name);

/* "512", "64K", "2G": a positive number of bytes. */
bool size_parse(const char *text, uint64_t *ret_bytes);

/* --- secret.c --- */

/* `secret NAME [from SOURCE] to HOST…`: the words after the verb make one rule. */
/* "HOST[:PORT]/PATH". Bawn's helpers read it again from their settings. */
bool secret_parse_endpoint(struct arena *arena, const char *text, struct secret_endpoint *ret_endpoint)
    must_check;

int secret_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                 struct diags *diags) must_check;

/* `file PATH [KEY]`, `command "…"` and their like: the words after `from`. */
int secret_parse_source(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                        struct secret_object *secret, struct diags *diags) must_check;

/* Can a variable have this name? */
bool variable_name_is_valid(const char *name);

/* --- ssh_key.c --- */

/* `ssh-key KEY to HOST… [times N] [ask]`: the words after the verb make one rule. */
int ssh_key_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                  struct diags *diags) must_check;

/* --- forge.c --- */

/* `forge HOST/OWNER/REPO RIGHT… [token from SOURCE]`: the words after the verb make one rule. */
int forge_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                struct diags *diags) must_check;
