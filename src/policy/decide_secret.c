/*
 * Does a variable's value stay outside?
 *
 * A rule of a profile holds where it can: it needs bawn-vault and `net allow`. Elsewhere the value passes as `env` says, and the
 * run says so. A rule that a person wrote is not given up like that, and nor is any rule with `secrets outside`: then nothing
 * passes, or the run is refused.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/path.h"
#include "base/text.h"
#include "base/url.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/parse.h"

enum { LARGEST_SETTINGS = 1 << 20 };

/* Of the rules that pass, the last one of the strongest layer. */
static const struct rule *last_rule(const struct policy *policy, enum verb verb, const char *secret)
{
    const struct rule *last = NULL;
    for (size_t i = 0; i < policy->secret_rules.count; i++) {
        const struct rule *rule = policy->secret_rules.at[i];
        if (rule->verb == verb && (!secret || strcmp(rule->secret->name, secret) == 0) &&
            (!last || rule->source->layer >= last->source->layer))
            last = rule;
    }
    return last;
}

/* The last `secrets` rule of the strongest layer says so. */
static bool are_to_stay(const struct policy *policy, const char *place)
{
    const struct rule *last = last_rule(policy, VERB_SECRETS, NULL);
    return last && strcmp(last->text, place) == 0;
}

static const char *host_path(const struct policy *policy, const char *written)
{
    const char *rest = written;
    enum path_start start = path_start(&rest);
    const char *folder = start < START_GIT ? policy->request.starts[start] : NULL;
    return path_clean(policy->arena, "/",
                      folder ? arena_printf(policy->arena, "%s%s", folder, rest) : written);
}

/* The variable's value inside; NULL: it is not set there, or empty. */
static const char *value_inside(const struct policy *policy, const char *name)
{
    const struct rule *rule = decide_env(policy, name, NULL).decides;
    const char *outside = text_variable(policy->request.environment, name);
    if (!rule || rule->verb != VERB_ENV)
        return NULL;
    const char *value = rule->env.value && (!rule->env.is_default || !outside) ? rule->env.value : outside;
    return value && *value ? value : NULL;
}

/* Returns 1 with the file's bytes, 0 if there is no such file, -1 if it cannot be read or is larger than settings are. */
static int read_settings(const struct policy *policy, const char *file, struct bytes *ret_bytes)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    char *bytes = NULL;
    size_t size = 0;
    if (fs_resolve(policy->request.fs, host_path(policy, file), &place, &ignored) < 0 ||
        place->kind != FILE_REGULAR)
        return 0;
    int result = fs_read(policy->request.fs, place->real, LARGEST_SETTINGS, &bytes, &size, &ignored);
    *ret_bytes = bytes_of(bytes, size);
    return result;
}

/* Does the text begin with an address at one of the rule's hosts? */
static bool is_at_host(const struct secret_object *secret, struct bytes text)
{
    struct url url;
    if (!url_parse(text.at, url_span(text.at, text.size), &url))
        return false;
    for (size_t i = 0; i < secret->host_count; i++) {
        const struct host_object *host = &secret->hosts[i];
        if (host->kind == HOST_NAME && host->port == PORT_HTTPS && url_has_host(&url, host->name))
            return true;
    }
    return false;
}

/* Is the setting somewhere in the text, with another value than an address at one of the rule's hosts? */
static bool sends_elsewhere(const struct secret_object *secret, struct bytes text, const char *setting)
{
    size_t size = strlen(setting);
    for (const char *at; text.size && (at = memmem(text.at, text.size, setting, size));) {
        text = bytes_after(text, (size_t)(at - text.at) + size);
        while (text.size && strchr("\"' \t:=", *text.at) && *text.at)
            text = bytes_after(text, 1);
        if (!is_at_host(secret, text))
            return true;
    }
    return false;
}

static bool file_sends_elsewhere(const struct policy *policy, const struct secret_object *secret,
                                 const struct secret_unless *unless)
{
    struct bytes text = {0};
    int result = read_settings(policy, unless->file, &text);
    return result < 0 || (result > 0 && sends_elsewhere(secret, text, unless->text));
}

static bool file_has_entry(const struct policy *policy, const struct secret_object *secret)
{
    struct bytes text = {0};
    const char *name = arena_printf(policy->arena, "\"%s\"", secret->key);
    int result = read_settings(policy, secret->from, &text);
    return result < 0 || (text.size && memmem(text.at, text.size, name, strlen(name)));
}

const char *secret_login_file(const struct policy *policy, const struct secret_object *secret)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    if (secret->source != SECRET_LOGIN ||
        fs_resolve(policy->request.fs, host_path(policy, secret->from), &place, &ignored) < 0 ||
        place->kind != FILE_REGULAR)
        return NULL;
    return !secret->key || file_has_entry(policy, secret) ? place->real : NULL;
}

const char *secret_source_file(const struct policy *policy, const struct secret_object *secret)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    const char *folder = text_variable(policy->request.environment, "CREDENTIALS_DIRECTORY");
    const char *path = secret->source == SECRET_FILE || secret->source == SECRET_LOGIN ? secret->from
                       : secret->source == SECRET_CREDENTIAL && folder && *folder == '/'
                           ? path_join(policy->arena, folder, secret->from)
                           : NULL;
    if (path)
        path = host_path(policy, path);
    return path && fs_resolve(policy->request.fs, path, &place, &ignored) == 0 ? place->real : path;
}

static bool command_has(const struct policy *policy, const char *text)
{
    for (const char *const *word = policy->request.command; word && *word; word++) {
        if (strstr(*word, text))
            return true;
    }
    return false;
}

static const char *lifted_by(const struct policy *policy, const struct secret_object *secret,
                             const struct secret_unless *unless)
{
    if (unless->in_command)
        return command_has(policy, unless->text)
                   ? arena_printf(policy->arena, "%s in the command may send it elsewhere", unless->text)
                   : NULL;
    if (unless->file)
        return file_sends_elsewhere(policy, secret, unless)
                   ? arena_printf(policy->arena, "%s in %s may send it elsewhere", unless->text, unless->file)
                   : NULL;
    const char *value = value_inside(policy, unless->text);
    return value && !is_at_host(secret, bytes_of(value, strlen(value)))
               ? arena_printf(policy->arena, "%s sends it elsewhere", unless->text)
               : NULL;
}

void settle_secrets(struct policy *policy)
{
    bool is_strict = are_to_stay(policy, "outside");
    vec_each (struct rule, rule, &policy->rules) {
        const struct secret_object *secret = rule->verb == VERB_SECRET && !is_strict ? rule->secret : NULL;
        if (!secret ||
            (!text_variable(policy->request.environment, secret->name) && !secret_login_file(policy, secret)))
            continue; /* nothing depends on it, and no file is read */
        for (size_t i = 0; i < secret->unless_count && !rule->lifted; i++)
            rule->lifted = lifted_by(policy, secret, &secret->unless[i]);
    }
}

/* Why no rule can hold here, whoever wrote it; NULL: one can. */
static const char *hindrance(const struct policy *policy)
{
    const struct rule *net = decide_net(policy, NULL).decides;
    return policy->request.full_access    ? "with --full-access nothing can swap it"
           : net && net->net != NET_ALLOW ? "only `net allow` can swap it"
                                          : policy->request.no_vault;
}

const char *decide_secret_yields(const struct policy *policy, const struct rule *rule)
{
    if (are_to_stay(policy, "inside"))
        return NULL; /* no rule applies, as was asked for */
    if (rule->lifted)
        return rule->lifted;
    return rule->source->is_profile && !are_to_stay(policy, "outside") ? hindrance(policy) : NULL;
}

/* Does a rule on the variable that is as strong take it away, or set it? */
static bool env_decides(const struct policy *policy, const struct rule *secret)
{
    const struct rule *env = decide_env(policy, secret->secret->name, NULL).decides;
    return env && env->source->layer > secret->source->layer &&
           (env->verb == VERB_UNSET || (env->env.value && !env->env.is_default));
}

const struct rule *decide_secret(const struct policy *policy, const char *name)
{
    const struct rule *last = last_rule(policy, VERB_SECRET, name);
    bool holds = last && !decide_secret_yields(policy, last) && !env_decides(policy, last);
    return holds && !are_to_stay(policy, "inside") ? last : NULL;
}
