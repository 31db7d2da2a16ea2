#include <ctype.h>
#include <string.h>

#include "policy/decide.h"
#include "policy/parse.h"

enum { MOST_HOSTS = 64, MOST_CARRIERS = 8, MOST_ENDPOINTS = 16 };

DEFINE_TEXTS(carrier_name, enum carrier, SECRET_CARRIERS, NAME_OF)

bool variable_name_is_valid(const char *name)
{
    bool is_one = *name && !isdigit((unsigned char)*name);
    for (; *name; name++)
        is_one = is_one && (isalnum((unsigned char)*name) || *name == '_');
    return is_one;
}

int secret_parse_source(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                        struct secret_object *secret, struct diags *diags)
{
    static const struct {
        const char *word;
        enum secret_source source;
        size_t least, most;
    } sources[] = {{"env", SECRET_ENVIRONMENT, 1, 1},
                   {"file", SECRET_FILE, 2, 3},
                   {"command", SECRET_COMMAND, 2, 2},
                   {"keyring", SECRET_KEYRING, 3, 17},
                   {"credential", SECRET_CREDENTIAL, 2, 2}};
    for (size_t i = 0; i < array_len(sources); i++) {
        if (!word_is_keyword(&words[0], sources[i].word))
            continue;
        secret->source = sources[i].source;
        if (count < sources[i].least || count > sources[i].most)
            break;
        bool is_keyring = secret->source == SECRET_KEYRING;
        secret->from = count > 1 ? words_join(arena, words + 1, is_keyring ? count - 1 : 1, false) : NULL;
        secret->key = count > 2 && !is_keyring ? word_plain(arena, words[2].text) : NULL;
        bool is_path =
            secret->source != SECRET_FILE || *secret->from == '/' || strncmp(secret->from, "~/", 2) == 0;
        bool is_name = secret->source != SECRET_CREDENTIAL || !strchr(secret->from, '/');
        return is_path && is_name ? 0
                                  : object_complain(diags, rule, &words[1],
                                                    "write an absolute path, or one that begins with ~/",
                                                    "the place of a secret must be named exactly");
    }
    return object_complain(
        diags, rule, &words[0],
        "write env, file PATH [KEY], command \"…\", keyring ATTRIBUTE VALUE, or credential NAME",
        "this is not a source of a secret");
}

/* A wildcard or a name: TLS ends there, and an address has no certificate of its own. */
static int parse_hosts(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                       struct secret_object *secret, struct diags *diags)
{
    struct host_object *hosts = arena_alloc(arena, count * sizeof(*hosts));
    for (size_t i = 0; i < count; i++) {
        const char *problem = NULL, *hint = NULL;
        if (host_parse_target(arena, word_plain(arena, words[i].text), &hosts[i], &problem, &hint) < 0)
            return object_complain(diags, rule, &words[i], hint, problem);
        if (hosts[i].kind == HOST_ADDRESS || hosts[i].may_be_unnamed)
            return object_complain(diags, rule, &words[i], "write the host's name",
                                   "a secret is for a host that has a name");
    }
    secret->hosts = hosts;
    secret->host_count = count;
    return 0;
}

/* The name of a header or of a parameter. It stands in lines of bawn's helpers, and is compared with what a request has as it is. */
static bool is_carrier_name(const char *name, enum carrier kind)
{
    const char *others = kind == CARRIER_HEADER ? "-_" : "-_.~$[]";
    bool is_one = *name;
    for (; *name; name++)
        is_one = is_one && (isalnum((unsigned char)*name) || strchr(others, *name));
    return is_one;
}

static bool carrier_has_name(enum carrier kind)
{
    return kind == CARRIER_HEADER || kind == CARRIER_QUERY;
}

/* Words `in PLACE`, as often as there are places. */
static int parse_carriers(struct arena *arena, const struct word *words, size_t count,
                          const struct rule *rule, struct secret_object *secret, struct diags *diags)
{
    static const char form[] =
        "write `in headers`, `in header NAME`, `in query NAME`, `in path` or `in body`, each with its own `in`";
    struct secret_carrier *carriers = arena_alloc(arena, MOST_CARRIERS * sizeof(*carriers));
    secret->carriers = carriers;
    for (size_t i = 0; i < count;) {
        const struct word *word = &words[i + 1 < count ? i + 1 : i];
        enum carrier kind = CARRIER_HEADERS;
        while (kind < CARRIER_COUNT && !word_is_keyword(word, carrier_name(kind)))
            kind++;
        if (!word_is_keyword(&words[i], "in") || kind == CARRIER_COUNT ||
            secret->carrier_count == MOST_CARRIERS)
            return object_complain(diags, rule, word, form, "this is not a place for a secret in a request");
        const char *name =
            carrier_has_name(kind) && i + 2 < count ? word_plain(arena, words[i + 2].text) : NULL;
        if (carrier_has_name(kind) && (!name || !is_carrier_name(name, kind)))
            return object_complain(diags, rule, name ? &words[i + 2] : word, form,
                                   kind == CARRIER_HEADER ? "this needs the name of a header"
                                                          : "this needs the name of a parameter");
        carriers[secret->carrier_count++] = (struct secret_carrier){kind, name};
        i += name ? 3 : 2;
    }
    return 0;
}

const char *secret_carriers_text(struct arena *arena, const struct secret_object *secret)
{
    const char *text = "";
    for (size_t i = 0; i < secret->carrier_count; i++) {
        const struct secret_carrier *carrier = &secret->carriers[i];
        text = arena_printf(arena, "%s%sin %s%s%s", text, i ? " " : "", carrier_name(carrier->kind),
                            carrier->name ? " " : "", carrier->name ? carrier->name : "");
    }
    return text;
}

/* "auth.example/oauth/token" or "auth.example:8443/token": no wildcard, no query, and nothing that two readers understand in two ways. */
bool secret_parse_endpoint(struct arena *arena, const char *text, struct secret_endpoint *ret_endpoint)
{
    const char *problem = NULL, *hint = NULL, *path = strchr(text, '/');
    *ret_endpoint = (struct secret_endpoint){.path = path};
    bool is_plain = path && !strstr(path, "//") && !strstr(path, "/.");
    for (const char *at = path; is_plain && *at; at++)
        is_plain = isalnum((unsigned char)*at) || strchr("/-._~", *at);
    return is_plain &&
           host_parse_target(arena, arena_copy(arena, text, (size_t)(path - text)), &ret_endpoint->host,
                             &problem, &hint) == 0 &&
           ret_endpoint->host.kind == HOST_NAME && !ret_endpoint->host.may_be_unnamed;
}

static int parse_endpoints(struct arena *arena, const struct word *words, size_t count,
                           const struct rule *rule, struct secret_object *secret, struct diags *diags)
{
    static const char form[] =
        "write the host and the path of its refresh, such as `refresh auth.example/oauth/token`";
    struct secret_endpoint *endpoints = arena_alloc(arena, (count + 1) * sizeof(*endpoints));
    if (secret->source != SECRET_LOGIN)
        return object_complain(diags, rule, words - 1, "leave it out", "a login alone is refreshed");
    if (!count || count > MOST_ENDPOINTS)
        return object_complain(diags, rule, words - 1, form,
                               "`refresh` names the place where a login is refreshed");
    for (size_t i = 0; i < count; i++) {
        if (!secret_parse_endpoint(arena, word_plain(arena, words[i].text), &endpoints[i]))
            return object_complain(diags, rule, &words[i], form,
                                   "a login's refresh token goes to one path of a host");
    }
    secret->endpoints = endpoints;
    secret->endpoint_count = count;
    return 0;
}

/* Does it begin with /, ~/ or the variable of a folder? */
static bool is_exact_path(const char *path)
{
    const char *rest = path;
    enum path_start start = path_start(&rest);
    return start != START_RELATIVE && start < START_GIT && *rest == '/';
}

/* The words after `unless`: NAME, TEXT in FILE, or TEXT in command. */
static int parse_unless(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                        struct secret_object *secret, struct diags *diags)
{
    static const char form[] = "write `unless VARIABLE`, `unless TEXT in FILE` or `unless TEXT in command`";
    struct secret_unless *unless = arena_alloc(arena, (count + 1) * sizeof(*unless));
    secret->unless = unless;
    for (size_t i = 0; i < count; secret->unless_count++) {
        bool has_place = i + 2 < count && word_is_keyword(&words[i + 1], "in");
        const char *place = has_place ? word_plain(arena, words[i + 2].text) : NULL;
        bool in_command = has_place && word_is_keyword(&words[i + 2], "command");
        unless[secret->unless_count] =
            (struct secret_unless){word_plain(arena, words[i].text), in_command ? NULL : place, in_command};
        if (!has_place && !variable_name_is_valid(unless[secret->unless_count].text))
            return object_complain(diags, rule, &words[i], form, "this is not the name of a variable");
        if (has_place && !in_command && !is_exact_path(place))
            return object_complain(diags, rule, &words[i + 2],
                                   "write an absolute path, or one that begins with ~/",
                                   "a file of a project cannot let a secret in");
        i += has_place ? 3 : 1;
    }
    return count ? 0 : object_complain(diags, rule, words - 1, form, "`unless` needs words after it");
}

static bool is_one_word(const char *text)
{
    bool is_one = *text;
    for (; *text; text++)
        is_one = is_one && isgraph((unsigned char)*text);
    return is_one;
}

/*
 * `login FILE` names an agent's login file, `login FILE ENTRY` one member of the object in it. Both names stand in lines of bawn's helpers,
 * where a space would end them.
 */
static int parse_login(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                       struct secret_object *secret, struct diags *diags)
{
    const char *path = secret->name;
    secret->source = SECRET_LOGIN;
    secret->from = path;
    if (!is_exact_path(path) || !is_one_word(path))
        return object_complain(diags, rule, &words[0],
                               "write an absolute path, or one that begins with ~/, without spaces",
                               "this is not the place of a login file");
    if (count < 2)
        return 0;
    secret->key = word_plain(arena, words[1].text);
    secret->name = arena_printf(arena, "%s:%s", path, secret->key);
    return is_one_word(secret->key) && !strpbrk(secret->key, ".:\"\\")
               ? 0
               : object_complain(diags, rule, &words[1], "write the name of a member at the top of the file",
                                 "this is not an entry of a login file");
}

int secret_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                 struct diags *diags)
{
    static const char form[] =
        "write `secret NAME to HOST`, `secret NAME from SOURCE to HOST` or `secret login FILE [ENTRY] to HOST refresh HOST/PATH`";
    struct secret_object *secret = arena_new(arena, struct secret_object);
    size_t to = 0, refresh = 0, in = 0, unless = 0;
    rule->column = words[0].column;
    rule->written = words_join(arena, words, count, true);
    while (to < count && !word_is_keyword(&words[to], "to"))
        to++;
    for (unless = to; unless < count && !word_is_keyword(&words[unless], "unless");)
        unless++;
    for (in = to; in < unless && !word_is_keyword(&words[in], "in");)
        in++;
    for (refresh = to; refresh < in && !word_is_keyword(&words[refresh], "refresh");)
        refresh++;
    bool is_login = to >= 2 && word_is_keyword(&words[0], "login") && !word_is_keyword(&words[1], "from");
    size_t named = is_login ? 1 : 0, last = is_login && to == 3 ? 2 : named; /* of the words that name it */
    secret->name = word_plain(arena, words[named].text);
    if (is_login && parse_login(arena, words + named, last, rule, secret, diags) < 0)
        return -1;
    if (!is_login && !variable_name_is_valid(secret->name))
        return object_complain(diags, rule, &words[0], "write the variable that programs read it from",
                               "this is not the name of a variable");
    if (rule->source->layer == LAYER_REPOSITORY)
        return object_complain(diags, rule, &words[0], "put it into ~/.config/bawn/policy.bawn",
                               "a repository cannot say where your secrets go");
    bool has_source = !is_login && to >= 2 && word_is_keyword(&words[1], "from");
    if (to + 1 >= refresh || (to != last + 1 && !(has_source && to > 2)) || refresh - to - 1 > MOST_HOSTS)
        return object_complain(diags, rule, &words[0], form, "this is not a whole rule for a secret");
    if (is_login && in < unless)
        return object_complain(diags, rule, &words[in], "leave it out",
                               "the tokens of a login are sent in headers, and in its refresh");
    rule->secret = secret;
    if (has_source && secret_parse_source(arena, words + 2, to - 2, rule, secret, diags) < 0)
        return -1;
    if (unless < count &&
        parse_unless(arena, words + unless + 1, count - unless - 1, rule, secret, diags) < 0)
        return -1;
    if (refresh < in &&
        parse_endpoints(arena, words + refresh + 1, in - refresh - 1, rule, secret, diags) < 0)
        return -1;
    if (parse_carriers(arena, words + in, unless - in, rule, secret, diags) < 0)
        return -1;
    return parse_hosts(arena, words + to + 1, refresh - to - 1, rule, secret, diags);
}
