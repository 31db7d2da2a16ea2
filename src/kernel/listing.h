/*
 * A directory's names, read at once. A policy asks about hundreds of names in few directories, most of which are not
 * there: reading the directory answers them all for the price of a few questions.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"

struct listing {
    struct map types; /* name → its DT_…, as a pointer to a byte */
};

/*
 * Reads the names of an open directory. Returns false where the answers could differ from those of the kernel: a
 * directory that is large, may not be searched, or that does not tell names apart by their case.
 */
bool listing_read(int directory_fd, struct arena *arena, struct listing *ret_listing);
void listing_free(struct listing *listing);

/* The DT_… of a name; DT_UNKNOWN where only a look at the file tells; -1 where there is no such name. */
int listing_type(const struct listing *listing, const char *name);
