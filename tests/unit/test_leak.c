/* The search for secrets in what leaves the sandbox: which texts are found, however they are written and cut, and which are not. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/base64.h"
#include "journal/leak.h"
#include "unit.h"

/* Made up, of the right shape. */
static const char github[] = "ghp_R4nd0mLettersThatNobodyEverUsed01Xyz";
static const char anthropic[] = "sk-ant-api03-Zk3Qp9Lm2Xv7Tr5Bn8Wc4Hj6Yd1Fs0Ga-Ue2Oi7Pk";
static const char amazon[] = "AKIAQ3EGRNV7JK2MZTWX";
static const char value[] = "correct-horse-battery-7-staple";
static const char canary[] = "AKIAZ5CANARYQ2W3E4R5";
static const char private_key[] = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
                                  "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
                                  "QyNTUxOQAAACDkq1bW0n3o5s7F8l2c9d4e6f1a0b3c5d7e9f2a4b6c8d0e1fAAAAECx\n"
                                  "-----END OPENSSH PRIVATE KEY-----\n";

static struct bytes text(const char *at)
{
    return bytes_of(at, strlen(at));
}

static void add_known(struct leak_table *table, enum leak_kind kind, const char *name, const char *known)
{
    unsigned char digest[KEY_WORD_DIGEST];
    struct bytes word = word_longest(text(known));
    word_digest(table->salt, word, digest);
    CHECK(leak_add_digest(table, kind, name, word.size, digest));
}

static const struct leak_table *the_table(void)
{
    static struct leak_table table;
    if (!table.known.count) {
        memset(table.salt, 7, sizeof(table.salt));
        add_known(&table, LEAK_VALUE, "$DATABASE_PASSWORD", value);
        add_known(&table, LEAK_CANARY, "~/.aws", canary);
        leak_add_placeholder(&table, text("sk-ant-api03-PLACEHOLDERabc123"));
    }
    return &table;
}

/* The most certain of what was found. */
static struct leak_found best(const struct leak_search *search)
{
    struct leak_found found = {LEAK_NONE, NULL};
    for (size_t i = 0; i < search->found_count; i++) {
        if (search->found[i].kind > found.kind)
            found = search->found[i];
    }
    return found;
}

/* What is found in pieces of this size. */
static struct leak_found find_in(struct bytes sent, size_t piece)
{
    static struct leak_search search;
    leak_begin(&search, the_table());
    for (size_t at = 0; at < sent.size; at += piece)
        leak_take(&search, bytes_of(sent.at + at, sent.size - at < piece ? sent.size - at : piece));
    leak_end(&search);
    return best(&search);
}

/* The same in two pieces, for every place where they can be cut; of long texts for some places, since this takes the square of their size. */
static bool is_same_at_every_cut(struct bytes sent, enum leak_kind kind)
{
    static struct leak_search search;
    enum { LONG = 128 };
    for (size_t cut = 0; cut <= sent.size; cut += 1 + sent.size / LONG) {
        leak_begin(&search, the_table());
        leak_take(&search, bytes_of(sent.at, cut));
        leak_take(&search, bytes_after(sent, cut));
        leak_end(&search);
        if (best(&search).kind != kind)
            return false;
    }
    return find_in(sent, 1).kind == kind && find_in(sent, 3).kind == kind && find_in(sent, 7).kind == kind;
}

static enum leak_kind kind_in(const char *sent)
{
    enum leak_kind kind = find_in(text(sent), strlen(sent) + 1).kind;
    CHECK(is_same_at_every_cut(text(sent), kind));
    return kind;
}

static const char *in_percent(struct arena *arena, const char *plain)
{
    auto_buf struct buf out = {0};
    for (; *plain; plain++)
        buf_printf(&out, "%%%02X", (unsigned char)*plain);
    return arena_str(arena, buf_text(&out));
}

/* With a newline after each `columns` letters. */
static const char *in_lines(struct arena *arena, const char *plain, size_t columns, const char *newline)
{
    auto_buf struct buf out = {0};
    for (size_t i = 0; plain[i]; i++) {
        buf_add_char(&out, plain[i]);
        if (i % columns == columns - 1)
            buf_add_str(&out, newline);
    }
    return arena_str(arena, buf_text(&out));
}

TEST(a_key_of_a_known_format_is_found_in_any_text)
{
    struct arena arena = {0};
    const char *const keys[] = {github, anthropic, amazon};
    const char *const texts[] = {"%s",
                                 "{\"content\":\"here: %s\"}",
                                 "{\"content\":\"a\\n%s\\nb\"}",
                                 "{\"content\":\"{\\\"a\\\":\\\"b\\\\n%s\\\\n\\\"}\"}",
                                 "token=%s&x=1",
                                 "/path/%s?x",
                                 "https://me:%s@host/",
                                 "The key is %s.",
                                 "first\n%s\nlast",
                                 "<b>%s</b>",
                                 "\\u003c%s\\u003e"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < sizeof(texts) / sizeof(*texts); j++) {
            auto_buf struct buf sent = {0};
            for (const char *at = texts[j]; *at; at++) {
                if (*at == '%' && at[1] == 's')
                    buf_add_str(&sent, keys[i]), at++;
                else
                    buf_add_char(&sent, *at);
            }
            if (!CHECK_INT(kind_in(buf_text(&sent)), LEAK_KEY))
                printf("# %s\n", buf_text(&sent));
        }
    }
    CHECK_STR(find_in(text(github), 100).name, "ghp_");
    arena_free(&arena);
}

TEST(encoded_keys_are_found)
{
    struct arena arena = {0};
    const char *const keys[] = {github, anthropic, amazon};
    for (size_t i = 0; i < 3; i++) {
        const char *const forms[] = {
            base64_of(&arena, text(keys[i])),
            base64_of(&arena, text(arena_printf(&arena, "x=%s\n", keys[i]))),
            base64_of(&arena, text(arena_printf(&arena, "xy=%s\n", keys[i]))),
            base64_of(&arena, text(arena_printf(&arena, "xyz=%s\nmore", keys[i]))),
            in_percent(&arena, keys[i]),
            in_percent(&arena, base64_of(&arena, text(keys[i]))),
            in_lines(&arena, keys[i], 10, "\n"),
            in_lines(&arena, keys[i], 16, "\r\n"),
            in_lines(&arena, keys[i], 16, "\\n"),
            in_lines(&arena, keys[i], 16, "\\\n"),
            in_lines(&arena, base64_of(&arena, text(keys[i])), 20, "\r\n"),
        };
        for (size_t j = 0; j < sizeof(forms) / sizeof(*forms); j++) {
            const char *const sent[] = {forms[j], arena_printf(&arena, "{\"a\": \"%s\"}", forms[j]),
                                        arena_printf(&arena, "before %s after", forms[j]),
                                        arena_printf(&arena, "x/%s", forms[j])};
            for (size_t k = 0; k < 4; k++) {
                if (!CHECK_INT(kind_in(sent[k]), LEAK_KEY))
                    printf("# %zu, form %zu: %s\n", i, j, sent[k]);
            }
        }
    }
    arena_free(&arena);
}

TEST(known_values_and_canaries_are_more_certain_than_formats)
{
    struct arena arena = {0};
    CHECK_INT(kind_in(arena_printf(&arena, "password: %s", value)), LEAK_VALUE);
    CHECK_INT(kind_in(arena_printf(&arena, "%s, %s", value, github)), LEAK_VALUE);
    CHECK_INT(kind_in(arena_printf(&arena, "%s %s %s", github, canary, value)), LEAK_CANARY);
    CHECK_INT(kind_in(base64_of(&arena, text(arena_printf(&arena, "[default]\nid = %s\n", canary)))),
              LEAK_CANARY);
    CHECK_STR(find_in(text(canary), 5).name, "~/.aws");
    CHECK_INT(kind_in("correct-horse-battery-8-staple"), LEAK_NONE);
    arena_free(&arena);
}

/* A command makes up keys of many formats, and sends the secret after them. */
TEST(no_number_of_keys_hides_a_known_value)
{
    struct arena arena = {0};
    static const char *const beginnings[] = {"ghp_", "gho_", "ghu_", "ghs_",  "ghr_",     "npm_",
                                             "gsk_", "r8_",  "xai-", "pplx-", "lin_api_", "rk_live_"};
    auto_buf struct buf keys = {0};
    for (size_t i = 0; i < array_len(beginnings); i++)
        buf_printf(&keys, "%sR4nd0mLettersThatNobodyEverUsed01XyzR4nd0mLettersThatNobody\n", beginnings[i]);
    CHECK_INT(kind_in(buf_text(&keys)), LEAK_KEY); /* the control */
    CHECK_INT(kind_in(arena_printf(&arena, "%s%s", buf_text(&keys), value)), LEAK_VALUE);
    CHECK_INT(kind_in(arena_printf(&arena, "%s%s\n%s", buf_text(&keys), value, canary)), LEAK_CANARY);
    CHECK_INT(kind_in(arena_printf(&arena, "%s\n%s", canary, buf_text(&keys))), LEAK_CANARY);
    arena_free(&arena);
}

TEST(private_keys_are_found)
{
    struct arena arena = {0};
    CHECK_INT(kind_in(private_key), LEAK_PRIVATE_KEY);
    CHECK_INT(kind_in(in_lines(&arena, private_key, 1000, "")), LEAK_PRIVATE_KEY);
    CHECK_INT(kind_in(base64_of(&arena, text(private_key))), LEAK_PRIVATE_KEY);
    CHECK_INT(kind_in(arena_printf(&arena, "ab\n%s", private_key)), LEAK_PRIVATE_KEY);
    CHECK_INT(kind_in(arena_printf(&arena, "a: |\n  %s", in_lines(&arena, private_key, 1000, ""))),
              LEAK_PRIVATE_KEY);
    CHECK_INT(kind_in(in_percent(&arena, private_key)), LEAK_PRIVATE_KEY);
    CHECK_INT(kind_in("{\"key\":\"-----BEGIN PRIVATE "
                      "KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7+/x\\n"
                      "4Ah3k5l7m9n1p2q4r6s8t0u3v5w7x9y1z\\n-----END PRIVATE KEY-----\"}"),
              LEAK_PRIVATE_KEY);
    CHECK_INT(kind_in("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n"
                      "lQOYBGNf0aMBCADGx7s9d8f7a6s5d4f3g2h1j0k9l8m7n6b5v4c3x2z1q0w9e8r7t6\n"),
              LEAK_PRIVATE_KEY);
    arena_free(&arena);
}

TEST(what_only_looks_like_a_secret_is_not_found)
{
    static const char *const texts[] = {
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_R4nd0mLettersTooShort",
        "xghp_R4nd0mLettersThatNobodyEverUsed01Xyz",
        "AKIAIOSFODNN7EXAMPLE",
        "AKIAQ3EGRNV7JK2MZTWXY",
        "<div class=\"sk-folding-cube sk-circle-fade-dot-animation-very-long-name\">",
        "sk-ant-api03-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "npm_config_registry_of_the_whole_organisation",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "-----BEGIN RSA PRIVATE KEY-----\\n...\\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY----- begins a key that 1 Program wrote into a file, which it reads again later",
        "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7xyz12abcdefghij",
        "100% of %zz and % and %4",
        "\\",
        "%4",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (!CHECK_INT(kind_in(texts[i]), LEAK_NONE))
            printf("# %s\n", texts[i]);
    }
}

TEST(a_placeholder_is_no_leak_in_any_form)
{
    struct arena arena = {0};
    static const char placeholder[] = "sk-ant-api03-PLACEHOLDERabc123Def456Ghi789Jkl012Mno345";
    CHECK_INT(kind_in(placeholder), LEAK_NONE);
    CHECK_INT(kind_in(base64_of(&arena, text(arena_printf(&arena, "x:%s", placeholder)))), LEAK_NONE);
    CHECK_INT(kind_in(in_percent(&arena, placeholder)), LEAK_NONE);
    CHECK_INT(kind_in(arena_printf(&arena, "%s %s", placeholder, anthropic)), LEAK_KEY);
    arena_free(&arena);
}

TEST(where_a_key_is_expected_only_values_and_canaries_count)
{
    struct leak_search search;
    leak_begin(&search, the_table());
    search.skips_formats = true;
    CHECK(!leak_take(&search, text(github)) && !leak_end(&search));
    CHECK(!leak_take(&search, text(private_key)) && !leak_end(&search));
    CHECK(!leak_take(&search, text(value)) && leak_end(&search));
    CHECK(best(&search).kind == LEAK_VALUE);
    CHECK(!leak_take(&search, text(canary)) && leak_end(&search));
    CHECK(best(&search).kind == LEAK_CANARY);
}

TEST(what_does_not_follow_is_not_joined)
{
    struct leak_search search;
    leak_begin(&search, the_table());
    leak_take(&search, bytes_of(github, 20));
    CHECK(!leak_end(&search));
    leak_take(&search, bytes_of(github + 20, strlen(github) - 20));
    CHECK(!leak_end(&search) && best(&search).kind == LEAK_NONE);
}

/* Random letters of an encoding, as images are sent: no key comes about by chance. */
static void check_noise(const char *letters, size_t count)
{
    enum { SIZE = 1 << 20 };
    char *noise = malloc(SIZE);
    uint64_t state = 88172645463325252;
    REQUIRE(noise);
    for (size_t i = 0; i < SIZE; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        noise[i] = letters ? letters[state % count] : (char)state;
    }
    CHECK_INT(find_in(bytes_of(noise, SIZE), 16384).kind, LEAK_NONE);
    free(noise);
}

TEST(noise_is_no_leak)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
    check_noise(base64, 64);
    check_noise(base64, 66);
    check_noise(base64, 36);
    check_noise("0123456789abcdef", 16);
    check_noise(NULL, 0);
}

TEST(the_longest_word_of_a_value_is_searched_for)
{
    CHECK(bytes_equal(word_longest(text("postgres://me:s3cretPassw0rdOfMine@db/")),
                      text("s3cretPassw0rdOfMine")));
    CHECK(bytes_equal(word_longest(text("..0123456789abcdef--")), text("0123456789abcdef")));
    CHECK(!word_longest(text("short and many words")).size);
    CHECK(word_is_random(text("w7Kp2mQx9Lr4Tz6Vb8Nc")) && word_is_random(text("0123456789abcdef")));
    CHECK(!word_is_random(text("a-long-name-without-digits")) &&
          !word_is_random(text("login-42.example.test")));
    CHECK(!word_is_random(text("1111111111111111aaaa")) && !word_is_random(text("w7Kp2mQx9Lr4")));
}

UNIT_MAIN()
