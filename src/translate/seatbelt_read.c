/*
 * A profile in SBPL, as far as it is lists of paths: (allow file-read* (subpath "…") (literal "…")).
 *
 * In SBPL the last rule that matches decides, in a policy the most specific one. So a path that is allowed and then refused by a
 * later rule around it is not granted. A later allow around a refused path changes nothing: the policy refuses more.
 */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "translate/import.h"

enum { DEEPEST = 32 };

/* One rule about one path. */
struct path_rule {
    bool allows, reads, writes;
    const char *path;
};

struct sbpl {
    struct import *import;
    const char *at, *end;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct path_rule) rules;
};

static void skip_space(struct sbpl *sbpl)
{
    while (sbpl->at < sbpl->end) {
        if (*sbpl->at == ';')
            sbpl->at += strcspn(sbpl->at, "\n");
        else if (strchr(" \t\r\n", *sbpl->at))
            sbpl->at++;
        else
            return;
    }
}

static bool take(struct sbpl *sbpl, char wanted)
{
    skip_space(sbpl);
    if (sbpl->at == sbpl->end || *sbpl->at != wanted)
        return false;
    sbpl->at++;
    return true;
}

/* A string; NULL if there is none, or if it does not end. */
static const char *take_string(struct sbpl *sbpl)
{
    auto_buf struct buf text = {0};
    if (!take(sbpl, '"'))
        return NULL;
    while (sbpl->at < sbpl->end && *sbpl->at != '"') {
        if (*sbpl->at == '\\' && sbpl->at + 1 < sbpl->end)
            sbpl->at++;
        buf_add_char(&text, *sbpl->at++);
    }
    return take(sbpl, '"') ? arena_str(sbpl->import->arena, buf_text(&text)) : NULL;
}

/* A name; "" if there is none. */
static const char *take_name(struct sbpl *sbpl)
{
    skip_space(sbpl);
    size_t size = 0;
    while (sbpl->at + size < sbpl->end && !strchr(" \t\r\n()\";", sbpl->at[size]))
        size++;
    sbpl->at += size;
    return arena_copy(sbpl->import->arena, sbpl->at - size, size);
}

/* Moves behind the form or string that stands here. False if it does not end. */
static bool skip_form(struct sbpl *sbpl)
{
    unsigned depth = 0;
    do {
        skip_space(sbpl);
        if (sbpl->at == sbpl->end)
            return false;
        if (*sbpl->at == '"') {
            if (!take_string(sbpl))
                return false;
        } else if (take(sbpl, '(')) {
            depth++;
        } else if (take(sbpl, ')')) {
            if (depth-- == 0)
                return false;
        } else if (!*take_name(sbpl)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

/* "…", (param "HOME") or (string-append …) as a path of a policy; NULL: it is something else. */
static const char *take_path(struct sbpl *sbpl, unsigned depth)
{
    skip_space(sbpl);
    if (depth == DEEPEST || sbpl->at == sbpl->end)
        return NULL;
    if (*sbpl->at == '"')
        return take_string(sbpl);
    if (!take(sbpl, '('))
        return NULL;
    const char *name = take_name(sbpl), *path = "";
    if (strcmp(name, "param") == 0) {
        const char *parameter = take_string(sbpl);
        path = text_equal(parameter, "HOME") ? "~" : text_equal(parameter, "WORKSPACE") ? "." : NULL;
        return take(sbpl, ')') ? path : NULL;
    }
    if (strcmp(name, "string-append") != 0)
        return NULL;
    while (!take(sbpl, ')')) {
        const char *part = take_path(sbpl, depth + 1);
        if (!part || strlen(path) + strlen(part) >= PATH_LONGEST)
            return NULL;
        path = arena_printf(sbpl->import->arena, "%s%s", path, part);
    }
    return path;
}

/* One filter of a rule: adds its path, or returns false with the position where it was. */
static bool take_filter(struct sbpl *sbpl, struct path_rule rule)
{
    const char *start = sbpl->at;
    if (take(sbpl, '(')) {
        const char *name = take_name(sbpl);
        bool is_path =
            strcmp(name, "subpath") == 0 || strcmp(name, "literal") == 0 || strcmp(name, "path") == 0;
        rule.path = is_path ? take_path(sbpl, 0) : NULL;
        if (rule.path && *rule.path && take(sbpl, ')')) {
            vec_push(&sbpl->rules, rule);
            return true;
        }
    }
    sbpl->at = start;
    return false;
}

/* Which accesses an operation is about. False if it is not about files. */
static bool add_operation(const char *name, struct path_rule *rule)
{
    bool all = strcmp(name, "file*") == 0,
         reads = strcmp(name, "file-read*") == 0 || strcmp(name, "file-read-data") == 0;
    bool writes = strcmp(name, "file-write*") == 0 || strcmp(name, "file-write-data") == 0;
    rule->reads |= all || reads;
    rule->writes |= all || writes;
    return all || reads || writes || strcmp(name, "process-exec*") == 0 || strcmp(name, "process-exec") == 0;
}

/* What stands in an (allow …) or (deny …), to its end. False if something in it was not understood. */
static bool take_rule(struct sbpl *sbpl, bool allows)
{
    struct path_rule rule = {.allows = allows};
    bool is_understood = true, has_filter = false;
    while (!take(sbpl, ')')) {
        skip_space(sbpl);
        if (sbpl->at < sbpl->end && *sbpl->at != '(' && *sbpl->at != '"') {
            const char *name = take_name(sbpl);
            is_understood &= *name && add_operation(name, &rule);
            if (!*name)
                return false;
            continue;
        }
        has_filter = true;
        if (is_understood && (rule.reads || rule.writes) && take_filter(sbpl, rule))
            continue;
        is_understood = false;
        if (!skip_form(sbpl))
            return false;
    }
    return is_understood && has_filter;
}

/* Does a later rule refuse what this one allows? */
static bool is_refused_later(const struct sbpl *sbpl, const struct path_rule *rule)
{
    for (const struct path_rule *later = rule + 1; later < sbpl->rules.at + sbpl->rules.count; later++) {
        if (!later->allows && ((later->reads && rule->reads) || (later->writes && rule->writes)) &&
            (strcmp(later->path, rule->path) == 0 || path_is_inside(rule->path, later->path)))
            return true;
    }
    return false;
}

static void add_rules(struct sbpl *sbpl)
{
    vec_each (const struct path_rule, rule, &sbpl->rules) {
        import_item(sbpl->import, "%s %s%s%s", rule->allows ? "allow" : "deny", rule->reads ? "read " : "",
                    rule->writes ? "write " : "", rule->path);
        if (rule->allows && is_refused_later(sbpl, rule))
            import_left(sbpl->import, LOST_GRANT, "a later rule refuses it");
        else if (rule->allows && rule->writes && rule->reads)
            import_write(sbpl->import, rule->path);
        else if (rule->allows && rule->writes)
            import_left(sbpl->import, LOST_GRANT, "it would be readable, too");
        else if (rule->allows)
            import_read(sbpl->import, rule->path);
        else if (rule->reads)
            import_hide(sbpl->import, rule->path);
        else
            import_keep(sbpl->import, rule->path);
    }
}

static int take_forms(struct sbpl *sbpl, struct err *err)
{
    for (skip_space(sbpl); sbpl->at < sbpl->end; skip_space(sbpl)) {
        const char *start = sbpl->at;
        size_t before = sbpl->rules.count;
        const char *name = take(sbpl, '(') ? take_name(sbpl) : "";
        bool allows = strcmp(name, "allow") == 0;
        if ((allows || strcmp(name, "deny") == 0) && take_rule(sbpl, allows))
            continue;
        sbpl->at = start;
        if (!skip_form(sbpl))
            return err_set(err, "the file is not SBPL: a bracket or a quote does not end, from byte %zu on",
                           (size_t)(start - sbpl->import->text) + 1);
        sbpl->rules.count = allows ? before : sbpl->rules.count; /* what of a refusal was understood stays */
        import_item(sbpl->import, "%.*s", (int)(sbpl->at - start < 1000 ? sbpl->at - start : 1000), start);
        import_left(sbpl->import,
                    strcmp(name, "deny") == 0 ? LOST_REFUSAL
                    : allows                  ? LOST_GRANT
                                              : LOST_OTHER,
                    "it is not a list of paths");
    }
    return 0;
}

int import_seatbelt(struct import *import, struct err *err)
{
    struct sbpl sbpl = {.import = import, .at = import->text, .end = import->text + import->size};
    int status = take_forms(&sbpl, err);
    if (status == 0)
        add_rules(&sbpl);
    vec_free(&sbpl.rules);
    return status;
}
