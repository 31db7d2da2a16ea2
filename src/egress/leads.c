/* Where a name or an address leads, and whether that may be dialled. */
#include <stdio.h>
#include <string.h>

#include "egress/egress.h"
#include "kernel/route.h"

enum {
    ROUTES_KEPT = 1000,       /* milliseconds that what the kernel said of an address is believed */
    TRANSLATORS_KEPT = 60000, /* the same for what the resolver said of this network */
};

/* Is it this machine? Where the kernel cannot be asked, every address may be. */
static bool is_here(struct routes *routes, const struct endpoint *address)
{
    int64_t now = now_milliseconds();
    if (routes->until <= now)
        *routes = (struct routes){.fd = routes->fd, .is_open = routes->is_open, .until = now + ROUTES_KEPT};
    for (size_t i = 0; i < ROUTES_MOST && i < routes->count; i++) {
        if (memcmp(routes->known[i].address, address->address, sizeof(address->address)) == 0)
            return routes->known[i].is_here;
    }
    if (!routes->is_open) {
        routes->fd = route_open();
        routes->is_open = routes->fd >= 0;
    }
    struct known_route *new = &routes->known[routes->count++ % ROUTES_MOST];
    new->is_here = !routes->is_open || route_of(routes->fd, address) != ROUTE_AWAY;
    memcpy(new->address, address->address, sizeof(address->address));
    return new->is_here;
}

static enum address_class class_of(struct egress *egress, const struct endpoint *address)
{
    enum address_class class = address_classify(address);
    bool may_be_own = class == ADDRESS_PUBLIC || class == ADDRESS_PRIVATE;
    return may_be_own && is_here(&egress->routes, address) ? ADDRESS_OWN : class;
}

/* The classes' order is that of how special they are. */
enum address_class leads_class(struct egress *egress, const struct endpoint *address)
{
    struct endpoint inner[ADDRESS_MOST_INNER];
    size_t count = address_inner(address, &egress->translators, inner);
    enum address_class most_special = class_of(egress, address);
    for (size_t i = 0; i < count; i++) {
        enum address_class class = class_of(egress, &inner[i]);
        if (class < most_special)
            most_special = class;
    }
    return most_special;
}

bool leads_to_refused(const struct egress *egress, const struct endpoint *address, uint16_t port)
{
    struct endpoint inner[ADDRESS_MOST_INNER];
    size_t count = address_inner(address, &egress->translators, inner);
    bool is_refused = table_refuses(&egress->table, address, port);
    for (size_t i = 0; i < count; i++)
        is_refused |= table_refuses(&egress->table, &inner[i], port);
    return is_refused;
}

/* May it be dialled for this name? If not, the sentence says why. */
static bool is_permitted(struct connection *connection, const struct endpoint *address,
                         char ret_sentence[LEADS_SENTENCE_SIZE])
{
    struct egress *egress = connection->egress;
    enum address_class class = leads_class(egress, address);
    if (class != ADDRESS_PUBLIC && !(class == ADDRESS_PRIVATE && table_trusts_name(&connection->rule))) {
        snprintf(ret_sentence, LEADS_SENTENCE_SIZE, "its name leads to %s, and %s", address_class_text(class),
                 class == ADDRESS_PRIVATE ? "only your own rule for just that name opens it"
                                          : "only a rule with the address itself opens it");
        return false;
    }
    if (leads_to_refused(egress, address, connection->asked.port)) {
        char text[ENDPOINT_TEXT_SIZE];
        endpoint_text(address, text);
        snprintf(ret_sentence, LEADS_SENTENCE_SIZE, "its name leads to %s, which a rule refuses", text);
        return false;
    }
    return true;
}

void leads_keep_permitted(struct connection *connection, char ret_sentence[LEADS_SENTENCE_SIZE])
{
    struct lookup_result *found = &connection->addresses;
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (is_permitted(connection, &found->addresses[i], ret_sentence))
            found->addresses[kept++] = found->addresses[i];
    }
    found->count = kept;
}

bool leads_must_wait(struct connection *connection, const struct endpoint *addresses, size_t count)
{
    struct egress *egress = connection->egress;
    bool may_be_translated = false;
    for (size_t i = 0; i < count; i++)
        may_be_translated |= !endpoint_is_v4(&addresses[i]);
    connection->waits_for_translators = may_be_translated && egress->translators_until <= now_milliseconds();
    if (!connection->waits_for_translators)
        return false;
    if (!egress->translators_are_asked)
        lookup_start(egress->lookup, TRANSLATORS_NAME, false, &egress->translators);
    egress->translators_are_asked = true;
    return true;
}

void leads_take_translators(struct egress *egress, const struct lookup_result *result)
{
    egress->translators = (struct translators){0};
    for (size_t i = 0; i < result->count; i++)
        translators_learn(&egress->translators, &result->addresses[i]);
    egress->translators_are_asked = false;
    egress->translators_until = now_milliseconds() + TRANSLATORS_KEPT;
}
