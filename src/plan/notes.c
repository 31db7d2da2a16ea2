#include "plan/steps.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"

enum { NAMED_IN_NOTE = 3 };

static void note(struct plan *plan, const struct rule *about, const char *text)
{
    vec_push(&plan->notes, (struct note){about, text});
}

/* A grant of the command line that a more specific rule restricts. */
static void note_hidden_below(struct plan *plan, const struct placed *grant)
{
    struct arena *arena = plan->policy->arena;
    const char *names = "";
    size_t count = 0;
    const struct operation *end = plan->operations.at + plan->operations.count;
    for (const struct operation *operation = plan->operations.at; operation < end; operation++) {
        if (operation->kind != OP_HIDE || operation->is_pattern ||
            !path_is_beneath(operation->path, grant->path))
            continue;
        if (count < NAMED_IN_NOTE)
            names = arena_printf(arena, "%s%s%s", names, count ? ", " : "", operation->path);
        count++;
    }
    if (count)
        note(plan, grant->rule,
             arena_printf(arena, "--%s %s does not open everything in it: %s%s stay%s hidden",
                          verb_word(grant->rule->verb), grant->rule->written, names,
                          count > NAMED_IN_NOTE ? arena_printf(arena, " and %zu more", count - NAMED_IN_NOTE)
                                                : "",
                          count == 1 ? "s" : ""));
}

static void note_lost_grants(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        enum verb verb = placed->rule->verb;
        bool is_grant = verb == VERB_READ || verb == VERB_WRITE || verb == VERB_COPY || verb == VERB_SEED ||
                        verb == VERB_SIFT || verb == VERB_SYNC;
        if (!is_grant || placed->rule->source->layer != LAYER_COMMAND_LINE)
            continue;
        struct path_verdict verdict = decide_path(policy, placed->path, NULL);
        const struct placed *decides = verdict.grants;
        if (decides && decides->rule != placed->rule && verdict.access != access_of_rule(placed->rule))
            note(plan, placed->rule,
                 arena_printf(policy->arena, "--%s %s has no effect: `%s %s` decides (%s)", verb_word(verb),
                              placed->rule->written, verb_word(decides->rule->verb), decides->rule->written,
                              rule_origin(policy->arena, decides->rule)));
        else
            note_hidden_below(plan, placed);
    }
}

/* What an untrusted repository asks for and does not get. */
static void note_untrusted(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct workspace *workspace = &policy->workspaces.at[i];
        size_t waiting = 0;
        for (size_t j = 0; workspace->own_policy && j < policy->rules.count; j++) {
            const struct rule *rule = &policy->rules.at[j];
            bool is_its_own = rule->source == workspace->own_policy ||
                              (rule->source->is_profile && rule->source->asked_by == LAYER_REPOSITORY &&
                               rule->source->workspace == i);
            waiting += is_its_own && rule_is_held_back(policy, rule);
        }
        if (waiting)
            note(plan, NULL,
                 arena_printf(policy->arena,
                              "%s is not trusted, so bawn ignores %zu rule%s in it: `bawn trust %s` shows %s",
                              workspace->own_policy->name, waiting, waiting == 1 ? "" : "s", workspace->path,
                              waiting == 1 ? "it" : "them"));
    }
}

static void note_git(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (workspace->git.problem)
            note(plan, NULL,
                 arena_printf(policy->arena, "git will not work inside: %s/.git is not followed, because %s",
                              workspace->path, workspace->git.problem));
    }
}

/* Says each time what a missing wall means. */
static void note_given_up(struct plan *plan)
{
    struct arena *arena = plan->policy->arena;
    vec_each (const struct given_up, given_up, &plan->given_up) {
        note(plan, NULL,
             given_up->if_needed
                 ? arena_printf(arena, "%s: if this machine lacks the wall, %s", given_up->by,
                                wall_loss(given_up->wall))
                 : arena_printf(arena, "%s gives up a wall: %s", given_up->by, wall_loss(given_up->wall)));
    }
}

/* Does the text have a URL with a password or token (https://user:TOKEN@host, https://TOKEN@host)? */
static bool holds_url_secret(const char *text)
{
    enum { TOKEN_SHORTEST = 20 }; /* a shorter name before the @ is a user name */
    for (const char *at = text; (at = strstr(at, "://"));) {
        at += strlen("://");
        size_t size = strcspn(at, "@/ \t\r\n\"");
        if (at[size] != '@')
            continue;
        const char *colon = memchr(at, ':', size);
        if (colon ? colon + 1 < at + size : size >= TOKEN_SHORTEST)
            return true;
    }
    return false;
}

static bool is_visible(const struct plan *plan, const char *path)
{
    return fs_kind(plan->policy->request.fs, path) == FILE_REGULAR &&
           decide_path(plan->policy, path, NULL).access != ACCESS_NONE;
}

/* Secrets that the command may read. One line, however many there are. */
static void note_secrets(struct plan *plan)
{
    enum { CONFIG_LARGEST = 1024 * 1024 };
    static const char *const names[] = {
        ".env",      ".env.local", ".env.development",       ".env.staging",         ".env.production",
        ".env.test", ".env.prod",  ".env.development.local", ".env.production.local"};
    const struct policy *policy = plan->policy;
    const char *found = "";
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct workspace *workspace = &policy->workspaces.at[i];
        for (size_t j = 0; j < array_len(names); j++) {
            const char *path = path_join(policy->arena, workspace->path, names[j]);
            if (is_visible(plan, path))
                found = arena_printf(policy->arena, "%s%s%s", found, *found ? ", " : "", i ? path : names[j]);
        }
        for (size_t j = 0; j < workspace->git.dirs.count; j++) {
            const char *path = path_join(policy->arena, workspace->git.dirs.at[j], "config");
            char *text = NULL;
            size_t size = 0;
            struct err ignored;
            if (is_visible(plan, path) &&
                fs_read(policy->request.fs, path, CONFIG_LARGEST, &text, &size, &ignored) > 0 &&
                holds_url_secret(text))
                found = arena_printf(policy->arena, "%s%sa URL with a password in %s", found,
                                     *found ? ", " : "", path);
        }
    }
    if (*found)
        note(plan, NULL,
             arena_printf(policy->arena,
                          "the command can read secrets in the workspace: %s (--hide PATH hides one)",
                          found));
}

/* For a command that is not a known agent: the policy that applies. */
static void note_no_agent(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    const char *toolchains = "";
    for (size_t i = 0; i < policy->profiles_in_use.count; i++) {
        if (text_starts_with(policy->profiles_in_use.at[i], "toolchain/"))
            toolchains = arena_printf(policy->arena, "%s, %s", toolchains, policy->profiles_in_use.at[i]);
    }
    note(plan, NULL,
         arena_printf(policy->arena, "no profile for %s; using %s%s", *policy->request.command,
                      *toolchains ? "base" : "the base policy", toolchains));
}

/* Arguments that bawn adds and that change what the agent does. The briefing changes nothing. */
static void note_arguments(struct plan *plan)
{
    struct arena *arena = plan->policy->arena;
    const char *words = "";
    const struct rule *because = NULL;
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_ARGUMENT || plan_argument_briefs(plan, operation))
            continue;
        words = arena_printf(arena, "%s %s", words, operation->value);
        because = operation->because;
    }
    if (because)
        note(plan, because,
             arena_printf(arena, "bawn starts %s with%s (%s)", path_name(plan->policy->agent), words,
                          rule_origin(arena, because)));
}

/* Remote servers that the agent cannot reach: the agent does not say why, or only after a long time. */
static void note_servers(struct plan *plan)
{
    struct arena *arena = plan->policy->arena;
    auto_vec server_list found = {0};
    plan_find_servers(plan, &found);
    const char *names = "";
    for (size_t i = 0; i < found.count && i < NAMED_IN_NOTE; i++)
        names = arena_printf(arena, "%s%s%.40s of %s (%s)", names, i ? ", " : "", found.at[i].name,
                             found.at[i].file, found.at[i].flag);
    if (found.count > NAMED_IN_NOTE)
        names = arena_printf(arena, "%s and %zu more", names, found.count - NAMED_IN_NOTE);
    if (found.count)
        note(plan, NULL,
             arena_printf(arena, "no rule allows the MCP server%s %s", found.count > 1 ? "s" : "", names));
}

/* Where a variable sends the agent's requests. Without the rule it would try again and again, and not say why. */
static void note_base_urls(struct plan *plan)
{
    static const char *const endings[] = {"_BASE_URL", "_API_BASE", "_API_URL", "_ENDPOINT", "OLLAMA_HOST"};
    const struct policy *policy = plan->policy;
    const struct rule *net = decide_net(policy, NULL).decides;
    vec_each (const struct operation, operation, &plan->operations) {
        bool is_set = operation->kind == OP_ENV_SET;
        if ((net && net->net != NET_ALLOW) || !(is_set || operation->kind == OP_ENV_PASS))
            continue;
        bool is_base_url = false;
        for (size_t i = 0; i < array_len(endings); i++)
            is_base_url |= text_ends_with(operation->name, endings[i]);
        const char *url =
            is_set ? operation->value : text_variable(policy->request.environment, operation->name);
        const char *flag = is_base_url && url ? plan_flag_for_url(plan, url) : NULL;
        if (flag)
            note(plan, NULL,
                 arena_printf(policy->arena, "%s is %s, which cannot be reached from inside: add %s",
                              operation->name, url, flag));
    }
}

/* Without the certificate file, programs fail for no visible reason. */
static void note_certificates(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    vec_each (const struct certificates, file, &policy->certificates) {
        const char *problem = file->problem;
        if (!problem && decide_path(policy, file->path, NULL).access == ACCESS_NONE)
            problem = "is sealed or hidden";
        if (problem)
            note(plan, NULL,
                 arena_printf(policy->arena,
                              "%s names %s, which %s, so it is not readable inside (--read %s opens it)",
                              file->variable, file->path, problem, file->path));
    }
}

void plan_add_notes(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    if (policy->request.command && !policy->agent)
        note_no_agent(plan);
    note_arguments(plan);
    note_given_up(plan);
    note_lost_grants(plan);
    note_untrusted(plan);
    note_git(plan);
    note_certificates(plan);
    note_servers(plan);
    note_base_urls(plan);
    note_secrets(plan);
}
