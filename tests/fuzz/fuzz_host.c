/* Any bytes as a host: what is understood can be written out and is understood again as the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    const char *problem = NULL, *hint = NULL;
    struct host_object host, again;
    if (host_parse(&arena, arena_copy(&arena, (const char *)bytes, size), &host, &problem, &hint) == 0) {
        const char *text = host_text(&arena, &host);
        if (host_parse(&arena, text, &again, &problem, &hint) < 0 || !host_covers(&host, &again) ||
            !host_covers(&again, &host) || strcmp(text, host_text(&arena, &again)) != 0)
            abort();
    } else if (!problem || !*problem) {
        abort();
    }
    arena_free(&arena);
    return 0;
}
