#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "egress/egress.h"

static uint32_t address_at(size_t index)
{
    return PORT_NAMES_ADDRESS + 1 + (uint32_t)index;
}

struct name *name_enter(struct egress *egress, const char *text, uint32_t address)
{
    struct name *known = map_get(&egress->names, text, strlen(text));
    if (known)
        return known;
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    size_t index = address ? address - address_at(0) : egress->by_address.count;
    if (index >= 2 * (size_t)MOST_NAMES || host_parse(&egress->arena, text, &host, &problem, &hint) < 0 ||
        host.kind != HOST_NAME)
        return NULL;
    while (egress->by_address.count <= index)
        vec_push(&egress->by_address, NULL);
    if (egress->by_address.at[index])
        return NULL;
    struct name *name = arena_new(&egress->arena, struct name);
    *name = (struct name){
        .egress = egress, .text = host.name, .host = host, .address = endpoint_v4(address_at(index), 0)};
    egress->by_address.at[index] = name;
    *map_at(&egress->names, name->text, strlen(name->text)) = name;
    char shown[ENDPOINT_TEXT_SIZE];
    endpoint_text(&name->address, shown);
    /* The next helper must know it, too. */
    tell_always(egress, arena_printf(&egress->arena, "name %s %s", shown, name->text));
    return name;
}

struct name *name_of_address(struct egress *egress, const struct endpoint *address)
{
    uint32_t index = endpoint_v4_address(address) - address_at(0);
    return endpoint_is_v4(address) && index < egress->by_address.count ? egress->by_address.at[index] : NULL;
}

static void tell_no_socket(const struct name *name, int errnum)
{
    char sentence[128];
    snprintf(sentence, sizeof(sentence), "cannot be reached: no socket could be made for it inside: %s",
             errnum == EADDRINUSE ? "a server has its port on all addresses" : strerrordesc_np(errnum));
    tell_name_trouble(name, sentence);
}

static void listener_made(void *self, int fd, int errnum)
{
    struct name *name = self;
    if (fd >= 0 && listener_add(name->egress, fd, 0) == 0)
        name->listening++;
    else
        tell_no_socket(name, errnum);
    if (--name->outstanding == 0)
        resolver_answer(name);
}

void name_listen(struct name *name)
{
    struct egress *egress = name->egress;
    name->outstanding++; /* answers may come while more are asked for */
    for (size_t i = 0; i < egress->table.ports.count; i++) {
        uint16_t port = egress->table.ports.at[i];
        bool is_known = !table_allows(&egress->table, &name->host, port, NULL);
        for (size_t j = 0; j < name->ports.count; j++)
            is_known |= name->ports.at[j] == port;
        if (is_known)
            continue;
        if (egress->listener_count >= egress->most_listeners) {
            tell_trouble(egress, "so many names were asked for that there are no more sockets for them");
            break;
        }
        vec_push(&name->ports, port);
        struct endpoint at = name->address;
        at.port = port;
        name->outstanding++;
        ask_port(egress, PORT_LISTENER, at, listener_made, name);
    }
    if (--name->outstanding == 0)
        resolver_answer(name);
}
