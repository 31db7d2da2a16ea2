#include "base/map.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"

/* Eight bytes at a time, each folded in by a multiplication; keys are short, and how many of them
 * come from outside is bounded everywhere. */
static size_t hash(const char *key, size_t size)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t value = size * factor, word = 0;
    const char *end = key + size;
    for (; key + sizeof(word) < end; key += sizeof(word)) {
        memcpy(&word, key, sizeof(word));
        value = (value ^ word) * factor;
        value ^= value >> 32;
    }
    if (size >= sizeof(word)) /* the last eight, of which some may have been before */
        memcpy(&word, end - sizeof(word), sizeof(word));
    for (; size < sizeof(word) && key < end; key++)
        word = word << 8 | (unsigned char)*key;
    value = (value ^ word) * factor;
    return (size_t)(value ^ value >> 32);
}

/* The slot that holds the key, or the free one where it belongs. */
static struct map_slot *find_slot(const struct map *map, const char *key, size_t size, size_t key_hash)
{
    for (size_t at = key_hash & (map->capacity - 1);; at = (at + 1) & (map->capacity - 1)) {
        struct map_slot *slot = &map->slots[at];
        if (!slot->key ||
            (slot->key_hash == key_hash && slot->key_size == size && memcmp(slot->key, key, size) == 0))
            return slot;
    }
}

static void grow_to(struct map *map, size_t capacity)
{
    struct map bigger = {.capacity = capacity};
    bigger.slots = must_realloc(NULL, bigger.capacity, sizeof(*bigger.slots));
    memset(bigger.slots, 0, bigger.capacity * sizeof(*bigger.slots));
    for (size_t i = 0; i < map->capacity; i++) {
        const struct map_slot *slot = &map->slots[i];
        if (slot->key)
            *find_slot(&bigger, slot->key, slot->key_size, slot->key_hash) = *slot;
    }
    bigger.count = map->count;
    free(map->slots);
    *map = bigger;
}

void map_reserve(struct map *map, size_t count)
{
    size_t capacity = map->capacity ? map->capacity : 64;
    while (count * 4 >= capacity * 3)
        capacity *= 2;
    if (capacity > map->capacity)
        grow_to(map, capacity);
}

void **map_at(struct map *map, const char *key, size_t key_size)
{
    if (map->count * 4 >= map->capacity * 3)
        map_reserve(map, map->count * 2);
    size_t key_hash = hash(key, key_size);
    struct map_slot *slot = find_slot(map, key, key_size, key_hash);
    if (!slot->key) {
        *slot = (struct map_slot){.key = key, .key_size = key_size, .key_hash = key_hash};
        map->count++;
    }
    return &slot->value;
}

void *map_get(const struct map *map, const char *key, size_t key_size)
{
    return map->capacity ? find_slot(map, key, key_size, hash(key, key_size))->value : NULL;
}

void map_free(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}
