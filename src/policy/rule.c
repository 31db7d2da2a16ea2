#include "policy/rule.h"

#include <string.h>

#include "base/text.h"

static const struct {
    const char *word, *placeholder;
    enum object_kind object;
} verbs[VERB_COUNT] = {
#define X(id, word, object, placeholder) [id] = {word, placeholder, object},
    VERBS(X)
#undef X
};

static const char *const path_start_variables[START_COUNT] = {
#define X(id, variable) [id] = variable,
    PATH_STARTS(X)
#undef X
};

bool verb_is_of_profiles(enum verb verb)
{
    return verb == VERB_ARGUMENT || verb == VERB_LOGIN || verb == VERB_BROWSE || verb == VERB_MATCH ||
           verb == VERB_DETECT || verb == VERB_ABOUT;
}

bool verb_is_setting(enum verb verb)
{
    return verb == VERB_LEAK || verb == VERB_MCP || verb == VERB_ASK || verb == VERB_ASK_BY ||
           verb == VERB_ASK_COMMAND;
}

const char *verb_word(enum verb verb)
{
    return verbs[verb].word;
}

const char *verb_placeholder(enum verb verb)
{
    return verbs[verb].placeholder;
}

enum object_kind verb_object(enum verb verb)
{
    return verbs[verb].object;
}

enum verb verb_from_word(const char *word)
{
    for (enum verb verb = VERB_NONE + 1; verb < VERB_COUNT; verb++) {
        if (strcmp(word, verbs[verb].word) == 0)
            return verb;
    }
    return VERB_NONE;
}

const char *verb_closest(const char *word)
{
    static const char *const line_words[] = {VERBS(NAME_OF) "lock", NULL};
    return text_closest(word, line_words);
}

DEFINE_TEXTS(layer_name, enum layer, LAYERS, NAME_OF)

const char *path_start_variable(enum path_start start)
{
    return path_start_variables[start];
}

DEFINE_TEXTS(limit_name, enum limit, LIMITS, NAME_OF)

bool limit_is_size(enum limit limit)
{
    return limit == LIMIT_MEMORY || limit == LIMIT_DISK || limit == LIMIT_SNAPSHOT || limit == LIMIT_JOURNALS;
}

DEFINE_TEXTS(net_mode_name, enum net_mode, NET_MODES, NAME_OF)
