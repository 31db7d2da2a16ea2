#include "policy/host.h"
#include "unit.h"

static struct arena arena;

/* The host as bawn understands it, or the first words of its objection. */
static const char *understood(const char *text)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    if (host_parse(&arena, text, &host, &problem, &hint) < 0)
        return "refused";
    return arena_printf(&arena, "%s:%u%s", host_text(&arena, &host), host.port,
                        host.may_be_unnamed ? HOST_UNNAMED : "");
}

static bool are(bool (*relation)(const struct host_object *, const struct host_object *), const char *first,
                const char *second)
{
    struct host_object a, b;
    const char *problem = NULL, *hint = NULL;
    return host_parse(&arena, first, &a, &problem, &hint) == 0 &&
           host_parse(&arena, second, &b, &problem, &hint) == 0 && relation(&a, &b);
}

static bool covers(const char *pattern, const char *asked)
{
    return are(host_covers, pattern, asked);
}

static bool may_lead_to(const char *host, const char *address)
{
    return are(host_may_lead_to, host, address);
}

TEST(one_spelling_has_one_meaning)
{
    CHECK_STR(understood("Example.COM"), "example.com:0");
    CHECK_STR(understood("example.com."), "example.com:0");
    CHECK_STR(understood("example.com:22"), "example.com:22");
    CHECK_STR(understood("*.Example.com:8443"), "*.example.com:8443");
    CHECK_STR(understood("localhost"), "localhost:0");
    CHECK_STR(understood("example.com:8443+Unnamed"), "example.com:8443+unnamed");
    CHECK_STR(understood("*.example.com+unnamed"), "*.example.com:0+unnamed");
    CHECK_STR(understood("_dmarc.example.com"), "_dmarc.example.com:0");
    CHECK_STR(understood("10.0.0.5:5432"), "10.0.0.5:5432");
    CHECK_STR(understood("10.0.0.0/8"), "10.0.0.0/8:0");
    CHECK_STR(understood("10.0.0.0/8:53"), "10.0.0.0/8:53");
    CHECK_STR(understood("0.0.0.0/0"), "0.0.0.0/0:0");
    CHECK_STR(understood("2001:DB8::1"), "2001:db8::1:0");
    CHECK_STR(understood("[2001:db8::1]:443"), "2001:db8::1:443");
    CHECK_STR(understood("[2001:db8::/32]:443"), "2001:db8::/32:443");
}

TEST(what_could_mean_two_things_is_refused)
{
    static const char *const refused[] = {
        "",
        "*",
        "a.*.com",
        "*com",
        "http://example.com",
        "example.com/x",
        "a..b",
        ".example.com",
        "-a.com",
        "a-.com",
        "example.com:0",
        "example.com:65536",
        "example.com:https",
        "example.com:",
        "2130706433",
        "0x7f.1",
        "127.1",
        "010.0.0.1",
        "1.2.3.4.5",
        "10.0.0.5/8",
        "10.0.0.0/33",
        "10.0.0.0/",
        "::ffff:10.0.0.5",
        "[10.0.0.1]:80",
        "[::1",
        "[::1]x",
        "\xc3\xbc.example",
        "a b.com",
        "user@example.com",
        "example.com:22:33",
        "1.2.3.0x4",
        "a.b.0x10",
        "example.com+",
        "example.com+unname",
        "example.com+unnamed:443",
        "10.0.0.5+unnamed",
    };
    for (size_t i = 0; i < array_len(refused); i++) {
        if (!CHECK_STR(understood(refused[i]), "refused"))
            printf("# it was '%s'\n", refused[i]);
    }
}

TEST(names_and_labels_have_their_longest)
{
    char name[300];
    memset(name, 'a', sizeof(name));
    for (size_t i = 63; i < sizeof(name); i += 64)
        name[i] = '.';
    name[253] = '\0';
    CHECK(strcmp(understood(name), "refused") != 0);
    name[253] = 'a';
    name[254] = '\0';
    CHECK_STR(understood(name), "refused");
    memset(name, 'a', 64);
    name[64] = '\0';
    CHECK_STR(understood(name), "refused");
}

TEST(a_wildcard_covers_what_lies_below_and_nothing_else)
{
    CHECK(covers("*.example.com", "a.example.com"));
    CHECK(covers("*.example.com", "a.b.example.com"));
    CHECK(covers("*.example.com", "*.b.example.com"));
    CHECK(covers("*.example.com", "*.example.com"));
    CHECK(!covers("*.example.com", "example.com"));
    CHECK(!covers("*.example.com", "badexample.com"));
    CHECK(!covers("*.b.example.com", "*.example.com"));
    CHECK(!covers("a.example.com", "*.example.com"));
    CHECK(covers("example.com", "EXAMPLE.com."));
}

TEST(networks_cover_their_addresses)
{
    CHECK(covers("10.0.0.0/8", "10.255.1.2"));
    CHECK(!covers("10.0.0.0/8", "11.0.0.1"));
    CHECK(covers("10.0.0.0/8", "10.1.0.0/16"));
    CHECK(!covers("10.1.0.0/16", "10.0.0.0/8"));
    CHECK(covers("0.0.0.0/0", "1.2.3.4"));
    CHECK(!covers("0.0.0.0/0", "2001:db8::1"));
    CHECK(covers("2001:db8::/32", "2001:db8:ffff::1"));
    CHECK(!covers("10.0.0.0/8", "ten.example.com"));
}

TEST(names_lead_anywhere_and_networks_of_IPv6_to_IPv4)
{
    CHECK(may_lead_to("example.com", "10.0.0.0/8"));
    CHECK(may_lead_to("*.example.com", "2001:db8::1"));
    CHECK(may_lead_to("[::/0]", "10.0.0.0/8"));
    CHECK(!may_lead_to("[2001:db8::1]", "10.0.0.0/8")); /* named by itself, it is meant */
    CHECK(!may_lead_to("[::/0]", "2001:db8::1"));
    CHECK(!may_lead_to("0.0.0.0/0", "10.0.0.0/8"));
    CHECK(!may_lead_to("example.com", "other.com"));
    arena_free(&arena);
}

UNIT_MAIN()
