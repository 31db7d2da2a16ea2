/* What the readers of files with settings share: pieces of a text, and what of it may pass. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct span {
    const char *at;
    size_t size;
};

/* Does one of the patterns match the name? The list ends with NULL. */
bool sift_is_listed(const char *const *list, struct span name);

/* Sections and keys go out as they are written: only plain words do, which cannot hold an URL. "@scope:key" is one. */
bool sift_is_plain_name(struct span name);

struct span sift_trim(struct span span);

/* How many characters from `at` on are none of these. */
size_t sift_size_up_to(struct span text, size_t at, const char *ends);

/*
 * Does an @ in it end what stands before the host of an URL, or stand in a path, and nowhere else? Elsewhere it may end a
 * password, in an URL that is written in a way that is not understood here: such a value stays out.
 */
bool sift_is_understood(struct span value);

/* Adds a value, every URL in it without what stands before its host (a name, a password) and behind its path (a query). */
void sift_add_value(struct buf *out, struct span value);

/* The next line of the text, without its end; false after the last. */
bool sift_next_line(struct span *text, struct span *ret_line);

/* sift_yaml.c: yarn's settings, and conda's. sift_xml.c: Maven's mirrors, NuGet's sources; comments are no settings. */
void sift_yarn(struct span text, struct buf *out);
void sift_conda(struct span text, struct buf *out);
void sift_maven(struct span text, struct buf *out);
void sift_nuget(struct span text, struct buf *out);
void sift_drop_comments(struct span text, struct buf *out);
