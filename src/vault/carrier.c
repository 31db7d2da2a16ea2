#include "vault/carrier.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/key_format.h"
#include "vault/swap.h"

static bool is_one_of(char byte, const char *list)
{
    return byte && strchr(list, byte);
}

static bool may_stand(enum writing writing, char byte)
{
    bool is_visible = isgraph((unsigned char)byte), is_word = isalnum((unsigned char)byte);
    if (!is_visible || (unsigned char)byte >= 0x7f)
        return false;
    switch (writing) {
    case WRITING_PATH:
        return !is_one_of(byte, "/\\?#%;");
    case WRITING_PLAIN:
        return is_word || is_one_of(byte, "-._~+/=:");
    case WRITING_PERCENT:
    case WRITING_JSON:
        return true;
    }
    return false;
}

bool carrier_write(enum writing writing, struct bytes value, struct buf *out)
{
    for (size_t i = 0; i < value.size; i++) {
        if (!may_stand(writing, value.at[i]))
            return false;
    }
    bool is_url = writing == WRITING_PERCENT || writing == WRITING_PATH;
    for (size_t i = 0; i < value.size; i++) {
        char byte = value.at[i];
        bool is_bare = isalnum((unsigned char)byte) || is_one_of(byte, "-._~") ||
                       (writing == WRITING_PATH && byte == ':');
        if (is_url && !is_bare) {
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)byte);
            continue;
        }
        if (writing == WRITING_JSON && is_one_of(byte, "\"\\"))
            buf_add_char(out, '\\');
        buf_add_char(out, byte);
    }
    return value.size > 0;
}

/* "application/json; charset=utf-8": what comes before the parameters. */
static struct bytes media_type(struct bytes value)
{
    size_t size = 0;
    while (size < value.size && value.at[size] != ';' && value.at[size] != ' ')
        size++;
    return bytes_of(value.at, size);
}

enum writing carrier_writing_of(const struct head *head)
{
    enum writing writing = WRITING_PLAIN;
    for (size_t i = 0, seen = 0; i < head->count; i++) {
        if (!bytes_are(head->fields[i].name, "content-type"))
            continue;
        struct bytes type = media_type(head->fields[i].value);
        bool is_json = type.size >= 5 && (strncasecmp(type.at + type.size - 5, "/json", 5) == 0 ||
                                          strncasecmp(type.at + type.size - 5, "+json", 5) == 0);
        bool is_form = bytes_are(type, "application/x-www-form-urlencoded");
        if (seen++) /* servers may believe either */
            return WRITING_PLAIN;
        writing = is_json ? WRITING_JSON : is_form ? WRITING_PERCENT : WRITING_PLAIN;
    }
    return writing;
}

bool carrier_is_header(const struct secret_carrier *carrier, struct bytes header)
{
    return (carrier->kind == CARRIER_HEADERS && key_is_expected_in(header)) ||
           (carrier->kind == CARRIER_HEADER && bytes_are(header, carrier->name));
}

/* Parameters "NAME=VALUE" with & between them. The placeholder must be all of a value. */
static bool swap_query(struct bytes query, const char *name, struct bytes placeholder, struct bytes written,
                       struct buf *out)
{
    bool is_found = false;
    for (bool is_first = true; is_first || query.size; is_first = false) {
        const char *end = query.size ? memchr(query.at, '&', query.size) : NULL;
        struct bytes parameter = bytes_of(query.at, end ? (size_t)(end - query.at) : query.size);
        const char *equals = parameter.size ? memchr(parameter.at, '=', parameter.size) : NULL;
        size_t named = equals ? (size_t)(equals - parameter.at) : parameter.size;
        bool is_it = equals && named == strlen(name) && memcmp(parameter.at, name, named) == 0 &&
                     bytes_equal(bytes_after(parameter, named + 1), placeholder);
        buf_add(out, parameter.at, is_it ? named + 1 : parameter.size);
        if (is_it)
            buf_add(out, written.at, written.size);
        if (end)
            buf_add_char(out, '&');
        is_found |= is_it;
        query = bytes_after(query, parameter.size + (end ? 1 : 0));
    }
    return is_found;
}

static bool swap_path(struct bytes path, struct bytes placeholder, struct bytes written, struct buf *out)
{
    bool is_found = false;
    while (path.size) {
        const char *at = memmem(path.at, path.size, placeholder.at, placeholder.size);
        size_t before = at ? (size_t)(at - path.at) : path.size;
        buf_add(out, path.at, before);
        if (at)
            buf_add(out, written.at, written.size);
        is_found |= at != NULL;
        path = bytes_after(path, before + (at ? placeholder.size : 0));
    }
    return is_found;
}

bool carrier_swap_target(const struct secret_carrier *carrier, struct bytes target, struct bytes placeholder,
                         struct bytes written, struct buf *out)
{
    /* No client sends a fragment. A server that cuts it off reads another path or query than one that does not. */
    if (!target.size || !placeholder.size || memchr(target.at, '#', target.size))
        return false;
    const char *mark = memchr(target.at, '?', target.size);
    struct bytes path = bytes_of(target.at, mark ? (size_t)(mark - target.at) : target.size);
    struct bytes rest = bytes_after(target, path.size);
    size_t begun = out->size;
    bool is_found = false;
    if (carrier->kind == CARRIER_PATH) {
        is_found = swap_path(path, placeholder, written, out);
        buf_add(out, rest.at, rest.size);
    } else if (carrier->kind == CARRIER_QUERY && mark) {
        buf_add(out, path.at, path.size + 1);
        is_found = swap_query(bytes_after(rest, 1), carrier->name, placeholder, written, out);
    }
    if (!is_found)
        out->size = begun;
    return is_found;
}
