/*
 * Protects frozen paths and decoys while a command runs: stubs, contents, pins that fall, the watch on names, the tripwires.
 *
 * Pins and names are watched only from a moment after the start, and names by inotify only a second later. Until the walls are up mounts
 * come and go, most commands end soon, and ending inotify costs the kernel milliseconds. Earlier changes are found then, or at the end.
 *
 * The host's sockets are no file that could be watched: twice a second the kernel is asked whether there are others (hold/opened.c).
 */
#pragma once

#include "hold/hold.h"
#include "kernel/unix_sockets.h"
#include "supervise/execs.h"
#include "supervise/loop.h"
#include "supervise/notices.h"
#include "supervise/pins.h"
#include "supervise/shared_look.h"
#include "supervise/tripwires.h"

/* --- watch.c --- */

/*
 * Watches for paths that must not appear: frozen and hidden paths outside git's directories that do not exist. Nothing
 * prevents their creation; they are moved into the session's folder at once, and again at the end. If a frozen path is
 * replaced, its pin is checked. This is a watch, not a wall: such a file exists for some microseconds, longer under
 * load, and about a millisecond during a flood.
 */

/* A path that is watched for, and the number of its operation. */
struct awaited {
    const char *path;
    size_t number;
};

struct watch {
    struct hold *hold;
    struct pins *pins;
    struct tripwires
        *tripwires;      /* the decoys are watched by the same instance: each costs milliseconds at its end */
    int inotify_fd;      /* -1: this user has no instance left, and there are only notices */
    bool names_are_told; /* by that instance */
    struct notices notices; /* before that. They ask for every check: they do not say what happened */
    bool is_listening;      /* to them: not for a few moments after each */
    int timer_fd; /* rings when a moment is over; -1: there is none, and each event is read by itself */
    struct timespec last; /* when events were read that asked for nothing */
    unsigned looks;       /* how many the last time, if a flood goes on; else 0 */
    unsigned looks_left;  /* at what must not appear, before its folder is watched again */
    struct loop *loop;
    VEC(int) fallen;             /* watches of frozen files whose pin once fell */
    VEC(struct awaited) awaited; /* frozen paths, and others that a mount covers */
};

/*
 * Looks at what is there already, and watches from then on: first by notices, which cost nothing to end, but do not tell names. Without
 * anything to watch for, nothing is done.
 */
int watch_begin(struct watch *watch, struct loop *loop, struct err *err) must_check;

/* From now on, by inotify, which tells the names, of decoys too. Ending that takes the kernel 10 to 20 milliseconds, for which the user waits. */
int watch_names(struct watch *watch, struct err *err) must_check;
void watch_close(struct watch *watch);

/* --- guard.c --- */

struct guard {
    struct hold hold;
    struct standstill standstill;
    struct pins pins;
    struct watch watch;
    struct tripwires tripwires;
    const struct execs *execs; /* the caller's, for the tripwires */
    struct loop *loop;
    int timer_fd;
    struct timespec began_at;     /* as the kernel dates files */
    struct socket_digest sockets; /* the host's, those in these trees too, when they were looked at last */
    struct shared_look shared_look;
    char open_trees[OPEN_TREES_SIZE];
};

/* Before the launch; `launched` is filled in afterwards. The guard must not move until its end. */
int guard_begin(struct guard *guard, const struct launch *launch, struct launched *launched,
                struct loop *loop, struct err *err) must_check;
void guard_end(struct guard *guard);

/*
 * What a person gave is shown from now on. Sockets that programs outside open in it are hidden as in other trees, and its places stay hidden or
 * read-only.
 */
int guard_give(struct guard *guard, const struct given_tree *given, const given_places *places,
               struct err *err) must_check;
