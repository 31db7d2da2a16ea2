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
};

/* Makes them, and checks that an overlay will work there; the hint says what to do where none will. */
int layers_make(int folder_fd, const char *folder, const char *covered, const char *runtime_folder,
                struct arena *arena, struct layers *ret_layers, struct err *err) must_check;

/* The folder that holds both, or -1. */
int layers_open(int folder_fd);

/* They are gone: so is the folder elsewhere. */
void layers_forget(int folder_fd);
