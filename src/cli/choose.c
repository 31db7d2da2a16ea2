#include "cli/choose.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/style.h"

/* The session of that name; whichever workspace it is of. */
static const struct record *find_named(struct choice *choice, const char *name)
{
    for (size_t i = 0; i < choice->records.count; i++) {
        if (strcmp(choice->records.at[i].name, name) == 0)
            return &choice->records.at[i];
    }
    if (choice->sessions_fd < 0 || strchr(name, '/') || *name == '.')
        return NULL;
    auto_fd int fd = openat(choice->sessions_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct record *record = arena_new(choice->loaded.policy.arena, struct record);
    struct err ignored;
    if (fd < 0 || record_load(fd, choice->loaded.policy.arena, record, &ignored) <= 0)
        return NULL;
    record->name = name;
    return record;
}

static int add_path(const struct world *world, struct choice *choice, const char *word)
{
    struct arena *arena = choice->loaded.policy.arena;
    const char *path = path_clean(arena, choice->loaded.request.directory, word);
    if (!path_is_beneath(path, choice->workspace)) {
        say_problem(world,
                    arena_printf(arena, "%s is neither a session nor a path in %s", word, choice->workspace),
                    "`bawn sessions` lists the sessions");
        return EXIT_BAD_INPUT;
    }
    const char *relative = path + strlen(choice->workspace);
    vec_push(&choice->paths, relative + (*relative == '/'));
    return 0;
}

int choose_begin(const struct world *world, const struct args *args, struct choice *ret_choice)
{
    *ret_choice = (struct choice){.sessions_fd = -1, .folder_fd = -1};
    struct args plain = {.verb = args->verb, .command = args->command};
    int status = load_plan(world, &plain, &ret_choice->loaded);
    if (status)
        return status;
    const struct loaded *loaded = &ret_choice->loaded;
    struct arena *arena = loaded->policy.arena;
    ret_choice->state = loaded->request.starts[START_STATE];
    ret_choice->store = keep_store(loaded, arena);
    ret_choice->workspace =
        loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].path : loaded->request.directory;
    struct err err = {0};
    const char *path = arena_printf(arena, "%s/bawn/sessions", ret_choice->state);
    ret_choice->sessions_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret_choice->sessions_fd >= 0 && record_list_all(ret_choice->sessions_fd, arena, ret_choice->workspace,
                                                        &ret_choice->records, &err) < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    for (size_t i = 0; i < args->words.count && status == 0; i++) {
        const struct record *named = i == 0 ? find_named(ret_choice, args->words.at[0]) : NULL;
        if (named) {
            ret_choice->named = named;
            ret_choice->workspace = named->workspace;
        } else {
            status = add_path(world, ret_choice, args->words.at[i]);
        }
    }
    return status;
}

static bool waits(const struct record *record)
{
    return record->mode == RECORD_REVIEW && record->state == STATE_WAITING;
}

/* Asks the person at the terminal which of several is meant, the latest first; NULL: none of them. */
static const struct record *ask_which(const struct world *world, const struct choice *choice)
{
    auto_buf struct buf out = {0};
    size_t count = 0;
    buf_printf(&out, "Several sessions wait in %s:\n", choice->workspace);
    for (size_t i = choice->records.count; i--;) {
        const struct record *record = &choice->records.at[i];
        if (waits(record))
            buf_printf(&out, "  %zu  %s, %llu file%s, %s\n", ++count, record->name,
                       (unsigned long long)record->changes, record->changes == 1 ? "" : "s",
                       age_text(choice->loaded.policy.arena, record->ended));
    }
    buf_printf(&out, "Which one? [1-%zu]: ", count);
    put(world->out, &out);
    fflush(world->out);
    char answer[16];
    unsigned long wanted = fgets(answer, sizeof(answer), world->in) ? strtoul(answer, NULL, 10) : 0;
    for (size_t i = choice->records.count; i-- && wanted;) {
        if (waits(&choice->records.at[i]) && --wanted == 0)
            return &choice->records.at[i];
    }
    return NULL;
}

static int refuse_several(const struct world *world, const struct choice *choice, const char *verb)
{
    struct arena *arena = choice->loaded.policy.arena;
    auto_buf struct buf names = {0};
    const char *latest = "";
    for (size_t i = 0; i < choice->records.count; i++) {
        if (!waits(&choice->records.at[i]))
            continue;
        latest = choice->records.at[i].name;
        buf_printf(&names, "%s%s", names.size ? ", " : "", latest);
    }
    say_problem(world,
                arena_printf(arena, "several sessions wait in %s: %s", choice->workspace, buf_text(&names)),
                arena_printf(arena, "name one: `bawn %s %s`", verb, latest));
    return EXIT_BAD_INPUT;
}

int choose_waiting(const struct world *world, const struct choice *choice, const char *verb,
                   const struct record **ret_record)
{
    struct arena *arena = choice->loaded.policy.arena;
    const struct record *found = NULL;
    size_t count = 0;
    for (size_t i = 0; !choice->named && i < choice->records.count; i++) {
        if (waits(&choice->records.at[i]) && ++count)
            found = &choice->records.at[i];
    }
    if (choice->named && waits(choice->named))
        found = choice->named;
    bool can_ask = world->in_is_terminal && world->out_is_terminal;
    if (count > 1)
        found = can_ask ? ask_which(world, choice) : NULL;
    if (found) {
        *ret_record = found;
        return 0;
    }
    if (count > 1)
        return refuse_several(world, choice, verb);
    if (choice->named)
        say_problem(world,
                    arena_printf(arena, "nothing of %s waits: it is %s", choice->named->name,
                                 record_state_name(choice->named->state)),
                    "`bawn sessions` lists the sessions");
    else
        say_problem(world, arena_printf(arena, "no session waits in %s", choice->workspace),
                    "`bawn --review CMD` keeps aside what CMD writes");
    return EXIT_BAD_INPUT;
}

int choose_open(const struct world *world, struct choice *choice, const struct record *record)
{
    struct err err = {0};
    choice->folder_fd =
        openat(choice->sessions_fd, record->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int before = -1, after = -1;
    if (choice->folder_fd < 0)
        err_sys(&err, errno, "cannot open the session %s", record->name);
    else if ((before = tree_load(choice->folder_fd, "before", &choice->before, &err)) >= 0)
        after = tree_load(choice->folder_fd, "after", &choice->after, &err);
    if (before == 0 || after == 0)
        err_set(&err, "the session %s has no record of its changes", record->name);
    if (before > 0 && after > 0)
        return 0;
    say_err(world, &err);
    return EXIT_REFUSED;
}

bool choose_has_path(const struct choice *choice, const char *path)
{
    for (size_t i = 0; i < choice->paths.count; i++) {
        const char *named = choice->paths.at[i];
        size_t size = strlen(named);
        if (size == 0 || (strncmp(path, named, size) == 0 && (path[size] == '/' || !path[size])))
            return true;
    }
    return choice->paths.count == 0;
}

void choose_end(struct choice *choice)
{
    tree_free(&choice->before);
    tree_free(&choice->after);
    if (choice->folder_fd >= 0)
        close(choice->folder_fd);
    if (choice->sessions_fd >= 0)
        close(choice->sessions_fd);
    vec_free(&choice->records);
    vec_free(&choice->paths);
    loaded_free(&choice->loaded);
}
