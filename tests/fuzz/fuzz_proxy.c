/* Any bytes as a proxy's address, its exceptions, its answer, and as the settings of name lookups. */
#include <stdlib.h>
#include <string.h>

#include "egress/egress.h"
#include "egress/proxy.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct err err;
    struct proxy proxy = {0};
    const char *text = arena_copy(&arena, (const char *)bytes, size);
    if (proxy_parse(&arena, text, &proxy, &err) == 0) {
        auto_buf struct buf request = {0};
        proxy_add_request(&proxy, "a.test", 443, &request);
        if (!*proxy.host || !proxy.port || !memmem(request.bytes, request.size, "\r\n\r\n", 4))
            abort();
        /* Whatever stands in the address, it adds no line to the request. */
        size_t lines = 0;
        for (size_t i = 0; i < request.size; i++)
            lines += request.bytes[i] == '\n';
        if (lines != 3U + (proxy.authorization != NULL))
            abort();
    } else if (!*err.message) {
        abort();
    }
    proxy.exceptions = text;
    bool is_excepted = proxy_is_excepted(&proxy, "a.test", 443);
    if (is_excepted && !strchr(text, '*') && !strcasestr(text, "test"))
        abort();
    ptrdiff_t answer = proxy_read_answer((const char *)bytes, size);
    if (answer > (ptrdiff_t)size || (answer > 0 && memcmp(bytes + answer - 4, "\r\n\r\n", 4) != 0))
        abort();
    if (sandbox_needs_services(text) && !strstr(text, "hosts:"))
        abort();
    arena_free(&arena);
    return 0;
}
