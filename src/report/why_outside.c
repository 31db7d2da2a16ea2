#include "report/why_outside.h"

#include <string.h>

#include "base/text.h"
#include "policy/decide.h"
#include "policy/ssh_key.h"

/* --- repositories ---------------------------------------------------------------------------------------------------- */

/* "git@HOST:PATH" and "git@HOST/PATH", as the addresses of repositories are written. */
bool why_is_repository(const char *asked)
{
    size_t user = strcspn(asked, "@:/");
    size_t host = asked[user] == '@' ? user + 1 + strcspn(asked + user + 1, ":/") : 0;
    return user && host && asked[host] && asked[host + 1] && !why_is_login(asked);
}

static bool names_repository(struct arena *arena, const char *asked, const struct forge_object *forge)
{
    const char *const separators[] = {":", "/", ":/"}, *const endings[] = {"", ".git"};
    const char *host = host_with_port(arena, forge->host, forge->port);
    for (size_t i = 0; i < array_len(separators); i++) {
        for (size_t j = 0; j < array_len(endings); j++) {
            if (strcmp(asked, arena_printf(arena, "%s@%s%s%s%s", forge->user, host, separators[i],
                                           forge->path, endings[j])) == 0)
                return true;
        }
    }
    return false;
}

/* What git may do there, with keys and tokens that stay outside. */
void why_repository_decide(const struct plan *plan, const char *asked, struct why_outside *ret_answer)
{
    struct arena *arena = plan->policy->arena;
    struct why_outside answer = {"repository", "refused",
                                 "cannot be reached by git with your keys: no `forge` rule names it", NULL};
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_FORGE || !names_repository(arena, asked, operation->because->forge))
            continue;
        answer.sentence =
            answer.decides
                ? arena_printf(arena, "%s, and %s", answer.sentence, operation->value)
                : arena_printf(arena, "may be used by git with your keys outside: %s", operation->value);
        answer.decides = operation->because;
        answer.decision = "forge";
    }
    *ret_answer = answer;
}

/* --- logins ---------------------------------------------------------------------------------------------------------- */

/* "USER@HOST" and "USER@HOST:PORT": nothing but a number stands behind the host. */
bool why_is_login(const char *asked)
{
    size_t user = strcspn(asked, "@:/");
    const char *host = asked[user] == '@' ? asked + user + 1 : "";
    const char *rest = host + strcspn(host, ":/");
    return user && *host &&
           (!*rest || (*rest == ':' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]));
}

static bool names_host(const struct ssh_key_object *key, const struct host_object *host)
{
    for (size_t i = 0; i < key->host_count; i++) {
        if (key->hosts[i].port == host->port && host_covers(&key->hosts[i], host))
            return true;
    }
    return false;
}

/* Why a rule about the host does nothing here: the plan has a note about it. */
static const char *why_idle(const struct plan *plan, const struct rule *rule)
{
    vec_each (const struct note, note, &plan->notes) {
        if (note->about == rule)
            return note->text;
    }
    return "the rule does nothing here";
}

static bool is_carried_out(const struct plan *plan, const struct rule *rule)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_SSH_KEY && operation->because == rule)
            return true;
    }
    return false;
}

static bool is_reached(const struct policy *policy, const struct host_object *host)
{
    const struct rule *net = decide_net(policy, NULL).decides;
    const struct rule *decides = decide_host(policy, host, host->port, NULL).decides;
    return (net && net->net == NET_OPEN) || host_is_loopback(host) ||
           (decides && decides->verb == VERB_CONNECT);
}

int why_login_decide(const struct plan *plan, const char *asked, struct why_outside *ret_answer,
                     struct err *err)
{
    struct arena *arena = plan->policy->arena;
    const char *place = strchr(asked, '@') + 1, *problem = NULL, *hint = NULL;
    struct host_object host;
    if (host_parse(arena, place, &host, &problem, &hint) < 0)
        return err_set(err, "%s: '%s'", problem, place);
    host.port = host.port ? host.port : SSH_PORT;
    struct why_outside answer = {
        "login", "refused", "cannot be logged in at with your keys: no `ssh-key` rule names the host", NULL};
    vec_each (const struct rule, rule, &plan->policy->rules) {
        if (rule->verb != VERB_SSH_KEY || !policy_rule_counts(plan->policy, rule) ||
            !names_host(rule->ssh_key, &host))
            continue;
        bool is_used = is_carried_out(plan, rule), is_open = is_used && is_reached(plan->policy, &host);
        answer.decides = rule;
        answer.decision = is_open ? "login" : "refused";
        answer.sentence =
            is_open   ? "can be logged in at with a key of your ssh agent, which stays outside, if your "
                        "known_hosts has the host's key"
            : is_used ? arena_printf(arena, "cannot be logged in at: no rule lets the command reach %s",
                                     host_with_port(arena, host_text(arena, &host), host.port))
                      : arena_printf(arena, "cannot be logged in at: %s", why_idle(plan, rule));
        if (is_used)
            break;
    }
    *ret_answer = answer;
    return 0;
}
