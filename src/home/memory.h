/* What was copied into a home, and what the host's file looked like then. Kept outside the home. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

#define MEMORY_NAME "copied"

struct remembered {
    const char *path; /* with the home as "/" */
    const char *look; /* of the host's file: size, inode, times; and by which lists it was sifted */
};

struct memory {
    struct arena *arena;
    VEC(struct remembered) entries;
    struct map by_path;
    const char *text; /* as it was read; NULL: nothing was, or nothing that bawn wrote */
    size_t size;
};

/* What cannot be read, or is not what bawn writes, counts as nothing: everything is copied again. */
void memory_load(struct memory *memory, struct arena *arena, int state_fd);
void memory_parse(struct memory *memory, struct arena *arena, const char *text, size_t size);
int memory_save(const struct memory *memory, const struct memory *before, int state_fd, struct err *err)
    must_check;
void memory_free(struct memory *memory);

/* What the host's file looked like, or NULL. */
const char *memory_find(const struct memory *memory, const char *path);

/* `sifted` is SIFT_VERSION, or 0 for what is copied as it is. */
bool memory_has(const struct memory *memory, const char *path, const struct stat *status, unsigned sifted);
void memory_add(struct memory *memory, const char *path, const struct stat *status, unsigned sifted);
