/* Where a repository's branches stand, read from its files and through no link. Any hash that git has: 40 or 64 digits. */
#pragma once

#include <stdbool.h>

enum { GIT_DIGITS_MOST = 64 };

struct git_position {
    char digits[GIT_DIGITS_MOST + 1];
};

/* Would git take it for the name of a branch? */
bool git_branch_is_sound(const char *name);

/* A text of nothing but a hash and the end of its line. */
bool git_position_parse(const char *text, struct git_position *ret_position);

/* The commit of a ref ("refs/heads/NAME") in the text of packed refs. Returns false where there is none. */
enum { GIT_PACKED_REFS_MOST = 64 * 1024 * 1024 };
bool git_packed_position(const char *packed, const char *ref, struct git_position *ret_position);

/* The commit of "refs/heads/NAME". Returns false where there is none. */
bool git_branch_position(int git_dir_fd, const char *name, struct git_position *ret_position);

/* The branch that HEAD of a git directory is on, or NULL; `ret_name` has room for it. */
enum { GIT_NAME_MOST = 255 };
bool git_head_branch(int git_dir_fd, const char *head, char ret_name[GIT_NAME_MOST + 1]);

/* The commit that HEAD stands at. */
bool git_head_position(int git_dir_fd, struct git_position *ret_position);
