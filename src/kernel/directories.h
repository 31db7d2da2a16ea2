/* Directories of bawn's own on the host: made for the user alone, through no link. */
#pragma once

#include <dirent.h>

#include "base/attr.h"
#include "base/err.h"

/* Makes the directory and every missing one above it. The path is absolute; with a root_fd it is taken from there. */
int directories_make(int root_fd, const char *path, struct err *err) must_check;

/* The entries of an open directory, from its beginning; the descriptor stays the caller's. NULL with errno. */
DIR *directories_list(int directory_fd);
