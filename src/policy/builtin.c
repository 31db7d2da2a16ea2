#include "policy/builtin.h"

#include <string.h>

static const char *text_at(uint32_t place)
{
    return place == BUILTIN_NO_TEXT ? NULL : builtin_texts + place;
}

static struct host_object host_of(const struct builtin_rule *builtin)
{
    struct host_object host = {.kind = (enum host_kind)builtin->host.kind,
                               .name = text_at(builtin->host.name),
                               .prefix = builtin->host.prefix,
                               .port = builtin->host.port,
                               .may_be_unnamed = builtin->host.may_be_unnamed};
    memcpy(host.address, builtin->host.address, sizeof(host.address));
    return host;
}

struct rule builtin_rule_of(const struct source *source, const struct builtin_rule *builtin)
{
    struct rule rule = {.verb = (enum verb)builtin->verb,
                        .source = source,
                        .line = builtin->line,
                        .column = builtin->column,
                        .written = text_at(builtin->written),
                        .unless = text_at(builtin->unless),
                        .by = text_at(builtin->by)};
    switch (verb_object(rule.verb)) {
    case OBJECT_PATH:
        rule.path = (struct path_object){.start = (enum path_start)builtin->path.start,
                                         .pattern = text_at(builtin->path.pattern),
                                         .has_wildcard = builtin->path.has_wildcard,
                                         .is_directory = builtin->path.is_directory};
        break;
    case OBJECT_HOST:
        rule.host = host_of(builtin);
        break;
    case OBJECT_ENV:
        rule.env = (struct env_object){text_at(builtin->env.name), text_at(builtin->env.value),
                                       builtin->env.is_default};
        break;
    case OBJECT_LIMIT:
        rule.limit = builtin->limit;
        break;
    case OBJECT_NET:
        rule.net = (enum net_mode)builtin->net;
        break;
    case OBJECT_PORT:
        rule.port = builtin->port;
        break;
    case OBJECT_NAME:
    case OBJECT_TEXT:
        rule.text = text_at(builtin->text);
        break;
    case OBJECT_FORGE:
    case OBJECT_SSH_KEY:
    case OBJECT_SECRET: /* builtin_secret reads the line again */
        break;
    }
    return rule;
}
