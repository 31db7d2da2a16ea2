/*
 * Hears of the programs that are executed inside. --log-exec: writes down which, by whom, with which arguments, and how they end. With guards:
 * some wait for an answer, or are refused (guarded.h). Reads the memory of processes inside, each text bounded, and believes none of it.
 */
#pragma once

#include <stdbool.h>

#include "journal/journal.h"
#include "supervise/guarded.h"
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
    int listener_fd; /* -1: nothing is heard */
    int told_fd; /* without namespaces: notices come from this pipe, and the listener only answers; else -1 */
    bool records;            /* what is executed is written down */
    struct guarded *guarded; /* NULL: there are no guards */
    const char *command;     /* what the run is about, as it was typed */
    pid_t first;             /* who became that; 0: not yet */
    struct {
        int pid_fd; /* 0: none */
        pid_t pid;
    } watched[EXECS_WATCHED]; /* whose end is awaited */
    struct exec_lines *lines; /* NULL: nothing is recorded */
};

#define EXECS_NONE ((struct execs){.listener_fd = -1, .told_fd = -1})

struct execs_wanted {
    int listener_fd, told_fd;
    const char *command;
    bool records;
    struct guarded *guarded; /* NULL: there are no guards */
};

/* The descriptors become the execs' own. */
void execs_begin(struct execs *execs, const struct execs_wanted *wanted, struct journal *journal,
                 struct loop *loop);

/* The program that was executed so many before the last one, with its arguments on one line; NULL: it is not known. */
const char *execs_line(const struct execs *execs, size_t back);

/* What has ended by now is written down too. */
void execs_end(struct execs *execs);
