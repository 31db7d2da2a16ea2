/*
 * Moves memory that is not needed for a while to the disk, so that hundreds of waiting processes need little. The file has no
 * name and is encrypted with a key in memory, because the bytes may contain secrets of the environment, and freed disk blocks
 * keep their content. Between the two calls nothing may read or write that memory. supervise/loop.c has the theory.
 */
#pragma once

#include <stdbool.h>

#include "base/hash.h"

/* It takes milliseconds, so it is done only after a while without events. */
enum { REST_AFTER_MILLISECONDS = 3000, REST_MOST_PAGES = 4096 };

/* Must not lie in the memory that is moved. */
struct rest {
    int fd;
    char *memory; /* page-aligned */
    size_t page, pages;
    unsigned char is_kept[REST_MOST_PAGES / 8]; /* a bit for each page; the other pages are all zero */
    unsigned char key[CHACHA20_KEY], digest[BLAKE2B_SIZE];
};

/*
 * Moves the whole pages between two addresses to the file system of a folder. Returns false, and changes nothing, if that is
 * impossible or useless: too much memory, a folder in memory, a full disk.
 */
bool rest_begin(struct rest *rest, int folder_fd, char *from, const char *to);

/* Reads it back. If the disk fails, the process ends as if killed, because it cannot continue without its memory. */
void rest_end(struct rest *rest);

/* Frees stack pages below the caller's frame, which earlier deep calls used. */
void rest_let_stack_go(void);
