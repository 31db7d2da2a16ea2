/*
 * Processes as /proc shows them. Their numbers are used again: who has a process open (its directory in /proc) reads of that one and
 * signals that one, or gets nothing, whoever has its number by then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

typedef VEC(pid_t) process_list;

/* Adds the processes that any of its threads started, until there are `most` in the list. They may have ended by now. */
void children_add(process_list *processes, pid_t process, size_t most);

/* Returns a descriptor for the functions below, or -1. */
int process_open(pid_t process);
void children_add_of(process_list *processes, int process_fd, size_t most);

struct process_look {
    char state;     /* 'R', 'S', 'T' …; '\0' where there is no such process */
    pid_t parent;   /* 0: none that can be seen from here */
    uint64_t start; /* with its number this is one process and no other */
    uint64_t runs;  /* how often it was given a processor; 0 where the kernel does not count that */
};

/* A process whose first thread has ended is looked at in its first thread that has not. */
struct process_look process_look(int process_fd);

/* Signal 0 is none: it tells whether the process is there. */
bool process_signal(int process_fd, int number);
