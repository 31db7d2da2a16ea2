#include "workspace/attributes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/vec.h"

enum { ATTRIBUTES_LARGEST = 64 * 1024 };

/* Other attributes belong to the kernel or need root. Those of overlayfs are not part of the file. */
static bool is_restorable(const char *name)
{
    return (text_starts_with(name, "user.") && !text_starts_with(name, "user.overlay.")) ||
           text_starts_with(name, "system.posix_acl_");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_attribute(struct buf *out, int fd, const char *name)
{
    char *value = must_realloc(NULL, ATTRIBUTES_LARGEST, 1);
    ssize_t size = fgetxattr(fd, name, value, ATTRIBUTES_LARGEST);
    if (size >= 0) {
        uint32_t value_size = (uint32_t)size;
        buf_add(out, name, strlen(name) + 1);
        buf_add(out, (const char *)&value_size, sizeof(value_size));
        buf_add(out, value, value_size);
    }
    free(value);
}

bool attributes_are_there(int fd)
{
    char few[1024];
    ssize_t size = flistxattr(fd, few, sizeof(few));
    if (size < 0)
        return errno != EOPNOTSUPP;
    for (const char *name = few; name < few + size; name += strlen(name) + 1) {
        if (is_restorable(name))
            return true;
    }
    return false;
}

void attributes_read(int fd, struct arena *arena, struct entry *entry)
{
    char few[1024], *names = few;
    ssize_t size = flistxattr(fd, names, sizeof(few));
    if (size < 0 && errno == ERANGE) {
        names = must_realloc(NULL, ATTRIBUTES_LARGEST, 1);
        size = flistxattr(fd, names, ATTRIBUTES_LARGEST);
    }
    VEC(const char *) found = {0};
    for (const char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
        if (is_restorable(name))
            vec_push(&found, name);
    }
    if (found.count) {
        qsort(found.at, found.count, sizeof(*found.at), compare_texts);
        auto_buf struct buf out = {0};
        for (size_t i = 0; i < found.count; i++)
            add_attribute(&out, fd, found.at[i]);
        entry->attributes = arena_copy(arena, buf_text(&out), out.size);
        entry->attributes_size = (uint32_t)out.size;
    }
    vec_free(&found);
    if (names != few)
        free(names);
}
