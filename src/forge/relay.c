#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fd.h"
#include "forge/forge.h"

enum {
    LARGEST_HELD = 8 * 1024 * 1024,   /* bytes of a pack that wait for a proof */
    LARGEST_PROOF = 64 * 1024 * 1024, /* of one update */
    MOST_SAID = 64 * 1024,            /* bytes of ssh's standard error */
};

enum stage {
    STAGE_FETCH,
    STAGE_READING,
    STAGE_PROVING,
    STAGE_PASSING,
    STAGE_REFUSING,
};

struct relay {
    const struct forge_settings *settings;
    struct forge_ends *ends;
    enum stage stage;
    struct push push;
    struct push_command *proving;
    struct ancestry ancestry;
    size_t proof_size;
    struct buf incoming; /* from the client, not yet a whole record */
    struct buf held;     /* what follows the commands, until they are judged */
    struct relayed_queue to_client, to_ssh;
    size_t said;
    bool client_ended; /* git sends nothing more */
    bool ssh_is_done;  /* nothing more is to be sent to the server */
    bool server_spoke; /* it has sent at least one byte */
    bool is_over;      /* the last record is in the queue */
};

/* --- what the client and the supervisor are told ------------------------------------------------------------------ */

static void finish(struct relay *relay, bool is_fine)
{
    const char status = is_fine ? '0' : '1';
    if (!relay->is_over)
        relayed_add(&relay->to_client.bytes, RELAYED_END, bytes_of(&status, 1));
    relay->is_over = true;
}

static void say(struct relay *relay, const char *sentence)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "bawn: %s\n", sentence);
    relayed_add(&relay->to_client.bytes, RELAYED_SAID, bytes_of(text.bytes, text.size));
}

/* A line for the journal. If the supervisor does not read, the line is lost and not the connection. */
static void tell(const struct relay *relay, const struct push_command *command, const char *what)
{
    char line[1024];
    int size = snprintf(line, sizeof(line), "%s %s %s %s", what, command->before.digits,
                        command->after.digits, command->ref);
    if (size > 0 && (size_t)size < sizeof(line) &&
        send(relay->ends->link, line, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return;
}

/* --- a push ------------------------------------------------------------------------------------------------------- */

static void answer_refused(struct relay *relay)
{
    auto_buf struct buf answer = {0};
    push_add_refusal(&relay->push, &answer);
    if (answer.size)
        relayed_add(&relay->to_client.bytes, RELAYED_BYTES, bytes_of(answer.bytes, answer.size));
    else
        say(relay, "refused this push: nothing of it was sent");
    finish(relay, true);
}

/* Once git has sent everything, it reads the answer. */
static void refuse(struct relay *relay)
{
    relay->stage = STAGE_REFUSING;
    relay->held.size = 0;
    pkt_add_flush(&relay->to_ssh.bytes); /* an empty list of commands */
    relay->ssh_is_done = true;
    vec_each (const struct push_command, command, &relay->push.commands)
        tell(relay, command, "refused");
    if (relay->client_ended || !push_has_pack(&relay->push))
        answer_refused(relay);
}

static void pass(struct relay *relay)
{
    relay->stage = STAGE_PASSING;
    push_add_commands(&relay->push, &relay->to_ssh.bytes);
    if (push_has_pack(&relay->push))
        buf_add(&relay->to_ssh.bytes, relay->held.bytes, relay->held.size);
    relay->held.size = 0;
    relay->ssh_is_done = relay->client_ended;
    vec_each (const struct push_command, command, &relay->push.commands)
        tell(relay, command, "pushed");
}

/* Asks for the next proof, or comes to a verdict. */
static void go_on(struct relay *relay)
{
    vec_each (struct push_command, command, &relay->push.commands) {
        if (!command->needs_proof || push_is_refused(&relay->push))
            continue;
        auto_buf struct buf asked = {0};
        buf_printf(&asked, "%s %s", command->before.digits, command->after.digits);
        relayed_add(&relay->to_client.bytes, RELAYED_PROVE, bytes_of(asked.bytes, asked.size));
        ancestry_begin(&relay->ancestry, command);
        relay->proving = command;
        relay->proof_size = 0;
        relay->stage = STAGE_PROVING;
        return;
    }
    if (push_is_refused(&relay->push))
        refuse(relay);
    else
        pass(relay);
}

static void take_proof(struct relay *relay, struct bytes content)
{
    relay->proof_size += content.size;
    if (content.size && relay->proof_size <= LARGEST_PROOF) {
        ancestry_take(&relay->ancestry, content);
        return;
    }
    relay->proving->needs_proof = false;
    if (!relay->ancestry.is_proven)
        push_refuse_unproven(relay->proving);
    ancestry_free(&relay->ancestry);
    relay->proving = NULL;
    go_on(relay);
}

static void take_commands(struct relay *relay, struct bytes content)
{
    content = bytes_after(content, push_take(&relay->push, content));
    if (content.size)
        buf_add(&relay->held, content.at, content.size);
    if (relay->push.state == PUSH_MORE)
        return;
    if (relay->push.state == PUSH_BAD) {
        auto_buf struct buf sentence = {0};
        buf_printf(&sentence, "refused this push: %s", relay->push.problem);
        say(relay, buf_text(&sentence));
        finish(relay, false);
        return;
    }
    push_judge(&relay->push, relay->settings->rules.at, relay->settings->rules.count);
    go_on(relay);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static bool take_bytes(struct relay *relay, struct bytes content)
{
    if (relay->client_ended)
        return false;
    switch (relay->stage) {
    case STAGE_READING:
        take_commands(relay, content);
        return true;
    case STAGE_PROVING:
        buf_add(&relay->held, content.at, content.size);
        return relay->held.size <= LARGEST_HELD;
    case STAGE_PASSING:
        if (!push_has_pack(&relay->push))
            return true; /* nothing belongs there */
        break;
    case STAGE_REFUSING:
        return true;
    case STAGE_FETCH:
        break;
    }
    buf_add(&relay->to_ssh.bytes, content.at, content.size);
    return true;
}

static void take_end(struct relay *relay)
{
    relay->client_ended = true;
    if (relay->stage == STAGE_REFUSING)
        answer_refused(relay);
    else if (relay->stage != STAGE_PROVING)
        relay->ssh_is_done = true;
}

/* Returns false if the record is out of turn. */
static bool take_record(struct relay *relay, enum relayed_kind kind, struct bytes content)
{
    switch (kind) {
    case RELAYED_BYTES:
        return take_bytes(relay, content);
    case RELAYED_END:
        take_end(relay);
        return true;
    case RELAYED_PROOF:
        if (relay->stage != STAGE_PROVING)
            return false;
        take_proof(relay, content);
        return true;
    case RELAYED_PROVE:
    case RELAYED_SAID:
        return false;
    }
    return false;
}

/* Returns false if the client is gone, or says what it must not. */
static bool read_client(struct relay *relay)
{
    int got = relayed_read(relay->ends->client, &relay->incoming);
    if (got <= 0)
        return got < 0;
    struct bytes rest = bytes_of(relay->incoming.bytes, relay->incoming.size), content;
    enum relayed_kind kind;
    enum relayed_state state;
    while ((state = relayed_take(&rest, &kind, &content)) == RELAYED_TAKEN && !relay->is_over) {
        if (!take_record(relay, kind, content))
            return false;
    }
    relayed_drop(&relay->incoming, relay->incoming.size - rest.size);
    return state != RELAYED_BAD;
}

/* The server's bytes are for git, but not after the push was refused. */
static void read_server(struct relay *relay)
{
    auto_buf struct buf bytes = {0};
    int got = relayed_read(relay->ends->from_ssh, &bytes);
    if (got > 0 && relay->stage != STAGE_REFUSING) {
        relay->server_spoke = true;
        relayed_add(&relay->to_client.bytes, RELAYED_BYTES, bytes_of(bytes.bytes, bytes.size));
    }
    if (got != 0)
        return;
    fd_close(relay->ends->from_ssh);
    relay->ends->from_ssh = -1;
    if (relay->stage != STAGE_REFUSING)
        finish(relay, relay->server_spoke);
}

static void read_said(struct relay *relay)
{
    auto_buf struct buf bytes = {0};
    int got = relayed_read(relay->ends->ssh_says, &bytes);
    relay->said += bytes.size;
    if (got > 0 && relay->said <= MOST_SAID)
        relayed_add(&relay->to_client.bytes, RELAYED_SAID, bytes_of(bytes.bytes, bytes.size));
    if (got != 0)
        return;
    fd_close(relay->ends->ssh_says);
    relay->ends->ssh_says = -1;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

enum { CLIENT, TO_SSH, FROM_SSH, SSH_SAYS, ENDS };

static void fill_polls(const struct relay *relay, struct pollfd polls[ENDS])
{
    const struct forge_ends *ends = relay->ends;
    bool client_has_room = relayed_waiting(&relay->to_client) < RELAYED_QUEUE;
    bool reads = relayed_waiting(&relay->to_ssh) < RELAYED_QUEUE && !relay->is_over;
    polls[CLIENT] = (struct pollfd){.fd = ends->client, .events = reads ? POLLIN : 0};
    if (relayed_waiting(&relay->to_client))
        polls[CLIENT].events |= POLLOUT;
    polls[TO_SSH] =
        (struct pollfd){.fd = relayed_waiting(&relay->to_ssh) ? ends->to_ssh : -1, .events = POLLOUT};
    polls[FROM_SSH] = (struct pollfd){.fd = client_has_room ? ends->from_ssh : -1, .events = POLLIN};
    polls[SSH_SAYS] = (struct pollfd){.fd = client_has_room ? ends->ssh_says : -1, .events = POLLIN};
}

static void write_ssh(struct relay *relay)
{
    if (relayed_send(&relay->to_ssh, relay->ends->to_ssh, PIPE_BUF) < 0) { /* ssh says why, or its end does */
        fd_close(relay->ends->to_ssh);
        relay->ends->to_ssh = -1;
    }
    if (relay->ends->to_ssh < 0)
        relay->to_ssh.bytes.size = relay->to_ssh.sent = 0;
}

/* Returns false if the client is gone. */
static bool serve(struct relay *relay, const struct pollfd polls[ENDS])
{
    if (polls[SSH_SAYS].revents)
        read_said(relay);
    if (polls[FROM_SSH].revents)
        read_server(relay);
    if (polls[TO_SSH].revents)
        write_ssh(relay);
    if (polls[CLIENT].revents & POLLOUT &&
        relayed_send(&relay->to_client, relay->ends->client, RELAYED_QUEUE) < 0)
        return false;
    if (polls[CLIENT].revents & POLLIN)
        return read_client(relay);
    return !(polls[CLIENT].revents & (POLLERR | POLLHUP | POLLNVAL));
}

int forge_relay(const struct forge_settings *settings, struct forge_ends *ends)
{
    struct relay relay = {
        .settings = settings, .ends = ends, .stage = settings->is_push ? STAGE_READING : STAGE_FETCH};
    bool is_served = true;
    while (is_served && !(relay.is_over && !relayed_waiting(&relay.to_client))) {
        struct pollfd polls[ENDS];
        fill_polls(&relay, polls);
        is_served = poll(polls, ENDS, -1) < 0 || serve(&relay, polls);
        if (relay.ssh_is_done && !relayed_waiting(&relay.to_ssh) && ends->to_ssh >= 0) {
            fd_close(ends->to_ssh);
            ends->to_ssh = -1;
        }
    }
    return is_served ? 0 : 1; /* the process ends, and its memory with it */
}
