/*
 * One error object: what failed, on which object, why, and what the user can do about it.
 * A fallible function returns 0, or -1 with *err filled; callers pass it on unchanged or make it more precise.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"

struct err {
    int errnum;         /* 0 where no system call failed */
    char message[1024]; /* one sentence without a full stop */
    char hint[512];     /* what to do about it; may be empty */
};

/* All three return -1, so that a caller can write `return err_set(...)`. */
int err_set(struct err *err, const char *format, ...) printf_like(2, 3);
int err_sys(struct err *err, int errnum, const char *format, ...) printf_like(3, 4);
int err_hint(struct err *err, const char *format, ...) printf_like(2, 3);

/* Is it an error of the machine: ENOMEM, EMFILE, EIO …? Such an error must not be read as "file absent". */
bool errno_is_of_machine(int errnum);
