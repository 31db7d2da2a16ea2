#include "base/key_format.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"
#include "base/hash.h"

static const struct key_format formats[] = {
    {"sk-", 16, 32, KEY_DASHED},       {"sk_live_", 10, 24, KEY_MIXED},
    {"sk_test_", 10, 24, KEY_MIXED},   {"rk_live_", 10, 24, KEY_MIXED},
    {"ghp_", 20, 36, KEY_MIXED},       {"gho_", 20, 36, KEY_MIXED},
    {"ghu_", 20, 36, KEY_MIXED},       {"ghs_", 20, 36, KEY_MIXED},
    {"ghr_", 20, 36, KEY_MIXED},       {"github_pat_", 20, 60, KEY_DASHED},
    {"glpat-", 16, 20, KEY_DASHED},    {"gldt-", 16, 20, KEY_DASHED},
    {"xoxa-", 10, 24, KEY_DASHED},     {"xoxb-", 10, 24, KEY_DASHED},
    {"xoxp-", 10, 24, KEY_DASHED},     {"xoxr-", 10, 24, KEY_DASHED},
    {"xoxs-", 10, 24, KEY_DASHED},     {"xapp-", 10, 24, KEY_DASHED},
    {"AKIA", 16, 16, KEY_CAPITAL},     {"ASIA", 16, 16, KEY_CAPITAL},
    {"AIza", 30, 35, KEY_DASHED},      {"ya29.", 16, 40, KEY_DASHED},
    {"npm_", 30, 36, KEY_MIXED},       {"pypi-", 30, 60, KEY_DASHED},
    {"hf_", 20, 34, KEY_CASES},        {"eyJ", 30, 0, KEY_NEVER},
    {"dop_v1_", 30, 64, KEY_HEX},      {"SG.", 30, 60, KEY_DASHED},
    {"shpat_", 20, 32, KEY_HEX},       {"AGE-SECRET-KEY-", 10, 59, KEY_CAPITAL},
    {"dckr_pat_", 16, 27, KEY_DASHED}, {"tskey-", 10, 24, KEY_DASHED},
    {"hvs.", 16, 40, KEY_DASHED},      {"atlasv1.", 16, 0, KEY_NEVER},
    {"figd_", 16, 40, KEY_DASHED},     {"lin_api_", 16, 40, KEY_MIXED},
    {"gsk_", 16, 40, KEY_MIXED},       {"xai-", 16, 60, KEY_MIXED},
    {"r8_", 20, 37, KEY_MIXED},        {"pplx-", 16, 40, KEY_MIXED},
    {"CLOJARS_", 16, 60, KEY_HEX},     {"sntrys_", 16, 60, KEY_DASHED},
};

static bool is_of_key(char byte)
{
    return isalnum((unsigned char)byte) || (byte && strchr("_-.+/=", byte));
}

size_t key_size(const char *text, size_t size, size_t *ret_prefix)
{
    for (size_t i = 0; i < array_len(formats); i++) {
        size_t prefix = strlen(formats[i].prefix), end = prefix;
        if (*text != *formats[i].prefix || size < prefix || memcmp(text, formats[i].prefix, prefix) != 0)
            continue;
        while (end < size && is_of_key(text[end]))
            end++;
        if (end - prefix >= formats[i].shortest) {
            *ret_prefix = prefix;
            return end;
        }
    }
    return 0;
}

bool word_has(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == '-' || byte == '.';
}

struct bytes word_trim(struct bytes word)
{
    while (word.size && (*word.at == '.' || *word.at == '-'))
        word = bytes_after(word, 1);
    while (word.size && (word.at[word.size - 1] == '.' || word.at[word.size - 1] == '-'))
        word.size--;
    return word;
}

/* --- is it a real one? ---------------------------------------------------------------------------------------------- */

struct variety {
    bool has_lower, has_upper, has_digit, has_sign;
    bool is_hex;
    int count; /* of different letters */
};

static struct variety variety_of(struct bytes text)
{
    struct variety variety = {.is_hex = true};
    uint64_t seen[2] = {0};
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.at[i] & 0x7f;
        bool is_lower = byte >= 'a' && byte <= 'z', is_digit = byte >= '0' && byte <= '9';
        bool is_upper = byte >= 'A' && byte <= 'Z';
        variety.has_lower |= is_lower;
        variety.has_upper |= is_upper;
        variety.has_digit |= is_digit;
        variety.has_sign |= !is_lower && !is_upper && !is_digit;
        variety.is_hex &= is_digit || (byte >= 'a' && byte <= 'f');
        seen[byte >> 6] |= UINT64_C(1) << (byte & 63);
    }
    variety.count = __builtin_popcountll(seen[0]) + __builtin_popcountll(seen[1]);
    return variety;
}

/* Does it look random? Words of documents such as "ghp_xxxx" do not. */
static bool is_real(const struct key_format *format, struct bytes rest)
{
    enum { DIFFERENT = 12, DIFFERENT_HEX = 8 };
    if (format->letters == KEY_NEVER || rest.size < format->real)
        return false;
    struct variety variety = variety_of(rest);
    bool has_all = variety.has_lower && variety.has_upper && variety.has_digit;
    switch (format->letters) {
    case KEY_MIXED:
        return has_all && !variety.has_sign && variety.count >= DIFFERENT;
    case KEY_DASHED:
        return has_all && variety.count >= DIFFERENT;
    case KEY_CASES:
        return variety.has_lower && variety.has_upper && !variety.has_sign && variety.count >= DIFFERENT;
    case KEY_HEX:
        return variety.is_hex && variety.has_digit && variety.has_lower && variety.count >= DIFFERENT_HEX;
    case KEY_CAPITAL:
        return rest.size == format->real && !variety.has_lower && !variety.has_sign &&
               variety.count >= DIFFERENT_HEX;
    default:
        return false;
    }
}

const struct key_format *key_of_word(struct bytes word)
{
    static const char in_every_manual[] = "AKIAIOSFODNN7EXAMPLE";
    for (size_t i = 0; i < array_len(formats); i++) {
        const struct key_format *format = &formats[i];
        if (word.size && *word.at == *format->prefix && bytes_start_with(word, format->prefix) &&
            is_real(format, bytes_after(word, strlen(format->prefix))) &&
            !bytes_equal(word, bytes_of(in_every_manual, strlen(in_every_manual))))
            return format;
    }
    return NULL;
}

struct bytes word_longest(struct bytes value)
{
    struct bytes longest = {0};
    for (size_t at = 0, end; at < value.size; at = end + 1) {
        for (end = at; end < value.size && word_has((unsigned char)value.at[end]); end++) {
        }
        struct bytes word = word_trim(bytes_of(value.at + at, end - at));
        if (word.size > longest.size)
            longest = word;
    }
    if (longest.size > KEY_WORD_LONGEST)
        longest.size = KEY_WORD_LONGEST;
    if (longest.size < KEY_WORD_SHORTEST)
        longest = (struct bytes){0};
    return longest;
}

bool word_is_random(struct bytes word)
{
    enum { DIFFERENT = 8 };
    struct variety variety = variety_of(word);
    bool is_of_host = word.size && !variety.has_upper && memchr(word.at, '.', word.size);
    return word.size >= KEY_WORD_SHORTEST && !is_of_host && variety.has_digit &&
           (variety.has_lower || variety.has_upper) && variety.count >= DIFFERENT;
}

void word_digest(const unsigned char salt[KEY_WORD_SALT], struct bytes word,
                 unsigned char ret_digest[KEY_WORD_DIGEST])
{
    struct blake2b hash;
    unsigned char whole[BLAKE2B_SIZE];
    blake2b_begin(&hash);
    blake2b_add(&hash, salt, KEY_WORD_SALT);
    blake2b_add(&hash, word.at, word.size);
    blake2b_end(&hash, whole);
    memcpy(ret_digest, whole, KEY_WORD_DIGEST);
}

bool key_is_expected_in(struct bytes name)
{
    static const char *const names[] = {
        "authorization",     "x-api-key",
        "api-key",           "apikey",
        "x-goog-api-key",    "x-auth-token",
        "x-access-token",    "private-token",
        "job-token",         "deploy-token",
        "x-gitlab-token",    "x-subscription-token",
        "xi-api-key",        "x-figma-token",
        "x-vault-token",     "circle-token",
        "dd-api-key",        "dd-application-key",
        "x-redmine-api-key", "ocp-apim-subscription-key",
        "x-rapidapi-key",    "x-shopify-access-token",
    };
    for (size_t i = 0; i < array_len(names); i++) {
        if (name.size == strlen(names[i]) && strncasecmp(name.at, names[i], name.size) == 0)
            return true;
    }
    return false;
}
