#include "journal/journal.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"
#include "base/key_format.h"
#include "base/text.h"

enum { SECRET_SHORTEST = 6, MOST_SECRETS = 256 };

/* --- variables ------------------------------------------------------------------------------------------------------ */

bool secret_is_name(const char *name, size_t size)
{
    static const char *const parts[] = {"KEY",        "TOKEN",        "SECRET", "PASS",    "PWD",
                                        "CREDENTIAL", "AUTH",         "COOKIE", "SESSION", "_PAT",
                                        "_DSN",       "DATABASE_URL", "PRIVATE"};
    for (size_t i = 0; i < array_len(parts); i++) {
        size_t part = strlen(parts[i]);
        for (size_t at = 0; at + part <= size; at++) {
            if (strncasecmp(name + at, parts[i], part) == 0)
                return true;
        }
    }
    return false;
}

bool secrets_is_name(const char *name)
{
    return secret_is_name(name, strlen(name));
}

/* A path is no secret, and would be left out everywhere: SSH_AUTH_SOCK, PWD. */
static bool value_is_secret(const char *value)
{
    return strlen(value) >= SECRET_SHORTEST && *value != '/' && *value != '~';
}

void secrets_find(struct arena *arena, const char *const *environment, struct secrets *ret_secrets)
{
    *ret_secrets = (struct secrets){0};
    for (; *environment && ret_secrets->known.count < MOST_SECRETS; environment++) {
        size_t size = strcspn(*environment, "=");
        const char *value = (*environment)[size] ? *environment + size + 1 : "";
        if (secret_is_name(*environment, size) && value_is_secret(value))
            vec_push(&ret_secrets->known,
                     (struct secret){arena_copy(arena, *environment, size), value, strlen(value)});
    }
}

void secrets_free(struct secrets *secrets)
{
    vec_free(&secrets->known);
}

/* --- assignments: password=…, "token": "…", Authorization: Bearer … ------------------------------------------------ */

/* Does the text before `end` end in this word, in whichever case? */
static bool ends_in(const char *text, size_t end, const char *word)
{
    size_t size = strlen(word);
    return end >= size && strncasecmp(text + end - size, word, size) == 0;
}

static size_t skip_back(const char *text, size_t end, const char *skipped)
{
    while (end && strchr(skipped, text[end - 1]))
        end--;
    return end;
}

/* Does what stands before `at` say that a secret comes next? */
static bool is_introduced(const char *text, size_t at, size_t size)
{
    static const char *const words[] = {"password",   "passwd",     "passphrase", "secret",
                                        "token",      "api-key",    "apikey",     "api_key",
                                        "access_key", "access-key", "pwd",        "authorization"};
    static const char *const schemes[] = {"bearer", "basic"};
    if (!at || !strchr("=: \"'", text[at - 1]) || strchr("=: \"'[", text[at]))
        return false;
    size_t end = skip_back(text, at, " \"'");
    for (size_t i = 0; i < array_len(schemes); i++) {
        if (text[at - 1] == ' ' && ends_in(text, end, schemes[i]))
            return true;
        size_t length = strlen(schemes[i]);
        if (size - at > length && strncasecmp(text + at, schemes[i], length) == 0 && text[at + length] == ' ')
            return false; /* the word is not the secret, what follows it is */
    }
    if (!end || (text[end - 1] != '=' && text[end - 1] != ':'))
        return false;
    end = skip_back(text, end - 1, " \"'");
    for (size_t i = 0; i < array_len(words); i++) {
        if (ends_in(text, end, words[i]))
            return true;
    }
    return false;
}

static size_t value_size(const char *text, size_t size)
{
    size_t end = 0;
    while (end < size && text[end] && !strchr(" \t\n\"'&,;)}", text[end]))
        end++;
    return end;
}

/* --- addresses: scheme://user:password@host -------------------------------------------------------------------------- */

/* After "://": how much there is before an '@' of the same address; 0: there is none. */
static size_t userinfo_size(const char *text, size_t size)
{
    for (size_t i = 0; i < size && !strchr("/?# \t\n\"'", text[i]); i++) {
        if (text[i] == '@')
            return i;
    }
    return 0;
}

/* --- the whole --------------------------------------------------------------------------------------------------------- */

/* The longest one that stands here: another one's value may begin with it. */
static const struct secret *known_secret(const struct secrets *secrets, const char *text, size_t size)
{
    const struct secret *longest = NULL;
    for (size_t i = 0; secrets && i < secrets->known.count; i++) {
        const struct secret *secret = &secrets->known.at[i];
        if (*text == *secret->value && secret->size <= size && (!longest || secret->size > longest->size) &&
            memcmp(text, secret->value, secret->size) == 0)
            longest = secret;
    }
    return longest;
}

struct found {
    size_t size, prefix; /* how much is secret; how much of that stays, since everybody knows it */
    const char *name;    /* of the variable that has it, or NULL */
};

/* What stands at `at` and is secret. Where it is so in more than one way, the one that takes most with it counts. */
static struct found find_secret(const struct secrets *secrets, const char *text, size_t at, size_t size)
{
    const char *here = text + at;
    size_t left = size - at, prefix = 0;
    bool begins_word = at == 0 || !(isalnum((unsigned char)here[-1]) || here[-1] == '_');
    bool is_after_scheme = at >= 3 && memcmp(here - 3, "://", 3) == 0;
    const struct secret *secret = known_secret(secrets, here, left);
    size_t known = secret ? secret->size : 0, key = begins_word ? key_size(here, left, &prefix) : 0;
    size_t user = is_after_scheme ? userinfo_size(here, left) : 0;
    size_t value = is_introduced(text, at, size) ? value_size(here, left) : 0;
    size_t other = user > value ? user : value;
    if (secret && known >= key && known >= other)
        return (struct found){.size = known, .name = secret->name};
    return key >= other ? (struct found){.size = key, .prefix = prefix} : (struct found){.size = other};
}

/* A key in armour takes the rest with it. */
static bool is_armour(const char *text, size_t size)
{
    static const char armour[] = "-----BEGIN ";
    return *text == '-' && size > sizeof(armour) && memcmp(text, armour, sizeof(armour) - 1) == 0 &&
           memmem(text, size, "PRIVATE KEY", strlen("PRIVATE KEY"));
}

/* Secrets may overlap: a user's name that is a key, and the password after it. What any of them covers is left out. */
void redact_add(struct buf *out, const struct secrets *secrets, const char *text, size_t size)
{
    size_t covered = 0; /* up to here */
    for (size_t at = 0; at < size; at++) {
        struct found found = find_secret(secrets, text, at, size);
        if (!found.size && is_armour(text + at, size - at))
            found.size = size - at;
        bool begins = found.size && at >= covered;
        if (begins && found.name)
            buf_printf(out, "[$%s]", found.name);
        else if (begins)
            buf_printf(out, "%.*s[redacted]", (int)found.prefix, text + at);
        if (found.size && at + found.size > covered)
            covered = at + found.size;
        if (at >= covered)
            buf_add_char(out, text[at]);
    }
}
