/* Directories of bawn's own on the host, made for the user alone. */
#pragma once

#include <dirent.h>

#include "base/attr.h"
#include "base/err.h"

/* Makes the directory and every missing one above it. The path is absolute, and may lead through the user's own links. */
int directories_make(const char *path, struct err *err) must_check;

/* The same below an open directory, through no link. Returns its descriptor (O_PATH), or -1 with errno. */
int directories_make_beneath(int top_fd, const char *path);

/* The entries of an open directory, from its beginning; the descriptor stays the caller's. NULL with errno. */
DIR *directories_list(int directory_fd);
