/*
 * Memory that lives and dies together. A policy is thousands of small strings that all last as long as the policy
 * does: they are cut from an arena and freed at once. Memory is zeroed, and zero means deny.
 *
 * Running out of memory ends the program with status 125: no half-read policy is ever acted upon.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

struct arena {
    struct arena_block *newest;
};

void *arena_alloc(struct arena *arena, size_t size) __attribute__((returns_nonnull, malloc, alloc_size(2)));
char *arena_room(struct arena *arena, size_t size) returns_text; /* for a text: not zeroed */
char *arena_copy(struct arena *arena, const char *bytes, size_t size) returns_text; /* adds a NUL */
char *arena_str(struct arena *arena, const char *text) returns_text;
char *arena_printf(struct arena *arena, const char *format, ...) printf_like(2, 3) returns_text;
char *arena_vprintf(struct arena *arena, const char *format, va_list args) printf_like(2, 0) returns_text;
void arena_free(struct arena *arena);
#define auto_arena __attribute__((cleanup(arena_free)))

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

/* For the few owners that are not an arena (buffers, vectors, maps): realloc that never returns NULL. */
void *must_realloc(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
