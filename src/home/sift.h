/*
 * Of a file with settings and secrets, the settings: a new text that holds only what a list names. What is not understood is
 * left out, and so are the name and the password in an URL.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "policy/sift.h"

/* One more whenever a list or its reading changes: then every home's files are made anew. */
enum { SIFT_VERSION = 1, SIFT_LARGEST = 16 * 1024 * 1024 };

/* Nothing is added where there is nothing to keep. */
void sift_text(enum sifted file, const char *text, size_t size, struct buf *out);
