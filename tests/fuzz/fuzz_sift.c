/*
 * Any bytes as a file of settings: sifting it ends, and what was kept holds no user's name before a host. The first line is the end of
 * the file's path, which says what kind it is.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "home/sift.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[64] = "";
    const uint8_t *line_end = size ? memchr(bytes, '\n', size) : NULL;
    size_t path_size = line_end ? (size_t)(line_end - bytes) : 0;
    if (path_size == 0 || path_size >= sizeof(path) || *bytes != '/')
        return FUZZ_NOT_TAKEN;
    memcpy(path, bytes, path_size);
    enum sifted file = sifted_file(path);
    if (file == SIFTED_UNKNOWN)
        return FUZZ_NOT_TAKEN;
    auto_buf struct buf out = {0};
    sift_text(file, (const char *)line_end + 1, size - path_size - 1, &out);
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
