#include "supervise/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "kernel/beneath.h"

/*
 * Floods: a process that makes a thousand files in a watched directory pays for each event, and more if each one wakes
 * the supervisor. So events that follow others within a moment are read together. After MANY events in a moment the
 * directory is not watched for a while; the supervisor looks for forbidden names instead, first every moment, then less
 * often, because a look blocks whoever makes files there. If the flood goes on, each such phase lasts longer: to watch
 * a directory again, the kernel visits all its files.
 */
enum {
    MOMENT_NANOSECONDS = 1000000,
    MANY = 32,
    FEWEST_LOOKS = 40,
    MOST_LOOKS = 256,
    LOOKS_OF_AN_INTERVAL = 8, /* then it is twice as long, */
    MOST_DOUBLINGS = 3,       /* up to eight moments */
    MOMENTS_BETWEEN_BLIND_LOOKS = 10,
    MOST_LOOKED_FOR = 64,
    MOST_COVERED = 256, /* hidden paths: the mounts report a replaced one anyway */
};

/*
 * Watches the directory that is there and in which the path, or the next directory on the way to it, would appear. Returns false
 * where that directory is closed to its owner, since the kernel watches only what can be read, and where this user has no watch left.
 */
static bool watch_way_to(struct watch *watch, const char *path)
{
    for (size_t size = path_parent_size(path, strlen(path)); size > 1; size = path_parent_size(path, size)) {
        char directory[PATH_LONGEST];
        snprintf(directory, sizeof(directory), "%.*s", (int)size, path);
        auto_fd int fd = open_absolute(directory, O_PATH | O_DIRECTORY);
        if (fd < 0)
            continue;
        return !watch->names_are_told
                   ? notices_watch(&watch->notices, fd)
                   : inotify_add_watch(watch->inotify_fd, fd_path(fd).text,
                                       IN_CREATE | IN_MOVED_TO | IN_MASK_ADD | IN_ONLYDIR) >= 0;
    }
    return true;
}

static void ring_in_moments(const struct watch *watch, long moments)
{
    struct itimerspec soon = {.it_value = {.tv_nsec = MOMENT_NANOSECONDS * moments}};
    timerfd_settime(watch->timer_fd, 0, &soon, NULL);
}

/* Nothing can be made in a directory while it is closed to its owner. The next look comes back to it. */
static int sweep(const struct watch *watch, struct err *err)
{
    return hold_sweep(watch->hold, err) < 0 ? -1 : 0;
}

/*
 * Watches first, then looks: what appears in between is seen. A directory that cannot be watched is looked into again and again
 * until it can be: the command may have closed it in order to open it later.
 */
static int look_again(struct watch *watch, struct err *err)
{
    bool are_watched = true;
    for (size_t i = 0; i < watch->awaited.count; i++)
        are_watched &= watch_way_to(watch, watch->awaited.at[i].path);
    if (!are_watched && watch->timer_fd >= 0) {
        watch->looks_left = 1;
        ring_in_moments(watch, MOMENTS_BETWEEN_BLIND_LOOKS);
    }
    return sweep(watch, err);
}

/*
 * Once a pin has fallen, the file is watched for writes: a process inside may have it open. Where no look at the pins stopped everything
 * inside, it may have written already: so it is compared once more. Files that stood there before are watched no longer.
 */
static void watch_fallen(void *self)
{
    struct watch *watch = self;
    for (size_t i = 0; i < watch->fallen.count; i++)
        inotify_rm_watch(watch->inotify_fd, watch->fallen.at[i]);
    watch->fallen.count = 0;
    vec_each (const struct frozen, frozen, &watch->hold->frozen) {
        auto_fd int fd = frozen->fell
                             ? open_absolute(watch->hold->plan->operations.at[frozen->operation].path, O_PATH)
                             : -1;
        int descriptor =
            fd < 0 ? -1 : inotify_add_watch(watch->inotify_fd, fd_path(fd).text, IN_MODIFY | IN_MASK_ADD);
        struct stat status;
        if (descriptor >= 0 && fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
            vec_push(&watch->fallen, descriptor);
    }
    hold_look_at_fallen(watch->hold);
}

enum meaning { NOT_AWAITED, MUST_NOT_APPEAR, IS_PINNED };

/* Is the name part of a path that is awaited? */
static enum meaning find_awaited(const struct watch *watch, const char *name)
{
    size_t size = strlen(name);
    enum meaning found = NOT_AWAITED;
    for (size_t i = 0; found != MUST_NOT_APPEAR && i < watch->awaited.count; i++) {
        const char *at = watch->awaited.at[i].path;
        while ((at = strstr(at, name))) {
            if (at[-1] == '/' && (at[size] == '/' || at[size] == '\0'))
                found = hold_operation(watch->hold, watch->awaited.at[i].number).missing ? MUST_NOT_APPEAR
                                                                                         : IS_PINNED;
            at += size;
        }
    }
    return found;
}

/* The checks that a batch of events asks for. */
struct wanted {
    bool sweep, pins, contents;
    size_t others; /* events that ask for nothing */
    int other;     /* the watch of the last of them */
};

static void read_event(const struct watch *watch, const struct inotify_event *event, struct wanted *wanted)
{
    if (tripwires_take(watch->tripwires, event))
        return;
    bool is_lost = event->mask & IN_Q_OVERFLOW;
    enum meaning awaited = event->len ? find_awaited(watch, event->name) : NOT_AWAITED;
    wanted->sweep |= is_lost || awaited == MUST_NOT_APPEAR;
    wanted->pins |= is_lost || awaited == IS_PINNED;
    wanted->contents |= is_lost || (event->mask & IN_MODIFY);
    wanted->others++;
    wanted->other = event->wd;
}

static bool read_events(const struct watch *watch, struct wanted *wanted)
{
    _Alignas(struct inotify_event) char batch[65536];
    ssize_t got = read(watch->inotify_fd, batch, sizeof(batch));
    for (const char *at = batch; got > 0 && at < batch + got;) {
        const struct inotify_event *event = (const void *)at;
        read_event(watch, event, wanted);
        at += sizeof(*event) + event->len;
    }
    tripwires_tell_rest(watch->tripwires);
    return got > 0;
}

/* Looks at whatever the events ask for. What cannot be moved aside, or comes back a thousand times, ends the run. */
static int act(struct watch *watch, const struct wanted *wanted, struct err *err)
{
    if (wanted->pins && pins_check(watch->pins, err) < 0)
        return -1;
    if (wanted->contents && pins_compare(watch->pins, err) < 0)
        return -1;
    return wanted->sweep ? look_again(watch, err) : 0;
}

static bool asks_for_nothing(const struct wanted *wanted)
{
    return !wanted->sweep && !wanted->pins && !wanted->contents;
}

static bool comes_soon_after_the_last(struct watch *watch)
{
    struct timespec now, last = watch->last;
    clock_gettime(CLOCK_MONOTONIC, &now);
    watch->last = now;
    return timespec_between(last, now) < MOMENT_NANOSECONDS;
}

static void ring_for_next_look(const struct watch *watch)
{
    unsigned doublings = (watch->looks - watch->looks_left) / LOOKS_OF_AN_INTERVAL;
    ring_in_moments(watch, 1L << (doublings < MOST_DOUBLINGS ? doublings : MOST_DOUBLINGS));
}

static int something_appeared(void *self, short events not_used, struct err *err)
{
    struct watch *watch = self;
    struct wanted wanted = {0};
    read_events(watch, &wanted);
    if (wanted.others && comes_soon_after_the_last(watch) && asks_for_nothing(&wanted) &&
        !watch->looks_left && watch->timer_fd >= 0) {
        loop_remove(watch->loop, watch->inotify_fd);
        ring_in_moments(watch, 1);
    }
    return act(watch, &wanted, err);
}

static int something_was_noticed(void *self, short events, struct err *err);

static void listen_to_notices(struct watch *watch)
{
    if (watch->notices.signal_fd >= 0 && !watch->is_listening)
        loop_add(watch->loop, watch->notices.signal_fd, POLLIN, something_was_noticed, watch);
    watch->is_listening = true;
}

/* Further notices wait for a few moments: whoever makes many files does not wake bawn for each. */
static int something_was_noticed(void *self, short events not_used, struct err *err)
{
    struct watch *watch = self;
    notices_take(&watch->notices);
    if (watch->timer_fd >= 0) {
        loop_remove(watch->loop, watch->notices.signal_fd);
        watch->is_listening = false;
        ring_in_moments(watch, MOMENTS_BETWEEN_BLIND_LOOKS);
    }
    return act(watch, &(struct wanted){.sweep = true, .pins = hold_was_replaced(watch->hold)}, err);
}

static void begin_looking(struct watch *watch, int flooded)
{
    inotify_rm_watch(watch->inotify_fd, flooded);
    watch->looks = watch->looks ? watch->looks * 2 : FEWEST_LOOKS;
    watch->looks = watch->looks < MOST_LOOKS ? watch->looks : MOST_LOOKS;
    watch->looks_left = watch->looks;
    ring_for_next_look(watch);
}

/* Watches the directory again. Inodes tell whether an object was replaced meanwhile. */
static int end_looking(struct watch *watch, struct err *err)
{
    if (hold_was_replaced(watch->hold) && pins_check(watch->pins, err) < 0)
        return -1;
    return look_again(watch, err);
}

static int moment_is_over(void *self, short events not_used, struct err *err)
{
    struct watch *watch = self;
    uint64_t expirations;
    if (read(watch->timer_fd, &expirations, sizeof(expirations)) < 0)
        return 0;
    listen_to_notices(watch);
    if (watch->looks_left) {
        if (--watch->looks_left == 0)
            return end_looking(watch, err);
        ring_for_next_look(watch);
        return sweep(watch, err);
    }
    if (!watch->names_are_told)
        return 0;
    struct wanted wanted = {0};
    read_events(watch, &wanted);
    loop_add(watch->loop, watch->inotify_fd, POLLIN, something_appeared, watch);
    if (wanted.others >= MANY && asks_for_nothing(&wanted) && watch->awaited.count <= MOST_LOOKED_FOR)
        begin_looking(watch, wanted.other);
    else
        watch->looks = 0;
    return act(watch, &wanted, err);
}

int watch_begin(struct watch *watch, struct loop *loop, struct err *err)
{
    const struct operations *planned = &watch->hold->plan->operations;
    size_t covered = 0;
    for (size_t i = 0; i < amended_count(planned, watch->hold->amendments); i++) {
        struct operation operation = hold_operation(watch->hold, i);
        if (operation.kind == OP_FREEZE ||
            (operations_cover(planned, &operation) && covered++ < MOST_COVERED))
            vec_push(&watch->awaited, (struct awaited){operation.path, i});
    }
    if (!watch->awaited.count && !tripwires_are_set(watch->tripwires))
        return 0;
    watch->inotify_fd = fd_take(&watch->pins->launched->inotify_fd);
    watch->pins->pinned_again = watch_fallen;
    watch->pins->context = watch;
    watch->loop = loop;
    watch->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (watch->timer_fd >= 0)
        loop_add(loop, watch->timer_fd, POLLIN, moment_is_over, watch);
    notices_begin(&watch->notices);
    listen_to_notices(watch);
    return look_again(watch, err);
}

int watch_names(struct watch *watch, struct err *err)
{
    if (!watch->loop)
        return 0;
    if (watch->inotify_fd < 0) {
        hold_note(watch->hold, "unwatched", "",
                  "bawn noticed only the first access to each decoy, and forbidden files in the workspace up "
                  "to 10 milliseconds later: this user has no inotify instance left (sysctl "
                  "fs.inotify.max_user_instances)");
        return 0;
    }
    watch->names_are_told = true;
    if (tripwires_are_set(watch->tripwires))
        tripwires_watch(watch->tripwires, watch->inotify_fd);
    loop_add(watch->loop, watch->inotify_fd, POLLIN, something_appeared, watch);
    int looked = look_again(watch, err);
    if (watch->notices.signal_fd >= 0)
        loop_remove(watch->loop, watch->notices.signal_fd);
    notices_end(&watch->notices);
    return looked;
}

void watch_close(struct watch *watch)
{
    /* Events that are still queued: the end of the run checks the workspace completely, but not the decoys. */
    struct wanted ignored = {0};
    while (watch->names_are_told && read_events(watch, &ignored)) {
    }
    fd_close(watch->inotify_fd);
    notices_end(&watch->notices);
    fd_close(watch->timer_fd);
    vec_free(&watch->awaited);
    vec_free(&watch->fallen);
}
