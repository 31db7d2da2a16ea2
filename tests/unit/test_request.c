#include "base/text.h"
#include "policy/compose.h"
#include "policy/decide.h"
#include "policy/request.h"
#include "unit.h"

static struct arena arena;

static struct bytes bytes(const char *text)
{
    return bytes_of(text, strlen(text));
}

/* The path in its one spelling; NULL: it is refused. */
static const char *spelled(const char *target)
{
    static struct asked_request request;
    return request_read(bytes("GET"), bytes(target), &request) ? NULL : request.path;
}

TEST(a_path_has_one_spelling)
{
    CHECK_STR(spelled("/"), "/");
    CHECK_STR(spelled("/repos/acme/app"), "/repos/acme/app");
    CHECK_STR(spelled("/repos/acme/app/"), "/repos/acme/app");
    CHECK_STR(spelled("/a?b=/../c"), "/a");
    CHECK_STR(spelled("/a/?x"), "/a");
    CHECK_STR(spelled("/%72epos"), "/repos");
    CHECK_STR(spelled("/a%7Eb%2Cc"), "/a~b,c");
    CHECK_STR(spelled("/a%20b%3fc"), "/a%20b%3Fc");
    CHECK_STR(spelled("/caf%c3%a9"), "/caf%C3%A9");
    CHECK_STR(spelled("/..."), "/...");
    CHECK_STR(spelled("/.git/a..b"), "/.git/a..b");
    CHECK_STR(spelled("/Repos"), "/Repos");
}

TEST(a_path_that_can_be_read_in_two_ways_is_refused)
{
    static const char *const refused[] = {
        "",       "*",          "a",       "?",       "//",         "//a",       "/a//b", "/a//",
        "/.",     "/..",        "/a/./b",  "/a/../b", "/a/..",      "/%2e%2e/a", "/%2E",  "/a%2fb",
        "/a%2Fb", "/a%5cb",     "/a\\b",   "/..;/a",  "/a;x=1/b",   "/a%3bb",    "/a%00", "/a%0d%0a",
        "/a%7f",  "/a%",        "/a%2",    "/a%zz",   "/a%252e",    "/a%25",     "/a#b",  "/a b",
        "/a\x01", "/a\xc3\xa9", "/%c0%ae", "/%c0%af", "/%e0%80%af", "/%ff",      "/%c3",  "/%c3a",
        "/a\"b",  "/a<b",       "/a{b}",   "/a|b",    "/a^b",       "/a`b",      "/a[b]", "http://a/b",
    };
    for (size_t i = 0; i < array_len(refused); i++) {
        if (!CHECK_STR(spelled(refused[i]), NULL))
            printf("# %s\n", refused[i]);
    }
    static char longest[REQUEST_LONGEST_PATH + 2];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[0] = '/';
    CHECK_STR(spelled(longest), NULL);
    longest[REQUEST_LONGEST_PATH] = '\0';
    CHECK_STR(spelled(longest), longest);
}

/* Decodes every %XX, as the most eager server would, and drops one slash at the end. */
static size_t decoded(const char *text, char *out)
{
    size_t size = 0;
    for (; *text && *text != '?'; text++) {
        int high = *text == '%' ? text_hex_digit(text[1]) : -1, low = high < 0 ? -1 : text_hex_digit(text[2]);
        out[size++] = (char)(low < 0 ? *text : high * 16 + low);
        text += low < 0 ? 0 : 2;
    }
    size -= size > 1 && out[size - 1] == '/';
    out[size] = '\0';
    return size;
}

/* Random targets of the characters that matter. What is accepted means the same to a server that decodes once and to one that decodes twice. */
TEST(what_is_accepted_means_the_same_before_and_after)
{
    static const char *const parts[] = {"/", "a", "B",  ".", "..",     "%2e", "%2f", "%41", "%20", "%",
                                        "5", ";", "\\", "?", "%c3%a9", "%25", "~",   "//",  "*",   "'"};
    unsigned seed = 1, accepted = 0;
    for (unsigned round = 0; round < 200000; round++) {
        char target[128] = "/", once[128] = "", of_path[128] = "", twice[128] = "";
        size_t size = 1;
        for (unsigned i = 0; i < 1 + round % 8; i++) {
            seed = seed * 1103515245 + 12345;
            size += (size_t)snprintf(target + size, sizeof(target) - size, "%s",
                                     parts[(seed >> 16) % array_len(parts)]);
        }
        const char *path = spelled(target);
        if (!path)
            continue;
        accepted++;
        decoded(target, once);
        decoded(path, of_path);
        decoded(once, twice);
        bool is_same = strcmp(once, of_path) == 0 && strcmp(once, twice) == 0;
        bool is_stable = strcmp(arena_str(&arena, path), spelled(arena_str(&arena, path))) == 0;
        if (!CHECK(is_same && is_stable && !strstr(once, "//") && !strstr(once, "/../") && *once == '/')) {
            printf("# %s\n", target);
            return;
        }
    }
    CHECK(accepted > 1000);
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static struct policy policy;

/* Reads rules, each "LAYER VERB OBJECT": b is base, p a profile, a the administrator, r a repository, u the user; a capital A locks. */
static bool take_rules(const char *const *lines)
{
    static const struct {
        char letter;
        struct source source;
    } sources[] = {{'p', {.name = "p", .layer = LAYER_PROFILE}},
                   {'a', {.name = "a", .layer = LAYER_ADMIN}},
                   {'A', {.name = "a", .layer = LAYER_ADMIN}},
                   {'u', {.name = "u", .layer = LAYER_USER}},
                   {'r', {.name = "r", .layer = LAYER_REPOSITORY, .only_tightens = true}}};
    struct diags diags = {.arena = &arena};
    policy_free(&policy);
    policy = (struct policy){.arena = &arena};
    for (; *lines; lines++) {
        struct source *source = arena_new(&arena, struct source);
        for (size_t i = 0; i < array_len(sources); i++) {
            if (sources[i].letter == **lines)
                *source = sources[i].source;
        }
        source->text = *lines + 2;
        source->size = strlen(source->text);
        size_t before = policy.rules.count;
        parse_source(&arena, source, &policy.rules, &diags);
        for (; before < policy.rules.count; before++)
            policy.rules.at[before].locked = **lines == 'A';
    }
    index_rules(&policy);
    bool is_right = diags.errors == 0;
    diags_free(&diags);
    return is_right;
}

/* Is the request allowed? The rules are in an array that NULL ends. */
static bool allows(const char *const *rules, const char *method, const char *target)
{
    static struct asked_request request;
    const struct host_object host = {.kind = HOST_NAME, .name = "api.test", .port = 443};
    if (!CHECK(take_rules(rules)) || request_read(bytes(method), bytes(target), &request))
        return false;
    const struct rule *host_rule = decide_host(&policy, &host, 443, NULL).decides;
    const struct rule *rule = decide_request(&policy, &host, 443, &request, NULL).decides;
    return host_rule && host_rule->verb == VERB_CONNECT && rule && rule->verb == VERB_CONNECT;
}

#define RULES(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(a_host_with_paths_alone_allows_only_those)
{
    const char *const *rules = RULES("u connect api.test/repos/acme/app/** GET,POST");
    CHECK(allows(rules, "GET", "/repos/acme/app"));
    CHECK(allows(rules, "GET", "/repos/acme/app/pulls/1?x=../../y"));
    CHECK(allows(rules, "HEAD", "/repos/acme/app"));
    CHECK(allows(rules, "POST", "/repos/acme/app/pulls"));
    CHECK(!allows(rules, "DELETE", "/repos/acme/app"));
    CHECK(!allows(rules, "GET", "/repos/acme/application"));
    CHECK(!allows(rules, "GET", "/repos/acme"));
    CHECK(!allows(rules, "GET", "/repos/Acme/app"));
    CHECK(!allows(rules, "GET", "/"));
    CHECK(!allows(RULES("u connect api.test/a POST"), "HEAD", "/a"));
    CHECK(allows(RULES("u connect api.test/"), "GET", "/"));
    CHECK(!allows(RULES("u connect api.test/"), "GET", "/a"));
    CHECK(allows(RULES("u connect api.test/**"), "PATCH", "/a/b"));
    CHECK(allows(RULES("u connect api.test/*/b"), "GET", "/a/b"));
    CHECK(!allows(RULES("u connect api.test/*/b"), "GET", "/a/a/b"));
    CHECK(allows(RULES("u connect *.test/a"), "GET", "/a"));
    CHECK(!allows(RULES("u connect api.test:8443/a"), "GET", "/a"));
}

TEST(a_refusal_beats_a_grant)
{
    const char *const *rules =
        RULES("u connect api.test/repos/** GET", "u refuse api.test/**/actions/secrets/**");
    CHECK(allows(rules, "GET", "/repos/a/b/actions"));
    CHECK(!allows(rules, "GET", "/repos/a/b/actions/secrets"));
    CHECK(!allows(rules, "GET", "/repos/a/b/actions/secrets/"));
    CHECK(!allows(rules, "GET", "/repos/a/b/Actions/SECRETS/x"));
    CHECK(!allows(rules, "HEAD", "/repos/a/b/actions/secrets/x"));
    rules = RULES("u refuse api.test/**/secrets/**", "u connect api.test/repos/**");
    CHECK(!allows(rules, "GET", "/repos/secrets"));
    rules = RULES("u connect api.test", "p refuse api.test/admin/** DELETE");
    CHECK(!allows(rules, "DELETE", "/admin/x"));
    CHECK(allows(rules, "GET", "/admin/x"));
    CHECK(allows(RULES("p connect api.test", "u refuse *.test/admin"), "GET", "/other"));
    CHECK(!allows(RULES("p connect api.test", "u refuse *.test/admin"), "GET", "/admin"));
}

TEST(a_later_layer_opens_what_a_refusal_closes_only_by_its_name)
{
    CHECK(allows(RULES("p refuse api.test/a/**", "u connect api.test/a/**"), "GET", "/a/b"));
    CHECK(allows(RULES("p refuse api.test/a/**", "u connect api.test/a/b"), "GET", "/a/b"));
    CHECK(!allows(RULES("p refuse api.test/a/**", "u connect api.test/**"), "GET", "/a/b"));
    CHECK(!allows(RULES("u refuse api.test/a/**", "p connect api.test/a/b"), "GET", "/a/b"));
    CHECK(!allows(RULES("u refuse api.test/a/**", "u connect api.test/a/b"), "GET", "/a/b"));
}

TEST(a_path_of_a_later_layer_narrows_a_host)
{
    CHECK(!allows(RULES("p connect api.test", "u connect api.test/a"), "GET", "/b"));
    CHECK(allows(RULES("p connect api.test", "u connect api.test/a"), "GET", "/a"));
    CHECK(allows(RULES("u connect api.test", "u connect api.test/a"), "GET", "/b"));
    CHECK(allows(RULES("p connect api.test/a", "u connect api.test"), "GET", "/b"));
    CHECK(!allows(RULES("u connect *.test", "u connect api.test/a"), "GET", "/b"));
    CHECK(allows(RULES("p connect api.test/a", "u connect api.test/b"), "GET", "/a"));
}

TEST(a_refused_host_stays_refused)
{
    CHECK(!allows(RULES("p connect api.test/a", "u refuse api.test"), "GET", "/a"));
    CHECK(allows(RULES("u refuse api.test", "u connect api.test/a"), "GET", "/a"));
    CHECK(allows(RULES("u connect api.test/a", "u refuse api.test"), "GET", "/a"));
    CHECK(!allows(RULES("p connect api.test", "u refuse api.test", "u connect api.test/a"), "GET", "/b"));
    CHECK(allows(RULES("p refuse api.test", "u connect api.test/a"), "GET", "/a"));
}

TEST(an_untrusted_repository_only_narrows)
{
    CHECK(!allows(RULES("r connect api.test/a"), "GET", "/a"));
    CHECK(!allows(RULES("u connect api.test/a", "r connect api.test/b"), "GET", "/b"));
    CHECK(allows(RULES("p connect api.test", "r connect api.test/b"), "GET", "/a"));
    CHECK(!allows(RULES("u connect api.test", "r refuse api.test/b"), "GET", "/b"));
    CHECK(!allows(RULES("u connect api.test/**", "r refuse api.test/b/**"), "GET", "/b/c"));
}

TEST(a_lock_holds)
{
    CHECK(!allows(RULES("A refuse api.test/a/**", "u connect api.test/a/**"), "GET", "/a/b"));
    CHECK(!allows(RULES("A refuse api.test/a/**", "u connect api.test/a/b"), "GET", "/a/b"));
    CHECK(allows(RULES("A refuse api.test/a/**", "u connect api.test/**"), "GET", "/c"));
    CHECK(!allows(RULES("A refuse api.test", "u connect api.test/a"), "GET", "/a"));
    CHECK(allows(RULES("A connect api.test/a", "u refuse api.test"), "GET", "/a"));
    CHECK(!allows(RULES("A connect api.test/a", "u refuse api.test"), "GET", "/b"));
    CHECK(!allows(RULES("A connect api.test", "u refuse api.test/a"), "GET", "/a"));
}

static bool is_rule(const char *line)
{
    return take_rules((const char *const[]){line, NULL});
}

TEST(a_line_that_says_two_things_is_a_mistake)
{
    CHECK(is_rule("u connect a.test/x GET,POST b.test c.test/y DELETE 10.0.0.0/8 [2001:db8::/32]:443"));
    CHECK_INT(policy.rules.count, 5);
    CHECK_STR(policy.rules.at[0].written, "a.test/x GET,POST");
    static const char *const wrong[] = {
        "u connect a.test GET",
        "u connect a.test/x get",
        "u connect a.test/x GET,",
        "u connect a.test/x GET,,A",
        "u connect a.test/x CONNECT",
        "u connect a.test/x intranet",
        "u connect a.test:80/x",
        "u connect 10.0.0.5:80/x",
        "u connect a.test/x?y",
        "u connect a.test/x#y",
        "u connect a.test/x//y",
        "u connect a.test/x/",
        "u connect a.test/../x",
        "u connect a.test/%2e",
        "u connect a.test/%41",
        "u connect a.test/a**",
        "u connect a.test/**b",
        "u connect a.test/a;b",
        "u connect 'a.test/x*'",
        "u connect localhost/x",
        "u connect a.test+unnamed/x",
        "u connect https://a.test/x",
        "u connect *.*/x",
        "u connect a.test/%c3%a9",
    };
    for (size_t i = 0; i < array_len(wrong); i++) {
        if (!CHECK(!is_rule(wrong[i])))
            printf("# %s\n", wrong[i]);
    }
}

UNIT_MAIN()
