/* Files by paths that lead through no symbolic link whatsoever, the last name included. */
#pragma once

/* Opens a path as seen from root_fd (of "/", as a rule), close-on-exec. Returns -1 with errno: ELOOP at a link. */
int nolink_open(int root_fd, const char *path, int flags);

/* The same from the process's own root. */
int nolink_open_absolute(const char *path, int flags);

/* The directory that holds an absolute path, O_PATH. */
int nolink_open_parent(const char *path);
