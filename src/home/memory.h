/* Remembers what was copied into a home, and what the host's files looked like. Stored outside the home. */
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
    const char *look; /* of the host's file: size, inode, times, and the version of the sift lists */
};

struct memory {
    struct arena *arena;
    VEC(struct remembered) entries;
    struct map by_path;
    const char *text; /* the file's text; NULL: not read, or not written by bawn */
    size_t size;
};

/* A file that cannot be read or that bawn did not write counts as empty: everything is copied again. */
void memory_load(struct memory *memory, struct arena *arena, int state_fd);
void memory_parse(struct memory *memory, struct arena *arena, const char *text, size_t size);
int memory_save(const struct memory *memory, const struct memory *before, int state_fd, struct err *err)
    must_check;
void memory_free(struct memory *memory);

/* What the host's file looked like, or NULL. */
const char *memory_find(const struct memory *memory, const char *path);

/* `sifted` is SIFT_VERSION, or 0 for a plain copy. */
bool memory_has(const struct memory *memory, const char *path, const struct stat *status, unsigned sifted);
void memory_add(struct memory *memory, const char *path, const struct stat *status, unsigned sifted);
