#include "git/push.h"

#include <stdio.h>
#include <string.h>

#include "base/pattern.h"
#include "base/text.h"
#include "git/judge.h"

/* --- pkt-lines ---------------------------------------------------------------------------------------------------- */

void pkt_add(struct buf *out, struct bytes content)
{
    buf_printf(out, "%04zx", content.size + PKT_HEAD);
    buf_add(out, content.at, content.size);
}

void pkt_add_flush(struct buf *out)
{
    buf_add_str(out, "0000");
}

/* The size in the head of a pkt-line, its own four digits included; -1: it is none. Capital digits are never sent. */
static int pkt_size(const char *head)
{
    int size = 0;
    for (size_t i = 0; i < PKT_HEAD; i++) {
        const char *digit = head[i] ? strchr("0123456789abcdef", head[i]) : NULL;
        if (!digit)
            return -1;
        size = size * 16 + (int)(digit - "0123456789abcdef");
    }
    return size;
}

/* --- one line ----------------------------------------------------------------------------------------------------- */

static void fail(struct push *push, const char *problem)
{
    push->state = PUSH_BAD;
    push->problem = problem;
}

static bool is_plain(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.at[i] <= ' ' || (unsigned char)text.at[i] >= 127)
            return false;
    }
    return text.size > 0;
}

static bool take_position(const struct push *push, struct bytes *line, struct git_position *ret_position)
{
    struct git_position position;
    if (!git_position_take_small(line, &position) ||
        (push->digits && strlen(position.digits) != push->digits))
        return false;
    *ret_position = position;
    return true;
}

static bool take_space(struct bytes *line)
{
    if (!line->size || *line->at != ' ')
        return false;
    *line = bytes_after(*line, 1);
    return true;
}

static bool is_capability(const struct push *push, const char *word)
{
    static const char *const known[] = {"report-status", "report-status-v2", "side-band-64k", "delete-refs",
                                        "quiet",         "atomic",           "ofs-delta",     "push-options"};
    static const char *const named[] = {"agent=", "session-id="};
    for (size_t i = 0; i < array_len(named); i++) {
        if (text_starts_with(word, named[i]))
            return true;
    }
    if (text_starts_with(word, "object-format="))
        return strcmp(strchr(word, '=') + 1, push->digits == SHA1_DIGITS ? "sha1" : "sha256") == 0;
    return text_is_among(word, known, array_len(known));
}

/* The words after the first command. */
static void take_capabilities(struct push *push, struct bytes text)
{
    auto_buf struct buf words = {0};
    while (text.size) {
        const char *space = memchr(text.at, ' ', text.size);
        struct bytes word = bytes_of(text.at, space ? (size_t)(space - text.at) : text.size);
        text = bytes_after(text, word.size + (space ? 1 : 0));
        if (!word.size)
            continue; /* git begins the list with a space */
        const char *name = arena_copy(&push->arena, word.at, word.size);
        if (!is_plain(word) || !is_capability(push, name)) {
            fail(push, "it uses a part of git's protocol that is not passed on");
            return;
        }
        push->has_report |= text_starts_with(name, "report-status");
        push->has_sideband |= strcmp(name, "side-band-64k") == 0;
        push->has_options |= strcmp(name, "push-options") == 0;
        buf_printf(&words, " %s", name);
    }
    push->capabilities = arena_str(&push->arena, buf_text(&words));
}

static bool is_zero(const struct git_position *position)
{
    return strspn(position->digits, "0") == strlen(position->digits);
}

/* "OLD NEW REF", and of the first one a NUL and capabilities. */
static void take_command(struct push *push, struct bytes line)
{
    struct push_command command = {0};
    const char *nul = memchr(line.at, '\0', line.size);
    struct bytes capabilities = {0}, rest = line;
    if (nul) {
        capabilities = bytes_after(line, (size_t)(nul - line.at) + 1);
        rest.size = (size_t)(nul - line.at);
    }
    bool is_first = !push->capabilities;
    if (!take_position(push, &rest, &command.before) || !take_space(&rest)) {
        fail(push, "a command is not well formed");
        return;
    }
    push->digits = strlen(command.before.digits);
    if (!take_position(push, &rest, &command.after) || !take_space(&rest) || !is_plain(rest) ||
        (nul && !is_first)) {
        fail(push, "a command is not well formed");
        return;
    }
    command.ref = arena_copy(&push->arena, rest.at, rest.size);
    command.kind = is_zero(&command.after)    ? PUSH_DELETE
                   : is_zero(&command.before) ? PUSH_CREATE
                                              : PUSH_UPDATE;
    void **known = map_at(&push->refs, command.ref, rest.size);
    if (*known || !git_ref_is_sound(command.ref) || (is_zero(&command.before) && is_zero(&command.after)) ||
        push->commands.count == PUSH_MOST_COMMANDS) {
        fail(push, "a ref is named twice, or has a name that git does not take");
        return;
    }
    *known = push;
    vec_push(&push->commands, command);
    if (is_first)
        take_capabilities(push, capabilities);
}

/* "shallow HASH", before all commands. */
static void take_shallow(struct push *push, struct bytes line)
{
    struct git_position position;
    struct bytes rest = bytes_after(line, strlen("shallow "));
    if (push->commands.count || !take_position(push, &rest, &position) || rest.size) {
        fail(push, "a shallow line is not well formed");
        return;
    }
    push->digits = strlen(position.digits);
    vec_push(&push->shallow, arena_copy(&push->arena, line.at, line.size));
}

static void take_option(struct push *push, struct bytes line)
{
    for (size_t i = 0; i < line.size; i++) {
        if ((unsigned char)line.at[i] < ' ' || line.at[i] == 127) {
            fail(push, "a push option is not plain text");
            return;
        }
    }
    vec_push(&push->options, arena_copy(&push->arena, line.at, line.size));
}

static void take_line(struct push *push, struct bytes line)
{
    if (line.size && line.at[line.size - 1] == '\n')
        line.size--;
    if (push->shallow.count + push->options.count > PUSH_MOST_LINES)
        fail(push, "it has too many lines");
    else if (push->in_options)
        take_option(push, line);
    else if (bytes_start_with(line, "push-cert"))
        fail(push, "a signed push is not passed on");
    else if (bytes_start_with(line, "shallow "))
        take_shallow(push, line);
    else
        take_command(push, line);
}

static void take_flush(struct push *push)
{
    if (!push->in_options && push->has_options)
        push->in_options = true;
    else
        push->state = PUSH_WHOLE;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Adds bytes until the pending line has so many. */
static size_t fill(struct push *push, struct bytes bytes, size_t wanted)
{
    size_t missing = wanted > push->pending.size ? wanted - push->pending.size : 0;
    size_t size = bytes.size < missing ? bytes.size : missing;
    buf_add(&push->pending, bytes.at, size);
    return size;
}

size_t push_take(struct push *push, struct bytes bytes)
{
    size_t before = bytes.size;
    while (push->state == PUSH_MORE && bytes.size) {
        bytes = bytes_after(bytes, fill(push, bytes, PKT_HEAD));
        if (push->pending.size < PKT_HEAD)
            break;
        int size = pkt_size(push->pending.bytes);
        if (size < 0 || size > PKT_LARGEST || (size != 0 && size <= PKT_HEAD)) {
            fail(push, "a pkt-line is not well formed");
            break;
        }
        bytes = bytes_after(bytes, fill(push, bytes, (size_t)size));
        if (push->pending.size < (size_t)size)
            break;
        push->taken += push->pending.size;
        if (size == 0)
            take_flush(push);
        else if (push->taken > PUSH_LARGEST)
            fail(push, "it has too many commands");
        else
            take_line(push, bytes_of(push->pending.bytes + PKT_HEAD, (size_t)size - PKT_HEAD));
        push->pending.size = 0;
    }
    return before - bytes.size;
}

void push_free(struct push *push)
{
    buf_free(&push->pending);
    vec_free(&push->commands);
    vec_free(&push->shallow);
    vec_free(&push->options);
    map_free(&push->refs);
    arena_free(&push->arena);
}

bool push_has_pack(const struct push *push)
{
    vec_each (const struct push_command, command, &push->commands) {
        if (command->kind != PUSH_DELETE)
            return true;
    }
    return false;
}

static void add_texts(const push_texts *texts, struct buf *out)
{
    for (size_t i = 0; i < texts->count; i++)
        pkt_add(out, bytes_of(texts->at[i], strlen(texts->at[i])));
}

void push_add_commands(const struct push *push, struct buf *out)
{
    bool is_first = true;
    add_texts(&push->shallow, out);
    vec_each (const struct push_command, command, &push->commands) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "%s %s %s", command->before.digits, command->after.digits, command->ref);
        if (is_first) {
            buf_add_char(&line, '\0');
            buf_add_str(&line, push->capabilities);
        }
        is_first = false;
        pkt_add(out, bytes_of(line.bytes, line.size));
    }
    pkt_add_flush(out);
    if (!push->has_options)
        return;
    add_texts(&push->options, out);
    pkt_add_flush(out);
}

/* --- what may pass ------------------------------------------------------------------------------------------------ */

static bool covers(const struct push_rule *rule, const char *ref)
{
    char path[GIT_REF_LARGEST + 2], pattern[GIT_REF_LARGEST + 2];
    int size = snprintf(path, sizeof(path), "/%s", ref);
    for (size_t i = 0; i < rule->ref_count; i++) {
        if (snprintf(pattern, sizeof(pattern), "/%s", rule->refs[i]) < (int)sizeof(pattern) &&
            pattern_matches_path(pattern, path, (size_t)size))
            return true;
    }
    return false;
}

static void judge_command(struct push_command *command, bool has_options, const struct push_rule *rules,
                          size_t count)
{
    bool is_covered = false, may_delete = false, may_force = false, may_send_options = false;
    for (size_t i = 0; i < count; i++) {
        if (!covers(&rules[i], command->ref))
            continue;
        is_covered = true;
        may_delete |= rules[i].may_delete;
        may_force |= rules[i].may_force;
        may_send_options |= rules[i].may_send_options;
    }
    if (!is_covered)
        command->refusal = "no rule allows a push to this ref";
    else if (command->kind == PUSH_DELETE && !may_delete)
        command->refusal = "deleting a ref needs push+delete";
    else if (has_options && !may_send_options)
        command->refusal = "push options need push+options";
    command->needs_proof = !command->refusal && command->kind == PUSH_UPDATE && !may_force &&
                           strcmp(command->before.digits, command->after.digits) != 0;
}

void push_judge(struct push *push, const struct push_rule *rules, size_t count)
{
    vec_each (struct push_command, command, &push->commands)
        judge_command(command, push->options.count > 0, rules, count);
}

void push_refuse_unproven(struct push_command *command)
{
    command->needs_proof = false;
    command->refusal = "not known to be a fast-forward, and others need push+force";
}

bool push_is_refused(const struct push *push)
{
    vec_each (const struct push_command, command, &push->commands) {
        if (command->refusal)
            return true;
    }
    return false;
}

/* One piece of the band that the client shows (2) or reads (1). */
static void add_band(struct buf *out, char band, struct bytes content)
{
    enum { PIECE = 32 * 1024 };
    while (content.size) {
        size_t size = content.size < PIECE ? content.size : PIECE;
        auto_buf struct buf piece = {0};
        buf_add_char(&piece, band);
        buf_add(&piece, content.at, size);
        pkt_add(out, bytes_of(piece.bytes, piece.size));
        content = bytes_after(content, size);
    }
}

void push_add_refusal(const struct push *push, struct buf *out)
{
    static const char sentence[] = "bawn refused this push: nothing of it was sent.\n",
                      unpacked[] = "unpack ok\n";
    auto_buf struct buf report = {0};
    if (!push->has_report)
        return;
    pkt_add(&report, bytes_of(unpacked, strlen(unpacked)));
    vec_each (const struct push_command, command, &push->commands) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "ng %s %s\n", command->ref,
                   command->refusal ? command->refusal : "not sent: another ref was refused");
        pkt_add(&report, bytes_of(line.bytes, line.size));
    }
    pkt_add_flush(&report);
    if (!push->has_sideband) {
        buf_add(out, report.bytes, report.size);
        return;
    }
    add_band(out, 2, bytes_of(sentence, strlen(sentence)));
    add_band(out, 1, bytes_of(report.bytes, report.size));
    pkt_add_flush(out);
}
