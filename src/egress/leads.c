#include "egress/leads.h"

#include <stdio.h>
#include <string.h>

#include "kernel/loopback.h"
#include "kernel/poller.h"

/* Milliseconds for which an answer is used again: the kernel's about an address, the resolver's about NAT64. */
enum { ROUTES_KEPT = 1000, TRANSLATORS_KEPT = 60000 };

/* Is it an address of this machine? If the kernel cannot be asked, every address is treated as one. */
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

static enum address_class class_of(struct leads *leads, const struct endpoint *address)
{
    enum address_class class = address_classify(address);
    bool may_be_own = class == ADDRESS_PUBLIC || class == ADDRESS_PRIVATE;
    return may_be_own && is_here(&leads->routes, address) ? ADDRESS_OWN : class;
}

/* ADDRESS_CLASSES is ordered: the most special class is the smallest number. */
enum address_class leads_class(struct leads *leads, const struct endpoint *address)
{
    struct endpoint inner[ADDRESS_MOST_INNER];
    size_t count = address_inner(address, &leads->translators, inner);
    enum address_class most_special = class_of(leads, address);
    for (size_t i = 0; i < count; i++) {
        enum address_class class = class_of(leads, &inner[i]);
        if (class < most_special)
            most_special = class;
    }
    return most_special;
}

bool leads_to_refused(const struct leads *leads, const struct endpoint *address, uint16_t port)
{
    struct endpoint inner[ADDRESS_MOST_INNER];
    size_t count = address_inner(address, &leads->translators, inner);
    bool is_refused = table_refuses(leads->table, address, port);
    for (size_t i = 0; i < count; i++)
        is_refused |= table_refuses(leads->table, &inner[i], port);
    return is_refused;
}

static bool is_permitted(struct leads *leads, const struct rule *rule, uint16_t port,
                         const struct endpoint *address, char ret_sentence[LEADS_SENTENCE_SIZE])
{
    enum address_class class = leads_class(leads, address);
    if (class != ADDRESS_PUBLIC && !(class == ADDRESS_PRIVATE && table_trusts_name(rule))) {
        snprintf(ret_sentence, LEADS_SENTENCE_SIZE, "its name resolves to %s, and %s",
                 address_class_text(class),
                 class == ADDRESS_PRIVATE ? "only your own rule for exactly that name allows it"
                                          : "only a rule for the address itself allows it");
        return false;
    }
    if (leads_to_refused(leads, address, port)) {
        char text[ENDPOINT_TEXT_SIZE];
        endpoint_text(address, text);
        snprintf(ret_sentence, LEADS_SENTENCE_SIZE, "its name resolves to %s, which a rule refuses", text);
        return false;
    }
    return true;
}

void leads_keep_permitted(struct leads *leads, const struct rule *rule, uint16_t port,
                          struct lookup_result *addresses, char ret_sentence[LEADS_SENTENCE_SIZE])
{
    size_t kept = 0;
    for (size_t i = 0; i < addresses->count; i++) {
        if (is_permitted(leads, rule, port, &addresses->addresses[i], ret_sentence))
            addresses->addresses[kept++] = addresses->addresses[i];
    }
    addresses->count = kept;
}

bool leads_must_wait(struct leads *leads, const struct endpoint *addresses, size_t count)
{
    bool may_be_translated = false;
    for (size_t i = 0; i < count; i++)
        may_be_translated |= !endpoint_is_v4(&addresses[i]);
    if (!may_be_translated || leads->translators_until > now_milliseconds())
        return false;
    if (!leads->translators_are_asked)
        lookup_start(leads->lookup, TRANSLATORS_NAME, false, leads);
    leads->translators_are_asked = true;
    return true;
}

void leads_take_translators(struct leads *leads, const struct lookup_result *result)
{
    leads->translators = (struct translators){0};
    for (size_t i = 0; i < result->count; i++)
        translators_learn(&leads->translators, &result->addresses[i]);
    leads->translators_are_asked = false;
    leads->translators_until = now_milliseconds() + TRANSLATORS_KEPT;
}
