#include "policy/request.h"

#include <ctype.h>
#include <string.h>

#include "base/pattern.h"
#include "base/text.h"

enum { UTF8_LONGEST = 4, ENCODED_SIZE = 3 };

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* May the byte stand in a path as it is? (RFC 3986, without ';'.) */
static bool is_plain(unsigned char byte)
{
    return isalnum(byte) || (byte && strchr("-._~!$&'()*+,=:@", byte));
}

/* The byte that "%XX" stands for; -1: it is malformed. */
static int decode(struct bytes text)
{
    if (text.size < ENCODED_SIZE || *text.at != '%')
        return -1;
    int high = text_hex_digit(text.at[1]), low = text_hex_digit(text.at[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* The encoded bytes at the beginning of the text, which must be one character of UTF-8. Returns how many there are; 0: they are none. */
static size_t encoded_character(struct bytes text)
{
    char bytes[UTF8_LONGEST];
    size_t count = 0;
    uint32_t code;
    for (int byte; count < UTF8_LONGEST && (byte = decode(text)) >= 0; text = bytes_after(text, ENCODED_SIZE))
        bytes[count++] = (char)byte;
    return count ? utf8_decode(bytes, count, &code) : 0;
}

struct spelling {
    char *out;
    size_t size;
};

static void add_byte(struct spelling *spelling, char byte)
{
    spelling->out[spelling->size++] = byte;
}

static void add_encoded(struct spelling *spelling, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    add_byte(spelling, '%');
    add_byte(spelling, digits[byte >> 4]);
    add_byte(spelling, digits[byte & 15]);
}

/* Takes one encoded character off the text. The output is never longer than what is taken. */
static const char *spell_encoded(struct bytes *text, struct spelling *spelling)
{
    int first = decode(*text);
    if (first < 0)
        return "its path has a % that encodes nothing";
    if (first < ' ' || first == 0x7f || strchr("/\\.%;", first))
        return "its path encodes a slash, a dot or another character that could change its meaning";
    size_t count = encoded_character(*text);
    if (count == 0)
        return "its path encodes bytes that are not UTF-8";
    for (; count > 0; count--) {
        unsigned char byte = (unsigned char)decode(*text);
        if (is_plain(byte))
            add_byte(spelling, (char)byte);
        else
            add_encoded(spelling, byte);
        *text = bytes_after(*text, ENCODED_SIZE);
    }
    return NULL;
}

static const char *spell(struct bytes text, struct spelling *spelling)
{
    while (text.size) {
        unsigned char byte = (unsigned char)*text.at;
        if (byte == '%') {
            const char *problem = spell_encoded(&text, spelling);
            if (problem)
                return problem;
            continue;
        }
        if (byte != '/' && !is_plain(byte))
            return byte == '\\' || byte == ';' ? "its path has a character that servers read in two ways"
                                               : "its path has a character that must be encoded";
        add_byte(spelling, (char)byte);
        text = bytes_after(text, 1);
    }
    return NULL;
}

/* The path begins with a slash. */
static const char *problem_with_names(const char *path)
{
    for (const char *name = path + 1;;) {
        size_t size = strcspn(name, "/");
        if (size == 0 && name[0] == '/')
            return "its path has two slashes together";
        if ((size == 1 && name[0] == '.') || (size == 2 && name[0] == '.' && name[1] == '.'))
            return "its path has a '.' or '..' in it";
        if (!name[size])
            return NULL;
        name += size + 1;
    }
}

static const char *read_path(struct bytes target, char *ret_path)
{
    const char *query = target.size ? memchr(target.at, '?', target.size) : NULL;
    struct spelling spelling = {.out = ret_path};
    if (query)
        target.size = (size_t)(query - target.at);
    if (target.size == 0 || *target.at != '/')
        return "its target is not a path";
    if (target.size > REQUEST_LONGEST_PATH)
        return "its path is too long";
    const char *problem = spell(target, &spelling);
    ret_path[spelling.size] = '\0';
    if (!problem)
        problem = problem_with_names(ret_path);
    if (!problem && spelling.size > 1 && ret_path[spelling.size - 1] == '/')
        ret_path[spelling.size - 1] = '\0';
    return problem;
}

static void fold(const char *text, char *ret_folded)
{
    do
        *ret_folded++ = (char)tolower((unsigned char)*text);
    while (*text++);
}

const char *request_read(struct bytes method, struct bytes target, struct asked_request *ret_request)
{
    ret_request->method = method;
    const char *problem = read_path(target, ret_request->path);
    if (!problem)
        fold(ret_request->path, ret_request->folded);
    return problem;
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static bool has_method(const char *methods, struct bytes method)
{
    while (*methods) {
        size_t size = strcspn(methods, ",");
        if (size == method.size && strncmp(methods, method.at, size) == 0)
            return true;
        methods += size + (methods[size] == ',');
    }
    return false;
}

bool request_has_method(const char *methods, struct bytes method)
{
    bool is_head = bytes_equal(method, bytes_of("HEAD", 4));
    return !methods || has_method(methods, method) || (is_head && has_method(methods, bytes_of("GET", 3)));
}

bool request_matches(const struct rule *rule, const struct asked_request *request)
{
    const struct request_object *object = rule->request;
    if (!request_has_method(object->methods, request->method))
        return false;
    bool is_folded = rule->verb == VERB_REFUSE;
    const char *path = is_folded ? request->folded : request->path;
    return pattern_matches_path(is_folded ? object->folded : object->path, path, strlen(path));
}

bool request_is_word(const char *text)
{
    size_t size = strcspn(text, "/");
    const char *colon = memchr(text, ':', size);
    bool is_v6 = *text == '[' || (colon && memchr(colon + 1, ':', size - (size_t)(colon + 1 - text)));
    return text[size] && !is_v6 && strspn(text, "0123456789.") < size && !strstr(text, "://");
}

bool request_is_methods(const struct word *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    return word->text[strspn(word->text, letters)] == '\0';
}

/*
 * The methods of IANA's registry that are letters alone, and PURGE, which caches take. In a rule any other one is a mistake: a misspelt
 * method would grant or refuse nothing. Those of RFC 9110 and PATCH come first. CONNECT and PRI are not for servers.
 */
static const char *const known_methods[] = {
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "ACL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "COPY",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "ORDERPATCH",
    "PROPFIND",
    "PROPPATCH",
    "PURGE",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    NULL,
};

bool request_is_method(const char *text)
{
    return isupper((unsigned char)*text) && text_is_among(text, known_methods, array_len(known_methods) - 1);
}

/* The first of "GET,POST" that no server knows, or NULL. */
static const char *unknown_method(struct arena *arena, const char *methods)
{
    while (*methods) {
        size_t size = strcspn(methods, ",");
        const char *method = arena_copy(arena, methods, size);
        if (!request_is_method(method))
            return method;
        methods += size + (methods[size] == ',');
    }
    return NULL;
}

static int complain_of_method(const struct rule *rule, const struct word *word, const char *method,
                              struct diags *diags)
{
    struct spot spot = {rule->source, rule->line, word->column, word->width, rule->verb, word->written};
    const char *closest = text_closest(method, known_methods);
    return closest
               ? diag_error(diags, spot, NULL, "unknown method '%s' (did you mean '%s'?)", method, closest)
               : diag_error(diags, spot,
                            "known: GET HEAD POST PUT PATCH DELETE OPTIONS and the others of IANA's "
                            "registry; without a method the rule is about all",
                            "unknown method '%s'", method);
}

/* "GET,POST": each in capital letters, and there. */
static bool are_methods(const char *text)
{
    for (const char *at = text;; at++) {
        size_t size = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        at += size;
        if (size == 0 || (*at && *at != ','))
            return false;
        if (!*at)
            return !has_method(text, bytes_of("CONNECT", 7));
    }
}

/* "**" stands for whole names. */
static bool has_part_of_name(const char *path)
{
    for (const char *stars = path; (stars = strstr(stars, "**")); stars += 2) {
        if (stars[-1] != '/' || (stars[2] && stars[2] != '/'))
            return true;
    }
    return false;
}

/* The path with a plain name in the place of REQUEST_FORGE, which must be a whole name; NULL: it is not. */
static const char *without_word(struct arena *arena, const char *path, const char *word)
{
    const char *after = word + strlen(REQUEST_FORGE);
    return word[-1] == '/' && (!*after || *after == '/') && !strstr(after, REQUEST_FORGE)
               ? arena_printf(arena, "%.*sforge%s", (int)(word - path), path, after)
               : NULL;
}

/* A rule whose path has REQUEST_FORGE. It says what is done with the token of a repository. */
static int check_word(const struct word *word, const struct rule *rule, struct diags *diags)
{
    if (rule->source->layer == LAYER_REPOSITORY)
        return object_complain(diags, rule, word, "put it into ~/.config/bawn/policy.bawn",
                               "a repository cannot say what is done with your tokens");
    if (rule->verb != VERB_CONNECT || rule->host.kind != HOST_NAME)
        return object_complain(diags, rule, word, "write `connect HOST/PATH/" REQUEST_FORGE "/PATH METHODS`",
                               "only a `connect` to one host may have " REQUEST_FORGE);
    return 0;
}

static int parse_request_path(struct arena *arena, const struct word *word, const char *path,
                              const struct rule *rule, struct request_object *request, struct diags *diags)
{
    struct asked_request *read = arena_alloc(arena, sizeof(*read));
    const char *forge = strstr(path, REQUEST_FORGE), *plain = forge ? without_word(arena, path, forge) : path;
    if (forge && check_word(word, rule, diags) < 0)
        return -1;
    if (!plain)
        return object_complain(diags, rule, word, NULL,
                               REQUEST_FORGE " must be a whole name, once, as in /repos/" REQUEST_FORGE
                                             "/pulls");
    if (strpbrk(path, "?#"))
        return object_complain(diags, rule, word, "leave it out: a rule decides about the path alone",
                               "a path in a rule has no query");
    if (strpbrk(path, "\\'"))
        return object_complain(diags, rule, word, "write it without quotes and backslashes",
                               "this is not the path of a request");
    if (has_part_of_name(path))
        return object_complain(diags, rule, word, NULL, "'**' must be a whole name, as in /a/**/b");
    const char *problem = request_read(bytes_of("", 0), bytes_of(plain, strlen(plain)), read);
    if (problem)
        return object_complain(diags, rule, word, arena_printf(arena, "as a request's, %s", problem),
                               "this path could be read in two ways");
    if (strcmp(read->path, plain) != 0)
        return object_complain(diags, rule, word, arena_printf(arena, "write %s", read->path),
                               "this path has a simpler spelling");
    request->path = path;
    request->folded = arena_str(arena, read->folded);
    request->is_literal = !strchr(path, '*');
    request->has_word = forge != NULL;
    return 0;
}

static int parse_request_host(struct arena *arena, const struct word *word, const char *host,
                              struct rule *rule, struct diags *diags)
{
    const char *problem = NULL, *hint = NULL;
    if (host_parse_target(arena, host, &rule->host, &problem, &hint) < 0)
        return object_complain(diags, rule, word, hint, problem);
    if (rule->host.kind == HOST_ADDRESS || rule->host.may_be_unnamed)
        return object_complain(diags, rule, word, "write the host's name",
                               "a rule on requests is for a host that has a name");
    if (rule->host.port == PORT_HTTP)
        return object_complain(diags, rule, word,
                               "leave the port out, or name one at which the server speaks TLS",
                               "requests are judged in TLS, and port 80 has none");
    problem = host_problem_with_grant(arena, &rule->host, &hint);
    return problem ? object_complain(diags, rule, word, hint, problem) : 0;
}

int request_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                  struct diags *diags)
{
    struct request_object *request = arena_new(arena, struct request_object);
    const char *text = words[0].text, *slash = strchr(text, '/');
    rule->column = words[0].column;
    rule->written = words_join(arena, words, count, true);
    if (!slash) /* an argument, whose path is in a later word */
        return object_complain(diags, rule, &words[0], "write HOST/PATH METHODS",
                               "a rule on requests begins with a host and its path");
    if (parse_request_host(arena, &words[0], arena_copy(arena, text, (size_t)(slash - text)), rule, diags) <
            0 ||
        parse_request_path(arena, &words[0], slash, rule, request, diags) < 0)
        return -1;
    if (count > 1 && (count > 2 || !are_methods(words[1].text)))
        return object_complain(diags, rule, &words[1],
                               "write GET,POST, in capital letters and without a space; put further hosts on "
                               "a line of their own",
                               "these are not methods");
    const char *unknown = count > 1 ? unknown_method(arena, words[1].text) : NULL;
    if (unknown)
        return complain_of_method(rule, &words[1], unknown, diags);
    request->methods = count > 1 ? words[1].text : NULL;
    rule->request = request;
    return 0;
}

const char *request_text(struct arena *arena, const struct rule *rule)
{
    const struct request_object *request = rule->request;
    return arena_printf(arena, "%s%s%s%s",
                        host_with_port(arena, host_text(arena, &rule->host), rule->host.port), request->path,
                        request->methods ? " " : "", request->methods ? request->methods : "");
}
