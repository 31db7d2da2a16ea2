/* The table of formats, and the list of what an export loses. */
#include "translate/export.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"

static const struct format {
    const char *name;
    export_function *write;
    const char *comment; /* how a comment begins; NULL: the format has none */
    const char *first;   /* a line that must be the first, or NULL */
} formats[] = {
    {"bwrap", export_bwrap, "# ", "#!/bin/sh"},
    {"claude", export_claude, NULL, NULL},
    {"codex", export_codex, "# ", NULL},
    {"docker", export_docker, "# ", "#!/bin/sh"},
    {"nono", export_nono, NULL, NULL},
    {"seatbelt", export_seatbelt, ";; ", "(version 1)"},
    {"srt", export_srt, NULL, NULL},
    {"systemd", export_systemd, "# ", NULL},
};

static const char *const headings[LOST_COUNT] = {
    [LOST_REFUSAL] = "Refused by bawn, not by this:",
    [LOST_GRANT] = "Granted by bawn, not by this:",
    [LOST_OTHER] = "Only bawn has:",
};

void lose(struct export *export, enum lost_kind kind, const char *format, ...)
{
    auto_buf struct buf printable = {0};
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(export->arena, format, arguments);
    va_end(arguments);
    text_add_printable(&printable, text, strlen(text));
    vec_push(&export->translation->lost, (struct lost){kind, arena_str(export->arena, buf_text(&printable))});
}

void lose_each(struct export *export, enum lost_kind kind, const text_list *objects, const char *sentence)
{
    enum { SHOWN = 8 };
    auto_buf struct buf list = {0};
    for (size_t i = 0; i < objects->count && i < SHOWN; i++)
        buf_printf(&list, "%s%s", i ? " " : "", objects->at[i]);
    if (objects->count > SHOWN)
        buf_printf(&list, " and %zu more", objects->count - SHOWN);
    if (objects->count)
        lose(export, kind, "%s: %s", sentence, buf_text(&list));
}

static const char *object_of(struct arena *arena, const struct operation *operation)
{
    if (operation->kind == OP_HOST_PORT || operation->kind == OP_PUBLISH)
        return arena_printf(arena, "%u", operation->port);
    return operation->path ? operation->path : operation->name ? operation->name : operation->value;
}

void lose_operations(struct export *export, enum lost_kind kind, enum operation_kind operations,
                     const char *sentence)
{
    auto_vec text_list objects = {0};
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == operations)
            vec_push(&objects, object_of(export->arena, operation));
    }
    lose_each(export, kind, &objects, sentence);
}

bool operation_hides(const struct operation *operation)
{
    if (operation->kind == OP_HIDE)
        return true;
    return operation->kind == OP_FREEZE && operation->because &&
           (operation->because->verb == VERB_HIDE || operation->because->verb == VERB_SEAL);
}

void export_hidden_missing(const struct export *export, text_list *ret_paths)
{
    const struct policy *policy = export->plan->policy;
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        bool hides = placed->rule->verb == VERB_HIDE || placed->rule->verb == VERB_SEAL;
        if (!hides || placed->has_wildcard || placed->found->kind != FILE_MISSING ||
            !operations_show(&export->plan->operations, placed->path) ||
            decide_path(policy, placed->path, NULL).access != ACCESS_NONE)
            continue;
        vec_push(ret_paths, placed->path);
    }
}

bool operation_reads(const struct operation *operation)
{
    return operation_shows(operation) || operation->kind == OP_COPY ||
           (operation->kind == OP_FREEZE && !operation_hides(operation));
}

bool export_is_written(const struct export *export, const char *path)
{
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_BIND_WRITE && path_is_inside(path, operation->path))
            return true;
    }
    return false;
}

bool operation_sets(const struct operation *operation)
{
    return operation->kind == OP_ENV_SET && strcmp(operation->name, "BAWN") != 0;
}

enum net_mode export_net(const struct export *export)
{
    const struct operation *net = operations_find(&export->plan->operations, OP_NET);
    for (enum net_mode mode = 0; net && mode < NET_COUNT; mode++) {
        if (strcmp(net->value, net_mode_name(mode)) == 0)
            return mode;
    }
    return NET_OFF;
}

void lose_hosts(struct export *export)
{
    if (export_net(export) == NET_OPEN)
        return;
    auto_vec text_list hosts = {0};
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_CONNECT)
            vec_push(&hosts, host_with_port(export->arena, operation->value, operation->port));
    }
    lose_each(export, LOST_GRANT, &hosts, "the network: this format knows no host names, so there is none");
}

void lose_ports(struct export *export)
{
    if (export_net(export) == NET_OPEN)
        return;
    lose_operations(export, LOST_GRANT, OP_PUBLISH, "published ports");
    lose_operations(export, LOST_GRANT, OP_HOST_PORT, "ports of this machine's localhost");
}

static const struct operation *limit_of(const struct export *export, enum limit limit)
{
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_LIMIT && strcmp(operation->name, limit_name(limit)) == 0)
            return operation;
    }
    return NULL;
}

uint64_t export_limit(const struct export *export, enum limit limit)
{
    const struct operation *operation = limit_of(export, limit);
    return operation ? operation->amount : UINT64_MAX;
}

void lose_limit(struct export *export, enum limit limit)
{
    uint64_t amount = export_limit(export, limit);
    if (amount != UINT64_MAX)
        lose(export, LOST_OTHER, "the limit %s=%s", limit_name(limit),
             limit_text(export->arena, limit, amount));
}

/* A format that has hosts opens the whole host, and one that has none opens nothing. */
static void lose_requests(struct export *export)
{
    auto_vec text_list requests = {0};
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_REQUEST)
            vec_push(&requests, arena_printf(export->arena, "%s %s",
                                             host_with_port(export->arena, operation->value, operation->port),
                                             operation->name));
    }
    lose_each(export, LOST_REFUSAL, &requests,
              "rules on requests: a host that is open is open for every request");
}

/* The name of a login is its file. Its `sync` rule is lost as well. */
static void lose_secrets(struct export *export)
{
    auto_vec text_list variables = {0}, logins = {0};
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_SECRET)
            vec_push(operation->is_login ? &logins : &variables, operation->name);
    }
    lose_each(export, LOST_GRANT, &variables,
              "secrets that stay outside: this format has no placeholders, so these variables are not set");
    lose_each(export, LOST_GRANT, &logins,
              "logins whose tokens stay outside: this format has no placeholders, so nobody is logged in");
}

void lose_what_is_bawns(struct export *export)
{
    size_t flags = 0;
    vec_each (const struct operation, operation, &export->plan->operations)
        flags += operation->kind == OP_FLAG;
    if (flags)
        lose(export, LOST_OTHER,
             "%zu flagged path%s: nobody is asked about changes of files that could run on your machine",
             flags, flags == 1 ? "" : "s");
    lose_requests(export);
    lose_operations(export, LOST_GRANT, OP_ARGUMENT, "arguments that bawn adds to the agent's own");
    lose_secrets(export);
    lose_operations(export, LOST_GRANT, OP_FORGE,
                    "git with your keys or a token outside: nothing there answers git");
    lose_operations(export, LOST_GRANT, OP_SSH_KEY,
                    "keys of your ssh agent: nothing there limits what they sign");
    lose(export, LOST_OTHER,
         "the journal, undo and review of changes, decoys, and the check that each wall holds");
}

static void begin(const struct format *format, const struct translation *translation, struct buf *out)
{
    if (format->first)
        buf_printf(out, "%s\n", format->first);
    if (!format->comment)
        return;
    buf_printf(out, "%sWritten by bawn export --to %s.\n", format->comment, format->name);
    lost_add_text(translation, format->comment, out);
    buf_add_char(out, '\n');
}

static int no_such_format(const char *name, struct err *err)
{
    auto_buf struct buf names = {0};
    for (size_t i = 0; i < array_len(formats); i++)
        buf_printf(&names, "%s%s", i == 0 ? "" : i + 1 < array_len(formats) ? ", " : " or ", formats[i].name);
    err_set(err, "there is no format '%s'", name);
    return err_hint(err, "use %s", buf_text(&names));
}

int export_plan(struct arena *arena, const struct plan *plan, const char *name, struct translation *ret,
                struct err *err)
{
    const struct format *format = NULL;
    for (size_t i = 0; i < array_len(formats) && !format; i++) {
        if (strcmp(formats[i].name, name) == 0)
            format = &formats[i];
    }
    if (!format)
        return no_such_format(name, err);
    struct buf body = {0};
    *ret = (struct translation){.says_losses = format->comment != NULL};
    struct export export = {.plan = plan, .arena = arena, .out = &body, .translation = ret};
    format->write(&export);
    begin(format, ret, &ret->text);
    buf_add(&ret->text, buf_text(&body), body.size);
    buf_free(&body);
    return 0;
}

void lost_add_text(const struct translation *translation, const char *leader, struct buf *out)
{
    for (enum lost_kind kind = 0; kind < LOST_COUNT; kind++) {
        bool has_heading = false;
        vec_each (const struct lost, lost, &translation->lost) {
            if (lost->kind != kind)
                continue;
            if (!has_heading)
                buf_printf(out, "%s%s\n", leader, headings[kind]);
            has_heading = true;
            buf_printf(out, "%s  %s\n", leader, lost->text);
        }
    }
}

bool lost_any_refusal(const struct translation *translation)
{
    vec_each (const struct lost, lost, &translation->lost) {
        if (lost->kind == LOST_REFUSAL)
            return true;
    }
    return false;
}

void translation_free(struct translation *translation)
{
    buf_free(&translation->text);
    vec_free(&translation->lost);
}
