/* The memory of another process, which may change it at any moment: what was read once is not read again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The address in that process, for a struct iovec. */
void *memory_of_process(uint64_t address);

/* Reads `size` bytes. Returns 0, or -1 with errno. */
int memory_read(pid_t pid, uint64_t address, void *ret_bytes, size_t size);

/* Reads as many bytes as there are, and `size` at most. Returns how many. */
size_t memory_read_some(pid_t pid, uint64_t address, void *ret_bytes, size_t size);

/* Writes them. Returns 0, or -1 with errno: some may be written then. */
int memory_write(pid_t pid, uint64_t address, const void *bytes, size_t size);

/*
 * Reads a text up to its NUL, in parts: the memory behind it may be unmapped. Returns its length, which is cut at the room. *ret_is_whole
 * says whether the NUL was found; it may be NULL.
 */
size_t memory_read_text(pid_t pid, uint64_t address, char *ret_text, size_t capacity, bool *ret_is_whole);
