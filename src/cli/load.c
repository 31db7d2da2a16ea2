#include "cli/load.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/say.h"
#include "trust/trust.h"

const char *world_variable(const struct world *world, const char *name)
{
    return text_variable(world->environment, name);
}

static bool is_trusted(void *context, const char *workspace, const char *text, size_t size)
{
    struct loaded *loaded = context;
    return trust_holds(&loaded->fs, loaded->request.starts[START_DATA], workspace, text, size);
}

/* As the XDG specification says: an absolute path counts, anything else is as if it were not set. */
static const char *folder(const struct world *world, struct loaded *loaded, const char *variable,
                          const char *default_in_home)
{
    const char *value = world_variable(world, variable);
    const struct fs_place *place = NULL;
    struct err ignored;
    if (value && *value == '/') {
        const char *path = path_clean(&loaded->arena, "/", value);
        return fs_resolve(&loaded->fs, path, &place, &ignored) < 0 ? path : place->real;
    }
    return default_in_home ? path_join(&loaded->arena, loaded->request.home, default_in_home) : NULL;
}

static int find_home(const struct world *world, struct loaded *loaded, struct err *err)
{
    const char *home = world_variable(world, "HOME");
    if (!home || !*home)
        home = world->account_home;
    if (!home || *home != '/') {
        err_set(err, "your home directory is not known: HOME is not an absolute path");
        return err_hint(err, "set HOME");
    }
    const struct fs_place *place = NULL;
    loaded->request.home_spelled = path_clean(&loaded->arena, "/", home);
    if (fs_resolve(&loaded->fs, loaded->request.home_spelled, &place, err) < 0)
        return -1;
    if (place->kind != FILE_DIRECTORY) {
        err_set(err, "your home directory %s does not exist", home);
        return err_hint(err, "set HOME to one that does");
    }
    loaded->request.home = place->real;
    return 0;
}

int load_request(const struct world *world, struct loaded *loaded)
{
    *loaded = (struct loaded){0};
    loaded->fs = (struct fsview){.root_fd = world->root_fd, .arena = &loaded->arena};
    loaded->diags.arena = &loaded->arena;
    struct policy_request *request = &loaded->request;
    request->fs = &loaded->fs;
    request->environment = world->environment;
    request->is_trusted = is_trusted;
    request->trust_context = loaded;
    struct err err = {0};
    const struct fs_place *directory = NULL;
    if (find_home(world, loaded, &err) < 0 ||
        fs_resolve(&loaded->fs, world->directory, &directory, &err) < 0) {
        say_err(world, &err);
        return EXIT_BAD_INPUT;
    }
    request->directory = directory->real;
    request->starts[START_HOME] = request->home;
    request->starts[START_CONFIG] = folder(world, loaded, "XDG_CONFIG_HOME", ".config");
    request->starts[START_DATA] = folder(world, loaded, "XDG_DATA_HOME", ".local/share");
    request->starts[START_STATE] = folder(world, loaded, "XDG_STATE_HOME", ".local/state");
    request->starts[START_CACHE] = folder(world, loaded, "XDG_CACHE_HOME", ".cache");
    request->starts[START_RUNTIME] = folder(world, loaded, "XDG_RUNTIME_DIR", NULL);
    const char *extra = world_variable(world, "BAWN_POLICY");
    request->extra_policy = extra && *extra ? extra : NULL;
    return 0;
}

/* NULL for verbs that take the rules of the language, --workspace among them. */
static const char *workspace_remedy(const struct verb_entry *verb)
{
    if (!verb || verb->flags & FLAG_POLICY)
        return NULL;
    return verb->words && text_starts_with(verb->words, "SESSION")
               ? "start in a project directory, or name a session: `bawn sessions --all` lists them"
               : "start in a project directory";
}

int load_policy(const struct world *world, const struct args *args, struct loaded *loaded)
{
    int status = load_request(world, loaded);
    if (status)
        return status;
    struct policy_request *request = &loaded->request;
    request->arguments = args->rules.at;
    request->argument_count = args->rules.count;
    request->read_only = args->flags & FLAG_READ_ONLY;
    request->full_access = args->flags & FLAG_FULL_ACCESS;
    if (world->machine)
        loaded->machine = *world->machine;
    else
        world->look_at_machine(args->degraded, &loaded->machine);
    request->memory = loaded->machine.memory;
    request->fresh_home = args->flags & FLAG_FRESH_HOME;
    request->workspace_remedy = workspace_remedy(args->verb);
    request->command = *args->command ? args->command : NULL;
    request->agent = args->agent;
    policy_compose(request, &loaded->arena, &loaded->policy, &loaded->diags);
    return 0;
}

/* What a file seems to be when it cannot be looked at would decide what is open and what is not. */
static int check_looks(const struct world *world, const struct loaded *loaded)
{
    struct err err;
    if (fs_check(&loaded->fs, &err) == 0)
        return 0;
    say_err(world, &err);
    return EXIT_REFUSED;
}

int load_plan(const struct world *world, const struct args *args, struct loaded *loaded)
{
    int status = load_policy(world, args, loaded);
    if (status == 0)
        status = check_looks(world, loaded);
    if (status)
        return status;
    struct style style = style_for_err(world);
    style.home = loaded->request.home;
    say_diags(world, &style, &loaded->diags);
    if (loaded->diags.errors)
        return EXIT_BAD_INPUT;
    struct plan_request request = {
        .nested = args->flags & FLAG_NESTED,
        .degraded = args->degraded,
        .lacking = loaded->machine.lacking,
        .is_root = loaded->machine.is_root,
        .cgroup_memory = loaded->machine.cgroup.holds_memory,
        .cgroup_pids = loaded->machine.cgroup.holds_pids,
    };
    plan_make(&loaded->policy, &request, &loaded->plan);
    return check_looks(world, loaded);
}

int load_there(const struct world *world, const char *workspace, struct loaded *loaded)
{
    static const char *const no_command[] = {NULL};
    struct argument rules[] = {{VERB_WORKSPACE, workspace}};
    struct args args = {.command = no_command};
    struct world there = *world;
    there.directory = workspace;
    args.rules.at = rules;
    args.rules.count = array_len(rules);
    return load_plan(&there, &args, loaded);
}

char *load_settings(const struct loaded *loaded, const char *name, size_t most)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    char *text = NULL;
    size_t size;
    const char *path =
        arena_printf(loaded->policy.arena, "%s/bawn/%s", loaded->request.starts[START_CONFIG], name);
    if (fs_resolve(loaded->request.fs, path, &place, &ignored) < 0 || place->kind != FILE_REGULAR ||
        fs_read(loaded->request.fs, place->real, most, &text, &size, &ignored) <= 0)
        return NULL;
    return text;
}

void loaded_free(struct loaded *loaded)
{
    plan_free(&loaded->plan);
    policy_free(&loaded->policy);
    diags_free(&loaded->diags);
    fs_free(&loaded->fs);
    arena_free(&loaded->arena);
}
