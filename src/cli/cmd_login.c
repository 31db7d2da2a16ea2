/* An agent's first login: in a sandbox without a project, with the user's browser outside. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/login.h"
#include "cli/say.h"
#include "kernel/process.h"
#include "kernel/remove.h"
#include "policy/object.h"
#include "policy/profile.h"

/* What the profile says of the agent's login. */
struct manner {
    const char *profile; /* "agent/codex" */
    fs_names command;    /* the agent and its words for a login, ended by NULL */
    fs_names hosts;
};

static void add_words(const struct args *args, struct manner *manner)
{
    for (const char *const *word = args->command; *word; word++)
        vec_push(&manner->command, *word);
    vec_push(&manner->command, NULL);
}

/* Returns 0, or the exit status after having said what is wrong. */
static int find_manner(const struct world *world, const struct args *args, struct loaded *loaded,
                       struct manner *manner)
{
    const char *agent = args->words.at[0];
    struct profile_finder finder = {
        .fs = &loaded->fs,
        .user_directory = path_join(&loaded->arena, loaded->request.starts[START_CONFIG], "bawn/profiles"),
        .admin_directory = "/etc/bawn/profiles",
    };
    manner->profile = arena_printf(&loaded->arena, "agent/%s", agent);
    if (profile_name_is_valid(manner->profile)) {
        profile_words(&finder, manner->profile, VERB_MATCH, &manner->command);
        profile_words(&finder, manner->profile, VERB_BROWSE, &manner->hosts);
    }
    if (manner->command.count == 0) {
        const char *closest = profile_closest(&finder, manner->profile);
        say_problem(world, arena_printf(&loaded->arena, "there is no agent '%s'", agent),
                    closest && text_starts_with(closest, "agent/")
                        ? arena_printf(&loaded->arena, "did you mean %s?", path_name(closest))
                        : "`bawn profiles` lists them");
        return EXIT_BAD_INPUT;
    }
    if (manner->hosts.count == 0) {
        say_problem(world, arena_printf(&loaded->arena, "the profile of %s names no page for a login", agent),
                    arena_printf(&loaded->arena, "log in inside, as %s does it: `bawn %s`", agent,
                                 manner->command.at[0]));
        return EXIT_BAD_INPUT;
    }
    manner->command.count = 1; /* the other names are those of packages and the like */
    profile_words(&finder, manner->profile, VERB_LOGIN, &manner->command);
    add_words(args, manner);
    return 0;
}

/* bawn's own words for the run. */
static char **run_words(struct arena *arena, const struct manner *manner)
{
    VEC(const char *) words = {0};
    vec_push(&words, "bawn");
    vec_push(&words, "run");
    vec_push(&words, "--fresh-home");
    vec_push(&words, "--env=BROWSER");
    vec_push(&words, arena_printf(arena, "--agent=%s", path_name(manner->profile)));
    vec_push(&words, "--");
    for (size_t i = 0; i < manner->command.count; i++)
        vec_push(&words, manner->command.at[i]); /* with the NULL that ends them */
    return (char **)words.at;
}

/* The caller's, with a browser that tells us, and no colours: what is printed is shown as plain text. */
static char **run_environment(const struct world *world, const struct login *login)
{
    static const char *const own[] = {
        "BROWSER=", "PATH=", "TERM=", "NO_COLOR=", "FORCE_COLOR=", "CLICOLOR_FORCE="};
    const char *path = caller_variable(&world->caller, "PATH");
    VEC(const char *) variables = {0};
    for (size_t i = 0; world->caller.environment[i]; i++) {
        bool is_own = false;
        for (size_t j = 0; j < array_len(own); j++)
            is_own |= text_starts_with(world->caller.environment[i], own[j]);
        if (!is_own)
            vec_push(&variables, world->caller.environment[i]);
    }
    vec_push(&variables, arena_printf(login->arena, "BROWSER=%s/xdg-open", login->folder));
    vec_push(&variables, arena_printf(login->arena, "PATH=%s:%s", login->folder, path ? path : ""));
    vec_push(&variables, "TERM=dumb");
    vec_push(&variables, "NO_COLOR=1");
    vec_push(&variables, NULL);
    return (char **)variables.at;
}

/* Without a terminal, without what the user types, in the folder. */
static _Noreturn void become_run(const struct login *login, int write_fd, char **words, char **environment,
                                 const sigset_t *mask)
{
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nowhere >= 0 && setsid() >= 0 && chdir(login->folder) == 0 &&
        dup2(nowhere, STDIN_FILENO) == STDIN_FILENO && dup2(write_fd, STDOUT_FILENO) == STDOUT_FILENO &&
        dup2(write_fd, STDERR_FILENO) == STDERR_FILENO && sigprocmask(SIG_SETMASK, mask, NULL) == 0 &&
        prctl(PR_SET_PDEATHSIG, SIGTERM) == 0)
        execve("/proc/self/exe", words, environment);
    _exit(EXIT_REFUSED);
}

static int start_run(struct login *login, const struct manner *manner, struct err *err)
{
    sigset_t ending = process_ending_signals(), before;
    int ends[2];
    char **words = run_words(login->arena, manner), **environment = run_environment(login->world, login);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    sigprocmask(SIG_BLOCK, &ending, &before);
    login->signal_fd = signalfd(-1, &ending, SFD_CLOEXEC);
    login->output_fd = ends[0];
    fflush(login->world->out);
    login->child = fork();
    if (login->child == 0)
        become_run(login, ends[1], words, environment, &before);
    close(ends[1]);
    free(words);
    free(environment);
    return login->child < 0 || login->signal_fd < 0 ? err_sys(err, errno, "cannot start the login") : 0;
}

/* The files in which the login is kept; none where it would be lost with the run. */
static int find_logins(const struct world *world, const struct args *args, const struct manner *manner,
                       const char *folder, struct loaded *loaded, fs_names *ret_files)
{
    struct caller there = world->caller;
    there.directory = folder;
    struct run_request run = args_place(args);
    run.command = manner->command.at;
    run.agent = path_name(manner->profile);
    run.fresh_home = true;
    int status = load_plan(&there, &run, loaded);
    for (size_t i = 0; status == 0 && i < loaded->plan.operations.count; i++) {
        if (loaded->plan.operations.at[i].kind == OP_SYNC)
            vec_push(ret_files, loaded->plan.operations.at[i].source);
    }
    if (status || ret_files->count)
        return status;
    say_problem(world,
                arena_printf(&loaded->arena, "the login of %s is kept in the private home of each workspace",
                             run.agent),
                arena_printf(&loaded->arena, "log in there: `bawn %s`", manner->command.at[0]));
    return EXIT_BAD_INPUT;
}

/* What has become of it. */
static int tell_end(const struct world *world, struct loaded *loaded, const char *agent,
                    const fs_names *files, int status)
{
    struct style style = style_for_out(world);
    style.home = loaded->request.home;
    const char *kept = NULL;
    for (size_t i = 0; i < files->count && !kept; i++)
        kept = access(files->at[i], F_OK) == 0 ? files->at[i] : NULL;
    if (status == 0 && kept) {
        fprintf(world->out, "%s is logged in. %s is kept the same inside and outside.\n", agent,
                style_path(&style, &loaded->arena, kept));
        return EXIT_FINE;
    }
    say_problem(world,
                status ? arena_printf(&loaded->arena, "the login of %s ended with status %d", agent, status)
                       : arena_printf(&loaded->arena, "%s ended, and there is no login", agent),
                NULL);
    return status ? status : 1;
}

static int log_in(const struct world *world, const struct args *args, const struct manner *manner,
                  const char *folder)
{
    struct loaded loaded = {0};
    fs_names files = {0};
    struct err err = {0};
    int status = find_logins(world, args, manner, folder, &loaded, &files);
    if (status == 0) {
        struct login login = {.world = world,
                              .arena = &loaded.arena,
                              .agent = path_name(manner->profile),
                              .state = loaded.request.starts[START_STATE],
                              .folder = loaded.request.directory,
                              .hosts = manner->hosts,
                              .asks = !(args->flags & FLAG_YES),
                              .output_fd = -1,
                              .page_fd = -1,
                              .signal_fd = -1};
        if (login_furnish(&login, &err) < 0 || start_run(&login, manner, &err) < 0) {
            say_err(world, &err);
            status = EXIT_REFUSED;
        } else {
            status = tell_end(world, &loaded, login.agent, &files, login_attend(&login));
        }
        login_free(&login);
    }
    vec_free(&files);
    loaded_free(&loaded);
    return status;
}

int cmd_login(const struct world *world, const struct args *args)
{
    if (args->words.count != 1) {
        say_problem(world, "`bawn login` wants the name of one agent", "`bawn profiles` lists them");
        return EXIT_BAD_INPUT;
    }
    if (!(args->flags & FLAG_YES) && !world->in_is_terminal) {
        say_problem(world, "nobody can be asked here which page may be opened",
                    "`bawn login --yes` does not ask");
        return EXIT_BAD_INPUT;
    }
    struct loaded loaded = {0};
    struct manner manner = {0};
    struct err err = {0};
    int status = load_request(&world->caller, &loaded);
    if (status == 0)
        status = find_manner(world, args, &loaded, &manner);
    char folder[] = "/tmp/bawn-login-XXXXXX";
    if (status == 0 && !mkdtemp(folder)) {
        say_problem(world, "cannot make a folder in /tmp for the login", NULL);
        status = EXIT_REFUSED;
    } else if (status == 0) {
        status = log_in(world, args, &manner, folder);
        auto_fd int parent_fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (remove_tree(parent_fd, path_name(folder), &err) < 0)
            say_err(world, &err);
    }
    vec_free(&manner.command);
    vec_free(&manner.hosts);
    loaded_free(&loaded);
    return status;
}
