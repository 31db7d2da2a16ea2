/*
 * Any bytes as the content of a push over https: in one piece or in many it has the same fate; what passes is what was sent, in one
 * spelling, and has no ref that the rule does not cover, no deletion, and no update.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vault/pushing.h"

static struct vault_settings *settings(void)
{
    static const char *const refs[] = {"refs/heads/agent/*"};
    static struct vault_settings kept;
    if (!kept.forges.count)
        vec_push(&kept.forges, ((struct vault_forge){.secret = "r", .push = {.refs = refs, .ref_count = 1}}));
    return &kept;
}

static enum pushing_state read_push(struct bytes text, size_t piece, struct pushing **ret_pushing)
{
    struct pushing *pushing = pushing_begin(settings(), &settings()->forges.at[0], bytes_of("", 0));
    enum pushing_state state = PUSHING_MORE;
    for (size_t at = 0; state == PUSHING_MORE && (at < text.size || at == 0); at += piece) {
        size_t left = text.size - at;
        state = pushing_take(pushing, bytes_of(text.at + at, left < piece ? left : piece), left <= piece);
    }
    *ret_pushing = pushing;
    return state;
}

static void check_passed(const struct pushing *pushing, struct bytes text)
{
    auto_buf struct buf sent = {0};
    size_t taken = 0;
    struct push again = {0};
    pushing_add(pushing, &sent, &taken);
    if (taken > text.size)
        abort();
    vec_each (const struct push_command, command, &pushing->push.commands) {
        bool is_ours = strncmp(command->ref, "refs/heads/agent/", 17) == 0 && !strchr(command->ref + 17, '/');
        bool is_same = strcmp(command->before.digits, command->after.digits) == 0;
        if (!is_ours || (command->kind != PUSH_CREATE && !is_same))
            abort();
    }
    size_t commands = push_take(&again, bytes_of(sent.bytes, sent.size));
    if (again.state != PUSH_WHOLE || again.commands.count != pushing->push.commands.count ||
        (push_has_pack(&again) && memcmp(sent.bytes + commands, "PACK", 4) != 0) ||
        (!push_has_pack(&again) && commands != sent.size))
        abort();
    push_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size);
    struct pushing *whole, *pieces;
    enum pushing_state state = read_push(text, size ? size : 1, &whole), other = read_push(text, 5, &pieces);
    if (state == PUSHING_MORE || state != other)
        abort();
    if (state == PUSHING_PASSES) {
        check_passed(whole, text);
        check_passed(pieces, text);
    }
    pushing_free(whole);
    pushing_free(pieces);
    return 0;
}
