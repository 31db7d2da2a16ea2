/*
 * Walls without namespaces: the second way to carry a plan out, for machines that let nobody make a namespace.
 *
 *   bare_child.c   the warden, from the clone to its loop, and the command's process until it executes
 *   bare_rules.c   Landlock's rules from the operations of the plan
 *   bare_furnish.c the directory of temporary files, and bawn's own sockets
 *   bare_frozen.c  the frozen objects of the plan
 *   bare_judge.c   the thread that judges system calls: which call is judged how
 *   bare_files.c   judged calls on files: the judge carries them out on what it has judged
 *   bare_names.c   judged calls that change names
 *   bare_count.c   judged calls that make processes and threads, where the judge holds the limit on them
 *   bare_devices.c judged opens of the command's own terminals and shared memory
 *   bare_sockets.h the network, in files of its own
 *   bare_told.c    executions, and calls that name a path: what is passed on to the supervisor
 *   bare_signals.c judged signals, on kernels whose Landlock has no scopes
 *   bare_init.c    the warden's loop: signals, orders, the end of all that the command started
 *   bare_orphans.c outside: the same, if the warden was killed
 *
 * Theory of operation
 *
 * Processes. The supervisor clones the warden, which has the place of process 1 and speaks its messages (start.c), in the namespaces of the
 * host. The warden forks the command's process. A thread of the warden, the judge, answers the system calls that the command's
 * seccomp program passes on.
 *
 * Order.
 *
 *      warden                                      the command's process
 *   1  becomes a child subreaper, sets limits,
 *      drops capabilities, receives the plan
 *   2  reads the frozen objects, enters Landlock's
 *      first domain: the files of the plan
 *   3  forks, fills the directory of temporary
 *      files, hands bawn's own sockets over        enters the second domain, loads the seccomp program,
 *   4  takes the listener, starts the judge        sends its listener
 *   5  waits                                       tries each wall, says that they hold
 *   6  says so to the supervisor, waits for the
 *      first order, passes it on                   executes the command
 *
 * Domains nest. Both have the rules on files, so what the judge does for a caller is confined as the caller is. The first alone makes exceptions for what
 * is hidden in a tree. It has one rule more, on /dev/pts: the judge opens terminals there that are the command's own. The second's scope keeps signals and abstract sockets from everything
 * outside it, the warden included.
 *
 * Invariants.
 *
 *   1. A call whose memory or descriptor decides is continued only if neither can be exchanged meanwhile, or if Landlock alone decides whatever
 *      they become. Otherwise the judge reads a path once, opens the object, judges what it has opened, and carries the call out on that.
 *      Memory can always be exchanged. A descriptor cannot where its table is one thread's own: so the judge is told of each process
 *      that is made with its parent's table (clone with CLONE_FILES), and then continues no such call any more.
 *   2. All calls that change a name in a plan with frozen paths are judged, by one thread. So no name changes between a judgement and its act,
 *      but by the host.
 *   3. Nothing outlives the warden. Orphans become its children, and it kills children until it has none. Where Landlock has scopes, the killer does so first: a process in a domain between those of the
 *      warden and the command, so that its kill(-1) reaches all that the command has started and nothing else, at one moment, and nobody of those reaches it. It does so too when the
 *      control socket ends, which means that the supervisor is dead, or wants an end. So nobody of bawn's kills the warden. If somebody else does, its
 *      children fall to the supervisor, which kills them. A warden that has reported the end has no children, and the supervisor
 *      waits for neither.
 *   4. Without a judge, judged calls fail with ENOSYS: the kernel answers so when the listener is closed. Where executions are told, the supervisor
 *      has it open too, and closes it when the judge has hung up.
 *   5. Without scopes (before Linux 6.12), the judge carries signals out.
 *   6. Process groups of the host's are in the command's session, and no process of the run joins one or gives the terminal to one: the judge lets a
 *      process join groups of the run alone, and gives the terminal itself. A session that was made inside has no others.
 *   7. The warden cannot be traced, signalled or read by the command: Landlock's first domain is less than the second, and the warden is
 *      not dumpable.
 */
#pragma once

#include <limits.h>
#include <sys/stat.h>

#include "kernel/callers.h"
#include "kernel/landlock.h"
#include "launch/inside.h"

/* An object that must stay as it is, or lies on the way to one. */
struct frozen_object {
    dev_t device;
    ino_t inode;
    bool is_way; /* a directory on the way: it must not be moved, but its entries may change */
};

/* A name that must keep its object. */
struct frozen_name {
    dev_t device; /* of the directory */
    ino_t inode;
    const char *name;
};

struct bare_network;
struct population;
struct told;

struct bare {
    const struct launch *launch;
    struct bare_network *network;  /* the judge's thread's own, once it runs */
    struct callers *callers;       /* and this */
    struct told *told;             /* and this; NULL: nobody is told of calls */
    struct population *population; /* and this; NULL: processes are not counted */
    struct arena arena;
    int report_fd, control_fd;
    int command_fd; /* the command's process, until it executes */
    pid_t command;
    int killer_fd; /* its killer (invariant 3); -1: none */
    pid_t killer;  /* 0: none */
    int oom_fd;    /* the warden's own setting, open since before the first domain */
    char oom_before[16];
    ssize_t oom_size;
    VEC(struct frozen_object) frozen;
    VEC(struct frozen_name) names;
    VEC(const char *) paths;     /* that are frozen: the host may put another object there */
    VEC(const char *) written;   /* trees in which metadata may be changed */
    struct landlock inner;       /* the rules of the second domain, until the command's process enters it */
    int master_fd;               /* O_PATH: the device of which pseudo terminals are made; -1: none */
    int shared_fd;               /* the directory of shared memory; -1: none */
    int scratch_fd;              /* the directory of temporary files, locked; -1: none */
    int own_fds[OWN_SOCKETS];    /* O_PATH: the files of own_sockets, which have no name; -1: not there */
    const cpu_set_t *processors; /* of the command; NULL: the warden has the same */
};

/* bare_child.c: never returns. */
_Noreturn void bare_run(const struct child *child);

/* bare_rules.c: raises the wall of files, and prepares bare->inner. The plan's trees are opened through no link. */
int bare_raise_files(struct bare *bare, struct err *err) must_check;

/* bare_frozen.c: finds the frozen objects of the plan, and the trees that may be written. */
int bare_find_frozen(struct bare *bare, struct err *err) must_check;
bool bare_has_frozen(const struct bare *bare);

/* bare_frozen.c: must the object stay as it is? With `as_name`: must it keep its name? */
bool bare_is_frozen(const struct bare *bare, const struct stat *object, bool as_name);
bool bare_is_frozen_name(const struct bare *bare, int directory_fd, const char *name);

/* bare_child.c: the supervisor keeps the warden off its own processor until the command begins; the calling thread leaves that. */
void bare_use_all_processors(const struct bare *bare);

/* bare_judge.c: judges calls until the listener ends, and owns it. */
int bare_begin_judge(struct bare *bare, int listener_fd, struct err *err) must_check;

/* bare_count.c: before the judge begins, if it holds the limit on processes. */
void bare_begin_counting(struct bare *bare);

/* bare_count.c: how many processes and threads were refused. */
uint64_t bare_refused_processes(const struct bare *bare);

/* bare_told.c: are executions told? */
bool bare_tells(const struct bare *bare);

/* bare_told.c: hands over a channel for notices, if anything is told; of executions the listener, too. */
int bare_begin_telling(struct bare *bare, int listener_fd, struct err *err) must_check;
void bare_end_telling(const struct bare *bare);

/* bare_told.c: for `bawn learn`: is the supervisor told of the call? Then it comes back from this descriptor, and is to be judged. -1: nobody learns. */
bool bare_tell_path(const struct bare *bare, const struct judged_call *call);
int bare_told_fd(const struct bare *bare);
bool bare_take_told(const struct bare *bare, struct judged_call *call);

/* bare_files.c: the caller's text at this address. Returns 0 or an errno. */
int bare_read_path(const struct judged_call *call, uint64_t address, char ret_path[PATH_MAX]);

/*
 * bare_files.c: opens (O_PATH) the object of a caller's path. A link of /proc that stands for an object is not followed, since here it would be
 * another process's; only the usual spelling of a descriptor is understood. Returns a descriptor, or the negative errno.
 */
int bare_open_object(const struct judged_call *call, int directory, const char *path, bool follows);

/* bare_files.c: does the plan let files at this place be written? */
bool bare_is_written(const struct bare *bare, const char *place);

/*
 * bare_files.c: "/proc/self/fd/7/name" is "name" in the caller's directory 7, as some programs spell it. Returns the rest, and sets the directory; or the
 * whole path.
 */
const char *bare_skip_descriptor(const char *path, int *directory);

/* Each carries a judged call out, and returns 0 or its errno; or one of these. */
enum {
    BARE_CONTINUED = -1, /* the kernel is to carry it out */
    BARE_ANSWERED = -2,  /* it is answered, or will be */
};
typedef int bare_act(const struct bare *bare, const struct judged_call *call);
bare_act bare_chmod, bare_fchmod, bare_fchmodat;
bare_act bare_chown, bare_fchown, bare_fchownat;
bare_act bare_utime, bare_utimes, bare_utimensat, bare_futimesat;
bare_act bare_setxattr, bare_fsetxattr, bare_removexattr, bare_fremovexattr;
bare_act bare_rename, bare_link, bare_unlink;
bare_act bare_open, bare_ioctl, bare_setpgid, bare_clone, bare_fork, bare_execute;
bare_act bare_kill, bare_tkill, bare_tgkill, bare_pidfd_send_signal, bare_truncate;

/*
 * bare_furnish.c: opens the directory of temporary files. The lock tells a repair that this process still ends what a killed supervisor has left. It is
 * kept until nothing of that runs.
 */
int bare_hold_scratch(struct bare *bare, struct err *err) must_check;

/* bare_furnish.c: fills that directory, opens that of shared memory in it, and makes bawn's own sockets. */
int bare_furnish(struct bare *bare, struct err *err) must_check;

/* bare_devices.c: the name in that directory, if the path is one of /dev/shm; else NULL. */
const char *bare_shared_name(const struct bare *bare, const char *path);

/* bare_orphans.c, outside: what a warden that was killed has left falls to this process, and is ended. */
void bare_adopt_orphans(bool adopts);
void bare_end_orphans(void);

/* bare_init.c: never returns. The command's process waits to begin. */
_Noreturn void bare_init_run(struct bare *bare);

/* bare_init.c: does the process descend from this one? */
bool bare_is_inside(pid_t process);

/*
 * bare_init.c: signals everything that the command has started; a process group of it, unless `group` is 0; but for the process `spared`.
 * Returns how many.
 */
unsigned bare_signal_inside(pid_t group, pid_t spared, int number);

/* bare_init.c: kills all that the command has started, and waits for its end. */
void bare_end_all(struct bare *bare);

/* bare_init.c: in the command's process, in the domain of which the killer is to be: starts it, as a child of the warden. Closes the end. */
int bare_start_killer(int *killer_end, struct err *err) must_check;

/* bare_init.c: learns its number. */
int bare_meet_killer(struct bare *bare, struct err *err) must_check;
