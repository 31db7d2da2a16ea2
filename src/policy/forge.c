#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/text.h"
#include "policy/forge.h"
#include "policy/parse.h"
#include "policy/ssh_key.h"

enum { MOST_REFS = 64, LONGEST_PATH = 255 };

static const char form[] = "write `forge HOST/OWNER/REPO fetch push refs/heads/agent/*`";

/* One part of a path on a server. It is quoted for the server's shell, and never read as an option. */
static bool is_part(const char *part, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    return size > 0 && strspn(part, plain) >= size && *part != '-' && *part != '.';
}

/* "acme/app" of "acme/app.git"; NULL: it is not the path of a repository. */
static const char *parse_path(struct arena *arena, const char *text)
{
    size_t size = strlen(text), end = strlen(".git");
    if (size > end && strcmp(text + size - end, ".git") == 0)
        size -= end;
    const char *path = arena_copy(arena, text, size);
    for (const char *part = path;;) {
        size_t part_size = strcspn(part, "/");
        if (!is_part(part, part_size))
            return NULL;
        if (!part[part_size])
            return size <= LONGEST_PATH ? path : NULL;
        part += part_size + 1;
    }
}

/* "[USER@]HOST[:PORT]/PATH" */
static int parse_place(struct arena *arena, const struct word *word, const struct rule *rule,
                       struct forge_object *forge, struct diags *diags)
{
    const char *text = word_plain(arena, word->text), *slash = strchr(text, '/');
    const char *problem = NULL, *hint = NULL;
    struct host_object host;
    if (!slash)
        return object_complain(diags, rule, word, form, "this is not a repository on a server");
    const char *at = memchr(text, '@', (size_t)(slash - text));
    forge->user = at ? arena_copy(arena, text, (size_t)(at - text)) : "git";
    if (!is_part(forge->user, strlen(forge->user)))
        return object_complain(diags, rule, word, form, "this is not the name of a user");
    const char *name = at ? at + 1 : text;
    if (host_parse(arena, arena_copy(arena, name, (size_t)(slash - name)), &host, &problem, &hint) < 0)
        return object_complain(diags, rule, word, hint, problem);
    if (host.kind != HOST_NAME || host.may_be_unnamed)
        return object_complain(diags, rule, word, "write the host's name", "a forge is a host with a name");
    forge->host = host.name;
    forge->port = host.port;
    forge->path = parse_path(arena, slash + 1);
    return forge->path ? 0
                       : object_complain(diags, rule, word, "write it as in the address of the repository",
                                         "this is not the path of one repository");
}

/* A ref, or a pattern of refs as paths have it. */
static bool is_ref_pattern(const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] <= ' ' || text[i] == 127)
            return false;
    }
    return text_starts_with(text, "refs/") && size > strlen("refs/") && size < 1024 &&
           text[size - 1] != '/' && strcspn(text, "~^:[\\@{") == size && !strstr(text, "..") &&
           !strstr(text, "//");
}

/* Takes the refs after `push`. Returns how many words they are, or -1. */
static int parse_refs(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                      struct forge_object *forge, struct diags *diags)
{
    size_t taken = 0;
    const char **refs = arena_alloc(arena, (forge->ref_count + count) * sizeof(*refs));
    for (size_t i = 0; i < forge->ref_count; i++)
        refs[i] = forge->refs[i];
    while (taken < count && text_starts_with(words[taken].text, "refs/")) {
        if (!is_ref_pattern(words[taken].text))
            return object_complain(diags, rule, &words[taken], "write refs/heads/NAME or refs/heads/NAME/*",
                                   "this is not a ref, nor a pattern of refs");
        refs[forge->ref_count + taken] = words[taken].text;
        taken++;
    }
    forge->refs = refs;
    forge->ref_count += taken;
    return (int)taken;
}

/* The words after the repository. */
static int parse_rights(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                        struct forge_object *forge, struct diags *diags)
{
    const struct {
        const char *word;
        bool *right;
    } rights[] = {{"fetch", &forge->may_fetch},
                  {"push+force", &forge->may_force},
                  {"push+delete", &forge->may_delete},
                  {"push+options", &forge->may_send_options}};
    for (size_t i = 0; i < count; i++) {
        bool is_known = false;
        for (size_t j = 0; j < array_len(rights); j++) {
            if (!word_is_keyword(&words[i], rights[j].word))
                continue;
            *rights[j].right = is_known = true;
        }
        if (is_known)
            continue;
        if (!word_is_keyword(&words[i], "push"))
            return object_complain(diags, rule, &words[i],
                                   "write fetch, push REF, push+force, push+delete or push+options",
                                   "this is not a right on a repository");
        int taken = parse_refs(arena, words + i + 1, count - i - 1, rule, forge, diags);
        if (taken < 0)
            return -1;
        if (taken == 0)
            return object_complain(diags, rule, &words[i],
                                   "write the refs that it is for: push refs/heads/agent/*",
                                   "`push` needs refs after it, which begin with refs/");
        i += (size_t)taken;
    }
    return 0;
}

/* The words after `from`, at the end of a rule. `env` needs a name: the rule has none that a variable could have. */
static int parse_token(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                       struct forge_object *forge, struct diags *diags)
{
    struct secret_object *token = arena_new(arena, struct secret_object);
    struct host_object *host = arena_new(arena, struct host_object);
    const char *problem = NULL, *hint = NULL;
    if (count < 3 || !word_is_keyword(&words[1], "from"))
        return object_complain(diags, rule, &words[0],
                               "write token from env NAME, file PATH [KEY], command \"…\", keyring ATTRIBUTE "
                               "VALUE, or credential NAME",
                               "`token` needs a source after it");
    bool is_variable = word_is_keyword(&words[2], "env");
    if (is_variable && (count != 4 || !variable_name_is_valid(words[3].text)))
        return object_complain(diags, rule, &words[2], "write token from env NAME",
                               "this is not the name of a variable");
    if (is_variable)
        token->from = words[3].text;
    else if (secret_parse_source(arena, words + 2, count - 2, rule, token, diags) < 0)
        return -1;
    if (host_parse_target(arena, host_with_port(arena, forge->host, forge_https_port(forge)), host, &problem,
                          &hint) < 0 ||
        (problem = host_problem_with_grant(arena, host, &hint)))
        return object_complain(diags, rule, &words[0], hint, problem);
    if (host->port == PORT_HTTP)
        return object_complain(diags, rule, &words[0],
                               "leave the port out, or name one at which the server speaks TLS",
                               "a token is sent in TLS, and port 80 has none");
    token->name = forge_place(arena, forge);
    token->hosts = host;
    token->host_count = 1;
    forge->token = token;
    return 0;
}

int forge_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                struct diags *diags)
{
    struct forge_object *forge = arena_new(arena, struct forge_object);
    rule->column = words[0].column;
    rule->written = words_join(arena, words, count, true);
    if (rule->source->layer == LAYER_REPOSITORY)
        return object_complain(diags, rule, &words[0], "put it into ~/.config/bawn/policy.bawn",
                               "a repository cannot say what is done with your keys");
    if (count < 2)
        return object_complain(diags, rule, &words[0], form, "this is not a whole rule for a forge");
    size_t token = 1;
    while (token < count && !word_is_keyword(&words[token], "token"))
        token++;
    if (parse_place(arena, &words[0], rule, forge, diags) < 0 ||
        parse_rights(arena, words + 1, token - 1, rule, forge, diags) < 0 ||
        (token < count && parse_token(arena, words + token, count - token, rule, forge, diags) < 0))
        return -1;
    if (!forge->may_fetch && !forge->ref_count)
        return object_complain(diags, rule, &words[0], form, "this rule gives no right");
    bool is_more = forge->may_force || forge->may_delete || forge->may_send_options;
    if (forge->ref_count > MOST_REFS || (is_more && !forge->ref_count))
        return object_complain(diags, rule, &words[0], form,
                               forge->ref_count ? "this rule has too many refs"
                                                : "push+force, push+delete and push+options need `push`");
    rule->forge = forge;
    return 0;
}

uint16_t forge_https_port(const struct forge_object *forge)
{
    return forge->port ? forge->port : PORT_HTTPS;
}

uint16_t forge_ssh_port(const struct forge_object *forge)
{
    return forge->port ? forge->port : SSH_PORT;
}

/* Is it the usual one, whether it is written or not? */
static bool has_usual_port(const struct forge_object *forge)
{
    const struct forge_object usual = {0};
    return forge->token ? forge_https_port(forge) == forge_https_port(&usual)
                        : forge_ssh_port(forge) == forge_ssh_port(&usual);
}

bool forge_may_be_same(const struct forge_object *one, const struct forge_object *other)
{
    bool is_same_port = (has_usual_port(one) && has_usual_port(other)) || one->port == other->port;
    return strcmp(one->host, other->host) == 0 && is_same_port && strcasecmp(one->path, other->path) == 0;
}

bool forge_is_same(const struct forge_object *one, const struct forge_object *other)
{
    return forge_may_be_same(one, other) && strcmp(one->path, other->path) == 0;
}

const char *forge_place(struct arena *arena, const struct forge_object *forge)
{
    return arena_printf(arena, "%s%s%s/%s", strcmp(forge->user, "git") == 0 ? "" : forge->user,
                        strcmp(forge->user, "git") == 0 ? "" : "@",
                        host_with_port(arena, forge->host, forge->port), forge->path);
}

const char *forge_rights(struct arena *arena, const struct forge_object *forge)
{
    auto_buf struct buf text = {0};
    buf_add_str(&text, forge->may_fetch ? "fetch" : "");
    for (size_t i = 0; i < forge->ref_count; i++)
        buf_printf(&text, "%s%s", i ? " " : text.size ? " push " : "push ", forge->refs[i]);
    buf_printf(&text, "%s%s%s", forge->may_force ? " push+force" : "",
               forge->may_delete ? " push+delete" : "", forge->may_send_options ? " push+options" : "");
    static const char *const sources[] = {[SECRET_ENVIRONMENT] = "env",       [SECRET_FILE] = "file",
                                          [SECRET_COMMAND] = "command",       [SECRET_KEYRING] = "keyring",
                                          [SECRET_CREDENTIAL] = "credential", [SECRET_LOGIN] = "login"};
    if (forge->token)
        buf_printf(&text, " token from %s", sources[forge->token->source]);
    return arena_str(arena, buf_text(&text));
}
