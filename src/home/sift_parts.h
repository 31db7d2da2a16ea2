/* Shared by the parsers of settings files: pieces of text, and rules for what may pass. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/bytes.h"

/* Does one of the patterns match the name? The list ends with NULL. */
bool sift_is_listed(const char *const *list, struct bytes name);

/* Sections and keys are copied as written, so only plain words pass, which cannot contain a URL. "@scope:key" is plain. */
bool sift_is_plain_name(struct bytes name);

struct bytes sift_trim(struct bytes text);

/* The number of characters from `at` on that are not in the set. */
size_t sift_size_up_to(struct bytes text, size_t at, const char *ends);

/*
 * Is every @ in the value either the end of a URL's user part, or in a path? Elsewhere it may end a password, in a URL that
 * this parser does not understand: such a value does not pass.
 */
bool sift_is_understood(struct bytes value);

/* Adds a value. From URLs it removes the user name and password, and the query. */
void sift_add_value(struct buf *out, struct bytes value);

/* sift_yaml.c: settings of yarn and conda. sift_xml.c: mirrors of Maven, sources of NuGet. */
void sift_yarn(struct bytes text, struct buf *out);
void sift_conda(struct bytes text, struct buf *out);
void sift_maven(struct bytes text, struct buf *out);
void sift_nuget(struct bytes text, struct buf *out);
void sift_drop_comments(struct bytes text, struct buf *out);
