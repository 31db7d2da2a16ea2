/* Compiler attributes under readable names, and ownership by scope. */
#pragma once

#include <stdlib.h>

#define must_check             __attribute__((warn_unused_result))
#define printf_like(at, first) __attribute__((format(printf, at, first)))
#define returns_text           __attribute__((returns_nonnull))
#define array_len(array)       (sizeof(array) / sizeof((array)[0]))

static inline void free_at_scope_end(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
#define auto_free __attribute__((cleanup(free_at_scope_end)))
