/*
 * The layers of an overlay: `upper` and `work`. They are in the session's folder or, if its file system cannot be an
 * upper layer, in another folder that the session's file `elsewhere` names. Also checks what an overlay cannot do on
 * this machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#define LAYERS_ELSEWHERE "elsewhere"

struct layers {
    const char *folder;  /* absolute; contains both layers */
    bool is_memory;      /* the folder is on a tmpfs and is lost when the machine stops */
    const char *foreign; /* a path of another user, which cannot be changed; NULL: none was seen */
    const char *why_not; /* why no overlay works here; NULL: it works */
};

/* Makes both layers in an open folder. Returns NULL, or why its file system cannot have them. */
const char *layers_make_in(int fd);

/* Makes both layers and checks whether an overlay works with them. If none works, nothing is left behind. */
int layers_make(int folder_fd, const char *folder, const char *covered, const char *runtime_folder,
                struct arena *arena, struct layers *ret_layers, struct err *err) must_check;

/* Opens the folder that contains both layers, or returns -1. */
int layers_open(int folder_fd);

/*
 * Opens the directories that the kernel has made in `work` and that its overlay does not keep open itself: those that mark it as
 * volatile. -1 stands for one that is not there.
 */
enum { LAYERS_MARKS = 2 };
void layers_open_marks(int folder_fd, int ret_fds[LAYERS_MARKS]);

/* The disk space in bytes of the session's folder and of layers that are elsewhere. A folder that is closed to its owner counts as empty. */
uint64_t layers_disk_use(int folder_fd);

/* Removes `elsewhere` and the folder that it names, after both layers are gone. */
void layers_forget(int folder_fd);
