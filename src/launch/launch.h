/*
 * Carries out the operations of a plan: namespaces, a root that holds only what was granted, the lockdown, and the command.
 * Knows no policy: every decision was made with the plan.
 *
 *   start.c     outside: makes the id map and the child; describes the order of events
 *   handover.c  from outside to inside: sends the plan once it is made
 *   child.c     inside: namespaces, then the steps below in their order
 *   limits.c    outside and inside: what the sandbox may use up
 *   trees.c     inside, or outside for root: opens the host's trees that are shown
 *   root.c      inside, before the walls: assembles the root from the plan's operations
 *   overlay.c   inside, before the walls: covers a tree, so that what is written goes elsewhere
 *   decoys.c    inside, before the walls: what stands in the place of well-known secrets
 *   furnish.c   inside, before the walls: /dev, /proc, /tmp and the few files that are made for each sandbox
 *   own_network.c inside, beside the following: makes the sandbox's network
 *   ports.c     inside, before the walls: sockets of the sandbox's network that are handed out
 *   own_sockets.c inside, before the walls: sockets at which the supervisor listens to programs inside
 *   lockdown.c  inside: raises the walls, then tries a forbidden act at each and insists on the kernel's refusal
 *   handed.c    outside: takes the descriptors that process 1 hands over before the command begins
 *   repin.c     outside, and for a moment inside beside the walls: pins again what the host replaced
 *   give.c      outside, and for a moment inside beside the walls: shows a file or tree that a person gave while the command runs
 *   bare.h      the second executor, for machines without namespaces: it has the theory, and lists its files
 *   init.c      inside: process 1, which starts the command, reaps, passes signals on and outlives everything else
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/trace.h"
#include "kernel/cgroup.h"
#include "plan/amendments.h"

enum { LARGEST_LAUNCH_FILE = 4 << 20 };

/* A file that is made for the sandbox, or covers the host's. Without namespaces it lies in `scratch`. */
struct launch_file {
    const char *path;
    const char *host; /* a file of the host's, whose content comes first; or NULL */
    const char *text;
};
/* In a directory of temporary files (launch.scratch): what the command has in /dev/shm, and what bawn tells it. */
#define SCRATCH_SHARED     "shm"
#define SCRATCH_OWN        "bawn"
#define SCRATCH_GIT_CONFIG SCRATCH_OWN "/gitconfig"
#define SCRATCH_POLICY     SCRATCH_OWN "/policy.bawn"
#define SCRATCH_BRIEFING   SCRATCH_OWN "/BRIEFING.md"

struct canary;

struct launch {
    /* Known before the policy is read. */
    const char *const *command; /* ended by NULL */
    char *own_arguments;        /* those: one after the other in memory, overwritten inside */
    size_t own_arguments_size;
    int terminal_fd; /* the caller's terminal, or -1 */
    bool foreground; /* the caller has the terminal to itself: the command shall have it */
    bool own_group;  /* the command gets a process group of its own */
    bool log_exec;   /* a listener hears of every program that is executed */
    bool learns; /* a listener hears of every path that is named (kernel/path_notice.h); not with log_exec */
    const struct canary *canary; /* plan/decoys.h; NULL: the decoys have none */
    bool nested; /* the command may make namespaces; whatever it writes of the host goes to overlays */
    bool probably_no_names;     /* the plan will probably have no network but the sandbox's own */
    bool probably_host_network; /* or the host's */
    const struct cgroup_place *cgroup_place; /* as cgroup_find() has it */
    struct trace trace;
    /* Known when the plan is made. */
    const int *host_fds; /* descriptors of the caller's that a child which is started now must not keep */
    size_t host_fd_count;
    const struct operations *operations; /* the plan's; inside: those that are carried out there */
    const struct amendments *amendments; /* to them; may be NULL. Inside the operations have them already */
    const size_t *numbers;               /* inside: the number of each in the plan */
    const char *home;                    /* the directory on the host that is the private home */
    const char *scratch;                 /* without namespaces: a directory for temporary files; or NULL */
    const char *git_config;              /* added to the system's git configuration inside */
    const char *const *environment;      /* what the command gets, ended by NULL */
    const char *directory;               /* where it starts */
    const char *briefing; /* what the command can read about where it is, at BRIEFING_INSIDE; or NULL */
    const char *policy;   /* the rules that the command can ask about, at POLICY_INSIDE; or NULL */
    const struct launch_file *files; /* certificates, if secrets stay outside */
    size_t file_count;
    uint64_t seconds; /* how long the command may run; UINT64_MAX: as long as it likes */
};

/* What the child says to the supervisor, one message a change. */
enum report_kind {
    REPORT_FAILED,  /* the sandbox could not be raised, or the command not be started: `err`, `status` */
    REPORT_STOPPED, /* it was stopped by `status`, a signal */
    REPORT_SERVES,  /* without namespaces: a server listens at `status`, a port of localhost */
    REPORT_MISSED,  /* the same: no server of the run listens there, and a program looked for one */
    REPORT_TOUCHED, /* a decoy was read or listed: `status`, its index */
    REPORT_ENDED,   /* it ended: `status` as wait() has it */
};

struct report {
    enum report_kind kind;
    int status;
    bool is_by_command; /* touched: nobody but the command has ever run */
    uint64_t
        refused; /* ended, without namespaces: processes and threads over the limit that bawn itself holds */
    struct err err;
};

/*
 * What the supervisor says to process 1: first, to begin (all zero; launch_go()); then a signal for the command, and whether the
 * terminal comes with it.
 */
struct order {
    int signal;
    bool with_terminal;
};

/*
 * What process 1 hands over before the command begins: each is a letter with its descriptor, and HANDED_ALL comes last. Nothing is
 * asked of process 1 later. A command could use up what it needs to answer: this user's descriptors in flight, or its
 * share of a processor.
 */
#define HANDED_LIST(X)                                                                                       \
    X(HANDED_USER, 'u')      /* the user namespace */                                                        \
    X(HANDED_MOUNTS, 'm')    /* the mount namespace */                                                       \
    X(HANDED_DECOYS, 'd')    /* the folder that holds the decoys, O_PATH; none with full access */           \
    X(HANDED_LISTENER, 'x')  /* of executions with log_exec or guards, of paths with learns */               \
    X(HANDED_TOLD, 'e')      /* without namespaces: notices of these calls (bare_told.c) */                  \
    X(HANDED_QUESTIONS, 'q') /* the socket at QUESTIONS_INSIDE, listening, if somebody may ask there */      \
    X(HANDED_KEYS, 'k')      /* the socket at SSH_AGENT_INSIDE, listening, if a key may be used */

enum handed {
#define X(name, letter) name,
    HANDED_LIST(X)
#undef X
        HANDED_COUNT
};

#define HANDED_ALL '.'

/* Where programs inside ask for more. */
#define QUESTIONS_INSIDE "/run/bawn/ask"

/* What programs inside can read of their sandbox: a text for agents, and the rules besides the profiles. */
#define BRIEFING_INSIDE "/run/bawn/BRIEFING.md"
#define POLICY_INSIDE   "/run/bawn/policy.bawn"

struct launched {
    pid_t pid; /* of the sandbox's process 1 */
    int pid_fd;
    int report_fd;  /* read struct report from it */
    int control_fd; /* write struct order to it; closing it ends the sandbox */
    int port_fd; /* sockets of the sandbox's network come from it (kernel/ports.h); -1 where there are none */
    int inotify_fd; /* an instance that was made before the command, which may use up its user's; -1: there was none left */
    bool host_network;
    bool is_bare;           /* `pid` is a warden, without namespaces */
    bool has_ended;         /* it has reported the end of everything inside */
    bool is_reaped_by_init; /* if this process ends without having waited for it */
    bool is_kept_apart;     /* from the supervisor's processor, until the command begins */
    cpu_set_t processors;   /* that it may use from then on */
    struct cgroup cgroup;
    bool has_handed_over;     /* process 1 has sent all that it hands over: the walls are up */
    int handed[HANDED_COUNT]; /* those descriptors; -1: not there */
};

#define LAUNCHED_NONE                                                                                        \
    ((struct launched){.pid = -1,                                                                            \
                       .pid_fd = -1,                                                                         \
                       .report_fd = -1,                                                                      \
                       .control_fd = -1,                                                                     \
                       .port_fd = -1,                                                                        \
                       .inotify_fd = -1,                                                                     \
                       .cgroup = CGROUP_NONE,                                                                \
                       .handed = {-1, -1, -1, -1, -1, -1, -1}})
_Static_assert(HANDED_COUNT == 7, "LAUNCHED_NONE has a -1 for each");

/*
 * Starts the child ahead of the plan, so that it makes its namespaces while the policy is read; with `is_bare` a warden, whose copy of this
 * process's memory is small by then. The only effect on the host is a control group for the child. Where the child cannot be started
 * yet, launch_start() does it.
 */
void launch_begin(const struct launch *launch, bool is_bare, struct launched *ret_launched);

/* Sends an order to process 1 without waiting: a signal for the command, which gets the terminal's foreground with it or not.
 * False: process 1 does not take it. */
bool launch_pass_on(const struct launched *launched, int number, bool with_terminal);

/* Ends everything inside. Process 1 takes the rest with it; a warden is asked to. */
void launch_kill(const struct launched *launched);

/* Ends a child that is not wanted after all. */
void launch_abandon(struct launched *launched);

/* Lets go of a child that has ended, or is about to. `waits` until its mounts are gone, which takes milliseconds. */
void launch_release(struct launched *launched, bool waits);

/*
 * Leaves a descriptor to process 1 or a warden that has reported the end, until it is released. Whoever closes the last descriptor of a
 * removed directory waits until the kernel has freed its blocks, and for that process nobody waits. The caller keeps its own.
 */
void launch_leave(const struct launched *launched, int fd);

/* Hands the plan to the child that was started ahead; starts one where there is none. */
int launch_start(const struct launch *launch, struct launched *launched, struct err *err) must_check;

/*
 * Waits until the child that was started ahead has made its namespaces. Returns false if it says that it could not: it has ended, and
 * launch_abandon() is to be called.
 */
bool launch_has_namespaces(struct launched *launched);

/* Lets the command begin. */
int launch_go(const struct launched *launched, struct err *err) must_check;

/* How a frozen path is held. Zero: not at all. */
enum pin_state { PIN_LOST, PIN_MISSING, PIN_AGAIN, PIN_HELD };

/*
 * Takes what process 1 has handed over by now into launched->handed. Waits for all of it, or not at all. Returns 1 when all is
 * there, and 0 when some is still to come or process 1 is gone, whose report says why.
 */
int launch_take_handed(struct launched *launched, bool waits, struct err *err) must_check;

/*
 * One look at all pins, in a process of its own. It needs no descriptor that was not made before the command began, and no answer from
 * inside.
 */
struct repin {
    enum pin_state
        *states; /* one for each operation of the plan with its amendments; shared with that process */
    size_t count;
    int done_fd; /* readable when that process is done (an eventfd), or -1 */
    pid_t child; /* 0: none is under way */
};

#define REPIN_NONE ((struct repin){.done_fd = -1})

/* Makes what a look needs, for the plan with its amendments as they are now. */
int repin_open(const struct launch *launch, struct repin *ret_repin, struct err *err) must_check;
void repin_close(struct repin *repin);

/* Makes room for paths that were amended since, while no look is under way. Needs no descriptor. */
int repin_grow(const struct launch *launch, struct repin *repin, struct err *err) must_check;

/*
 * A pin falls when the host replaces the object: begins to pin again what has fallen. The sandbox's namespaces must have been
 * handed over.
 */
int repin_begin(const struct launch *launch, const struct launched *launched, struct repin *repin,
                struct err *err) must_check;

/*
 * Returns 1 where it is done: then there is a state for each operation, and those that cover nothing are PIN_HELD. 0 where it is still under
 * way, -1 where it failed.
 */
int repin_end(struct repin *repin, bool waits, struct err *err) must_check;

/*
 * Hides the paths that were amended since the plan was handed over, those from number `first` on. Before the command begins: waits until the
 * walls are up.
 */
int launch_hide_late(const struct launch *launch, struct launched *launched, size_t first, struct err *err)
    must_check;

/* A file or tree that a running sandbox gets. The first operation shows it, the others hide parts of it (plan/grant.h). */
struct give {
    const struct operations *operations;
    int pinned_fd; /* O_PATH: what a person was shown. Another file at the path is not given */
    /* Set by launch_give: */
    pid_t parent;
    bool maps_ids; /* real root's files are shown with other ids */
    int places_fd;
};

/* A place in a tree that was given. It is hidden; or git on the host obeys it, and it can only be read. */
struct given_place {
    const char *path;
    bool is_hidden;
    dev_t device; /* of the object that can only be read */
    ino_t inode;
};

typedef VEC(struct given_place) given_places;

/* A process that gives it. */
struct giving {
    pid_t child;   /* 0: none */
    int fd;        /* readable when it is done */
    int places_fd; /* has the places then */
};

#define GIVING_NONE ((struct giving){.fd = -1, .places_fd = -1})

int launch_give(const struct launch *launch, struct launched *launched, const struct give *give,
                struct giving *ret_giving, struct err *err) must_check;

/* Ends the process. Returns 0 if the file or tree is visible inside, and adds its places; else the error says why not. */
int launch_given(struct giving *giving, struct arena *arena, given_places *places, struct err *err)
    must_check;

enum { STATUS_REFUSED = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };
