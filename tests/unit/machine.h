/* A made-up file system in a temporary folder, for unit tests that look at one. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/fsview.h"

static struct {
    char path[32];
    struct arena arena;
    struct fsview fs;
} machine;

static inline void machine_make(void)
{
    snprintf(machine.path, sizeof(machine.path), "/tmp/bawn-unit-XXXXXX");
    if (!mkdtemp(machine.path))
        abort();
    machine.fs.root_fd = open(machine.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    machine.fs.arena = &machine.arena;
}

static inline int machine_remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static inline void machine_remove(void)
{
    nftw(machine.path, machine_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    close(machine.fs.root_fd);
    fs_free(&machine.fs);
    arena_free(&machine.arena);
    machine.fs.places = (struct map){0};
}

/* Makes the directories above a path, then the file with that text; NULL makes a directory. */
static inline void machine_put(const char *path, const char *text)
{
    char full[512];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(full, sizeof(full), "%s%.*s", machine.path, (int)(slash - path), path);
        mkdir(full, 0700);
    }
    snprintf(full, sizeof(full), "%s%s", machine.path, path);
    if (!text) {
        mkdir(full, 0700);
        return;
    }
    FILE *file = fopen(full, "w");
    if (!file || fputs(text, file) == EOF || fclose(file) != 0)
        abort();
}

static inline void machine_link(const char *path, const char *target)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", machine.path, path);
    if (symlink(target, full) < 0)
        abort();
}
