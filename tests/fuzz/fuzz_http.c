/*
 * Any bytes as requests: however they are cut into pieces, the same passes, and it is a beginning of what came. And as
 * perhaps another protocol: what passes is a beginning too, and holds no request line without the host. A search for secrets changes nothing in what
 * passes, until it finds one that must be stopped.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "egress/http.h"
#include "fuzz.h"

static ptrdiff_t pass_by(struct http http, const char *host, const uint8_t *bytes, size_t size, size_t piece,
                         struct buf *out)
{
    const char *problem = NULL;
    ptrdiff_t taken = 0;
    while ((size_t)taken < size) {
        size_t part = size - (size_t)taken < piece ? size - (size_t)taken : piece;
        ptrdiff_t more = http_take(&http, host, 80, (const char *)bytes + taken, part, out, &problem);
        if (more < 0) {
            if (!problem)
                abort();
            taken = -1;
            break;
        }
        taken += more;
        if ((size_t)more < part)
            break;
    }
    if (taken >= 0 && http_finish(&http, out, &problem) < 0)
        taken = -1;
    http_free(&http);
    return taken;
}

static ptrdiff_t pass(enum http_state state, const uint8_t *bytes, size_t size, size_t piece, struct buf *out)
{
    return pass_by((struct http){.state = state}, "a.test", bytes, size, piece, out);
}

/* `wanted`: what passes without a search; NULL: of any host. */
static void pass_searched(enum http_state state, enum leak_answer answer, const uint8_t *bytes, size_t size,
                          ptrdiff_t taken, const struct buf *wanted)
{
    const struct leak_table table = {.answer = answer};
    auto_buf struct buf whole = {0}, pieces = {0};
    const char *host = wanted ? "a.test" : NULL;
    ptrdiff_t one = pass_by((struct http){.state = state, .search = search_new(&table)}, host, bytes, size,
                            size ? size : 1, &whole),
              two = pass_by((struct http){.state = state, .search = search_new(&table)}, host, bytes, size, 5,
                            &pieces);
    if (one != two || whole.size > size || (whole.size && memcmp(whole.bytes, bytes, whole.size) != 0) ||
        (pieces.size && memcmp(pieces.bytes, bytes, pieces.size) != 0))
        abort();
    if (answer == LEAK_WARN && wanted && (one != taken || whole.size != wanted->size))
        abort();
    if (wanted && (whole.size > wanted->size || (one >= 0 && one != taken)))
        abort();
}

/* The first line with something in it, if it passed with its end. */
static bool has_request_line(const struct buf *out)
{
    const char *line = buf_text(out), *end = line + out->size;
    while (line < end && (*line == '\r' || *line == '\n'))
        line++;
    const char *feed = memchr(line, '\n', (size_t)(end - line));
    size_t method = 0;
    while (line + method < end && line[method] >= 'A' && line[method] <= 'Z')
        method++;
    return feed && method && line[method] == ' ' && memmem(line, (size_t)(feed - line), " HTTP/1.", 8);
}

static void pass_unknown(const uint8_t *bytes, size_t size, size_t piece)
{
    auto_buf struct buf out = {0};
    pass(HTTP_UNKNOWN, bytes, size, piece, &out);
    if (out.size > size || (out.size && memcmp(out.bytes, bytes, out.size) != 0))
        abort();
    bool names_host = false;
    for (size_t at = 0; at + 6 <= out.size; at++)
        names_host |= strncasecmp(out.bytes + at, "a.test", 6) == 0;
    if (has_request_line(&out) && !names_host)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    auto_buf struct buf whole = {0}, pieces = {0};
    pass_unknown(bytes, size, size ? size : 1);
    pass_unknown(bytes, size, 2);
    ptrdiff_t taken = pass(HTTP_HEAD, bytes, size, size ? size : 1, &whole);
    if (pass(HTTP_HEAD, bytes, size, 3, &pieces) != taken || whole.size != pieces.size || whole.size > size)
        abort();
    if (whole.size &&
        (memcmp(whole.bytes, bytes, whole.size) != 0 || memcmp(pieces.bytes, bytes, whole.size) != 0))
        abort();
    pass_searched(HTTP_HEAD, LEAK_WARN, bytes, size, taken, &whole);
    pass_searched(HTTP_HEAD, LEAK_BLOCK, bytes, size, taken, &whole);
    pass_searched(HTTP_UNKNOWN, LEAK_WARN, bytes, size, 0, NULL);
    pass_searched(HTTP_UNKNOWN, LEAK_BLOCK, bytes, size, 0, NULL);
    /* What passes first is a head, and there the host is named once. */
    if (whole.size && !memmem(whole.bytes, whole.size, "a.test", 6) &&
        !memmem(whole.bytes, whole.size, "A.", 2) && !strcasestr(buf_text(&whole), "a.test"))
        abort();
    return 0;
}
