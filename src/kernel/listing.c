#include "kernel/directories.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGEST = 64 * 1024 }; /* of a directory: about a thousand names */

/* As getdents64 gives them. */
struct entry {
    ino64_t inode;
    off64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* A map stores pointers, and needs one that is not NULL for each type. */
static const unsigned char type_bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* An existing name with changed case; "" if the directory has that name too. */
static const char *changed_case(const struct listing *listing, const char *name, char *space, size_t most)
{
    size_t size = strnlen(name, most - 1);
    bool has_letters = false;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)name[i];
        bool is_letter = byte < 128 && isalpha(byte);
        space[i] = is_letter ? (char)(byte ^ 0x20) : name[i];
        has_letters |= is_letter;
    }
    space[size] = '\0';
    return has_letters && !map_get(&listing->types, space, size) ? space : "";
}

/*
 * Does the file system distinguish "A" from "a"? If not, a name that is not in the listing may exist. One lookup of an existing
 * name in another case tells.
 */
static bool tells_case_apart(int directory_fd, const struct listing *listing)
{
    char space[256];
    struct stat status;
    for (size_t i = 0; i < listing->types.capacity; i++) {
        const char *name = listing->types.slots[i].key;
        const char *changed = name ? changed_case(listing, name, space, sizeof(space)) : "";
        if (*changed)
            return fstatat(directory_fd, changed, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
    }
    return listing->types.count == 0;
}

static void add_entries(struct listing *listing, struct arena *arena, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        const struct entry *entry = (const struct entry *)(const void *)(bytes + at);
        at += entry->size;
        if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
            continue;
        const char *name = arena_str(arena, entry->name);
        *map_at(&listing->types, name, strlen(name)) = (void *)&type_bytes[entry->type & 15];
    }
}

bool listing_read(int directory_fd, struct arena *arena, struct listing *ret_listing)
{
    not_zeroed _Alignas(struct entry) char bytes[LARGEST];
    size_t room = sizeof(bytes), size = 0;
    long got = 0;
    while (room - size > sizeof(struct entry) + NAME_MAX + 1 &&
           (got = syscall(SYS_getdents64, directory_fd, bytes + size, room - size)) > 0)
        size += (size_t)got;
    struct stat status;
    /* Listing and lookup need different permissions: looking up "./." tests the second. */
    if (got != 0 || fstatat(directory_fd, "./.", &status, 0) < 0)
        return false;
    struct listing listing = {0};
    add_entries(&listing, arena, bytes, size);
    if (!tells_case_apart(directory_fd, &listing)) {
        listing_free(&listing);
        return false;
    }
    *ret_listing = listing;
    return true;
}

void listing_free(struct listing *listing)
{
    map_free(&listing->types);
}

int listing_type(const struct listing *listing, const char *name)
{
    const unsigned char *type = map_get(&listing->types, name, strlen(name));
    return type ? *type : -1;
}
