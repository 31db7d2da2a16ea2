#include "supervise/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/map.h"
#include "kernel/mounts.h"

enum { RETRY_MILLISECONDS = 20, MOST_RETRIES = 50 };

static void retry_soon(const struct pins *pins)
{
    struct itimerspec soon = {.it_value = {.tv_nsec = RETRY_MILLISECONDS * 1000000L}};
    timerfd_settime(pins->timer_fd, 0, &soon, NULL);
}

static void say_lost(struct pins *pins, const struct operation *operation)
{
    hold_note(pins->hold, "pin-lost", operation->path,
              arena_printf(pins->hold->arena,
                           "%s was replaced or removed on the host while the command ran, and could not be "
                           "%s again",
                           operation->path,
                           operation->kind == OP_FREEZE ? "frozen"
                           : operation->kind == OP_HIDE ? "hidden"
                                                        : "made read-only"));
}

/* Returns whether every pin holds or no further try follows. A path that is gone and gets no stub is reported. */
static bool take_stock(struct pins *pins)
{
    bool is_whole = true;
    bool is_last = pins->retries + 1 >= MOST_RETRIES;
    for (size_t i = 0; i < amended_count(&pins->hold->plan->operations, pins->hold->amendments); i++) {
        struct operation operation = hold_operation(pins->hold, i);
        bool is_frozen = operation.kind == OP_FREEZE, is_gone = pins->states[i] == PIN_MISSING;
        if (pins->states[i] == PIN_AGAIN)
            hold_fell(pins->hold, i);
        if (pins->states[i] != PIN_LOST && !(is_gone && is_frozen))
            continue; /* a hidden or read-only path that is gone shows nothing; the watch reports when it comes back */
        is_whole = false;
        if (is_gone && pins->retries > 0)
            hold_stand_in(pins->hold, i);
        if (is_last)
            say_lost(pins, &operation);
    }
    return is_whole || is_last;
}

/* Which pins have fallen is unknown: the mount table could not be read completely. */
static void give_up(struct pins *pins, const struct err *err)
{
    hold_note(
        pins->hold, "pin-lost", "",
        arena_printf(pins->hold->arena,
                     "what the host replaced while the command ran could not be pinned again, because %s: "
                     "frozen paths are compared at the end, and what is hidden may have been seen",
                     err->message));
}

static void pin_again(struct pins *pins)
{
    struct err err = {0};
    bool is_in_reach = launch_repin(pins->launch, pins->launched, pins->states, &err) == 0;
    bool is_done = is_in_reach && take_stock(pins);
    if (!is_in_reach && pins->retries + 1 >= MOST_RETRIES) {
        give_up(pins, &err);
        is_done = true;
    }
    pins->retries = is_done ? 0 : pins->retries + 1;
    if (!is_done)
        retry_soon(pins);
}

void pins_check(struct pins *pins)
{
    if (pins->mountinfo_fd >= 0)
        pin_again(pins);
}

static int mounts_changed(void *self, short events, struct err *err not_used)
{
    struct pins *pins = self;
    if (events & (POLLPRI | POLLERR))
        pin_again(pins);
    return 0;
}

static int time_is_over(void *self, short events not_used, struct err *err not_used)
{
    struct pins *pins = self;
    uint64_t expirations;
    if (read(pins->timer_fd, &expirations, sizeof(expirations)) > 0)
        pin_again(pins);
    return 0;
}

/* Is this what launch/root.c mounts over hidden paths: a file without a name, or the directory that /proc covers? */
static bool is_nothing(const char *top, const char *rest)
{
    return strcmp(top, "/.empty//deleted") == 0 || (strcmp(top, "/proc") == 0 && strstr(rest, " - tmpfs "));
}

static bool has_pattern(const struct operations *planned)
{
    for (size_t i = 0; i < planned->count; i++) {
        if (planned->at[i].kind == OP_HIDE && planned->at[i].is_pattern)
            return true;
    }
    return false;
}

/*
 * Reads the sandbox's mount table. Process 1 found the paths that patterns hide, and only this table names them: each
 * becomes an amendment. Returns whether a cover fell before the watch began.
 */
static bool take_in_mounts(struct pins *pins)
{
    enum { LARGEST = 16 * 1024 * 1024 };
    const struct operations *planned = &pins->hold->plan->operations;
    struct amendments *amendments = pins->hold->amendments;
    size_t known = amended_count(planned, amendments);
    bool is_searched = has_pattern(planned);
    struct arena arena = {0};
    struct map points = {0};
    auto_buf struct buf table = {0};
    bool has_fallen = buf_read(&table, pins->mountinfo_fd, LARGEST) < 0;
    for (char *rest = arena_str(&arena, buf_text(&table)), *line; (line = strsep(&rest, "\n"));) {
        const char *top = NULL, *point = NULL;
        for (int field = 1; field <= 5 && line; field++) {
            const char *word = strsep(&line, " ");
            top = field == 4 ? word : top;
            point = field == 5 ? word : point;
        }
        if (!line)
            continue;
        char *path = arena_str(&arena, point);
        mount_unescape(path);
        *map_at(&points, path, strlen(path)) = &points;
        if (is_searched &&
            is_nothing(top, line)) /* twice where a rule names it, and then held at the second look */
            amend_hide(amendments, arena_str(pins->hold->arena, path));
    }
    for (size_t i = 0; !has_fallen && i < known; i++) {
        struct operation operation = hold_operation(pins->hold, i);
        has_fallen = operations_cover(planned, &operation) &&
                     !map_get(&points, operation.path, strlen(operation.path));
    }
    map_free(&points);
    arena_free(&arena);
    return has_fallen;
}

void pins_begin(struct pins *pins, struct loop *loop)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", pins->launched->pid);
    pins->mountinfo_fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_over =
        pins->mountinfo_fd < 0 && errno != EMFILE && errno != ENFILE && errno != EACCES && errno != EPERM;
    if (is_over)
        return; /* the command has just ended, and process 1 with it */
    pins->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (pins->mountinfo_fd < 0 || pins->timer_fd < 0) {
        hold_note(
            pins->hold, "pins-unwatched", path,
            "frozen paths that the host replaces during this run are noticed at its end only: the sandbox's "
            "mounts cannot be watched");
        return;
    }
    bool has_fallen = take_in_mounts(pins);
    pins->states =
        arena_alloc(pins->hold->arena, amended_count(&pins->hold->plan->operations, pins->hold->amendments) *
                                           sizeof(*pins->states));
    loop_add(loop, pins->mountinfo_fd, POLLPRI, mounts_changed, pins);
    loop_add(loop, pins->timer_fd, POLLIN, time_is_over, pins);
    if (has_fallen)
        pin_again(pins);
}

void pins_close(struct pins *pins)
{
    if (!pins->launched)
        return; /* nothing was opened */
    /* At once: the process that closes the mount namespace last waits until the kernel has taken it down. */
    launch_forget_namespaces(pins->launched);
    fd_close(pins->mountinfo_fd);
    fd_close(pins->timer_fd);
}
