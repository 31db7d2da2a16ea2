/*
 * The shipped profiles, compiled in: their text, and the rules that the parser makes of it. The parser ran when bawn was
 * built (tools/embed-profiles.c), so that no start has to read again what never changes.
 */
#pragma once

#include "policy/rule.h"

/*
 * A rule without its source. Texts are given as their places in builtin_texts, not as pointers: the dynamic linker would
 * have to put thousands of them right before main() is even called.
 */
struct builtin_rule {
    uint32_t written, unless, by; /* unless, by: BUILTIN_NO_TEXT where there is none */
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
            uint32_t name, value; /* value: BUILTIN_NO_TEXT where the caller's is passed */
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

/* What parse_source() makes of the same line. */
struct rule builtin_rule_of(const struct source *source, const struct builtin_rule *builtin);
