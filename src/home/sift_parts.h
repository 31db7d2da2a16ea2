/* Shared by the parsers of settings files: pieces of text, and rules for what may pass. */
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

/* Sections and keys are copied as written, so only plain words pass, which cannot contain a URL. "@scope:key" is plain. */
bool sift_is_plain_name(struct span name);

struct span sift_trim(struct span span);

/* The number of characters from `at` on that are not in the set. */
size_t sift_size_up_to(struct span text, size_t at, const char *ends);

/*
 * Is every @ in the value either the end of a URL's user part, or in a path? Elsewhere it may end a password, in a URL that
 * this parser does not understand: such a value does not pass.
 */
bool sift_is_understood(struct span value);

/* Adds a value. From URLs it removes the user name and password, and the query. */
void sift_add_value(struct buf *out, struct span value);

/* The next line of the text without its newline; false after the last. */
bool sift_next_line(struct span *text, struct span *ret_line);

/* sift_yaml.c: settings of yarn and conda. sift_xml.c: mirrors of Maven, sources of NuGet. */
void sift_yarn(struct span text, struct buf *out);
void sift_conda(struct span text, struct buf *out);
void sift_maven(struct span text, struct buf *out);
void sift_nuget(struct span text, struct buf *out);
void sift_drop_comments(struct span text, struct buf *out);
