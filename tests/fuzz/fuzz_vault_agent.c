/*
 * Any bytes as messages to bawn's ssh agent, each with its size before it, on one connection. Whatever front and back make of one: it survives
 * the way between them; what is signed is a login for the session that was bound last, by the key and at the host of the rule, in one
 * spelling that reads as the same login. The same bytes are a record, an answer of an agent, a host key with a signature, and a known_hosts.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "supervise/known_hosts.h"
#include "vault/agent.h"

/* Public parts as the seeds have them: a string with their kind, and one with their bytes. */
static const char user_key[] = "\0\0\0\x0bssh-ed25519\0\0\0\4user",
                  host_key[] = "\0\0\0\x0bssh-ed25519\0\0\0\4host";

static bool is_proof(struct bytes key, struct bytes signature, struct bytes signed_bytes)
{
    if (!bytes_equal(key, bytes_of(host_key, sizeof(host_key) - 1)) || !signed_bytes.size)
        abort(); /* only keys that a rule names come here */
    return signature.size == 5 && memcmp(signature.at, "proof", 5) == 0;
}

static struct agent_state begin(void)
{
    struct agent_state state = AGENT_STATE_NONE;
    struct agent_rule rule = {.name = "key"};
    sha256_hex(user_key, sizeof(user_key) - 1, rule.hash);
    vec_push(&rule.hosts, ((struct agent_host){7, bytes_of(host_key, sizeof(host_key) - 1)}));
    vec_push(&state.rules, rule);
    state.verify = is_proof;
    return state;
}

/* Both may be empty. */
static bool is_same(struct bytes one, struct bytes two)
{
    return one.size == two.size && (one.size == 0 || memcmp(one.at, two.at, one.size) == 0);
}

static void check_same(const struct agent_request *one, const struct agent_request *two)
{
    if (one->kind != two->kind || one->is_forwarding != two->is_forwarding ||
        one->is_bound_itself != two->is_bound_itself || !is_same(one->session, two->session) ||
        !is_same(one->host_key, two->host_key) || !is_same(one->signature, two->signature) ||
        !is_same(one->key, two->key) || !is_same(one->algorithm, two->algorithm) ||
        !is_same(one->user, two->user))
        abort();
}

static void check_signed(const struct agent_state *state, const struct agent_request *login,
                         const struct agent_fitting *fitting)
{
    auto_buf struct buf message = {0};
    if (fitting->count != 1 || fitting->at[0].rule != 0 || fitting->at[0].host != 7 || state->is_forwarded ||
        !is_same(login->key, bytes_of(user_key, sizeof(user_key) - 1)) ||
        !is_same(login->session, bytes_of((const char *)state->session, state->session_size)))
        abort();
    if (!agent_add_login(login, &message))
        return;
    struct agent_request again = agent_read(bytes_of(message.bytes, message.size));
    check_same(login, &again);
}

static void serve(struct agent_state *state, struct bytes message)
{
    struct agent_request request = agent_read(message), received;
    auto_buf struct buf record = {0};
    struct agent_fitting fitting;
    agent_add_record(&request, &record);
    if (!agent_read_record(bytes_of(record.bytes, record.size), &received))
        abort();
    check_same(&request, &received);
    if (received.kind == AGENT_BIND)
        agent_bind(state, &received);
    else if (received.kind == AGENT_LOGIN || received.kind == AGENT_OTHER_DATA) {
        if (agent_judge(state, &received, &fitting) == AGENT_NOT_REFUSED)
            check_signed(state, &received, &fitting);
    }
}

static void read_otherwise(struct bytes text)
{
    struct agent_request request;
    struct arena arena = {0};
    host_key_list keys = {0}, revoked = {0};
    auto_buf struct buf record = {0};
    if (agent_read_record(text, &request)) {
        agent_add_record(&request, &record);
        if (!is_same(text, bytes_of(record.bytes, record.size)))
            abort();
    }
    for (struct bytes rest = text, key; agent_take_key(&rest, &key);) {
        if (rest.size >= text.size)
            abort();
    }
    host_key_verify(bytes_of(text.at, text.size / 2), bytes_after(text, text.size / 2), bytes_of("text", 4));
    known_hosts_find(&arena, text, "git.corp", &keys, &revoked);
    vec_free(&keys);
    vec_free(&revoked);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size), rest = text;
    struct agent_state state = begin();
    while (rest.size >= 4) {
        const uint8_t *head = (const uint8_t *)rest.at;
        size_t wanted = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        rest = bytes_after(rest, 4);
        struct bytes message = bytes_of(rest.at, wanted < rest.size ? wanted : rest.size);
        rest = bytes_after(rest, message.size);
        serve(&state, message);
    }
    agent_state_free(&state);
    if (size)
        read_otherwise(text);
    return 0;
}
