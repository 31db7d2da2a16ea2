/*
 * Moves files out of the way into a session's folder, and back. They lie below held/ under the path that they had, with
 * a number after the name where one of that name was held already. Nothing is ever deleted, replaced or followed.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "kernel/fsview.h"

#define ASIDE_FOLDER "held"

/* Takes the file, link or directory away from its path. Returns 1, 0 where nothing is there (any more), -1 on failure. */
int aside_move(struct arena *arena, int session_fd, const char *path, struct err *err) must_check;

/* Keeps a copy of some bytes as if a file with them had been moved. */
int aside_keep(struct arena *arena, int session_fd, const char *path, const char *bytes, size_t size,
               struct err *err) must_check;

/* The absolute paths of all files that a session holds, as they were, sorted. */
void aside_find(struct arena *arena, int session_fd, fs_names *ret_paths);

/* Brings one back. What is there by now takes its place among what is held: nothing is lost. */
int aside_return(struct arena *arena, int session_fd, const char *path, struct err *err) must_check;
