/*
 * Settings of the sandbox runtime (srt), which are also the inner part of Claude Code's.
 *
 * Everything can be read but what denyRead names; allowRead opens parts of that again, and it decides over denyRead. Nothing
 * can be written but what allowWrite names, and denyWrite decides over that. So the home directory is closed as a whole and
 * what the policy grants in it is opened.
 */
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "translate/export.h"
#include "translate/import.h"

static const char *home_of(const struct export *export)
{
    return export->plan->policy->request.home;
}

static bool opens_home(const struct export *export, const struct operation *operation)
{
    return operation_reads(operation) && operation->kind != OP_FREEZE &&
           path_is_inside(operation->path, home_of(export));
}

static bool is_in_opened(const struct export *export, const char *path)
{
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (opens_home(export, operation) && path_is_beneath(path, operation->path))
            return true;
    }
    return false;
}

static bool hides_file(const struct operation *operation)
{
    return (operation_hides(operation) && !operation->is_pattern) || operation->kind == OP_SIFT;
}

static const char *hidden_path(const struct operation *operation)
{
    return operation->kind == OP_SIFT ? operation->source : operation->path;
}

static void add_hidden(struct export *export, struct json *json)
{
    auto_vec text_list open = {0}, patterns = {0};
    json_open(json, "denyRead", '[');
    json_str(json, NULL, home_of(export));
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_HIDE && operation->is_pattern)
            vec_push(&patterns, operation->path);
        if (!hides_file(operation))
            continue;
        const char *path = hidden_path(operation);
        bool is_closed = path_is_inside(path, home_of(export)) && !is_in_opened(export, path);
        if (!is_closed)
            json_str(json, NULL, path);
        if (is_in_opened(export, path))
            vec_push(&open, path);
    }
    auto_vec text_list missing = {0};
    export_hidden_missing(export, &missing);
    for (size_t i = 0; i < missing.count; i++) {
        json_str(json, NULL, missing.at[i]);
        if (is_in_opened(export, missing.at[i]))
            vec_push(&open, missing.at[i]);
    }
    json_close(json, ']');
    lose_each(export, LOST_REFUSAL, &open, "hidden inside what allowRead opens");
    lose_each(export, LOST_REFUSAL, &patterns, "hidden patterns");
}

static void add_written(struct export *export, struct json *json)
{
    json_open(json, "allowRead", '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (opens_home(export, operation))
            json_str(json, NULL, operation->path);
    }
    json_close(json, ']');
    json_open(json, "allowWrite", '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind == OP_BIND_WRITE)
            json_str(json, NULL, operation->path);
    }
    json_close(json, ']');
    json_open(json, "denyWrite", '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        bool is_kept = operation->kind == OP_FREEZE || hides_file(operation) || operation->kind == OP_COPY ||
                       operation->kind == OP_SEED || operations_cover(&export->plan->operations, operation);
        if (is_kept && !operation->is_pattern)
            json_str(json, NULL, hidden_path(operation));
    }
    json_close(json, ']');
}

/* A tree that may be written again inside one that may not: denyWrite decides. */
static void lose_written(struct export *export)
{
    auto_vec text_list lost = {0};
    vec_each (const struct operation, operation, &export->plan->operations) {
        vec_each (const struct operation, around, &export->plan->operations) {
            bool is_kept = operations_cover(&export->plan->operations, around);
            if (operation->kind == OP_BIND_WRITE && is_kept &&
                path_is_inside(operation->path, around->path)) {
                vec_push(&lost, operation->path);
                break;
            }
        }
    }
    lose_each(export, LOST_GRANT, &lost, "writable inside a path that is not");
}

void srt_add_filesystem(struct export *export, struct json *json)
{
    json_open(json, "filesystem", '{');
    add_hidden(export, json);
    add_written(export, json);
    json_close(json, '}');
    lose_written(export);
    lose(export, LOST_REFUSAL, "reading what no rule grants, outside the home directory");
    lose_operations(export, LOST_GRANT, OP_SYNC, "logins");
    lose_operations(export, LOST_GRANT, OP_SIFT, "copies without secrets of");
    lose(export, LOST_GRANT, "the private home");
    for (enum limit limit = LIMIT_MEMORY; limit <= LIMIT_RATE; limit++)
        lose_limit(export, limit);
}

/* Names only: an address or a network has no place in these lists. */
static bool is_name(struct export *export, const struct operation *operation)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    return host_parse(export->arena, operation->value, &host, &problem, &hint) == 0 &&
           host.kind != HOST_ADDRESS;
}

static void add_names(struct export *export, struct json *json, const char *key, enum operation_kind kind,
                      enum lost_kind lost)
{
    auto_vec text_list addresses = {0};
    const char *before = "";
    json_open(json, key, '[');
    vec_each (const struct operation, operation, &export->plan->operations) {
        if (operation->kind != kind)
            continue;
        if (!is_name(export, operation))
            vec_push(&addresses, operation->value);
        else if (strcmp(operation->value, before) != 0)
            json_str(json, NULL, before = operation->value);
    }
    json_close(json, ']');
    lose_each(export, lost, &addresses, kind == OP_CONNECT ? "addresses" : "refused addresses");
}

void srt_add_network(struct export *export, struct json *json)
{
    enum net_mode mode = export_net(export);
    json_open(json, "network", '{');
    if (mode == NET_ALLOW) {
        add_names(export, json, "allowedDomains", OP_CONNECT, LOST_GRANT);
        add_names(export, json, "deniedDomains", OP_REFUSE, LOST_REFUSAL);
        if (operations_find(&export->plan->operations, OP_CONNECT))
            lose(export, LOST_REFUSAL, "other ports of the hosts that are named");
    } else {
        json_open(json, "allowedDomains", '[');
        json_close(json, ']');
        json_open(json, "deniedDomains", '[');
        json_close(json, ']');
    }
    json_close(json, '}');
    if (mode == NET_OPEN)
        lose(export, LOST_GRANT, "this machine's network: each host must be named");
    lose_operations(export, LOST_GRANT, OP_SOCKET, "sockets");
    lose_ports(export);
}

void export_srt(struct export *export)
{
    struct json json = {.out = export->out};
    json_open(&json, NULL, '{');
    srt_add_network(export, &json);
    srt_add_filesystem(export, &json);
    json_close(&json, '}');
    lose(export, LOST_REFUSAL, "variables: the command inherits all of them");
    lose_what_is_bawns(export);
}

/* --- import --- */

static const struct import_key files[] = {
    {"allowWrite", import_write, NULL, LOST_GRANT},
    {"denyWrite", import_keep, NULL, LOST_REFUSAL},
    {"denyRead", import_hide_pattern, NULL, LOST_REFUSAL},
    {"allowRead", import_reopen, NULL, LOST_GRANT},
};

static const struct import_key hosts[] = {
    {"allowedDomains", import_connect, NULL, LOST_GRANT},
    {"deniedDomains", import_refuse, NULL, LOST_REFUSAL},
    {"allowUnixSockets", import_socket, NULL, LOST_GRANT},
};

void srt_import_filesystem(struct import *import, struct json_value object)
{
    import_object(import, object, "filesystem", files, array_len(files));
}

void srt_import_network(struct import *import, struct json_value object)
{
    struct json_value allowed;
    import_object(import, object, "network", hosts, array_len(hosts));
    if (import_member(object, "allowedDomains", &allowed) && import_is_empty(allowed)) {
        import_item(import, "network.allowedDomains []: no host; an agent needs that of its model");
        import_no_network(import);
    }
}

int import_srt(struct import *import, struct err *err)
{
    static const struct import_key keys[] = {
        {"filesystem", NULL, srt_import_filesystem, LOST_REFUSAL},
        {"network", NULL, srt_import_network, LOST_REFUSAL},
    };
    struct json_value object;
    if (import_json(import, &object, err) < 0)
        return -1;
    import_object(import, object, "settings", keys, array_len(keys));
    return 0;
}
