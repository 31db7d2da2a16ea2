/*
 * Reports the paths that a process and its descendants name in system calls: opens, looks, executions, changes, connections to Unix
 * sockets. For `bawn learn` alone: each such call costs a round trip to the listener. The path is read from the caller's memory,
 * which may change before the kernel reads it: it is for a record, not for a decision.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "kernel/notice.h"

enum path_act { PATH_LOOK, PATH_READ, PATH_EXECUTE, PATH_WRITE, PATH_MAKE, PATH_CONNECT };

struct path_notice {
    struct notice notice;
    enum path_act act;
    int start;       /* a descriptor of the process, or AT_FDCWD: where a relative path starts */
    char path[4096]; /* as given; "": none, or it could not be read */
};

/* From now on this process needs a listener. Returns the listener's descriptor. The thread must have set no_new_privs. */
int path_notice_begin(struct err *err) must_check;

/* Is it a call that names a path? */
bool path_notice_knows(int call);

/*
 * Takes a notice from the listener; with `is_told`, from another process that passes it on (notice_tell). The process waits
 * until notice_continue(). Returns 1; 0 if there is none; -1 with errno if it cannot be read.
 */
int path_notice_take(int fd, bool is_told, struct path_notice *ret_notice) must_check;
