/*
 * Writes a page of HTML. Markup is a literal of this program; a value is escaped, and made printable, on its way in. There is no function that adds a
 * value as it is: what a sandbox named, wrote or said cannot become markup.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"

struct html {
    struct buf out;
};

/* `format` is a literal. It knows %s, a value to escape; %zu and %llu, numbers; %c, a letter of this program's own; and %%. */
#define html_add(page, format, ...) html_format((page), "" format "", ##__VA_ARGS__)
void html_format(struct html *page, const char *format, ...) printf_like(2, 3);

/* Bytes of a file, in which tabs stay tabs. */
void html_add_bytes(struct html *page, const char *bytes, size_t size);

/* How many of the bytes are shown at once: at most so many, and no letter of UTF-8 is cut. */
size_t html_piece(const char *bytes, size_t size, size_t most);

/* A value as a part of an address: everything but letters, digits and a few marks becomes %XX. */
const char *url_part(struct arena *arena, const char *text);

/* Adds a part that was written apart. */
void html_join(struct html *page, const struct html *part);

void html_free(struct html *page);
#define auto_html __attribute__((cleanup(html_free)))
