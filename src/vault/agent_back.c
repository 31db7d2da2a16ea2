/* The back of one connection to bawn's ssh agent: it decides, and only it speaks with the user's agent. */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/text.h"
#include "vault/agent.h"
#include "vault/vault.h"

enum {
    LARGEST_SETTINGS = 4 << 20,
    PATIENCE = 120, /* seconds: the user's agent may ask for a touch or a passphrase */
    MOST_KEYS = 4096,
    LONGEST_TOLD = 1000, /* bawn takes 1024 */
};

struct back {
    struct arena arena;
    struct agent_state state;
    int link_fd, front_fd, agent_fd;
};

/* --- settings ----------------------------------------------------------------------------------------------------- */

static int take_host(struct back *back, char *rest, struct err *err)
{
    const char *number_text = strsep(&rest, " ");
    uint64_t number;
    auto_buf struct buf key = {0};
    if (!back->state.rules.count || !rest || !text_take_number(&number_text, &number) ||
        number > UINT16_MAX || !base64_decode(&key, bytes_of(rest, strlen(rest))))
        return err_set(err, "a host needs a number and a key");
    struct agent_rule *rule = &back->state.rules.at[back->state.rules.count - 1];
    vec_push(&rule->hosts,
             ((struct agent_host){(unsigned)number,
                                  bytes_of(arena_copy(&back->arena, key.bytes, key.size), key.size)}));
    return 0;
}

static int read_settings(struct back *back, int settings_fd, struct err *err)
{
    auto_fd int owned = settings_fd;
    auto_buf struct buf text = {0};
    if (buf_read(&text, owned, LARGEST_SETTINGS) < 0 || !text.size)
        return err_sys(err, errno, "cannot read the settings");
    char *rest = text.bytes;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const char *verb = strsep(&line, " ");
        if (strcmp(verb, "host") == 0 && line && take_host(back, line, err) < 0)
            return -1;
        if (strcmp(verb, "rule") != 0 || !line)
            continue;
        struct agent_rule rule = {0};
        snprintf(rule.hash, sizeof(rule.hash), "%s", strsep(&line, " "));
        rule.name = arena_str(&back->arena, line ? line : "");
        vec_push(&back->state.rules, rule);
    }
    return 0;
}

/* --- what bawn is told and asked ---------------------------------------------------------------------------------- */

static void tell_refused(const struct back *back, enum agent_refusal refusal,
                         const struct agent_request *request)
{
    char line[LONGEST_TOLD];
    const struct agent_rule *rule = agent_find_rule(&back->state, request->key);
    char number[16] = "-";
    if (rule)
        snprintf(number, sizeof(number), "%zu", (size_t)(rule - back->state.rules.at));
    int size = snprintf(line, sizeof(line), "refused %s %s %.*s", agent_refusal_word(refusal), number,
                        (int)request->user.size, request->user.size ? request->user.at : "");
    if (send(back->link_fd, line, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* a record is lost, and nothing else */
}

/* bawn counts, and may ask a person: it takes as long as it takes. */
static bool is_permitted(const struct back *back, const struct agent_fitting *fitting,
                         const struct agent_request *login)
{
    char answer[8] = "";
    auto_buf struct buf line = {0};
    buf_printf(&line, "sign %.*s %s", (int)login->user.size, login->user.at, back->state.proof);
    for (size_t i = 0; i < fitting->count; i++)
        buf_printf(&line, " %u %u", fitting->at[i].rule, fitting->at[i].host);
    if (line.size > LONGEST_TOLD || send(back->link_fd, line.bytes, line.size, MSG_NOSIGNAL) < 0)
        return false;
    ssize_t got;
    do {
        got = recv(back->link_fd, answer, sizeof(answer) - 1, 0);
    } while (got < 0 && errno == EINTR);
    return got > 0 && strcmp(answer, "yes") == 0;
}

/* --- the user's agent --------------------------------------------------------------------------------------------- */

/* Asks the user's agent. False: it gave no such answer. */
static bool ask_agent(const struct back *back, struct bytes request, char kind, struct buf *ret_answer)
{
    return agent_send(back->agent_fd, request) && agent_receive(back->agent_fd, ret_answer) &&
           ret_answer->size > 0 && ret_answer->bytes[0] == kind;
}

static void add_number(struct buf *out, uint32_t number)
{
    number = htonl(number);
    buf_add(out, (const char *)&number, sizeof(number));
}

/* The keys that rules name, with the names that the rules have for them. */
static void list_keys(const struct back *back, struct buf *reply)
{
    const char request = AGENT_REQUEST_IDENTITIES;
    auto_buf struct buf answer = {0}, keys = {0};
    uint32_t count = 0, left = 0;
    struct bytes rest = {0}, key;
    if (ask_agent(back, bytes_of(&request, 1), AGENT_IDENTITIES_ANSWER, &answer) && answer.size >= 5) {
        memcpy(&left, answer.bytes + 1, sizeof(left));
        left = ntohl(left);
        rest = bytes_of(answer.bytes + 5, answer.size - 5);
    }
    for (; left > 0 && left <= MOST_KEYS && agent_take_key(&rest, &key); left--) {
        const struct agent_rule *rule = agent_find_rule(&back->state, key);
        if (!rule)
            continue;
        agent_add_string(&keys, key);
        agent_add_string(&keys, bytes_of(rule->name, strlen(rule->name)));
        count++;
    }
    buf_add_char(reply, AGENT_IDENTITIES_ANSWER);
    add_number(reply, count);
    if (keys.size)
        buf_add(reply, keys.bytes, keys.size);
}

/* Is it a signature, and nothing more? */
static bool is_signature(const struct buf *answer)
{
    uint32_t size;
    if (answer->size < 1 + sizeof(size))
        return false;
    memcpy(&size, answer->bytes + 1, sizeof(size));
    return answer->size - 1 - sizeof(size) == ntohl(size);
}

static enum agent_refusal sign(const struct back *back, const struct agent_request *login, struct buf *reply)
{
    struct agent_fitting fitting;
    auto_buf struct buf request = {0};
    enum agent_refusal refusal = agent_judge(&back->state, login, &fitting);
    if (refusal != AGENT_NOT_REFUSED)
        return refusal;
    if (!agent_add_login(login, &request))
        return AGENT_WEAK;
    if (!is_permitted(back, &fitting, login)) {
        buf_add_char(reply, AGENT_FAILURE); /* bawn knows why */
        return AGENT_NOT_REFUSED;
    }
    if (!ask_agent(back, bytes_of(request.bytes, request.size), AGENT_SIGN_RESPONSE, reply) ||
        !is_signature(reply)) {
        reply->size = 0;
        return AGENT_UNANSWERED;
    }
    return AGENT_NOT_REFUSED;
}

/* --- the front ---------------------------------------------------------------------------------------------------- */

static bool serve(struct back *back)
{
    auto_buf struct buf record = {0}, reply = {0};
    struct agent_request request;
    if (!agent_receive(back->front_fd, &record) ||
        !agent_read_record(bytes_of(record.bytes, record.size), &request))
        return false;
    enum agent_refusal refusal = AGENT_NOT_REFUSED;
    if (request.kind == AGENT_LIST)
        list_keys(back, &reply);
    else if (request.kind == AGENT_BIND)
        buf_add_char(&reply, agent_bind(&back->state, &request) ? AGENT_SUCCESS : AGENT_FAILURE);
    else if (request.kind == AGENT_LOGIN || request.kind == AGENT_OTHER_DATA)
        refusal = sign(back, &request, &reply);
    if (refusal != AGENT_NOT_REFUSED)
        tell_refused(back, refusal, &request);
    if (!reply.size)
        buf_add_char(&reply, AGENT_FAILURE);
    return agent_send(back->front_fd, bytes_of(reply.bytes, reply.size));
}

int agent_back_run(int settings_fd, int link_fd, int front_fd, int agent_fd)
{
    static struct back back;
    struct err err = {0};
    struct timeval patience = {.tv_sec = PATIENCE};
    back = (struct back){
        .state = AGENT_STATE_NONE, .link_fd = link_fd, .front_fd = front_fd, .agent_fd = agent_fd};
    back.state.verify = host_key_verify;
    /* Its configuration could load code, and behind the walls it could not be read. */
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1 ||
        read_settings(&back, settings_fd, &err) < 0 ||
        setsockopt(agent_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(agent_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
        confine(false, &err) < 0)
        return 1;
    while (serve(&back)) {
    }
    return 0;
}
