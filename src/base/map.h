/* A hash map from byte strings to pointers. Keys are borrowed: they must outlive the map. Nothing is ever removed. */
#pragma once

#include <stddef.h>

struct map_slot {
    const char *key; /* NULL: the slot is free */
    size_t key_size, key_hash;
    void *value;
};

struct map {
    struct map_slot *slots;
    size_t count, capacity;
};

/* Makes room for that many keys at once. */
void map_reserve(struct map *map, size_t count);

/* The value's place for this key, made (NULL) where there was none. It stays valid until the next call. */
void **map_at(struct map *map, const char *key, size_t key_size) __attribute__((returns_nonnull));
void *map_get(const struct map *map, const char *key, size_t key_size);
void map_free(struct map *map);
