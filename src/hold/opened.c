/*
 * Sockets that a program outside opened in the writable trees while the command ran. Those that were there at the start are masked; one
 * that comes later answers the command, so the user is told which program's door stood open. The sandbox's own sockets belong to
 * its network namespace and are not in the host's list; where it has the host's network they cannot be told apart.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "hold/hold.h"
#include "kernel/unix_sockets.h"

enum { MOST_NAMED = 10 };

static bool has_hosts_network(const struct operations *operations)
{
    const struct operation *net = operations_find(operations, OP_NET);
    return net && strcmp(net->value, "open") == 0;
}

/* Can the command reach the path to write, other than by a rule that gives it this socket? */
static bool is_open_to_command(const struct operations *operations, const char *path)
{
    bool is_written = false;
    for (size_t i = 0; i < operations->count; i++) {
        const struct operation *operation = &operations->at[i];
        if (operation->kind == OP_SOCKET && strcmp(operation->path, path) == 0)
            return false;
        is_written |= operation->kind == OP_BIND_WRITE && path_is_beneath(path, operation->path);
    }
    return is_written;
}

static bool is_since(const char *path, struct timespec since)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
           timespec_order(status.st_ctim, since) >= 0;
}

void hold_name_opened_sockets(struct hold *hold, struct timespec since)
{
    const struct operations *operations = &hold->plan->operations;
    const char *list, *named[MOST_NAMED];
    size_t count = 0;
    struct err err = {0};
    if (has_hosts_network(operations))
        return;
    if (unix_sockets_read(hold->arena, &list, &err) < 0) {
        hold_note(hold, "not-checked", "",
                  arena_printf(hold->arena, "sockets that were opened during the run were not checked: %s",
                               err.message));
        return;
    }
    for (const char *path; count < MOST_NAMED && (path = unix_sockets_next(&list));) {
        if (*path != '/' || text_is_among(path, named, count) || !is_open_to_command(operations, path) ||
            !is_since(path, since))
            continue;
        named[count++] = path;
        auto_buf struct buf printable = {0};
        text_add_printable(&printable, path, strlen(path));
        hold_note(
            hold, "opened-socket", path,
            arena_printf(
                hold->arena,
                "a program on the host opened the socket %s during the run, and the command could connect to it",
                buf_text(&printable)));
    }
    if (count == MOST_NAMED)
        hold_note(hold, "not-checked", "",
                  "programs on the host may have opened more sockets during the run");
}
