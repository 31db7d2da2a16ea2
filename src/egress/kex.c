#include "egress/kex.h"

#include "base/reader.h"
#include "base/ssh_proof.h"

enum {
    LONGEST_LINE = 255, /* with its end */
    SMALLEST_PADDING = 4,
    BLOCK = 8,
    MESSAGE_INIT = 20,
    MESSAGE_REPLY = 31, /* of a group exchange it is the group */
    MESSAGE_GROUP_REPLY = 33,
};

enum taken { TAKEN_BAD, TAKEN_MORE, TAKEN_WHOLE };

static enum taken take_line(struct reader *unread)
{
    static const char start[] = "SSH-2.0-";
    struct bytes text = bytes_of((const char *)unread->at, unread->size);
    struct bytes begun = bytes_of(start, text.size < strlen(start) ? text.size : strlen(start)), line;
    if (!bytes_equal(bytes_of(text.at, begun.size), begun))
        return TAKEN_BAD;
    bool is_whole = memchr(text.at, '\n', text.size);
    if (!bytes_take_line(&text, &line) || line.size >= LONGEST_LINE)
        return TAKEN_BAD;
    if (is_whole)
        reader_take(unread, line.size + 1);
    return is_whole ? TAKEN_WHOLE : TAKEN_MORE;
}

/* A packet without encryption: its size, the size of its padding, what it carries, the padding. */
static enum taken take_packet(struct reader *unread, struct reader *ret_message)
{
    struct reader rest = *unread;
    size_t size = reader_number(&rest, 4);
    if (rest.failed)
        return TAKEN_MORE;
    if (size > KEX_LARGEST_PACKET || (4 + size) % BLOCK != 0)
        return TAKEN_BAD;
    struct reader packet = reader_take(&rest, size);
    if (rest.failed)
        return TAKEN_MORE;
    size_t padding = reader_number(&packet, 1);
    if (packet.failed || padding < SMALLEST_PADDING || padding >= packet.size)
        return TAKEN_BAD;
    *ret_message = reader_take(&packet, packet.size - padding);
    *unread = rest;
    return TAKEN_WHOLE;
}

static struct bytes bytes_of_part(struct reader part)
{
    return bytes_of((const char *)part.at, part.size);
}

/* The host key, the server's part of the exchange, and the signature; and nothing more. */
static bool read_reply(struct reader message, char ret_mark[SHA256_HEX_SIZE])
{
    struct reader key = reader_vector(&message, 4), exchanged = reader_vector(&message, 4),
                  signature = reader_vector(&message, 4);
    if (message.failed || message.size || !key.size || !exchanged.size || !signature.size)
        return false;
    ssh_proof_mark(bytes_of_part(key), bytes_of_part(signature), ret_mark);
    return true;
}

/* Two numbers, a prime and a generator, where a reply has three strings. */
static bool is_group(struct reader message)
{
    reader_vector(&message, 4);
    reader_vector(&message, 4);
    return !message.failed && message.size == 0;
}

/* The step after this message. *ret_found: it had the proof. */
static enum kex_step take_message(enum kex_step step, struct reader message, bool *ret_found,
                                  char ret_mark[SHA256_HEX_SIZE])
{
    uint32_t number = reader_number(&message, 1);
    if (step == KEX_INIT)
        return number == MESSAGE_INIT ? KEX_REPLY : KEX_OVER;
    if (step == KEX_REPLY && number == MESSAGE_REPLY && is_group(message))
        return KEX_GROUP_REPLY;
    if (number == (step == KEX_REPLY ? MESSAGE_REPLY : MESSAGE_GROUP_REPLY))
        *ret_found = read_reply(message, ret_mark);
    return KEX_OVER;
}

bool kex_take(struct kex *kex, struct bytes bytes, char ret_mark[SHA256_HEX_SIZE])
{
    bool is_found = false;
    enum taken taken = TAKEN_WHOLE;
    if (kex->step == KEX_OVER || bytes.size == 0)
        return false;
    buf_add(&kex->unread, bytes.at, bytes.size);
    struct reader unread = {.at = (const uint8_t *)kex->unread.bytes, .size = kex->unread.size};
    while (taken == TAKEN_WHOLE && kex->step != KEX_OVER) {
        struct reader message = {0};
        bool is_line = kex->step == KEX_IDENTIFICATION;
        taken = is_line ? take_line(&unread) : take_packet(&unread, &message);
        if (taken == TAKEN_BAD)
            kex->step = KEX_OVER;
        else if (taken == TAKEN_WHOLE)
            kex->step = is_line ? KEX_INIT : take_message(kex->step, message, &is_found, ret_mark);
    }
    if (kex->step == KEX_OVER) {
        kex_end(kex);
    } else {
        memmove(kex->unread.bytes, unread.at, unread.size);
        kex->unread.size = unread.size;
    }
    return is_found;
}

void kex_end(struct kex *kex)
{
    kex->step = KEX_OVER;
    buf_free(&kex->unread);
}
