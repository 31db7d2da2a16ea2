/*
 * Requests in rules, `connect HOST/PATH METHODS`, and requests that a client makes.
 *
 * A path has one spelling here. request_read decodes what is encoded without need, and refuses every path that two servers could read in two
 * ways: an encoded slash, dot or percent sign, a backslash, a semicolon (some servers cut a name there), "." and "..", doubled slashes,
 * encodings that are not UTF-8. The query is cut off, and so is one slash at the end. A rule's path must be written in this spelling.
 *
 * A refusal compares letters in either case, as some servers do; a grant compares them exactly. GET in a rule means HEAD too.
 *
 * Pure.
 */
#pragma once

#include "base/bytes.h"
#include "policy/parse.h"

enum { REQUEST_LONGEST_PATH = 8192 };

struct request_object {
    const char *path;    /* a pattern: '*' within a name, "**" for any number of names */
    const char *folded;  /* the same in small letters */
    const char *methods; /* "GET,POST"; NULL: all */
    bool is_literal;     /* the path has no wildcard */
    bool has_word; /* the path has REQUEST_FORGE in it: expand_forges makes rules of it, and removes it */
    const struct forge_object
        *forge; /* such a rule is for this repository, whose token goes with its requests */
};

/* In a path, a name that stands for the repository of a `forge` rule. No request has braces in its path. */
#define REQUEST_FORGE "{forge}"

struct asked_request {
    struct bytes method; /* in capital letters, as the head of a request has it */
    char path[REQUEST_LONGEST_PATH + 1], folded[REQUEST_LONGEST_PATH + 1];
};

/* `target` is what stands in the first line of a request. Returns a problem, as in "its path is too long", or NULL. */
const char *request_read(struct bytes method, struct bytes target, struct asked_request *ret_request)
    must_check;

/* Is the method, or HEAD for GET, one of these? NULL: all are. */
bool request_has_method(const char *methods, struct bytes method);

/* Is the rule, which has a path, about this request? */
bool request_matches(const struct rule *rule, const struct asked_request *request);

/* Is the word a host with a path, and not a network of addresses? */
bool request_is_word(const char *text);

/* `HOST[:PORT]/PATH [METHODS]`: one word, or two, make one rule. */
int request_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                  struct diags *diags) must_check;

/* May the word after a host with a path be meant as methods? */
bool request_is_methods(const struct word *word);

/* Is it the name of a method that a rule may have? */
bool request_is_method(const char *text);

/* "api.example.com:443/repos/acme GET,POST", as request_parse reads it. */
const char *request_text(struct arena *arena, const struct rule *rule);
