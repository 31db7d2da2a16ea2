#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Small enough to be taken from the heap, which has pages that are memory already; the rest becomes so as it is used. */
enum { BLOCK_SIZE = 64 * 1024, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *older;
    size_t used, capacity;
    _Alignas(ALIGNMENT) char bytes[];
};

static _Noreturn void out_of_memory(void)
{
    fputs("bawn: out of memory\n", stderr);
    _Exit(125);
}

void *must_realloc(void *old, size_t count, size_t size)
{
    void *fresh = reallocarray(old, count, size);
    if (!fresh)
        out_of_memory();
    return fresh;
}

char *arena_room(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        out_of_memory();
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *block = arena->newest;
    if (!block || block->capacity - block->used < rounded) {
        size_t size_of_block = rounded + sizeof(*block) > BLOCK_SIZE ? rounded + sizeof(*block) : BLOCK_SIZE;
        block = must_realloc(NULL, size_of_block, 1);
        *block = (struct arena_block){.older = arena->newest, .capacity = size_of_block - sizeof(*block)};
        arena->newest = block;
    }
    char *memory = block->bytes + block->used;
    block->used += rounded;
    return memory;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return memset(arena_room(arena, size), 0, size);
}

char *arena_copy(struct arena *arena, const char *bytes, size_t size)
{
    char *copy = arena_room(arena, size + 1);
    if (size)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

char *arena_str(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

/* Formats into what is left of the newest block, which mostly is enough: to format it for its length first costs as much again. */
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    struct arena_block *block = arena->newest;
    char *left = block ? block->bytes + block->used : NULL;
    size_t left_size = block ? block->capacity - block->used : 0;
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(left, left_size, format, args);
    if (length < 0)
        out_of_memory();
    char *text = arena_room(arena, (size_t)length + 1);
    if (text != left || (size_t)length >= left_size)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

void arena_free(struct arena *arena)
{
    struct arena_block *block = arena->newest;
    while (block) {
        struct arena_block *older = block->older;
        free(block);
        block = older;
    }
    arena->newest = NULL;
}
