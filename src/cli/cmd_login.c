/*
 * `bawn login`: an agent's first login, in a sandbox without a project, with the user's browser outside. The
 * agent's output is shown line by line, and the user is asked about each page. All of it comes from inside and is
 * untrusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/commands.h"
#include "cli/login_pages.h"
#include "cli/say.h"
#include "cli/world.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/own_program.h"
#include "kernel/process.h"
#include "policy/parse.h"
#include "session/load.h"

const char login_usage[] = "bawn login [--yes] AGENT [-- ARGUMENT...]\n"
                           "\n"
                           "Run the agent's own login in a sandbox without a project. bawn shows the page\n"
                           "that the agent wants to open, and opens it in your browser if you agree. Only\n"
                           "https is allowed, and only hosts that the agent's profile names for its login.\n"
                           "The answer comes back through a port of 127.0.0.1. Afterwards the agent is\n"
                           "logged in inside and outside.\n"
                           "\n"
                           "  --yes        do not ask (needed without a terminal)\n"
                           "  ARGUMENT...  further arguments for the agent's login\n"
                           "\n"
                           "$BAWN_BROWSER is the full path of the browser; the default is xdg-open.\n"
                           "\n"
                           "  bawn login codex\n"
                           "  bawn login claude -- --console\n";

enum { LINE_LONGEST = 2 * URL_LONGEST };

/* The agent finds this script as its browser. It passes the address to bawn. */
static const char messenger[] = "#!/bin/sh\n"
                                "for page; do :; done\n" /* the last argument; flags may precede it */
                                "printf '%s\\n' \"$page\" >\"${0%/*}/../pages\"\n";

/* Makes the script and the pipe for its addresses. */
static int login_prepare(struct login *login, struct err *err)
{
    auto_fd int folder_fd = open_directory_at(AT_FDCWD, login->folder);
    auto_fd int file_fd =
        folder_fd < 0 || mkdirat(folder_fd, "bin", 0700) < 0
            ? -1
            : openat(folder_fd, "bin/xdg-open", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
    ssize_t size = (ssize_t)strlen(messenger);
    if (file_fd < 0 || write(file_fd, messenger, (size_t)size) != size ||
        mkfifoat(folder_fd, "pages", 0600) < 0)
        return err_sys(err, errno, "cannot prepare %s", login->folder);
    /* O_RDWR, so that it never reports the end of input. */
    login->page_fd = openat(folder_fd, "pages", O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    return login->page_fd < 0 ? err_sys(err, errno, "cannot open %s/pages", login->folder) : 0;
}

/* Reads, and handles each line. Returns false at the end of input. */
static bool hear(struct login *login, int fd, struct buf *line,
                 void (*take)(struct login *, const char *, size_t))
{
    char bytes[4096];
    ssize_t size = read(fd, bytes, sizeof(bytes));
    if (size < 0)
        return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < size; i++) {
        if (bytes[i] != '\n' && line->size < LINE_LONGEST) {
            buf_add_char(line, bytes[i]);
            continue;
        }
        take(login, buf_text(line), line->size);
        line->size = 0;
    }
    if (size == 0 && line->size)
        take(login, buf_text(line), line->size);
    return size > 0;
}

/* Serves the agent until it ends. Returns its status. */
static int login_attend(struct login *login)
{
    struct pollfd ready[] = {{.fd = login->output_fd, .events = POLLIN},
                             {.fd = login->page_fd, .events = POLLIN},
                             {.fd = login->signal_fd, .events = POLLIN}};
    bool goes_on = true;
    while (goes_on) {
        if (poll(ready, array_len(ready), -1) < 0)
            continue;
        struct signalfd_siginfo signal;
        if (ready[2].revents && read(login->signal_fd, &signal, sizeof(signal)) == sizeof(signal)) {
            login->stopped_by = (int)signal.ssi_signo;
            kill(login->child, SIGTERM); /* bawn ends the agent, and then the output ends */
            ready[2].fd = -1;
            ready[1].fd = -1;
        }
        if (ready[1].revents && ready[1].fd >= 0)
            goes_on = hear(login, login->page_fd, &login->page, login_hear_page);
        if (ready[0].revents)
            goes_on = hear(login, login->output_fd, &login->output, login_hear_line);
    }
    return process_wait(login->child);
}

static void login_free(struct login *login)
{
    const int fds[] = {login->output_fd, login->page_fd, login->signal_fd};
    for (size_t i = 0; i < array_len(fds); i++)
        fd_close(fds[i]);
    buf_free(&login->output);
    buf_free(&login->page);
    vec_free(&login->offered);
}

/* --- the run ------------------------------------------------------------------------------------------------------------ */

/* The login as the agent's profile describes it. */
struct manner {
    const char *profile; /* "agent/codex" */
    fs_names command;    /* the agent and its login arguments, ended by NULL */
    fs_names hosts;
};

static void add_words(const struct args *args, struct manner *manner)
{
    for (const char *const *word = args->command; *word; word++)
        vec_push(&manner->command, *word);
    vec_push(&manner->command, NULL);
}

/* Returns 0, or the exit status after saying what is wrong. */
static int find_manner(const struct world *world, const struct args *args, struct loaded *loaded,
                       struct manner *manner)
{
    const char *agent = args->words.at[0];
    struct profile_finder finder = load_finder(loaded);
    manner->profile = arena_printf(&loaded->arena, "agent/%s", agent);
    if (profile_name_is_valid(manner->profile)) {
        profile_words(&finder, manner->profile, VERB_MATCH, &manner->command);
        profile_words(&finder, manner->profile, VERB_BROWSE, &manner->hosts);
    }
    if (manner->command.count == 0) {
        const char *closest = profile_closest(&finder, manner->profile);
        return say_bad_input(world, arena_printf(&loaded->arena, "there is no agent '%s'", agent),
                             closest && text_starts_with(closest, "agent/")
                                 ? arena_printf(&loaded->arena, "did you mean %s?", path_name(closest))
                                 : "`bawn profiles` lists them");
    }
    if (manner->hosts.count == 0)
        return say_bad_input(world,
                             arena_printf(&loaded->arena, "the profile of %s has no login page", agent),
                             arena_printf(&loaded->arena, "use the login of %s itself: `bawn %s`", agent,
                                          manner->command.at[0]));
    manner->command.count = 1; /* the other names are those of packages */
    profile_words(&finder, manner->profile, VERB_LOGIN, &manner->command);
    add_words(args, manner);
    return 0;
}

/* The arguments of the bawn that runs the agent. */
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
        vec_push(&words, manner->command.at[i]); /* including the NULL at the end */
    return (char **)words.at;
}

/*
 * The caller's environment with bawn's script as browser, and without colours, since output is shown as plain text.
 */
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
    vec_push(&variables, arena_printf(login->arena, "BROWSER=%s/bin/xdg-open", login->folder));
    vec_push(&variables, arena_printf(login->arena, "PATH=%s/bin:%s", login->folder, path ? path : ""));
    vec_push(&variables, "TERM=dumb");
    vec_push(&variables, "NO_COLOR=1");
    vec_push(&variables, NULL);
    return (char **)variables.at;
}

/* Runs the agent without a terminal and without input, in the folder. */
static _Noreturn void become_run(const struct login *login, int write_fd, char **words, char **environment,
                                 const sigset_t *mask)
{
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nowhere >= 0 && setsid() >= 0 && chdir(login->folder) == 0 &&
        dup2(nowhere, STDIN_FILENO) == STDIN_FILENO && dup2(write_fd, STDOUT_FILENO) == STDOUT_FILENO &&
        dup2(write_fd, STDERR_FILENO) == STDERR_FILENO && sigprocmask(SIG_SETMASK, mask, NULL) == 0 &&
        prctl(PR_SET_PDEATHSIG, SIGTERM) == 0)
        own_program_become(OWN_PROGRAM, (const char *const *)words, (const char *const *)environment);
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

/* Finds the files that store the login. Fails if there are none, because the login would be lost with the run. */
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
    return say_bad_input(world,
                         arena_printf(&loaded->arena,
                                      "the login of %s is kept in the private home of each workspace",
                                      run.agent),
                         arena_printf(&loaded->arena, "log in there: `bawn %s`", manner->command.at[0]));
}

/* Reports the result of the login. */
static int tell_end(const struct login *login, struct loaded *loaded, const fs_names *files, int status)
{
    const struct world *world = login->world;
    const char *agent = login->agent;
    struct style style = style_for_out(world, loaded->request.home);
    const char *stored = NULL;
    for (size_t i = 0; i < files->count && !stored; i++)
        stored = access(files->at[i], F_OK) == 0 ? files->at[i] : NULL;
    if (status == 0 && stored) {
        fprintf(world->out, "%s is logged in. bawn keeps %s the same inside and outside.\n", agent,
                style_path(&style, &loaded->arena, stored));
        return EXIT_FINE;
    }
    if (login->stopped_by) {
        say_problem(world, arena_printf(&loaded->arena, "the login of %s was stopped", agent), NULL);
        return 128 + login->stopped_by;
    }
    say_problem(world,
                status ? arena_printf(&loaded->arena, "the login of %s ended with status %d", agent, status)
                       : arena_printf(&loaded->arena, "%s ended without a login", agent),
                NULL);
    return status ? status : 1;
}

/*
 * Agents keep their history by workspace, and this workspace is thrown away: so is the folder that a rule with $SLUG made for it outside. Its
 * name is that of the folder in /tmp, which no other workspace has.
 */
static void remove_history(const struct plan *plan)
{
    const struct workspace *workspace = &plan->policy->workspaces.at[0];
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_BIND_WRITE || !operation->make ||
            strcmp(path_name(operation->path), workspace->slug) != 0)
            continue;
        struct err ignored; /* what cannot be removed is an empty folder in most cases */
        auto_fd int parent_fd =
            open_directory_at(AT_FDCWD, path_parent(plan->policy->arena, operation->path));
        if (parent_fd >= 0 && remove_tree(parent_fd, workspace->slug, &ignored) < 0)
            return;
    }
}

static int log_in(const struct world *world, const struct args *args, const struct manner *manner,
                  const char *folder)
{
    auto_loaded struct loaded loaded = {0};
    auto_vec fs_names files = {0};
    struct err err = {0};
    int status = find_logins(world, args, manner, folder, &loaded, &files);
    if (status)
        return status;
    struct login login = {.world = world,
                          .arena = &loaded.arena,
                          .agent = path_name(manner->profile),
                          .state = loaded.request.starts[START_STATE],
                          .folder = loaded.request.directory,
                          .hosts = manner->hosts,
                          .asks = !(args->flags & FLAG(YES)),
                          .output_fd = -1,
                          .page_fd = -1,
                          .signal_fd = -1};
    if (login_prepare(&login, &err) < 0 || start_run(&login, manner, &err) < 0)
        status = say_refused(world, &err);
    else
        status = tell_end(&login, &loaded, &files, login_attend(&login));
    remove_history(&loaded.plan);
    login_free(&login);
    return status;
}

int cmd_login(const struct world *world, const struct args *args)
{
    if (args->words.count != 1)
        return say_bad_input(world, "`bawn login` needs the name of one agent", "`bawn profiles` lists them");
    auto_loaded struct loaded loaded = {0};
    struct manner manner = {0};
    struct err err = {0};
    int status = load_request(&world->caller, &loaded);
    if (status == 0)
        status = find_manner(world, args, &loaded, &manner);
    if (status == 0 && !(args->flags & FLAG(YES)) && !world->in_is_terminal)
        status = say_bad_input(
            world, "there is no terminal to ask on before a page is opened",
            arena_printf(&loaded.arena, "pass --yes: `bawn login --yes %s`", args->words.at[0]));
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
    return status;
}
