/*
 * A profile for macOS's sandbox-exec, in its language SBPL.
 *
 * Of all rules that match, the last one decides. Operations on paths come in the plan's order, a directory before its entries, so
 * a deeper rule decides over one around it, as in a policy. A hiding pattern decides over the tree that it lies in, and the
 * rules of a tree inside that tree decide over the pattern: so each visible tree is followed by the patterns that reach into
 * it. Home directory, first workspace and temporary directory are parameters, because they are elsewhere on a Mac.
 */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "translate/export.h"

static void add_quoted(struct buf *out, const char *text, size_t size)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, text[i]);
    }
    buf_add_char(out, '"');
}

/* The parameter that the path begins with, and how long its value is here; NULL: none. */
static const char *parameter_of(const struct export *export, const char *path, size_t *ret_size)
{
    const struct policy *policy = export->plan->policy;
    const char *workspace = policy->workspaces.at[0].path, *home = policy->request.home;
    bool in_workspace = path_is_beneath(path, workspace);
    if (!in_workspace && !path_is_beneath(path, home))
        return NULL;
    *ret_size = strlen(in_workspace ? workspace : home);
    return in_workspace ? "WORKSPACE" : "HOME";
}

static void add_path(struct export *export, const char *path)
{
    size_t size = 0;
    const char *parameter = parameter_of(export, path, &size);
    if (!parameter) {
        add_quoted(export->out, path, strlen(path));
    } else if (!path[size]) {
        buf_printf(export->out, "(param \"%s\")", parameter);
    } else {
        buf_printf(export->out, "(string-append (param \"%s\") ", parameter);
        add_quoted(export->out, path + size, strlen(path + size));
        buf_add_char(export->out, ')');
    }
}

static void add_filter(struct export *export, const char *filter, const char *path)
{
    buf_printf(export->out, " (%s ", filter);
    add_path(export, path);
    buf_add_char(export->out, ')');
}

static void add_rule(struct export *export, const char *begin, const char *filter, const char *path)
{
    buf_printf(export->out, "(%s", begin);
    add_filter(export, filter, path);
    buf_add_str(export->out, ")\n");
}

/* One name of a pattern as a regular expression. */
static void add_name(struct buf *out, const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool is_quoted = name[i] == '\\' && i + 1 < size;
        char byte = name[is_quoted ? ++i : i];
        if (!is_quoted && byte == '*')
            buf_add_str(out, "[^/]*");
        else if (!is_quoted && byte == '?')
            buf_add_str(out, "[^/]");
        else if (strchr(".[]{}()*+?^$|\\", byte))
            buf_printf(out, "\\%c", byte);
        else
            buf_add_char(out, byte);
    }
}

/* Names from `pattern` on, which is "" or begins with '/'. */
static void add_names(struct buf *out, const char *pattern)
{
    while (*pattern == '/') {
        const char *name = pattern + 1;
        size_t size = strcspn(name, "/");
        pattern = name + size;
        if (size == 2 && memcmp(name, "**", 2) == 0)
            buf_add_str(out, "(/.*)?");
        else {
            buf_add_char(out, '/');
            add_name(out, name, size);
        }
    }
}

/* Adds (regex …) for what the pattern matches and all below it. The fixed part may begin with a parameter. */
static void add_regex(struct export *export, const char *fixed, const char *rest)
{
    auto_buf struct buf expression = {0};
    size_t size = 0;
    const char *parameter = parameter_of(export, fixed, &size);
    const char *quoted = pattern_quote(export->arena, fixed + size);
    add_names(&expression, *quoted && quoted[1] ? quoted : "");
    add_names(&expression, rest);
    buf_add_str(&expression, "(/.*)?$");
    buf_add_str(export->out, " (regex (string-append \"^\" ");
    if (parameter)
        buf_printf(export->out, "(param \"%s\") ", parameter);
    add_quoted(export->out, buf_text(&expression), expression.size);
    buf_add_str(export->out, "))");
}

/* Does the pattern match the path or a directory around it? */
static bool matches_around(struct arena *arena, const char *pattern, const char *path)
{
    for (; path[1]; path = path_parent(arena, path)) {
        if (pattern_matches_path(pattern, path, strlen(path)))
            return true;
    }
    return false;
}

/* The one name behind "**", as "/NAME"; NULL if the pattern is of another form. */
static const char *deep_name(const char *pattern)
{
    const char *stars = strstr(pattern, "/**/");
    const char *name = stars ? stars + 3 : NULL;
    return name && !strchr(name + 1, '/') ? name : NULL;
}

static void add_hidden_pattern(struct export *export, const struct operation *tree, const char *pattern)
{
    const char *fixed = pattern_fixed_directory(export->arena, pattern);
    const char *rest = pattern + (fixed[1] ? strlen(pattern_quote(export->arena, fixed)) : 0);
    const char *name = deep_name(pattern);
    if (matches_around(export->arena, pattern, tree->path)) {
        if (!pattern_is_deep(pattern))
            return; /* it matches at one depth, and this tree is an exception from it */
        if (name) {
            fixed = tree->path;
            rest = arena_printf(export->arena, "/**%s", name);
        } else {
            lose(export, LOST_GRANT, "what '%s' matches inside %s", pattern, tree->path);
        }
    }
    buf_add_str(export->out, "(deny file* process-exec* (require-all");
    add_filter(export, "subpath", tree->path);
    add_regex(export, fixed, rest);
    buf_add_str(export->out, "))\n");
}

/* Does a profile grant the tree by name? A frozen path is granted by the tree around it. */
static bool is_of_profile(const struct export *export, const struct operation *tree)
{
    const struct operation *grant = tree->kind == OP_FREEZE ? NULL : tree;
    vec_each (const struct operation, other, &export->plan->operations) {
        if (tree->kind == OP_FREEZE && operation_shows(other) && path_is_beneath(tree->path, other->path) &&
            (!grant || path_is_beneath(other->path, grant->path)))
            grant = other;
    }
    return grant && grant->is_of_profile && grant->kind != OP_COPY;
}

/* Does a hiding pattern count in this tree? A profile's pattern with ** does not, where a profile grants the tree. */
static bool counts_in(const struct export *export, const struct operation *pattern,
                      const struct operation *tree)
{
    if (pattern->kind != OP_HIDE || !pattern->is_pattern)
        return false;
    bool is_spared = (pattern->spares_workspaces && policy_in_workspace(export->plan->policy, tree->path)) ||
                     (is_of_profile(export, tree) && pattern->because->source->is_profile &&
                      pattern_is_deep(pattern->path));
    return !is_spared && pattern_may_match_beneath(pattern->path, tree->path);
}

/* The patterns that hide something in a tree that was just shown. */
static void add_patterns(struct export *export, const struct operation *tree)
{
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (counts_in(export, operation, tree))
            add_hidden_pattern(export, tree, operation->path);
    }
}

static void add_operation(struct export *export, const struct operation *operation)
{
    const char *path =
        operation->kind == OP_COPY || operation->kind == OP_SIFT ? operation->source : operation->path;
    if (operation->is_pattern || operation->kind == OP_FLAG)
        return;
    if (operation_hides(operation) || operation->kind == OP_SIFT) {
        add_rule(export, "deny file* process-exec*", "subpath", path);
    } else if (operation->kind == OP_BIND_WRITE) {
        add_rule(export, "allow file-read* file-write* process-exec*", "subpath", path);
        add_patterns(export, operation);
    } else if (operation_reads(operation)) {
        add_rule(export, "allow file-read* process-exec*", "subpath", path);
        add_rule(export, "deny file-write*", "subpath", path);
        add_patterns(export, operation);
    } else if (operation->kind == OP_SOCKET) {
        add_rule(export, "allow network-outbound", "literal", path);
    }
}

/* A tree that is made inside such a path would be lost: a plan has none. */
static void add_hidden_missing(struct export *export)
{
    auto_vec text_list paths = {0};
    export_hidden_missing(export, &paths);
    for (size_t i = 0; i < paths.count; i++)
        add_rule(export, "deny file* process-exec*", "subpath", paths.at[i]);
}

/* Renaming a directory would take along what is frozen in it. */
static void add_anchors(struct export *export)
{
    auto_vec text_list paths = {0};
    export_anchors(export, true, &paths);
    for (size_t i = 0; i < paths.count; i++)
        add_rule(export, "deny file-write-unlink", "literal", paths.at[i]);
}

static void add_network(struct export *export)
{
    if (export_net(export) == NET_OPEN) {
        buf_add_str(export->out, "(allow network*)\n");
        return;
    }
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_HOST_PORT)
            buf_printf(export->out, "(allow network-outbound (remote ip \"localhost:%u\"))\n",
                       operation->port);
        else if (operation->kind == OP_PUBLISH)
            buf_printf(export->out, "(allow network-bind network-inbound (local ip \"localhost:%u\"))\n",
                       operation->port);
    }
    lose_hosts(export);
}

void export_seatbelt(struct export *export)
{
    buf_add_str(export->out, ";; usage: sandbox-exec -D HOME=\"$HOME\" -D WORKSPACE=\"$(pwd -P)\" \\\n"
                             ";;            -D TMP=\"$(cd \"$(mktemp -d)\" && pwd -P)\" -f FILE CMD...\n"
                             "(deny default)\n"
                             "(import \"system.sb\")\n"
                             "(allow process-fork)\n"
                             "(allow signal (target same-sandbox))\n"
                             "(allow file-read-metadata)\n"
                             "(allow file-read* file-write* process-exec* (subpath (param \"TMP\")))\n");
    vec_each (const struct operation, operation, &export->plan->operations)
        add_operation(export, operation);
    add_hidden_missing(export);
    add_anchors(export);
    add_network(export);
    lose(export, LOST_REFUSAL, "names, sizes and times of files: hidden ones can be listed, not read");
    lose(export, LOST_REFUSAL, "variables: the command inherits all of them; start it with env -i");
    lose(export, LOST_REFUSAL, "what macOS's own system.sb grants to every program");
    lose_operations(export, LOST_GRANT, OP_SYNC, "logins");
    lose_operations(export, LOST_GRANT, OP_SIFT, "copies without secrets of");
    lose(export, LOST_GRANT, "the private home");
    for (enum limit limit = LIMIT_MEMORY; limit <= LIMIT_RATE; limit++)
        lose_limit(export, limit);
    lose_what_is_bawns(export);
}
