/* The parsers of the network helper: what strangers say, and what is made of it. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "base/ssh_proof.h"
#include "egress/dns.h"
#include "egress/hello.h"
#include "egress/http.h"
#include "egress/kex.h"
#include "egress/proxy.h"
#include "egress/table.h"
#include "policy/classes.h"
#include "unit.h"

/* --- questions for names --------------------------------------------------------------------------------------- */

static size_t make_question(uint8_t *bytes, const char *name, uint8_t type)
{
    static const uint8_t head[12] = {0x12, 0x34, 1, 0, 0, 1};
    memcpy(bytes, head, sizeof(head));
    size_t size = sizeof(head);
    while (*name) {
        size_t length = strcspn(name, ".");
        bytes[size++] = (uint8_t)length;
        memcpy(bytes + size, name, length);
        size += length;
        name += length + (name[length] == '.');
    }
    const uint8_t tail[5] = {0, 0, type, 0, 1};
    memcpy(bytes + size, tail, sizeof(tail));
    return size + sizeof(tail);
}

TEST(a_question_is_read_and_its_name_is_in_lower_case)
{
    uint8_t bytes[512];
    struct dns_question question;
    size_t size = make_question(bytes, "Api.Example.COM", DNS_A);
    CHECK_INT(dns_read(bytes, size, &question), DNS_FINE);
    CHECK_STR(question.name, "api.example.com");
    CHECK_INT(question.type, DNS_A);
    CHECK(!question.has_options);
}

TEST(a_question_that_ends_early_or_late_or_has_other_bytes_is_malformed)
{
    uint8_t bytes[512];
    struct dns_question question;
    size_t size = make_question(bytes, "example.com", DNS_A);
    for (size_t cut = 12; cut < size; cut++)
        CHECK_INT(dns_read(bytes, cut, &question), DNS_MALFORMED);
    CHECK_INT(dns_read(bytes, 11, &question), DNS_IGNORED);
    bytes[size] = 0;
    CHECK_INT(dns_read(bytes, size + 1, &question), DNS_MALFORMED);
    static const char wrong[] = {'\0', '.', ' ', '*', '\xc3', '\n', ':'};
    for (size_t i = 0; i < sizeof(wrong); i++) {
        bytes[14] = (uint8_t)wrong[i];
        CHECK_INT(dns_read(bytes, size, &question), DNS_MALFORMED);
    }
}

TEST(pointers_two_questions_other_classes_and_answers_are_not_questions)
{
    uint8_t bytes[512];
    struct dns_question question;
    size_t size = make_question(bytes, "example.com", DNS_A);
    bytes[12] = 0xc0;
    CHECK_INT(dns_read(bytes, size, &question), DNS_MALFORMED);
    bytes[12] = 7;
    bytes[5] = 2;
    CHECK_INT(dns_read(bytes, size, &question), DNS_MALFORMED);
    bytes[5] = 1;
    bytes[size - 1] = 3;
    CHECK_INT(dns_read(bytes, size, &question), DNS_MALFORMED);
    bytes[size - 1] = 1;
    bytes[2] = 0x81;
    CHECK_INT(dns_read(bytes, size, &question), DNS_IGNORED);
    bytes[2] = 0x28;
    CHECK_INT(dns_read(bytes, size, &question), DNS_NOT_IMPLEMENTED);
}

TEST(a_label_has_at_most_63_characters)
{
    uint8_t bytes[512];
    char name[70] = "";
    struct dns_question question;
    memset(name, 'a', 63);
    CHECK_INT(dns_read(bytes, make_question(bytes, name, DNS_A), &question), DNS_FINE);
    name[63] = 'a';
    CHECK_INT(dns_read(bytes, make_question(bytes, name, DNS_A), &question), DNS_MALFORMED);
}

TEST(a_name_has_at_most_253_characters)
{
    uint8_t bytes[512];
    char name[300] = "";
    struct dns_question question;
    for (int i = 0; i < 126; i++)
        strncat(name, "a.", sizeof(name) - strlen(name) - 1);
    strncat(name, "a", sizeof(name) - strlen(name) - 1);
    CHECK_INT(dns_read(bytes, make_question(bytes, name, DNS_A), &question), DNS_FINE);
    CHECK_INT(strlen(question.name), 253);
    strncat(name, ".a", sizeof(name) - strlen(name) - 1);
    CHECK_INT(dns_read(bytes, make_question(bytes, name, DNS_A), &question), DNS_MALFORMED);
}

TEST(an_answer_repeats_the_question_as_it_was_spelled)
{
    uint8_t bytes[512], answer[DNS_LARGEST_ANSWER];
    static const uint8_t address[4] = {198, 18, 0, 2};
    struct dns_question question;
    size_t size = make_question(bytes, "eXample.com", DNS_A);
    REQUIRE(dns_read(bytes, size, &question) == DNS_FINE);
    size_t made = dns_write(&question, &(struct dns_answer){DNS_FINE, address, 4, NULL}, answer);
    CHECK_INT(made, size + 16);
    CHECK(memcmp(answer + 12, bytes + 12, size - 12) == 0);
    CHECK(memcmp(answer + made - 4, address, 4) == 0);
    CHECK_INT(answer[2] & 0x80, 0x80);
}

/* --- first words of TLS ------------------------------------------------------------------------------------------ */

struct message {
    uint8_t at[4096];
    size_t size;
};

static void put(struct message *bytes, const void *more, size_t size)
{
    memcpy(bytes->at + bytes->size, more, size);
    bytes->size += size;
}

static void put_number(struct message *bytes, size_t value, size_t size)
{
    while (size--)
        bytes->at[bytes->size++] = (uint8_t)(value >> 8 * size);
}

static void put_name(struct message *extensions, const char *name, size_t size)
{
    put_number(extensions, 0, 2);
    put_number(extensions, size + 5, 2);
    put_number(extensions, size + 3, 2);
    put_number(extensions, 0, 1);
    put_number(extensions, size, 2);
    put(extensions, name, size);
}

static struct message message_with(const struct message *extensions)
{
    static const uint8_t random[32];
    struct message body = {0}, message = {0};
    put_number(&body, 0x0303, 2);
    put(&body, random, sizeof(random));
    put_number(&body, 0, 1);
    put_number(&body, 2, 2);
    put_number(&body, 0x1301, 2);
    put_number(&body, 1, 1);
    put_number(&body, 0, 1);
    put_number(&body, extensions->size, 2);
    put(&body, extensions->at, extensions->size);
    put_number(&message, 1, 1);
    put_number(&message, body.size, 3);
    put(&message, body.at, body.size);
    return message;
}

/* In records of at most so many bytes. */
static struct message in_records(const struct message *message, size_t most)
{
    struct message records = {0};
    for (size_t at = 0; at < message->size; at += most) {
        size_t part = message->size - at < most ? message->size - at : most;
        put_number(&records, 22, 1);
        put_number(&records, 0x0301, 2);
        put_number(&records, part, 2);
        put(&records, message->at + at, part);
    }
    return records;
}

static struct message hello_for(const char *name, size_t size, size_t most)
{
    struct message extensions = {0};
    put_number(&extensions, 0x0a0a, 2);
    put_number(&extensions, 0, 2);
    put_name(&extensions, name, size);
    struct message message = message_with(&extensions);
    return in_records(&message, most);
}

TEST(a_hello_names_its_host_however_it_is_cut_into_records)
{
    char name[NAME_LONGEST + 1];
    static const size_t cuts[] = {1, 2, 3, 5, 50, 4000};
    for (size_t i = 0; i < array_len(cuts); i++) {
        struct message hello = hello_for("Api.example.com", 15, cuts[i]);
        CHECK_INT(hello_read(hello.at, hello.size, name), HELLO_NAMED);
        CHECK_STR(name, "api.example.com");
        for (size_t cut = 0; cut < hello.size; cut++)
            CHECK_INT(hello_read(hello.at, cut, name), HELLO_MORE);
    }
}

TEST(a_hello_with_two_names_a_NUL_or_bytes_left_over_is_bad)
{
    char name[NAME_LONGEST + 1];
    struct message extensions = {0};
    put_name(&extensions, "a.com", 5);
    put_name(&extensions, "b.com", 5);
    struct message message = message_with(&extensions), hello = in_records(&message, 4000);
    CHECK_INT(hello_read(hello.at, hello.size, name), HELLO_BAD);
    hello = hello_for("a.com\0.b.com", 12, 4000);
    CHECK_INT(hello_read(hello.at, hello.size, name), HELLO_BAD);
    extensions.size = 9;
    extensions.at[8] = 200; /* the name is longer than its extension */
    message = message_with(&extensions);
    hello = in_records(&message, 4000);
    CHECK_INT(hello_read(hello.at, hello.size, name), HELLO_BAD);
    extensions.size = 0;
    message = message_with(&extensions);
    message.at[3]--; /* a byte is left over */
    hello = in_records(&message, 4000);
    CHECK_INT(hello_read(hello.at, hello.size, name), HELLO_BAD);
}

TEST(a_hello_without_a_name_says_so)
{
    char name[NAME_LONGEST + 1];
    struct message extensions = {0};
    struct message message = message_with(&extensions), hello = in_records(&message, 4000);
    CHECK_INT(hello_read(hello.at, hello.size, name), HELLO_NAMELESS);
}

TEST(other_records_and_empty_or_huge_ones_are_no_hello)
{
    char name[NAME_LONGEST + 1];
    CHECK_INT(hello_read((const uint8_t *)"\x17\x03\x01", 3, name), HELLO_BAD);
    CHECK_INT(hello_read((const uint8_t *)"\x16\x02\x01", 3, name), HELLO_BAD);
    CHECK_INT(hello_read((const uint8_t *)"\x16\x03\x01\x00\x00", 5, name), HELLO_BAD);
    CHECK_INT(hello_read((const uint8_t *)"\x16\x03\x01\xff\xff", 5, name), HELLO_BAD);
    CHECK_INT(hello_read((const uint8_t *)"\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9, name), HELLO_BAD);
    CHECK_INT(hello_read((const uint8_t *)"\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9, name), HELLO_BAD);
}

/* --- the proof of an ssh server ------------------------------------------------------------------------------------ */

static const char identification[] = "SSH-2.0-OpenSSH_9.9\r\n";

static void add_text(struct buf *out, const char *text)
{
    uint32_t size = htonl((uint32_t)strlen(text));
    buf_add(out, (const char *)&size, sizeof(size));
    buf_add_str(out, text);
}

/* A packet with a message of these strings. */
static void add_packet(struct buf *out, char number, size_t count, const char *const *strings)
{
    auto_buf struct buf message = {0};
    buf_add_char(&message, number);
    for (size_t i = 0; i < count; i++)
        add_text(&message, strings[i]);
    size_t padding = 16 - (5 + message.size) % 8;
    uint32_t size = htonl((uint32_t)(1 + message.size + padding));
    buf_add(out, (const char *)&size, sizeof(size));
    buf_add_char(out, (char)padding);
    buf_add(out, message.bytes, message.size);
    for (size_t i = 0; i < padding; i++)
        buf_add_char(out, 'p');
}

static const char *const proof_strings[] = {"host key", "exchanged", "signature", "more"};

/* What a server says: `line`, then a packet for each pair of a message's number and its count of strings. */
static struct buf server_says(const char *line, size_t count, const char (*messages)[2])
{
    struct buf out = {0};
    buf_add_str(&out, line);
    for (size_t i = 0; i < count; i++)
        add_packet(&out, messages[i][0], (size_t)messages[i][1], proof_strings);
    return out;
}

/* How many proofs are found in these bytes, in pieces; each must be the one of proof_strings. */
static int proofs_in(const struct buf *said, size_t piece)
{
    struct kex kex = {.step = KEX_IDENTIFICATION};
    char mark[SHA256_HEX_SIZE], wanted[SHA256_HEX_SIZE];
    int found = 0;
    ssh_proof_mark(bytes_of("host key", 8), bytes_of("signature", 9), wanted);
    for (size_t at = 0; at < said->size; at += piece) {
        size_t size = said->size - at < piece ? said->size - at : piece;
        if (!kex_take(&kex, bytes_of(said->bytes + at, size), mark))
            continue;
        CHECK_STR(mark, wanted);
        found++;
    }
    kex_end(&kex);
    return found;
}

TEST(a_server_proves_itself_once_whatever_pieces_its_words_come_in)
{
    static const char plain[][2] = {{20, 2}, {31, 3}, {21, 0}, {31, 3}},
                      group[][2] = {{20, 2}, {31, 2}, {33, 3}};
    struct buf said[] = {server_says(identification, 4, plain), server_says(identification, 3, group)};
    for (size_t i = 0; i < array_len(said); i++) {
        for (size_t piece = 1; piece <= said[i].size; piece++)
            CHECK_INT(proofs_in(&said[i], piece), 1);
        buf_free(&said[i]);
    }
}

TEST(what_is_not_in_the_order_of_a_key_exchange_proves_nothing)
{
    static const struct {
        const char *line;
        char messages[3][2];
    } cases[] = {
        {"SSH-1.5-old\n", {{20, 2}, {31, 3}}},
        {"a line before\r\nSSH-2.0-x\r\n", {{20, 2}, {31, 3}}},
        {"", {{20, 2}, {31, 3}}},
        {"SSH-2.0-x\n", {{31, 3}}},                   /* no KEXINIT */
        {"SSH-2.0-x\n", {{20, 2}, {20, 2}, {31, 3}}}, /* two */
        {"SSH-2.0-x\n", {{20, 2}, {2, 1}, {31, 3}}},  /* SSH_MSG_IGNORE */
        {"SSH-2.0-x\n", {{20, 2}, {21, 0}, {31, 3}}}, /* NEWKEYS: what follows is encrypted */
        {"SSH-2.0-x\n", {{20, 2}, {33, 3}}},          /* no group */
        {"SSH-2.0-x\n", {{20, 2}, {31, 2}, {31, 3}}}, /* no reply to a group */
        {"SSH-2.0-x\n", {{20, 2}, {31, 1}, {33, 3}}}, /* no group, and no reply */
        {"SSH-2.0-x\n", {{20, 2}, {31, 4}, {33, 3}}}, /* bytes are left over */
        {"SSH-2.0-x\n", {{20, 2}, {30, 3}, {31, 3}}},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        size_t count = 0;
        while (count < 3 && cases[i].messages[count][0])
            count++;
        struct buf said = server_says(cases[i].line, count, cases[i].messages);
        CHECK_INT(proofs_in(&said, said.size), 0);
        CHECK_INT(proofs_in(&said, 1), 0);
        buf_free(&said);
    }
}

TEST(packets_and_lines_that_are_too_long_or_do_not_fit_prove_nothing_and_take_no_memory)
{
    static const char whole[][2] = {{20, 2}, {31, 3}};
    static const struct {
        size_t at;
        char byte;
    } wrong[] = {
        {0, 1},      /* 16 MiB */
        {2, '\x89'}, /* above 35,000 */
        {3, 3},      /* no multiple of the block */
        {4, 3},      /* too little padding */
        {4, '\xff'}, /* nothing else */
    };
    size_t start = strlen(identification);
    for (size_t i = 0; i < array_len(wrong); i++) {
        struct buf said = server_says(identification, 2, whole);
        said.bytes[start + wrong[i].at] = wrong[i].byte;
        CHECK_INT(proofs_in(&said, said.size), 0);
        buf_free(&said);
    }
    struct kex kex = {.step = KEX_IDENTIFICATION};
    char mark[SHA256_HEX_SIZE], line[300] = "SSH-2.0-";
    memset(line + 8, 'x', sizeof(line) - 8);
    CHECK(!kex_take(&kex, bytes_of(line, 254), mark) && kex.step == KEX_IDENTIFICATION);
    CHECK(!kex_take(&kex, bytes_of(line, 1), mark) && kex.step == KEX_OVER && !kex.unread.bytes);
    CHECK(!kex_take(&kex, bytes_of(identification, start), mark) && !kex.unread.bytes);
}

TEST(no_two_proofs_have_the_same_mark)
{
    char one[SHA256_HEX_SIZE], two[SHA256_HEX_SIZE];
    ssh_proof_mark(bytes_of("ab", 2), bytes_of("c", 1), one);
    ssh_proof_mark(bytes_of("a", 1), bytes_of("bc", 2), two);
    CHECK(ssh_proof_is_mark(one) && ssh_proof_is_mark(two) && strcmp(one, two) != 0);
    CHECK(!ssh_proof_is_mark("") && !ssh_proof_is_mark(one + 1));
    one[0] = 'A';
    CHECK(!ssh_proof_is_mark(one));
}

/* --- requests of plain HTTP ---------------------------------------------------------------------------------------- */

/* What passes of the text, whatever pieces it comes in; NULL where it is refused. */
static const char *pass_from(enum http_state state, const char *text, size_t piece)
{
    static struct buf out;
    static char shown[4096];
    struct http http = {.state = state};
    const char *problem = NULL, *result = shown;
    out.size = 0;
    for (size_t at = 0, size = strlen(text); at < size && result; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        if (http_take(&http, "a.test", 80, text + at, part, &out, &problem) != (ptrdiff_t)part)
            result = NULL;
    }
    snprintf(shown, sizeof(shown), "%s", buf_text(&out));
    http_free(&http);
    buf_free(&out);
    return result;
}

static const char *pass(const char *text, size_t piece)
{
    return pass_from(HTTP_HEAD, text, piece);
}

#define HEAD "GET / HTTP/1.1\r\nHost: a.test\r\n"

TEST(requests_for_the_right_host_pass_unchanged)
{
    static const char *const requests[] = {
        HEAD "\r\n",
        HEAD "\r\n" HEAD "Accept: */*\r\n\r\n",
        "GET http://a.test/x HTTP/1.1\r\nHost: A.test:80\r\n\r\n",
        "OPTIONS * HTTP/1.0\r\nhost:a.test\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello" HEAD "\r\n",
        "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n" HEAD
        "\r\n",
    };
    for (size_t i = 0; i < array_len(requests); i++) {
        CHECK_STR(pass(requests[i], 1), requests[i]);
        CHECK_STR(pass(requests[i], 7), requests[i]);
        CHECK_STR(pass(requests[i], 4096), requests[i]);
    }
}

TEST(a_request_whose_content_a_server_may_read_as_the_next_one_closes_the_connection)
{
    static const char smuggled[] = "DELETE /admin HTTP/1.1\r\nHost: b.test\r\n\r\n";
    static const char *const methods[] = {"GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "BREW"};
    for (size_t i = 0; i < array_len(methods); i++) {
        char request[512], wanted[512];
        snprintf(
            request, sizeof(request),
            "%s /x HTTP/1.1\r\nConnection: keep-alive\r\nHost: a.test\r\nContent-Length: %zu\r\nKEEP-ALIVE: 9\r\nA: b\r\n\r\n%s",
            methods[i], strlen(smuggled), smuggled);
        snprintf(
            wanted, sizeof(wanted),
            "%s /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: %zu\r\nA: b\r\nConnection: close\r\n\r\n%s",
            methods[i], strlen(smuggled), smuggled);
        CHECK_STR(pass(request, 1), wanted);
        CHECK_STR(pass(request, 4096), wanted);
        CHECK_STR(pass_from(HTTP_UNKNOWN, request, 1), wanted);
        CHECK_STR(pass_from(HTTP_UNKNOWN, request, 4096), wanted);
    }
    CHECK_STR(
        pass("GET / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 1),
        "GET / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n");
}

TEST(no_byte_passes_before_the_head_is_whole)
{
    CHECK_STR(pass(HEAD, 4096), "");
    CHECK_STR(pass("POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nhello", 4096),
              "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nhello");
}

TEST(requests_for_another_host_or_with_two_meanings_do_not_pass)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        HEAD "Host: b.test\r\n\r\n",
        HEAD "Host: a.test\r\n\r\n",
        HEAD "\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://a.test@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test.b.test\r\n\r\n",
        "GET /x#y HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "CONNECT b.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a.test\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\nHost: a.test\n\n",
        "GET / HTTP/1.1\r\n Host: a.test\r\n\r\n",
        HEAD " folded: b\r\n\r\n",
        HEAD "Content-Length : 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        HEAD "\r\n" HEAD "Upgrade: websocket\r\n\r\n",
        /* The server may choose the other one, whose requests are not read. */
        HEAD "Upgrade: h2c\r\nUpgrade: websocket\r\n\r\n",
        HEAD "Upgrade: websocket\r\nUpgrade: h2c\r\n\r\n",
        /* Refused by a server, it leaves content behind that is not read as such. */
        HEAD "Upgrade: websocket\r\nContent-Length: 5\r\n\r\n",
        HEAD "Upgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n",
        /* Where HTTP/1.0 has no chunks, they are the next request. */
        "POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < array_len(requests); i++) {
        CHECK(pass(requests[i], 4096) == NULL);
        CHECK(pass(requests[i], 1) == NULL);
    }
}

TEST(where_any_protocol_may_be_spoken_requests_are_still_found)
{
    static const char *const passing[] = {
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "PROPFIND /x HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n", /* no server goes on after that */
        "PING\r\n",
        "ping",
        "x",
        "*1\r\n$4\r\nPING\r\n",
        "EHLO b.test\r\n",
        "\x1b\x02 HTTP/1.1\r\n",
        "GET /without/a/version\r\n",
        "GET /?url=http://b.test/\r\n",
        "get http://a.key/of/a/cache\r\n",
    };
    static const char *const refused[] = {
        "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",       "\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "\n\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",   "\rGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "get / http/1.1\r\nHost: b.test\r\n\r\n",       "PROPFIND / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "SSH-2.0-x / HTTP/1.1\r\nHost: b.test\r\n\r\n", "GET\t/\tHTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: b.test\r\n\r\n",      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "CONNECT b.test:443 HTTP/1.1\r\n\r\n",          "GET http://b.test/\r\n",
        " GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",      "GET\v/\fHTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET /\rHTTP/1.1\r\nHost: b.test\r\n\r\n",
    };
    for (size_t piece = 1; piece < 64; piece += 9) {
        for (size_t i = 0; i < array_len(passing); i++)
            CHECK_STR(pass_from(HTTP_UNKNOWN, passing[i], piece), passing[i]);
        for (size_t i = 0; i < array_len(refused); i++) {
            if (!CHECK(pass_from(HTTP_UNKNOWN, refused[i], piece) == NULL))
                printf("# it was %s\n", refused[i]);
        }
    }
}

/* Some servers take a request line of a mebibyte. */
TEST(a_request_is_found_however_long_its_line_is)
{
    enum { LONG = 300 * 1000 };
    static const char *const begins[] = {"GET /", "GET / HTTP/1.1 ", "G", "\r"}, *const ends[] = {
                                                                                     "\r\n",
                                                                                     "GET / HTTP/1.1\r\n"};
    static char text[LONG + 64];
    for (size_t i = 0; i < array_len(begins); i++) {
        for (size_t j = 0; j < array_len(ends); j++) {
            memset(text, *begins[i] == '\r' ? '\r' : 'a', LONG);
            memcpy(text, begins[i], strlen(begins[i]));
            snprintf(text + LONG, sizeof(text) - LONG, "%s", ends[j]);
            bool is_request = j > 0 || strstr(begins[i], "HTTP");
            for (size_t piece = 4093; piece < LONG; piece *= 9)
                CHECK((pass_from(HTTP_UNKNOWN, text, piece) == NULL) == is_request);
        }
    }
}

TEST(after_a_request_for_another_protocol_nothing_passes_until_the_server_agrees)
{
    struct http http = {0};
    auto_buf struct buf out = {0};
    const char *problem = NULL;
    static const char request[] = HEAD "Upgrade: websocket\r\n\r\n";
    CHECK_INT(http_take(&http, "a.test", 80, request, strlen(request), &out, &problem), strlen(request));
    CHECK_INT(http.state, HTTP_UPGRADING);
    CHECK_INT(http_take(&http, "a.test", 80, "x", 1, &out, &problem), 0);
    http_free(&http);
}

/* --- secrets of the host in requests ------------------------------------------------------------------------------ */

#define KEY "ghp_R4nd0mLettersThatNobodyEverUsed01Xyz" /* made up, of the right shape */

struct searched {
    struct buf out;
    bool is_stopped;
    size_t found;
};

/* What passes of the text, in pieces, to any host if `host` is NULL; and whether the end lets more of it pass. */
static void pass_searched(enum http_state state, const char *host, enum leak_answer answer, const char *text,
                          size_t piece, struct searched *ret)
{
    struct leak_table table = {.answer = answer};
    struct http http = {.state = state, .search = search_new(&table)};
    const char *problem = NULL;
    *ret = (struct searched){0};
    for (size_t at = 0, size = strlen(text); at < size && !ret->is_stopped; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        ret->is_stopped = http_take(&http, host, 80, text + at, part, &ret->out, &problem) != (ptrdiff_t)part;
    }
    if (!ret->is_stopped)
        ret->is_stopped = http_finish(&http, &ret->out, &problem) < 0;
    ret->found = http.search->leaks.found_count;
    http_free(&http);
    leak_table_free(&table);
}

#define POST_OF(size) "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: " #size "\r\n\r\n"
#define CHUNKS        "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"

TEST(a_key_in_a_request_is_found_in_every_place_and_with_block_nothing_of_it_passes)
{
    static const char *const with_key[] = {
        "GET /?k=" KEY " HTTP/1.1\r\nHost: a.test\r\n\r\n",
        HEAD "X-Note: " KEY "\r\n\r\n",
        POST_OF(44) "a b " KEY,
        POST_OF(42) KEY " b",
        CHUNKS "c\r\nx ghp_R4nd0m\r\n1f\r\nLettersThatNobodyEverUsed01Xyz \r\n0\r\n\r\n",
        CHUNKS "28\r\n" KEY "\r\n0\r\n\r\n",
    };
    struct searched got;
    for (size_t i = 0; i < array_len(with_key); i++) {
        for (size_t piece = 1; piece < 200; piece += 13) {
            pass_searched(HTTP_HEAD, "a.test", LEAK_BLOCK, with_key[i], piece, &got);
            CHECK(got.is_stopped && got.found == 1 && got.out.size == 0);
            buf_free(&got.out);
            pass_searched(HTTP_HEAD, "a.test", LEAK_WARN, with_key[i], piece, &got);
            CHECK(!got.is_stopped && got.found == 1);
            CHECK_STR(buf_text(&got.out), with_key[i]);
            buf_free(&got.out);
            pass_searched(HTTP_UNKNOWN, "a.test", LEAK_BLOCK, with_key[i], piece, &got);
            CHECK(got.is_stopped && got.out.size <= 4); /* the method, at most */
            buf_free(&got.out);
        }
    }
}

TEST(requests_without_a_secret_pass_unchanged_and_in_time)
{
    static const char *const fine[] = {
        HEAD "\r\n" HEAD "Authorization: Bearer " KEY "\r\n\r\n",
        POST_OF(4) "abcd" POST_OF(1) "x" HEAD "\r\n",
        CHUNKS "3\r\nabc\r\n0\r\n\r\n" POST_OF(1) "x",
        ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Encoding: gzip\r\nContent-Length: 40\r\n\r\n" KEY),
    };
    struct searched got;
    for (size_t i = 0; i < array_len(fine); i++) {
        for (size_t piece = 1; piece < 200; piece += 13) {
            pass_searched(HTTP_HEAD, "a.test", LEAK_BLOCK, fine[i], piece, &got);
            CHECK(!got.is_stopped && got.found == 0);
            CHECK_STR(buf_text(&got.out), fine[i]);
            buf_free(&got.out);
        }
    }
    pass_searched(HTTP_HEAD, "a.test", LEAK_BLOCK, POST_OF(9) "a b", 7, &got);
    CHECK_INT(got.out.size, 0); /* its end decides */
    buf_free(&got.out);
    pass_searched(HTTP_HEAD, "a.test", LEAK_BLOCK,
                  "PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 40\r\n\r\n" KEY,
                  7, &got);
    CHECK_STR(buf_text(&got.out),
              "PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 40\r\n\r\n");
    CHECK(got.is_stopped);
    buf_free(&got.out);
}

TEST(of_large_content_what_lies_far_before_the_secret_passes)
{
    enum { BEFORE = 300000 };
    static char text[BEFORE + 200];
    struct searched got;
    int size = snprintf(text, sizeof(text), "%s", POST_OF(300040));
    memset(text + size, ' ', BEFORE);
    snprintf(text + size + BEFORE, sizeof(text) - (size_t)size - BEFORE, "%s", KEY);
    for (size_t piece = 1000; piece < 40000; piece *= 3) {
        pass_searched(HTTP_HEAD, "a.test", LEAK_BLOCK, text, piece, &got);
        CHECK(got.is_stopped && got.out.size > 200000 && got.out.size <= (size_t)size + BEFORE - 40000);
        CHECK(memcmp(got.out.bytes, text, got.out.size) == 0);
        buf_free(&got.out);
    }
}

TEST(other_protocols_are_not_searched_and_an_unfinished_line_is)
{
    static const char *const others[] = {
        "ruok",   "stats " KEY "\r\n" KEY, "\x16\x03\x01" KEY,
        "PUT it", "EHLO me\r\n" KEY,       "{\"a\": \"" KEY "\"}",
    };
    struct searched got;
    for (size_t i = 0; i < array_len(others); i++) {
        for (size_t piece = 1; piece < 60; piece += 7) {
            pass_searched(HTTP_UNKNOWN, NULL, LEAK_BLOCK, others[i], piece, &got);
            CHECK(!got.is_stopped && got.found == 0);
            CHECK_STR(buf_text(&got.out), others[i]);
            buf_free(&got.out);
        }
    }
    pass_searched(HTTP_UNKNOWN, NULL, LEAK_BLOCK, "GET /" KEY, 100, &got);
    CHECK(got.is_stopped && got.out.size == 0);
    buf_free(&got.out);
}

TEST(without_a_name_requests_may_be_for_any_host_and_ask_for_a_tunnel)
{
    static const char *const fine[] = {
        "GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://b.test/\r\n",
        "CONNECT b.test:443 HTTP/1.1\r\n\r\n\x16\x03\x01" KEY,
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" KEY,
    };
    struct searched got;
    for (size_t i = 0; i < array_len(fine); i++) {
        pass_searched(HTTP_UNKNOWN, NULL, LEAK_BLOCK, fine[i], 7, &got);
        CHECK(!got.is_stopped && got.found == 0);
        CHECK_STR(buf_text(&got.out), fine[i]);
        buf_free(&got.out);
    }
    pass_searched(HTTP_UNKNOWN, NULL, LEAK_BLOCK, "GET / HTTP/1.0\r\n\r\nCONNECT b.test:1 HTTP/1.1\r\n\r\n",
                  7, &got);
    CHECK(got.is_stopped); /* only the first request may */
    buf_free(&got.out);
}

/* --- addresses --------------------------------------------------------------------------------------------------- */

static struct endpoint endpoint_of(const char *text)
{
    struct endpoint endpoint = {0};
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) == 1)
        return endpoint_v4(ntohl(v4.s_addr), 0);
    if (inet_pton(AF_INET6, text, endpoint.address) != 1)
        abort();
    return endpoint;
}

TEST(addresses_are_told_apart)
{
    static const struct {
        const char *address;
        enum address_class class;
    } cases[] = {
        {"93.184.216.34", ADDRESS_PUBLIC},
        {"198.18.0.5", ADDRESS_PUBLIC},
        {"2606:2800:220:1::1", ADDRESS_PUBLIC},
        {"10.1.2.3", ADDRESS_PRIVATE},
        {"172.16.0.1", ADDRESS_PRIVATE},
        {"172.31.255.255", ADDRESS_PRIVATE},
        {"172.32.0.0", ADDRESS_PUBLIC},
        {"192.168.1.1", ADDRESS_PRIVATE},
        {"100.64.0.1", ADDRESS_PRIVATE},
        {"100.128.0.1", ADDRESS_PUBLIC},
        {"fd12::1", ADDRESS_PRIVATE},
        {"fec0::1", ADDRESS_PRIVATE},
        {"127.0.0.1", ADDRESS_LOOPBACK},
        {"127.255.0.1", ADDRESS_LOOPBACK},
        {"::1", ADDRESS_LOOPBACK},
        {"::ffff:127.0.0.1", ADDRESS_LOOPBACK},
        {"::127.0.0.1", ADDRESS_LOOPBACK},
        {"64:ff9b::7f00:1", ADDRESS_LOOPBACK},
        {"2002:7f00:1::", ADDRESS_LOOPBACK},
        {"2001:0:1::80ff:fffe", ADDRESS_LOOPBACK},
        {"64:ff9b::a00:1", ADDRESS_PRIVATE},
        {"64:ff9b:1::a00:1", ADDRESS_PRIVATE},
        {"64:ff9b::808:808", ADDRESS_PUBLIC},
        {"2002:a9fe:a9fe::", ADDRESS_LINK_LOCAL},
        {"169.254.169.254", ADDRESS_LINK_LOCAL},
        {"100.100.100.200", ADDRESS_LINK_LOCAL},
        {"168.63.129.16", ADDRESS_LINK_LOCAL},
        {"fd00:ec2::254", ADDRESS_LINK_LOCAL},
        {"fd20:ce::254", ADDRESS_LINK_LOCAL},
        {"fd00:c1::a9fe:a9fe", ADDRESS_LINK_LOCAL},
        {"fd00:42::42", ADDRESS_LINK_LOCAL},
        {"64:ff9b:1::a9fe:a9fe", ADDRESS_LINK_LOCAL},
        {"64:ff9b:1::808:808", ADDRESS_PRIVATE},
        {"fe80::1", ADDRESS_LINK_LOCAL},
        {"::ffff:169.254.169.254", ADDRESS_LINK_LOCAL},
        {"0.0.0.0", ADDRESS_UNUSABLE},
        {"0.1.2.3", ADDRESS_UNUSABLE},
        {"::", ADDRESS_UNUSABLE},
        {"::ffff:0:7f00:1", ADDRESS_UNUSABLE},
        {"224.0.0.1", ADDRESS_MULTICAST},
        {"255.255.255.255", ADDRESS_MULTICAST},
        {"ff02::1", ADDRESS_MULTICAST},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        struct endpoint endpoint = endpoint_of(cases[i].address);
        if (!CHECK_INT(address_classify(&endpoint), cases[i].class))
            printf("# %s\n", cases[i].address);
    }
}

/* The addresses of RFC 6052, 2.4, each with what the resolver would say of its prefix. */
TEST(what_a_translator_stands_for_is_found_behind_every_size_of_prefix)
{
    static const char *const cases[][2] = {
        {"2001:db8:c000:aa::", "2001:db8:c000:221::"},
        {"2001:db8:1c0:0:aa::", "2001:db8:1c0:2:21::"},
        {"2001:db8:122:c000:0:aa00::", "2001:db8:122:c000:2:2100::"},
        {"2001:db8:122:3c0:0:aa::", "2001:db8:122:3c0:0:221::"},
        {"2001:db8:122:344:c0:0:ab00::", "2001:db8:122:344:c0:2:2100::"},
        {"2001:db8:122:344::c000:ab", "2001:db8:122:344::192.0.2.33"},
    };
    struct endpoint inner[ADDRESS_MOST_INNER], expected = endpoint_of("192.0.2.33");
    for (size_t i = 0; i < array_len(cases); i++) {
        struct translators translators = {0};
        struct endpoint told = endpoint_of(cases[i][0]), behind = endpoint_of(cases[i][1]);
        CHECK_INT(address_inner(&behind, &translators, inner), 0);
        translators_learn(&translators, &told);
        translators_learn(&translators, &told);
        CHECK_INT(translators.count, 1);
        CHECK_INT(address_inner(&behind, &translators, inner), 1);
        CHECK(endpoint_equal(&inner[0], &expected));
        behind.address[3] ^= 1;
        CHECK_INT(address_inner(&behind, &translators, inner), 0);
    }
}

TEST(what_is_no_translator_is_not_taken_for_one)
{
    static const char *const others[] = {"192.0.0.170", "2001:db8::c000:ac",
                                         "2001:db8::", "64:ff9b::808:808"};
    struct translators translators = {0};
    for (size_t i = 0; i < array_len(others); i++) {
        struct endpoint other = endpoint_of(others[i]);
        translators_learn(&translators, &other);
    }
    CHECK_INT(translators.count, 0);
    for (unsigned i = 0; i < 2 * TRANSLATORS_MOST; i++) {
        struct endpoint one = endpoint_of("2001:db8::c000:aa");
        one.address[5] = (uint8_t)i;
        translators_learn(&translators, &one);
    }
    CHECK_INT(translators.count, TRANSLATORS_MOST);
}

TEST(the_address_in_known_clothes_is_found)
{
    static const struct translators none;
    static const char *const clothed[] = {"64:ff9b::c000:221", "64:ff9b:1::c000:221", "::192.0.2.33",
                                          "2002:c000:221::1", "2001:0:1::3fff:fdde"};
    struct endpoint inner[ADDRESS_MOST_INNER], expected = endpoint_of("192.0.2.33"),
                                               plain = endpoint_of("2001:db8::c000:221");
    for (size_t i = 0; i < array_len(clothed); i++) {
        struct endpoint endpoint = endpoint_of(clothed[i]);
        if (!CHECK_INT(address_inner(&endpoint, &none, inner), 1) ||
            !CHECK(endpoint_equal(&inner[0], &expected)))
            printf("# %s\n", clothed[i]);
    }
    CHECK_INT(address_inner(&expected, &none, inner), 0);
    CHECK_INT(address_inner(&plain, &none, inner), 0);
}

TEST(a_wide_network_does_not_mean_what_is_special_in_it)
{
    struct arena arena = {0};
    static const struct {
        const char *rule;
        enum address_class class;
        bool is_meant;
    } cases[] = {
        {"0.0.0.0/0", ADDRESS_PUBLIC, true},          {"0.0.0.0/0", ADDRESS_PRIVATE, true},
        {"0.0.0.0/0", ADDRESS_LOOPBACK, false},       {"0.0.0.0/0", ADDRESS_LINK_LOCAL, false},
        {"127.0.0.0/8", ADDRESS_LOOPBACK, true},      {"127.0.0.1", ADDRESS_LOOPBACK, true},
        {"10.0.0.0/8", ADDRESS_OWN, false},           {"10.0.0.5", ADDRESS_OWN, true},
        {"169.254.0.0/16", ADDRESS_LINK_LOCAL, true},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        struct host_object host;
        const char *problem, *hint;
        REQUIRE(host_parse(&arena, cases[i].rule, &host, &problem, &hint) == 0);
        if (!CHECK_INT(address_is_meant(&host, cases[i].class), cases[i].is_meant))
            printf("# %s, %s\n", cases[i].rule, address_class_text(cases[i].class));
    }
    arena_free(&arena);
}

/* --- the proxy ----------------------------------------------------------------------------------------------------- */

TEST(a_proxy_is_read_from_its_URL)
{
    struct arena arena = {0};
    struct proxy proxy = {0};
    struct err err;
    CHECK_INT(proxy_parse(&arena, "http://me:p%40ss@proxy.corp:8080/", &proxy, &err), 0);
    CHECK_STR(proxy.host, "proxy.corp");
    CHECK_INT(proxy.port, 8080);
    CHECK_STR(proxy.authorization, "bWU6cEBzcw==");
    auto_buf struct buf request = {0};
    proxy_add_request(&proxy, "a.test", 443, &request);
    CHECK_STR(request.bytes, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
                             "Proxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n");
    CHECK_INT(proxy_parse(&arena, "socks5://proxy.corp", &proxy, &err), -1);
    /* What could be a password is not repeated. */
    CHECK_INT(proxy_parse(&arena, "http://me:hunter2/x@proxy.corp:8080", &proxy, &err), -1);
    CHECK(!strstr(err.message, "hunter2") && strstr(err.message, "%2F"));
    arena_free(&arena);
}

TEST(exceptions_from_the_proxy_are_names_and_all_below_them)
{
    struct proxy proxy = {.host = "proxy",
                          .exceptions = "localhost, .corp.test,direct.test:8443,*.star.test"};
    CHECK(proxy_is_excepted(&proxy, "localhost", 80));
    CHECK(proxy_is_excepted(&proxy, "db.corp.test", 443));
    CHECK(proxy_is_excepted(&proxy, "corp.test", 443));
    CHECK(proxy_is_excepted(&proxy, "a.star.test", 443));
    CHECK(proxy_is_excepted(&proxy, "direct.test", 8443));
    CHECK(!proxy_is_excepted(&proxy, "direct.test", 443));
    CHECK(!proxy_is_excepted(&proxy, "notcorp.test", 443));
    proxy.exceptions = "*";
    CHECK(proxy_is_excepted(&proxy, "anything.test", 1));
}

TEST(a_proxys_answer_ends_where_its_head_ends)
{
    CHECK_INT(proxy_read_answer("HTTP/1.1 200 OK\r\nX: y\r\n\r\nSSH-2.0", 32), 25);
    CHECK_INT(proxy_read_answer("HTTP/1.1 200 OK\r\n", 17), 0);
    CHECK_INT(proxy_read_answer("HTTP/1.1 407 No\r\n\r\n", 19), -1);
    CHECK_INT(proxy_read_answer("garbage", 7), -1);
    CHECK_INT(proxy_read_answer("HTTP/1.\r\n\r\n", 11), -1);
    CHECK_INT(proxy_read_answer("HTTP/1.1 200\r\n\r\nfirst\nwords", 27), 16);
    static const char *const wrong[] = {"HTTP/1.1 200 OK\n\n",      "HTTP/1.1 200 OK\r\nX: y\n\r\n\r\n",
                                        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 2\r\n\r\n",
                                        "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
                                        "HTTP/2 200\r\n\r\n",       "\n"};
    for (size_t i = 0; i < array_len(wrong); i++)
        CHECK_INT(proxy_read_answer(wrong[i], strlen(wrong[i])), -1);
}

/* --- the table ------------------------------------------------------------------------------------------------------ */

TEST(the_table_decides_as_the_policy_does)
{
    struct table table = {0};
    struct err err;
    struct host_object host = {.kind = HOST_NAME};
    CHECK_INT(table_add(&table, "connect", "*.example.com:443", false, &err), 0);
    CHECK_INT(table_add(&table, "refuse", "bad.example.com:443", false, &err), 0);
    CHECK_INT(table_add(&table, "connect", "db.corp:5432", true, &err), 0);
    CHECK_INT(table_add(&table, "read", "/etc", true, &err), -1);
    CHECK_INT(table_add(&table, "connect", "a b", true, &err), -1);
    table_index(&table);
    host.name = "api.example.com";
    struct rule rule;
    CHECK(table_allows(&table, &host, 443, &rule) && !table_trusts_name(&rule));
    CHECK(!table_allows(&table, &host, 80, NULL));
    host.name = "bad.example.com";
    CHECK(!table_allows(&table, &host, 443, NULL));
    host.name = "db.corp";
    CHECK(table_allows(&table, &host, 5432, &rule) && table_trusts_name(&rule));
    CHECK_INT(table_add(&table, "connect", "bad.example.com", true, &err), 0);
    table_index(&table);
    host.name = "bad.example.com";
    CHECK(table_allows(&table, &host, 443, NULL));
    table_free(&table);
}

TEST(a_port_of_the_host_is_one_of_localhost)
{
    struct table table = {0};
    struct err err;
    const struct endpoint here = endpoint_v4(INADDR_LOOPBACK, 5432), there = endpoint_v4(0x0a000001, 5432);
    CHECK_INT(table_add(&table, "host-port", "5432", true, &err), 0);
    table_index(&table);
    CHECK(table_is_host_port(&table, &here) && !table_is_host_port(&table, &there));
    table_free(&table);
}

UNIT_MAIN()
