/*
 * Any bytes as the target of a request. A path that is accepted is spelled in one way: read again, it is the same; it has no name that climbs,
 * no empty name, and no byte that a server could read as another.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct asked_request request, again;
    struct bytes get = bytes_of("GET", 3);
    if (request_read(get, bytes_of((const char *)bytes, size), &request))
        return 0;
    const char *path = request.path;
    size_t path_size = strlen(path);
    if (request_read(get, bytes_of(path, path_size), &again) || strcmp(path, again.path) != 0)
        abort();
    if (*path != '/' || path_size > size || (path_size > 1 && path[path_size - 1] == '/') ||
        strpbrk(path, "\\;?# \"<>") || strstr(path, "//") || strstr(path, "/../") || strstr(path, "/./") ||
        strlen(request.folded) != path_size)
        abort();
    static const char *const encoded[] = {"%2f", "%2e", "%5c", "%25", "%3b", "%00", "%0a"};
    for (size_t i = 0; i < sizeof(encoded) / sizeof(*encoded); i++) {
        if (strstr(request.folded, encoded[i]))
            abort();
    }
    return 0;
}
