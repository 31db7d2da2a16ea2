/* The vault's pure parts: heads, content and the swap of placeholders. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/token.h"
#include "home/login.h"
#include "policy/parse.h"
#include "unit.h"
#include "vault/body.h"
#include "vault/carrier.h"
#include "vault/credential.h"
#include "vault/grant.h"
#include "vault/pushing.h"
#include "vault/swap.h"

static struct bytes text(const char *at)
{
    return bytes_of(at, strlen(at));
}

static const char *problem_with(const char *request)
{
    static struct head head;
    return head_read_request(text(request), "a.test", 443, &head);
}

/* What the head becomes, or the reason why it is refused. */
static const char *spelled(const char *request)
{
    static struct head head;
    static char result[4096];
    auto_buf struct buf out = {0};
    const char *problem = head_read_request(text(request), "a.test", 443, &head);
    if (problem)
        return problem;
    head_write_request(&head, "a.test", 443, &out);
    snprintf(result, sizeof(result), "%s", buf_text(&out));
    return result;
}

TEST(a_request_is_spelled_in_one_way)
{
    CHECK_STR(
        spelled("GET /a?b HTTP/1.1\r\nHost:  A.Test\r\nX:  1 \r\nConnection: keep-alive\r\nTE: x\r\n\r\n"),
        "GET /a?b HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n\r\n");
    CHECK_STR(
        spelled("POST / HTTP/1.1\r\nhost: a.test:443\r\ncontent-length: 007\r\nconnection: close\r\n\r\n"),
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 7\r\nConnection: close\r\n\r\n");
    CHECK_STR(
        spelled(
            "PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"),
        "PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
    CHECK_STR(
        spelled(
            "GET /ws HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\r\n"),
        "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    CHECK_STR(
        spelled("GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                "HTTP2-Settings: x\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
}

TEST(a_request_whose_content_a_server_may_read_as_the_next_one_closes_the_connection)
{
    static const char *const methods[] = {"GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "BREW"};
    for (size_t i = 0; i < array_len(methods); i++) {
        char request[256], wanted[256];
        snprintf(request, sizeof(request),
                 "%s / HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive\r\nContent-Length: 9\r\n\r\n",
                 methods[i]);
        snprintf(wanted, sizeof(wanted),
                 "%s / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\nConnection: close\r\n\r\n",
                 methods[i]);
        CHECK_STR(spelled(request), wanted);
    }
    CHECK_STR(spelled("DELETE / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"),
              "DELETE / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    CHECK_STR(spelled("DELETE / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n"),
              "DELETE / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
}

static enum coding coding_of(const char *fields)
{
    static struct head head;
    auto_buf struct buf answer = {0};
    buf_printf(&answer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n%s\r\n", fields);
    return head_read_answer(bytes_of(answer.bytes, answer.size), false, false, &head) ? CODING_OTHER
                                                                                      : head.coding;
}

TEST(an_answer_says_how_it_is_compressed)
{
    CHECK_INT(coding_of(""), CODING_NONE);
    CHECK_INT(coding_of("Content-Encoding: identity\r\n"), CODING_NONE);
    CHECK_INT(coding_of("content-encoding: GZip\r\n"), CODING_GZIP);
    CHECK_INT(coding_of("Content-Encoding: x-gzip\r\nContent-Encoding: identity\r\n"), CODING_GZIP);
    CHECK_INT(coding_of("Content-Encoding: deflate\r\n"), CODING_DEFLATE);
    CHECK_INT(coding_of("Content-Encoding: br\r\n"), CODING_OTHER);
    CHECK_INT(coding_of("Content-Encoding: gzip, gzip\r\n"), CODING_OTHER);
    CHECK_INT(coding_of("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"), CODING_OTHER);
    CHECK_INT(coding_of("Content-Encoding:\r\n"), CODING_OTHER);
}

TEST(the_head_of_an_unpacked_answer_says_nothing_of_its_packed_form)
{
    static struct head head;
    auto_buf struct buf out = {0};
    REQUIRE(!head_read_answer(
        text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\nX: 1\r\n\r\n"), false, false,
        &head));
    head_unpack(&head);
    head_write_answer(&head, &out);
    CHECK_STR(buf_text(&out), "HTTP/1.1 200 OK\r\nX: 1\r\nTransfer-Encoding: chunked\r\n\r\n");
    out.size = 0;
    REQUIRE(!head_read_answer(text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n"),
                              true, false, &head));
    head_unpack(&head);
    head_write_answer(&head, &out);
    CHECK_STR(buf_text(&out),
              "HTTP/1.1 200 OK\r\n\r\n"); /* to HEAD: the length would be that of the packed form */
}

TEST(a_request_that_two_servers_could_read_in_two_ways_is_refused)
{
    static const struct {
        const char *request, *problem;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         "it says twice how long its content is"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
         "it says twice how long its content is"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1, 1\r\n\r\n",
         "its Content-Length is not a number"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +1\r\n\r\n",
         "its Content-Length is not a number"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
         "its Transfer-Encoding is not plain chunked"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding : chunked\r\n\r\n",
         "a header line is malformed"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n folded\r\n\r\n", "a header line is malformed"},
        {"GET / HTTP/1.1\r\nHost: a.test\nX: 1\r\n\r\n", "a line does not end in CR LF"},
        {"GET / HTTP/1.1\nHost: a.test\r\n\r\n", "a line does not end in CR LF"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nX: a\rb\r\n\r\n", "a line does not end in CR LF"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nX: a\x01\r\n\r\n", "a header has a control character"},
        {"GET / HTTP/1.1\r\n\r\n", "it does not name its host once"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n", "it does not name its host once"},
        {"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", "it is for another host"},
        {"GET / HTTP/1.1\r\nHost: a.test.b.test\r\n\r\n", "it is for another host"},
        {"GET / HTTP/1.1\r\nHost: a.test:80\r\n\r\n", "it is for another host"},
        {"GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "its target is not a path"},
        {"CONNECT b.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", "CONNECT asks for another connection"},
        {"POST /x#/token HTTP/1.1\r\nHost: a.test\r\n\r\n", "its target has a fragment, which is never sent"},
        {"GET / HTTP/1.0\r\nHost: a.test\r\n\r\n", "it is not HTTP/1.1"},
        {"GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n", "its first line is malformed"},
        {"GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n", "it is not HTTP/1.1"},
        {"\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "its first line is malformed"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: authorization\r\n\r\n",
         "its Connection header names another header"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\n: x\r\n\r\n", "a header line is malformed"},
        {"head / HTTP/1.1\r\nHost: a.test\r\n\r\n", "its method is not in capital letters"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        const char *problem = problem_with(cases[i].request);
        CHECK_STR(problem ? problem : "(accepted)", cases[i].problem);
    }
    CHECK(!problem_with("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")); /* the control */
}

TEST(a_head_has_no_more_headers_than_there_is_room_for)
{
    for (int more = 0; more <= 1; more++) {
        auto_buf struct buf request = {0};
        buf_add_str(&request, "GET / HTTP/1.1\r\nHost: a.test\r\n");
        for (int i = 1; i < HEAD_MOST_FIELDS + more; i++)
            buf_add_str(&request, "X: y\r\n");
        buf_add_str(&request, "\r\n");
        const char *problem = problem_with(buf_text(&request));
        CHECK_STR(problem ? problem : "(accepted)", more ? "it has too many headers" : "(accepted)");
    }
}

TEST(a_head_ends_at_its_empty_line_and_has_a_limit)
{
    char *large = malloc(HEAD_LARGEST);
    memset(large, 'a', HEAD_LARGEST);
    CHECK_INT(head_size(text("GET / HTTP/1.1\r\nHost: a\r\n\r\nrest")), 27);
    CHECK_INT(head_size(text("GET / HTTP/1.1\r\nHost: a\r\n")), 0);
    CHECK_INT(head_size(bytes_of(large, HEAD_LARGEST - 1)), 0);
    CHECK_INT(head_size(bytes_of(large, HEAD_LARGEST)), -1);
    free(large);
}

static enum framing framing_of(const char *answer, bool is_to_head, bool may_upgrade)
{
    static struct head head;
    const char *problem = head_read_answer(text(answer), is_to_head, may_upgrade, &head);
    return problem ? (enum framing)100 : head.framing;
}

TEST(an_answers_content_ends_as_its_head_says)
{
    CHECK_INT(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false, false), FRAMING_LENGTH);
    CHECK_INT(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true, false), FRAMING_NONE);
    CHECK_INT(framing_of("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n", false, false),
              FRAMING_CHUNKED);
    CHECK_INT(framing_of("HTTP/1.0 200 OK\r\n\r\n", false, false), FRAMING_CLOSE);
    CHECK_INT(framing_of("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", false, false),
              FRAMING_NONE);
    CHECK_INT(framing_of("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", false, true),
              FRAMING_UPGRADE);
    CHECK_INT(framing_of("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", false, false),
              100);
    CHECK_INT(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", false, false),
              100);
    CHECK_INT(framing_of("HTTP/2 200 OK\r\n\r\n", false, false), 100);
    CHECK_INT(framing_of("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, false), 100);
}

/* The content, taken in pieces of this size; "(malformed)", or "(more)" if it did not end. */
static const char *content(enum framing framing, uint64_t length, const char *encoded, size_t piece)
{
    static char result[4096];
    struct head head = {.framing = framing, .length = length};
    static struct body body;
    auto_buf struct buf out = {0};
    body_begin(&body, &head);
    size_t size = strlen(encoded), at = 0;
    while (at < size && body.state != BODY_DONE) {
        size_t part = size - at < piece ? size - at : piece;
        ptrdiff_t taken = body_take(&body, bytes_of(encoded + at, part), 3, &out);
        if (taken < 0)
            return "(malformed)";
        at += (size_t)taken;
    }
    snprintf(result, sizeof(result), "%s%s%s", buf_text(&out), body.state == BODY_DONE ? "" : "(more)",
             encoded + at);
    return result;
}

TEST(content_is_decoded_however_it_is_cut)
{
    for (size_t piece = 1; piece < 30; piece++) {
        CHECK_STR(content(FRAMING_CHUNKED, 0, "4\r\nabcd\r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\n+", piece),
                  "abcd0123456789+");
        CHECK_STR(content(FRAMING_LENGTH, 5, "abcdefg", piece), "abcdefg");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "4\r\nabcd\r\n", piece), "abcd(more)");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "4;x=1\r\nabcd\r\n", piece), "(malformed)");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "4\nabcd\r\n", piece), "(malformed)");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "2\r\nabcd\r\n", piece), "(malformed)");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "-1\r\nabcd\r\n", piece), "(malformed)");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "0x4\r\nabcd\r\n", piece), "(malformed)");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "1234567890abcdef\r\n", piece), "(malformed)");
        CHECK_STR(content(FRAMING_CHUNKED, 0, "\r\n", piece), "(malformed)");
    }
}

TEST(content_that_is_cut_off_is_not_complete)
{
    static struct body body;
    body_begin(&body, &(struct head){.framing = FRAMING_CLOSE});
    CHECK(body_close(&body));
    body_begin(&body, &(struct head){.framing = FRAMING_LENGTH, .length = 1});
    CHECK(!body_close(&body));
    body_begin(&body, &(struct head){.framing = FRAMING_CHUNKED});
    CHECK(!body_close(&body));
}

static const char placeholder[] = "sk-PLACEHOLDER123", secret[] = "sk-REALREALREAL99";

static const char *swapped(const char *value)
{
    static char result[512];
    auto_buf struct buf out = {0};
    if (!swap_value(text(value), text(placeholder), text(secret), &out))
        return "(left alone)";
    snprintf(result, sizeof(result), "%s", buf_text(&out));
    return result;
}

TEST(a_placeholder_becomes_the_secret_where_a_credential_stands)
{
    CHECK_STR(swapped("sk-PLACEHOLDER123"), "sk-REALREALREAL99");
    CHECK_STR(swapped("Bearer sk-PLACEHOLDER123"), "Bearer sk-REALREALREAL99");
    CHECK_STR(swapped("token sk-PLACEHOLDER123"), "token sk-REALREALREAL99");
    struct arena arena = {0};
    const char *asked = arena_printf(&arena, "Basic %s", base64_of(&arena, text("me:sk-PLACEHOLDER123")));
    CHECK_STR(swapped(asked),
              arena_printf(&arena, "Basic %s", base64_of(&arena, text("me:sk-REALREALREAL99"))));
    asked = arena_printf(&arena, "basic %s", base64_of(&arena, text("sk-PLACEHOLDER123:")));
    CHECK_STR(swapped(asked),
              arena_printf(&arena, "basic %s", base64_of(&arena, text("sk-REALREALREAL99:"))));
    arena_free(&arena);
    CHECK_STR(swapped("sk-PLACEHOLDER1234"), "(left alone)");
    CHECK_STR(swapped("see sk-PLACEHOLDER123 there"), "(left alone)");
    CHECK_STR(swapped("a b sk-PLACEHOLDER123"), "(left alone)");
    CHECK_STR(swapped("Basic sk-PLACEHOLDER12"), "(left alone)");
    CHECK_STR(swapped(""), "(left alone)");
}

TEST(a_secret_that_could_split_a_header_is_not_usable)
{
    CHECK(secret_is_usable(text("sk-REALREALREAL99")));
    CHECK(!secret_is_usable(text("sk-REAL\r\nX: 1")));
    CHECK(!secret_is_usable(text("with space")));
    CHECK(!secret_is_usable(text("short")));
    CHECK(!secret_is_usable(text("")));
}

static void scrub_in_pieces(const char *bytes, size_t piece, struct buf *out)
{
    struct arena arena = {0};
    struct patterns patterns = {0};
    struct scrub scrub = {.patterns = &patterns};
    CHECK(patterns_add(&patterns, &arena, text("abcabd"), text("PLACEH")));
    CHECK(patterns_add(&patterns, &arena, text("abcabdab"), text("LONGER")));
    CHECK(patterns_add(&patterns, &arena, text("xyz"), text("12345")));
    for (size_t at = 0, size = strlen(bytes); at < size; at += piece)
        scrub_take(&scrub, bytes_of(bytes + at, size - at < piece ? size - at : piece), out);
    scrub_end(&scrub, out);
    scrub_free(&scrub);
    arena_free(&arena);
}

TEST(secrets_in_answers_become_placeholders_however_they_are_cut)
{
    for (size_t piece = 1; piece < 40; piece++) {
        auto_buf struct buf out = {0};
        scrub_in_pieces("abcabcabd-abcabdab-xyxyz-abcab", piece, &out);
        CHECK_STR(buf_text(&out), "abcPLACEH-LONGERxx-xy123-abcab");
    }
}

TEST(only_the_beginning_of_a_secret_is_held_back)
{
    struct arena arena = {0};
    struct patterns patterns = {0};
    struct scrub scrub = {.patterns = &patterns};
    auto_buf struct buf out = {0};
    CHECK(patterns_add(&patterns, &arena, text("sk-1234567"), text("sk-PLACEHO")));
    scrub_take(&scrub, text("data: hello\n\n"), &out);
    CHECK_STR(buf_text(&out), "data: hello\n\n");
    scrub_take(&scrub, text("sk-1"), &out);
    CHECK_STR(buf_text(&out), "data: hello\n\n");
    scrub_take(&scrub, text("1"), &out);
    CHECK_STR(buf_text(&out), "data: hello\n\nsk-11");
    scrub_free(&scrub);
    arena_free(&arena);
}

/* The target with the secret in the place of its placeholder "PLACEHOLDER". */
static const char *aimed(enum carrier kind, const char *name, const char *target, const char *value)
{
    static char result[512];
    auto_buf struct buf out = {0}, written = {0};
    const struct secret_carrier carrier = {kind, name};
    if (!carrier_write(kind == CARRIER_PATH ? WRITING_PATH : WRITING_PERCENT, text(value), &written))
        return "(refused)";
    if (!carrier_swap_target(&carrier, text(target), text("PLACEHOLDER"),
                             bytes_of(written.bytes, written.size), &out))
        return out.size ? "(left something)" : "(left alone)";
    snprintf(result, sizeof(result), "%s", buf_text(&out));
    return result;
}

TEST(a_parameter_of_the_query_carries_the_secret_encoded)
{
#define QUERY(target, value) aimed(CARRIER_QUERY, "key", target, value)
    CHECK_STR(QUERY("/a?key=PLACEHOLDER", "s3cret-_.~"), "/a?key=s3cret-_.~");
    CHECK_STR(QUERY("/a?x=1&key=PLACEHOLDER&y=2&", "a+b"), "/a?x=1&key=a%2Bb&y=2&");
    CHECK_STR(QUERY("/?key=PLACEHOLDER&key=PLACEHOLDER", "abc"), "/?key=abc&key=abc");
    CHECK_STR(QUERY("/a?key=PLACEHOLDER", "x&admin=1#?/%"), "/a?key=x%26admin%3D1%23%3F%2F%25");
    CHECK_STR(QUERY("/a?Key=PLACEHOLDER", "abc"), "(left alone)");
    CHECK_STR(QUERY("/a?akey=PLACEHOLDER", "abc"), "(left alone)");
    CHECK_STR(QUERY("/a?key=PLACEHOLDERS", "abc"), "(left alone)");
    CHECK_STR(QUERY("/a?key=PLACEHOLDER;x", "abc"), "(left alone)");
    CHECK_STR(QUERY("/a?note=key=PLACEHOLDER", "abc"), "(left alone)");
    CHECK_STR(QUERY("/key=PLACEHOLDER", "abc"), "(left alone)");
    CHECK_STR(QUERY("/a#?key=PLACEHOLDER", "abc"), "(left alone)");
    CHECK_STR(QUERY("/a?", "abc"), "(left alone)");
    CHECK_STR(QUERY("/a?key=PLACEHOLDER", "with space"), "(refused)");
    CHECK_STR(QUERY("/a?key=PLACEHOLDER", "line\r\nX: 1"), "(refused)");
#undef QUERY
}

TEST(a_path_carries_only_what_stays_one_segment)
{
#define PATH(target, value) aimed(CARRIER_PATH, NULL, target, value)
    CHECK_STR(PATH("/botPLACEHOLDER/send?x=PLACEHOLDER", "123:a-b_c"), "/bot123:a-b_c/send?x=PLACEHOLDER");
    CHECK_STR(PATH("/PLACEHOLDER/PLACEHOLDER", "abc=="), "/abc%3D%3D/abc%3D%3D");
    CHECK_STR(PATH("/a?x=PLACEHOLDER", "abc"), "(left alone)");
    CHECK_STR(PATH("/PLACEHOLDER#x", "abc"), "(left alone)");
    static const char *const others[] = {"a/b", "a\\b", "a?b",  "a#b",       "a%2Fb",
                                         "a;b", "a b",  "a\nb", "../../etc", "caf\xc3\xa9"};
    for (size_t i = 0; i < array_len(others); i++)
        CHECK_STR(PATH("/PLACEHOLDER", others[i]), "(refused)");
    auto_buf struct buf out = {0};
    CHECK(!carrier_write(WRITING_PATH, bytes_of("a\0b", 3), &out) && out.size == 0);
#undef PATH
}

static const char *in_content(const char *type, const char *value)
{
    static char result[512], request[512];
    static struct head head;
    auto_buf struct buf out = {0};
    snprintf(request, sizeof(request), "POST / HTTP/1.1\r\nHost: a.test\r\n%sContent-Length: 1\r\n\r\n",
             type);
    CHECK(!head_read_request(text(request), "a.test", 443, &head));
    if (!carrier_write(carrier_writing_of(&head), text(value), &out))
        return "(refused)";
    snprintf(result, sizeof(result), "%s", buf_text(&out));
    return result;
}

TEST(content_carries_the_secret_as_its_kind_demands)
{
    CHECK_STR(in_content("Content-Type: application/json; charset=utf-8\r\n", "a\",\"b\\c&"),
              "a\\\",\\\"b\\\\c&");
    CHECK_STR(in_content("Content-Type: application/vnd.api+JSON\r\n", "a\"b"), "a\\\"b");
    CHECK_STR(in_content("Content-Type: application/x-www-form-urlencoded\r\n", "a&b=c+d"), "a%26b%3Dc%2Bd");
    CHECK_STR(in_content("Content-Type: text/xml\r\n", "sk-abc/+=.:"), "sk-abc/+=.:");
    CHECK_STR(in_content("Content-Type: text/xml\r\n", "a<b>"), "(refused)");
    CHECK_STR(in_content("Content-Type: text/notjson\r\n", "a\"b"), "(refused)");
    CHECK_STR(in_content("", "a&b"), "(refused)");
    CHECK_STR(in_content("Content-Type: application/json\r\nContent-Type: text/xml\r\n", "a\"b"),
              "(refused)");
    CHECK_STR(in_content("Content-Type: text/xml\r\nContent-Type: application/json\r\n", "a\"b"),
              "(refused)");
}

TEST(a_header_that_a_rule_names_is_the_only_one)
{
    const struct secret_carrier usual = {CARRIER_HEADERS, NULL}, own = {CARRIER_HEADER, "X-Own"},
                                query = {CARRIER_QUERY, "x-own"};
    CHECK(carrier_is_header(&usual, text("authorization")) && !carrier_is_header(&usual, text("x-own")));
    CHECK(carrier_is_header(&own, text("x-OWN")) && !carrier_is_header(&own, text("authorization")));
    CHECK(!carrier_is_header(&query, text("x-own")));
}

TEST(placeholders_in_content_are_found_across_every_border)
{
    static const char before[] = "{\"a\": \"PLACEHOLDER\", \"b\": \"PLACEPLACEHOLDER.OTHER-ONE\"} PLACEHOLDE",
                      after[] = "{\"a\": \"s\", \"b\": \"PLACEs.a-much-longer-value\"} PLACEHOLDE";
    size_t size = strlen(before);
    for (size_t first = 0; first <= size; first++) {
        for (size_t second = first; second <= size; second++) {
            struct patterns patterns = {0};
            struct scrub scrub = {.patterns = &patterns};
            auto_buf struct buf out = {0};
            CHECK(patterns_exchange(&patterns, text("PLACEHOLDER"), text("s")));
            CHECK(patterns_exchange(&patterns, text("OTHER-ONE"), text("a-much-longer-value")));
            scrub_take(&scrub, bytes_of(before, first), &out);
            scrub_take(&scrub, bytes_of(before + first, second - first), &out);
            scrub_take(&scrub, bytes_of(before + second, size - second), &out);
            scrub_end(&scrub, &out);
            CHECK_STR(buf_text(&out), after);
            scrub_free(&scrub);
        }
    }
}

/* The value and its second, or why it cannot be read. The clock says 1000. */
static const char *issued(const char *output)
{
    static const char *const words[] = {[CREDENTIAL_WITHOUT_TOKEN] = "(no token)",
                                        [CREDENTIAL_UNDATED] = "(undated)",
                                        [CREDENTIAL_EXPIRED] = "(expired)"};
    static char result[256];
    struct credential credential = {0};
    enum credential_result got = credential_read(text(output), 1000, &credential);
    if (got != CREDENTIAL_READ)
        return words[got];
    snprintf(result, sizeof(result), "%.*s %lld", (int)credential.value.size, credential.value.at,
             (long long)credential.expires);
    return result;
}

TEST(a_commands_output_may_say_when_its_value_expires)
{
    CHECK_STR(issued("sk-plain-value"), "sk-plain-value 0");
    CHECK_STR(issued("password=plain"), "password=plain 0");
    CHECK_STR(issued("{not json"), "{not json 0");
    CHECK_STR(issued("{\"token\": \"abc\"}"), "abc 0");
    CHECK_STR(issued("{\"token\": \"abc\", \"expires_at\": 2000}"), "abc 2000");
    CHECK_STR(issued("{\"token\": \"abc\", \"expires_at\": \"2026-07-11T22:14:10Z\"}"), "abc 1783808050");
    CHECK_STR(issued("{\"token\": \"abc\", \"Expiration\": \"2024-02-29T23:59:59.123+02:00\"}"),
              "abc 1709243999");
    CHECK_STR(
        issued(
            "{\"accessToken\": \"abc\", \"expiresOn\": \"2024-01-01 10:00:00.000000\", \"expires_on\": 2000}"),
        "abc 2000");
    CHECK_STR(issued("{\"access_token\": \"abc\", \"expires_in\": 3599}"), "abc 4599");
    CHECK_STR(issued("{\"access_token\": \"abc\", \"expires_in\": \"60\"}"), "abc 1060");
    CHECK_STR(issued("{\"token\": \"abc\", \"expiresAt\": 4102444800000}"), "abc 4102444800");
    CHECK_STR(
        issued(
            "{\"kind\": \"ExecCredential\", \"status\": {\"expirationTimestamp\": \"1970-01-01T01:00:00Z\", "
            "\"token\": \"abc\"}}"),
        "abc 3600");
    CHECK_STR(
        issued("{\"credential\": {\"access_token\": \"abc\", \"token_expiry\": \"2000-03-01T00:00:00Z\"}}"),
        "abc 951868800");
    CHECK_STR(issued("{\"auth\": {\"client_token\": \"abc\", \"lease_duration\": 0}}"), "abc 0");
    CHECK_STR(issued("protocol=https\nusername=me\npassword=abc\npassword_expiry_utc=2000"), "abc 2000");
    CHECK_STR(issued("username=me\r\npassword=abc\r\n"), "abc 0");
    CHECK_STR(issued("{\"token\": \"abc\", \"expires_at\": null}"), "abc 0");
    CHECK_STR(issued("{\"token\": \"abc\", \"expires_at\": 1000}"), "(expired)");
    CHECK_STR(issued("{\"token\": \"abc\", \"expires_at\": \"tomorrow\"}"), "(undated)");
    CHECK_STR(issued("{\"token\": \"abc\", \"expires_at\": \"2024-01-01T10:00:00\"}"), "(undated)");
    CHECK_STR(issued("{\"token\": \"abc\", \"expires_in\": \"soon\"}"), "(undated)");
    CHECK_STR(issued("user=me\npassword=abc\npassword_expiry_utc=never"), "(undated)");
    CHECK_STR(issued("{\"AccessKeyId\": \"abc\"}"), "(no token)");
    CHECK_STR(issued("{\"token\": 5}"), "(no token)");
    CHECK_STR(issued("{\"token\": \"a\\nb\"}"), "(no token)");
    CHECK_STR(issued("{}"), "(no token)");
}

#define JWT_HEAD "eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjQxMDI0NDQ4MDB9."
#define JWT      JWT_HEAD "c2lnbmF0dXJlLXNpZ25hdHVyZQ"

TEST(a_jwt_with_the_placeholder_as_its_signature_stands_for_the_token)
{
    auto_buf struct buf out = {0}, header = {0};
    token_add_stand_in(text(JWT), text("PLACEHOLDER"), &out);
    CHECK_STR(buf_text(&out), JWT_HEAD "PLACEHOLDER");
    CHECK(token_stands_for(text(JWT_HEAD "PLACEHOLDER"), text("PLACEHOLDER")));
    CHECK(token_stands_for(text("PLACEHOLDER"), text("PLACEHOLDER")));
    CHECK(!token_stands_for(text("a PLACEHOLDER"), text("PLACEHOLDER")));
    CHECK(!token_stands_for(text("a.PLACEHOLDER"), text("PLACEHOLDER")));
    CHECK(!token_stands_for(text("a\r\nb.c.PLACEHOLDER"), text("PLACEHOLDER")));
    CHECK(token_expiry(text(JWT)) == 4102444800);
    CHECK(token_expiry(text("no.jwt.here")) == 0);
    CHECK(swap_value(text("Bearer " JWT_HEAD "PLACEHOLDER"), text("PLACEHOLDER"), text(JWT), &header));
    CHECK_STR(buf_text(&header), "Bearer " JWT);
}

/* The content with the token swapped, or "(left alone)". */
static const char *granted(bool is_form, const char *content)
{
    static char result[4096];
    struct bytes token;
    auto_buf struct buf out = {0};
    if (!grant_find(is_form, text(content), &token))
        return "(left alone)";
    grant_add(is_form, text(content), token, text("1//a+b"), &out);
    snprintf(result, sizeof(result), "%s", buf_text(&out));
    return result;
}

TEST(only_the_token_of_a_refresh_is_swapped_in_content)
{
    CHECK_STR(granted(false, "{\"grant_type\": \"refresh_token\", \"refresh_token\": \"P\", \"x\": \"P\"}"),
              "{\"grant_type\": \"refresh_token\", \"refresh_token\": \"1//a+b\", \"x\": \"P\"}");
    CHECK_STR(granted(true, "x=P&refresh_token=P&grant_type=refresh_token"),
              "x=P&refresh_token=1%2F%2Fa%2Bb&grant_type=refresh_token");
    static const char *const others[] = {
        "{\"grant_type\": \"password\", \"refresh_token\": \"P\"}",
        "{\"refresh_token\": \"P\"}",
        "[\"grant_type\", \"refresh_token\"]",
        "{\"grant_type\": \"refresh_token\", \"in\": {\"refresh_token\": \"P\"}}",
        "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"P\",\"refresh_token\":\"P\"}",
        "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"P\"} x",
        ""};
    for (size_t i = 0; i < array_len(others); i++)
        CHECK_STR(granted(false, others[i]), "(left alone)");
    CHECK_STR(granted(true, "grant_type=refresh_token&refresh_token=P&refresh_token=Q"), "(left alone)");
    CHECK_STR(granted(true, "grant_type=password&refresh_token=P"), "(left alone)");
}

static bool can_be_read(const char *answer)
{
    struct token_set set;
    return grant_read_answer(text(answer), &set);
}

TEST(an_answer_is_read_only_if_its_tokens_are_beyond_doubt)
{
    CHECK(can_be_read("{\"access_token\": \"0123456789\"}"));
    CHECK(!can_be_read("{\"access_token\": \"0123456789\", \"accessToken\": \"0123456789\"}"));
    CHECK(!can_be_read("{\"access_token\": \"0123456789\\r\\nX: 1\"}"));
    CHECK(!can_be_read("{\"access_token\": \"01234 56789\"}"));
    CHECK(!can_be_read("{\"access_token\": \"0123\"}"));
    CHECK(!can_be_read("{\"refresh_token\": \"0123456789\"}"));
    CHECK(!can_be_read("access_token=0123456789"));
    CHECK(!can_be_read("{\"access_token\": \"0123456789\""));
}

TEST(a_login_file_keeps_all_but_its_tokens)
{
    static const char before[] =
        "{ \"x\":1, \"o\": {\"accessToken\":\"old-access\", \"refreshToken\": \"old-refresh\",\n"
        "  \"expiresAt\": 5, \"scopes\":[\"a\"]}, \"y\": {\"refreshToken\": \"other-token\"} }";
    struct login_entry entry,
        wanted = {.tokens = {[TOKEN_ACCESS] = text("new-access"), [TOKEN_REFRESH] = text("new-refresh")},
                  .expires = 9};
    struct kept_token list[] = {{"f", "o.accessToken", "PLACE-A"}, {"f", "o.refreshToken", "PLACE-R"}};
    kept_tokens kept = {.at = list, .count = 2};
    auto_buf struct buf out = {0}, masked = {0};
    CHECK(login_entry_read(text(before), "o", &entry));
    CHECK(entry.expires == 5 && bytes_equal(entry.tokens[TOKEN_REFRESH], text("old-refresh")));
    CHECK(!login_entry_read(text(before), "x", &entry));
    CHECK(login_entry_write(text(before), "o", &wanted, 0, &out));
    CHECK_STR(buf_text(&out),
              "{ \"x\":1, \"o\": {\"accessToken\":\"new-access\", \"refreshToken\": \"new-refresh\",\n"
              "  \"expiresAt\": 9, \"scopes\":[\"a\"]}, \"y\": {\"refreshToken\": \"other-token\"} }");
    CHECK(login_mask(text(before), "f", NULL, &kept, &masked));
    CHECK_STR(
        buf_text(&masked),
        "{ \"x\":1, \"o\": {\"accessToken\":\"PLACE-A\", \"refreshToken\": \"PLACE-R\",\n"
        "  \"expiresAt\": 5, \"scopes\":[\"a\"]}, \"y\": {\"refreshToken\": \"kept-outside-until-the-next-run\"} }");
    CHECK(login_is_masked(bytes_of(masked.bytes, masked.size), &kept) &&
          !login_is_masked(text(before), &kept));
}

TEST(a_rule_may_name_entries_of_a_login_file)
{
    static const char before[] =
        "{\"a\": {\"key\": \"key-of-a-0123\", \"n\": [{\"access\": \"deep-in-a-0123\"}]},"
        " \"b\": {\"key\": \"key-of-b-0123\"}, \"c\": \"flat-c-0123\","
        " \"a.b\": {\"key\": \"key-of-ab-0123\"}}";
    struct kept_token list[] = {{"f", "a.key", "PLACE-A"}, {"f", "c", "PLACE-C"}};
    kept_tokens kept = {.at = list, .count = 2};
    auto_buf struct buf some = {0}, references = {0};
    CHECK(login_mask(text(before), "f", "a c", &kept, &some));
    CHECK_STR(buf_text(&some),
              "{\"a\": {\"key\": \"PLACE-A\", \"n\": [{\"access\": \"kept-outside-until-the-next-run\"}]},"
              " \"b\": {\"key\": \"key-of-b-0123\"}, \"c\": \"PLACE-C\","
              " \"a.b\": {\"key\": \"key-of-ab-0123\"}}");
    struct bytes masked = bytes_of(some.bytes, some.size);
    CHECK(login_has_stand_ins(masked, text("{\"a\": {\"key\": \"another-key\"}}"), "f", "a c", &kept));
    CHECK(login_has_stand_ins(masked, text("{\"b\": {\"key\": \"another-key\"}}"), "f", "a c", &kept));
    CHECK(!login_has_stand_ins(masked, text("{\"a\": {\"access\": \"another-key\"}}"), "f", "a c", &kept));
    CHECK(!login_has_stand_ins(text("{}"), text("{\"c\": \"another-key\"}"), "f", "a c", &kept));
    CHECK(!login_has_stand_ins(masked, text("no JSON"), "f", "a c", &kept));
    static const char others[] = "{\"a\": {\"key\": \"!pass show a\"}, \"c\": \"${SOME_VARIABLE}\"}";
    CHECK(login_mask(text(others), "f", "a c", &kept, &references));
    CHECK_STR(buf_text(&references), others);
}

TEST(tokens_between_processes_are_read_strictly)
{
    struct token_set set;
    CHECK(token_set_read(text("access 0123456789\nseconds 7\nscope a b\n"), &set));
    CHECK(set.seconds == 7 && bytes_equal(set.scope, text("a b")));
    CHECK(!token_set_read(text("access 0123\"456789\n"), &set));
    CHECK(!token_set_read(text("access 0123456789\nother 1\n"), &set));
    CHECK(!token_set_read(text("seconds x\n"), &set));
}

static const char *const agents_refs[] = {"refs/heads/agent/*"};

static struct vault_settings *settings_of_forge(void)
{
    static struct vault_settings settings;
    if (!settings.forges.count) {
        const struct host_object host = {.kind = HOST_NAME, .name = "a.test", .port = 443};
        vec_push(&settings.forges, ((struct vault_forge){.secret = "a.test/acme/app",
                                                         .user = "u",
                                                         .host = host,
                                                         .path = "acme/app",
                                                         .may_fetch = true}));
        vec_push(&settings.forges, ((struct vault_forge){.secret = "a.test/acme/app",
                                                         .user = "u",
                                                         .host = host,
                                                         .path = "acme/app",
                                                         .push = {.refs = agents_refs, .ref_count = 1}}));
        vec_push(&settings.forges,
                 ((struct vault_forge){
                     .secret = "r", .user = "u", .host = host, .path = "acme/read", .may_fetch = true}));
    }
    return &settings;
}

static const char *git_asks(const char *method, const char *target)
{
    struct git_request asked =
        repository_read(settings_of_forge(), "a.test", 443, text(method), text(target));
    return !asked.forge        ? "none"
           : asked.is_push     ? asked.has_content ? "push" : "refs for a push"
           : asked.has_content ? "fetch"
                               : "refs for a fetch";
}

TEST(only_the_requests_that_git_makes_get_a_token)
{
    static const char upload[] = "/acme/app/info/refs?service=git-upload-pack";
    CHECK_STR(git_asks("GET", upload), "refs for a fetch");
    CHECK_STR(git_asks("GET", "/acme/app.git/info/refs?service=git-receive-pack"), "refs for a push");
    CHECK_STR(git_asks("POST", "/acme/app.git/git-upload-pack"), "fetch");
    CHECK_STR(git_asks("POST", "/acme/app/git-receive-pack"), "push");
    CHECK_STR(git_asks("POST", "/acme/read/git-receive-pack"), "none");
    CHECK_STR(git_asks("GET", "/acme/read/info/refs?service=git-receive-pack"), "none");
    static const char *const others[] = {"/acme/app/info/refs",
                                         "/acme/app/info/refs?service=git-upload-pack&x",
                                         "/acme/app/info/refs?service=git-upload-pack ",
                                         "/acme/app.git.git/info/refs?service=git-upload-pack",
                                         "/acme/app2/info/refs?service=git-upload-pack",
                                         "/acme/App/info/refs?service=git-upload-pack",
                                         "//acme/app/info/refs?service=git-upload-pack",
                                         "/acme/app//info/refs?service=git-upload-pack",
                                         "/acme/app/info%2frefs?service=git-upload-pack",
                                         "/acme/ap",
                                         "/",
                                         ""};
    for (size_t i = 0; i < array_len(others); i++)
        CHECK_STR(git_asks("GET", others[i]), "none");
    CHECK_STR(git_asks("HEAD", upload), "none");
    CHECK_STR(git_asks("POST", upload), "none");
    CHECK(!repository_read(settings_of_forge(), "b.test", 443, text("GET"), text(upload)).forge);
    CHECK(!repository_read(settings_of_forge(), "a.test", 8443, text("GET"), text(upload)).forge);
    CHECK(repository_has(settings_of_forge(), "a.test", 443, "/acme/app.git/info/refs"));
    CHECK(!repository_has(settings_of_forge(), "a.test", 443, "/acme/app.git/info/lfs"));
}

static void add_api(struct vault_settings *settings, const char *name, const char *object)
{
    static const struct source source = {.layer = LAYER_USER};
    struct diags diags = {.arena = &settings->arena};
    auto_vec rule_list rules = {0};
    parse_argument(&settings->arena, &source, VERB_CONNECT, object, &rules, &diags);
    if (CHECK(rules.count == 1))
        vec_push(&settings->apis, ((struct vault_api){name, rules.at[0]}));
}

TEST(a_token_goes_with_the_requests_that_its_lines_name)
{
    static struct vault_settings settings;
    add_api(&settings, "a.test/acme/app", "api.a.test:443/repos/acme/app/pulls GET,POST");
    add_api(&settings, "a.test/acme/lib",
            "api.a.test:443/repos/acme/lib/pulls/"
            "** GET");
    static const struct {
        const char *method, *target, *secret;
    } tries[] = {
        {"GET", "/repos/acme/app/pulls", "a.test/acme/app"},
        {"POST", "/repos/acme/app/pulls/?x=/merge", "a.test/acme/app"},
        {"HEAD", "/repos/acme/lib/pulls/1", "a.test/acme/lib"},
        {"POST", "/repos/acme/lib/pulls/1", NULL},
        {"PUT", "/repos/acme/app/pulls", NULL},
        {"GET", "/repos/acme/app/pulls/1", NULL},
        {"GET", "/repos/acme/lib/pulls/../../app", NULL},
        {"GET", "/repos/acme/lib/pulls/%2e%2e/x", NULL},
        {"GET", "/repos/Acme/app/pulls", NULL},
        {"GET", "/repos/{forge}/pulls", NULL},
        {"GET", "/", NULL},
    };
    for (size_t i = 0; i < array_len(tries); i++)
        CHECK_STR(
            repository_api_token(&settings, "api.a.test", 443, text(tries[i].method), text(tries[i].target)),
            tries[i].secret);
    CHECK(!repository_api_token(&settings, "a.test", 443, text("GET"), text(tries[0].target)));
    CHECK(!repository_api_token(&settings, "api.a.test", 8443, text("GET"), text(tries[0].target)));
    vec_free(&settings.apis);
    arena_free(&settings.arena);
}

/* What becomes of a push whose content comes in pieces of that size. */
static const char *pushed(const char *content, size_t size, size_t piece)
{
    struct pushing *pushing =
        pushing_begin(settings_of_forge(), &settings_of_forge()->forges.at[1], text(""));
    enum pushing_state state = PUSHING_MORE;
    static char result[256];
    for (size_t at = 0; state == PUSHING_MORE && at < size; at += piece)
        state = pushing_take(pushing, bytes_of(content + at, size - at < piece ? size - at : piece),
                             at + piece >= size);
    auto_buf struct buf sent = {0};
    size_t taken = 0;
    if (state == PUSHING_PASSES) {
        pushing_add(pushing, &sent, &taken);
        CHECK(taken <= size &&
              sent.size - taken <= 1); /* a NUL before capabilities, of which there are none */
    }
    snprintf(result, sizeof(result), "%s",
             state == PUSHING_BAD       ? pushing->problem
             : state == PUSHING_REFUSED ? pushing->push.commands.at[0].refusal
             : state == PUSHING_PASSES  ? "passes"
                                        : "more");
    pushing_free(pushing);
    return result;
}

#define ZERO40 "0000000000000000000000000000000000000000"
#define ONE40  "1111111111111111111111111111111111111111"
#define TWO40  "2222222222222222222222222222222222222222"

TEST(nothing_of_a_push_passes_before_all_of_its_commands_are_judged)
{
    static const struct {
        const char *content, *outcome;
    } cases[] = {
        {"0000", "passes"},
        {"0000PACK", "something follows commands that need no pack"},
        {"00", "its commands are not whole"},
        {"PACK", "a pkt-line is not well formed"},
        {"0068" ZERO40 " " ONE40 " refs/heads/agent/a0000PACK", "passes"},
        {"0068" ZERO40 " " ONE40 " refs/heads/agent/a0000", "it has no pack"},
        {"0068" ZERO40 " " ONE40 " refs/heads/agent/a00000000", "what follows its commands is not a pack"},
        {"0065" ZERO40 " " ONE40 " refs/heads/main0000PACK", "no rule allows a push to this ref"},
        {"0068" ONE40 " " ZERO40 " refs/heads/agent/a0000", "deleting a ref needs push+delete"},
        {"0068" ONE40 " " TWO40 " refs/heads/agent/a0000PACK",
         "not known to be a fast-forward, and others need push+force"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        for (size_t piece = 1; piece < 130; piece += 3)
            CHECK_STR(pushed(cases[i].content, strlen(cases[i].content), piece), cases[i].outcome);
    }
}

UNIT_MAIN()
