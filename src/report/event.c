#include "report/event.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/path.h"
#include "base/text.h"

/*
 * {field} is the field's text. A part in brackets is omitted if a field in it is missing, empty or 0. An event that is not
 * listed is shown field by field.
 */
static const struct {
    const char *event;
    unsigned kinds;
    const char *sentence;
    const char *label; /* of what was denied; NULL: the name of the event */
} events[] = {
    {"start", 0, "{command} in {workspace}"},
    {"plan", 0, "{arguments}[ as {agent}]; {mode}, net {net}; walls: {walls}; kernel {kernel}"},
    {"given up", EVENT_DENIED, "the wall {wall}, by {by}"},
    {"refused", EVENT_DENIED | EVENT_NET, "{host}[:{port}] {why}[, asked for by {program}][ ({pid})]",
     "last refused"},
    {"unreachable", EVENT_DENIED | EVENT_NET, "{host}[:{port}]: {why}", "last not reached"},
    {"network-trouble", EVENT_DENIED | EVENT_NET, "{why}", "network problem"},
    {"name", EVENT_NET, "{host} is {stands-at} inside"},
    {"connected", EVENT_NET, "{host}[:{port}][ at {address}]"},
    {"closed", EVENT_NET,
     "{host}[:{port}][ at {address}]: sent {sent} bytes, received {received}, in {milliseconds} ms"},
    {"published", EVENT_NET, "port {port}[ by {address}]"},
    {"published-port", EVENT_NET, "port {port}"},
    {"serves", EVENT_NET, "port {port} of the sandbox's own localhost"},
    {"allowed", EVENT_NET, "{host}[ for {for}]"},
    {"asked", EVENT_ASKED,
     "question {id}: {kind} {object}, by {program}[ ({pid})][, because: {because}][; {warning}]"},
    {"answered", EVENT_ASKED,
     "question {id}: {answer}, after {seconds} s ({object})[; by {user}][, way: {how}][, from {through}]"},
    {"helper-started", EVENT_NET, "the network helper"},
    {"helper-died", EVENT_NET, "the network helper, with status {status}"},
    {"tripwire", EVENT_DENIED | EVENT_FILES, "{path} was opened[ by {process}]", "last decoy"},
    {"secret-misused", EVENT_DENIED | EVENT_NET, "the placeholder of {name} was sent to {host}[:{port}]",
     "last misused secret"},
    {"leak", EVENT_DENIED | EVENT_NET, "{what} in a request to {host}[:{port}], which was {done}",
     "last leak"},
    {"secret", EVENT_NET, "{name}: {what}"},
    {"secret-trouble", EVENT_DENIED | EVENT_NET, "{name}: {what}", "last secret trouble"},
    {"forge", EVENT_NET, "{what} {repository}[ {ref}][: {why}][ by {program}]"},
    {"ssh-key", EVENT_NET, "{key} to {host} as {user}[ by {program}]"},
    {"ssh-key-refused", EVENT_DENIED | EVENT_NET, "{key} was not used[ for {user}]: {why}[ by {program}]",
     "last refused key"},
    {"vault-died", EVENT_DENIED | EVENT_NET,
     "bawn-vault, with status {status}: hosts of secrets cannot be reached", "vault ended"},
    {"held", EVENT_DENIED | EVENT_FILES, "{path}", "last set aside"},
    {"restored", EVENT_DENIED | EVENT_FILES, "{path} was deleted", "last brought back"},
    {"kept", EVENT_FILES, "{path}"},
    {"seen", EVENT_FILES, "{what}: {path}"},
    {"opened-socket", EVENT_FILES, "{path} was opened by a program outside"},
    {"not-checked", EVENT_FILES, "{path}"},
    {"checkpoint", EVENT_FILES, "[not taken: {why}]"},
    {"pruned", 0, "{freed} freed[; {sessions} can no longer be undone]"},
    {"forgotten", 0, "{sessions} can no longer be undone"},
    {"wanted", EVENT_DENIED | EVENT_FILES,
     "{kind} {object}[:{port}], {times}×[ by {program}][, which {ending}]", "last wanted"},
    {"not-learnt", 0, "{objects} further wants"},
    {"limit", EVENT_DENIED, "{name}[: {killed} killed][: {refused} refused]", "last limit"},
    {"guarded", EVENT_DENIED | EVENT_EXEC | EVENT_ASKED, "{command} was not started: {why}[ ({pid})]",
     "last command"},
    {"exec", EVENT_EXEC, "{pid}: {arguments}[ ({path})]"},
    {"exit", EVENT_EXEC, "{pid}: {how}"},
    {"let go", 0, "{sessions} old sessions with journals of {bytes} bytes"},
    {"failed", EVENT_DENIED, "{why}"},
    {"killed", EVENT_DENIED, "bawn itself"},
    {"end", 0, "status {status}[ after {milliseconds} ms][, files changed: {changes}]"},
};

const char *event_label(const char *event)
{
    for (size_t i = 0; i < array_len(events); i++) {
        if (strcmp(events[i].event, event) == 0 && events[i].label)
            return events[i].label;
    }
    return event;
}

unsigned event_kinds(const char *event)
{
    for (size_t i = 0; i < array_len(events); i++) {
        if (strcmp(events[i].event, event) == 0)
            return events[i].kinds;
    }
    return 0;
}

static void add_field(struct buf *out, const char *text, const char *home)
{
    bool in_home = home && home[1] && *text == '/' && path_is_beneath(text, home);
    if (in_home) {
        buf_add_char(out, '~');
        text += strlen(home);
    }
    text_add_printable(out, text, strlen(text));
}

/* Adds the text up to `end`, which has no brackets. Returns whether all its fields exist. */
static bool add_part(struct buf *out, const struct journal_record *record, const char *home, const char *at,
                     const char *end)
{
    bool is_whole = true;
    while (at < end) {
        const char *close = *at == '{' ? memchr(at, '}', (size_t)(end - at)) : NULL;
        if (!close) {
            buf_add_char(out, *at++);
            continue;
        }
        char name[32] = "";
        if ((size_t)(close - at) <= sizeof(name))
            memcpy(name, at + 1, (size_t)(close - at - 1));
        const char *text = journal_record_text(record, name);
        is_whole &= text && *text && strcmp(text, "0") != 0;
        add_field(out, text ? text : "", home);
        at = close + 1;
    }
    return is_whole;
}

static void add_template(struct buf *out, const struct journal_record *record, const char *home,
                         const char *at)
{
    while (*at) {
        bool is_optional = *at == '[';
        const char *start = at + is_optional, *end = start + strcspn(start, is_optional ? "]" : "[");
        size_t before = out->size;
        bool is_whole = add_part(out, record, home, start, end);
        if (is_optional && !is_whole) {
            out->size = before;
            if (out->bytes)
                out->bytes[before] = '\0';
        }
        at = end + is_optional;
    }
}

void event_add_sentence(struct buf *out, const struct journal_record *record, const char *home)
{
    for (size_t i = 0; i < array_len(events); i++) {
        if (strcmp(events[i].event, record->event) == 0) {
            add_template(out, record, home, events[i].sentence);
            return;
        }
    }
    for (size_t i = 0; i < record->fields.count; i++) {
        buf_add_str(out, i ? ", " : "");
        text_add_printable(out, record->fields.at[i].name, strlen(record->fields.at[i].name));
        buf_add_char(out, ' ');
        add_field(out, record->fields.at[i].text, home);
    }
}

bool event_time(const struct journal_record *record, struct timespec *ret_time)
{
    struct tm parts = {0};
    const char *rest = strptime(record->at, "%Y-%m-%dT%H:%M:%S", &parts);
    if (!rest)
        return false;
    ret_time->tv_sec = timegm(&parts);
    ret_time->tv_nsec = *rest == '.' ? strtol(rest + 1, NULL, 10) % 1000 * 1000000L : 0;
    return true;
}

const char *event_field(const struct journal_record *record, const char *name)
{
    const char *text = record ? journal_record_text(record, name) : NULL;
    return text ? text : "";
}
