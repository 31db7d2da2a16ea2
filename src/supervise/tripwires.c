#include "supervise/tripwires.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "kernel/holder.h"

/* Every touch is counted; so many are written down for each file, and so often it is looked for who did it. */
enum { MOST_RECORDS_EACH = 3, MOST_SEARCHES = 16 };

void tripwires_set(struct tripwires *tripwires, const struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        size_t decoy = operation->kind == OP_DECOY ? decoy_find(operation->name) : DECOY_COUNT;
        if (decoy < DECOY_COUNT)
            tripwires->paths[decoy] = operation->path;
    }
}

bool tripwires_are_set(const struct tripwires *tripwires)
{
    for (size_t i = 0; i < DECOY_COUNT; i++) {
        if (tripwires->paths[i])
            return true;
    }
    return false;
}

static struct fired *find_fired(struct tripwires *tripwires, const char *path)
{
    for (size_t i = 0; i < tripwires->fired.count; i++) {
        if (strcmp(tripwires->fired.at[i].path, path) == 0)
            return &tripwires->fired.at[i];
    }
    vec_push(&tripwires->fired, (struct fired){.path = path});
    return &tripwires->fired.at[tripwires->fired.count - 1];
}

/* What a process that has it open was started with; NULL where none is seen any more: most are quick. */
static const char *find_process(struct tripwires *tripwires, const char *path)
{
    struct holder holder;
    char command[300];
    if (++tripwires->searches > MOST_SEARCHES || !holder_find_open(tripwires->launched->pid, path, &holder) ||
        !holder_read_command(&holder, command, sizeof(command)))
        return NULL;
    return arena_str(tripwires->arena, command);
}

static void fire(struct tripwires *tripwires, const char *path)
{
    struct fired *fired = find_fired(tripwires, path);
    if (++fired->times > MOST_RECORDS_EACH)
        return;
    const char *process = find_process(tripwires, path);
    if (process) {
        fired->process = process;
        journal_event(tripwires->journal, "tripwire", "path", path, "process", process);
    } else {
        journal_event(tripwires->journal, "tripwire", "path", path);
    }
    if (fired->times == 1 && tripwires->tell)
        tripwires->tell(tripwires->context, fired);
}

static bool has_fired_in(const struct tripwires *tripwires, const char *place)
{
    for (size_t i = 0; i < tripwires->fired.count; i++) {
        if (path_is_beneath(tripwires->fired.at[i].path, place))
            return true;
    }
    return false;
}

void tripwires_settle(struct tripwires *tripwires)
{
    for (size_t i = 0; i < DECOY_COUNT; i++) {
        if (tripwires->was_touched[i] && !has_fired_in(tripwires, tripwires->paths[i]))
            fire(tripwires, tripwires->paths[i]);
        tripwires->was_touched[i] = false;
    }
}

void tripwires_touched(struct tripwires *tripwires, size_t decoy)
{
    if (decoy >= DECOY_COUNT || !tripwires->paths[decoy])
        return;
    tripwires->was_touched[decoy] = true;
    struct pollfd ready = {.fd = tripwires->fd >= 0 ? tripwires->inotify_fd : -1, .events = POLLIN};
    if (poll(&ready, 1, 0) == 0)
        tripwires_settle(tripwires);
}

void tripwires_watch(struct tripwires *tripwires, int inotify_fd)
{
    struct err ignored; /* without this watch process 1 still tells of the first time */
    tripwires->fd = launch_open_decoys(tripwires->launched, &ignored);
    tripwires->inotify_fd = inotify_fd;
    for (size_t i = 0; i < DECOY_COUNT; i++) {
        char path[128];
        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", tripwires->fd, decoys[i].name);
        tripwires->watches[i] = tripwires->fd < 0 || !tripwires->paths[i]
                                    ? -1
                                    : inotify_add_watch(inotify_fd, path, IN_OPEN | IN_ONLYDIR);
    }
}

bool tripwires_take(struct tripwires *tripwires, const struct inotify_event *event)
{
    size_t i = 0;
    while (i < DECOY_COUNT && !(tripwires->fd >= 0 && tripwires->watches[i] == event->wd))
        i++;
    if (i == DECOY_COUNT)
        return false;
    const struct decoy_file *file = event->len ? decoy_file(&decoys[i], event->name) : NULL;
    if (event->mask & IN_OPEN && (!event->len || (file && !file->is_empty)))
        fire(tripwires,
             file ? path_join(tripwires->arena, tripwires->paths[i], file->name) : tripwires->paths[i]);
    return true;
}

void tripwires_free(struct tripwires *tripwires)
{
    if (tripwires->fd >= 0)
        close(tripwires->fd);
    tripwires->fd = -1;
    vec_free(&tripwires->fired);
}
