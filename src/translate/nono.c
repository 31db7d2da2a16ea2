/*
 * A profile of nono. On Linux it is held by Landlock, which grants trees and refuses nothing inside one: `deny` works only
 * outside what is granted.
 */
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "translate/export.h"
#include "translate/import.h"

static void add_granted(struct export *export, struct json *json, const char *key, bool writes,
                        bool is_directory)
{
    json_open(json, key, '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        bool is_asked = writes ? operation->kind == OP_BIND_WRITE
                               : operation_reads(operation) && operation->kind != OP_FREEZE &&
                                     operation->kind != OP_BIND_WRITE;
        if (is_asked && operation->is_directory == is_directory)
            json_str(json, NULL, operation->kind == OP_COPY ? operation->source : operation->path);
    }
    json_close(json, ']');
}

static bool is_granted(const struct export *export, const char *path)
{
    return operations_show(&export->plan->operations, path);
}

static void add_denied(struct export *export, struct json *json)
{
    auto_vec text_list open = {0}, written = {0};
    json_open(json, "deny", '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        bool is_elsewhere = operation->kind == OP_SIFT || operation->kind == OP_COPY;
        const char *path = is_elsewhere ? operation->source : operation->path;
        if (operation_hides(operation) || operation->kind == OP_SIFT) {
            if (operation->is_pattern || is_granted(export, path))
                vec_push(&open, path);
            if (!operation->is_pattern)
                json_str(json, NULL, path);
        } else if (operation->kind != OP_BIND_WRITE && operation_reads(operation) &&
                   export_is_written(export, path)) {
            vec_push(&written, path);
        }
    }
    export_hidden_missing(export, &open);
    json_close(json, ']');
    lose_each(export, LOST_REFUSAL, &open, "hidden inside a granted tree");
    lose_each(export, LOST_REFUSAL, &written, "writing inside a writable tree");
}

static void add_network(struct export *export, struct json *json)
{
    auto_vec text_list names = {0}, addresses = {0};
    vec_each (const struct operation, operation, &export->plan->operations) {
        struct host_object host;
        const char *problem = NULL, *hint = NULL;
        if (operation->kind != OP_CONNECT ||
            host_parse(export->arena, operation->value, &host, &problem, &hint) < 0)
            continue;
        if (host.kind == HOST_ADDRESS)
            vec_push(&addresses, operation->value);
        else
            vec_push(&names, operation->value);
    }
    enum net_mode mode = export_net(export);
    bool is_filtered = mode == NET_ALLOW && names.count;
    json_open(json, "network", '{');
    json_bool(json, "block", mode != NET_OPEN && !is_filtered);
    json_open(json, "allow_domain", '[');
    for (size_t i = 0; is_filtered && i < names.count; i++)
        json_str(json, NULL, names.at[i]);
    json_close(json, ']');
    json_close(json, '}');
    if (is_filtered)
        lose(export, LOST_REFUSAL, "other ports of the hosts that are named");
    lose_each(export, LOST_GRANT, &addresses, "addresses");
    lose_operations(export, LOST_REFUSAL, OP_REFUSE, "refused hosts");
    lose_ports(export);
}

static void add_environment(struct export *export, struct json *json)
{
    json_open(json, "environment", '{');
    json_open(json, "allow_vars", '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_ENV_PASS)
            json_str(json, NULL, operation->name);
    }
    json_close(json, ']');
    json_close(json, '}');
    lose_operations(export, LOST_GRANT, OP_ENV_SET, "variables that are set");
}

void export_nono(struct export *export)
{
    struct json json = {.out = export->out};
    json_open(&json, NULL, '{');
    json_open(&json, "meta", '{');
    json_str(&json, "name", "bawn");
    json_str(&json, "description", "Written by bawn export --to nono.");
    json_close(&json, '}');
    json_open(&json, "filesystem", '{');
    add_granted(export, &json, "allow", true, true);
    add_granted(export, &json, "allow_file", true, false);
    add_granted(export, &json, "read", false, true);
    add_granted(export, &json, "read_file", false, false);
    add_denied(export, &json);
    json_close(&json, '}');
    add_network(export, &json);
    add_environment(export, &json);
    json_open(&json, "workdir", '{');
    json_str(&json, "access", "none");
    json_close(&json, '}');
    json_close(&json, '}');
    lose(export, LOST_REFUSAL, "what nono's own groups grant");
    lose_operations(export, LOST_GRANT, OP_SYNC, "logins");
    lose_operations(export, LOST_GRANT, OP_SIFT, "copies without secrets of");
    lose_operations(export, LOST_GRANT, OP_SOCKET, "sockets");
    lose(export, LOST_GRANT, "the private home, and private temporary directories");
    for (enum limit limit = LIMIT_MEMORY; limit <= LIMIT_RATE; limit++)
        lose_limit(export, limit);
    lose_what_is_bawns(export);
}

/* --- import --- */

/* $WORKDIR is the project. */
static const char *at_project(const char *path)
{
    if (strncmp(path, "$WORKDIR", 8) != 0 || (path[8] && path[8] != '/'))
        return path;
    return path[8] && path[9] ? path + 9 : ".";
}

static void grant_write(struct import *import, const char *path)
{
    import_write(import, at_project(path));
}

static void grant_read(struct import *import, const char *path)
{
    import_read(import, at_project(path));
}

static void deny(struct import *import, const char *path)
{
    import_hide_pattern(import, at_project(path));
}

static void write_only(struct import *import, const char *path)
{
    (void)path;
    import_left(import, LOST_GRANT, "it would be readable, too");
}

static void import_files(struct import *import, struct json_value object)
{
    static const struct import_key keys[] = {
        {"allow", grant_write, NULL, LOST_GRANT}, {"allow_file", grant_write, NULL, LOST_GRANT},
        {"read", grant_read, NULL, LOST_GRANT},   {"read_file", grant_read, NULL, LOST_GRANT},
        {"write", write_only, NULL, LOST_GRANT},  {"write_file", write_only, NULL, LOST_GRANT},
        {"deny", deny, NULL, LOST_REFUSAL},
    };
    import_object(import, object, "filesystem", keys, array_len(keys));
}

static void block(struct import *import, struct json_value value)
{
    if (import_is_true(value))
        import_no_network(import);
    else
        import_needless(import, "bawn allows the hosts that are named");
}

static void import_hosts(struct import *import, struct json_value object)
{
    static const struct import_key keys[] = {
        {"block", NULL, block, LOST_REFUSAL},
        {"allow_domain", import_connect, NULL, LOST_GRANT},
    };
    import_object(import, object, "network", keys, array_len(keys));
}

static void import_variables(struct import *import, struct json_value object)
{
    static const struct import_key keys[] = {
        {"allow_vars", import_pass, NULL, LOST_GRANT},
        {"deny_vars", import_unset, NULL, LOST_REFUSAL},
    };
    import_object(import, object, "environment", keys, array_len(keys));
}

static void import_workdir(struct import *import, struct json_value object)
{
    struct json_value access;
    import_item(import, "workdir");
    if (import_member(object, "access", &access) && json_is(access, "readwrite"))
        import_needless(import, "the workspace is writable");
    else
        import_left(import, LOST_REFUSAL,
                    "the workspace is writable; start bawn with --read-only if it must not be");
}

int import_nono(struct import *import, struct err *err)
{
    static const struct import_key keys[] = {
        {"filesystem", NULL, import_files, LOST_REFUSAL},
        {"network", NULL, import_hosts, LOST_REFUSAL},
        {"environment", NULL, import_variables, LOST_GRANT},
        {"workdir", NULL, import_workdir, LOST_REFUSAL},
    };
    struct json_value object;
    if (import_json(import, &object, err) < 0)
        return -1;
    import_object(import, object, "profile", keys, array_len(keys));
    return 0;
}
