/*
 * Shows the certificate files that variables of the caller name, and settings that are sifted into the private home, so that a
 * program that gets the variable or the setting can read the file. Such a file is granted like a profile's
 * `read`, so it opens no seal. A repository can set a variable (direnv), so the file must look like
 * certificates and must not be reached through a symlink that a sandbox could have planted.
 */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/compose.h"
#include "policy/decide.h"

enum { LARGEST = 4 * 1024 * 1024 };

static const char *const variables[CERTIFICATE_VARIABLES] = {
    "SSL_CERT_FILE",  "NIX_SSL_CERT_FILE",  "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO", "PIP_CERT",           "CARGO_HTTP_CAINFO",   "npm_config_cafile",  "AWS_CA_BUNDLE",
    "DENO_CERT",      "BUNDLE_SSL_CA_CERT",
};

static bool passes(const struct policy *policy, const char *variable)
{
    const struct rule *rule = decide_env(policy, variable, NULL).decides;
    return rule && rule->verb == VERB_ENV && !rule->env.value;
}

/* Most such files lie in /etc/ssl or in the workspace, and are visible already. */
static bool is_visible_anyway(const struct policy *policy, const char *path)
{
    if (policy_in_workspace(policy, path))
        return true;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == VERB_READ && rule->path.start == START_ROOT && !rule->path.has_wildcard &&
            policy_rule_counts(policy, rule) &&
            path_is_beneath(path, path_join(policy->arena, "/", rule->path.pattern)))
            return true;
    }
    return false;
}

static bool could_be_planted(const struct policy *policy, const struct fs_place *place)
{
    for (const struct fs_link *link = place->links; link; link = link->next) {
        bool is_in_workspace = false;
        for (size_t i = 0; i < policy->workspaces.count; i++)
            is_in_workspace |= path_is_beneath(link->path, policy->workspaces.at[i].path);
        if (is_in_workspace || path_is_beneath(link->path, policy->request.home))
            return true;
    }
    return false;
}

/* The reason why the file is not shown, or NULL. */
static const char *problem_with(const struct policy *policy, const struct fs_place *place)
{
    char *text = NULL;
    size_t size = 0;
    struct err ignored;
    if (place->kind != FILE_REGULAR)
        return "is not a regular file";
    if (could_be_planted(policy, place))
        return "is reached through a symbolic link";
    if (fs_read(policy->request.fs, place->real, LARGEST, &text, &size, &ignored) <= 0)
        return "cannot be read";
    if (memmem(text, size, "PRIVATE KEY-----", 16))
        return "holds a private key";
    bool holds_certificates = memmem(text, size, "-----BEGIN CERTIFICATE-----", 27) ||
                              memmem(text, size, "-----BEGIN TRUSTED CERTIFICATE-----", 35);
    return holds_certificates ? NULL : "holds no certificate";
}

/* Grants the file that a variable or a setting names; `said_by` names that one. */
static void show_file(struct policy *policy, const char *path, const char *said_by, const char *reason)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    const char *clean = path_clean(policy->arena, "/", path);
    if (fs_resolve(policy->request.fs, clean, &place, &ignored) < 0 || place->kind == FILE_MISSING ||
        is_visible_anyway(policy, place->real))
        return;
    struct certificates found = {said_by, place->real, problem_with(policy, place)};
    vec_push(&policy->certificates, found);
    if (found.problem)
        return;
    struct source *source = arena_new(policy->arena, struct source);
    *source =
        (struct source){.name = reason, .layer = LAYER_BASE, .asked_by = LAYER_BASE, .is_profile = true};
    add_found_rule(policy, VERB_READ, source, clean);
}

/* The path of a setting's value: without quotes and comment, `~/` and `${HOME}/` replaced. NULL: it is not absolute. */
static const char *path_of_value(const struct policy *policy, const char *value)
{
    static const char variable[] = "${HOME}/";
    value += *value == '"';
    const char *text = arena_copy(policy->arena, value, strcspn(value, "\"#; \t\r\n"));
    if (text_starts_with(text, "~/"))
        return path_join(policy->arena, policy->request.home, text + 2);
    if (text_starts_with(text, variable))
        return path_join(policy->arena, policy->request.home, text + strlen(variable));
    return *text == '/' ? text : NULL;
}

/* Lines such as "cafile=PATH", "cert = PATH" and "cafile PATH": those that `sift` lets through (home/sift.c). */
static void show_of_settings(struct policy *policy, const char *text, const char *written, size_t *count)
{
    static const char *const keys[] = {"cafile", "cert", "cainfo"};
    for (const char *line = text; line && *count < CERTIFICATE_SETTINGS_MOST; line = strchr(line, '\n')) {
        line += strspn(line, "\n\r \t");
        size_t size = strcspn(line, "= \t\n");
        const char *value = line + size;
        value += strspn(value, " \t");
        value += *value == '=';
        value += strspn(value, " \t");
        const char *key = arena_copy(policy->arena, line, size);
        const char *path = text_is_among(key, keys, array_len(keys)) ? path_of_value(policy, value) : NULL;
        if (!path)
            continue;
        ++*count;
        show_file(policy, path, arena_printf(policy->arena, "%s of %s", key, written),
                  arena_printf(policy->arena, "%s of %s", key, written));
    }
}

/* The files that settings name which are sifted into the private home. */
static void show_sifted(struct policy *policy)
{
    size_t count = 0, rules = policy->rules.count;
    for (size_t i = 0; i < rules; i++) {
        const struct rule *rule = &policy->rules.at[i];
        if (rule->verb != VERB_SIFT || rule->path.start >= START_GIT || !policy_rule_counts(policy, rule))
            continue;
        const char *start = rule->path.start == START_ROOT ? "/" : policy->request.starts[rule->path.start];
        const struct fs_place *place = NULL;
        struct err ignored;
        char *text = NULL;
        size_t size;
        const char *path = path_clean(policy->arena, start ? start : "/",
                                      pattern_literal(policy->arena, rule->path.pattern));
        if (start && fs_resolve(policy->request.fs, path, &place, &ignored) == 0 &&
            place->kind == FILE_REGULAR &&
            fs_read(policy->request.fs, place->real, LARGEST, &text, &size, &ignored) > 0)
            show_of_settings(policy, text, rule->written, &count);
    }
}

void show_certificates(struct policy *policy)
{
    for (size_t i = 0; i < CERTIFICATE_VARIABLES; i++) {
        const char *path = text_variable(policy->request.environment, variables[i]);
        if (path && *path == '/' && passes(policy, variables[i]))
            show_file(policy, path, variables[i], arena_printf(policy->arena, "your %s", variables[i]));
    }
    show_sifted(policy);
}
