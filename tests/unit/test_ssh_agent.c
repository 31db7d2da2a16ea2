/* bawn's ssh agent: known_hosts, signatures of host keys, and what may be signed. tests/ssh_agent has the rest, with real programs. */
#include <string.h>

#include "base/base64.h"
#include "supervise/dialled.h"
#include "supervise/known_hosts.h"
#include "supervise/signing_fit.h"
#include "unit.h"
#include "vault/agent.h"

static struct arena arena;

/* Public keys, and signatures of the text "a session of ssh, 32 bytes long." by them, made by OpenSSH 9.2. */
static const char signed_text[] = "a session of ssh, 32 bytes long.";

static const struct {
    const char *key, *signature;
} hosts[] = {
    {"AAAAC3NzaC1lZDI1NTE5AAAAIH07ROghFcQVlcq88w/Y/3b7V1dIli8yk9mB5SW8bJPZ",
     "AAAAC3NzaC1lZDI1NTE5AAAAQM3sZ5c8fvoyimyG875eQRy8Ycc+XqxhCMM2YSDiNH3IwzNWXvTs+G7mvcoJ2mGDW19eZfA+"
     "I0npiEkNvNBRYQI="},
    {"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBJ1M+4+bKjhbjLpnukxRhW6+O/oXhXe00OIL0GIeRMzn"
     "68fa5C5brQonJUYf9XploqJ4vpa+OUehWGZ+o7zG4hk=",
     "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAABIAAAAIGRr5SeqzCZORTsse6KoDM8lqZQPg+3o6rdrsM3w+AQTAAAAIAUIrLwR"
     "vjIjfaJ3fuR3wD3o6TjnWiRbZC8WqAYpQHWY"},
    {"AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBCxka6nOHWJIR9z7xLs18afEstmeKoniOh7O5yW8UI9I"
     "LAYZEkdTI2Gf7CHGRx28/10tKF4tXABX03EXjUcC9i3TX+iyKOt7T3SgH/yTmF9dt/2PqkqfofRSULTNMU493A==",
     "AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAABqAAAAMQCotd8CUGAGp3J9ySy2etnXhCP0Fup4QqPwadNw0VcBnNsUmRCIgEKy"
     "Orzs7CGlBCEAAAAxAI81tNICDwEi/fDDb3dTArqXLqMI9EB9+mUXGdejKJXI7G712K+15OgAJptu8+A58A=="},
    {"AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBACKQ7xmqbDVYA7D306XYZTyy035vlBl7iUQ0eZeiQ8F"
     "6PTxrRNpi0cOt9wTBe07/c5bvclUyB2iu2BBtOTgliAseAAvwP1IA2alJ+8izSfVfP/25+peqEATyuvy4Dj0mi0x7svfbCT8"
     "zp2ftfupI46M/590ZQGztvT9aeUXn03v2GayJQ==",
     "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAACLAAAAQgFTTJVaJtAsaEKMOuvQSMq+VLdCbnwEt0dqwNf+k0u3rPUMlnese0OT"
     "zCu14jnYJrCUexGDDMJl1L2Nf9m4KYcb6wAAAEFJH5Ba/BnqoOVKzQGX8VJ2UUu/9fA4rOapAU7Ban2Hocs3eUN6y90FEhyk"
     "9TqkD501/IfMziqk2qtlL/yLoMWNTQ=="},
    {"AAAAB3NzaC1yc2EAAAADAQABAAABAQCV5CJpwOawSBlHxqVv6pJBu+EHTTx0pM1U0vdbBG2DuRN7KhLe8mL54BfL+6etfs+w"
     "b77+NGL5k/pT7LMF3n0sh0rAHdFHFOFcQ+ldylXd5/Q3cucL5Htyt15MAZH5BhJgwQIP0pPdth0y2t136U8kYk6vW1KpvHJm"
     "4eb6FAxfrx3HiqhN+0neAys/6CWyaAArI9aVl0eUpKXeWbRZrujGrmPMtHt0hiA6U+MPMGVpoHWyjMV0rs28lCqLbOceo124"
     "zXZt1zpHw8F6nXCMPpbdRKV55FgokpPCBWn5fcSDXHWamIR/RAI9XX7aNLpe5cr31f5xhtQBRxYt8uwDzpkh",
     "AAAADHJzYS1zaGEyLTI1NgAAAQARoptyZvVXj3/SIAABjNucIgUZoM6om6k6tVjUMLpB8KBP5qskjL2mNcIwXoYNhh/xnkND"
     "xhZbMsNQXVkVOjtn5TBPEQu23PKcuLW7GP14w7clnM3P6ndrcGJzZNuCYEWNMV0MZXSgjBD7dJT3sSTTXj9ics9ufcyOxn0r"
     "n+vkkW8FBwopfWDcc8Tg7tYWn4cWqu1hWWFZKwiyceHQt8ieDThPxxELrK93e2W62Pvn8LtCamVFlOFG0nrEIGmNz/E+2LUD"
     "KOrhegcni1bUZVzWubPVt464YnTxGWvsx758ub8dmL00cJhCahbj1ZIskNd2c5iQMPQA6pGLQD1Vjl9e"},
    {"AAAAB3NzaC1yc2EAAAADAQABAAABAQCV5CJpwOawSBlHxqVv6pJBu+EHTTx0pM1U0vdbBG2DuRN7KhLe8mL54BfL+6etfs+w"
     "b77+NGL5k/pT7LMF3n0sh0rAHdFHFOFcQ+ldylXd5/Q3cucL5Htyt15MAZH5BhJgwQIP0pPdth0y2t136U8kYk6vW1KpvHJm"
     "4eb6FAxfrx3HiqhN+0neAys/6CWyaAArI9aVl0eUpKXeWbRZrujGrmPMtHt0hiA6U+MPMGVpoHWyjMV0rs28lCqLbOceo124"
     "zXZt1zpHw8F6nXCMPpbdRKV55FgokpPCBWn5fcSDXHWamIR/RAI9XX7aNLpe5cr31f5xhtQBRxYt8uwDzpkh",
     "AAAADHJzYS1zaGEyLTUxMgAAAQBkEiku/DpYnJEtLd2ZthtJwrKNaKl+WJ3ne1buOz3bAGs/5QJdnMSfkIi8Fd3clk5WTosB"
     "0X+awKeq+XrDcKzA4+41zDGc4XsOj+xj5dC0r/gjttlvXfQVKKoeU8LWua3GYqx7oDEir3JbOW5PEjeCscEwFVD8i3idYwgz"
     "VZ6EbKD+h5+0BmzuS6jCRj/ByyC2UtRscvj1hj9LT37rpAA5JBAVvrBB6P+7b7nBnjVlJPRgxtpooDL9UjD1gfaqoEHjRURo"
     "BnipSoFmKmAG2OIScu1rF06JTL9M0VBVb8twqSfCnRCSB+oSw3jKqlpSLF1yiI0MzkpJJ8MgLEDQuB7t"},
};

static struct bytes decoded(const char *text)
{
    auto_buf struct buf out = {0};
    CHECK(base64_decode(&out, bytes_of(text, strlen(text))));
    return bytes_of(arena_copy(&arena, out.bytes, out.size), out.size);
}

TEST(a_host_key_verifies_what_it_has_signed_and_nothing_else)
{
    struct bytes text = bytes_of(signed_text, strlen(signed_text));
    for (size_t i = 0; i < array_len(hosts); i++) {
        struct bytes key = decoded(hosts[i].key), signature = decoded(hosts[i].signature);
        char *changed = arena_copy(&arena, signature.at, signature.size);
        CHECK(host_key_verify(key, signature, text));
        CHECK(!host_key_verify(key, signature, bytes_of(text.at, text.size - 1)));
        CHECK(!host_key_verify(key, signature, (struct bytes){0}));
        char *longer = arena_alloc(&arena, key.size + 1);
        memcpy(longer, key.at, key.size);
        CHECK(!host_key_verify(bytes_of(longer, key.size + 1), signature, text));
        CHECK(!host_key_verify(decoded(hosts[(i + 2) % array_len(hosts)].key), signature, text));
        for (size_t size = 0; size < signature.size; size++)
            CHECK(!host_key_verify(key, bytes_of(signature.at, size), text));
        for (size_t size = 0; size < key.size; size++)
            CHECK(!host_key_verify(bytes_of(key.at, size), signature, text));
        for (size_t at = 0; at < signature.size; at++) {
            changed[at] ^= 1;
            CHECK(!host_key_verify(key, bytes_of(changed, signature.size), text));
            changed[at] ^= 1;
        }
    }
}

/* How many keys a file with this line has for "git.corp". */
static size_t known(const char *hosts_of_line, const char *rest)
{
    const char *text = arena_printf(&arena, "%s %s %s\n", hosts_of_line, rest, hosts[0].key);
    host_key_list keys = {0}, revoked = {0};
    known_hosts_find(&arena, bytes_of(text, strlen(text)), "git.corp", &keys, &revoked);
    size_t count = keys.count;
    vec_free(&keys);
    vec_free(&revoked);
    return count;
}

TEST(known_hosts_names_hosts_as_ssh_reads_it)
{
    static const char *const naming[] = {"git.corp", "GIT.corp", "other,git.corp", "*.corp",
                                         "g?t.*",    "*",        "  git.corp"},
                             *const others[] = {"git.corp.",
                                                "[git.corp]:22",
                                                "git",
                                                "*.corp,!git.*",
                                                "!git.corp",
                                                "#git.corp",
                                                "@revoked git.corp",
                                                "@cert-authority git.corp",
                                                "@other git.corp",
                                                "|1|AAAA|AAAA",
                                                "|2|x|y",
                                                "|1|",
                                                "?.corp"};
    for (size_t i = 0; i < array_len(naming); i++)
        CHECK(known(naming[i], "ssh-ed25519") == 1);
    for (size_t i = 0; i < array_len(others); i++)
        CHECK(known(others[i], "ssh-ed25519") == 0);
    CHECK(known("|1|bMgLHa8WCmxMToXZ4C/f7loP+PY=|V+Vmj2DHM6UOgaoPDCRBa18M2J4=", "ssh-ed25519") == 1);
    CHECK(known("git.corp", "ssh-rsa") == 0); /* the key says another kind */
    CHECK(known("git.corp", "") == 0);
}

TEST(a_revoked_key_is_found_whichever_host_its_line_names)
{
    const char *text = arena_printf(&arena, "@revoked other ssh-ed25519 %s\ngit.corp ssh-ed25519 %s",
                                    hosts[0].key, hosts[0].key);
    host_key_list keys = {0}, revoked = {0};
    known_hosts_find(&arena, bytes_of(text, strlen(text)), "git.corp", &keys, &revoked);
    CHECK(keys.count == 1 && revoked.count == 1 && host_keys_have(&revoked, keys.at[0]));
    CHECK(!host_keys_have(&revoked, bytes_of("x", 1)));
    vec_free(&keys);
    vec_free(&revoked);
}

static bool any_proof(struct bytes key not_used, struct bytes signature not_used, struct bytes text not_used)
{
    return true;
}

TEST(a_key_is_used_only_at_the_hosts_of_its_own_rules)
{
    struct agent_state state = AGENT_STATE_NONE;
    struct bytes one = decoded(hosts[0].key), two = decoded(hosts[1].key),
                 session = bytes_of(signed_text, strlen(signed_text));
    struct agent_rule rules[2] = {0};
    struct agent_fitting fitting;
    state.verify = any_proof;
    sha256_hex("first", 5, rules[0].hash);
    sha256_hex("second", 6, rules[1].hash);
    vec_push(&rules[0].hosts, ((struct agent_host){3, one}));
    vec_push(&rules[1].hosts, ((struct agent_host){4, two}));
    vec_push(&state.rules, rules[0]);
    vec_push(&state.rules, rules[1]);
    struct agent_request bind = {.kind = AGENT_BIND, .session = session, .host_key = two};
    struct agent_request login = {.kind = AGENT_LOGIN, .session = session, .key = bytes_of("first", 5)};
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_UNBOUND);
    CHECK(agent_bind(&state, &bind));
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_STRANGE);
    login.key = bytes_of("second", 6);
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_NOT_REFUSED && fitting.count == 1);
    CHECK(fitting.at[0].rule == 1 && fitting.at[0].host == 4);
    login.is_bound_itself = true;
    login.host_key = one;
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_OTHER_SESSION);
    login.host_key = two;
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_NOT_REFUSED);
    login.session = bytes_of(signed_text, strlen(signed_text) - 1);
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_OTHER_SESSION);
    login.session = session;
    login.kind = AGENT_OTHER;
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_NO_LOGIN);
    login.key = bytes_of("third", 5);
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_OTHER_KEY);
    agent_state_free(&state);
}

TEST(every_rule_and_host_with_the_same_host_key_fits_and_too_many_are_refused)
{
    struct agent_state state = AGENT_STATE_NONE;
    struct bytes one = decoded(hosts[0].key), session = bytes_of(signed_text, strlen(signed_text));
    struct agent_fitting fitting;
    state.verify = any_proof;
    for (unsigned i = 0; i < 3; i++) {
        struct agent_rule rule = {0};
        sha256_hex(i == 1 ? "other" : "key", i == 1 ? 5 : 3, rule.hash);
        vec_push(&rule.hosts, ((struct agent_host){0, one}));
        vec_push(&rule.hosts, ((struct agent_host){0, one})); /* known_hosts has it twice */
        vec_push(&rule.hosts, ((struct agent_host){7, one}));
        vec_push(&state.rules, rule);
    }
    struct agent_request bind = {.kind = AGENT_BIND, .session = session, .host_key = one};
    struct agent_request login = {.kind = AGENT_LOGIN, .session = session, .key = bytes_of("key", 3)};
    CHECK(agent_bind(&state, &bind));
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_NOT_REFUSED && fitting.count == 4);
    CHECK(fitting.at[1].rule == 0 && fitting.at[1].host == 7 && fitting.at[2].rule == 2);
    for (unsigned i = 8; i < 8 + AGENT_MOST_FITTING; i++)
        vec_push(&state.rules.at[0].hosts, ((struct agent_host){i, one}));
    CHECK(agent_judge(&state, &login, &fitting) == AGENT_TOO_MANY);
    agent_state_free(&state);
}

/* What a front that was taken over might send: the back has room for a user's name in a login alone. */
TEST(a_record_has_a_user_only_for_a_login)
{
    const struct bytes user = bytes_of("git", 3), session = bytes_of(signed_text, strlen(signed_text));
    for (int kind = AGENT_OTHER; kind < AGENT_KIND_COUNT; kind++) {
        struct agent_request request = {.kind = (enum agent_kind)kind, .session = session, .user = user},
                             read;
        auto_buf struct buf record = {0};
        agent_add_record(&request, &record);
        CHECK(agent_read_record(bytes_of(record.bytes, record.size), &read) == (kind == AGENT_LOGIN));
    }
}

/* --- which rule decides ------------------------------------------------------------------------------------------- */

static const char *mark_of(const char *text, char ret_mark[SHA256_HEX_SIZE])
{
    sha256_hex(text, strlen(text), ret_mark);
    return ret_mark;
}

TEST(the_host_that_was_dialled_is_known_by_one_connections_proof_and_not_by_two_of_different_hosts)
{
    struct dialled dialled = {0};
    char a[SHA256_HEX_SIZE], b[SHA256_HEX_SIZE], other[SHA256_HEX_SIZE];
    vec_push(&dialled.hosts, "build.corp:22");
    vec_push(&dialled.hosts, "build.corp:2222");
    dialled_take(&dialled, "build.corp:22", mark_of("a", a));
    dialled_take(&dialled, "build.corp:2222", mark_of("b", b));
    CHECK_STR(dialled_find(&dialled, a), "build.corp:22");
    CHECK_STR(dialled_find(&dialled, b), "build.corp:2222");
    dialled_take(&dialled, "build.corp:22", a);
    CHECK_STR(dialled_find(&dialled, a), "build.corp:22");
    dialled_take(&dialled, "build.corp:22", b); /* a server repeats what another one has said */
    CHECK(!dialled_find(&dialled, b));
    CHECK(!dialled_find(&dialled, mark_of("other", other)) && !dialled_find(&dialled, ""));
    /* What a helper that was taken over might say. */
    dialled_take(&dialled, "evil.corp:22", other);
    dialled_take(&dialled, "build.corp:22", "");
    dialled_take(&dialled, "build.corp:22", "a mark that is none");
    CHECK(!dialled_find(&dialled, other) && !dialled_find(&dialled, ""));
    for (int i = 0; i < DIALLED_KEPT; i++)
        dialled_take(&dialled, "build.corp:22", other);
    CHECK(dialled.kept.count == DIALLED_KEPT &&
          !dialled_find(&dialled, a)); /* too old: the strictest decides again */
    dialled_free(&dialled);
}

TEST(the_rules_of_the_dialled_host_stay_or_all_of_them)
{
    struct host_object hosts_of_rules[2] = {{.kind = HOST_NAME, .name = "build.corp", .port = 22},
                                            {.kind = HOST_NAME, .name = "build.corp", .port = 2222}};
    struct ssh_key_object key = {.hosts = hosts_of_rules, .host_count = 2};
    struct signing_rule three[3] = {{.key = &key}, {.key = &key}, {.key = &key}};
    signing_rule_list rules = {.at = three, .count = 3};
    signing_fit_list fits = {0};
    static const struct {
        const char *dialled;
        size_t count;
    } cases[] = {
        {"build.corp:22", 2}, {"build.corp:2222", 1}, {"other.corp:22", 3}, {"build.corp", 3}, {NULL, 3}};
    for (size_t i = 0; i < array_len(cases); i++) {
        char text[] = "0 0 1 1 2 0";
        CHECK(signing_fits_read(&rules, text, &fits));
        signing_fits_keep(&fits, cases[i].dialled);
        CHECK_INT((int)fits.count, (int)cases[i].count);
    }
    CHECK(fits.at[1].rule == &three[1] && fits.at[1].host == &hosts_of_rules[1]);
    vec_free(&fits);
}

UNIT_MAIN()
