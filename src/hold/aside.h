/*
 * Moves files out of the way into a session's folder, and back. They lie below held/ under the path that they had; where
 * one of that path is held already, below held-2/, held-3/ and so on. Nothing is ever deleted, replaced or followed. Where the session's
 * folder is on another file system, all is copied before the original goes.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "hold/content.h"
#include "hold/stub.h"

/*
 * Takes the file, link or directory away from its path. Returns 1, 0 where nothing is there (any more), -1 on failure. What cannot be moved (no
 * room, nested too deep) is renamed in its directory, to NAME.bawn-held-…: then *err says so.
 */
enum { ASIDE_RENAMED = 2 };
int aside_move(struct arena *arena, int session_fd, const char *path, struct err *err) must_check;

/*
 * Puts a file in the place of another one, in one step and under the lock: nobody finds the path empty, or the new file before it is whole. What stood there goes into the
 * session's folder; unless it `holds`, it is removed, for what differs in nothing. Returns 1, and 0 where another object than
 * `expected` stands there by now, or other bytes: that stays. Where it lies neither below held/ nor at its path, returns ASIDE_RENAMED and says where in *err.
 * After a failure it is as it was: not every file system can exchange two files.
 */
int aside_replace(struct arena *arena, int session_fd, const struct file_content *expected,
                  const struct file_content *put, const struct stub_lock *lock, bool holds, struct err *err)
    must_check;

struct held {
    const char *path;   /* that it had, absolute */
    const char *folder; /* below the session's: where it lies under that path */
    int number;         /* 1 is the first that was held for its path */
};

typedef VEC(struct held) held_list;

/* All that a session holds, by path and number. */
void aside_find(struct arena *arena, int session_fd, held_list *ret_held);

/* The newest of each path. */
void aside_keep_newest(held_list *held);

/* Brings back the newest of a path. What is there by now takes its place among what is held: nothing is lost. */
int aside_return(struct arena *arena, int session_fd, const char *path, struct err *err) must_check;
