/*
 * Any bytes as a form of the page, as a message to the actor, and as text on the page: a form has no field with a NUL, no message gives the verb a
 * flag that is not in the table, and what comes out of the writer has no markup.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "web/visit.h"

static void check_act(const uint8_t *bytes, size_t size)
{
    auto_arena struct arena arena = {0};
    struct act_order order = {0};
    struct err err = {0};
    static const char *const flags[] = {
        "--json",   "--from",   "-",       "--yes",   "--session", "--always", "--all",  "--",
        "--report", "--follow", "--agent", "--use",   "--read",    "--write",  "--hide", "--connect",
        "--refuse", "--env",    "--net",   "--limit", "--secrets", "--require"};
    if (act_parse(&arena, (const char *)bytes, size, &order, &err) < 0) {
        if (!*err.message)
            abort();
        return;
    }
    for (size_t i = 0; i < order.words.count; i++) {
        bool is_known = order.words.at[i][0] != '-';
        for (size_t j = 0; j < array_len(flags); j++)
            is_known |= strcmp(order.words.at[i], flags[j]) == 0;
        if (!is_known)
            abort();
    }
    if (order.directory && *order.directory != '/')
        abort();
    if (order.session && (strchr(order.session, '/') || *order.session == '.'))
        abort();
    act_order_free(&order);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    auto_arena struct arena arena = {0};
    auto_vec form_list fields = {0};
    auto_html struct html page = {0};
    form_parse(&arena, (const char *)bytes, size, &fields);
    vec_each (const struct form_field, field, &fields)
        html_add(&page, "%s%s", field->name, field->value);
    html_add_bytes(&page, (const char *)bytes, size);
    if (strpbrk(buf_text(&page.out), "<>\"'") || strlen(buf_text(&page.out)) != page.out.size)
        abort();
    check_act(bytes, size);
    return 0;
}
