/* Requests to repositories whose token stays outside: of git, and to the API of their server. Pure. */
#include <string.h>
#include <strings.h>

#include "policy/request.h"
#include "vault/head.h"
#include "vault/vault.h"

static bool is_at(const struct vault_forge *forge, const char *host, uint16_t port)
{
    return forge->host.port == port && strcasecmp(forge->host.name, host) == 0;
}

/* What follows "/acme/app" or "/acme/app.git" in the text; nothing if it is another repository's. */
static struct bytes after_path(const struct vault_forge *forge, struct bytes text)
{
    static const char ending[] = ".git";
    if (!bytes_start_with(text, "/") || !bytes_start_with(bytes_after(text, 1), forge->path))
        return bytes_of(NULL, 0);
    text = bytes_after(text, 1 + strlen(forge->path));
    return bytes_start_with(text, ending) ? bytes_after(text, strlen(ending)) : text;
}

struct git_request repository_read(const struct vault_settings *settings, const char *host, uint16_t port,
                                   struct bytes method, struct bytes target)
{
    static const struct {
        const char *method, *target;
        bool is_push, has_content;
    } known[] = {{"GET", "/info/refs?service=git-upload-pack", false, false},
                 {"POST", "/git-upload-pack", false, true},
                 {"GET", "/info/refs?service=git-receive-pack", true, false},
                 {"POST", "/git-receive-pack", true, true}};
    vec_each (const struct vault_forge, forge, &settings->forges) {
        struct bytes rest = is_at(forge, host, port) ? after_path(forge, target) : bytes_of(NULL, 0);
        for (size_t i = 0; i < array_len(known); i++) {
            bool has_right = known[i].is_push ? forge->push.ref_count > 0 : forge->may_fetch;
            if (has_right && bytes_equal_text(method, known[i].method) &&
                bytes_equal_text(rest, known[i].target))
                return (struct git_request){forge, known[i].is_push, known[i].has_content};
        }
    }
    return (struct git_request){0};
}

bool repository_has(const struct vault_settings *settings, const char *host, uint16_t port, const char *path)
{
    vec_each (const struct vault_forge, forge, &settings->forges) {
        struct bytes rest =
            is_at(forge, host, port) ? after_path(forge, bytes_of(path, strlen(path))) : bytes_of(NULL, 0);
        if (bytes_equal_text(rest, "/info/refs") || bytes_equal_text(rest, "/git-upload-pack") ||
            bytes_equal_text(rest, "/git-receive-pack"))
            return true;
    }
    return false;
}

static bool is_api_at(const struct vault_api *api, const char *host, uint16_t port)
{
    return api->rule.host.port == port && strcasecmp(api->rule.host.name, host) == 0;
}

void repository_questions(const struct vault_settings *settings, const char *host, uint16_t port,
                          const struct head *head, pulls_names *ret_repositories)
{
    vec_each (const struct vault_api, api, &settings->apis) {
        if (api->graphql && is_api_at(api, host, port) && bytes_equal_text(head->method, "POST") &&
            bytes_equal_text(head->target, api->graphql))
            vec_push(ret_repositories, api->repository);
    }
}

const char *repository_graphql(const struct vault_settings *settings, const char *host, uint16_t port,
                               struct bytes target)
{
    not_zeroed struct asked_request request;
    if (!settings->apis.count || request_read(bytes_of("", 0), target, &request))
        return NULL;
    vec_each (const struct vault_api, api, &settings->apis) {
        if (api->graphql && is_api_at(api, host, port) &&
            strcasecmp(request.path, api->rule.request->path) == 0)
            return api->graphql;
    }
    return NULL;
}

const char *repository_api_token(const struct vault_settings *settings, const char *host, uint16_t port,
                                 struct bytes method, struct bytes target)
{
    not_zeroed struct asked_request request;
    if (!settings->apis.count || request_read(method, target, &request))
        return NULL;
    vec_each (const struct vault_api, api, &settings->apis) {
        if (is_api_at(api, host, port) && request_matches(&api->rule, &request))
            return api->secret;
    }
    return NULL;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t size = strlen(path), end = strlen(ending);
    return size > end && strcmp(path + size - end, ending) == 0;
}

const char *repository_problem(const struct vault_settings *settings, const char *host, uint16_t port,
                               const char *path)
{
    bool is_any = false;
    vec_each (const struct vault_forge, forge, &settings->forges)
        is_any |= is_at(forge, host, port);
    if (!is_any)
        return NULL;
    if (repository_has(settings, host, port, path))
        return "no `forge` rule lets git do this with the repository";
    if (strstr(path, "/info/lfs/") || ends_in(path, "/info/lfs"))
        return "Git LFS stores files outside of git, where no rule on refs holds";
    if (ends_in(path, "/info/refs") || ends_in(path, "/git-upload-pack") ||
        ends_in(path, "/git-receive-pack"))
        return "no `forge` rule names this repository";
    return NULL;
}
