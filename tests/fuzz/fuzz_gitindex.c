/* Any bytes as git's index: the paths that come out are relative, and lead nowhere above the work tree; what is sound is whole. */
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

static void count_object(void *context, const char *digits)
{
    size_t *count = context;
    if (strspn(digits, "0123456789abcdef") != strlen(digits))
        abort();
    (*count)++;
}

/* No path that git itself refuses is in one that is sound; a difference to another may leave names out. */
static void check_path(void *context, const char *path)
{
    (void)context;
    if (!git_path_is_allowed(path, 0100644) && !git_path_is_allowed(path, 0040000))
        abort();
}

/* One that git could read says as many objects as it has entries, but for submodules, and none where a byte of it is missing. */
static void check_soundness(const uint8_t *bytes, size_t size)
{
    struct git_position base;
    size_t count = 0, hash_size = git_index_check(bytes, size);
    if (!hash_size)
        return;
    git_index_objects(bytes, size, hash_size, count_object, &count);
    if (hash_size == 20)
        git_index_read(bytes, size, check_path, NULL);
    git_index_base(bytes, size, hash_size, &base);
    if (count > ((size_t)bytes[8] << 24 | (size_t)bytes[9] << 16 | (size_t)bytes[10] << 8 | bytes[11]) ||
        git_index_check(bytes, size - 1) == hash_size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    git_index_read(bytes, size, check, NULL);
    /* Whether two are the same does not depend on which comes first. */
    if (git_index_is_same(bytes, size, bytes, size / 2) != git_index_is_same(bytes, size / 2, bytes, size))
        abort();
    git_index_is_same(bytes, size, bytes, size);
    check_soundness(bytes, size);
    return 0;
}
