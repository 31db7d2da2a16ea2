#include "journal/leaked.h"

#include <string.h>

DEFINE_TEXTS(leak_kind_name, enum leak_kind, LEAK_KINDS, NAME_OF)

enum leak_kind leak_kind_named(const char *name)
{
    enum leak_kind kind = LEAK_KIND_COUNT - 1;
    while (kind > LEAK_NONE && strcmp(leak_kind_name(kind), name) != 0)
        kind--;
    return kind;
}

const char *leak_what(struct arena *arena, enum leak_kind kind, const char *name)
{
    switch (kind) {
    case LEAK_KEY:
        return arena_printf(arena, "a key (%s…)", name);
    case LEAK_PRIVATE_KEY:
        return "a private key";
    case LEAK_VALUE:
        return arena_printf(arena, "the value of %s", name);
    case LEAK_TOKEN:
        return arena_printf(arena, "a token of %s", name);
    case LEAK_CANARY:
        return arena_printf(arena, "the key of the decoy %s", name);
    default:
        return "nothing";
    }
}

const char *leak_refusal(struct arena *arena, const char *host, const char *what)
{
    return arena_printf(
        arena,
        "this request to %s was stopped, on purpose: it has %s in it. Do not send it in another "
        "form. If it is not a secret, ask the person who started this run: `leak warn` in their "
        "policy lets it pass",
        host, what);
}
