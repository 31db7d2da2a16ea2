#include "session/load.h"

#include <string.h>

#include "base/path.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "trust/trust.h"

static bool is_trusted(void *context, const char *workspace, const char *text, size_t size)
{
    struct loaded *loaded = context;
    return trust_holds(&loaded->fs, loaded->request.starts[START_DATA], workspace, text, size);
}

/* The XDG specification: a value that is not an absolute path counts as unset. */
static const char *folder(const struct caller *caller, struct loaded *loaded, const char *variable,
                          const char *default_in_home)
{
    const char *value = caller_variable(caller, variable);
    const struct fs_place *place = NULL;
    struct err ignored;
    if (value && *value == '/') {
        const char *path = path_clean(&loaded->arena, "/", value);
        return fs_resolve(&loaded->fs, path, &place, &ignored) < 0 ? path : place->real;
    }
    return default_in_home ? path_join(&loaded->arena, loaded->request.home, default_in_home) : NULL;
}

static int find_home(const struct caller *caller, struct loaded *loaded, struct err *err)
{
    const char *home = caller_variable(caller, "HOME");
    if (!home || !*home)
        home = caller->account_home;
    if (!home || *home != '/') {
        err_set(err, "your home directory is unknown: HOME is not an absolute path");
        return err_hint(err, "set HOME");
    }
    const struct fs_place *place = NULL;
    loaded->request.home_spelled = path_clean(&loaded->arena, "/", home);
    if (fs_resolve(&loaded->fs, loaded->request.home_spelled, &place, err) < 0)
        return -1;
    if (place->kind != FILE_DIRECTORY) {
        err_set(err, "your home directory %s does not exist", home);
        return err_hint(err, "set HOME to an existing directory");
    }
    loaded->request.home = place->real;
    return 0;
}

int load_request(const struct caller *caller, struct loaded *loaded)
{
    *loaded = (struct loaded){0};
    loaded->fs = (struct fsview){.root_fd = caller->root_fd, .arena = &loaded->arena};
    loaded->diags.arena = &loaded->arena;
    struct policy_request *request = &loaded->request;
    request->fs = &loaded->fs;
    request->environment = caller->environment;
    request->own_path = caller->own_path;
    request->is_trusted = is_trusted;
    request->trust_context = loaded;
    struct err err = {0};
    const struct fs_place *directory = NULL;
    if (find_home(caller, loaded, &err) < 0 ||
        fs_resolve(&loaded->fs, caller->directory, &directory, &err) < 0) {
        caller_say_err(caller, &err);
        return EXIT_BAD_INPUT;
    }
    request->directory = directory->real;
    request->starts[START_HOME] = request->home;
    request->starts[START_CONFIG] = folder(caller, loaded, "XDG_CONFIG_HOME", ".config");
    request->starts[START_DATA] = folder(caller, loaded, "XDG_DATA_HOME", ".local/share");
    request->starts[START_STATE] = folder(caller, loaded, "XDG_STATE_HOME", ".local/state");
    request->starts[START_CACHE] = folder(caller, loaded, "XDG_CACHE_HOME", ".cache");
    request->starts[START_RUNTIME] = folder(caller, loaded, "XDG_RUNTIME_DIR", NULL);
    const char *extra = caller_variable(caller, "BAWN_POLICY");
    request->extra_policy = extra && *extra ? extra : NULL;
    return 0;
}

const char *load_path(struct arena *arena, const struct policy_request *request, const char *typed)
{
    const char *path = path_clean(arena, request->directory, typed), *spelled = request->home_spelled;
    return path_is_beneath(path, spelled) ? arena_printf(arena, "%s%s", request->home, path + strlen(spelled))
                                          : path;
}

int load_policy(const struct caller *caller, const struct run_request *asked, struct loaded *loaded)
{
    int status = load_request(caller, loaded);
    if (status)
        return status;
    struct policy_request *request = &loaded->request;
    request->arguments = asked->rules;
    request->argument_count = asked->rule_count;
    request->read_only = asked->read_only;
    request->full_access = asked->full_access;
    if (caller->machine)
        loaded->machine = *caller->machine;
    else
        caller->look_at_machine(asked->degraded, &loaded->machine);
    request->memory = loaded->machine.memory;
    request->fresh_home = asked->fresh_home;
    request->is_exact = asked->is_exact;
    request->workspace_remedy = asked->workspace_remedy;
    request->unlinked = asked->unlinked;
    request->command = asked->command && *asked->command ? asked->command : NULL;
    request->agent = asked->agent;
    policy_compose(request, &loaded->arena, &loaded->policy, &loaded->diags);
    return 0;
}

/* ENOMEM, EMFILE and EIO must not be read as "file absent": that would decide which paths are open. */
static int check_looks(const struct caller *caller, const struct loaded *loaded)
{
    struct err err;
    if (fs_check(&loaded->fs, &err) == 0)
        return 0;
    caller_say_err(caller, &err);
    return EXIT_REFUSED;
}

void load_say_diags(const struct speaker *speaker, const struct loaded *loaded)
{
    const struct style style = {.colours = speaker->has_colours, .home = loaded->request.home};
    auto_buf struct buf text = {0};
    report_add_diags(&text, &style, &loaded->diags);
    speaker->show(speaker, &text);
}

static enum foundation choose_foundation(const struct caller *caller, const struct run_request *asked)
{
    if (asked->on)
        return *asked->on;
    return caller->lacks_namespaces && caller->lacks_namespaces(caller->namespaces_context) ? ON_LANDLOCK
                                                                                            : ON_NAMESPACES;
}

/* Why secrets cannot stay outside here. Nobody looks for bawn-vault unless there is a secret. */
static const char *find_no_vault(const struct caller *caller, const struct loaded *loaded)
{
    vec_each (const struct rule, rule, &loaded->policy.rules) {
        if (rule->verb != VERB_SECRET || (!caller_variable(caller, rule->secret->name) &&
                                          !secret_login_file(&loaded->policy, rule->secret)))
            continue;
        return caller->lacks_vault && caller->lacks_vault() ? "bawn-vault is not installed" : NULL;
    }
    return NULL;
}

int load_plan(const struct caller *caller, const struct run_request *asked, struct loaded *loaded)
{
    int status = load_policy(caller, asked, loaded);
    if (status == 0)
        status = check_looks(caller, loaded);
    if (status)
        return status;
    load_say_diags(caller->speaker, loaded);
    if (loaded->diags.errors)
        return EXIT_BAD_INPUT;
    enum foundation on = choose_foundation(caller, asked);
    loaded->policy.request.no_vault = find_no_vault(caller, loaded);
    struct plan_request request = {
        .nested = asked->nested,
        .degraded = asked->degraded,
        .lacking = loaded->machine.lacking,
        .on = on,
        .is_root = loaded->machine.is_root,
        .asks = asked->asks || decide_switch(&loaded->policy, VERB_ASK, false),
        .cgroup_memory = loaded->machine.cgroup.holds_memory,
        .cgroup_pids = loaded->machine.cgroup.holds_pids,
    };
    plan_make(&loaded->policy, &request, &loaded->plan);
    return check_looks(caller, loaded);
}

int load_there(const struct caller *caller, const char *workspace, struct loaded *loaded)
{
    const struct argument rules[] = {{VERB_WORKSPACE, workspace}};
    const struct run_request request = {.rules = rules, .rule_count = array_len(rules), .is_exact = true};
    struct caller there = *caller;
    there.directory = workspace;
    return load_plan(&there, &request, loaded);
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

struct profile_finder load_finder(struct loaded *loaded)
{
    return (struct profile_finder){
        .fs = &loaded->fs,
        .user_directory = path_join(&loaded->arena, loaded->request.starts[START_CONFIG], "bawn/profiles"),
        .admin_directory = "/etc/bawn/profiles",
    };
}

const char *load_store(const struct loaded *loaded, struct arena *arena)
{
    return arena_printf(arena, "%s/bawn/snapshots", loaded->request.starts[START_DATA]);
}

void loaded_free(struct loaded *loaded)
{
    plan_free(&loaded->plan);
    policy_free(&loaded->policy);
    diags_free(&loaded->diags);
    fs_free(&loaded->fs);
    arena_free(&loaded->arena);
}
