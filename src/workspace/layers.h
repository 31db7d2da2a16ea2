/*
 * Where an overlay keeps what is written: `upper` and `work` in the session's folder or, where that file system takes no
 * layer, in a folder elsewhere that the session's file `elsewhere` names. And what an overlay cannot do here.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

struct layers {
    const char *folder; /* absolute: where they lie */
    bool is_memory;     /* that is a tmpfs: it does not outlive the machine */
    const char *
        foreign; /* a path of the tree that belongs to somebody else, and so cannot be changed; NULL: none was seen */
    const char *why_not; /* an overlay cannot be used here at all; NULL: it can */
};

/* Both, in an open folder of a file system that the kernel takes. Returns NULL, or why it would not. */
const char *layers_make_in(int fd);

/* Makes them, and checks whether an overlay will work there. Where none will, nothing is left. */
int layers_make(int folder_fd, const char *folder, const char *covered, const char *runtime_folder,
                struct arena *arena, struct layers *ret_layers, struct err *err) must_check;

/* The folder that holds both, or -1. */
int layers_open(int folder_fd);

/* They are gone: so is the folder elsewhere. */
void layers_forget(int folder_fd);
