#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/parse.h"
#include "policy/request.h"
#include "vault/carrier.h"
#include "vault/swap.h"
#include "vault/vault.h"

static enum token_kind kind_named(const char *name)
{
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        if (strcmp(token_kind_name(kind), name) == 0)
            return kind;
    }
    return TOKEN_NONE;
}

static int take_secret(struct vault_settings *settings, bool is_token, char *rest, struct err *err)
{
    struct arena *arena = &settings->arena;
    const char *kind = is_token ? strsep(&rest, " ") : NULL, *entry = is_token ? strsep(&rest, " ") : NULL;
    if (is_token && (!entry || !rest || !kind_named(kind)))
        return err_set(err, "a token needs a kind and an entry");
    const char *name = strsep(&rest, " "), *placeholder = strsep(&rest, " ");
    if (settings->secrets.count == SCRUB_MOST_PATTERNS / 2)
        return err_set(err, "there are more than %d secrets", SCRUB_MOST_PATTERNS / 2);
    if (!placeholder || !rest)
        return err_set(err, "a secret needs a placeholder and a host");
    struct vault_secret secret = {.name = arena_str(arena, name),
                                  .placeholder = arena_str(arena, placeholder),
                                  .kind = is_token ? kind_named(kind) : TOKEN_NONE,
                                  .entry = is_token ? arena_str(arena, entry) : NULL};
    for (const char *word; (word = strsep(&rest, " "));) {
        struct host_object host;
        const char *problem = NULL, *hint = NULL;
        if (host_parse_target(arena, word, &host, &problem, &hint) < 0)
            return err_set(err, "%s: %s", word, problem);
        vec_push(&secret.hosts, host);
    }
    vec_push(&settings->secrets, secret);
    leak_add_placeholder(&settings->leaks, bytes_of(secret.placeholder, strlen(secret.placeholder)));
    return 0;
}

/* "KIND" or "KIND NAME", for the last secret. */
static int take_carrier(struct vault_settings *settings, char *rest, struct err *err)
{
    const char *word = strsep(&rest, " ");
    enum carrier kind = CARRIER_HEADERS;
    while (kind < CARRIER_COUNT && strcmp(carrier_name(kind), word) != 0)
        kind++;
    bool needs_name = kind == CARRIER_HEADER || kind == CARRIER_QUERY;
    if (kind == CARRIER_COUNT || needs_name != (rest != NULL) || !settings->secrets.count)
        return err_set(err, "'%s' is not a carrier of a secret", word);
    vec_push(&settings->secrets.at[settings->secrets.count - 1].carriers,
             ((struct secret_carrier){kind, rest ? arena_str(&settings->arena, rest) : NULL}));
    return 0;
}

/* "HOST:PORT/PATH", for the last secret. */
static int take_endpoint(struct vault_settings *settings, const char *text, struct err *err)
{
    struct secret_endpoint endpoint;
    if (!settings->secrets.count || settings->secrets.at[settings->secrets.count - 1].kind != TOKEN_REFRESH ||
        !secret_parse_endpoint(&settings->arena, arena_str(&settings->arena, text), &endpoint))
        return err_set(err, "'%s' is not where a login is refreshed", text);
    vec_push(&settings->secrets.at[settings->secrets.count - 1].endpoints, endpoint);
    return 0;
}

static int take_forge(struct vault_settings *settings, char *rest, struct err *err)
{
    struct arena *arena = &settings->arena;
    enum { SECRET, USER, HOST, PATH, LETTERS, FIELDS, MOST_REFS = 64 };
    const char *fields[FIELDS], *problem = NULL, *hint = NULL;
    for (size_t i = 0; i < FIELDS; i++) {
        if (!rest)
            return err_set(err, "a repository needs a secret, a user, a host, a path and rights");
        fields[i] = arena_str(arena, strsep(&rest, " "));
    }
    const char **refs = arena_alloc(arena, MOST_REFS * sizeof(*refs));
    struct vault_forge forge = {.secret = fields[SECRET],
                                .user = fields[USER],
                                .path = fields[PATH],
                                .may_fetch = strchr(fields[LETTERS], 'r'),
                                .push = {.refs = refs,
                                         .may_force = strchr(fields[LETTERS], 'f'),
                                         .may_delete = strchr(fields[LETTERS], 'd'),
                                         .may_send_options = strchr(fields[LETTERS], 'o')}};
    if (host_parse_target(arena, fields[HOST], &forge.host, &problem, &hint) < 0)
        return err_set(err, "%s: %s", fields[HOST], problem);
    for (const char *ref; rest && (ref = strsep(&rest, " "));) {
        if (forge.push.ref_count == MOST_REFS)
            return err_set(err, "a rule has too many refs");
        refs[forge.push.ref_count++] = arena_str(arena, ref);
    }
    vec_push(&settings->forges, forge);
    return 0;
}

/*
 * Is the rule's path one of GraphQL's? A repository, or its owner, may have that name: the path must end in
 * it and in the whole repository.
 */
static void find_graphql(struct vault_settings *settings, struct vault_api *api)
{
    static const char graphql[] = "/graphql/";
    const char *path = api->rule.request->path;
    vec_each (const struct vault_forge, forge, &settings->forges) {
        size_t size = strlen(path), end = strlen(graphql) + strlen(forge->path);
        const char *found = size >= end ? path + size - end : "";
        if (strcmp(forge->secret, api->secret) == 0 && text_starts_with(found, graphql) &&
            strcmp(found + strlen(graphql), forge->path) == 0) {
            api->graphql = arena_copy(&settings->arena, path, size - strlen(forge->path) - 1);
            api->repository = forge->path;
        }
    }
}

/* "SECRET OBJECT", for requests to an API. bawn wrote the object from a rule that it has parsed. */
static int take_api(struct vault_settings *settings, char *rest, struct err *err)
{
    static const struct source source = {.name = "settings", .layer = LAYER_USER};
    struct arena *arena = &settings->arena;
    struct diags diags = {.arena = arena};
    auto_vec rule_list rules = {0};
    const char *secret = strsep(&rest, " ");
    if (rest)
        parse_argument(arena, &source, VERB_CONNECT, rest, &rules, &diags);
    bool is_one = diags.errors == 0 && rules.count == 1 && rules.at[0].request;
    diags_free(&diags);
    if (!is_one)
        return err_set(err, "the requests that the token of '%s' goes with are not understood", secret);
    struct vault_api api = {.secret = arena_str(arena, secret), .rule = rules.at[0]};
    if (api.rule.request->is_literal)
        find_graphql(settings, &api);
    vec_push(&settings->apis, api);
    return 0;
}

/* "LAYER LOCKED VERB OBJECT", a tab, and where the rule stands. bawn wrote it from a rule that it has parsed. */
static int take_rule(struct vault_settings *settings, char *rest, struct err *err)
{
    struct arena *arena = &settings->arena;
    struct diags diags = {.arena = arena};
    char *text = strsep(&rest, "\t");
    const char *layer_text = strsep(&text, " "), *locked = text ? strsep(&text, " ") : NULL,
               *verb = text ? strsep(&text, " ") : NULL;
    uint64_t layer;
    if (!rest || !text || !text_take_number(&layer_text, &layer) || layer >= LAYER_COUNT)
        return err_set(err, "a rule needs a layer, a verb, an object and a place");
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){.name = arena_str(arena, rest), .layer = (enum layer)layer};
    size_t before = settings->policy.rules.count;
    parse_argument(arena, source, verb_from_word(verb), text, &settings->policy.rules, &diags);
    bool is_one = diags.errors == 0 && settings->policy.rules.count == before + 1;
    diags_free(&diags);
    if (!is_one)
        return err_set(err, "'%s %s' is not understood", verb, text);
    settings->policy.rules.at[before].locked = strcmp(locked, "1") == 0;
    return 0;
}

static int take_line(struct vault_settings *settings, char *line, struct err *err)
{
    const char *verb = strsep(&line, " ");
    bool is_token = strcmp(verb, "token") == 0;
    if ((strcmp(verb, "secret") == 0 || is_token) && line)
        return take_secret(settings, is_token, line, err);
    if (strcmp(verb, "carrier") == 0 && line)
        return take_carrier(settings, line, err);
    if (strcmp(verb, "refresh") == 0 && line)
        return take_endpoint(settings, line, err);
    if (strcmp(verb, "issued") == 0 && settings->secrets.count) {
        settings->secrets.at[settings->secrets.count - 1].is_issued = true;
        return 0;
    }
    if (strcmp(verb, "forge") == 0 && line)
        return take_forge(settings, line, err);
    if (strcmp(verb, "api") == 0 && line)
        return take_api(settings, line, err);
    if (strcmp(verb, "rule") == 0 && line)
        return take_rule(settings, line, err);
    if (strcmp(verb, "leak") == 0 && line)
        return leak_take_answer(&settings->leaks, line, err);
    if (strcmp(verb, "known") == 0 && line)
        return leak_take_known(&settings->leaks, &settings->arena, line, err);
    return err_set(err, "'%s' is not understood", verb);
}

int settings_read(int fd, struct vault_settings *settings, struct err *err)
{
    enum { LARGEST = 1 << 20 };
    auto_fd int owned = fd;
    auto_buf struct buf text = {0};
    if (buf_read(&text, owned, LARGEST) < 0)
        return err_sys(err, errno, "cannot read the settings");
    char *rest = text.bytes;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        if (*line && take_line(settings, line, err) < 0)
            return -1;
    }
    settings->policy.arena = &settings->arena;
    index_rules(&settings->policy);
    return 0;
}

bool settings_judge(const struct vault_settings *settings, const char *host, uint16_t port)
{
    const struct host_object asked = {.kind = HOST_NAME, .name = host, .port = port};
    return decide_judges_requests(&settings->policy, &asked, port);
}

bool secret_is_for(const struct vault_secret *secret, const char *host, uint16_t port)
{
    const struct host_object asked = {.kind = HOST_NAME, .name = host, .port = port};
    vec_each (const struct host_object, pattern, &secret->hosts) {
        if (pattern->port == port && host_covers(pattern, &asked))
            return true;
    }
    return false;
}

bool secret_is_for_header(const struct vault_secret *secret, struct bytes header)
{
    static const struct secret_carrier usual = {.kind = CARRIER_HEADERS};
    bool is_one = !secret->carriers.count && carrier_is_header(&usual, header);
    vec_each (const struct secret_carrier, carrier, &secret->carriers)
        is_one |= carrier_is_header(carrier, header);
    return is_one;
}

bool secret_is_for_content(const struct vault_secret *secret)
{
    bool is_one = false;
    vec_each (const struct secret_carrier, carrier, &secret->carriers)
        is_one |= carrier->kind == CARRIER_BODY;
    return is_one;
}
