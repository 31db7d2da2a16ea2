/* What git asks for over https: rules on requests, made of the rules about forges. */
#include <ctype.h>

#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/request.h"

static void add_request(struct policy *policy, const struct rule *forge, const char *ending,
                        const char *service, const char *methods)
{
    struct request_object *request = arena_new(policy->arena, struct request_object);
    request->path = arena_printf(policy->arena, "/%s%s/%s", forge->forge->path, ending, service);
    char *folded = arena_str(policy->arena, request->path);
    for (char *at = folded; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    request->folded = folded;
    request->methods = methods;
    request->is_literal = true;
    struct rule rule = *forge;
    rule.verb = VERB_CONNECT;
    rule.host = forge->forge->token->hosts[0];
    rule.request = request;
    rule.written = request_text(policy->arena, &rule);
    vec_push(&policy->rules, rule);
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
        add_request(policy, &forge, ending, "info/refs", "GET");
        if (forge.forge->may_fetch)
            add_request(policy, &forge, ending, "git-upload-pack", "POST");
        if (forge.forge->ref_count)
            add_request(policy, &forge, ending, "git-receive-pack", "POST");
    }
}
