#include "vault/refusal.h"

#include <string.h>

#include "base/json.h"
#include "policy/host.h"

void refusal_add_sentence(const struct refusal *refusal, struct buf *out)
{
    size_t size = strlen(refusal->path);
    bool is_cut = size > REFUSAL_LONGEST_PATH;
    buf_add(out, refusal->method.at, refusal->method.size);
    buf_add_char(out, ' ');
    buf_add(out, refusal->path, is_cut ? REFUSAL_LONGEST_PATH : size);
    buf_add_str(out, is_cut ? "…" : "");
    if (refusal->reason)
        buf_printf(out, " is refused: %s", refusal->reason);
    else if (refusal->verb)
        buf_printf(out, " is refused by `%s %s` (%s)", refusal->verb, refusal->object, refusal->place);
    else
        buf_add_str(out, " is allowed by no rule on requests");
}

/* "bawn why GET https://a.test/x" */
static void add_question(const struct refusal *refusal, struct buf *out)
{
    buf_add_str(out, "bawn why ");
    buf_add(out, refusal->method.at, refusal->method.size);
    buf_printf(out, " 'https://%s", refusal->host);
    if (refusal->port != PORT_HTTPS)
        buf_printf(out, ":%u", refusal->port);
    for (const char *at = refusal->path; *at; at++) /* the path may have a single quote in it, and no space */
        buf_printf(out, *at == '\'' ? "%%27" : "%c", *at);
    buf_add_char(out, '\'');
}

static void add_body(const struct refusal *refusal, bool as_json, struct buf *out)
{
    auto_buf struct buf sentence = {0}, question = {0}, message = {0}, rule = {0};
    refusal_add_sentence(refusal, &sentence);
    add_question(refusal, &question);
    buf_printf(&message, "bawn: this request to %s was not sent, on purpose: %s.", refusal->host,
               buf_text(&sentence));
    if (!refusal->reason)
        buf_printf(&message, " `%s` explains it.", buf_text(&question));
    buf_printf(&message, " Ask the person who started this run if you need it%s.",
               refusal->reason ? "" : ": they can add a `connect` rule for this path");
    if (!as_json) {
        buf_printf(out, "%s\n", buf_text(&message));
        return;
    }
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_str(&json, "error", "refused");
    json_str(&json, "by", "bawn");
    json_str(&json, "message", buf_text(&message));
    if (refusal->verb)
        buf_printf(&rule, "%s %s", refusal->verb, refusal->object);
    json_str(&json, "rule", refusal->verb ? buf_text(&rule) : NULL);
    json_str(&json, "place", refusal->place);
    json_str(&json, "why", refusal->reason ? NULL : buf_text(&question));
    json_close(&json, '}');
}

static bool has(struct bytes value, const char *text)
{
    return value.size && memmem(value.at, value.size, text, strlen(text));
}

/* One that accepts JSON, or something in particular that is no text: it reads JSON rather than text. */
static bool wants_json(const struct head *head)
{
    bool is_particular = false;
    for (size_t i = 0; i < head->count; i++) {
        struct bytes value = head->fields[i].value;
        if (!bytes_are(head->fields[i].name, "accept"))
            continue;
        if (has(value, "json"))
            return true;
        is_particular |= !has(value, "text/") && !has(value, "*/*");
    }
    return is_particular;
}

void refusal_add_answer(const struct refusal *refusal, const struct head *head, bool is_last, struct buf *out)
{
    auto_buf struct buf body = {0};
    bool as_json = wants_json(head);
    add_body(refusal, as_json, &body);
    buf_printf(out,
               "HTTP/1.1 403 Forbidden\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n%s\r\n%s",
               as_json ? "application/json" : "text/plain", body.size, is_last ? "Connection: close\r\n" : "",
               bytes_are(head->method, "head") ? "" : buf_text(&body));
}
