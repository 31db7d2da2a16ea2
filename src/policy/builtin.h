/*
 * The shipped profiles, compiled in: their text, and the rules parsed from it. tools/embed-profiles.c runs the parser when bawn
 * is built, so that no start parses them again.
 */
#pragma once

#include "policy/rule.h"

/*
 * A rule without its source. Texts are offsets into builtin_texts. Pointers would cost thousands of relocations before main().
 */
struct builtin_rule {
    uint32_t written, unless, by; /* unless, by: BUILTIN_NO_TEXT if there is none */
    uint16_t line, column;
    uint8_t verb;
    union {
        struct {
            uint32_t pattern;
            uint8_t start;
            bool has_wildcard, is_directory;
        } path;
        struct {
            uint32_t name; /* BUILTIN_NO_TEXT for an address */
            uint16_t port;
            uint8_t kind, prefix;
            bool may_be_unnamed;
            uint8_t address[16];
        } host;
        struct {
            uint32_t name, value; /* value: BUILTIN_NO_TEXT passes the caller's value */
            bool is_default;
        } env;
        struct limit_object limit;
        struct port_object port;
        uint8_t net;
        uint32_t text;
    };
};

#define BUILTIN_NO_TEXT UINT32_MAX

struct builtin_profile {
    const char *name; /* "agent/claude" */
    const char *text;
    size_t size;
    const struct builtin_rule *rules;
    size_t rule_count;
};

/* Made from profiles/ by the build, sorted by name. */
extern const struct builtin_profile builtin_profiles[];
extern const size_t builtin_profile_count;
extern const char builtin_texts[];

/* The rule that parse_source() makes of the same line. */
struct rule builtin_rule_of(const struct source *source, const struct builtin_rule *builtin);
