#include "policy/parse.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/sift.h"

int object_complain(struct diags *diags, const struct rule *rule, const struct word *word, const char *hint,
                    const char *message)
{
    struct spot spot = {rule->source, rule->line, word->column, word->width, rule->verb, word->written};
    return diag_error(diags, spot, hint, "%s: '%s'", message, word->written);
}

/* Is there an unquoted $VARIABLE of this name here? */
static bool variable_is(const char *text, const char *variable)
{
    size_t size = strlen(variable);
    return text[0] == '$' && strncmp(text + 1, variable, size) == 0 &&
           !isalnum((unsigned char)text[size + 1]) && text[size + 1] != '_';
}

enum path_start path_start(const char **rest)
{
    const char *text = *rest;
    if (text[0] == '/')
        return START_ROOT;
    if (text[0] == '~') {
        *rest = text + 1;
        return text[1] == '/' || text[1] == '\0' ? START_HOME : START_COUNT;
    }
    if (text[0] != '$' || variable_is(text, "SLUG"))
        return START_RELATIVE;
    for (enum path_start start = START_HOME; start < START_COUNT; start++) {
        const char *variable = path_start_variable(start), *after = text + 1 + strlen(variable);
        if (variable_is(text, variable) && (*after == '/' || *after == '\0')) {
            *rest = after;
            return start;
        }
    }
    return START_COUNT;
}

static bool name_is(const char *name, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncmp(name, wanted, size) == 0;
}

/* The problem with one name of a path, or NULL. */
static const char *problem_with_name(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] == '\\') {
            i++;
        } else if (name[i] == '$' && !variable_is(name + i, "SLUG")) {
            return "only $SLUG may stand inside a path";
        } else if (name[i] == '*' && i + 1 < size && name[i + 1] == '*' && size != 2) {
            return "'**' must be a whole name, as in a/**/b";
        }
    }
    return NULL;
}

/* Joins the names of the path again, without empty names and ".". Reports names that are not allowed. */
static const char *clean_names(struct arena *arena, const char *text, bool may_climb,
                               struct path_object *path, const char **ret_problem)
{
    auto_buf struct buf clean = {0};
    for (const char *name = text; *name;) {
        size_t size = strcspn(name, "/");
        bool is_up = name_is(name, size, "..");
        may_climb = may_climb && (is_up || size == 0 || name_is(name, size, "."));
        if (is_up && !may_climb)
            *ret_problem = "'..' may only lead a relative path";
        const char *problem = problem_with_name(name, size);
        if (problem)
            *ret_problem = problem;
        if (size && !name_is(name, size, ".")) {
            if (clean.size)
                buf_add_char(&clean, '/');
            buf_add(&clean, name, size);
        }
        path->is_directory = name[size] == '/' || size == 0 || name_is(name, size, ".");
        name += size + (name[size] == '/');
    }
    return arena_copy(arena, clean.bytes, clean.size);
}

static bool verb_takes_wildcards(enum verb verb)
{
    return verb == VERB_FLAG || verb == VERB_HIDE || verb == VERB_SEAL;
}

static int parse_path(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    const char *rest = word->text;
    if (*rest == '\0')
        return object_complain(diags, rule, word, "write . for the workspace itself", "the path is empty");
    struct path_object path = {.start = path_start(&rest)};
    if (path.start == START_COUNT && word->text[0] == '~')
        return object_complain(diags, rule, word, "write ~/… or the absolute path",
                               "only your own home can be named with ~");
    if (path.start == START_COUNT)
        return object_complain(
            diags, rule, word,
            "known: $HOME $XDG_CONFIG_HOME $XDG_DATA_HOME $XDG_STATE_HOME $XDG_CACHE_HOME $XDG_RUNTIME_DIR "
            "$CLAUDE_CONFIG_DIR $CLAUDE_STATE_DIR $GIT $GITLINK; quote the word for a plain $",
            "unknown variable in a path");
    const char *problem = NULL;
    path.pattern = clean_names(arena, rest, path.start == START_RELATIVE, &path, &problem);
    if (problem)
        return object_complain(diags, rule, word, NULL, problem);
    if (path.start == START_GITLINK && *path.pattern)
        return object_complain(diags, rule, word,
                               "write $GITLINK alone, or $GIT/… for what lies in a git directory",
                               "$GITLINK is a file");
    path.has_wildcard = pattern_has_wildcard(path.pattern);
    if (path.has_wildcard && !verb_takes_wildcards(rule->verb))
        return object_complain(
            diags, rule, word,
            "name the directory instead, because files that match later could not be covered; quote "
            "the word for a plain * or ?",
            "this verb takes no wildcard");
    if (rule->verb == VERB_SIFT && sifted_file(arena_printf(arena, "/%s", path.pattern)) == SIFTED_UNKNOWN)
        return object_complain(diags, rule, word,
                               "`sift` takes only the files that docs/HOME.md lists; `copy` takes any file",
                               "bawn does not know which settings of this file are secret");
    rule->path = path;
    return 0;
}

static int parse_host(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    const char *problem = NULL, *hint = NULL;
    int (*parse)(struct arena *, const char *, struct host_object *, const char **, const char **) =
        rule->verb == VERB_CONNECT ? host_parse_target : host_parse;
    if (parse(arena, word_plain(arena, word->text), &rule->host, &problem, &hint) < 0)
        return object_complain(diags, rule, word, hint, problem);
    if (rule->verb != VERB_CONNECT && rule->host.may_be_unnamed)
        return object_complain(diags, rule, word, "leave it off", "only `connect` takes " HOST_UNNAMED);
    problem = rule->verb == VERB_CONNECT ? host_problem_with_grant(arena, &rule->host, &hint) : NULL;
    return problem ? object_complain(diags, rule, word, hint, problem) : 0;
}

/* Does every unquoted $ of a value begin a variable that can be expanded? */
static bool value_is_expandable(const char *value)
{
    for (; *value; value++) {
        if (*value == '\\' && value[1]) {
            value++;
        } else if (*value == '$') {
            bool known = variable_is(value, "SLUG");
            for (enum path_start start = START_HOME; start < START_GIT; start++)
                known = known || variable_is(value, path_start_variable(start));
            if (!known)
                return false;
        }
    }
    return true;
}

static int parse_env(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    size_t name_size = strcspn(word->text, "=");
    const char *equals = word->text[name_size] ? word->text + name_size : NULL;
    rule->env.is_default = equals && name_size > 1 && equals[-1] == '?';
    name_size -= rule->env.is_default;
    rule->env.name = arena_copy(arena, word->text, name_size);
    if (equals && rule->verb == VERB_UNSET)
        return object_complain(diags, rule, word, "write the name alone", "`unset` takes no value");
    bool valid = name_size > 0 && !isdigit((unsigned char)word->text[0]);
    for (size_t i = 0; i < name_size; i++) {
        char byte = word->text[i];
        bool wildcard = !equals && (byte == '*' || byte == '?');
        valid = valid && (isalnum((unsigned char)byte) || byte == '_' || wildcard);
    }
    if (!valid)
        return object_complain(diags, rule, word,
                               "write letters, digits and _, as in AWS_*; a wildcard only without a value",
                               "this is not the name of a variable");
    rule->env.value = equals ? arena_str(arena, equals + 1) : NULL;
    if (equals && !value_is_expandable(equals + 1))
        return object_complain(diags, rule, word, "put the value into single quotes for a plain $",
                               "only $HOME, $XDG_…, $CLAUDE_CONFIG_DIR and $SLUG are expanded in a value");
    return 0;
}

/* Digits and perhaps a unit; false if the text is something else or too large. */
static bool parse_amount(const char *text, const char *units, const uint64_t *factors, uint64_t *ret_amount)
{
    uint64_t value = 0;
    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
            return false;
    }
    if (*text) {
        const char *unit = strchr(units, *text);
        if (!unit || text[1] || __builtin_mul_overflow(value, factors[unit - units], &value))
            return false;
    }
    *ret_amount = value;
    return value > 0 && value <= INT64_MAX;
}

static const char size_units[] = "KMGT";
static const uint64_t size_factors[] = {1u << 10, 1u << 20, 1u << 30, 1ull << 40};

bool size_parse(const char *text, uint64_t *ret_bytes)
{
    return parse_amount(text, size_units, size_factors, ret_bytes);
}

/* "80%" */
static bool parse_share(const char *text, unsigned *ret_share)
{
    static const uint64_t one[] = {1};
    uint64_t share;
    if (!parse_amount(text, "%", one, &share) || text[strspn(text, "0123456789")] != '%' || share > 100)
        return false;
    *ret_share = (unsigned)share;
    return true;
}

static int parse_limit(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    static const uint64_t time_factors[] = {1, 60, 3600, 86400};
    const char *plain = word_plain(arena, word->text);
    size_t name_size = strcspn(plain, "=");
    enum limit limit = 0;
    while (limit < LIMIT_COUNT && !name_is(plain, name_size, limit_name(limit)))
        limit++;
    if (plain[name_size] && strpbrk(plain, " \t")) /* an argument: one word */
        return object_complain(diags, rule, word, "write NAME=VALUE, such as memory=8G",
                               "no space may stand before or after =");
    if (limit == LIMIT_COUNT || plain[name_size] == '\0')
        return object_complain(
            diags, rule, word,
            "known: memory=8G pids=4096 files=4096 time=8h disk=10G rate=10 snapshot=2G journals=256M; none lifts one",
            "this is not a limit");
    /* With less, journals and snapshots of runs would be lost. */
    if ((limit == LIMIT_JOURNALS || limit == LIMIT_SNAPSHOT) && rule->source->layer == LAYER_REPOSITORY)
        return object_complain(diags, rule, word, "put it into ~/.config/bawn/policy.bawn",
                               limit == LIMIT_JOURNALS
                                   ? "a repository cannot set how much of your journals is kept"
                                   : "a repository cannot set how much can be undone");
    rule->limit.limit = limit;
    const char *amount = plain + name_size + 1;
    if (strcmp(amount, "none") == 0) {
        rule->limit.most = UINT64_MAX;
        return 0;
    }
    if (limit == LIMIT_MEMORY && parse_share(amount, &rule->limit.share))
        return 0;
    bool is_size = limit_is_size(limit);
    const char *units = is_size ? size_units : limit == LIMIT_TIME ? "smhd" : "";
    if (!parse_amount(amount, units, is_size ? size_factors : time_factors, &rule->limit.most))
        return object_complain(diags, rule, word,
                               limit == LIMIT_MEMORY
                                   ? "write a number and K, M, G or T, such as 8G, or a share such as 80%"
                               : is_size             ? "write a number and K, M, G or T, such as 8G"
                               : limit == LIMIT_TIME ? "write a number and s, m, h or d, such as 8h"
                                                     : "write a plain number above 0",
                               "this amount cannot be read");
    return 0;
}

static int parse_net(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    const char *plain = word_plain(arena, word->text);
    for (enum net_mode mode = 0; mode < NET_COUNT; mode++) {
        if (strcmp(plain, net_mode_name(mode)) == 0) {
            rule->net = mode;
            return 0;
        }
    }
    return object_complain(diags, rule, word, "write off, allow or open", "this is not a network mode");
}

static int parse_port(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    char *inside = word_plain(arena, word->text), *host = inside;
    char *colon = rule->verb == VERB_PUBLISH ? strchr(inside, ':') : NULL;
    if (colon) {
        *colon = '\0';
        inside = colon + 1;
    }
    if (!port_parse(host, &rule->port.host) || !port_parse(inside, &rule->port.inside))
        return object_complain(diags, rule, word,
                               colon ? "write HOSTPORT:PORT, such as 8080:3000"
                                     : "write a port from 1 to 65535",
                               "this is not a port");
    return 0;
}

bool profile_name_is_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_/.";
    size_t size = strlen(name);
    return size > 0 && size < 128 && strspn(name, allowed) == size && name[0] != '/' && name[0] != '.' &&
           name[size - 1] != '/' && !strstr(name, "//") && !strstr(name, "/.");
}

/* A file name, or the name of an npm package: "@scope/name". */
static bool command_name_is_valid(const char *name)
{
    const char *slash = strchr(name, '/');
    return *name && (!slash || (*name == '@' && slash[1] && !strchr(slash + 1, '/')));
}

/* "Cargo.toml", ".venv/pyvenv.cfg", "~/.cargo/bin". */
static bool is_detectable(const char *text)
{
    const char *slash = strchr(text, '/');
    if (text_starts_with(text, "~/"))
        return text[2];
    return *text &&
           (!slash || (slash > text && slash[1] && !strchr(slash + 1, '/') && !pattern_has_wildcard(text) &&
                       !text_starts_with(text, "../") && strcmp(slash, "/..") != 0));
}

static int parse_name(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    bool is_of_file = rule->verb == VERB_DETECT || rule->verb == VERB_ARTIFACTS;
    rule->text = is_of_file ? word->text : word_plain(arena, word->text);
    if (rule->verb == VERB_USE && !profile_name_is_valid(rule->text))
        return object_complain(diags, rule, word, "`bawn profiles` lists them",
                               "this is not the name of a profile");
    if (rule->verb == VERB_MATCH && !command_name_is_valid(rule->text))
        return object_complain(
            diags, rule, word,
            "write the last part of the path alone, such as claude, or a package: @scope/name",
            "this is not the name of a command");
    if (rule->verb == VERB_SECRETS && strcmp(rule->text, "inside") != 0 && strcmp(rule->text, "outside") != 0)
        return object_complain(diags, rule, word, "write outside or inside",
                               "this is not a place for secrets");
    if (rule->verb == VERB_ARTIFACTS && (*rule->text == '\0' || strchr(rule->text, '/')))
        return object_complain(diags, rule, word, "write a name without a path, such as dist or build-*",
                               "this is not the name of a directory");
    if (rule->verb == VERB_REQUIRE && strcmp(rule->text, "namespaces") != 0)
        return object_complain(diags, rule, word, "write `require namespaces`", "this cannot be required");
    static const char *const leak_words[] = {"warn", "block", "off", "warn plain", "block plain"};
    if (rule->verb == VERB_LEAK && !text_is_among(rule->text, leak_words, array_len(leak_words)))
        return object_complain(diags, rule, word,
                               "write warn, block or off; `plain` may follow warn and block",
                               "this is not a setting for leaks");
    static const char *const ask_ways[] = {"command", "tmux", "desktop", "terminal", "none"};
    if (rule->verb == VERB_ASK_BY && !text_is_among(rule->text, ask_ways, array_len(ask_ways)))
        return object_complain(diags, rule, word, "write command, tmux, desktop, terminal or none",
                               "this is not a way to notify you");
    bool is_switch = rule->verb == VERB_MCP || rule->verb == VERB_ASK;
    if (is_switch && strcmp(rule->text, "on") != 0 && strcmp(rule->text, "off") != 0)
        return object_complain(diags, rule, word, "write on or off", "this is neither on nor off");
    if (rule->verb == VERB_DETECT && !is_detectable(rule->text))
        return object_complain(
            diags, rule, word,
            "write a name in the workspace's top directory, such as Cargo.toml, a file one directory below it, such as "
            ".venv/pyvenv.cfg, or a directory of PATH, such as ~/.cargo/bin",
            "this is not the name of a file");
    return 0;
}

int object_parse(struct arena *arena, const struct word *word, struct rule *rule, struct diags *diags)
{
    rule->column = word->column;
    rule->written = word->written;
    switch (verb_object(rule->verb)) {
    case OBJECT_PATH:
        return parse_path(arena, word, rule, diags);
    case OBJECT_HOST:
        return parse_host(arena, word, rule, diags);
    case OBJECT_ENV:
        return parse_env(arena, word, rule, diags);
    case OBJECT_LIMIT:
        return parse_limit(arena, word, rule, diags);
    case OBJECT_NET:
        return parse_net(arena, word, rule, diags);
    case OBJECT_PORT:
        return parse_port(arena, word, rule, diags);
    case OBJECT_NAME:
        return parse_name(arena, word, rule, diags);
    case OBJECT_TEXT:
        rule->text = word_plain(arena, word->text);
        return 0;
    case OBJECT_FORGE:
    case OBJECT_SSH_KEY:
    case OBJECT_SECRET: /* secret_parse takes the whole line */
        break;
    }
    return -1;
}
