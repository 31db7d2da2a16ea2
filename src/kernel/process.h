/* Processes: namespaces, id maps, privileges, descriptors. Each function does one thing to the calling process. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/*
 * fork() into new namespaces (CLONE_NEW… flags) and, unless cgroup_fd is -1, into a control group. Returns the child's
 * pid, and 0 in the child; *ret_pidfd as well.
 */
pid_t process_fork(uint64_t namespaces, int cgroup_fd, int *ret_pidfd);

/*
 * Starts a child that runs `run` in this process's own memory, while this process waits, until the child executes a
 * program or ends: it must do nothing else for long. Cheaper than fork(), which copies what exec() throws away.
 */
pid_t process_start(int (*run)(void *), void *argument);

/* Which ids inside a user namespace stand for which outside. */
struct id_map {
    uint32_t inside_uid, outside_uid, inside_gid, outside_gid, count;
    bool keeps_groups; /* an ordinary user's process cannot let go of its further groups, and may not try */
};

/* Is this root the machine's, with all ids there are? Root of some user namespace is an ordinary user. */
bool process_is_real_root(void);

/* The map for a sandbox of this process's: an ordinary user as itself, real root as an id that nobody has outside. */
struct id_map process_id_map(void);

/* The map where root inside is root outside: no wall. */
struct id_map process_root_map(void);

/*
 * Real root becomes an id that nobody has, no sandbox either; anybody else stays who they are. What was to happen when the
 * parent dies is forgotten by that.
 */
int process_leave_root(struct err *err) must_check;

/* Writes the map for the user namespace of this process, which is an ordinary user's. */
int process_map_own_ids(const struct id_map *map, struct err *err) must_check;

/* Writes the map for the user namespace of a child. */
int process_map_ids(pid_t child, const struct id_map *map, struct err *err) must_check;

/* The process's own namespace of a kind ("user", "mnt"). Returns its descriptor. */
int process_open_namespace(const char *kind, struct err *err) must_check;

/* Enters both namespaces, the user namespace first: it is that which gives the right to enter the other. */
int process_enter(int user_namespace_fd, int mount_namespace_fd, struct err *err) must_check;

/*
 * Runs a function in a child with a user namespace of its own, in which this user's files can be read and written whatever
 * their modes say. Its result and error come back; nothing else does. If the child ends before it has answered, that is an
 * error: EOWNERDEAD if it was killed, as another try may go better; 0 if it crashed or had too little memory.
 */
int process_in_own_namespace(int (*run)(void *context, struct err *err), void *context, struct err *err)
    must_check;

/* Runs a function where the modes of this user's files do not matter: root does it at once, others in such a namespace. */
int process_as_owner(int (*run)(void *context, struct err *err), void *context, struct err *err) must_check;

/* What a child may use up. 0: as much as it likes. */
struct process_bounds {
    unsigned seconds;
    uint64_t memory; /* bytes */
};

/*
 * Runs a function in a child: if it crashes, hangs or fills the memory, only the child ends, and that is an error like any
 * other. Its result and error come back. The child ends with its parent.
 */
int process_in_bounds(const struct process_bounds *bounds, int (*run)(void *context, struct err *err),
                      void *context, struct err *err) must_check;

/* Those by which a person or the system ends a program: SIGINT, SIGTERM, SIGHUP. */
sigset_t process_ending_signals(void);

/* Waits until a child has ended. Returns its status as a shell has it, 128 and more for a signal; -1 where it is no child. */
int process_wait(pid_t child);

/* No capability is left, and none comes back: not by executing anything, not as root. */
int process_drop_capabilities(struct err *err) must_check;

/* No program run from here on gains a privilege. */
int process_no_new_privileges(struct err *err) must_check;

/* Soft and hard limit of a resource (RLIMIT_…), never raised above what it is. */
int process_limit(int resource, uint64_t most, struct err *err) must_check;

/*
 * A crash writes no core, and where core_pattern is a pipe the kernel starts no helper of root's for it: a limit of 0, which most
 * callers have, does not keep it from that, and one of 1 does. Only a caller's hard limit of 0 cannot be raised.
 */
int process_dump_no_core(struct err *err) must_check;

/* Closes every descriptor above the standard three but one (-1: none is spared). */
int process_close_descriptors(int spared, struct err *err) must_check;

/*
 * If this process is the first one of a sandbox, waits until it is gone, and with it all that runs inside; but not longer
 * than that.
 */
void process_await_sandbox(pid_t pid, int milliseconds);

/* The path of a program of bawn's own, such as "bawn-egress": beside bawn, in ../libexec, or as installed. NULL if missing. */
const char *libexec_find(struct arena *arena, const char *name);
