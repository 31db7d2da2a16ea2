#include "supervise/known_hosts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/names.h"
#include "base/pattern.h"
#include "base/reader.h"
#include "base/text.h"
#include "git/refs.h"

enum { HMAC_BLOCK = 64, SHA1_BYTES = 20 };

/* HMAC with SHA-1 (RFC 2104), as HashKnownHosts has it. The key is not longer than a block. */
static void hmac_of(const struct buf *key, const char *text, unsigned char ret_digest[SHA1_BYTES])
{
    char inner[HMAC_BLOCK] = {0}, outer[HMAC_BLOCK];
    unsigned char first[SHA1_BYTES];
    memcpy(inner, key->bytes, key->size);
    for (size_t i = 0; i < HMAC_BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    sha1_of(bytes_of(inner, sizeof(inner)), bytes_of(text, strlen(text)), first);
    sha1_of(bytes_of(outer, sizeof(outer)), bytes_of((const char *)first, sizeof(first)), ret_digest);
}

/* "|1|SALT|HASH" */
static bool is_hash_of(const char *hosts, const char *name)
{
    static const char start[] = "|1|";
    const char *salt_text = hosts + strlen(start), *hash_text = strchr(salt_text, '|');
    unsigned char digest[SHA1_BYTES];
    auto_buf struct buf salt = {0}, hash = {0};
    if (!hash_text || !base64_decode(&salt, bytes_of(salt_text, (size_t)(hash_text - salt_text))) ||
        !base64_decode(&hash, bytes_of(hash_text + 1, strlen(hash_text + 1))) || salt.size > HMAC_BLOCK ||
        salt.size == 0 || hash.size != SHA1_BYTES)
        return false;
    hmac_of(&salt, name, digest);
    return memcmp(digest, hash.bytes, SHA1_BYTES) == 0;
}

static char *in_lower_case(struct arena *arena, const char *text)
{
    char *lower = arena_str(arena, text);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return lower;
}

/* Patterns, separated by commas. One with ! that matches excludes the host, wherever it stands. No host has a backslash, which quotes. */
static bool names(struct arena *arena, const char *hosts, const char *name)
{
    bool is_named = false;
    if (text_starts_with(hosts, "|"))
        return text_starts_with(hosts, "|1|") && is_hash_of(hosts, name);
    char *rest = in_lower_case(arena, hosts);
    const char *wanted = in_lower_case(arena, name);
    for (const char *pattern; rest && (pattern = strsep(&rest, ","));) {
        bool excludes = *pattern == '!';
        if (!pattern_matches_name(pattern + excludes, wanted, strlen(wanted)))
            continue;
        if (excludes)
            return false;
        is_named = true;
    }
    return is_named;
}

/* The key of a line: its kind must be what its bytes say, and one whose signatures bawn-vault can check. */
static bool read_key(struct arena *arena, const char *kind, const char *text, struct bytes *ret_key)
{
    static const char *const kinds[] = {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521", "ssh-rsa"};
    auto_buf struct buf key = {0};
    if (!kind || !text || !text_is_among(kind, kinds, array_len(kinds)) ||
        !base64_decode(&key, bytes_of(text, strlen(text))) || !key.size)
        return false;
    struct reader reader = {.at = (const uint8_t *)key.bytes, .size = key.size};
    struct reader said = reader_vector(&reader, 4);
    if (said.failed || said.size != strlen(kind) || memcmp(said.at, kind, said.size) != 0)
        return false;
    *ret_key = bytes_of(arena_copy(arena, key.bytes, key.size), key.size);
    return true;
}

/* The next word of a line; NULL at its end. */
static const char *take_word(char **rest)
{
    const char *word = NULL;
    while (*rest && (word = strsep(rest, " \t\r")) && !*word) {
    }
    return word && *word ? word : NULL;
}

void known_hosts_find(struct arena *arena, struct bytes text, const char *name, host_key_list *keys,
                      host_key_list *revoked)
{
    for (struct bytes line; bytes_take_line(&text, &line);) {
        struct bytes key;
        char *rest = arena_copy(arena, line.at, line.size);
        const char *hosts = take_word(&rest), *marker = NULL;
        if (!hosts || *hosts == '#')
            continue;
        if (*hosts == '@') {
            marker = hosts;
            hosts = take_word(&rest);
        }
        const char *kind = take_word(&rest), *encoded = take_word(&rest);
        if (!hosts || !read_key(arena, kind, encoded, &key))
            continue;
        if (!marker && names(arena, hosts, name))
            vec_push(keys, key);
        else if (marker && strcmp(marker, "@revoked") == 0)
            vec_push(revoked, key);
    }
}

bool host_keys_have(const host_key_list *keys, struct bytes key)
{
    vec_each (const struct bytes, known, keys) {
        if (bytes_equal(*known, key))
            return true;
    }
    return false;
}
