/*
 * The output of a task, in files of bounded size. The command writes to pipes, and a child of the worker's copies them: all of what comes
 * first, and the end of what comes too much. Nothing is refused to the command, however much it prints.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

enum { OUTPUT_STREAMS = 2 };

struct output {
    pid_t child;
    int end_fd; /* a byte here ends the child, which answers how much it left out. The pipes may not end: a process 1 that was started ahead has them too */
    int before[OUTPUT_STREAMS]; /* standard output and error of the worker itself */
};

#define OUTPUT_NONE ((struct output){.end_fd = -1, .before = {-1, -1}})

/* From now on standard output and error of this process are pipes. What is written waits in them until output_keep. */
int output_begin(struct output *output, struct err *err) must_check;

/* What comes becomes the files stdout and stderr in the folder. */
int output_keep(const struct output *output, int folder_fd, struct err *err) must_check;

/* They are the worker's own again, and the files, if there are any, are whole. *ret_dropped: how many bytes they lack. */
int output_end(struct output *output, uint64_t *ret_dropped, struct err *err) must_check;
