#include "egress/table.h"

#include <string.h>

#include "policy/classes.h"
#include "policy/compose.h"
#include "policy/decide.h"

/* Only this distinction of origins matters here. */
static const struct source shipped = {.name = "profile", .layer = LAYER_PROFILE};
static const struct source by_a_person = {.name = "user", .layer = LAYER_USER};
static const struct source for_one = {.name = "one connection", .layer = LAYER_USER};

static void add_port(struct table *table, uint16_t port)
{
    for (size_t i = 0; i < table->ports.count; i++) {
        if (table->ports.at[i] == port)
            return;
    }
    vec_push(&table->ports, port);
}

void table_begin_asking(struct table *table)
{
    table->asks = true;
    add_port(table, PORT_HTTP);
    add_port(table, PORT_HTTPS);
}

int table_add(struct table *table, const char *verb, const char *object, bool by_person, struct err *err)
{
    bool is_once = strcmp(verb, "once") == 0;
    struct rule rule = {.verb = is_once ? VERB_CONNECT : verb_from_word(verb),
                        .source = is_once     ? &for_one
                                  : by_person ? &by_a_person
                                              : &shipped};
    const char *problem = NULL, *hint = NULL;
    if (rule.verb == VERB_HOST_PORT) {
        uint16_t port;
        if (!port_parse(object, &port))
            return err_set(err, "%s is not a port", object);
        vec_push(&table->host_ports, port);
        return 0;
    }
    if (verb_object(rule.verb) != OBJECT_HOST)
        return err_set(err, "%s is not about a host", verb);
    int result = rule.verb == VERB_CONNECT
                     ? host_parse_target(&table->arena, object, &rule.host, &problem, &hint)
                     : host_parse(&table->arena, object, &rule.host, &problem, &hint);
    if (result < 0)
        return err_set(err, "%s: %s", object, problem);
    vec_push(&table->policy.rules, rule);
    if (rule.verb == VERB_CONNECT)
        add_port(table, rule.host.port);
    return 0;
}

/* The old index stays in the arena. It is small, and a person adds rules one by one. */
void table_index(struct table *table)
{
    table->policy.arena = &table->arena;
    map_free(&table->policy.by_host);
    table->policy.by_host = (struct map){0};
    table->policy.by_address = NULL;
    index_rules(&table->policy);
}

bool table_allows(const struct table *table, const struct host_object *host, uint16_t port,
                  struct rule *ret_rule)
{
    const struct rule *rule = decide_host(&table->policy, host, port, NULL).decides;
    if (!rule || rule->verb != VERB_CONNECT)
        return false;
    if (ret_rule)
        *ret_rule = *rule;
    return true;
}

bool table_spend(struct table *table, const struct rule *used)
{
    rule_list *rules = &table->policy.rules;
    for (size_t i = 0; used->source == &for_one && i < rules->count; i++) {
        const struct rule *rule = &rules->at[i];
        if (rule->source != &for_one || rule->host.port != used->host.port ||
            !host_covers(&rule->host, &used->host) || !host_covers(&used->host, &rule->host))
            continue;
        memmove(&rules->at[i], &rules->at[i + 1], (--rules->count - i) * sizeof(*rule));
        table_index(table);
        return true;
    }
    return false;
}

bool table_asks(const struct table *table, const struct host_object *host, uint16_t port)
{
    return table->asks && host->kind == HOST_NAME && !decide_host(&table->policy, host, port, NULL).decides;
}

bool table_refuses(const struct table *table, const struct endpoint *address, uint16_t port)
{
    struct host_object host = table_address(address);
    const struct rule *rule = decide_host(&table->policy, &host, port, NULL).decides;
    return rule && rule->verb == VERB_REFUSE;
}

bool table_trusts_name(const struct rule *rule)
{
    return rule->source->layer == LAYER_USER && rule->host.kind == HOST_NAME;
}

bool table_is_host_port(const struct table *table, const struct endpoint *endpoint)
{
    if (address_classify(endpoint) != ADDRESS_LOOPBACK)
        return false;
    for (size_t i = 0; i < table->host_ports.count; i++) {
        if (table->host_ports.at[i] == endpoint->port)
            return true;
    }
    return false;
}

struct host_object table_address(const struct endpoint *endpoint)
{
    struct host_object host = {.kind = HOST_ADDRESS, .prefix = 128, .port = endpoint->port};
    memcpy(host.address, endpoint->address, sizeof(host.address));
    return host;
}

void table_free(struct table *table)
{
    map_free(&table->policy.by_host);
    vec_free(&table->policy.rules);
    vec_free(&table->ports);
    vec_free(&table->host_ports);
    arena_free(&table->arena);
}
