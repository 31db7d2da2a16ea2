/*
 * --log-exec: writes down which programs are executed inside, by whom, with which arguments, and how they end. Reads the
 * memory of processes inside, each text bounded, and believes none of it.
 */
#pragma once

#include <stdbool.h>

#include "journal/journal.h"
#include "supervise/loop.h"

enum { EXECS_WATCHED = 256, EXECS_REMEMBERED = 16, EXECS_LINE_LONGEST = 300 };

/* What was executed last, a ring. */
struct exec_lines {
    char at[EXECS_REMEMBERED][EXECS_LINE_LONGEST];
    size_t count; /* of all that were put in */
};

struct execs {
    struct journal *journal;
    struct loop *loop;
    int listener_fd;     /* -1: nothing is recorded */
    const char *command; /* what the run is about, as it was typed */
    pid_t first;         /* who became that; 0: not yet */
    struct {
        int pid_fd; /* 0: none */
        pid_t pid;
    } watched[EXECS_WATCHED]; /* whose end is awaited */
    struct exec_lines *lines; /* NULL: nothing is recorded */
};

/* The listener becomes the execs' own. */
void execs_begin(struct execs *execs, int listener_fd, const char *command, struct journal *journal,
                 struct loop *loop);

/* The program that was executed so many before the last one, with its arguments on one line; NULL: it is not known. */
const char *execs_line(const struct execs *execs, size_t back);

/* What has ended by now is written down too. */
void execs_end(struct execs *execs);
