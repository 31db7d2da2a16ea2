/* Any bytes as a file with tokens, in each format: a value is never empty, and one that is no base64 is not longer than the file. */
#include <stdlib.h>
#include <string.h>

#include "base/token_file.h"
#include "fuzz.h"

static void take(void *self, struct bytes value)
{
    const size_t *size = self;
    if (!value.at || value.size > *size || memchr(value.at, '\n', value.size))
        abort();
}

static void take_any(void *self, struct bytes value)
{
    const size_t *size = self;
    if (!value.at || value.size > *size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size);
    bool has_nul = size && memchr(bytes, '\0', size);
    for (enum token_format format = TOKENS_IN_LINES; format <= TOKENS_IN_URLS; format++) {
        /* In JSON and in URLs a newline can be encoded. */
        bool is_plain = format == TOKENS_IN_LINES || format == TOKENS_IN_NETRC;
        bool is_read = token_file_read(format, text, is_plain ? take : take_any, &size);
        if (is_read && has_nul)
            abort();
    }
    return 0;
}
