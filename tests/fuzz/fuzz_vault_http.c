/*
 * Any bytes as a request or an answer. A head that is accepted is written in a form that is read again as the same, and holds no line
 * that was not in it. Content is the same however it is cut.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vault/body.h"

static ptrdiff_t decode(const struct head *head, struct bytes bytes, size_t piece, struct buf *out)
{
    static struct body body;
    size_t taken = 0;
    body_begin(&body, head);
    while (taken < bytes.size && body.state != BODY_DONE) {
        size_t part = bytes.size - taken < piece ? bytes.size - taken : piece;
        ptrdiff_t more = body_take(&body, bytes_of(bytes.at + taken, part), 7, out);
        if (more < 0)
            return -1;
        taken += (size_t)more;
    }
    return (ptrdiff_t)taken;
}

static void check_content(const struct head *head, struct bytes rest)
{
    auto_buf struct buf whole = {0}, pieces = {0};
    ptrdiff_t taken = decode(head, rest, rest.size ? rest.size : 1, &whole);
    if (decode(head, rest, 3, &pieces) != taken || whole.size > rest.size)
        abort();
    if (taken >= 0 &&
        (whole.size != pieces.size || memcmp(buf_text(&whole), buf_text(&pieces), whole.size) != 0))
        abort();
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void check_request(struct bytes head_text, struct bytes rest)
{
    static struct head head, again;
    auto_buf struct buf first = {0}, second = {0};
    if (head_read_request(head_text, "a.test", 443, &head))
        return;
    head_write_request(&head, "a.test", 443, &first);
    if (head_read_request(bytes_of(first.bytes, first.size), "a.test", 443, &again) ||
        again.framing != head.framing)
        abort();
    head_write_request(&again, "a.test", 443, &second);
    if (strcmp(buf_text(&first), buf_text(&second)) != 0 || lines_of(buf_text(&first)) > head.count + 4)
        abort();
    check_content(&head, rest);
}

static void check_answer(struct bytes head_text, struct bytes rest)
{
    static struct head head, again;
    auto_buf struct buf first = {0}, second = {0};
    if (head_read_answer(head_text, false, true, &head))
        return;
    head_write_answer(&head, &first);
    if (head_read_answer(bytes_of(first.bytes, first.size), false, true, &again))
        abort();
    head_write_answer(&again, &second);
    if (head.framing != FRAMING_NONE && strcmp(buf_text(&first), buf_text(&second)) != 0)
        abort();
    check_content(&head, rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes all = bytes_of((const char *)bytes, size);
    ptrdiff_t head = head_size(all);
    if (head <= 0)
        return 0;
    struct bytes text = bytes_of(all.at, (size_t)head), rest = bytes_after(all, (size_t)head);
    check_request(text, rest);
    check_answer(text, rest);
    return 0;
}
