/*
 * Moves memory that is not needed for a while to the disk, so that hundreds of waiting processes do not each keep theirs. It goes
 * into a file without a name, encrypted with a key that stays in memory: the bytes may hold secrets of the environment, and
 * a freed block of a disk keeps its content. Between the two calls nothing may touch that memory, not even to read.
 * supervise/loop.c describes the sleep as a whole.
 */
#pragma once

#include <stdbool.h>

#include "base/chacha20.h"
#include "base/hash.h"

/* It takes milliseconds, so that nothing should have happened for a while. */
enum { REST_AFTER_MILLISECONDS = 3000, REST_MOST_PAGES = 4096 };

/* Must not itself lie in what is laid aside. */
struct rest {
    int fd;
    char *memory; /* a page's beginning */
    size_t page, pages;
    unsigned char is_kept[REST_MOST_PAGES / 8]; /* a bit a page; the others hold nothing but zeros */
    unsigned char key[CHACHA20_KEY], digest[BLAKE2B_SIZE];
};

/*
 * Lays the whole pages between two addresses aside, in the file system of a folder. Returns false, and has changed nothing,
 * where that cannot be done or would gain nothing: too much memory, a folder that is itself memory, a full disk.
 */
bool rest_begin(struct rest *rest, int folder_fd, char *from, const char *to);

/*
 * Brings it back. If the disk does not give back what it was given, the process ends, as if it had been killed: without its
 * memory it must do nothing.
 */
void rest_end(struct rest *rest);

/* Lets the stack's pages go that lie below the caller's own frame: deep calls of the past are still in them. */
void rest_let_stack_go(void);
