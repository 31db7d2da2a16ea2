#include "cli/summary.h"

#include <string.h>

#include "base/text.h"
#include "cli/style.h"

enum { MOST_SHOWN = 12 };

/* "other.test", "other.test:22": what `bawn allow` takes. Where the name alone was asked for, https is the guess. */
static const char *object_of(struct arena *arena, const struct refused_host *refused)
{
    bool is_plain = refused->port == 0 || refused->port == PORT_HTTPS;
    return is_plain ? refused->host : host_with_port(arena, refused->host, refused->port);
}

/* Only a name that is on no list is opened by a rule for that name; other reasons say themselves what would help. */
static bool is_opened_by_name(const struct refused_host *refused)
{
    return *refused->host && strstr(refused->sentence, "is not on the list");
}

void say_refused(const struct world *world, const struct network *network)
{
    if (!world->err_is_terminal || network->refused.count == 0)
        return;
    struct arena arena = {0};
    auto_buf struct buf out = {0};
    auto_buf struct buf line = {0};
    buf_add_str(&out, "bawn: not reached, because no rule allows it:\n");
    for (size_t i = 0; i < network->refused.count; i++) {
        const struct refused_host *refused = &network->refused.at[i];
        const char *object = object_of(&arena, refused);
        if (is_opened_by_name(refused)) {
            buf_add_char(&line, ' ');
            text_add_printable(&line, object, strlen(object));
        }
        if (i >= MOST_SHOWN)
            continue;
        buf_add_str(&out, "  ");
        text_add_printable(&out, object, strlen(object));
        buf_add_str(&out, *object ? " " : "");
        text_add_printable(&out, refused->sentence, strlen(refused->sentence));
        buf_add_char(&out, '\n');
    }
    if (network->refused_in_all > MOST_SHOWN)
        buf_printf(&out, "  and %zu more: see the session's journal\n", network->refused_in_all - MOST_SHOWN);
    if (line.size)
        buf_printf(&out, "To allow these from now on: bawn allow --always%s\n", buf_text(&line));
    put(world->err, &out);
    arena_free(&arena);
}
