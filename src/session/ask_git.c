#include "session/ask_git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "supervise/supervise.h"

enum { OUTPUT_LARGEST = 64 * 1024 * 1024, SECONDS = 20 };

/* Without namespaces there is no /tmp of its own: git has a directory in its home, with a name that nobody could put there before. */
static const char *make_scratch(struct arena *arena, const char *home)
{
    char *path = arena_printf(arena, "%s/.bawn-XXXXXX", home);
    return mkdtemp(path);
}

static void remove_scratch(struct arena *arena, const char *scratch)
{
    struct err ignored;
    auto_fd int home_fd = open_directory_at(AT_FDCWD, path_parent(arena, scratch));
    if (home_fd >= 0 && remove_tree(home_fd, path_name(scratch), &ignored) < 0)
        return; /* it goes with the home */
}

static const char *const *add_variable(struct arena *arena, const char *const *environment,
                                       const char *variable)
{
    size_t count = 0;
    while (environment[count])
        count++;
    const char **all = arena_alloc(arena, (count + 2) * sizeof(*all));
    memcpy(all, environment, count * sizeof(*all));
    all[count] = variable;
    all[count + 1] = NULL;
    return all;
}

/* Runs the command without a session: nothing is recorded and nothing is printed. */
static int run_alone(const struct git_asker *asker, const struct git_errand *errand)
{
    const struct run_request request = {.is_exact = true,
                                        .rules = errand->rules,
                                        .rule_count = errand->rule_count,
                                        .command = errand->command,
                                        .read_only = errand->is_read_only};
    struct caller quiet = *asker->caller;
    quiet.directory = errand->work_tree;
    struct loaded loaded = {0};
    struct loop loop = {0};
    struct tripwires tripwires = TRIPWIRES_NONE; /* bawn's own call of git needs no tripwires */
    struct launched launched = LAUNCHED_NONE;
    struct standstill standstill = {.launched = &launched};
    struct err err = {0};
    struct outcome outcome = {.status = EXIT_REFUSED};
    if (load_plan(&quiet, &request, &loaded) != 0)
        return EXIT_REFUSED;
    bool is_bare = loaded.plan.request.on == ON_LANDLOCK;
    const char *scratch = is_bare ? make_scratch(&loaded.arena, errand->home) : "/tmp";
    if (!scratch)
        return EXIT_REFUSED;
    const char *const *environment =
        add_variable(&loaded.arena, errand->environment, arena_printf(&loaded.arena, "TMPDIR=%s", scratch));
    struct launch launch = {.operations = &loaded.plan.operations,
                            .cgroup_place = &loaded.machine.cgroup,
                            .command = errand->command,
                            .environment = environment,
                            .own_arguments = asker->launch->own_arguments,
                            .own_arguments_size = asker->launch->own_arguments_size,
                            .directory = errand->work_tree,
                            .home = errand->home,
                            .scratch = is_bare ? scratch : NULL,
                            .terminal_fd = -1,
                            .own_group = true,
                            .seconds = errand->seconds};
    struct localhost localhost = LOCALHOST_NONE;
    struct foreground foreground = FOREGROUND_NONE;
    foreground.launch = &launch;
    foreground.launched = &launched;
    foreground.loop = &loop;
    bool has_run = launch_start(&launch, &launched, &err) == 0 &&
                   supervise(&foreground, &standstill, &tripwires, &localhost, &outcome, &err) == 0;
    if (is_bare)
        remove_scratch(&loaded.arena, scratch);
    return has_run ? outcome.status : EXIT_REFUSED;
}

static _Noreturn void become_git(const struct git_asker *asker, const struct git_errand *errand)
{
    auto_fd int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0 || dup2(errand->input_fd ? errand->input_fd : nowhere, STDIN_FILENO) < 0 ||
        dup2(errand->output_fd ? errand->output_fd : nowhere, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0 || chdir(errand->work_tree) < 0)
        _exit(EXIT_REFUSED);
    _exit(run_alone(asker, errand));
}

int run_errand(const struct git_asker *asker, const struct git_errand *errand)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        become_git(asker, errand);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

static int input_file(const struct buf *input)
{
    auto_fd int fd = memfd_create("bawn-input", MFD_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, input->bytes, input->size) == (ssize_t)input->size &&
                      lseek(fd, 0, SEEK_SET) == 0;
    return is_written ? fd_take(&fd) : -1;
}

/*
 * Nothing in the repository changes what git reads: no replacement, no graft, no commit-graph and no fetch of what is
 * missing.
 */
static const char *const plain_environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                                "GIT_CONFIG_NOSYSTEM=1",
                                                "GIT_CONFIG_PARAMETERS='core.commitgraph=false'",
                                                "GIT_NO_REPLACE_OBJECTS=1",
                                                "GIT_GRAFT_FILE=/dev/null",
                                                "GIT_OPTIONAL_LOCKS=0",
                                                "GIT_NO_LAZY_FETCH=1",
                                                "LC_ALL=C",
                                                NULL};

/* The plain one, and what makes objects that have arrived count beside the repository's own. */
static void make_environment(const struct git_asker *asker, struct arena *arena, const char **ret_environment)
{
    size_t count = 0;
    for (; plain_environment[count]; count++)
        ret_environment[count] = plain_environment[count];
    if (!asker->arrived)
        return;
    const char *shallow = arena_printf(arena, "%s/shallow", asker->arrived);
    ret_environment[count++] = arena_printf(arena, "GIT_OBJECT_DIRECTORY=%s/objects", asker->arrived);
    if (asker->git_dir)
        ret_environment[count++] =
            arena_printf(arena, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s/objects", asker->git_dir);
    if (access(shallow, F_OK) == 0)
        ret_environment[count++] = arena_printf(arena, "GIT_SHALLOW_FILE=%s", shallow);
}

/* Reads all of the output, up to the limit. A program that has more to say is ended by SIGPIPE, and fails. */
static void read_output(int fd, struct buf *ret_output)
{
    char part[65536];
    for (ssize_t got; ret_output->size < OUTPUT_LARGEST &&
                      ((got = read(fd, part, sizeof(part))) > 0 || (got < 0 && errno == EINTR));)
        buf_add(ret_output, part, got > 0 ? (size_t)got : 0);
}

int ask_git(void *asker, const char *work_tree, const char *const *command, const struct buf *input,
            struct buf *ret_output)
{
    int output[2], status = 0;
    auto_fd int input_fd = input_file(input);
    if (input_fd < 0 || pipe2(output, O_CLOEXEC) < 0)
        return -1;
    const struct git_asker *of = asker;
    const struct argument rules[] = {
        {VERB_WORKSPACE, work_tree}, {VERB_NET, "off"}, {VERB_READ, of->arrived}};
    const char *environment[array_len(plain_environment) + 3] = {0};
    struct arena arena = {0};
    make_environment(of, &arena, environment);
    struct git_errand errand = {.work_tree = work_tree,
                                .home = of->launch->home,
                                .command = command,
                                .environment = environment,
                                .rules = rules,
                                .rule_count = array_len(rules) - !of->arrived,
                                .is_read_only = true,
                                .seconds = SECONDS,
                                .input_fd = input_fd,
                                .output_fd = output[1]};
    pid_t child = fork();
    if (child == 0)
        become_git(of, &errand);
    close(output[1]);
    if (child > 0)
        read_output(output[0], ret_output);
    close(output[0]);
    arena_free(&arena);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}
