/*
 * git's configuration language, read without git: no include is followed and nothing is run. What git would refuse is
 * refused here too.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"

struct git_setting {
    const char *section;    /* in lower case */
    const char *subsection; /* as written; "" where there is none */
    const char *name;       /* in lower case */
    const char *value;      /* NULL: the name alone, which means true */
};

/* Calls back for each setting in order. Returns -1 at the first line that is none; what came before has been told. */
typedef void git_setting_found(void *context, const struct git_setting *setting);
int git_config_read(struct arena *arena, const char *text, size_t size, git_setting_found *found,
                    void *context) must_check;

struct buf;

/* Adds "name = value" as git reads it back; a value that git could not hold is left out. */
void git_config_add(struct buf *out, const char *name, const char *value);
