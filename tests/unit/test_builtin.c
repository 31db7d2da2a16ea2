/* What the build made of the shipped profiles is what the parser makes of their texts today. */
#include "policy/builtin.h"

#include "policy/parse.h"
#include "unit.h"

static struct arena arena;

static bool same_text(const char *one, const char *two)
{
    return one == two || (one && two && strcmp(one, two) == 0);
}

static bool same_object(const struct rule *one, const struct rule *two)
{
    switch (verb_object(one->verb)) {
    case OBJECT_PATH:
        return one->path.start == two->path.start && same_text(one->path.pattern, two->path.pattern) &&
               one->path.has_wildcard == two->path.has_wildcard &&
               one->path.is_directory == two->path.is_directory;
    case OBJECT_HOST:
        return one->host.kind == two->host.kind && one->host.may_be_unnamed == two->host.may_be_unnamed &&
               same_text(one->host.name, two->host.name) &&
               memcmp(one->host.address, two->host.address, sizeof(one->host.address)) == 0 &&
               one->host.prefix == two->host.prefix && one->host.port == two->host.port;
    case OBJECT_ENV:
        return same_text(one->env.name, two->env.name) && same_text(one->env.value, two->env.value) &&
               one->env.is_default == two->env.is_default;
    case OBJECT_LIMIT:
        return one->limit.limit == two->limit.limit && one->limit.most == two->limit.most &&
               one->limit.share == two->limit.share;
    case OBJECT_NET:
        return one->net == two->net;
    case OBJECT_FORGE:
    case OBJECT_SSH_KEY:
    case OBJECT_SECRET: /* the line is parsed again (sources.c) */
        return same_text(one->written, two->written);
    case OBJECT_PORT:
        return one->port.host == two->port.host && one->port.inside == two->port.inside;
    case OBJECT_NAME:
    case OBJECT_TEXT:
        return same_text(one->text, two->text);
    }
    return false;
}

static bool same_rule(const struct rule *one, const struct rule *two)
{
    return one->verb == two->verb && one->locked == two->locked && one->source == two->source &&
           one->line == two->line && one->column == two->column && same_text(one->written, two->written) &&
           same_text(one->unless, two->unless) && same_object(one, two);
}

/* The number of rules that differ. */
static size_t differences(const struct builtin_profile *profile)
{
    struct source source = {.name = profile->name,
                            .text = profile->text,
                            .size = profile->size,
                            .layer = LAYER_PROFILE,
                            .is_profile = true};
    struct diags diags = {.arena = &arena};
    rule_list rules = {0};
    parse_source(&arena, &source, &rules, &diags);
    size_t different = diags.list.count + (rules.count != profile->rule_count);
    for (size_t i = 0; i < rules.count && i < profile->rule_count; i++) {
        struct rule built = builtin_rule_of(&source, &profile->rules[i]);
        different += !same_rule(&rules.at[i], &built);
    }
    vec_free(&rules);
    diags_free(&diags);
    return different;
}

TEST(every_profile_is_what_the_parser_makes_of_it)
{
    CHECK(builtin_profile_count > 50);
    for (size_t i = 0; i < builtin_profile_count; i++) {
        const struct builtin_profile *profile = &builtin_profiles[i];
        CHECK_STR(arena_printf(&arena, "%s: %zu rules differ", profile->name, differences(profile)),
                  arena_printf(&arena, "%s: 0 rules differ", profile->name));
    }
}

TEST(every_kind_of_object_survives)
{
    bool seen[OBJECT_SSH_KEY + 1] = {false};
    for (size_t i = 0; i < builtin_profile_count; i++) {
        for (size_t j = 0; j < builtin_profiles[i].rule_count; j++)
            seen[verb_object((enum verb)builtin_profiles[i].rules[j].verb)] = true;
    }
    CHECK(seen[OBJECT_PATH] && seen[OBJECT_HOST] && seen[OBJECT_ENV] && seen[OBJECT_LIMIT] &&
          seen[OBJECT_NAME] && seen[OBJECT_TEXT]);
}

/* A changed rule is told from what the text says: the comparison above can fail. */
TEST(a_difference_is_seen)
{
    struct builtin_profile changed = builtin_profiles[0];
    changed.rule_count--;
    CHECK(differences(&changed) == 1);
    struct builtin_rule rules[512];
    CHECK(builtin_profiles[0].rule_count <= array_len(rules));
    memcpy(rules, builtin_profiles[0].rules, builtin_profiles[0].rule_count * sizeof(*rules));
    rules[0].line++;
    changed = builtin_profiles[0];
    changed.rules = rules;
    CHECK(differences(&changed) == 1);
}

UNIT_MAIN()
