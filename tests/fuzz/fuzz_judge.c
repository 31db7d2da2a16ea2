/*
 * Any bytes as a file of a git directory: a path, a NUL, its content. What is called inert obeys the rules that git's own reading
 * relies on, and the judge looks at nothing but what it was given.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "fuzz.h"
#include "git/index.h"
#include "git/judge.h"

/* A path with one of these names in it is never inert. */
static void check_name(const char *path)
{
    static const char *const never[] = {"alternates",      "commondir", "gitdir", "attributes",
                                        "git-rebase-todo", "hooks",     "config"};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    bool is_opaque = strstr(path, "lfs/") || strstr(path, "rr-cache/") || strstr(path, "refs/") ||
                     strstr(path, "NOTES_MERGE") || strstr(path, "cookies/");
    for (size_t i = 0; i < array_len(never) && !is_opaque; i++) {
        if (strcmp(name, never[i]) == 0)
            abort();
    }
}

static void check_inert(const struct git_entry *entry)
{
    struct bytes ref;
    if (!S_ISREG(entry->mode) || git_is_control(entry->path) ||
        git_unfinished_size(entry->path, &(const char *){NULL}))
        abort();
    check_name(entry->path);
    if (strcmp(entry->path, "HEAD") == 0 && git_symbolic_parse(entry->bytes, &ref) &&
        (ref.size < 5 || memcmp(ref.at, "refs/", 5) != 0 || memmem(ref.at, ref.size, "..", 2)))
        abort();
    if (strcmp(entry->path, "index") == 0 &&
        !git_index_check((const unsigned char *)entry->bytes.at, entry->bytes.size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t *end = size ? memchr(bytes, '\0', size) : NULL;
    if (!end)
        return 0;
    /* On the heap and no longer than it is: a byte too far is found. */
    size_t length = size - (size_t)(end - bytes) - 1;
    char *content = malloc(length ? length : 1);
    if (!content)
        abort();
    memcpy(content, end + 1, length);
    struct git_entry entry = {.path = (const char *)bytes,
                              .mode = S_IFREG | 0644,
                              .links = 1,
                              .length = length,
                              .bytes = bytes_of(content, length)};
    size_t wanted = git_judge_wants(entry.path);
    if (entry.bytes.size > wanted)
        entry.bytes.size = wanted;
    const char *why = git_judge(&entry);
    if (!why)
        check_inert(&entry);
    struct git_inner inner = git_inner_of(entry.path);
    if (inner.path < entry.path || inner.path > entry.path + strlen(entry.path))
        abort();
    static const mode_t others[] = {S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK};
    for (size_t i = 0; i < array_len(others); i++) {
        entry.mode = others[i];
        if (!git_judge(&entry))
            abort();
    }
    free(content);
    return 0;
}
