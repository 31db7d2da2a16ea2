#include "policy/host.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "base/text.h"

enum { LABEL_LONGEST = 63, V4_OFFSET_BITS = 96 };

bool port_parse(const char *text, uint16_t *ret_port)
{
    unsigned long value = 0;
    size_t digits = strlen(text);
    if (digits < 1 || digits > 5 || text[0] == '0')
        return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        value = value * 10 + (unsigned long)(*text - '0');
    }
    if (value > 65535)
        return false;
    *ret_port = (uint16_t)value;
    return true;
}

static bool is_v4(const struct host_object *host)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(host->address, mapped, sizeof(mapped)) == 0;
}

/* An address, or a network with "/bits". Returns false where the text is neither. */
static bool parse_address(const char *text, struct host_object *host, const char **ret_problem)
{
    char address[INET6_ADDRSTRLEN];
    size_t size = strcspn(text, "/");
    if (size >= sizeof(address))
        return false;
    memcpy(address, text, size);
    address[size] = '\0';

    unsigned bits = 128, offset = 0;
    if (inet_pton(AF_INET, address, host->address + 12) == 1) {
        memset(host->address, 0, 10);
        host->address[10] = host->address[11] = 0xff;
        bits = 32;
        offset = V4_OFFSET_BITS;
    } else if (inet_pton(AF_INET6, address, host->address) != 1) {
        return false;
    } else if (is_v4(host)) {
        *ret_problem = "this is an IPv4 address in IPv6 form";
        return true;
    }
    host->kind = HOST_ADDRESS;
    unsigned prefix = bits;
    if (text[size] == '/') {
        uint16_t number = 0;
        bool is_zero = strcmp(text + size + 1, "0") == 0;
        if (!is_zero && (!port_parse(text + size + 1, &number) || number > bits)) {
            *ret_problem = "the network's prefix length is not a number that fits the address";
            return true;
        }
        prefix = number;
    }
    host->prefix = (uint8_t)(offset + prefix);
    for (unsigned bit = host->prefix; bit < 128; bit++) {
        if (host->address[bit / 8] & 0x80 >> bit % 8)
            *ret_problem = "the network has bits set beyond its prefix";
    }
    return true;
}

static const char *problem_with_name(const char *name)
{
    size_t size = strlen(name);
    if (size == 0)
        return "the host is empty";
    if (size > NAME_LONGEST)
        return "the name is longer than 253 characters";
    const char *last_label = name;
    for (const char *label = name;;) {
        size_t length = strcspn(label, ".");
        last_label = label;
        if (length == 0)
            return "the name has an empty part between two dots";
        if (length > LABEL_LONGEST)
            return "a part of the name is longer than 63 characters";
        if (label[0] == '-' || label[length - 1] == '-')
            return "a part of the name begins or ends with '-'";
        for (size_t i = 0; i < length; i++) {
            if ((unsigned char)label[i] >= 0x80)
                return "the name is not ASCII";
            if (label[i] == '*')
                return "'*' may only be the whole first part of a name";
            if (!isalnum((unsigned char)label[i]) && label[i] != '-' && label[i] != '_')
                return "the name has a character that no host name has";
        }
        if (label[length] == '\0')
            break;
        label += length + 1;
    }
    bool hexadecimal = text_starts_with(last_label, "0x");
    if (hexadecimal || strspn(last_label, "0123456789") == strlen(last_label))
        return "the name looks like a number";
    return NULL;
}

static const char *hint_for_problem(const char *problem)
{
    static const struct {
        const char *about, *hint;
    } hints[] = {
        {"not ASCII", "write an international name in its xn-- form"},
        {"looks like a number", "write an address as four decimal numbers, such as 10.0.0.5"},
        {"'*'", "write *.example.com for every name below example.com; `net open` for every host"},
        {"bits set", "write the network's own address, such as 10.0.0.0/8"},
        {"clothes", "write it as plain IPv4, such as 10.0.0.5"},
        {"after the +", "write example.com" HOST_UNNAMED " to let TLS through that names no host"},
        {"leave out", "leave " HOST_UNNAMED " off: with an address TLS may name any host, or none"},
        {"port", "write a port from 1 to 65535, such as example.com:443"},
        {"URL", "write a bare host, such as example.com or example.com:8443"},
        {"no host name has", "write a bare host, such as example.com or example.com:22, not a URL"},
    };
    for (size_t i = 0; i < array_len(hints); i++) {
        if (strstr(problem, hints[i].about))
            return hints[i].hint;
    }
    return NULL;
}

/* Cuts HOST_UNNAMED off the end. Returns a problem or NULL. */
static const char *split_option(char *text, bool *ret_may_be_unnamed)
{
    char *option = strchr(text, '+');
    *ret_may_be_unnamed = option != NULL;
    if (option && strcmp(option, HOST_UNNAMED) != 0)
        return "the word after + is unknown";
    if (option)
        *option = '\0';
    return NULL;
}

/* Cuts ":PORT" off the end, and the brackets of an IPv6 address. Returns a problem or NULL. */
static const char *split_port(char *text, char **ret_host, uint16_t *ret_port)
{
    char *port = NULL;
    *ret_host = text;
    *ret_port = 0;
    if (text[0] == '[') {
        char *bracket = strchr(text, ']');
        if (!bracket || (bracket[1] != '\0' && bracket[1] != ':'))
            return "the bracket around the address is not closed before the port";
        port = bracket[1] ? bracket + 2 : NULL;
        *bracket = '\0';
        *ret_host = text + 1;
        if (!strchr(*ret_host, ':'))
            return "brackets are for IPv6 addresses alone";
    } else {
        char *colon = strchr(text, ':');
        if (colon && !strchr(colon + 1, ':')) { /* two colons: a bare IPv6 address */
            *colon = '\0';
            port = colon + 1;
        }
    }
    if (port && !port_parse(port, ret_port))
        return "the port is not a number from 1 to 65535";
    return NULL;
}

static const char *parse(struct arena *arena, const char *text, struct host_object *host)
{
    if (strstr(text, "://"))
        return "this is a URL, not a host";
    char *lower = arena_str(arena, text), *name = NULL;
    for (char *at = lower; *at; at++)
        *at = (char)((unsigned char)*at < 0x80 ? tolower((unsigned char)*at) : *at);
    const char *problem = split_option(lower, &host->may_be_unnamed);
    if (!problem)
        problem = split_port(lower, &name, &host->port);
    if (problem)
        return problem;
    if (parse_address(name, host, &problem))
        return !problem && host->may_be_unnamed ? "+unnamed needs a name, not an address" : problem;

    size_t size = strlen(name);
    if (size > 1 && name[size - 1] == '.')
        name[size - 1] = '\0';
    host->kind = text_starts_with(name, "*.") ? HOST_SUFFIX : HOST_NAME;
    host->name = host->kind == HOST_SUFFIX ? name + 2 : name;
    return problem_with_name(host->name);
}

int host_parse(struct arena *arena, const char *text, struct host_object *ret_host, const char **ret_problem,
               const char **ret_hint)
{
    struct host_object host = {0};
    const char *problem = parse(arena, text, &host);
    if (problem) {
        *ret_problem = problem;
        *ret_hint = hint_for_problem(problem);
        return -1;
    }
    *ret_host = host;
    return 0;
}

int host_parse_target(struct arena *arena, const char *text, struct host_object *ret_host,
                      const char **ret_problem, const char **ret_hint)
{
    if (host_parse(arena, text, ret_host, ret_problem, ret_hint) < 0)
        return -1;
    if (ret_host->port == 0)
        ret_host->port = PORT_HTTPS;
    return 0;
}

bool host_is_loopback(const struct host_object *host)
{
    static const uint8_t loopback[16] = {[15] = 1};
    enum { V4_AT = 12, V4_LOOPBACK = 127 };
    if (host->kind == HOST_ADDRESS)
        return is_v4(host) ? host->address[V4_AT] == V4_LOOPBACK
                           : memcmp(host->address, loopback, sizeof(loopback)) == 0;
    const char *end = host->kind == HOST_NAME ? strstr(host->name, "localhost") : NULL;
    return end && strcmp(end, "localhost") == 0 && (end == host->name || end[-1] == '.');
}

bool host_covers(const struct host_object *pattern, const struct host_object *asked)
{
    if (pattern->kind == HOST_ADDRESS) {
        if (asked->kind != HOST_ADDRESS || asked->prefix < pattern->prefix || is_v4(asked) != is_v4(pattern))
            return false;
        for (unsigned bit = 0; bit < pattern->prefix; bit++) {
            if ((pattern->address[bit / 8] ^ asked->address[bit / 8]) & 0x80 >> bit % 8)
                return false;
        }
        return true;
    }
    if (asked->kind == HOST_ADDRESS)
        return false;
    if (pattern->kind == HOST_NAME)
        return asked->kind == HOST_NAME && strcmp(pattern->name, asked->name) == 0;

    size_t suffix = strlen(pattern->name), size = strlen(asked->name);
    if (asked->kind == HOST_SUFFIX && size == suffix)
        return strcmp(asked->name, pattern->name) == 0;
    return size > suffix + 1 && asked->name[size - suffix - 1] == '.' &&
           strcmp(asked->name + size - suffix, pattern->name) == 0;
}

bool host_may_lead_to(const struct host_object *host, const struct host_object *address)
{
    if (address->kind != HOST_ADDRESS)
        return false;
    return host->kind != HOST_ADDRESS || (host->prefix < 128 && !is_v4(host) && is_v4(address));
}

const char *host_problem_with_grant(struct arena *arena, const struct host_object *host,
                                    const char **ret_hint)
{
    static const char own[] = "localhost";
    if (host->kind == HOST_ADDRESS || strcmp(host->name, own) != 0)
        return NULL;
    const char *port =
        host->port && host->port != PORT_HTTPS ? arena_printf(arena, "%u", host->port) : "PORT";
    *ret_hint =
        arena_printf(arena,
                     "to reach a service on this machine's localhost, write `host-port %s`, or start the run "
                     "with --host-port %s",
                     port, port);
    return "inside, localhost is the sandbox's own";
}

size_t host_specificity(const struct host_object *pattern)
{
    switch (pattern->kind) {
    case HOST_ADDRESS:
        return pattern->prefix;
    case HOST_SUFFIX:
        return strlen(pattern->name);
    case HOST_NAME:
        break;
    }
    return NAME_LONGEST + 1;
}

char *host_text(struct arena *arena, const struct host_object *host)
{
    if (host->kind == HOST_NAME)
        return arena_str(arena, host->name);
    if (host->kind == HOST_SUFFIX)
        return arena_printf(arena, "*.%s", host->name);
    char address[INET6_ADDRSTRLEN] = "";
    bool v4 = is_v4(host);
    inet_ntop(v4 ? AF_INET : AF_INET6, host->address + (v4 ? 12 : 0), address, sizeof(address));
    unsigned prefix = v4 ? host->prefix - (unsigned)V4_OFFSET_BITS : host->prefix;
    if (prefix == (v4 ? 32 : 128))
        return arena_str(arena, address);
    return arena_printf(arena, "%s/%u", address, prefix);
}

const char *host_with_port(struct arena *arena, const char *host, uint16_t port)
{
    if (port == 0)
        return host;
    bool is_v6 = strchr(host, ':') != NULL;
    return arena_printf(arena, "%s%s%s:%u", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}
