/*
 * The user's word on repositories: which content of which workspace's .bawn was read and accepted. One small file a
 * workspace, below $XDG_DATA_HOME/bawn/trust, which every sandbox has sealed. Both count: the same text in another
 * place means other paths, and other text in the same place is another policy.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "kernel/fsview.h"

bool trust_holds(struct fsview *fs, const char *data_directory, const char *workspace, const char *text,
                 size_t size);

int trust_pin(struct fsview *fs, const char *data_directory, const char *workspace, const char *text,
              size_t size, struct err *err) must_check;

/* Returns 1 where a pin was taken back, 0 where there was none. */
int trust_revoke(struct fsview *fs, const char *data_directory, const char *workspace, struct err *err)
    must_check;

/* --- policy_file.c --- */

/* A policy file as it is, and as it is to be. */
struct policy_file {
    int folder_fd;
    const char *path, *name; /* the name in the folder */
    bool is_there;
    mode_t mode;
    struct buf before, after;
};

#define POLICY_FILE_NONE ((struct policy_file){.folder_fd = -1})

/* Reads it, through no symlink: `path` has none. A missing file is empty; it is to have this mode. */
int policy_file_read(struct arena *arena, const char *path, mode_t mode, struct policy_file *ret_file,
                     struct err *err) must_check;

/* Adds a line to the end of the new content; all other bytes stay. Returns false if the line is there. */
bool policy_file_add(struct policy_file *file, const char *line);

/* A hash of what was read, by which one who was shown it knows it again. */
void policy_file_state(const struct policy_file *file, char ret_state[SHA256_HEX_SIZE]);

/* Writes the new content, if the file still has the content that was read. */
int policy_file_write(struct arena *arena, const struct policy_file *file, struct err *err) must_check;

void policy_file_free(struct policy_file *file);
#define auto_policy_file __attribute__((cleanup(policy_file_free)))

/* --- own_policy.c --- */

enum { OWN_POLICY_MODE = 0600, REPOSITORY_POLICY_MODE = 0644 };

/* The user's own policy file without symlinks: people keep such files elsewhere. Makes its folder. NULL with the error. */
const char *own_policy_target(struct arena *arena, const char *path, struct err *err) must_check;

/* Adds a line to the end of the user's own policy file. Returns 1 if it was added, 0 if it was there. */
int own_policy_add(struct arena *arena, const char *path, const char *line, struct err *err) must_check;

/* The same for the .bawn of a workspace, where no symlink is followed: it could be the sandbox's. */
int repository_policy_add(struct arena *arena, const char *path, const char *line, struct err *err)
    must_check;
