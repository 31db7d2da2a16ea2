/*
 * Processes: namespaces, id maps, privileges, descriptors. Each function does one thing to the calling process; those of children.c look at
 * others.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

/*
 * fork() into new namespaces (CLONE_NEW… flags) and, unless cgroup_fd is -1, into a control group. Returns the child's pid, and
 * 0 in the child; also fills *ret_pidfd.
 */
pid_t process_fork(uint64_t namespaces, int cgroup_fd, int *ret_pidfd);

/* Does this error say that nobody may make a namespace here, or do something in it? A lack of memory or processes is another matter. */
bool process_is_refusal(int errnum);

/*
 * Starts a child that runs `run` in this process's memory. This process waits until the child executes a program or ends, so
 * the child must be quick. Cheaper than fork(), which copies the memory.
 */
pid_t process_start(int (*run)(void *), void *argument);

/* Maps ids inside a user namespace to ids outside. */
struct id_map {
    uint32_t inside_uid, outside_uid, inside_gid, outside_gid, count;
    bool keeps_groups; /* an ordinary user's process cannot drop its supplementary groups */
};

/* Is this the machine's root, with all ids? Root of a user namespace is an ordinary user. */
bool process_is_real_root(void);

/* The map of a sandbox: an ordinary user as itself, real root as an id that nobody has outside. */
struct id_map process_id_map(void);

/* The map that makes root inside root outside: no wall. */
struct id_map process_root_map(void);

/* Real root becomes an id that nobody has, and no sandbox uses; other users stay. This clears PR_SET_PDEATHSIG. */
int process_leave_root(struct err *err) must_check;

/* Writes the map of this process's user namespace, as an ordinary user. */
int process_map_own_ids(const struct id_map *map, struct err *err) must_check;

/* Writes the map of a child's user namespace. */
int process_map_ids(pid_t child, const struct id_map *map, struct err *err) must_check;

/* Opens the process's namespace of a kind ("user", "mnt"). Returns its descriptor. */
int process_open_namespace(const char *kind, struct err *err) must_check;

/* Enters both namespaces. The user namespace comes first, because it gives the right to enter the other. */
int process_enter(int user_namespace_fd, int mount_namespace_fd, struct err *err) must_check;

/*
 * Runs a function in a child with its own user namespace, in which this user's files can be read and written whatever their
 * modes. Only the function's result and error come back. If the child ends before it has answered, that is an error:
 * EOWNERDEAD if it was killed, as another try may go better; 0 if it crashed or had too little memory.
 */
int process_in_own_namespace(int (*run)(void *context, struct err *err), void *context, struct err *err)
    must_check;

/* Runs a function for which the modes of this user's files do not matter: root directly, others in such a namespace. */
int process_as_owner(int (*run)(void *context, struct err *err), void *context, struct err *err) must_check;

/* Limits of a child. 0: none. */
struct process_bounds {
    unsigned seconds;
    uint64_t memory; /* bytes */
};

/*
 * Runs a function in a child, so that a crash, a hang or a lack of memory ends only the child, and is reported as an error. The
 * function's result and error come back. The child ends with its parent.
 */
int process_in_bounds(const struct process_bounds *bounds, int (*run)(void *context, struct err *err),
                      void *context, struct err *err) must_check;

/* The signals that end a program: SIGINT, SIGTERM, SIGHUP. */
sigset_t process_ending_signals(void);

/* Waits for a child. Returns its status as a shell does, 128 and more for a signal; -1 if it is no child. */
int process_wait(pid_t child);

/*
 * Writes a text to a file that could block for ever: a pipe that nobody reads, a terminal whose output a command has stopped. A child writes, for a
 * second at most, and nobody waits for it.
 */
void process_write_aside(int fd, const char *text);

/* Drops all capabilities for good, also when programs are executed as root. */
int process_drop_capabilities(struct err *err) must_check;

/* Which start of the machine this is, a text of the kernel's; "" where it does not say so. */
enum { BOOT_ID_SIZE = 40 };
void process_read_boot_id(char ret_boot[BOOT_ID_SIZE]);

/*
 * Will an orphan's end be waited for? The first process of the machine does that. The first one of a container is often a program that
 * does not, and each orphan stays as a zombie.
 */
bool process_orphans_are_reaped(void);

/* Does this process hold CAP_SYS_ADMIN, which real root lacks in a container? */
bool process_may_administrate(void);

/* No program run from here on gains a privilege. */
int process_no_new_privileges(struct err *err) must_check;

/* Does a seccomp filter hold this process? */
bool process_is_filtered(void);

/* Sets soft and hard limit of a resource (RLIMIT_…), never higher than they are. */
int process_limit(int resource, uint64_t most, struct err *err) must_check;

/* As many descriptors as the hard limit allows. Returns the limit before, or zeros if there is none to be had. */
struct rlimit process_raise_descriptors(void);

/*
 * A crash writes no core, and starts no helper of root's if core_pattern is a pipe. A limit of 0 does not prevent the helper; a
 * limit of 1 does. Only a caller's hard limit of 0 cannot be raised.
 */
int process_dump_no_core(struct err *err) must_check;

/* No process of the same user looks into this one, and it dies with its parent. */
int process_become_opaque(struct err *err) must_check;

/* Closes every descriptor above the standard three except `spared` (-1: none). */
int process_close_descriptors(int spared, struct err *err) must_check;

/* If this process is the first of a sandbox, waits until it and everything inside is gone, at most so long. */
void process_await_sandbox(pid_t pid, int milliseconds);

/* Gives free memory back: pages of the heap, and those of the stack below the caller's frame. For a process that will wait for long. */
void process_trim(void);

/* The path of this program; NULL: not known. */
const char *process_own_path(struct arena *arena);

/* bawn and the programs of its own that it starts. */
#define OWN_PROGRAMS(X)                                                                                      \
    X("bawn") X("bawn-egress") X("bawn-forge") X("bawn-prove") X("bawn-vault") X("bawn-web")

/*
 * The directories in which bawn looks for them, in this order: its own, ../libexec if its own is called bin, and where they were installed. `own` is the
 * path of bawn. Ends with NULL.
 */
enum { LIBEXEC_FOLDERS_MOST = 3 };
void libexec_folders(struct arena *arena, const char *own, const char *ret_folders[LIBEXEC_FOLDERS_MOST + 1]);

/* The path of a program of bawn's own, such as "bawn-egress", in the first of these directories that has it. NULL: missing. */
const char *libexec_find(struct arena *arena, const char *name);

/*
 * children.c: processes as /proc shows them. The kernel reuses their numbers. A caller that has the directory of a process in /proc
 * open reads from and signals that very process, or gets nothing if it has ended.
 */
typedef VEC(pid_t) process_list;

/* Adds the processes that any of its threads started, until there are `most` in the list. They may have ended by now. */
void children_add(process_list *processes, pid_t process, size_t most);

/* Returns a descriptor for the functions below, or -1. */
int process_open(pid_t process);
void children_add_of(process_list *processes, int process_fd, size_t most);

struct process_look {
    char state;   /* 'R', 'S', 'T' …; '\0' where there is no such process */
    pid_t parent; /* 0: none that can be seen from here */
    uint64_t threads;
    uint64_t start; /* with its number this is one process and no other */
};

/* The state is that of its first thread alone. */
struct process_look process_look(int process_fd);

/*
 * Looks at every thread. The state is that of the thread which is furthest from standing still: running or asleep, then D, then stopped by a tracer,
 * then stopped, then dead. A process has threads that do not run while others do: its first one has ended, waits in vfork(), or is traced.
 *
 * Each thread's number, start, and how often it was given a processor go into the hash: if nothing of it ran between two looks, they add the
 * same. *ret_counted is set to false if the kernel does not count that. It is not changed otherwise.
 */
struct process_look process_look_whole(int process_fd, struct blake2b *hash, bool *ret_counted);

/* False if the process ignores the signal, or is gone. */
bool process_may_be_stopped_by(pid_t process, int signal_number);

/* The number behind "KEY:" in a file of the process's in /proc. False if there is none. */
bool process_number_in(pid_t process, const char *name, const char *key, uint64_t *ret_number);

/* The same in its status; 0 if there is none. */
uint64_t process_status_number(pid_t process, const char *key);

/* The process that a thread belongs to, and the parent of a process; 0: it is gone. */
pid_t process_of_thread(pid_t thread);
pid_t process_parent(pid_t process);

/* Signal 0 is none: it tells whether the process is there. */
bool process_signal(int process_fd, int number);
