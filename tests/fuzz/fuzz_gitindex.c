/* Any bytes as git's index: the paths that come out are relative, and lead nowhere above the work tree. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "fuzz.h"
#include "git/index.h"

static void check(void *context, const char *path)
{
    (void)context;
    if (!*path || *path == '/' || strlen(path) >= PATH_LONGEST || strncmp(path, "../", 3) == 0 ||
        strstr(path, "/../"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    git_index_read(bytes, size, check, NULL);
    /* Whether two are the same does not depend on which comes first. */
    if (git_index_is_same(bytes, size, bytes, size / 2) != git_index_is_same(bytes, size / 2, bytes, size))
        abort();
    git_index_is_same(bytes, size, bytes, size);
    return 0;
}
