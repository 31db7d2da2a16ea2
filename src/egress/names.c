#include "egress/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t address_at(size_t index)
{
    return PORT_NAMES_ADDRESS + 1 + (uint32_t)index;
}

bool names_have_room(const struct names *names, const char *text)
{
    return names->by_address.count < MOST_NAMES || map_get(&names->by_text, text, strlen(text));
}

struct name *name_enter(struct names *names, const struct host_object *host, uint32_t address)
{
    if (host->kind != HOST_NAME)
        return NULL;
    struct name *known = map_get(&names->by_text, host->name, strlen(host->name));
    if (known)
        return known;
    size_t index = address ? address - address_at(0) : names->by_address.count;
    if (index >= 2 * (size_t)MOST_NAMES)
        return NULL;
    while (names->by_address.count <= index)
        vec_push(&names->by_address, NULL);
    if (names->by_address.at[index])
        return NULL;
    struct name *name = arena_new(names->arena, struct name);
    *name = (struct name){.names = names, .host = *host, .address = endpoint_v4(address_at(index), 0)};
    name->text = name->host.name = arena_str(names->arena, host->name);
    names->by_address.at[index] = name;
    *map_at(&names->by_text, name->text, strlen(name->text)) = name;
    char shown[ENDPOINT_TEXT_SIZE];
    endpoint_text(&name->address, shown);
    tell_always(names->tell, arena_printf(names->arena, "name %s %s", shown, name->text));
    return name;
}

struct name *name_of_address(const struct names *names, const struct endpoint *address)
{
    uint32_t index = endpoint_v4_address(address) - address_at(0);
    return endpoint_is_v4(address) && index < names->by_address.count ? names->by_address.at[index] : NULL;
}

static void tell_no_socket(const struct name *name, int errnum)
{
    char sentence[128];
    snprintf(sentence, sizeof(sentence), "cannot be reached: no socket could be made for it inside: %s",
             errnum == EADDRINUSE ? "a server inside uses its port on all addresses"
                                  : strerrordesc_np(errnum));
    tell_name_trouble(name->names->tell, name->text, sentence);
}

static void request_is_over(struct name *name)
{
    if (--name->outstanding == 0)
        name->names->on_listening(name);
}

static void listener_made(void *self, int fd, int errnum)
{
    struct name *name = self;
    if (errnum == 0 && (fd < 0 || listeners_add(name->names->listeners, fd, 0) == 0))
        name->listening++;
    else
        tell_no_socket(name, errnum);
    request_is_over(name);
}

void name_listen(struct name *name)
{
    const struct names *names = name->names;
    name->outstanding++; /* a reply may come while this loop still sends requests */
    for (size_t i = 0; i < names->table->ports.count; i++) {
        uint16_t port = names->table->ports.at[i];
        bool is_known = !table_allows(names->table, &name->host, port, NULL) &&
                        !table_asks(names->table, &name->host, port);
        for (size_t j = 0; j < name->ports.count; j++)
            is_known |= name->ports.at[j] == port;
        if (is_known)
            continue;
        if (names->listeners->count >= names->listeners->most) {
            tell_trouble(names->tell, "too many names were looked up: no sockets are left for further ones");
            break;
        }
        vec_push(&name->ports, port);
        struct endpoint at = name->address;
        at.port = port;
        name->outstanding++;
        ask_port(names->asks, PORT_LISTENER, at, listener_made, name);
    }
    request_is_over(name);
}

void names_listen(const struct names *names)
{
    for (size_t i = 0; i < names->by_address.count; i++) {
        if (names->by_address.at[i])
            name_listen(names->by_address.at[i]);
    }
}
