/* Compiler attributes under readable names, and ownership by scope. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#define must_check             __attribute__((warn_unused_result))
#define printf_like(at, first) __attribute__((format(printf, at, first)))
#define returns_text           __attribute__((returns_nonnull))
#define not_used               __attribute__((unused)) /* a parameter that a callback must have */
/* For a large buffer that is filled before it is read: the compiler would zero it, page after page. */
#if __has_attribute(uninitialized)
#define not_zeroed __attribute__((uninitialized))
#else
#define not_zeroed
#endif
#define array_len(array) (sizeof(array) / sizeof((array)[0]))

/* The object that a pointer to one of its members belongs to. */
#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void free_at_scope_end(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
#define auto_free __attribute__((cleanup(free_at_scope_end)))
