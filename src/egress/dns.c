#include "egress/dns.h"

#include <ctype.h>
#include <string.h>

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
    LIFETIME = 30, /* seconds that an answer may be kept */
};

struct reader {
    const uint8_t *at, *end;
    bool failed;
};

static unsigned read_byte(struct reader *reader)
{
    if (reader->at == reader->end) {
        reader->failed = true;
        return 0;
    }
    return *reader->at++;
}

static uint16_t read_short(struct reader *reader)
{
    unsigned high = read_byte(reader);
    return (uint16_t)(high << 8 | read_byte(reader));
}

static void skip(struct reader *reader, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size) {
        reader->failed = true;
        reader->at = reader->end;
        return;
    }
    reader->at += size;
}

/* Names with other bytes than those of a host's name exist, and are none of ours: they are malformed. */
static void read_name(struct reader *reader, struct dns_question *question)
{
    size_t size = 0;
    for (;;) {
        unsigned length = read_byte(reader);
        if (reader->failed || length > 63 || question->spelled_size + length + 1 > 255) {
            reader->failed = true; /* a pointer too: there is nothing before the question to point to */
            return;
        }
        question->spelled[question->spelled_size++] = (uint8_t)length;
        if (length == 0)
            return;
        if (size)
            question->name[size++] = '.';
        for (unsigned i = 0; i < length; i++) {
            unsigned byte = read_byte(reader);
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
    bool is_root = read_byte(reader) == 0, is_options = read_short(reader) == TYPE_OPT;
    skip(reader, 6);
    skip(reader, read_short(reader));
    question->has_options = true;
    reader->failed |= !is_root || !is_options;
}

enum dns_code dns_read(const uint8_t *bytes, size_t size, struct dns_question *ret_question)
{
    *ret_question = (struct dns_question){0};
    struct reader reader = {bytes, bytes + size, false};
    ret_question->id = read_short(&reader);
    ret_question->flags = read_short(&reader);
    uint16_t questions = read_short(&reader), answers = read_short(&reader),
             authorities = read_short(&reader), additional = read_short(&reader);
    if (reader.failed || ret_question->flags & FLAG_RESPONSE)
        return DNS_IGNORED;
    if (ret_question->flags & OPCODE)
        return DNS_NOT_IMPLEMENTED;
    if (questions != 1 || answers || authorities || additional > 1)
        return DNS_MALFORMED;
    read_name(&reader, ret_question);
    ret_question->type = read_short(&reader);
    uint16_t class = read_short(&reader);
    if (additional)
        read_options(&reader, ret_question);
    if (reader.failed || reader.at != reader.end || class != CLASS_IN) {
        ret_question->spelled_size = 0; /* not repeated in the answer: it may be anything */
        return DNS_MALFORMED;
    }
    return DNS_FINE;
}

/* Answers are small by construction: a question of 255 + 4 bytes and at most three records of known size. */
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
