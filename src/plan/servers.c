/*
 * Finds the MCP servers in an agent's settings that cannot be reached here: those of the project, and those of the user that
 * are copied in. Both are parsed strictly; what is not understood names no server.
 */
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/steps.h"
#include "policy/decide.h"

enum { SETTINGS_LARGEST = 1024 * 1024, SERVERS_MOST = 64 };

/* The keys that programs use for them. */
static const char *const server_keys[] = {"mcpServers", "mcp", "amp.mcpServers"};
static const char *const address_keys[] = {"url", "httpUrl", "serverUrl"};

struct search {
    const struct plan *plan;
    const char *file; /* for messages */
    server_list *found;
};

const char *plan_flag_for_url(const struct plan *plan, const char *url)
{
    struct arena *arena = plan->policy->arena;
    const char *problem, *hint;
    bool is_plain = text_starts_with(url, "http://");
    if (!is_plain && !text_starts_with(url, "https://"))
        return NULL;
    const char *start = strstr(url, "://") + 3;
    const char *authority = arena_copy(arena, start, strcspn(start, "/?#"));
    const char *colon = strrchr(authority, ':');
    bool has_port = colon && !strchr(colon, ']');
    uint16_t port = is_plain ? PORT_HTTP : PORT_HTTPS;
    if (strchr(authority, '@') || (has_port && !port_parse(colon + 1, &port)))
        return NULL;
    const char *host =
        arena_copy(arena, authority, has_port ? (size_t)(colon - authority) : strlen(authority));
    struct host_object object;
    if (host_parse(arena, host, &object, &problem, &hint) < 0 || object.port || object.kind == HOST_SUFFIX)
        return NULL;
    if (host_is_loopback(&object))
        return plan_host_port(plan, port) ? NULL : arena_printf(arena, "--host-port %u", port);
    const struct rule *rule = decide_host(plan->policy, &object, port, NULL).decides;
    if (rule && rule->verb == VERB_CONNECT)
        return NULL;
    return arena_printf(arena, "--connect %s",
                        host_with_port(arena, host_text(arena, &object), port == PORT_HTTPS ? 0 : port));
}

static void consider(const struct search *search, const char *name, const char *url)
{
    const char *flag = url ? plan_flag_for_url(search->plan, url) : NULL;
    if (flag && search->found->count < SERVERS_MOST)
        vec_push(search->found, (struct server){name, search->file, flag});
}

/* One server: its URL, or those among the arguments of its program (npx mcp-remote URL). */
static void consider_server(const struct search *search, const char *name, struct json_value server)
{
    struct arena *arena = search->plan->policy->arena;
    struct json_value key, value, word;
    for (size_t at = 0; json_next_member(server, &at, &key, &value);) {
        for (size_t i = 0; i < array_len(address_keys); i++) {
            if (json_is(key, address_keys[i]))
                consider(search, name, json_text(arena, value));
        }
        bool is_words = json_is(key, "args") || json_is(key, "command");
        for (size_t inside = 0; is_words && json_next_item(value, &inside, &word);)
            consider(search, name, json_text(arena, word));
    }
}

static void search_json(const struct search *search, const char *text, size_t size)
{
    struct json_value whole, key, value, name, server;
    if (!json_read(text, size, &whole))
        return;
    for (size_t at = 0; json_next_member(whole, &at, &key, &value);) {
        bool is_it = false;
        for (size_t i = 0; i < array_len(server_keys); i++)
            is_it |= json_is(key, server_keys[i]);
        for (size_t inside = 0; is_it && json_next_member(value, &inside, &name, &server);) {
            const char *called = json_text(search->plan->policy->arena, name);
            consider_server(search, called ? called : "?", server);
        }
    }
}

/* codex: "[mcp_servers.NAME]", then "url = …" in quotes, one per line. */
static void search_toml(const struct search *search, const char *text)
{
    static const char section[] = "[mcp_servers.";
    struct arena *arena = search->plan->policy->arena;
    const char *name = NULL;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t");
        if (*line == '[')
            name = text_starts_with(line, section)
                       ? arena_copy(arena, line + strlen(section), strcspn(line + strlen(section), ".]\n"))
                       : NULL;
        const char *after = name && text_starts_with(line, "url") ? line + 3 + strspn(line + 3, " \t") : "";
        after += *after == '=' ? 1 + strspn(after + 1, " \t") : strlen(after);
        if (*after == '"' || *after == '\'')
            consider(search, name, arena_copy(arena, after + 1, strcspn(after + 1, "\"'\n")));
    }
}

static void search_file(struct search *search, const char *path, const char *called)
{
    char *text = NULL;
    size_t size = 0, length = strlen(path);
    struct err ignored;
    bool is_toml = length > 5 && strcmp(path + length - 5, ".toml") == 0;
    if (!is_toml && (length <= 5 || strcmp(path + length - 5, ".json") != 0))
        return;
    if (fs_read(search->plan->policy->request.fs, path, SETTINGS_LARGEST, &text, &size, &ignored) <= 0 ||
        memchr(text, '\0', size))
        return;
    search->file = called;
    if (is_toml)
        search_toml(search, text);
    else
        search_json(search, text, size);
}

/* In the project, agents look for the file at the same path as in the home, or for its name alone. */
static void search_projects(struct search *search, const struct rule *rule)
{
    const struct policy *policy = search->plan->policy;
    const char *pattern = rule->path.pattern;
    const char *name = rule->path.start == START_CONFIG   ? path_name(pattern)
                       : rule->path.start == START_CLAUDE ? arena_printf(policy->arena, ".claude/%s", pattern)
                                                          : pattern;
    for (size_t i = 0; i < policy->workspaces.count; i++)
        search_file(search, path_join(policy->arena, policy->workspaces.at[i].path, name), name);
}

void plan_find_servers(const struct plan *plan, server_list *ret_found)
{
    const struct policy *policy = plan->policy;
    struct search search = {.plan = plan, .found = ret_found};
    const struct rule *net = decide_net(policy, NULL).decides;
    if (!policy->agent || (net && net->net != NET_ALLOW))
        return;
    for (size_t i = 0; i < policy->workspaces.count; i++)
        search_file(&search, path_join(policy->arena, policy->workspaces.at[i].path, ".mcp.json"),
                    ".mcp.json");
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        if (placed->rule->verb != VERB_COPY || placed->rule->source->layer != LAYER_AGENT)
            continue;
        search_projects(&search, placed->rule);
        if (placed->found && placed->found->kind == FILE_REGULAR)
            search_file(&search, placed->path, placed->rule->written);
    }
}
