/* `bawn home`: the private homes of this workspace, one for each agent. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/say.h"
#include "kernel/beneath.h"
#include "report/summary.h"
#include "session/load.h"

enum { MOST_AGENTS = 256, SHOWN_IN_LIST = 200 };

/* An existing home of this workspace. */
struct found {
    const char *agent;
    const char *path;
};

typedef VEC(struct found) found_list;

struct homes {
    struct loaded loaded;
    found_list found;
};

static void find_homes(struct homes *homes)
{
    struct loaded *loaded = &homes->loaded;
    auto_vec fs_names agents = {0};
    fs_list(&loaded->fs, path_join(&loaded->arena, loaded->request.starts[START_DATA], "bawn/homes"),
            MOST_AGENTS, &agents);
    bool can_have_run = loaded->policy.workspaces.count > 0;
    for (size_t i = 0; can_have_run && i < agents.count; i++) {
        const char *path = plan_home(&loaded->policy, agents.at[i]);
        if (fs_kind(&loaded->fs, path) == FILE_DIRECTORY)
            vec_push(&homes->found, (struct found){agents.at[i], path});
    }
}

static int open_home(const struct world *world, const struct found *found)
{
    return open_beneath(world->caller.root_fd, found->path + 1, O_RDONLY | O_DIRECTORY, 0);
}

/* Drops the empty files on which earlier runs mounted files of the user's, as far as those still exist: no command made them. */
static void drop_places(struct homes *homes, struct home_files *left)
{
    struct loaded *loaded = &homes->loaded;
    size_t kept = 0;
    vec_each (const struct home_file, file, &left->list) {
        const char *path = path_join(&loaded->arena, loaded->request.home, file->path + 1);
        if (file->size || fs_kind(&loaded->fs, path) == FILE_MISSING)
            left->list.at[kept++] = *file;
    }
    left->list.count = kept;
}

static int list(const struct world *world, const struct args *args, struct homes *homes)
{
    struct style style = style_for_out(world, homes->loaded.request.home);
    auto_buf struct buf out = {0};
    vec_each (const struct found, found, &homes->found) {
        struct home_files left = {.arena = &homes->loaded.arena, .hidden_too = args->flags & FLAG(ALL)};
        auto_fd int fd = open_home(world, found);
        if (fd >= 0)
            home_files_find(fd, &left);
        drop_places(homes, &left);
        style_add(&style, &out, COLOUR_GREEN, found->agent);
        buf_add_str(&out, "  ");
        style_add_path(&style, &out, COLOUR_DIM, found->path);
        buf_add_char(&out, '\n');
        if (!left.list.count)
            buf_printf(&out, "  no files%s\n", left.hidden_too ? "" : " except hidden ones, if any");
        home_files_add(&out, &style, &left, SHOWN_IN_LIST, 2);
        home_files_free(&left);
    }
    if (!homes->found.count)
        buf_add_str(&out, "No command has run here yet.\n");
    put(world->out, &out);
    return EXIT_FINE;
}

/* The path relative to the home. The word may begin with "~/" or with the home's path, which the shell puts in. */
static const char *below_home(const struct homes *homes, const char *path)
{
    const char *home = homes->loaded.request.home, *spelled = homes->loaded.request.home_spelled;
    if (text_starts_with(path, "~/"))
        return path + 2;
    const char *top = path_is_beneath(path, spelled) ? spelled : path_is_beneath(path, home) ? home : NULL;
    return top && path[strlen(top)] == '/' ? path + strlen(top) + 1 : path;
}

/* Finds the home of "AGENT:PATH", or the only home that has such a file. NULL after saying what is wrong. */
static const struct found *choose(const struct world *world, struct homes *homes, const char *asked,
                                  const char **ret_path)
{
    for (size_t i = 0; i < homes->found.count; i++) {
        size_t size = strlen(homes->found.at[i].agent);
        if (strncmp(asked, homes->found.at[i].agent, size) == 0 && asked[size] == ':') {
            *ret_path = below_home(homes, asked + size + 1);
            return &homes->found.at[i];
        }
    }
    *ret_path = below_home(homes, asked);
    const struct found *chosen = NULL;
    for (size_t i = 0; i < homes->found.count; i++) {
        auto_fd int home_fd = open_home(world, &homes->found.at[i]);
        auto_fd int fd = home_fd < 0 ? -1 : open_beneath(home_fd, *ret_path, O_PATH, 0);
        if (fd >= 0 && chosen) {
            say_problem(world,
                        arena_printf(&homes->loaded.arena, "both the home of %s and that of %s have %s",
                                     chosen->agent, homes->found.at[i].agent, *ret_path),
                        "name one: `bawn home fetch AGENT:PATH`");
            return NULL;
        }
        if (fd >= 0)
            chosen = &homes->found.at[i];
    }
    if (!chosen)
        say_problem(world,
                    arena_printf(&homes->loaded.arena, "no private home of this workspace has %s", *ret_path),
                    "`bawn home list --all` lists all files");
    return chosen;
}

static int fetch(const struct world *world, const struct args *args, struct homes *homes)
{
    if (args->words.count < 2 || args->words.count > 3)
        return say_bad_input(world, "`bawn home fetch` needs a path, and takes a destination", NULL);
    struct arena *arena = &homes->loaded.arena;
    const char *path = NULL;
    const struct found *found = choose(world, homes, args->words.at[1], &path);
    if (!found)
        return EXIT_BAD_INPUT;
    const char *name = path_name(arena_printf(arena, "/%s", path));
    const char *asked = args->words.count == 3 ? args->words.at[2] : ".", *target = NULL;
    struct err err = {0};
    auto_fd int directory = destination_open(arena, &homes->loaded.request, asked, name, &target, &err);
    auto_fd int home_fd = open_home(world, found);
    int failed = directory < 0 ? -1
                 : home_fd < 0 ? err_sys(&err, errno, "cannot open %s", found->path)
                               : home_files_fetch(home_fd, path, directory, path_name(target), &err);
    if (failed)
        return say_refused(world, &err);
    struct style style = style_for_out(world, homes->loaded.request.home);
    auto_buf struct buf out = {0};
    style_add_path(&style, &out, COLOUR_BOLD, target);
    buf_add_str(&out, " came from the sandbox: look at it before you use it.\n");
    put(world->out, &out);
    return EXIT_FINE;
}

static int reset_one(const struct world *world, struct arena *arena, const struct found *found)
{
    struct err err = {0};
    auto_fd int folder =
        open_beneath(world->caller.root_fd, path_parent(arena, found->path) + 1, O_RDONLY | O_DIRECTORY, 0);
    int removed = folder < 0 ? err_sys(&err, errno, "cannot open the folder of %s", found->path)
                             : home_remove(folder, path_name(found->path), &err);
    if (removed < 0)
        say_err(world, &err);
    else if (removed == 0)
        say_problem(world, arena_printf(arena, "the home of %s is in use", found->agent),
                    "end the run that uses it first");
    else
        fprintf(world->out, "Removed the private home of %s.\n", found->agent);
    return removed > 0 ? EXIT_FINE : EXIT_REFUSED;
}

static int reset(const struct world *world, const struct args *args, struct homes *homes)
{
    const char *agent = args->words.count > 1 ? args->words.at[1] : NULL;
    auto_vec found_list chosen = {0};
    auto_buf struct buf question = {0};
    for (size_t i = 0; i < homes->found.count; i++) {
        if (agent && strcmp(agent, homes->found.at[i].agent) != 0)
            continue;
        buf_add_str(&question, chosen.count ? ", " : "Throw away, for this workspace, the home of ");
        text_add_printable(&question, homes->found.at[i].agent, strlen(homes->found.at[i].agent));
        vec_push(&chosen, homes->found.at[i]);
    }
    buf_add_char(&question, '?');
    int status = EXIT_FINE;
    if (!chosen.count) {
        status = say_bad_input(
            world,
            agent ? arena_printf(&homes->loaded.arena, "%s has no private home in this workspace", agent)
                  : "there is no private home for this workspace",
            "`bawn home` lists them");
    } else if (!(args->flags & FLAG(YES)) && !world->in_is_terminal) {
        status = say_bad_input(world, "there is no terminal to ask on, so nothing was removed",
                               "pass --yes: `bawn home reset --yes`");
    } else if (!(args->flags & FLAG(YES)) && !ask(world, buf_text(&question))) {
        fputs("Nothing was removed.\n", world->out);
    } else {
        for (size_t i = 0; i < chosen.count; i++) {
            int one = reset_one(world, &homes->loaded.arena, &chosen.at[i]);
            status = status ? status : one;
        }
    }
    return status;
}

int cmd_home(const struct world *world, const struct args *args)
{
    static const struct {
        const char *name;
        int (*run)(const struct world *world, const struct args *args, struct homes *homes);
        size_t most_words;
    } actions[] = {{"list", list, 1}, {"fetch", fetch, 3}, {"reset", reset, 2}};
    const char *wanted = args->words.count ? args->words.at[0] : "list";
    struct homes homes = {0};
    for (size_t i = 0; i < array_len(actions); i++) {
        if (strcmp(wanted, actions[i].name) != 0 || args->words.count > actions[i].most_words)
            continue;
        const struct run_request place = args_place(args);
        int status = load_policy(&world->caller, &place, &homes.loaded);
        if (status == 0) {
            find_homes(&homes);
            status = actions[i].run(world, args, &homes);
        }
        vec_free(&homes.found);
        loaded_free(&homes.loaded);
        return status;
    }
    return say_bad_input(world, "`bawn home` takes list, fetch or reset", "`bawn home --help` explains them");
}
