/* Rules on requests that are made of the rules about forges: for what git asks for over https, and for paths with REQUEST_FORGE. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/forge.h"
#include "policy/request.h"

/* Adds a copy of the rule, as a `connect` for this path. */
static struct request_object *add_request(struct policy *policy, const struct rule *like,
                                          const struct host_object *host, const char *path,
                                          const char *methods)
{
    struct request_object *request = arena_new(policy->arena, struct request_object);
    request->path = path;
    char *folded = arena_str(policy->arena, path);
    for (char *at = folded; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    request->folded = folded;
    request->methods = methods;
    request->is_literal = !strchr(path, '*');
    struct rule rule = *like;
    rule.verb = VERB_CONNECT;
    rule.host = *host;
    rule.request = request;
    rule.written = request_text(policy->arena, &rule);
    vec_push(&policy->rules, rule);
    return request;
}

static void add_service(struct policy *policy, const struct rule *forge, const char *ending,
                        const char *service, const char *methods)
{
    add_request(policy, forge, &forge->forge->token->hosts[0],
                arena_printf(policy->arena, "/%s%s/%s", forge->forge->path, ending, service), methods);
}

void open_forges(struct policy *policy)
{
    static const char *const endings[] = {"", ".git"};
    size_t count = policy->rules.count;
    for (size_t i = 0; i < count * array_len(endings); i++) {
        const struct rule forge = policy->rules.at[i / array_len(endings)]; /* adding moves the rules */
        const char *ending = endings[i % array_len(endings)];
        if (forge.verb != VERB_FORGE || !forge.forge->token || !decide_forge_counts(policy, &forge))
            continue;
        add_service(policy, &forge, ending, "info/refs", "GET");
        if (forge.forge->may_fetch)
            add_service(policy, &forge, ending, "git-upload-pack", "POST");
        if (forge.forge->ref_count)
            add_service(policy, &forge, ending, "git-receive-pack", "POST");
    }
}

/* --- REQUEST_FORGE -------------------------------------------------------------------------------------------------- */

static bool has_word(const struct rule *rule)
{
    return verb_object(rule->verb) == OBJECT_HOST && rule->request && rule->request->has_word;
}

/* Is it the API of the forge's server: the same host, or the one with "api." before its name? */
static bool is_of_server(const struct host_object *host, const struct forge_object *forge)
{
    static const char api[] = "api.";
    const char *rest = text_starts_with(host->name, api) ? host->name + strlen(api) : host->name;
    return host->port == forge_https_port(forge) &&
           (strcmp(host->name, forge->host) == 0 || strcmp(rest, forge->host) == 0);
}

/* What may be asked for of a repository that may not be pushed to is read, and no more; NULL: nothing. */
static const char *methods_for(const struct forge_object *forge, const char *methods)
{
    bool may_read = request_has_method(methods, bytes_of("GET", 3));
    return forge->ref_count ? methods : may_read ? "GET" : NULL;
}

/* Makes a rule for each repository that the rule's word stands for. Returns how many. */
static size_t expand(struct policy *policy, struct rule rule, size_t count)
{
    size_t made = 0;
    const char *word = strstr(rule.request->path, REQUEST_FORGE), *after = word + strlen(REQUEST_FORGE);
    for (size_t i = 0; i < count; i++) {
        const struct rule forge = policy->rules.at[i]; /* adding moves the rules */
        if (forge.verb != VERB_FORGE || !forge.forge->token || !decide_forge_counts(policy, &forge) ||
            !is_of_server(&rule.host, forge.forge))
            continue;
        made++;
        const char *methods = methods_for(forge.forge, rule.request->methods);
        if (!methods && !forge.forge->ref_count)
            continue;
        add_request(policy, &rule, &rule.host,
                    arena_printf(policy->arena, "%.*s%s%s", (int)(word - rule.request->path),
                                 rule.request->path, forge.forge->path, after),
                    methods)
            ->forge = forge.forge;
    }
    return made;
}

void expand_forges(struct policy *policy)
{
    size_t count = policy->rules.count, kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rule rule = policy->rules.at[i];
        /* A repository's `use` of a profile says nothing about tokens, either, also if the repository is trusted. */
        bool may_expand = rule.source->asked_by != LAYER_REPOSITORY;
        if (has_word(&rule) && (!may_expand || expand(policy, rule, count) == 0))
            vec_push(&policy->without_forge, rule);
    }
    for (size_t i = 0; i < policy->rules.count; i++) {
        if (!has_word(&policy->rules.at[i]))
            policy->rules.at[kept++] = policy->rules.at[i];
    }
    policy->rules.count = kept;
}
