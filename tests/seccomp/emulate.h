/*
 * Runs a seccomp program in this process, on calls that are never made, so that the program of either architecture can
 * be asked about any call on any machine. Stricter than the kernel: it knows just the instructions that
 * tools/seccomp-compile.c has a use for, and whatever else it meets is an error.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/seccomp.h"

struct emulated {
    uint32_t action; /* SECCOMP_RET_… */
    unsigned steps;
    bool
        saw_arguments; /* if not, the kernel can tell at load time, and never runs the program for an allowed call */
};

/* NULL, or what is wrong with the program. */
const char *emulate_verify(const struct seccomp_program *program);

/* The program must have been verified. */
struct emulated emulate(const struct seccomp_program *program, const struct seccomp_data *call);
