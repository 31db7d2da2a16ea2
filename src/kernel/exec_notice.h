/*
 * Reports every program that a process or its descendants execute, by seccomp's user notification. The kernel stops the caller
 * until the listener lets it continue. The report is for a record or a question and no wall: the caller's memory may change before
 * the kernel reads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "kernel/notice.h"

/* From now on this process needs a listener. Returns the listener's descriptor. The thread must have set no_new_privs. */
int exec_notice_begin(enum notice_patience patience, struct err *err) must_check;

struct exec_notice {
    uint64_t id; /* by which it is answered (notice_answer) */
    pid_t pid;
    char parent[16];      /* its number; "": not known */
    char path[4096];      /* as given; "": could not be read, as from process 1's own memory */
    char arguments[4096]; /* each cut at 255 bytes and ended by NUL; the rest is omitted */
    size_t arguments_size;
    bool is_cut;    /* something of them was omitted */
    bool is_closed; /* told without namespaces: the process lets nobody read its memory (PR_SET_DUMPABLE) */
    uint64_t arguments_at; /* where they are in its memory */
    int pid_fd; /* POLLHUP when it has ended and its parent has waited for it; owned by the caller; -1: none */
    bool is_there; /* does the file exist, as the process sees it? */
};

/*
 * Takes a notice: who executes which path. It comes from the pipe `told_fd` if another process takes the listener's notices
 * (notice_tell); else that is -1. The process waits until notice_answer(). Returns 1; 0 if there is none; -1 with errno if it
 * cannot be read.
 */
int exec_notice_receive(int listener_fd, int told_fd, struct exec_notice *ret_notice) must_check;

/* Reads the arguments, too. */
void exec_notice_read_arguments(struct exec_notice *notice);

/* Does the file exist, as the process sees it? A search along PATH tries names that do not. */
bool exec_notice_is_there(const struct exec_notice *notice);

/* Finds out what a record has of it: its parent, whether the file exists, and a descriptor of the process. */
void exec_notice_look(struct exec_notice *notice);

/* The wait() status; false if this kernel does not report it (before 6.15). */
bool exec_read_end(int pid_fd, int *ret_status);
