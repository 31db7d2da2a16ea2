/* A growing array of one type: VEC(struct rule) rules; vec_push(&rules, rule); rules.at[i], i < rules.count. */
#pragma once

#include <stddef.h>

#include "base/arena.h"

#define VEC(type)                                                                                            \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t count, capacity;                                                                              \
    }

#define vec_push(vec, ...)                                                                                   \
    do {                                                                                                     \
        if ((vec)->count == (vec)->capacity) {                                                               \
            (vec)->capacity = (vec)->capacity ? (vec)->capacity * 2 : 8;                                     \
            (vec)->at = must_realloc((vec)->at, (vec)->capacity, sizeof(*(vec)->at));                        \
        }                                                                                                    \
        (vec)->at[(vec)->count++] = (__VA_ARGS__);                                                           \
    } while (0)

/* Loops over the items. Items added in the loop are not visited; adding may move items, so `item` is invalid after it. */
#define vec_each(type, item, vec)                                                                            \
    for (type *item = (vec)->at, *item##_end = (vec)->count ? item + (vec)->count : item; item < item##_end; \
         item++)

/* Makes room for `more` items and some to spare. Until they are added, pointers to items stay valid. */
#define vec_reserve(vec, more)                                                                               \
    do {                                                                                                     \
        if ((vec)->capacity - (vec)->count < (more)) {                                                       \
            (vec)->capacity = (vec)->count + (more) + (more) / 8;                                            \
            (vec)->at = must_realloc((vec)->at, (vec)->capacity, sizeof(*(vec)->at));                        \
        }                                                                                                    \
    } while (0)

#define vec_free(vec)                                                                                        \
    do {                                                                                                     \
        free((vec)->at);                                                                                     \
        (vec)->at = NULL;                                                                                    \
        (vec)->count = (vec)->capacity = 0;                                                                  \
    } while (0)

/* Frees the items of a vector at the end of its scope: `at` is the first member. */
#define auto_vec auto_free
