#include "base/url.h"
#include "base/vec.h"
#include "unit.h"

static struct url url;

static bool parses(const char *text)
{
    url = (struct url){0};
    return url_parse(text, strlen(text), &url);
}

/* The port of the answer; -1 where the address is refused. */
static int port_of(const char *text)
{
    return parses(text) ? url.answer_port : -1;
}

TEST(a_page_has_a_host_and_nothing_around_it)
{
    CHECK(parses("https://auth.example.test/oauth?x=1"));
    CHECK(url_has_host(&url, "auth.example.test"));
    CHECK(!url_has_host(&url, "auth.example.tes"));
    CHECK(!url_has_host(&url, "auth.example.test.evil"));
    CHECK(parses("https://AUTH.Example.test"));
    CHECK(url_has_host(&url, "auth.example.test"));
    CHECK(parses("https://auth.example.test?x"));
    CHECK(!parses("http://auth.example.test/"));
    CHECK(!parses("HTTPS://auth.example.test/"));
    CHECK(!parses("https://"));
    CHECK(!parses("https:///x"));
    CHECK(!parses("https://auth.example.test:8443/"));
    CHECK(!parses("https://auth.example.test@evil.test/"));
    CHECK(!parses("https://u:p@auth.example.test/"));
    CHECK(!parses("https://auth.example.test#@evil.test/"));
    CHECK(!parses("https://auth.example.test\\@evil.test/"));
    CHECK(!parses("https://auth.example.test%2eevil.test/"));
    CHECK(!parses("file:///etc/passwd"));
    CHECK(!parses("-h https://auth.example.test/"));
}

TEST(only_plain_characters_pass)
{
    static const char *const bad[] = {" ", "\"", "'",  "`",    "$",    "(", ")", "<", ">",
                                      "|", "\\", "\n", "\x1b", "\x80", "^", "{", "["};
    for (size_t i = 0; i < array_len(bad); i++) {
        char text[64];
        snprintf(text, sizeof(text), "https://a.test/x%sy", bad[i]);
        CHECK(!parses(text));
    }
    CHECK(!url_parse("https://a.test/x\0y", 18, &url));
    CHECK_INT(url_span("https://a.test/x y", 18), 16);
    static char longest[URL_LONGEST + 2];
    memset(longest, 'a', sizeof(longest) - 1);
    memcpy(longest, "https://a.test/", 15);
    CHECK(!parses(longest));
    CHECK(url_parse(longest, URL_LONGEST, &url));
}

TEST(the_answers_port_is_one_of_the_loopback)
{
    CHECK_INT(port_of("https://a.test/?redirect_uri=http%3A%2F%2Flocalhost%3A1455%2Fauth"), 1455);
    CHECK_INT(port_of("https://a.test/?x=1&redirect_uri=http://127.0.0.1:54545/callback&y=2"), 54545);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http://localhost:65535"), 65535);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http://localhost:80/"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http://localhost:65536/"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http://localhost:145500/"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http://localhost:1455@evil.test/"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http://localhost:1455.evil.test/"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http://localhost.evil.test:1455/"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=https://localhost:1455/"), 0);
    CHECK_INT(
        port_of("https://a.test/?redirect_uri=http://localhost:1455/&redirect_uri=http://localhost:1456/"),
        0);
    CHECK_INT(port_of("https://a.test/redirect_uri=http://localhost:1455/"), 0);
    CHECK_INT(port_of("https://a.test/?xredirect_uri=http://localhost:1455/"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http%3A%2F%2Flocalhost%3A14%"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri=http%3A%2F%2Flocalhost%3A14%5"), 0);
    CHECK_INT(port_of("https://a.test/?redirect_uri="), 0);
    CHECK_INT(port_of("https://a.test/?"), 0);
}

UNIT_MAIN()
