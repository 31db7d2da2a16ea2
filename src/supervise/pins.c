#include "supervise/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/map.h"
#include "base/timespec.h"
#include "kernel/mounts.h"

/*
 * A look at the pins is a process of its own (launch/repin.c), and the loop goes on meanwhile. States:
 *
 *   HELD     all pins hold, as far as is known
 *   LOOKING  that process is under way; `is_wanted_again` if something happened since it began
 *   WAITING  a pin is down and could not be made again: the next look follows when the timer rings
 *
 * From the moment at which a pin is known to be down, everything inside stands still, until all pins hold: the file is also compared and
 * restored before anything goes on. A pin that is not made again within a second is reported as lost. Everything stands still
 * for nine seconds more, for a host that is busy or replaces the object again and again; then the run is ended.
 */
enum { RETRY_MILLISECONDS = 20, SECONDS_TO_SAY = 1, SECONDS_TO_END = 10, MOST_WAITS = 5 };

static void ring_soon(const struct pins *pins)
{
    struct itimerspec soon = {.it_value = {.tv_nsec = RETRY_MILLISECONDS * 1000000L}};
    timerfd_settime(pins->timer_fd, 0, &soon, NULL);
}

static void say_lost(struct pins *pins, const struct operation *operation)
{
    hold_note(pins->hold, "pin-lost", operation->path,
              arena_printf(
                  pins->hold->arena,
                  "%s was replaced or removed from outside while the command ran, and could not be %s again",
                  operation->path,
                  operation->kind == OP_FREEZE ? "frozen"
                  : operation->kind == OP_HIDE ? "hidden"
                                               : "made read-only"));
}

static bool is_down_for(const struct pins *pins, int seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return pins->is_down && timespec_between(pins->fell, now) >= seconds * INT64_C(1000000000);
}

/* Returns whether every pin holds. A path that is gone gets a stub at the second look: the host may be about to make it. */
static bool take_stock(struct pins *pins)
{
    bool is_whole = true, any_again = false, shall_say = !pins->is_said && is_down_for(pins, SECONDS_TO_SAY);
    for (size_t i = 0; i < pins->repin.count; i++) {
        struct operation operation = hold_operation(pins->hold, i);
        enum pin_state state = pins->repin.states[i];
        bool is_frozen = operation.kind == OP_FREEZE, is_gone = state == PIN_MISSING;
        any_again |= state == PIN_AGAIN;
        if (state == PIN_AGAIN && !hold_opened_is_hidden(pins->hold, i))
            hold_fell(pins->hold, i);
        if (state != PIN_LOST && !(is_gone && is_frozen))
            continue; /* a hidden or read-only path that is gone shows nothing; the watch reports when it comes back */
        is_whole = false;
        if (!is_gone && pins->tries > 0)
            hold_cannot_pin(pins->hold, i);
        if (is_gone && pins->tries > 0)
            hold_stand_in(pins->hold, i);
        if (shall_say)
            say_lost(pins, &operation);
        pins->is_said |= shall_say;
    }
    if (any_again && pins->pinned_again)
        pins->pinned_again(pins->context);
    pins->tries = is_whole ? 0 : pins->tries + 1;
    return is_whole;
}

/* A pin is down, or may be: nothing inside goes on until all of them hold. */
static void stand_still(struct pins *pins)
{
    if (pins->is_down)
        return;
    clock_gettime(CLOCK_MONOTONIC, &pins->fell);
    pins->is_down = true;
    standstill_begin(
        pins->standstill); /* where it is not reached, the pin is made again all the same, or the run ends */
}

static void go_on(struct pins *pins)
{
    if (pins->is_down)
        standstill_end(pins->standstill);
    pins->is_down = pins->is_said = false;
}

/* No look was possible: which pins have fallen is not known. */
static void say_unreachable(struct pins *pins, const struct err *why)
{
    if (pins->is_said || !is_down_for(pins, SECONDS_TO_SAY))
        return;
    hold_note(
        pins->hold, "pin-lost", "",
        arena_printf(pins->hold->arena,
                     "files that were replaced from outside during the run could not be protected again "
                     "within a second (%s); nothing ran inside meanwhile",
                     why->message));
    pins->is_said = true;
}

/* A pin is down: the next look follows soon, or the run is ended. */
static int wait_or_end(struct pins *pins, struct err *err)
{
    stand_still(pins);
    ring_soon(pins);
    if (!is_down_for(pins, SECONDS_TO_END))
        return 0;
    return err_set(err,
                   "files that were replaced from outside during the run could not be protected again, so "
                   "bawn ended the run");
}

static int look(struct pins *pins, struct err *err)
{
    struct err why = {0};
    if (pins->repin.child > 0) {
        pins->is_wanted_again = true;
        return 0;
    }
    pins->is_wanted_again = false;
    ring_soon(pins); /* the child may die without a word */
    if (repin_grow(pins->launch, &pins->repin, &why) == 0 &&
        repin_begin(pins->launch, pins->launched, &pins->repin, &why) == 0)
        return 0;
    say_unreachable(pins, &why);
    return wait_or_end(pins, err);
}

/*
 * All pins hold, and there is something to decide about. While the host goes on changing it, that waits for a few moments: the file is then exchanged
 * while nobody changes it. Nothing inside runs until it is decided.
 */
static bool is_being_changed(struct pins *pins)
{
    bool is_changing;
    if (!hold_is_due(pins->hold, &is_changing)) {
        pins->waits = 0;
        return false;
    }
    stand_still(pins);
    pins->waits = is_changing && pins->waits < MOST_WAITS ? pins->waits + 1 : 0;
    return pins->waits;
}

/* Takes the result of a look, if there is one by now. */
static int take_result(struct pins *pins, struct err *err)
{
    struct err why = {.message = "the file system does not answer"};
    int result = repin_end(&pins->repin, false, &why);
    if (result > 0 && take_stock(pins)) {
        if (pins->is_down) /* it holds again: what follows may go on as long as the host changes the file */
            clock_gettime(CLOCK_MONOTONIC, &pins->fell);
        if (is_being_changed(pins)) {
            ring_soon(pins);
            return 0;
        }
        hold_decide_due(pins->hold);
        bool has_put = pins->hold->has_put; /* what bawn put there is pinned, too, before anything goes on */
        pins->hold->has_put = false;
        if (pins->is_wanted_again || has_put)
            return look(pins, err);
        go_on(pins);
        return 0;
    }
    if (result <= 0)
        say_unreachable(pins, &why);
    return wait_or_end(pins, err);
}

bool pins_can_hide(const struct pins *pins)
{
    return pins->mountinfo_fd >= 0;
}

int pins_check(struct pins *pins, struct err *err)
{
    if (pins->launch->operations->on == ON_LANDLOCK)
        return hold_lower_again(pins->hold, err);
    return pins_can_hide(pins) ? look(pins, err) : 0;
}

int pins_compare(struct pins *pins, struct err *err)
{
    if (!pins_can_hide(pins)) {
        hold_look_at_fallen(pins->hold);
        return 0;
    }
    stand_still(pins);
    hold_look_at_fallen(pins->hold);
    return look(pins, err);
}

int pins_add_settings(struct pins *pins, size_t addition, struct err *ret_why)
{
    if (!pins_can_hide(pins))
        return hold_add_settings(pins->hold, addition, ret_why);
    stand_still(pins);
    int result = hold_add_settings(pins->hold, addition, ret_why);
    struct err ignored; /* the run does not end for it: the timer rings, and then it does */
    return look(pins, &ignored) < 0 ? -1 : result;
}

/* The kernel has taken a mount away: a pin is down. It is made again while everything inside is being stopped. */
static int mounts_changed(void *self, short events, struct err *err)
{
    struct pins *pins = self;
    if (!(events & (POLLPRI | POLLERR)))
        return 0;
    int result = look(pins, err);
    stand_still(pins);
    return result;
}

static int look_is_done(void *self, short events not_used, struct err *err)
{
    struct pins *pins = self;
    uint64_t count;
    return read(pins->repin.done_fd, &count, sizeof(count)) > 0 && pins->repin.child > 0
               ? take_result(pins, err)
               : 0;
}

static int time_is_over(void *self, short events not_used, struct err *err)
{
    struct pins *pins = self;
    uint64_t expirations;
    if (read(pins->timer_fd, &expirations, sizeof(expirations)) < 0)
        return 0;
    if (pins->repin.child > 0)
        return take_result(pins, err);
    return pins->is_down || pins->is_wanted_again ? look(pins, err) : 0;
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

static int note_unwatched(struct pins *pins, const char *what)
{
    hold_note(pins->hold, "pins-unwatched", what,
              "if a program outside replaces a frozen path during this run, bawn notices only at the "
              "end: the sandbox's mounts cannot be watched");
    return 0;
}

int pins_begin(struct pins *pins, struct loop *loop, struct err *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", pins->launched->pid);
    pins->mountinfo_fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_over =
        pins->mountinfo_fd < 0 && errno != EMFILE && errno != ENFILE && errno != EACCES && errno != EPERM;
    if (is_over)
        return 0; /* the command has just ended, and process 1 with it */
    pins->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (pins->mountinfo_fd < 0 || pins->timer_fd < 0)
        return note_unwatched(pins, path);
    bool has_fallen = take_in_mounts(pins);
    struct err ignored;
    if (repin_open(pins->launch, &pins->repin, &ignored) < 0) {
        close(pins->mountinfo_fd);
        pins->mountinfo_fd = -1;
        return note_unwatched(pins, path);
    }
    loop_add(loop, pins->mountinfo_fd, POLLPRI, mounts_changed, pins);
    loop_add(loop, pins->timer_fd, POLLIN, time_is_over, pins);
    loop_add(loop, pins->repin.done_fd, POLLIN, look_is_done, pins);
    return has_fallen ? look(pins, err) : 0;
}

void pins_close(struct pins *pins)
{
    if (!pins->launched)
        return; /* nothing was opened */
    repin_close(&pins->repin);
    fd_close(pins->mountinfo_fd);
    fd_close(pins->timer_fd);
}
