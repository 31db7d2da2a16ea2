#include "cli/choose.h"
#include "cli/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "cli/undo.h"
#include "kernel/beneath.h"

int sessions_open(struct loaded *loaded)
{
    return open(arena_printf(&loaded->arena, "%s/bawn/sessions", loaded->request.starts[START_STATE]),
                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The session of that name, in any workspace; NULL: none. */
static const struct record *find_named(int sessions_fd, struct arena *arena, const char *name)
{
    auto_fd int fd = session_open(sessions_fd, name);
    struct record *record = arena_new(arena, struct record);
    struct err ignored;
    if (fd < 0 || record_load(fd, arena, record, &ignored) <= 0)
        return NULL;
    record->name = name;
    return record;
}

/* A session that changed files, and of which only the journal is left. */
static bool is_pruned(const struct choice *choice, const char *word)
{
    struct listed listed = {0};
    struct record record;
    struct err ignored;
    struct arena *arena = choice->loaded.policy.arena;
    auto_fd int fd = choice->sessions_fd < 0 ? -1 : session_open(choice->sessions_fd, word);
    return fd >= 0 && record_load(fd, arena, &record, &ignored) == 0 &&
           glance_at(fd, arena, NULL, &listed.glance) && listed_is_pruned(&listed);
}

static int refuse_word(const struct world *world, const struct choice *choice, const char *word)
{
    struct arena *arena = choice->loaded.policy.arena;
    auto_fd int fd = choice->sessions_fd < 0 ? -1 : session_open(choice->sessions_fd, word);
    if (fd < 0)
        return say_bad_input(
            world, arena_printf(arena, "%s is neither a session nor a path in %s", word, choice->workspace),
            "`bawn sessions` lists the sessions");
    if (is_pruned(choice, word))
        return say_bad_input(
            world, arena_printf(arena, "the snapshot of %s was removed, so it can no longer be undone", word),
            arena_printf(arena, "`bawn log %s` shows what it did", word));
    return say_bad_input(world, arena_printf(arena, "there is no record of changes by %s", word),
                         "`bawn sessions` lists the sessions");
}

static int add_path(const struct world *world, struct choice *choice, const char *word)
{
    const char *path = path_clean(choice->loaded.policy.arena, choice->directory, word);
    struct stat status;
    if (!path_is_beneath(path, choice->workspace) || (lstat(path, &status) < 0 && is_pruned(choice, word)))
        return refuse_word(world, choice, word);
    const char *relative = path + strlen(choice->workspace);
    vec_push(&choice->paths, relative + (*relative == '/'));
    return 0;
}

/*
 * The word names a session that has no record of changes. It is no path then, in whatever session has a file
 * of that name. To show, apply or throw away the changes of a run that made none is done at once: a script
 * that names its own run need not know what that did.
 */
static int take_idle(const struct world *world, const struct args *args, struct choice *choice,
                     const char *word)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct glance glance = {0};
    auto_fd int fd = session_open(choice->sessions_fd, word);
    bool takes_back = args->verb->run == cmd_undo || args->verb->run == cmd_redo;
    if (takes_back || !glance_at(fd, arena, NULL, &glance) || !glance.has_ended || glance.changes)
        return refuse_word(world, choice, word);
    choice->is_idle = true;
    say_problem(world, arena_printf(arena, "%s changed nothing", word), NULL);
    return 0;
}

static bool is_session(const struct choice *choice, const char *word)
{
    auto_fd int fd = choice->sessions_fd < 0 ? -1 : session_open(choice->sessions_fd, word);
    return fd >= 0;
}

/* Fills in the sessions, and which of them the words name. The policy is loaded. */
static int find_sessions(const struct world *world, const struct args *args, struct choice *choice)
{
    struct loaded *loaded = &choice->loaded;
    struct arena *arena = loaded->policy.arena;
    struct err err = {0};
    choice->state = loaded->request.starts[START_STATE];
    choice->store = load_store(loaded, arena);
    choice->sessions_fd = sessions_open(loaded);
    choice->named = args->words.count ? find_named(choice->sessions_fd, arena, args->words.at[0]) : NULL;
    choice->workspace = choice->named                     ? choice->named->workspace
                        : loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].path
                                                          : loaded->request.directory;
    if (choice->sessions_fd >= 0 &&
        record_list_all(choice->sessions_fd, arena, choice->workspace, &choice->records, &err) < 0)
        return say_refused(world, &err);
    if (args->words.count && !choice->named && is_session(choice, args->words.at[0]))
        return take_idle(world, args, choice, args->words.at[0]);
    choice->words = args->words.at + (choice->named ? 1 : 0);
    int status = 0;
    for (size_t i = choice->named ? 1 : 0; i < args->words.count && status == 0; i++)
        status = add_path(world, choice, args->words.at[i]);
    return status;
}

/* The changes of a session are judged by the policy of its workspace, not of the current directory. */
static int load_of_session(const struct world *world, struct loaded *here, const struct record *record,
                           struct loaded *loaded)
{
    if (fs_kind(&here->fs, record->workspace) == FILE_DIRECTORY)
        return load_there(&world->caller, record->workspace, loaded);
    return say_bad_input(
        world,
        arena_printf(&here->arena, "the workspace of %s, %s, no longer exists", record->name,
                     record->workspace),
        arena_printf(&here->arena, "`bawn discard %s` throws away its waiting changes", record->name));
}

static int act_and_free(const struct world *world, const struct args *args, choice_function *act, int status,
                        struct choice *choice)
{
    if (status == 0)
        status = find_sessions(world, args, choice);
    if (status == 0 && !choice->is_idle)
        status = act(world, args, choice);
    tree_free(&choice->before);
    tree_free(&choice->after);
    fd_close(choice->folder_fd);
    deciding_end(choice->deciding_fd);
    fd_close(choice->sessions_fd);
    vec_free(&choice->records);
    vec_free(&choice->paths);
    loaded_free(&choice->loaded);
    return status;
}

int choose_then(const struct world *world, const struct args *args, choice_function *act)
{
    struct choice choice = {.sessions_fd = -1, .folder_fd = -1, .deciding_fd = -1};
    const struct run_request place = args_place(args);
    auto_loaded struct loaded here = {0};
    int status = load_request(&world->caller, &here);
    auto_fd int sessions_fd = status ? -1 : sessions_open(&here);
    const struct record *named =
        args->words.count ? find_named(sessions_fd, &here.arena, args->words.at[0]) : NULL;
    if (status == 0)
        status = named ? load_of_session(world, &here, named, &choice.loaded)
                       : load_plan(&world->caller, &place, &choice.loaded);
    if (status == 0)
        choice.directory = arena_str(choice.loaded.policy.arena, here.request.directory);
    return act_and_free(world, args, act, status, &choice);
}

int choose_here_then(const struct world *world, const struct args *args, choice_function *act)
{
    struct choice choice = {.sessions_fd = -1, .folder_fd = -1, .deciding_fd = -1};
    const struct run_request place = args_place(args);
    int status = load_policy(&world->caller, &place, &choice.loaded);
    choice.directory = choice.loaded.request.directory;
    return act_and_free(world, args, act, status, &choice);
}

static bool waits(const struct record *record)
{
    return record->mode == RECORD_REVIEW && record->state == STATE_WAITING;
}

enum { MOST_ASKED = 9 }; /* the answer is one key */

/* Asks the person which session is meant, latest first; NULL: none of them. */
static const struct record *ask_which(const struct world *world, const struct choice *choice)
{
    auto_buf struct buf out = {0};
    size_t count = 0;
    buf_printf(&out, "Several sessions have waiting changes in %s:\n", choice->workspace);
    for (size_t i = choice->records.count; i--;) {
        const struct record *record = &choice->records.at[i];
        if (waits(record) && ++count <= MOST_ASKED)
            buf_printf(&out, "  %zu  %s, %llu file%s, %s\n", count, record->name,
                       (unsigned long long)record->changes, record->changes == 1 ? "" : "s",
                       age_text(choice->loaded.policy.arena, record->ended));
    }
    if (count > MOST_ASKED)
        buf_printf(&out, "  and %zu older ones: name one of those on the command line\n", count - MOST_ASKED);
    put(world->out, &out);
    struct answering answering;
    if (!answer_begin(world, world->out, &answering))
        return NULL;
    char key =
        answer_key(&answering, arena_printf(choice->loaded.policy.arena,
                                            "Which one? [1-%zu]: ", count < MOST_ASKED ? count : MOST_ASKED));
    answer_end(&answering);
    fprintf(world->out, "%c\n", key >= ' ' ? key : ' ');
    size_t wanted = key >= '1' && key <= '9' ? (size_t)(key - '0') : 0;
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
    return say_bad_input(world,
                         arena_printf(arena, "several sessions have waiting changes in %s: %s",
                                      choice->workspace, buf_text(&names)),
                         arena_printf(arena, "name one: `bawn %s %s`", verb, latest));
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
    if (choice->named && session_is_set_aside(arena, choice->state, choice->named->name))
        return say_bad_input(world, arena_printf(arena, "%s could not be repaired", choice->named->name),
                             "`bawn sessions --repair` tries again");
    if (choice->named)
        return say_bad_input(world,
                             arena_printf(arena, "%s has no waiting changes: it is %s", choice->named->name,
                                          record_state_name(choice->named->state)),
                             "`bawn sessions` lists the sessions");
    return say_bad_input(world,
                         arena_printf(arena, "no session has waiting changes in %s", choice->workspace),
                         "`bawn --review CMD` lets the changes of CMD wait for your review");
}

/* An apply or undo that was killed leaves no record either, and means nothing. */
static bool is_run(const struct choice *choice, const char *name)
{
    auto_fd int fd = session_open(choice->sessions_fd, name);
    return fd >= 0 && session_began_with(choice->loaded.policy.arena, fd, "command");
}

const char *choose_idle_run(const struct choice *choice)
{
    const char *last = session_latest(choice->loaded.policy.arena, choice->state, choice->workspace);
    return last && !undo_find_record(choice, last) && is_run(choice, last) ? last : NULL;
}

int choose_unmistakable(const struct world *world, const struct args *args, const struct choice *choice,
                        const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    const char *later = choose_idle_run(choice);
    if (choice->named || (world->in_is_terminal && !(args->flags & FLAG(YES))))
        return 0;
    for (size_t i = choice->records.count; !later && i--;) {
        const struct record *other = &choice->records.at[i];
        if (strcmp(other->name, record->name) == 0)
            return 0;
        later = other->mode == RECORD_APPLY || other->mode == RECORD_UNDO ? NULL : other->name;
    }
    return say_bad_input(
        world,
        arena_printf(arena, "%s ran later in %s, and the session that waits is %s", later, choice->workspace,
                     record->name),
        arena_printf(arena, "name the one that you mean: `bawn %s %s`", args->verb->name, record->name));
}

/* The session that an apply, an undo or an undo of one is of in the end, as far as it is known. */
static const char *origin_of(const struct choice *choice, const struct record *record)
{
    for (size_t i = 0; i < choice->records.count; i++) {
        bool is_of_another = record->mode == RECORD_APPLY || record->mode == RECORD_UNDO;
        const struct record *of = is_of_another ? undo_find_record(choice, record->of) : NULL;
        if (!of)
            break;
        record = of;
    }
    return record->name;
}

static int refuse_second(const struct world *world, const struct choice *choice, const char *session,
                         const struct decider *other)
{
    struct arena *arena = choice->loaded.policy.arena;
    const char *who = !*other->verb ? "another bawn is deciding about its changes"
                                    : arena_printf(arena, "`bawn %s`, process %d, began %s", other->verb,
                                                   (int)other->process, age_text(arena, other->began));
    say_problem(world, arena_printf(arena, "%s is in use: %s", session, who),
                "finish or end that one, then try again");
    return EXIT_REFUSED;
}

/* What was read before the lock was taken may be old. */
static int read_again(const struct world *world, struct choice *choice, const struct record **record)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct err err = {0};
    const struct record old = **record;
    vec_free(&choice->records);
    choice->records = (record_list){0};
    if (choice->named)
        choice->named = find_named(choice->sessions_fd, arena, choice->named->name);
    if (record_list_all(choice->sessions_fd, arena, choice->workspace, &choice->records, &err) < 0)
        return say_refused(world, &err);
    *record = find_named(choice->sessions_fd, arena, old.name);
    if (*record && (*record)->state == old.state && (*record)->mode == old.mode)
        return 0;
    return say_bad_input(world,
                         arena_printf(arena, "%s was changed meanwhile: it is %s", old.name,
                                      *record ? record_state_name((*record)->state) : "forgotten"),
                         "`bawn sessions` lists the sessions");
}

int choose_alone(const struct world *world, struct choice *choice, const char *verb,
                 const struct record **record)
{
    struct err err = {0};
    struct decider other = {0};
    const char *origin = origin_of(choice, *record);
    auto_fd int fd = session_open(choice->sessions_fd, origin);
    int deciding_fd = fd < 0 ? err_sys(&err, errno, "cannot open the session %s", origin)
                             : deciding_begin(fd, verb, &other, &err);
    if (deciding_fd == DECIDING_IS_ANOTHER)
        return refuse_second(world, choice, origin, &other);
    if (deciding_fd < 0)
        return say_refused(world, &err);
    choice->deciding_fd = deciding_fd;
    return read_again(world, choice, record);
}

static bool tree_has(const struct tree *tree, const char *path)
{
    vec_each (const struct entry, entry, &tree->entries) {
        if (strcmp(entry->path, path) == 0 || path_is_inside(entry->path, path))
            return true;
    }
    return false;
}

/* A word that names neither a file of the workspace nor one of the session's is a mistyped session. */
static int check_paths(const struct world *world, const struct choice *choice)
{
    auto_fd int top_fd = open_absolute(choice->workspace, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < choice->paths.count; i++) {
        const char *path = choice->paths.at[i];
        auto_fd int fd = top_fd < 0 ? -1 : open_beneath(top_fd, path, O_PATH, 0);
        if (fd < 0 && !tree_has(&choice->before, path) && !tree_has(&choice->after, path))
            return refuse_word(world, choice, choice->words[i]);
    }
    return 0;
}

int choose_open(const struct world *world, struct choice *choice, const struct record *record)
{
    struct err err = {0};
    tree_free(&choice->before);
    tree_free(&choice->after);
    fd_close(choice->folder_fd);
    choice->folder_fd = session_open(choice->sessions_fd, record->name);
    int before = -1, after = -1;
    if (choice->folder_fd < 0)
        err_sys(&err, errno, "cannot open the session %s", record->name);
    else if ((before = tree_load(choice->folder_fd, "before", &choice->before, &err)) >= 0)
        after = tree_load(choice->folder_fd, "after", &choice->after, &err);
    if (before == 0 || after == 0)
        err_set(&err, "the session %s has no record of its changes", record->name);
    return before > 0 && after > 0 ? check_paths(world, choice) : say_refused(world, &err);
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

void mark_state(const struct choice *choice, const char *name, enum record_state state)
{
    auto_fd int fd = session_open(choice->sessions_fd, name);
    struct record record;
    struct err ignored;
    if (fd < 0 || record_load(fd, choice->loaded.policy.arena, &record, &ignored) <= 0)
        return;
    record.state = state;
    if (record_save(fd, &record, &ignored) < 0)
        return; /* the verbs compare the files as well */
}
