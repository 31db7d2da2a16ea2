/*
 * `limit disk`: how much the command may add to the disk. A child of the supervisor's adds up the blocks of the trees that the command
 * writes, a few times a second, and less often where that takes long. When they have grown by more than the limit, the command is killed
 * at once: one that is asked to end could go on writing.
 *
 * What it does not see: blocks of a file that was deleted while a program has it open, and what is written between two looks.
 */
#pragma once

#include "base/vec.h"
#include "launch/launch.h"
#include "supervise/loop.h"

struct disk {
    struct loop *loop;
    const struct launched *launched;
    VEC(const char *) trees; /* absolute paths; none lies in another */
    uint64_t most;           /* bytes; UINT64_MAX: there is no limit */
    pid_t child;
    int told_fd;         /* -1: nothing is counted */
    bool is_over;        /* the command was killed for it … */
    uint64_t used;       /* … because it had added so much … */
    const char *trouble; /* … or because this keeps it from being counted; NULL: nothing does */
};

#define DISK_NONE ((struct disk){.told_fd = -1, .most = UINT64_MAX})

/* Adds a tree, unless it lies in one that was added; trees that lie in it leave. */
void disk_add(struct disk *disk, const char *path);

/* Counts once, so that what was there does not count, and begins to watch. The struct must stay where it is. */
int disk_begin(struct disk *disk, struct err *err) must_check;

/* The command has ended. */
void disk_end(struct disk *disk);
