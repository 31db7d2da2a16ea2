#include "fleet/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/process.h"

enum { FLEET_FILE_LARGEST = 64 * 1024 * 1024, MOST_WORDS = 4096, MOST_ORDERS = 1000000, STARTED_SMALL = 256 };

DEFINE_TEXTS(task_state_name, enum task_state, TASK_STATES, NAME_OF)

/* --- small files ------------------------------------------------------------------------------------------------------ */

const char *fleet_read(struct arena *arena, int folder_fd, const char *name, size_t most)
{
    auto_fd int fd = open_beneath(folder_fd, name, O_RDONLY | O_NONBLOCK, 0);
    auto_buf struct buf text = {0};
    struct stat status;
    bool is_fine = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_size <= (off_t)most && buf_read(&text, fd, most) == 0;
    return is_fine ? arena_copy(arena, buf_text(&text), text.size) : "";
}

int fleet_read_tail(int folder_fd, const char *name, size_t most, struct buf *out)
{
    auto_fd int fd = open_beneath(folder_fd, name, O_RDONLY | O_NONBLOCK, 0);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    off_t skipped =
        S_ISREG(status.st_mode) && status.st_size > (off_t)most ? status.st_size - (off_t)most : 0;
    return lseek(fd, skipped, SEEK_SET) < 0 ? -1 : buf_read(out, fd, most);
}

int fleet_mark(int folder_fd, const char *name, struct err *err)
{
    auto_fd int fd = open_beneath(folder_fd, name, O_WRONLY | O_CREAT, 0600);
    return fd < 0 ? err_sys(err, errno, "cannot make %s", name) : 0;
}

bool fleet_has(int folder_fd, const char *name)
{
    struct stat status;
    return fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static int write_file(int folder_fd, const char *name, const char *bytes, size_t size, struct err *err)
{
    const struct new_file file = {.temporary = ".new", .bytes = bytes, .size = size, .mode = 0600};
    return replace_file(folder_fd, name, &file) < 0 ? err_sys(err, errno, "cannot write %s", name) : 0;
}

/* --- fleet.json ------------------------------------------------------------------------------------------------------- */

static void add_words(struct json *json, const char *name, const char *const *words, size_t count)
{
    json_open(json, name, '[');
    for (size_t i = 0; i < count; i++)
        json_str(json, NULL, words[i]);
    json_close(json, ']');
}

static void add_fleet(const struct fleet *fleet, struct buf *out)
{
    struct json json = {.out = out};
    size_t words = 0;
    while (fleet->command[words])
        words++;
    json_open(&json, NULL, '{');
    json_int(&json, "schema", RESULT_SCHEMA);
    json_str(&json, "engine", fleet->engine);
    json_str(&json, "out", fleet->path);
    json_str(&json, "directory", fleet->directory);
    json_str(&json, "agent", fleet->agent);
    json_open(&json, "degrade", '[');
    for (enum wall wall = 0; wall < WALL_COUNT; wall++) {
        if (walls_have(fleet->degraded, wall))
            json_str(&json, NULL, wall_name(wall));
    }
    json_close(&json, ']');
    json_str(&json, "walls", fleet->has_walls ? foundation_name(fleet->on) : NULL);
    json_open(&json, "rules", '[');
    vec_each (const struct argument, rule, &fleet->rules) {
        json_str(&json, NULL, rule->verb == VERB_NONE ? "policy" : verb_word(rule->verb));
        json_str(&json, NULL, rule->text);
    }
    json_close(&json, ']');
    add_words(&json, "command", fleet->command, words);
    add_words(&json, "tasks", fleet->ids.at, fleet->ids.count);
    json_open(&json, "after", '[');
    vec_each (const struct task_order, order, &fleet->orders) {
        json_str(&json, NULL, order->id);
        json_str(&json, NULL, order->after);
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void index_orders(struct fleet *fleet)
{
    vec_each (struct task_order, order, &fleet->orders) {
        void **first = map_at(&fleet->first_orders, order->id, strlen(order->id));
        *first = *first ? *first : order;
    }
}

static int make_task(const struct fleet *fleet, const struct task *task, struct err *err)
{
    if (mkdirat(fleet->fd, task->id, 0700) < 0)
        return err_sys(err, errno, "cannot make %s/%s", fleet->own, task->id);
    auto_fd int fd = open_directory_at(fleet->fd, task->id);
    return fd < 0 ? err_sys(err, errno, "cannot open %s/%s", fleet->own, task->id)
                  : write_file(fd, "task.json", task->line.at, task->line.size, err);
}

/* --- reading it back -------------------------------------------------------------------------------------------------- */

static bool take_rules(struct fleet *fleet, struct json_value array)
{
    struct json_value word, object;
    size_t at = 0;
    while (json_next_item(array, &at, &word)) {
        const char *verb = json_text(&fleet->arena, word);
        if (!verb || !json_next_item(array, &at, &object) || fleet->rules.count == MOST_WORDS)
            return false;
        struct argument rule = {verb_from_word(verb), json_text(&fleet->arena, object)};
        if (!rule.text || (rule.verb == VERB_NONE && strcmp(verb, "policy") != 0))
            return false;
        vec_push(&fleet->rules, rule);
    }
    return true;
}

static bool take_walls(struct fleet *fleet, struct json_value array)
{
    struct json_value item;
    for (size_t at = 0; json_next_item(array, &at, &item);) {
        const char *name = json_text(&fleet->arena, item);
        enum wall wall = name ? wall_from_name(name) : WALL_COUNT;
        if (wall == WALL_COUNT)
            return false;
        fleet->degraded |= 1u << wall;
    }
    return true;
}

static bool take_foundation(struct fleet *fleet, struct json_value value)
{
    const char *name = json_text(&fleet->arena, value);
    fleet->on = name ? foundation_from_name(name) : FOUNDATION_COUNT;
    fleet->has_walls = true;
    return fleet->on != FOUNDATION_COUNT;
}

static bool take_command(struct fleet *fleet, struct json_value array)
{
    struct json_value item;
    size_t count = 0;
    const char **words = arena_alloc(&fleet->arena, (MOST_WORDS + 1) * sizeof(*words));
    for (size_t at = 0; json_next_item(array, &at, &item); count++) {
        if (count == MOST_WORDS || !(words[count] = json_text(&fleet->arena, item)))
            return false;
    }
    fleet->command = words;
    return count > 0;
}

static bool take_ids(struct fleet *fleet, struct json_value array)
{
    struct json_value item;
    for (size_t at = 0; json_next_item(array, &at, &item);) {
        const char *id = json_text(&fleet->arena, item);
        if (!id || !task_id_is_valid(id) || fleet->ids.count == MOST_TASKS)
            return false;
        vec_push(&fleet->ids, id);
    }
    return fleet->ids.count > 0;
}

static bool take_orders(struct fleet *fleet, struct json_value array)
{
    struct json_value item, after;
    for (size_t at = 0; json_next_item(array, &at, &item);) {
        const char *id = json_text(&fleet->arena, item);
        struct task_order order = {id, json_next_item(array, &at, &after) ? json_text(&fleet->arena, after)
                                                                          : NULL};
        if (!order.id || !order.after || !task_id_is_valid(order.id) || !task_id_is_valid(order.after) ||
            fleet->orders.count == MOST_ORDERS)
            return false;
        vec_push(&fleet->orders, order);
    }
    index_orders(fleet);
    return true;
}

static bool take_member(struct fleet *fleet, struct json_value key, struct json_value value)
{
    if (json_is(key, "engine"))
        return (fleet->engine = json_text(&fleet->arena, value)) != NULL;
    if (json_is(key, "out"))
        return (fleet->path = json_text(&fleet->arena, value)) != NULL && *fleet->path == '/';
    if (json_is(key, "directory"))
        return (fleet->directory = json_text(&fleet->arena, value)) != NULL && *fleet->directory == '/';
    if (json_is(key, "agent"))
        return (fleet->agent = json_text(&fleet->arena, value)) != NULL;
    if (json_is(key, "degrade"))
        return take_walls(fleet, value);
    if (json_is(key, "walls"))
        return take_foundation(fleet, value);
    if (json_is(key, "rules"))
        return take_rules(fleet, value);
    if (json_is(key, "command"))
        return take_command(fleet, value);
    if (json_is(key, "tasks"))
        return take_ids(fleet, value);
    if (json_is(key, "after"))
        return take_orders(fleet, value);
    return json_is(key, "schema") && value.size == 1 && *value.at == '0' + RESULT_SCHEMA;
}

static bool take_fleet(struct fleet *fleet, const char *text)
{
    struct json_value object, key, value;
    bool is_fine = json_read(text, strlen(text), &object) && *object.at == '{';
    for (size_t at = 0; is_fine && json_next_member(object, &at, &key, &value);)
        is_fine = take_member(fleet, key, value);
    return is_fine && fleet->engine && fleet->path && fleet->directory && fleet->command && fleet->ids.count;
}

/* A fleet that no worker could read must not begin. */
static bool can_be_read(const struct buf *text)
{
    auto_fleet struct fleet same = FLEET_NONE;
    return text->size <= FLEET_FILE_LARGEST && take_fleet(&same, buf_text(text));
}

/* The lists of fleet.json. */
static int list_tasks(struct fleet *fleet, const task_list *tasks, struct buf *out, struct err *err)
{
    vec_each (const struct task, task, tasks) {
        vec_push(&fleet->ids, task->id);
        for (size_t i = 0; i < task->after.count; i++)
            vec_push(&fleet->orders, (struct task_order){task->id, task->after.at[i]});
    }
    index_orders(fleet);
    add_fleet(fleet, out);
    if (can_be_read(out))
        return 0;
    return err_set(err, "the fleet is too large: it has more than %d words or rules, %d `after` or %d MiB",
                   MOST_WORDS, MOST_ORDERS, FLEET_FILE_LARGEST / 1024 / 1024);
}

/* Opens bawn's own folder, new and empty. One that is there is that of a fleet whose results somebody removed. */
static int make_own(struct fleet *fleet, struct err *err)
{
    const char *name = path_name(fleet->own);
    auto_fd int fleets_fd = directories_open_made(path_parent(&fleet->arena, fleet->own), err);
    if (fleets_fd < 0 || (fleet_is_apart(fleet) && remove_tree(fleets_fd, name, err) < 0))
        return -1;
    if (mkdirat(fleets_fd, name, 0700) < 0 && (errno != EEXIST || fleet_is_apart(fleet)))
        return err_sys(err, errno, "cannot make %s", fleet->own);
    fleet->fd = open_directory_at(fleets_fd, name);
    return fleet->fd < 0 ? err_sys(err, errno, "cannot open %s", fleet->own) : 0;
}

/* Two commands that find the folder empty at the same time must not both fill it. The lock lasts as long as the descriptor. */
static int lock_empty(struct fleet *fleet, struct err *err)
{
    auto_fd int path_fd = fleet_make_directory(fleet->path, err);
    if (path_fd < 0)
        return -1;
    auto_fd int fd = open_directory_at(path_fd, ".");
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? err_set(err, "another `bawn fleet run` is writing to %s", fleet->path)
                                    : err_sys(err, errno, "cannot lock %s", fleet->path);
    if (directories_is_empty(fd, "."))
        return fd_take(&fd);
    err_set(err, "%s is not empty", fleet->path);
    return err_hint(err, access(path_join(&fleet->arena, fleet->own, "fleet.json"), F_OK) == 0
                             ? "`bawn fleet retry DIR` continues the fleet in it"
                             : "name another folder with --out");
}

int fleet_make(struct fleet *fleet, const char *state, const task_list *tasks, struct err *err)
{
    fleet->own = fleet_own_folder(&fleet->arena, state, fleet->path);
    auto_buf struct buf out = {0};
    auto_fd int results_fd = lock_empty(fleet, err);
    if (results_fd < 0 || list_tasks(fleet, tasks, &out, err) < 0 || make_own(fleet, err) < 0)
        return -1;
    directories_scatter(fleet->fd);
    directories_scatter(results_fd);
    vec_each (const struct task, task, tasks) {
        if (make_task(fleet, task, err) < 0)
            return -1;
    }
    if (write_file(fleet->fd, "fleet.json", out.bytes, out.size, err) < 0)
        return -1;
    return fleet_is_apart(fleet) && (write_file(results_fd, "fleet.json", out.bytes, out.size, err) < 0 ||
                                     fleet_note_place(fleet, state, err) < 0)
               ? -1
               : 0;
}

/* The folder of results that the record names must be the one that the record is found by. */
static bool is_consistent(struct fleet *fleet, const char *state)
{
    return strcmp(fleet_own_folder(&fleet->arena, state, fleet->path), fleet->own) == 0;
}

int fleet_open(const char *path, const char *state, struct fleet *ret_fleet, struct err *err)
{
    struct fleet fleet = FLEET_NONE;
    fleet.own = fleet_own_folder(&fleet.arena, state, path);
    fleet.fd = open_absolute(fleet.own, O_RDONLY | O_DIRECTORY);
    int result = fleet.fd < 0 && errno != ENOENT ? err_sys(err, errno, "cannot open %s", fleet.own) : 0;
    if (result == 0 && (fleet.fd < 0 || !fleet_has(fleet.fd, "fleet.json"))) {
        err_set(err, "bawn has no record of a fleet in %s", path);
        result = err_hint(
            err, "name the path that `bawn fleet run` printed; bawn does not trust a folder that was "
                 "copied, moved or made by hand");
    } else if (result == 0 &&
               (!take_fleet(&fleet, fleet_read(&fleet.arena, fleet.fd, "fleet.json", FLEET_FILE_LARGEST)) ||
                !is_consistent(&fleet, state)))
        result = err_set(err, "%s/fleet.json is damaged, or of another version of bawn", fleet.own);
    if (result < 0)
        fleet_free(&fleet);
    else
        *ret_fleet = fleet;
    return result;
}

void fleet_free(struct fleet *fleet)
{
    fd_close(fleet->fd);
    vec_free(&fleet->rules);
    vec_free(&fleet->ids);
    vec_free(&fleet->orders);
    map_free(&fleet->first_orders);
    arena_free(&fleet->arena);
    *fleet = FLEET_NONE;
}

/* --- the state of a task ---------------------------------------------------------------------------------------------- */

int fleet_open_task(const struct fleet *fleet, const char *id, struct err *err)
{
    int fd = task_id_is_valid(id) ? open_directory_at(fleet->fd, id) : -1;
    return fd < 0 ? err_set(err, "%s has no task %s", fleet->path, id) : fd;
}

/* Who only looks takes the lock for a moment, shared, so that two who look do not see each other. */
static bool is_locked(int folder_fd)
{
    auto_fd int fd = open_beneath(folder_fd, "lock", O_RDONLY | O_NONBLOCK, 0);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

enum task_state fleet_state(const struct fleet *fleet, struct arena *arena, const char *id,
                            struct result *ret_result)
{
    struct err ignored;
    auto_fd int fd = fleet_open_task(fleet, id, &ignored);
    *ret_result = (struct result){0};
    if (fd < 0)
        return TASK_WAITING;
    const char *text = fleet_read(arena, fd, FLEET_RESULT, RESULT_LARGEST);
    if (*text && result_parse(bytes_of(text, strlen(text)), id, arena, ret_result))
        return ret_result->status ? TASK_FAILED : TASK_DONE;
    if (is_locked(fd))
        return TASK_RUNNING;
    if (fleet_has(fd, FLEET_CANCELLED))
        return TASK_CANCELLED;
    return fleet_has(fd, "started") ? TASK_INTERRUPTED : TASK_WAITING;
}

const struct task_order *fleet_orders(const struct fleet *fleet, const char *id)
{
    return map_get(&fleet->first_orders, id, strlen(id));
}

enum task_turn fleet_turn(const struct fleet *fleet, const char *id)
{
    enum task_turn turn = TURN_NOW;
    const struct task_order *end = fleet->orders.at + fleet->orders.count;
    for (const struct task_order *order = fleet_orders(fleet, id);
         order && turn != TURN_NEVER && order < end && strcmp(order->id, id) == 0; order++) {
        auto_arena struct arena arena = {0};
        struct result result;
        enum task_state state = fleet_state(fleet, &arena, order->after, &result);
        result_free(&result);
        if (state != TASK_DONE)
            turn = state == TASK_FAILED || state == TASK_CANCELLED ? TURN_NEVER : TURN_LATER;
    }
    return turn;
}

int fleet_worker(struct arena *arena, int folder_fd)
{
    const char *text = fleet_read(arena, folder_fd, "started", STARTED_SMALL);
    uint64_t number, start, attempt;
    struct utsname machine;
    if (!text_take_number(&text, &number) || *text++ != ' ' || !text_take_number(&text, &start) ||
        *text++ != ' ' || !text_take_number(&text, &attempt) || *text++ != ' ' || uname(&machine) < 0 ||
        strcmp(text, machine.nodename) != 0 || number > INT32_MAX || !is_locked(folder_fd))
        return -1;
    auto_fd int fd = process_open((pid_t)number);
    return fd >= 0 && process_look(fd).start == start ? fd_take(&fd) : -1;
}
