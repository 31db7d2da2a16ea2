/* Which rule decides about a path, a host, a request, a variable, a repository or a login, in a paragraph or as JSON. */
#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "git/repo.h"
#include "policy/decide.h"
#include "policy/profile.h"
#include "policy/ssh_key.h"
#include "report/messages.h"
#include "report/policy_text.h"
#include "report/why_outside.h"
#include "report/why_request.h"

/* A question, and its answer. */
struct answer {
    const char *asked;
    const char *kind;     /* "path", "host", "request", "variable", "repository", "login" */
    const char *decision; /* one word, for machines */
    const char *sentence;
    const struct rule *decides;   /* may be NULL */
    const struct rule *artifacts; /* of a path in a build directory: the rule that names it */
    candidate_list candidates;
    const char *flag_object; /* `object` for the command line; NULL: the same */
    const char *object;      /* of a rule that would change the decision */
    const char *user_policy; /* the file for such a rule */
    const char *changes[3];  /* verbs of such rules, ended by NULL; none if it is locked */
    bool is_repository;      /* a bare one, which git fetches from and pushes to */
};

static const char *sentence_for_none(const struct plan *plan, const char *path, const struct rule *rule)
{
    if (rule && rule->verb == VERB_SEAL)
        return arena_printf(
            plan->policy->arena,
            "is not there: it is sealed. Only the administrator, your own policy or the command line can open it%s",
            plan_has_decoy(plan, path) ? "; a decoy is there instead" : "");
    if (rule)
        return "is not there: it is hidden";
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_PRIVATE && path_is_beneath(path, operation->path))
            return arena_printf(plan->policy->arena, "is not there: the sandbox has its own %s",
                                operation->path);
    }
    if (path_is_beneath(path, plan->policy->request.home))
        return "is not there: no rule grants it, and the home directory inside is a private one";
    return "is not there: no rule grants it";
}

static const char *sentence_for_path(const struct plan *plan, const char *path,
                                     const struct path_verdict *verdict)
{
    switch (verdict->access) {
    case ACCESS_NONE:
        return sentence_for_none(plan, path, verdict->decides ? verdict->decides->rule : NULL);
    case ACCESS_READ:
        return "can be read and executed, not written";
    case ACCESS_FROZEN:
        return "can be read but not changed: it is frozen inside a writable tree";
    case ACCESS_COPY:
        return "is copied into the private home at the start: the command can change the copy, never your file";
    case ACCESS_SEED:
        return "can be read and written: changes stay in the sandbox and never reach your files";
    case ACCESS_SIFT:
        return "is copied into the private home without its secrets (sifted)";
    case ACCESS_SYNC:
        return "is kept the same inside and outside";
    case ACCESS_SOCKET:
        return "is a Unix socket that can be connected to";
    case ACCESS_FLAGGED:
        return "can be written; you decide about changes at the end of the run";
    case ACCESS_WRITE:
        return plan->policy->request.full_access
                   ? "is as it is outside: with --full-access no rule on paths applies"
                   : "can be read and written";
    }
    return "";
}

static bool is_locked(const struct answer *answer)
{
    for (size_t i = 0; i < answer->candidates.count; i++) {
        if (answer->candidates.at[i].rule->locked)
            return true;
    }
    return false;
}

/* The rules on the same object that would change the decision; the second may be NULL. */
static void suggest(struct answer *answer, const char *object, const char *first, const char *second)
{
    answer->object = object;
    if (is_locked(answer))
        return;
    answer->changes[0] = first;
    answer->changes[1] = second;
}

static void suggest_for_path(struct answer *answer, const char *path, enum access access,
                             bool names_workspace)
{
    switch (access) {
    case ACCESS_NONE:
        suggest(answer, path, "read", "write");
        return;
    case ACCESS_WRITE:
        suggest(answer, path, "read", names_workspace ? NULL : "hide"); /* a workspace must be seen */
        return;
    case ACCESS_COPY:
    case ACCESS_SEED:
    case ACCESS_SIFT:
    case ACCESS_SYNC:
    case ACCESS_SOCKET:
        suggest(answer, path, "hide", NULL);
        return;
    case ACCESS_READ:
    case ACCESS_FROZEN:
    case ACCESS_FLAGGED:
        suggest(answer, path, "write", names_workspace ? NULL : "hide");
    }
}

/* The rule that names the build directory of a path in a workspace, or NULL. */
static const struct rule *artifacts_at(const struct policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const char *workspace = policy->workspaces.at[i].path;
        if (path_is_beneath(path, workspace) && strcmp(path, workspace) != 0)
            return decide_artifacts(policy, path + strlen(workspace) + 1, true);
    }
    return NULL;
}

static int answer_path(const struct plan *plan, const struct style *style, const char *asked,
                       struct answer *answer, struct err *err)
{
    struct arena *arena = plan->policy->arena;
    const char *path = asked;
    if (text_starts_with(asked, "~/") || strcmp(asked, "~") == 0)
        path = path_join(arena, plan->policy->request.home, asked[1] ? asked + 2 : "");
    path = path_clean(arena, plan->policy->request.directory, path);
    const struct fs_place *place = NULL;
    if (fs_resolve(plan->policy->request.fs, path, &place, err) < 0)
        return -1;
    struct path_verdict verdict = decide_path(plan->policy, place->real, &answer->candidates);
    const char *lead =
        place->links ? arena_printf(arena, "leads to %s, which ", style_path(style, arena, place->real)) : "";
    answer->asked = path;
    answer->kind = "path";
    answer->decision = access_name(verdict.access);
    answer->decides = verdict.decides ? verdict.decides->rule : NULL;
    const char *by = verdict.access == ACCESS_FLAGGED && answer->decides ? answer->decides->by : NULL;
    const char *kind = by ? arena_printf(arena, "%s file", by) : NULL;
    const char *missing = place->kind != FILE_MISSING     ? NULL
                          : verdict.access == ACCESS_NONE ? "outside, nothing is there now"
                                                          : "it does not exist now";
    answer->sentence =
        arena_printf(arena, "%s%s%s%s%s%s%s", lead, sentence_for_path(plan, place->real, &verdict),
                     kind || missing ? " (" : "", kind ? kind : "", kind && missing ? "; " : "",
                     missing ? missing : "", kind || missing ? ")" : "");
    answer->artifacts = verdict.access == ACCESS_WRITE ? artifacts_at(plan->policy, place->real) : NULL;
    /* A name that the shell or the language would not read as plain text is shown in full and quoted. */
    bool is_plain = strcmp(shell_word(arena, place->real), place->real) == 0;
    if (plan->policy->request.full_access)
        return 0;
    bool is_remote = verdict.access <= ACCESS_READ && !policy_in_workspace(plan->policy, place->real) &&
                     git_is_whole(plan->policy->request.fs, place->real);
    bool is_closed_socket = place->kind == FILE_SOCKET && verdict.access != ACCESS_SOCKET;
    if (is_closed_socket && verdict.access != ACCESS_NONE)
        answer->sentence = "is a socket of this machine: inside, nothing answers there";
    if (is_closed_socket)
        suggest(answer, is_plain ? style_path(style, arena, place->real) : place->real, "socket", NULL);
    else
        suggest_for_path(answer, is_plain ? style_path(style, arena, place->real) : place->real,
                         verdict.access, policy_is_workspace(plan->policy, place->real));
    answer->is_repository = is_remote && answer->changes[0];
    if (answer->is_repository && verdict.access == ACCESS_NONE)
        suggest(answer, answer->object, "write", "read");
    answer->flag_object = is_plain ? answer->object : pattern_quote(arena, place->real);
    return 0;
}

/* Inside, localhost is the sandbox itself: a rule on hosts cannot lead to this machine. */
static void answer_loopback(const struct plan *plan, uint16_t port, struct answer *answer)
{
    const struct operation *shown = plan_host_port(plan, port);
    answer->decision = shown ? "connect" : "refused";
    if (shown) {
        answer->decides = shown->because;
        answer->sentence = "leads to this machine's port";
        return;
    }
    answer->sentence = "is the sandbox itself inside: this machine's port is not shown there";
    if (port == SSH_PORT) {
        answer->sentence =
            "is the sandbox itself inside: this machine's ssh server is not shown there, because a "
            "program that logs in there has left the sandbox";
        return;
    }
    suggest(answer, arena_printf(plan->policy->arena, "%u", port), "host-port", NULL);
}

/* A grant of a repository that is not trusted decides nothing. It is named, or its author would look for a mistake in it. */
static void add_untrusted(struct answer *answer, const struct rule *rule, bool is_about)
{
    if (is_about && policy_rule_awaits_trust(rule))
        vec_push(&answer->candidates, (struct candidate){.rule = rule, .loss = LOSS_UNTRUSTED});
}

static int answer_host(const struct plan *plan, const char *asked, struct answer *answer, struct err *err)
{
    struct arena *arena = plan->policy->arena;
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    answer->kind = "host";
    if (host_parse(arena, asked, &host, &problem, &hint) < 0) {
        err_set(err, "%s: '%s'", problem, asked);
        return hint ? err_hint(err, "%s", hint) : -1;
    }
    uint16_t port = host.port ? host.port : PORT_HTTPS;
    const struct rule *net = decide_net(plan->policy, NULL).decides;
    enum net_mode mode = net ? net->net : NET_ALLOW;
    answer->asked = host_with_port(arena, host_text(arena, &host), port);
    if (mode != NET_ALLOW) {
        decide_net(plan->policy, &answer->candidates);
        answer->decides = net;
        answer->decision = mode == NET_OPEN ? "connect" : "refused";
        answer->sentence = mode == NET_OPEN ? "can be reached: the sandbox has this machine's network"
                                            : "cannot be reached: the network is off";
        suggest(answer, "allow", "net", NULL);
        return 0;
    }
    if (host_is_loopback(&host)) {
        answer_loopback(plan, port, answer);
        return 0;
    }
    answer->decides = decide_host(plan->policy, &host, port, &answer->candidates).decides;
    bool allowed = answer->decides && answer->decides->verb == VERB_CONNECT;
    answer->decision = allowed ? "connect" : "refused";
    bool is_judged = allowed && decide_judges_requests(plan->policy, &host, port);
    if (is_judged)
        answer->candidates.count = 0; /* its rules on requests add up */
    vec_each (const struct rule, rule, &plan->policy->rules)
        add_untrusted(answer, rule,
                      rule->verb == VERB_CONNECT && (!rule->host.port || rule->host.port == port) &&
                          host_covers(&rule->host, &host));
    answer->sentence =
        is_judged         ? "can be reached; rules judge each request (`bawn why GET https://HOST/PATH`)"
        : allowed         ? "can be reached"
        : answer->decides ? "cannot be reached: a rule refuses it"
        : host.kind == HOST_ADDRESS ? "cannot be reached: no rule names it"
                                    : "cannot be reached: no rule names it, so its name does not resolve";
    const char *object = port == PORT_HTTPS && !allowed ? host_text(arena, &host) : answer->asked;
    suggest(answer, object, allowed ? "refuse" : "connect", NULL);
    return 0;
}

/* At a host whose requests are judged, the answer is about the request; elsewhere about the host. */
static int answer_request(const struct plan *plan, const char *asked, struct answer *answer, struct err *err)
{
    struct why_request request;
    if (why_request_read(plan, asked, &request, err) < 0 || answer_host(plan, request.place, answer, err) < 0)
        return -1;
    bool is_reached = answer->decision && strcmp(answer->decision, "connect") == 0;
    if (!is_reached || !request.is_judged)
        return 0;
    answer->candidates.count = 0;
    why_request_decide(plan, &request, &answer->candidates);
    answer->asked = asked;
    answer->kind = "request";
    answer->decides = request.decides;
    answer->decision = request.is_allowed ? "connect" : "refused";
    answer->sentence = request.sentence;
    answer->object = answer->changes[0] = NULL;
    if (request.object)
        suggest(answer, request.object, request.is_allowed ? "refuse" : "connect", NULL);
    return 0;
}

static void answer_variable(const struct plan *plan, const char *name, struct answer *answer)
{
    struct arena *arena = plan->policy->arena;
    answer->kind = "variable";
    answer->asked = arena_printf(arena, "$%s", name);
    const struct rule *secret = decide_secret(plan->policy, name);
    if (secret) {
        answer->decides = secret;
        answer->decision = "outside";
        answer->sentence = secret->secret->carrier_count
                               ? "stays outside: inside is a placeholder, for the hosts of a rule and the "
                                 "places in a request that it names (--secrets inside passes the value)"
                               : "stays outside: inside is a placeholder, for the hosts of a rule "
                                 "(--secrets inside passes the value)";
        return;
    }
    answer->decides = decide_env(plan->policy, name, &answer->candidates).decides;
    bool passes = answer->decides && answer->decides->verb == VERB_ENV;
    bool is_default = passes && answer->decides->env.is_default;
    bool is_set = passes && answer->decides->env.value && !is_default;
    answer->decision = is_set ? "set" : passes ? "passed" : "dropped";
    answer->sentence = is_set       ? "is set by a rule, whatever its value outside"
                       : is_default ? "is passed on with your value, or with that of a rule if you have none"
                       : passes     ? "is passed on with your value, if you have one"
                       : answer->decides ? "is not passed on: a rule unsets it"
                                         : "is not passed on: no rule names it";
    vec_each (const struct rule, rule, &plan->policy->rules)
        add_untrusted(answer, rule,
                      rule->verb == VERB_ENV && pattern_matches_name(rule->env.name, name, strlen(name)));
    suggest(answer, name, passes ? "unset" : "env", NULL);
}

static void take(struct answer *answer, const struct why_outside *outside)
{
    answer->kind = outside->kind;
    answer->decision = outside->decision;
    answer->sentence = outside->sentence;
    answer->decides = outside->decides;
}

/* A path has a slash or a tilde, or exists; a host has a dot or a colon. */
static bool looks_like_path(const struct plan *plan, const char *asked)
{
    if (strstr(asked, "://"))
        return false; /* a URL: host_parse() says what to write instead */
    if (strchr(asked, '/') && !isdigit((unsigned char)*asked))
        return true;
    const struct fs_place *place = NULL;
    struct err ignored;
    const char *path = path_clean(plan->policy->arena, plan->policy->request.directory, asked);
    bool exists =
        fs_resolve(plan->policy->request.fs, path, &place, &ignored) == 0 && place->kind != FILE_MISSING;
    return exists || *asked == '~' || *asked == '.' ||
           (!strpbrk(asked, ".:") && strcmp(asked, "localhost") != 0);
}

static int answer_question(const struct plan *plan, const struct style *style, const char *asked,
                           struct answer *ret_answer, struct err *err)
{
    struct arena *arena = plan->policy->arena;
    const char *config = plan->policy->request.starts[START_CONFIG];
    *ret_answer = (struct answer){
        .asked = asked,
        .user_policy = style_path(style, arena, path_join(arena, config, "bawn/policy.bawn")),
    };
    if (*asked == '$' && asked[1]) {
        answer_variable(plan, asked + 1, ret_answer);
        return 0;
    }
    if (why_is_request(asked))
        return answer_request(plan, asked, ret_answer, err);
    struct why_outside outside;
    if (why_is_repository(asked)) {
        why_repository_decide(plan, asked, &outside);
        take(ret_answer, &outside);
        return 0;
    }
    if (why_is_login(asked)) {
        if (why_login_decide(plan, asked, &outside, err) < 0)
            return -1;
        take(ret_answer, &outside);
        return 0;
    }
    if (looks_like_path(plan, asked))
        return answer_path(plan, style, asked, ret_answer, err);
    return answer_host(plan, asked, ret_answer, err);
}

static void add_rule_line(struct buf *out, const struct style *style, struct arena *arena, const char *label,
                          const struct rule *rule, const char *why)
{
    enum { LABEL_COLUMNS = 10, RULE_COLUMNS = 34 };
    buf_add_str(out, "  ");
    style_add_column(style, out, COLOUR_DIM, label, LABEL_COLUMNS);
    style_add_column(style, out, COLOUR_PLAIN, rule_text(arena, rule), RULE_COLUMNS);
    buf_add_str(out, "  ");
    style_add(style, out, COLOUR_PLAIN, rule_place(style, arena, rule));
    if (why)
        buf_printf(out, ", %s", why);
    buf_add_char(out, '\n');
}

/* Why bawn made the rule. */
static void add_cause(struct buf *out, const struct style *style, const char *cause)
{
    buf_add_str(out, "  ");
    style_add(style, out, COLOUR_DIM, "because   ");
    style_add(style, out, COLOUR_PLAIN, "git runs it: ");
    style_add(style, out, COLOUR_PLAIN, cause);
    buf_add_str(out, " leads here\n");
}

static void add_changes(struct buf *out, const struct style *style, struct arena *arena,
                        const struct answer *answer)
{
    if (!answer->object)
        return; /* a mode decided it, not a rule */
    buf_add_str(out, "  ");
    style_add(style, out, COLOUR_DIM, "to change ");
    if (!answer->changes[0]) {
        buf_add_str(out, "ask the administrator, who locked it\n");
        return;
    }
    bool is_request = strcmp(answer->kind, "request") == 0; /* in a file these are two words */
    const char *quoted = shell_word(arena, answer->object), *word = is_request ? answer->object : quoted;
    const char *flag_word = answer->flag_object ? shell_word(arena, answer->flag_object) : quoted;
    for (size_t i = 0; answer->changes[i]; i++)
        style_add(style, out, COLOUR_PLAIN,
                  arena_printf(arena, "%s--%s %s", i ? " or " : "", answer->changes[i], flag_word));
    buf_add_str(out, "; or `");
    style_add(style, out, COLOUR_PLAIN, arena_printf(arena, "%s %s", answer->changes[0], word));
    buf_add_str(out, "` in ");
    style_add(style, out, COLOUR_PLAIN, answer->user_policy);
    buf_add_char(out, '\n');
    if (answer->is_repository) {
        buf_add_str(out, "  ");
        style_add(style, out, COLOUR_DIM, "git       ");
        buf_add_str(out, "a push to it needs `write`, a fetch `read`\n");
    }
    if (strcmp(answer->changes[0], "connect") == 0 && !answer->decides && !is_request) {
        if (profile_of_registry(answer->object)) {
            buf_add_str(out, "  ");
            style_add(style, out, COLOUR_DIM, "registry  ");
            buf_printf(out, "--use %s has it, and the other hosts that go with it\n",
                       profile_of_registry(answer->object));
        }
        buf_add_str(out, "  ");
        style_add(style, out, COLOUR_DIM, "in a run  ");
        style_add(style, out, COLOUR_PLAIN, arena_printf(arena, "bawn allow %s", flag_word));
        buf_add_char(out, '\n');
    }
}

static void add_text(struct buf *out, const struct style *style, struct arena *arena,
                     const struct answer *answer)
{
    bool is_path = strcmp(answer->kind, "path") == 0;
    style_add(style, out, COLOUR_BOLD, is_path ? style_path(style, arena, answer->asked) : answer->asked);
    buf_add_char(out, ' ');
    style_add(style, out, COLOUR_PLAIN, answer->sentence);
    buf_add_str(out, ".\n");
    if (answer->decides)
        add_rule_line(out, style, arena, "decides", answer->decides, NULL);
    if (answer->decides && answer->decides->cause)
        add_cause(out, style, answer->decides->cause);
    vec_each (const struct candidate, candidate, &answer->candidates) {
        if (candidate->rule != answer->decides)
            add_rule_line(out, style, arena, "beaten", candidate->rule, loss_text(candidate->loss));
    }
    if (answer->artifacts)
        add_rule_line(out, style, arena, "besides", answer->artifacts, "new programs there are not reported");
    add_changes(out, style, arena, answer);
}

static void add_json(struct json *json, const struct answer *answer)
{
    json_open(json, NULL, '{');
    json_str(json, "asked", answer->asked);
    json_str(json, "kind", answer->kind);
    json_str(json, "decision", answer->decision);
    json_str(json, "sentence", answer->sentence);
    if (answer->decides)
        rule_add_json(json, "decided_by", answer->decides);
    if (answer->decides && answer->decides->cause)
        json_str(json, "git_runs_because_of", answer->decides->cause);
    if (answer->artifacts)
        rule_add_json(json, "artifacts", answer->artifacts);
    json_open(json, "beaten", '[');
    vec_each (const struct candidate, candidate, &answer->candidates) {
        if (candidate->rule == answer->decides)
            continue;
        json_open(json, NULL, '{');
        rule_add_json(json, "rule", candidate->rule);
        json_str(json, "because", loss_text(candidate->loss));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "to_change", '[');
    for (size_t i = 0; answer->changes[i]; i++) {
        json_open(json, NULL, '{');
        json_str(json, "verb", answer->changes[i]);
        json_str(json, "object", answer->flag_object ? answer->flag_object : answer->object);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

int why_add(const struct plan *plan, const struct style *style, const char *asked, struct json *json,
            struct buf *out, struct err *err)
{
    struct answer answer;
    int result = answer_question(plan, style, asked, &answer, err);
    if (result == 0 && json)
        add_json(json, &answer);
    else if (result == 0)
        add_text(out, style, plan->policy->arena, &answer);
    vec_free(&answer.candidates);
    return result;
}
