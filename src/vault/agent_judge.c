#include <string.h>

#include "base/names.h"
#include "base/ssh_proof.h"
#include "vault/agent.h"

const char *agent_refusal_word(enum agent_refusal refusal)
{
    static const char *const words[] = {
#define X(id, word) [id] = word,
        AGENT_REFUSALS(X)
#undef X
    };
    return words[refusal];
}

static bool is_for_key(const struct agent_rule *rule, struct bytes key)
{
    char hash[SHA256_HEX_SIZE];
    if (!bytes_known(key))
        return false;
    sha256_hex(key.at, key.size, hash);
    return strcmp(hash, rule->hash) == 0;
}

static bool has_host(const struct agent_rule *rule, struct bytes host_key)
{
    vec_each (const struct agent_host, host, &rule->hosts) {
        if (bytes_equal(host->key, host_key))
            return true;
    }
    return false;
}

const struct agent_rule *agent_find_rule(const struct agent_state *state, struct bytes key)
{
    vec_each (const struct agent_rule, rule, &state->rules) {
        if (is_for_key(rule, key))
            return rule;
    }
    return NULL;
}

/* Only keys that a rule names come to the cryptography: they are the user's own known hosts. */
static enum agent_refusal judge_host(const struct agent_state *state, const struct agent_request *request)
{
    bool is_named = false;
    vec_each (const struct agent_rule, rule, &state->rules)
        is_named |= has_host(rule, request->host_key);
    if (!is_named)
        return AGENT_STRANGE;
    return state->verify(request->host_key, request->signature, request->session) ? AGENT_NOT_REFUSED
                                                                                  : AGENT_FORGED;
}

bool agent_bind(struct agent_state *state, const struct agent_request *request)
{
    state->is_forwarded |= request->is_forwarding || ++state->bindings > AGENT_MOST_BINDINGS;
    state->session_size = state->host_key.size = 0;
    if (state->is_forwarded || request->session.size > sizeof(state->session)) {
        state->bound = AGENT_FORWARDED;
        return false;
    }
    state->bound = judge_host(state, request);
    if (state->bound != AGENT_NOT_REFUSED)
        return false;
    memcpy(state->session, request->session.at, request->session.size);
    state->session_size = request->session.size;
    buf_add(&state->host_key, request->host_key.at, request->host_key.size);
    ssh_proof_mark(request->host_key, request->signature, state->proof);
    return true;
}

/* Adds the hosts of a rule that have this key. Returns false if there are too many. */
static bool add_fitting(const struct agent_state *state, size_t number, struct bytes host_key,
                        struct agent_fitting *fitting)
{
    const struct agent_rule *rule = &state->rules.at[number];
    vec_each (const struct agent_host, host, &rule->hosts) {
        struct agent_fit fit = {(unsigned)number, host->number};
        const struct agent_fit *last = fitting->count ? &fitting->at[fitting->count - 1] : NULL;
        if (!bytes_equal(host->key, host_key) || (last && last->rule == fit.rule && last->host == fit.host))
            continue; /* known_hosts may have a key twice */
        if (fitting->count == AGENT_MOST_FITTING)
            return false;
        fitting->at[fitting->count++] = fit;
    }
    return true;
}

enum agent_refusal agent_judge(const struct agent_state *state, const struct agent_request *login,
                               struct agent_fitting *ret_fitting)
{
    struct bytes host_key = bytes_of(state->host_key.bytes, state->host_key.size),
                 session = bytes_of((const char *)state->session, state->session_size);
    ret_fitting->count = 0;
    if (!agent_find_rule(state, login->key))
        return AGENT_OTHER_KEY;
    if (login->kind != AGENT_LOGIN)
        return AGENT_NO_LOGIN;
    if (state->bound != AGENT_NOT_REFUSED)
        return state->bound;
    if (!bytes_equal(session, login->session) ||
        (login->is_bound_itself && !bytes_equal(host_key, login->host_key)))
        return AGENT_OTHER_SESSION;
    for (size_t i = 0; i < state->rules.count; i++) {
        if (is_for_key(&state->rules.at[i], login->key) && !add_fitting(state, i, host_key, ret_fitting))
            return AGENT_TOO_MANY;
    }
    return ret_fitting->count ? AGENT_NOT_REFUSED : AGENT_STRANGE;
}

void agent_state_free(struct agent_state *state)
{
    vec_each (struct agent_rule, rule, &state->rules)
        vec_free(&rule->hosts);
    vec_free(&state->rules);
    buf_free(&state->host_key);
}
