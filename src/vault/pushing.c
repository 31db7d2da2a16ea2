#include "vault/pushing.h"

#include <stdlib.h>
#include <string.h>

struct pushing *pushing_begin(const struct vault_settings *settings, const struct vault_forge *forge,
                              struct bytes head)
{
    struct pushing *pushing = must_realloc(NULL, 1, sizeof(*pushing));
    *pushing = (struct pushing){0};
    buf_add(&pushing->head, head.at, head.size);
    vec_each (const struct vault_forge, other, &settings->forges) {
        if (strcmp(other->secret, forge->secret) == 0 && other->push.ref_count)
            vec_push(&pushing->rules, other->push);
    }
    return pushing;
}

void pushing_free(struct pushing *pushing)
{
    if (!pushing)
        return;
    buf_free(&pushing->head);
    buf_free(&pushing->held);
    pack_free(&pushing->pack);
    push_free(&pushing->push);
    vec_free(&pushing->rules);
    free(pushing);
}

static enum pushing_state bad(struct pushing *pushing, const char *problem)
{
    pushing->problem = problem;
    return PUSHING_BAD;
}

static bool needs_proof(const struct pushing *pushing)
{
    vec_each (const struct push_command, command, &pushing->push.commands) {
        if (command->needs_proof)
            return true;
    }
    return false;
}

/* The commands are whole and may pass if they are proven. */
static enum pushing_state prove(struct pushing *pushing, bool is_end)
{
    struct bytes held = bytes_of(pushing->held.bytes, pushing->held.size);
    bool may_go_on = pack_read(&pushing->pack, held) && !is_end && held.size < PUSHING_MOST_HELD;
    if (!needs_proof(pushing))
        return PUSHING_PASSES;
    if (may_go_on)
        return PUSHING_MORE;
    vec_each (struct push_command, command, &pushing->push.commands) {
        if (command->needs_proof)
            push_refuse_unproven(command);
    }
    return PUSHING_REFUSED;
}

/* The commands are whole. */
static enum pushing_state judge(struct pushing *pushing, bool is_end)
{
    static const char signature[] = "PACK";
    struct push *push = &pushing->push;
    struct bytes held = bytes_of(pushing->held.bytes, pushing->held.size);
    if (!pushing->is_judged) {
        push_judge(push, pushing->rules.at, pushing->rules.count);
        pack_begin(&pushing->pack, push);
        pushing->is_judged = true;
    }
    if (!push_has_pack(push) && held.size)
        return bad(pushing, "something follows commands that need no pack");
    if (!push_has_pack(push) && !is_end)
        return PUSHING_MORE;
    if (push_has_pack(push) && held.size < strlen(signature))
        return is_end ? bad(pushing, "it has no pack") : PUSHING_MORE;
    if (push_has_pack(push) && !bytes_start_with(held, signature))
        return bad(pushing, "what follows its commands is not a pack");
    if (push_is_refused(push))
        return PUSHING_REFUSED;
    return needs_proof(pushing) ? prove(pushing, is_end) : PUSHING_PASSES;
}

enum pushing_state pushing_take(struct pushing *pushing, struct bytes content, bool is_end)
{
    size_t taken = push_take(&pushing->push, content);
    if (pushing->push.state == PUSH_BAD)
        return bad(pushing, pushing->push.problem);
    if (taken < content.size)
        buf_add(&pushing->held, content.at + taken, content.size - taken);
    if (pushing->push.state == PUSH_WHOLE)
        return judge(pushing, is_end);
    return is_end ? bad(pushing, "its commands are not whole") : PUSHING_MORE;
}

void pushing_add(const struct pushing *pushing, struct buf *out, size_t *ret_taken)
{
    push_add_commands(&pushing->push, out);
    buf_add(out, pushing->held.bytes, pushing->held.size);
    *ret_taken = pushing->push.taken + pushing->held.size;
}
