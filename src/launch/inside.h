/* Shared by the files of this room. Most of it runs in the child, between the clone and the command. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/arena.h"
#include "base/vec.h"
#include "kernel/process.h"
#include "launch/launch.h"
#include "plan/decoys.h"

/* decoys.c: descriptors that process 1 keeps open. */
struct decoy_fds {
    int fd; /* the directory of all decoys, for the supervisor; -1: none */
    int folder_fds[DECOY_COUNT];
    bool are_shown[DECOY_COUNT];
};

#define DECOYS_NONE ((struct decoy_fds){.fd = -1})

/* The host's trees of an operation: mounts that are not attached yet, or -1. */
struct shown {
    int tree, overlay; /* the tree, and the folder for the overlay's upper layer */
};

/* An open directory of the new root. */
struct open_place {
    const char *path; /* NULL: none */
    int fd;
};

/* The root under construction. */
struct root {
    const struct launch *launch;
    struct arena arena;
    int fd;                          /* of the new root's directory */
    int empty_file, empty_directory; /* mounted over hidden paths */
    int settings;                    /* /proc/sys of its own /proc while it is writable, or -1 */
    int host_dev;                    /* the host's /dev */
    int terminal_tree;               /* a mount of the caller's terminal, or -1 */
    struct shown *shown;             /* one for each operation of the plan */
    bool ids_are_mapped;             /* the trees are real root's, opened outside */
    bool host_network;               /* names are looked up as on the host */
    const char *hosts, *resolvers;   /* the host's /etc/hosts and /etc/resolv.conf, if used */
    const char *profile;             /* the host's /etc/profile, or "" */
    const char *socket_list;         /* the host's Unix sockets, see unix_sockets.h */
    struct open_place open[16];      /* the directories opened last */
    size_t opened;                   /* how many were opened so far */
    struct decoy_fds decoys;
    int decoy_trees[DECOY_COUNT];
    VEC(const char *) to_close; /* hidden directories that contain a shown path */
    VEC(const char *) masked;   /* paths that patterns hide, found before the root is assembled */
    VEC(const char *) closed; /* the same for directories that cannot be searched and contain a shown path */
};

/* What the child gets at the clone. */
struct child {
    const struct launch *launch;
    void (*run)(const struct child *child); /* never returns */
    uint64_t namespaces;                    /* CLONE_NEW… flags */
    const struct id_map *map;
    int report_fd, control_fd, port_fd;
    struct shown *shown; /* real root's trees, already opened with mapped ids */
    bool host_network;
    int cgroup_fd;             /* the child's control group, or -1 */
    struct rlimit descriptors; /* the caller's limit */
    bool may_be_kept_apart;    /* from the supervisor's processor, until the command begins */
    cpu_set_t processors;      /* that the command may use then */
};

/* streams.c, outside: refuses standard streams by which the command could write what it must not. */
int streams_check(const struct operations *operations, struct err *err) must_check;

/* start.c: makes a user namespace for its id map alone, which mounts take. Returns its descriptor. */
int map_namespace_open(const struct id_map *map, struct err *err) must_check;

/* child.c: never returns. */
_Noreturn void child_run(const struct child *child);

/* own_sockets.c: a socket at which the supervisor listens to programs inside. `path` is its name for them. */
struct own_socket {
    const char *path;
    int type;
    char letter; /* of HANDED_LIST */
};
enum { OWN_SOCKETS = 2 };
extern const struct own_socket own_sockets[OWN_SOCKETS];

/* own_sockets.c: does the sandbox have this socket? */
bool own_socket_is_wanted(const struct launch *launch, const struct own_socket *own);

/* own_sockets.c: hands a descriptor over and closes it here. */
int hand_over(int control_fd, char letter, int fd, struct err *err) must_check;

/* own_sockets.c: makes the socket at this path, listening, and hands it over. */
int hand_over_socket(int control_fd, const struct own_socket *own, const char *path, struct err *err)
    must_check;

/* handover.c, outside: sends the operations and the rest of *launch. A dead child is no error: its report says why. */
int handover_send(const struct launch *launch, int socket_fd, struct err *err) must_check;

/* handover.c, inside: receives them into *launch, which already has the fields known at the clone. */
int handover_receive(int socket_fd, struct arena *arena, struct launch *launch, struct err *err) must_check;

/* mask.c: fills root->masked: paths that patterns hide, and sockets of the host in the shown trees. */
int mask_find(struct root *root, struct err *err) must_check;

/* trees.c: does the operation show a tree of the host; does it show a device? */
bool trees_has(const struct operation *operation);
bool trees_has_device(const struct operation *operation);

/* trees.c: is it a copy over a path in a tree that is shown as it is? The host's own file must not be visible there. */
bool trees_has_copy(const struct launch *launch, const struct operation *operation);

/* trees.c: opens the host's tree for an operation, restricted and, with a user namespace, with mapped ids. Returns its fd. */
int trees_open_one(const struct launch *launch, const struct operation *operation, int userns_fd,
                   struct err *err) must_check;

/* trees.c: opens all trees of the plan. Outside (as root, ids mapped) or inside. */
int trees_open(const struct launch *launch, int userns_fd, struct shown *shown, struct err *err) must_check;

/* root.c: makes an empty root with the parts of every sandbox: /dev, /proc, /tmp and the like. */
int root_prepare(struct root *root, struct err *err) must_check;

/* root.c: assembles the rest and enters the root. */
int root_assemble(struct root *root, struct err *err) must_check;

/* place.c: opens (O_PATH) a path of the new root; no symlink is followed on the way. */
int place_open(const struct root *root, const char *path, int flags);
int place_find(const struct root *root, const char *path); /* nor at its end */

/* place.c: opens a directory, and makes it and its parents if missing. The root owns the descriptor until the next call. */
int place_directory(struct root *root, const char *path, struct err *err) must_check;

/* place.c: the same for the parent of a path. */
int place_open_parent(struct root *root, const char *path, struct err *err) must_check;

/* place.c: attaches a tree at a path, which is made. */
int place_attach(struct root *root, int tree_fd, const char *path, bool is_directory, struct err *err)
    must_check;

/* place.c: attaches a tree over an existing name, perhaps a symlink; makes nothing if the name is missing. */
int place_attach_over_name(struct root *root, int tree_fd, const char *path, struct err *err) must_check;

/* place.c: attaches a tree over an existing place. */
int place_attach_over(struct root *root, int tree_fd, int place_fd, const char *path, struct err *err)
    must_check;

/* place.c: copies a regular file of at most so many bytes, without reading it into memory. The path is for the error. */
int place_copy(int from_fd, int to_fd, off_t largest, const char *path, struct err *err) must_check;

/* place.c: shows a copy of the file that tree_fd is a mount of, if the file has no name any more. */
int place_attach_copy(struct root *root, int tree_fd, const char *path, struct err *err) must_check;

/* furnish.c: does the operation show a file that is made for each sandbox from the host's? */
bool furnish_makes(const struct operation *operation);

/* root.c: pins the parent directories of a frozen path, outermost first, so that none can be renamed. */
int root_pin_parents(struct root *root, const char *path, struct err *err) must_check;

/*
 * root.c: the same for what is hidden, read-only or covered by a copy, if it lies in a tree that may be written: otherwise something else could be
 * put there, once a directory above it is renamed. Matches of patterns are too many for that.
 */
int root_pin_way(struct root *root, const char *path, struct err *err) must_check;

/* repin.c: opens the empty file or directory that covers a hidden place while the command runs. Returns its fd. */
int cover_open(const struct root *root, int place_fd, struct err *err) must_check;

/* overlay.c: makes an overlay over a tree, in its place. Returns its fd. */
int overlay_cover(struct root *root, const struct shown *shown, struct err *err) must_check;

/* overlay.c: removes the rest of an overlay that could not be made. */
int overlay_forget(struct root *root, struct err *err) must_check;

/* furnish.c: makes /dev, /proc and the like; then generated files. Called by root_assemble. */
void furnish_prepare(struct root *root);
int furnish_private(struct root *root, const char *path, struct err *err) must_check;
/* furnish.c: does the kernel show the path differently to each process? If granted, the sandbox sees its own view. */
bool furnish_is_own_view(const char *path);
int furnish_own_view(struct root *root, const char *path, struct err *err) must_check;
int furnish_resize(struct root *root, struct err *err) must_check; /* as in the plan */
int furnish_files(struct root *root, struct err *err) must_check;

/* furnish.c: once the root is entered and the network has its settings: /proc can only be read. */
int furnish_close_proc(struct err *err) must_check;

/* decoys.c: makes the decoys before the plan is known, and shows them where the plan says. */
int decoys_make(struct root *root, struct err *err) must_check;
int decoys_show(struct root *root, const struct operation *operation, struct err *err) must_check;

/* decoys.c: sends this process a signal, once for each decoy, when it is read or listed. The signal must be blocked. */
#define DECOY_SIGNAL (SIGRTMIN + 8)
void decoys_arm(const struct decoy_fds *fds);

/* decoys.c: the decoy of a signal; DECOY_COUNT: none. */
size_t decoys_touched(const struct decoy_fds *fds, const struct signalfd_siginfo *information);

/* limits.c: the limit of this name from a rule that is not a profile's; UINT64_MAX: none. */
uint64_t limits_asked(const struct operations *operations, const char *name);

/* The limit on processes, where the judge holds it (bare_count.c); else UINT64_MAX. */
uint64_t limits_judged(const struct operations *operations);

/* limits.c: does a control group enforce a limit of the plan? Then it is set here, outside. */
bool limits_want_cgroup(const struct operations *operations);
int limits_fill_cgroup(const struct operations *operations, const struct cgroup *cgroup, struct err *err)
    must_check;

/*
 * limits.c: those that a process imposes on itself and its children. *descriptors is the limit that the caller had; then it is the
 * command's, which process 1 sets for it alone.
 */
int limits_set(const struct operations *operations, struct rlimit *descriptors, struct err *err) must_check;

/*
 * limits.c, outside, around the clone. A user namespace inherits the soft limits of the process that makes it, and the kernel counts
 * what is used inside for the owner outside as well. So the limits are lowered for that moment, by an eighth or less. That share stays for
 * bawn and for the user's other programs: a command that starts all processes it may does not keep the supervisor from starting one.
 */
enum { LIMITS_SHARED = 4 };
void limits_leave_share(struct rlimit *ret_before);
void limits_take_share(const struct rlimit *before);

/* limits.c: sets the limits of every sandbox, whatever the plan. */
int limits_set_fixed(struct err *err) must_check;

/* The sandbox's own network while it is made. */
struct own_network {
    pthread_t thread;
    bool has_all_addresses;
    int result, fd;
    struct err err;
};

/* own_network.c: adds the hint for a machine that allows no namespaces. Returns -1. */
int explain_namespaces(struct err *err);

/* own_network.c: begins to make it. `all_addresses`: names will probably be looked up in it. */
int own_network_begin(struct own_network *network, bool all_addresses, struct err *err) must_check;

/* own_network.c: waits for it and enters it, as the plan says. */
int own_network_enter(struct own_network *network, const struct root *root, struct err *err) must_check;

/* ports.c: does the plan use the host's network? */
bool ports_host_network(const struct operations *operations);
bool ports_by_name(const struct operations *operations);

/* ports.c: sends the sockets that exist from the beginning. */
int ports_hand_out(const struct operations *operations, int channel_fd, struct err *err) must_check;

/* lockdown.c */
int lockdown(const struct launch *launch, int *ret_listener_fd, struct err *err) must_check;

/* init.c: fills in why the command could not be executed. */
void report_not_executed(const struct launch *launch, int errnum, struct report *report);

/* init.c: never returns. */
struct kept {
    struct decoy_fds decoys;
    struct rlimit descriptors; /* for the command: process 1 itself keeps more (limits.c) */
    struct arena arena;        /* the plan, the command's words and variables: until it is started */
};
_Noreturn void init_run(const struct launch *launch, int report_fd, int control_fd, int port_fd,
                        struct kept *kept);
