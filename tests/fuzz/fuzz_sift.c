/* Any bytes as a file of settings: sifting it ends, and what was kept holds no user's name before a host. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "home/sift.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    enum sifted file = (enum sifted)(1 + bytes[0] % SIFTED_CLAUDE);
    auto_buf struct buf out = {0};
    sift_text(file, (const char *)bytes + 1, size - 1, &out);
    for (const char *at = buf_text(&out); file != SIFTED_CLAUDE && (at = strstr(at, "://"));) {
        at += strlen("://");
        if (at[strcspn(at, "@/ \t\r\n\"'<>?#")] == '@')
            abort();
    }
    const char *token = file == SIFTED_CONDA ? strstr(buf_text(&out), "/t/") : NULL;
    if (token)
        abort();
    return 0;
}
