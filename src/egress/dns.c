#include "egress/dns.h"

#include <ctype.h>
#include <string.h>

#include "base/reader.h"

enum {
    HEADER_SIZE = 12,
    CLASS_IN = 1,
    TYPE_TXT = 16,
    TYPE_OPT = 41,
    FLAG_RESPONSE = 0x8000,
    FLAG_AUTHORITY = 0x0400,
    FLAG_RECURSION_WANTED = 0x0100,
    FLAG_RECURSION_AVAILABLE = 0x0080,
    OPCODE = 0x7800,
    NAME_AT_QUESTION = 0xc000 | HEADER_SIZE, /* a compressed name: the same as the question's */
    OPTION_REASON = 15,                      /* RFC 8914 */
    REASON_PROHIBITED = 18,
    LONGEST_REASON = 200,
    LIFETIME = 30, /* seconds for which an answer may be cached */
};

/* DNS allows any bytes in a name. Bytes that no host name has are treated as malformed. */
static void read_name(struct reader *reader, struct dns_question *question)
{
    size_t size = 0;
    for (;;) {
        unsigned length = reader_number(reader, 1);
        if (reader->failed || length > 63 || question->spelled_size + length + 1 > 255) {
            reader->failed = true; /* also for a compression pointer: nothing precedes the question */
            return;
        }
        question->spelled[question->spelled_size++] = (uint8_t)length;
        if (length == 0)
            return;
        if (size)
            question->name[size++] = '.';
        for (unsigned i = 0; i < length; i++) {
            unsigned byte = reader_number(reader, 1);
            if (!isalnum((int)byte) && byte != '-' && byte != '_')
                reader->failed = true;
            question->spelled[question->spelled_size++] = (uint8_t)byte;
            if (size < NAME_LONGEST)
                question->name[size++] = (char)tolower((int)byte);
        }
    }
}

/* The one record that may follow a question: EDNS. */
static void read_options(struct reader *reader, struct dns_question *question)
{
    bool is_root = reader_number(reader, 1) == 0, is_options = reader_number(reader, 2) == TYPE_OPT;
    reader_take(reader, 6);
    reader_vector(reader, 2);
    question->has_options = true;
    reader->failed |= !is_root || !is_options;
}

enum dns_code dns_read(const uint8_t *bytes, size_t size, struct dns_question *ret_question)
{
    *ret_question = (struct dns_question){0};
    struct reader reader = {bytes, size, false};
    ret_question->id = (uint16_t)reader_number(&reader, 2);
    ret_question->flags = (uint16_t)reader_number(&reader, 2);
    uint32_t questions = reader_number(&reader, 2), answers = reader_number(&reader, 2),
             authorities = reader_number(&reader, 2), additional = reader_number(&reader, 2);
    if (reader.failed || ret_question->flags & FLAG_RESPONSE)
        return DNS_IGNORED;
    if (ret_question->flags & OPCODE)
        return DNS_NOT_IMPLEMENTED;
    if (questions != 1 || answers || authorities || additional > 1)
        return DNS_MALFORMED;
    read_name(&reader, ret_question);
    ret_question->type = (uint16_t)reader_number(&reader, 2);
    uint32_t class = reader_number(&reader, 2);
    if (additional)
        read_options(&reader, ret_question);
    if (reader.failed || reader.size || class != CLASS_IN) {
        ret_question->spelled_size = 0; /* a malformed question is not repeated in the answer */
        return DNS_MALFORMED;
    }
    return DNS_FINE;
}

/* An answer always fits: a question of 255 + 4 bytes and at most three records of bounded size. */
struct writer {
    uint8_t *at;
};

static void write_short(struct writer *writer, unsigned value)
{
    *writer->at++ = (uint8_t)(value >> 8);
    *writer->at++ = (uint8_t)value;
}

static void write_bytes(struct writer *writer, const void *bytes, size_t size)
{
    memcpy(writer->at, bytes, size);
    writer->at += size;
}

static void write_record(struct writer *writer, unsigned type, size_t size)
{
    write_short(writer, NAME_AT_QUESTION);
    write_short(writer, type);
    write_short(writer, CLASS_IN);
    write_short(writer, 0);
    write_short(writer, LIFETIME);
    write_short(writer, (unsigned)size);
}

static void write_options(struct writer *writer, const char *reason, size_t reason_size)
{
    size_t size = reason ? 6 + reason_size : 0;
    *writer->at++ = 0;
    write_short(writer, TYPE_OPT);
    write_short(writer, DNS_LARGEST_QUESTION);
    write_short(writer, 0);
    write_short(writer, 0);
    write_short(writer, (unsigned)size);
    if (!reason)
        return;
    write_short(writer, OPTION_REASON);
    write_short(writer, (unsigned)(2 + reason_size));
    write_short(writer, REASON_PROHIBITED);
    write_bytes(writer, reason, reason_size);
}

size_t dns_write(const struct dns_question *question, const struct dns_answer *answer,
                 uint8_t ret_bytes[DNS_LARGEST_ANSWER])
{
    struct writer writer = {ret_bytes};
    bool repeats = question->spelled_size > 0;
    const char *reason = repeats ? answer->reason : NULL;
    size_t reason_size = reason ? strnlen(reason, LONGEST_REASON) : 0;
    unsigned kept = question->flags & (OPCODE | FLAG_RECURSION_WANTED);
    write_short(&writer, question->id);
    write_short(&writer, kept | FLAG_RESPONSE | FLAG_AUTHORITY | FLAG_RECURSION_AVAILABLE | answer->code);
    write_short(&writer, repeats);
    write_short(&writer, answer->address != NULL);
    write_short(&writer, 0);
    write_short(&writer, (reason != NULL) + (unsigned)question->has_options);
    if (repeats) {
        write_bytes(&writer, question->spelled, question->spelled_size);
        write_short(&writer, question->type);
        write_short(&writer, CLASS_IN);
    }
    if (answer->address) {
        write_record(&writer, question->type, answer->address_size);
        write_bytes(&writer, answer->address, answer->address_size);
    }
    if (reason) {
        write_record(&writer, TYPE_TXT, reason_size + 1);
        *writer.at++ = (uint8_t)reason_size;
        write_bytes(&writer, reason, reason_size);
    }
    if (question->has_options)
        write_options(&writer, reason, reason_size);
    return (size_t)(writer.at - ret_bytes);
}
