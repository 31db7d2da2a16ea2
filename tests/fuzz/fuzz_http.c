/* Any bytes as requests: however they are cut into pieces, the same passes, and it is a beginning of what came. */
#include <stdlib.h>
#include <string.h>

#include "egress/http.h"
#include "fuzz.h"

static ptrdiff_t pass(const uint8_t *bytes, size_t size, size_t piece, struct buf *out)
{
    struct http http = {0};
    const char *problem = NULL;
    ptrdiff_t taken = 0;
    while ((size_t)taken < size) {
        size_t part = size - (size_t)taken < piece ? size - (size_t)taken : piece;
        ptrdiff_t more = http_take(&http, "a.test", 80, (const char *)bytes + taken, part, out, &problem);
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
    buf_free(&http.line);
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    auto_buf struct buf whole = {0}, pieces = {0};
    ptrdiff_t taken = pass(bytes, size, size ? size : 1, &whole);
    if (pass(bytes, size, 3, &pieces) != taken || whole.size != pieces.size || whole.size > size)
        abort();
    if (whole.size &&
        (memcmp(whole.bytes, bytes, whole.size) != 0 || memcmp(pieces.bytes, bytes, whole.size) != 0))
        abort();
    /* What passes first is a head, and there the host is named once. */
    if (whole.size && !memmem(whole.bytes, whole.size, "a.test", 6) &&
        !memmem(whole.bytes, whole.size, "A.", 2) && !strcasestr(buf_text(&whole), "a.test"))
        abort();
    return 0;
}
