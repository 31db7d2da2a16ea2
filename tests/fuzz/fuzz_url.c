/* Any bytes as the address of a page: what is taken is plain from end to end, and its host stands where a browser looks. */
#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    struct url url;
    if (url_span(text, size) > size)
        abort();
    if (!url_parse(text, size, &url))
        return 0;
    static const char unsafe[] = "\"'`$\\<>{}|^ \t\r\n()[]";
    const char *host_end = url.host + url.host_size;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] <= ' ' || bytes[i] >= 127 || strchr(unsafe, text[i]))
            abort();
    }
    if (url.host != text + strlen("https://") || url.host_size == 0 || host_end > text + size ||
        memchr(url.host, '@', url.host_size) || memchr(url.host, ':', url.host_size) ||
        (host_end < text + size && *host_end != '/' && *host_end != '?'))
        abort();
    if (url.answer_port && (url.answer_port < 1024 || !memmem(text, size, "redirect_uri=", 13)))
        abort();
    return 0;
}
