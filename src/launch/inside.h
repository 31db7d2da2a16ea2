/* What the files of this room share. Most of it runs in the child, between the clone and the command. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/arena.h"
#include "base/vec.h"
#include "kernel/process.h"
#include "launch/launch.h"
#include "plan/decoys.h"

/* decoys.c: what process 1 keeps of them. */
struct decoy_fds {
    int fd; /* of the directory that holds them all, for the supervisor; -1: there are none */
    int folder_fds[DECOY_COUNT];
    bool are_shown[DECOY_COUNT];
};

#define DECOYS_NONE ((struct decoy_fds){.fd = -1})

/* What an operation shows of the host: mounts that are not attached yet, or -1. */
struct shown {
    int tree, overlay; /* the tree, and the folder that takes what is written there */
};

/* A directory of the new root that is open. */
struct open_place {
    const char *path; /* NULL: none */
    int fd;
};

/* The root under construction. */
struct root {
    const struct launch *launch;
    struct arena arena;
    int fd;                          /* of the new root's directory */
    int empty_file, empty_directory; /* of which mounts are made, to hide things behind */
    int settings;                    /* /proc/sys of its own /proc, as long as it can be written, or -1 */
    int host_dev;                    /* the host's /dev */
    int terminal_tree;               /* a mount of the caller's terminal, or -1 */
    struct shown *shown;             /* one for each operation of the plan */
    bool ids_are_mapped;             /* the trees are real root's, opened outside */
    bool host_network;               /* names are looked up as the host does */
    const char *hosts, *resolvers;   /* the host's /etc/hosts and /etc/resolv.conf, where they count */
    const char *profile;             /* the host's /etc/profile, "" where there is none */
    const char *socket_list;         /* the host's Unix sockets, as unix_sockets.h has them */
    struct open_place open[16];      /* directories whose entries were made last */
    size_t opened;                   /* how many ever were */
    struct decoy_fds decoys;
    int decoy_trees[DECOY_COUNT];
    VEC(const char *) to_close; /* hidden directories in which something is shown */
    VEC(const char *) masked;   /* what patterns hide, found before the root is assembled */
    VEC(const char *) closed;   /* the same of folders that cannot be searched and hold what is shown */
};

/* What the child is born with. */
struct child {
    const struct launch *launch;
    const struct id_map *map;
    int report_fd, control_fd, port_fd;
    struct shown *shown; /* real root's: opened already, with mapped ids */
    bool host_network;
    int cgroup_fd;             /* the control group that it is born in, or -1 */
    struct rlimit descriptors; /* as the caller had it */
};

/* child.c: never returns. */
_Noreturn void child_run(const struct child *child);

/* handover.c, outside: sends the operations and the rest of *launch. A child that has died is no error: its report says why. */
int handover_send(const struct launch *launch, int socket_fd, struct err *err) must_check;

/* handover.c, inside: receives them into *launch, which has the fields that were known at the clone. */
int handover_receive(int socket_fd, struct arena *arena, struct launch *launch, struct err *err) must_check;

/* mask.c: fills root->masked: what patterns hide, and sockets of the host in the trees that are shown, which are open. */
int mask_find(struct root *root, struct err *err) must_check;

/* trees.c: does the operation show a tree of the host; does it bring a device of the host's in? */
bool trees_has(const struct operation *operation);
bool trees_has_device(const struct operation *operation);

/* trees.c: is it a copy that lies in a tree which is shown as it is? The host's own file must not be what is seen there. */
bool trees_has_copy(const struct launch *launch, const struct operation *operation);

/* trees.c: the host's tree for an operation, restricted and, with a user namespace, with its ids mapped. Returns its fd. */
int trees_open_one(const struct launch *launch, const struct operation *operation, int userns_fd,
                   struct err *err) must_check;

/* trees.c: opens all that the plan shows. Outside (as root, ids mapped) or inside. */
int trees_open(const struct launch *launch, int userns_fd, struct shown *shown, struct err *err) must_check;

/* root.c: an empty root with what every sandbox has: /dev, /proc, /tmp and the like. */
int root_prepare(struct root *root, struct err *err) must_check;

/* root.c: assembles the rest of it and enters it. */
int root_assemble(struct root *root, struct err *err) must_check;

/* place.c: opens (O_PATH) what is at a path of the new root; no link is followed on the way to it. */
int place_open(const struct root *root, const char *path, int flags);
int place_find(const struct root *root, const char *path); /* nor at its end */

/* place.c: a directory, made where it is missing, as all above it. The descriptor stays the root's, and is good until the next. */
int place_directory(struct root *root, const char *path, struct err *err) must_check;

/* place.c: the same of the directory that holds a path. */
int place_open_parent(struct root *root, const char *path, struct err *err) must_check;

/* place.c: shows a tree at a path, for which a place is made. */
int place_attach(struct root *root, int tree_fd, const char *path, bool is_directory, struct err *err)
    must_check;

/* place.c: shows a tree over what has the name already, a link perhaps; where nothing has, nothing is made. */
int place_attach_over_name(struct root *root, int tree_fd, const char *path, struct err *err) must_check;

/* place.c: shows a tree over what is at a place already. */
int place_attach_over(struct root *root, int tree_fd, int place_fd, const char *path, struct err *err)
    must_check;

/* place.c: shows a copy of the file that tree_fd is a mount of, where the file itself has no name any more. */
int place_attach_copy(struct root *root, int tree_fd, const char *path, struct err *err) must_check;

/* furnish.c: is what the operation shows made for each sandbox, from the host's? */
bool furnish_makes(const struct operation *operation);

/* root.c: pins the directories that would carry a frozen path away when they are renamed, outermost first. */
int root_pin_parents(struct root *root, const char *path, struct err *err) must_check;

/* overlay.c: an overlay over a tree, in its place. Returns its fd. */
int overlay_cover(struct root *root, const struct shown *shown, struct err *err) must_check;

/* overlay.c: after one that could not be made, nothing is left of it. */
int overlay_forget(struct root *root, struct err *err) must_check;

/* furnish.c: /dev, /proc and the like; then generated files. Called by root_assemble. */
void furnish_prepare(struct root *root);
int furnish_private(struct root *root, const char *path, struct err *err) must_check;
/* furnish.c: what the kernel shows to each according to where it stands: granted, it is seen from the sandbox. */
bool furnish_is_own_view(const char *path);
int furnish_own_view(struct root *root, const char *path, struct err *err) must_check;
int furnish_resize(struct root *root, struct err *err) must_check; /* as the plan has it, once there is one */
int furnish_files(struct root *root, struct err *err) must_check;

/* furnish.c: once the root is entered and the network has its settings: /proc can only be read. */
int furnish_close_proc(struct err *err) must_check;

/* decoys.c: made before the plan is known, and shown where it says so. */
int decoys_make(struct root *root, struct err *err) must_check;
int decoys_show(struct root *root, const struct operation *operation, struct err *err) must_check;

/* decoys.c: from now on this process gets a signal, once for each, when a decoy is read or listed. It must be blocked. */
#define DECOY_SIGNAL (SIGRTMIN + 8)
void decoys_arm(const struct decoy_fds *fds);

/* decoys.c: which one a signal tells of; DECOY_COUNT where it tells of none. */
size_t decoys_touched(const struct decoy_fds *fds, const struct signalfd_siginfo *information);

/* limits.c: the limit of this name that a rule sets, other than a profile's; UINT64_MAX where there is none. */
uint64_t limits_asked(const struct operations *operations, const char *name);

/* limits.c: does the plan say that a control group holds a limit? Then what it may use is set here, outside. */
bool limits_want_cgroup(const struct operations *operations);
int limits_fill_cgroup(const struct operations *operations, const struct cgroup *cgroup, struct err *err)
    must_check;

/*
 * limits.c: those that a process imposes on itself and its children. *descriptors is the limit that the caller had; then it is the
 * command's, which process 1 sets for it alone.
 */
int limits_set(const struct operations *operations, struct rlimit *descriptors, struct err *err) must_check;

/*
 * limits.c, outside, around the clone: a user namespace holds all that is in it to the soft limits of who makes it, also where the
 * kernel counts for the owner outside. They are lowered for that moment, by an eighth or less, which stays for bawn and for the user's other
 * programs: a command that starts all processes it may does not keep the supervisor from starting one.
 */
enum { LIMITS_SHARED = 4 };
void limits_leave_share(struct rlimit *ret_before);
void limits_take_share(const struct rlimit *before);

/* limits.c: those that hold for every sandbox, whatever the plan. */
int limits_set_fixed(struct err *err) must_check;

/* The sandbox's own network, while it is made. */
struct own_network {
    pthread_t thread;
    bool has_all_addresses;
    int result, fd;
    struct err err;
};

/* own_network.c: adds the hint to an error of a machine that allows no namespaces. Returns -1. */
int explain_namespaces(struct err *err);

/* own_network.c: begins to make it. `all_addresses`: names will probably be looked up in it. */
int own_network_begin(struct own_network *network, bool all_addresses, struct err *err) must_check;

/* own_network.c: waits for it and enters it, as the plan wants it to be. */
int own_network_enter(struct own_network *network, const struct root *root, struct err *err) must_check;

/* ports.c: which network the plan wants. */
bool ports_host_network(const struct operations *operations);
bool ports_by_name(const struct operations *operations);

/* ports.c: hands out the sockets that stand from the beginning. */
int ports_hand_out(const struct operations *operations, int channel_fd, struct err *err) must_check;

/* lockdown.c */
int lockdown(const struct launch *launch, int *ret_listener_fd, struct err *err) must_check;

/* init.c: never returns. */
struct kept {
    struct decoy_fds decoys;
    struct rlimit descriptors; /* for the command: process 1 itself keeps more (limits.c) */
    struct arena arena;        /* the plan, the command's words and variables: until it is started */
};
_Noreturn void init_run(const struct launch *launch, int report_fd, int control_fd, int port_fd,
                        struct kept *kept);
