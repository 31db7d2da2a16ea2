/* Repositories that git reaches over https, with a token that stays outside: the lines that the vault gets, and what its front tells. */
#include <string.h>

#include "base/text.h"
#include "policy/forge.h"
#include "policy/request.h"
#include "supervise/vault.h"

enum { MOST_EVENTS = 4096 }; /* a sandbox must not fill the disk */

static const struct forge_object *with_token(const struct operation *operation)
{
    const struct forge_object *forge = operation->kind == OP_FORGE ? operation->because->forge : NULL;
    return forge && forge->token ? forge : NULL;
}

const struct secret_object *tokens_needed(const struct plan *plan, const struct operation *operation)
{
    const struct forge_object *forge = with_token(operation);
    const struct operation *strongest = NULL;
    vec_each (const struct operation, other, &plan->operations) {
        if (!forge || !with_token(other) || strcmp(with_token(other)->token->name, forge->token->name) != 0)
            continue;
        if (!strongest || other->because->source->layer >= strongest->because->source->layer)
            strongest = other;
    }
    return forge && strongest == operation ? forge->token : NULL;
}

void tokens_add_forges(const struct plan *plan, struct buf *lines)
{
    static const char usual[] = "x-access-token"; /* servers that take tokens take any name with one */
    struct arena *arena = plan->policy->arena;
    vec_each (const struct operation, operation, &plan->operations) {
        const struct forge_object *forge = with_token(operation);
        if (!forge)
            continue;
        buf_printf(lines, "forge %s %s %s %s -%s%s%s%s", forge->token->name,
                   strcmp(forge->user, "git") == 0 ? usual : forge->user,
                   host_with_port(arena, forge->host, forge_https_port(forge)), forge->path,
                   forge->may_fetch ? "r" : "", forge->may_force ? "f" : "", forge->may_delete ? "d" : "",
                   forge->may_send_options ? "o" : "");
        for (size_t i = 0; i < forge->ref_count; i++)
            buf_printf(lines, " %s", forge->refs[i]);
        buf_add_char(lines, '\n');
    }
}

void tokens_add_requests(const struct plan *plan, struct buf *lines)
{
    vec_each (const struct operation, operation, &plan->operations) {
        const struct rule *rule = operation->kind == OP_REQUEST ? operation->because : NULL;
        if (rule && rule->request->forge)
            buf_printf(lines, "api %s %s\n", rule->request->forge->token->name,
                       request_text(plan->policy->arena, rule));
    }
}

void tokens_note(struct vault *vault, char *rest)
{
    static const char *const known[] = {"fetch", "push", "pushed", "refused"};
    const char *what = strsep(&rest, " "), *repository = rest ? strsep(&rest, " ") : NULL,
               *before = rest ? strsep(&rest, " ") : NULL, *after = rest ? strsep(&rest, " ") : NULL;
    bool is_known = repository && vault_placeholder(vault, repository) && (!before || (after && rest));
    if (!is_known || !text_is_among(what, known, array_len(known)))
        return;
    /* What was pushed is not counted: nothing else hides it, and the journal has a largest size. */
    if (strcmp(what, "pushed") != 0 && vault->git_events++ >= MOST_EVENTS)
        journal_leave_out(vault->journal);
    else
        journal_event(vault->journal, "forge", "repository", repository, "what", what, "ref", rest, "before",
                      before, "after", after);
}
