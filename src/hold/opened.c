/*
 * Sockets that a program outside opens in a tree that is shown while the command runs. Those that were there at the start are masked by the
 * launcher; one that comes later answers the command, through any mount. The supervisor asks twice a second, and hides what is new
 * by an amendment. This is a watch and not a wall: until then the command can connect, and a connection stays.
 *
 * The sandbox's own sockets belong to its network namespace and are not in the host's list; where it has the host's network they cannot be
 * told apart. A socket that was bound by a relative path is looked for where its server can be.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "hold/hold.h"
#include "kernel/unix_sockets.h"

enum { MOST_OPENED = 64 };

bool hold_can_tell_opened(const struct hold *hold)
{
    return strcmp(operations_net(&hold->plan->operations), "open") != 0;
}

/* Through an overlay no socket answers, and a copy has none. */
static bool shows_host(const struct operation *amended)
{
    return !amended->overlay && !amended->source;
}

static const struct given_tree *given_around(const struct hold *hold, const char *path)
{
    vec_each (const struct given_tree, given, &hold->given) {
        if (path_is_beneath(path, given->path))
            return given;
    }
    return NULL;
}

/* Does the command see the host's own socket at the path, other than by a rule that gives it this one? */
static bool is_open_to_command(const struct hold *hold, const char *path)
{
    const struct operations *planned = &hold->plan->operations;
    bool is_shown = false;
    for (size_t i = 0; i < planned->count; i++) {
        const struct operation *operation = &planned->at[i];
        if (operation->kind == OP_SOCKET && strcmp(operation->path, path) == 0)
            return false;
        struct operation amended = hold_operation(hold, i);
        is_shown |=
            operation_shows(operation) && path_is_beneath(path, operation->path) && shows_host(&amended);
    }
    return is_shown || given_around(hold, path);
}

/* Adds a path to a list of them. False: there is no room, and the list is "/". */
static bool add_tree(char *list, size_t capacity, size_t *at, const char *path)
{
    size_t size = strlen(path) + 1;
    if (size >= capacity - *at) {
        memcpy(list, "/\0", 3);
        return false;
    }
    memcpy(list + *at, path, size);
    *at += size;
    return true;
}

void hold_list_open_trees(const struct hold *hold, char *ret_list, size_t capacity)
{
    size_t at = 0;
    for (size_t i = 0; i < hold->plan->operations.count; i++) {
        struct operation operation = hold_operation(hold, i);
        if (!operation_shows(&operation) || !shows_host(&operation))
            continue;
        if (!add_tree(ret_list, capacity, &at, operation.path))
            return;
    }
    vec_each (const struct given_tree, given, &hold->given) {
        if (!add_tree(ret_list, capacity, &at, given->path))
            return;
    }
    ret_list[at] = '\0';
}

static bool is_since(const char *path, struct timespec since)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
           timespec_order(status.st_ctim, since) >= 0;
}

static const struct opened *find_opened(const struct hold *hold, const char *path)
{
    vec_each (const struct opened, opened, &hold->opened) {
        if (strcmp(opened->path, path) == 0)
            return opened;
    }
    return NULL;
}

static void name_opened(struct hold *hold, const char *path, const char *outcome)
{
    auto_buf struct buf printable = {0};
    text_add_printable(&printable, path, strlen(path));
    hold_note(hold, "opened-socket", path,
              arena_printf(hold->arena, "a program outside opened the socket %s during the run%s",
                           buf_text(&printable), outcome));
}

typedef void opened_found(struct hold *hold, const char *path);

/* Calls for each of a list that is not known yet. Returns how many are open now, the known ones included. */
static size_t each_of_list(struct hold *hold, const char *list, struct timespec since, opened_found *found)
{
    size_t count = 0;
    for (const char *path; (path = unix_sockets_next(&list));) {
        const struct given_tree *given = given_around(hold, path);
        if (*path != '/' || !is_open_to_command(hold, path) || !is_since(path, given ? given->since : since))
            continue;
        count++;
        if (!find_opened(hold, path) && hold->opened.count < MOST_OPENED)
            found(hold, arena_str(hold->arena, path));
    }
    return count;
}

static bool has_relative(const char *list)
{
    for (const char *path; (path = unix_sockets_next(&list));) {
        if (*path != '/')
            return true;
    }
    return false;
}

static size_t each_opened(struct hold *hold, struct timespec since, opened_found *found)
{
    const char *list;
    struct err err = {0};
    struct arena arena = {0};
    if (unix_sockets_read(&arena, &list, &err) < 0) {
        hold_note(hold, "not-checked", "",
                  arena_printf(hold->arena, "sockets that were opened during the run were not checked: %s",
                               err.message));
        list = "";
    }
    size_t count = each_of_list(hold, list, since, found);
    if (has_relative(list)) {
        char trees[OPEN_TREES_SIZE];
        hold_list_open_trees(hold, trees, sizeof(trees));
        count += each_of_list(hold, unix_sockets_find_relative(&arena, trees), since, found);
    }
    arena_free(&arena);
    return count;
}

static void hide(struct hold *hold, const char *path)
{
    size_t operation = amended_count(&hold->plan->operations, hold->amendments);
    amend_hide(hold->amendments, path);
    vec_push(&hold->opened, (struct opened){path, operation, false});
    name_opened(hold, path,
                ": it was hidden within a second, and the command could connect to it until then");
}

bool hold_hide_opened(struct hold *hold, struct timespec since)
{
    return each_opened(hold, since, hide) > 0;
}

static void name_at_end(struct hold *hold, const char *path)
{
    vec_push(&hold->opened, (struct opened){path, SIZE_MAX, false});
    name_opened(hold, path, ", and the command could connect to it");
}

void hold_name_opened(struct hold *hold, struct timespec since)
{
    each_opened(hold, since, name_at_end);
    if (hold->opened.count == MOST_OPENED)
        hold_note(hold, "not-checked", "", "programs outside may have opened more sockets during the run");
}

bool hold_opened_is_hidden(struct hold *hold, size_t operation)
{
    vec_each (struct opened, opened, &hold->opened) {
        if (opened->operation == operation && !opened->is_hidden)
            return opened->is_hidden = true;
    }
    return false;
}
