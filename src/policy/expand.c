#include "policy/compose.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

static const char slug_variable[] = "$SLUG";

const char *expand_slug(const struct policy *policy, const char *pattern)
{
    if (!strchr(pattern, '$'))
        return pattern;
    auto_buf struct buf text = {0};
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1]) {
            buf_add(&text, at++, 2);
        } else if (text_starts_with(at, slug_variable)) {
            buf_add_str(&text, policy->workspaces.at[0].slug);
            at += strlen(slug_variable) - 1;
        } else {
            buf_add_char(&text, *at);
        }
    }
    return arena_copy(policy->arena, text.bytes, text.size);
}

/* At an unquoted $: finds the directory that the variable names, "" if it is not set. Returns the variable's length. */
static size_t folder_at(const struct policy *policy, const char *text, const char **ret_folder)
{
    for (enum path_start start = START_HOME; start < START_GIT; start++) {
        const char *variable = path_start_variable(start);
        if (!text_starts_with(text + 1, variable))
            continue;
        const char *folder =
            start == START_HOME ? policy->request.home_spelled : policy->request.starts[start];
        *ret_folder = folder ? folder : "";
        return 1 + strlen(variable);
    }
    return 0;
}

const char *expand_value(const struct policy *policy, const char *value)
{
    auto_buf struct buf text = {0};
    for (const char *at = value; *at;) {
        const char *folder = NULL;
        size_t used = 1;
        if (*at == '\\' && at[1]) {
            buf_add_char(&text, at[1]);
            used = 2;
        } else if (*at == '~' && at == value && (at[1] == '/' || at[1] == '\0')) {
            buf_add_str(&text, policy->request.home_spelled);
        } else if (text_starts_with(at, slug_variable)) {
            buf_add_str(&text, policy->workspaces.at[0].slug);
            used = strlen(slug_variable);
        } else if (*at == '$' && (used = folder_at(policy, at, &folder))) {
            buf_add_str(&text, folder);
        } else {
            buf_add_char(&text, *at);
        }
        at += used ? used : 1;
    }
    return arena_copy(policy->arena, text.bytes, text.size);
}
