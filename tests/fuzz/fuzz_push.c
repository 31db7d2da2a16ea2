/*
 * Any bytes as a push: read whole or in pieces it is the same, what passes is read again as the same commands, and no ref passes that the
 * rule does not cover. The same bytes as a proof of ancestry prove nothing about hashes that they cannot have.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "git/push.h"

static size_t read_all(struct push *push, struct bytes text, size_t piece)
{
    size_t at = 0;
    *push = (struct push){0};
    while (at < text.size && push->state == PUSH_MORE)
        at += push_take(push, bytes_of(text.at + at, text.size - at < piece ? text.size - at : piece));
    return at;
}

static void check_judged(struct push *push)
{
    static const char *const refs[] = {"refs/heads/agent/*"};
    const struct push_rule rule = {.refs = refs, .ref_count = 1};
    auto_buf struct buf refusal = {0};
    push_judge(push, &rule, 1);
    vec_each (const struct push_command, command, &push->commands) {
        bool is_ours = strncmp(command->ref, "refs/heads/agent/", 17) == 0 && !strchr(command->ref + 17, '/');
        if (!command->refusal && (!is_ours || command->kind == PUSH_DELETE))
            abort();
    }
    push_add_refusal(push, &refusal);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size);
    struct push whole, pieces, again;
    auto_buf struct buf first = {0}, second = {0}, third = {0};
    size_t end = read_all(&whole, text, size ? size : 1), other_end = read_all(&pieces, text, 3);
    if (end != other_end || whole.state != pieces.state || whole.commands.count != pieces.commands.count)
        abort();
    if (whole.state == PUSH_WHOLE && whole.commands.count) {
        push_add_commands(&whole, &first);
        push_add_commands(&pieces, &second);
        read_all(&again, bytes_of(first.bytes, first.size), first.size);
        if (again.state != PUSH_WHOLE)
            abort();
        push_add_commands(&again, &third);
        if (first.size != second.size || first.size != third.size ||
            memcmp(first.bytes, second.bytes, first.size) != 0 ||
            memcmp(first.bytes, third.bytes, first.size) != 0)
            abort();
        check_judged(&whole);
        push_free(&again);
    }
    push_free(&whole);
    push_free(&pieces);
    struct ancestry ancestry;
    struct push_command command = {.before = {"1111111111111111111111111111111111111111"},
                                   .after = {"2222222222222222222222222222222222222222"}};
    ancestry_begin(&ancestry, &command);
    ancestry_take(&ancestry, text);
    if (ancestry.is_proven)
        abort();
    ancestry_free(&ancestry);
    return 0;
}
