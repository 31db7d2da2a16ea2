/* Files with tokens: which of their values are secret. */
#include "base/buf.h"
#include "base/token_file.h"
#include "unit.h"

static void take(void *self, struct bytes value)
{
    struct buf *found = self;
    buf_printf(found, "%.*s|", (int)value.size, value.at);
}

/* The values with | after each; NULL: the text is not in the format. */
static const char *found_in(enum token_format format, const char *text)
{
    static struct buf found;
    found.size = 0;
    bool is_read = token_file_read(format, bytes_of(text, strlen(text)), take, &found);
    return !is_read ? NULL : found.size ? buf_text(&found) : "";
}

TEST(a_line_has_a_name_and_a_value)
{
    CHECK_STR(found_in(TOKENS_IN_LINES, ""), "");
    CHECK_STR(found_in(TOKENS_IN_LINES, "token = \"a_b\"\n"), "a_b|");
    CHECK_STR(found_in(TOKENS_IN_LINES, "//registry.corp:8080/:_authToken=a_b\r\n"), "a_b|");
    CHECK_STR(found_in(TOKENS_IN_LINES, "    oauth_token: gho_x=y: z\n"), "gho_x=y: z|");
    CHECK_STR(found_in(TOKENS_IN_LINES, "AWS_SECRET_ACCESS_KEY=a_b\naws_session_token = c_d"), "a_b|c_d|");
    CHECK_STR(found_in(TOKENS_IN_LINES, "# token=a\n; token=b\n[token]\ntoken\ntoken=\n=x\nuser=me\n"), "");
}

TEST(a_value_in_base64_is_found_as_what_it_stands_for_too)
{
    CHECK_STR(found_in(TOKENS_IN_LINES, "_password=c2VjcmV0\n"), "c2VjcmV0|secret|");
    CHECK_STR(found_in(TOKENS_IN_LINES, "_auth=bWU6c2VjcmV0\n"), "bWU6c2VjcmV0|secret|");
    CHECK_STR(found_in(TOKENS_IN_LINES, "_auth=AAECAwQF\n"), "AAECAwQF|"); /* bytes that are no text */
}

TEST(strings_of_json_count_by_their_names_at_whatever_depth)
{
    CHECK_STR(found_in(TOKENS_IN_JSON, "{\"auths\": {\"a.test\": {\"auth\": \"bWU6cA==\"}}}"), "bWU6cA==|p|");
    CHECK_STR(found_in(TOKENS_IN_JSON, "[{\"x\": [{\"apiKey\": \"a\\u005fb\"}]}, {\"refresh\": \"c_d\"}]"),
              "a_b|c_d|");
    CHECK_STR(
        found_in(TOKENS_IN_JSON, "{\"account_id\": \"a\", \"key\": 1, \"token\": null, \"expires\": \"x\"}"),
        "");
    CHECK_STR(found_in(TOKENS_IN_JSON, "{\"key\": \"a_b\""), NULL);
    CHECK_STR(found_in(TOKENS_IN_JSON, ""), NULL);
}

TEST(netrc_has_words)
{
    CHECK_STR(
        found_in(TOKENS_IN_NETRC, "machine a login b password c_d\nmachine e\n\tlogin f\n\tpassword \"g_h\""),
        "c_d|g_h|");
    CHECK_STR(found_in(TOKENS_IN_NETRC, "machine a login b password"), "");
    CHECK_STR(found_in(TOKENS_IN_NETRC, "password password password x_y"), "password|x_y|");
}

TEST(urls_have_a_password_or_a_user)
{
    CHECK_STR(found_in(TOKENS_IN_URLS,
                       "https://me:a%2Fb%@c.test/x\nhttps://c_d@c.test\nhttps://e_f:x-oauth-basic@c\n"),
              "a/b%|c_d|e_f|");
    CHECK_STR(found_in(TOKENS_IN_URLS, "https://c.test\n://\n@\nhttps://@c.test\nhttps://:@c.test\n"), "");
}

TEST(bytes_that_are_no_text_are_not_read)
{
    static struct buf found;
    for (enum token_format format = TOKENS_IN_LINES; format <= TOKENS_IN_URLS; format++)
        CHECK(!token_file_read(format, bytes_of("token=a\0b", 9), take, &found) && found.size == 0);
}

UNIT_MAIN()
