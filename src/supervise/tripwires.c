#include "supervise/tripwires.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/unix_sockets.h"

/* Every touch is counted. Records and searches for the process are limited. */
enum { MOST_RECORDS_EACH = 3, MOST_SEARCHES = 16, COMMAND_LONGEST = 300 };

void tripwires_set(struct tripwires *tripwires, const struct operations *operations)
{
    vec_each (const struct operation, operation, operations) {
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

static bool has_word(const char *text, const char *word)
{
    static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    for (const char *at = text; (at = strstr(at, word)); at++) {
        char next = at[strlen(word)];
        if (!next || !strchr(of_names, next))
            return true;
    }
    return false;
}

/* The last program executed with this word; NULL without --log-exec or if there was none. */
static const char *find_executed(const struct tripwires *tripwires, const char *word)
{
    const char *line;
    for (size_t back = 0; (line = execs_line(tripwires->execs, back)); back++) {
        if (has_word(line, word))
            return arena_str(tripwires->arena, line);
    }
    return NULL;
}

/* The command line of a process that has the file open or has its name as an argument; NULL if there is none. */
static const char *find_process(struct tripwires *tripwires, const char *path)
{
    struct holder holder;
    char command[COMMAND_LONGEST];
    if (++tripwires->searches > MOST_SEARCHES)
        return NULL;
    if (holder_find_open(tripwires->launched->pid, path, &holder) &&
        holder_read_command(&holder, command, sizeof(command)))
        return arena_str(tripwires->arena, command);
    return find_executed(tripwires, path);
}

/* `process` is NULL if it has to be searched for. */
static void fire(struct tripwires *tripwires, const char *path, const char *process)
{
    struct fired *fired = find_fired(tripwires, path);
    if (++fired->times > MOST_RECORDS_EACH)
        return;
    process = process ? process : find_process(tripwires, path);
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

/* The only file of the decoy that the line names; NULL if it names none or several. */
static const char *find_named(struct tripwires *tripwires, size_t decoy, const char *line)
{
    const char *found = NULL;
    for (const struct decoy_file *file = decoys[decoy].files; file->name; file++) {
        const char *path = path_join(tripwires->arena, tripwires->paths[decoy], file->name);
        const char *below_home = arena_printf(tripwires->arena, "~/%s/%s", decoys[decoy].place, file->name);
        if (file->is_empty || (!has_word(line, path) && !has_word(line, below_home)))
            continue;
        if (found)
            return NULL;
        found = path;
    }
    return found;
}

static const char *join_command(const struct tripwires *tripwires)
{
    auto_buf struct buf line = {0};
    for (const char *const *word = tripwires->command; *word; word++)
        buf_printf(&line, "%s%s", line.size ? " " : "", *word);
    return arena_printf(tripwires->arena, "%.*s", COMMAND_LONGEST - 1, buf_text(&line));
}

/* Process 1 only knows the directory. The command line may say more, if the command did it or was recorded. */
static void fire_untold(struct tripwires *tripwires, size_t decoy)
{
    const char *process = tripwires->touched[decoy].is_by_command ? join_command(tripwires) : NULL;
    const char *path = process ? find_named(tripwires, decoy, process) : NULL;
    const char *line;
    for (size_t back = 0; !process && !path && (line = execs_line(tripwires->execs, back)); back++)
        path = find_named(tripwires, decoy, line);
    fire(tripwires, path ? path : tripwires->paths[decoy], process);
}

void tripwires_tell_rest(struct tripwires *tripwires)
{
    for (size_t i = 0; i < DECOY_COUNT; i++) {
        if (tripwires->touched[i].is_told && !has_fired_in(tripwires, tripwires->paths[i]))
            fire_untold(tripwires, i);
        tripwires->touched[i].is_told = false;
    }
}

void tripwires_touched(struct tripwires *tripwires, size_t decoy, bool is_by_command)
{
    if (decoy >= DECOY_COUNT || !tripwires->paths[decoy])
        return;
    tripwires->touched[decoy].is_told = true;
    tripwires->touched[decoy].is_by_command = is_by_command;
    struct pollfd ready = {.fd = tripwires->fd >= 0 ? tripwires->inotify_fd : -1, .events = POLLIN};
    if (poll(&ready, 1, 0) == 0)
        tripwires_tell_rest(tripwires);
}

void tripwires_watch(struct tripwires *tripwires, int inotify_fd)
{
    tripwires->fd = tripwires->launched->handed[HANDED_DECOYS];
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
             file ? path_join(tripwires->arena, tripwires->paths[i], file->name) : tripwires->paths[i], NULL);
    return true;
}

void tripwires_free(struct tripwires *tripwires)
{
    vec_free(&tripwires->fired);
}
