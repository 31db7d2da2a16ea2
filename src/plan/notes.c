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

/* The same in each run of a project, which makes it easy to overlook what is new. */
static void note_once(struct plan *plan, const char *text)
{
    vec_push(&plan->notes, (struct note){.text = text, .is_said_once = true});
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
        if (workspace->git.unsearched) {
            struct note unsearched = {.is_said_always = true};
            unsearched.text = arena_printf(
                policy->arena,
                "%s can only be read inside: it is closed or too deep, or there are more than %d directories of "
                "submodules and worktrees, so bawn did not look at all of it. Remove what you do not need there",
                workspace->git.unsearched, GIT_MOST_PARTS);
            vec_push(&plan->notes, unsearched);
        }
        for (size_t i = 0; i < workspace->git.unfollowed.count; i++) {
            struct note unfollowed = {.is_said_always = true};
            unfollowed.text =
                arena_printf(policy->arena,
                             "bawn cannot tell where %s leads, so it does not protect what git runs or "
                             "obeys there: write the path in full",
                             workspace->git.unfollowed.at[i]);
            vec_push(&plan->notes, unfollowed);
        }
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
        note_once(plan,
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
    note_once(plan, arena_printf(policy->arena, "no profile for %s; using %s%s", *policy->request.command,
                                 *toolchains ? "base" : "the base policy", toolchains));
}

/* A global installation: all of the machine's tools are read-only inside, and npm does not say what that means. */
static void note_global_install(struct plan *plan)
{
    static const char *const managers[] = {"npm", "pnpm", "bun"}, *const globals[] = {"-g", "--global"},
                             *const verbs[] = {"i", "in", "install", "add", "update", "up", "upgrade"};
    const char *const *words = plan->policy->request.command;
    const char *name = path_name(*words);
    bool is_global = strcmp(name, "yarn") == 0 && words[1] && strcmp(words[1], "global") == 0;
    bool is_manager = text_is_among(name, managers, array_len(managers)), is_install = false, is_flag = false;
    for (const char *const *at = words + 1; is_manager && *at && strcmp(*at, "--") != 0; at++) {
        is_install |= text_is_among(*at, verbs, array_len(verbs));
        is_flag |= text_is_among(*at, globals, array_len(globals));
    }
    if (is_global || (is_install && is_flag))
        note(plan, NULL,
             arena_printf(plan->policy->arena,
                          "a global installation changes nothing on your machine from inside: run %s without "
                          "bawn, or install it into the project",
                          name));
}

/* Arguments that bawn adds and that change what the agent does. The briefing and the tools of bawn change nothing. */
static void note_arguments(struct plan *plan)
{
    struct arena *arena = plan->policy->arena;
    const char *words = "";
    const struct rule *because = NULL;
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_ARGUMENT || plan_argument_informs(plan, operation))
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

/* The login and the settings that the agent would have outside are not those that it gets. */
static void note_agent_folder(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    if (policy->folder_problem && policy->agent && strcmp(policy->agent, "agent/claude") == 0)
        note(plan, NULL,
             arena_printf(policy->arena, "CLAUDE_CONFIG_DIR %s, so claude uses ~/.claude inside",
                          policy->folder_problem));
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

/* The variable passes, but the socket that it names is not there: the program fails, and does not say why. */
static void note_sockets(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    vec_each (const struct operation, operation, &plan->operations) {
        const char *path = operation->kind == OP_ENV_PASS
                               ? text_variable(policy->request.environment, operation->name)
                               : NULL;
        const struct fs_place *place = NULL;
        struct err ignored;
        if (path && *path == '/' &&
            fs_resolve(policy->request.fs, path_clean(policy->arena, "/", path), &place, &ignored) == 0 &&
            place->kind == FILE_SOCKET && decide_path(policy, place->real, NULL).access != ACCESS_SOCKET)
            note(plan, NULL,
                 arena_printf(policy->arena,
                              "%s names the socket %s, which is not shown inside (--socket %s shows it)",
                              operation->name, place->real, place->real));
    }
}

/* PATH begins with its programs, which are not there: another python runs, without the packages, and does not say why. */
static void note_environment(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    const char *path = text_variable(policy->request.environment, "VIRTUAL_ENV");
    const struct fs_place *place = NULL;
    struct err ignored;
    if (path && *path == '/' &&
        fs_resolve(policy->request.fs, path_clean(policy->arena, "/", path), &place, &ignored) == 0 &&
        fs_kind(policy->request.fs, path_join(policy->arena, place->real, "pyvenv.cfg")) == FILE_REGULAR &&
        decide_path(policy, place->real, NULL).access == ACCESS_NONE)
        note_once(plan, arena_printf(policy->arena,
                                     "the Python environment that you activated, %s, is not shown inside "
                                     "(--read %s shows it)",
                                     place->real, place->real));
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

/* Says why a login is inside though a rule would keep it outside, or that no rule shows its file. */
static void note_login(struct plan *plan, const struct rule *rule)
{
    struct arena *arena = plan->policy->arena;
    const char *file = secret_login_file(plan->policy, rule->secret), *name = rule->secret->name,
               *why = decide_secret_yields(plan->policy, rule);
    const struct rule *decides = decide_secret(plan->policy, name);
    bool is_shown = false;
    vec_each (const struct operation, operation, &plan->operations)
        is_shown |= file && operation_is_file_inside(operation) && strcmp(operation->source, file) == 0;
    if (why && !decides && is_shown)
        note(plan, rule,
             arena_printf(arena, "the login in %s is inside, where programs can read it: %s", name, why));
    if (decides == rule && file && !is_shown)
        note(plan, rule,
             arena_printf(arena, "%s is not inside (--sync %s shows it)", name, rule->secret->from));
}

/* Says why a value is inside though a rule would keep it outside. */
static void note_inside(struct plan *plan, const struct rule *rule)
{
    struct arena *arena = plan->policy->arena;
    const char *name = rule->secret->name, *why = decide_secret_yields(plan->policy, rule);
    vec_each (const struct operation, operation, &plan->operations) {
        if (why && operation->kind == OP_ENV_PASS && strcmp(operation->name, name) == 0)
            note(plan, rule,
                 arena_printf(arena, "%s is inside, where programs can read it: %s%s", name, why,
                              rule->lifted
                                  ? arena_printf(arena, " (--secret '%s to HOST' keeps it outside)", name)
                                  : ""));
    }
}

/* Does the plan have a placeholder for the secret? */
static bool is_used(const struct plan *plan, const struct rule *rule)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_SECRET && operation->because == rule)
            return true;
    }
    return false;
}

static bool is_reached(const struct policy *policy, const struct host_object *host)
{
    const struct rule *decides = decide_host(policy, host, host->port, NULL).decides;
    return decides && decides->verb == VERB_CONNECT;
}

/* A secret that nothing can swap, that is for a host that cannot be reached, or that is inside all the same. */
static void note_kept_outside(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    struct arena *arena = policy->arena;
    bool is_swapped = operations_find(&plan->operations, OP_SECRET);
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb != VERB_SECRET)
            continue;
        const char *name = rule->secret->name, *value = text_variable(policy->request.environment, name);
        const struct rule *decides = decide_secret(policy, name);
        if (rule->secret->source == SECRET_LOGIN)
            note_login(plan, rule);
        else if (!decides)
            note_inside(plan, rule);
        if (decides != rule)
            continue;
        if (!is_swapped && value && *value)
            note(plan, rule,
                 arena_printf(arena,
                              "%s stays outside, without a placeholder inside: only `net allow` can swap one "
                              "(--secrets inside passes the value)",
                              name));
        for (size_t i = 0; is_used(plan, rule) && i < rule->secret->host_count; i++) {
            const char *host = host_text(arena, &rule->secret->hosts[i]);
            if (!is_reached(policy, &rule->secret->hosts[i]))
                note(plan, rule,
                     arena_printf(arena,
                                  "%s is for %s, which no rule lets the command reach (--connect %s does)",
                                  name, host, host));
        }
    }
}

/* Plain requests that nobody relays cannot be searched. */
static void note_plain_leaks(struct plan *plan)
{
    const struct rule *rule = decide_setting(plan->policy, VERB_LEAK);
    if (rule && strchr(rule->text, ' ') && strcmp(operations_net(&plan->operations), "open") == 0)
        note(plan, rule,
             arena_printf(
                 plan->policy->arena,
                 "`leak %s` does not search plain HTTP: with `net open` nothing is between the command "
                 "and the network",
                 rule->text));
}

void plan_add_notes(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    if (policy->request.command && !policy->agent)
        note_no_agent(plan);
    if (policy->request.command)
        note_global_install(plan);
    note_arguments(plan);
    note_given_up(plan);
    plan_note_landlock(plan);
    note_lost_grants(plan);
    note_untrusted(plan);
    note_git(plan);
    note_certificates(plan);
    note_agent_folder(plan);
    note_servers(plan);
    note_base_urls(plan);
    note_sockets(plan);
    note_environment(plan);
    note_secrets(plan);
    note_kept_outside(plan);
    note_plain_leaks(plan);
    plan_note_forges(plan);
    plan_note_ssh_keys(plan);
}
