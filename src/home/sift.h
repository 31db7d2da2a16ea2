/*
 * Extracts the settings from a file that may also have secrets. The new text has only settings that a list names. Settings that
 * are not understood are omitted, and so are user names and passwords in URLs.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "policy/sift.h"

/* Increase it when a list or its parsing changes: then all homes' files are made again. */
enum { SIFT_VERSION = 2, SIFT_LARGEST = 16 * 1024 * 1024 };

/* Adds nothing if no setting passes. */
void sift_text(enum sifted file, const char *text, size_t size, struct buf *out);
