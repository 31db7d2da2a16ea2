#include "policy/ssh_key.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "policy/parse.h"

enum { MOST_HOSTS = 64, MOST_TIMES = 1000000, FINGERPRINT_DIGITS = 43 };

static const char form[] = "write `ssh-key ~/.ssh/id_ed25519.pub to HOST`, then `times N` or `ask`";

/* "SHA256:" and the 43 characters of a hash, as `ssh-add -l` shows it. */
static bool is_fingerprint(const char *text)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";
    size_t start = strlen(SSH_KEY_FINGERPRINT);
    return strlen(text) == start + FINGERPRINT_DIGITS && strspn(text + start, digits) == FINGERPRINT_DIGITS;
}

static int parse_key(struct arena *arena, const struct word *word, const struct rule *rule,
                     struct ssh_key_object *key, struct diags *diags)
{
    key->key = word_plain(arena, word->text);
    key->is_fingerprint = text_starts_with(key->key, SSH_KEY_FINGERPRINT);
    if (key->is_fingerprint)
        return is_fingerprint(key->key)
                   ? 0
                   : object_complain(diags, rule, word,
                                     "copy it from `ssh-add -l`: SHA256: and 43 characters",
                                     "this is not the fingerprint of a key");
    size_t size = strlen(key->key);
    bool is_path = *key->key == '/' || text_starts_with(key->key, "~/");
    bool is_public = size > 4 && strcmp(key->key + size - 4, ".pub") == 0;
    return is_path && is_public && !strchr(key->key, '\n')
               ? 0
               : object_complain(diags, rule, word,
                                 "write the path of its .pub file, absolute or from ~/, or its fingerprint",
                                 "this does not name a public key");
}

static int parse_hosts(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                       struct ssh_key_object *key, struct diags *diags)
{
    struct host_object *hosts = arena_alloc(arena, count * sizeof(*hosts));
    for (size_t i = 0; i < count; i++) {
        const char *problem = NULL, *hint = NULL;
        if (host_parse(arena, word_plain(arena, words[i].text), &hosts[i], &problem, &hint) < 0)
            return object_complain(diags, rule, &words[i], hint, problem);
        bool is_one = hosts[i].kind == HOST_NAME || (hosts[i].kind == HOST_ADDRESS && hosts[i].prefix == 128);
        if (!is_one || hosts[i].may_be_unnamed)
            return object_complain(diags, rule, &words[i], "write each host by its name, without a wildcard",
                                   "a key is for hosts that ssh knows one by one");
        hosts[i].port = hosts[i].port ? hosts[i].port : SSH_PORT;
    }
    key->hosts = hosts;
    key->host_count = count;
    return 0;
}

/* `times N` and `ask`, at the end of a rule. */
static int parse_limits(struct arena *arena, const struct word *words, size_t count, const struct rule *rule,
                        struct ssh_key_object *key, struct diags *diags)
{
    for (size_t i = 0; i < count; i++) {
        if (word_is_keyword(&words[i], "ask") && !key->asks) {
            key->asks = true;
            continue;
        }
        const char *number = i + 1 < count ? word_plain(arena, words[i + 1].text) : "";
        uint64_t times = 0;
        bool is_number = text_take_number(&number, &times) && !*number;
        if (!word_is_keyword(&words[i], "times") || key->times || !is_number || !times || times > MOST_TIMES)
            return object_complain(diags, rule, &words[i], "end the rule with `times N`, `ask` or both",
                                   "this is not a limit for a key");
        key->times = (uint32_t)times;
        i++;
    }
    return 0;
}

int ssh_key_parse(struct arena *arena, const struct word *words, size_t count, struct rule *rule,
                  struct diags *diags)
{
    struct ssh_key_object *key = arena_new(arena, struct ssh_key_object);
    rule->column = words[0].column;
    rule->written = words_join(arena, words, count, true);
    if (rule->source->layer == LAYER_REPOSITORY)
        return object_complain(diags, rule, &words[0], "put it into ~/.config/bawn/policy.bawn",
                               "a repository cannot say what is done with your keys");
    if (count < 3 || !word_is_keyword(&words[1], "to"))
        return object_complain(diags, rule, &words[0], form, "this is not a whole rule for a key");
    size_t end = 2;
    while (end < count && !word_is_keyword(&words[end], "times") && !word_is_keyword(&words[end], "ask"))
        end++;
    if (end == 2 || end - 2 > MOST_HOSTS)
        return object_complain(diags, rule, &words[1], form,
                               end == 2 ? "`to` needs a host after it" : "this rule has too many hosts");
    if (parse_key(arena, &words[0], rule, key, diags) < 0 ||
        parse_hosts(arena, words + 2, end - 2, rule, key, diags) < 0 ||
        parse_limits(arena, words + end, count - end, rule, key, diags) < 0)
        return -1;
    rule->ssh_key = key;
    return 0;
}

const char *ssh_key_host_known_as(struct arena *arena, const struct host_object *host)
{
    const char *name = host_text(arena, host);
    return host->port == SSH_PORT ? name : arena_printf(arena, "[%s]:%u", name, host->port);
}

const char *ssh_key_rights(struct arena *arena, const struct ssh_key_object *key)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < key->host_count; i++) {
        uint16_t port = key->hosts[i].port == SSH_PORT ? 0 : key->hosts[i].port;
        buf_printf(&text, "%s%s", i ? " " : "",
                   host_with_port(arena, host_text(arena, &key->hosts[i]), port));
    }
    if (key->times)
        buf_printf(&text, " times %u", key->times);
    buf_add_str(&text, key->asks ? " ask" : "");
    return arena_str(arena, buf_text(&text));
}
