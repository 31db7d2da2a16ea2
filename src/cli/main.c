/* The program: fills struct world with the real one and calls bawn_main. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/say.h"
#include "cli/world.h"
#include "kernel/account.h"
#include "kernel/process.h"

/* The home of the caller's account, stored in `room`; NULL if HOME is set or the account is not found. */
static const char *account_home(const struct world *world, char room[ACCOUNT_LARGEST])
{
    const char *home = caller_variable(&world->caller, "HOME");
    if (home && *home)
        return NULL; /* not needed */
    struct passwd account;
    return account_find(getuid(), &account, room) ? account.pw_dir : NULL;
}

/* Opens /dev/null on closed standard streams, so that no file of bawn's gets their numbers. */
static bool occupy_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            return false;
    }
    return true;
}

/* Fewer system calls: allocates in larger steps, and returns memory to the kernel later. */
static void keep_memory(void)
{
    mallopt(M_TOP_PAD, 512 * 1024);
    mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024);
}

/* A handler does not outlive an exec, as "ignored" would: the command gets the signal as ever. */
static void do_nothing(int signal_number)
{
    (void)signal_number;
}

/* With `ulimit -f`, a write that is too long fails and is reported, in place of a signal that ends bawn without a word. */
static void survive_file_limit(void)
{
    struct sigaction before;
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = do_nothing}, NULL);
}

/* Buffers and walks of deep trees need so much. With less, bawn would end with a segmentation fault. */
static bool has_stack(void)
{
    enum { STACK_LEAST = 512 * 1024 };
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_LEAST;
}

/* With less, the folders that bawn makes for itself would be closed to it, now and in every later run. */
static bool keeps_own_rights(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return !(mask & S_IRWXU);
}

int main(int argument_count, char **arguments)
{
    keep_memory();
    bool has_streams = occupy_closed_streams();
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_free char *directory = getcwd(NULL, 0);
    auto_screen struct screen screen = {0};
    struct world world = {
        .caller =
            {
                .root_fd = root_fd,
                .directory = directory,
                .environment = (const char *const *)environ,
                .trace = trace_begin((const char *const *)environ),
                .look_at_machine = machine_look,
                .lacks_namespaces = machine_lacks_namespaces,
                .lacks_vault = machine_lacks_vault,
                .own_path = process_own_path,
            },
        .repairs = true,
        .in = stdin,
        .out = stdout,
        .err = stderr,
        .in_is_terminal = isatty(STDIN_FILENO),
        .out_is_terminal = isatty(STDOUT_FILENO),
        .err_is_terminal = isatty(STDERR_FILENO),
        .screen = &screen,
    };
    if (world.in_is_terminal && world.out_is_terminal)
        world.out = screen_stream(&screen, stdout);
    if (world.in_is_terminal && world.err_is_terminal)
        world.err = screen_stream(&screen, stderr);
    world_set_speaker(&world);
    survive_file_limit();
    if (!has_stack()) {
        say_problem(&world, "the stack limit is too small: bawn needs 512 KiB", "run `ulimit -s 8192` first");
        return EXIT_REFUSED;
    }
    if (!keeps_own_rights()) {
        say_problem(&world, "the umask takes rights from you yourself: bawn could not open what it makes",
                    "run `umask 077` first");
        return EXIT_REFUSED;
    }
    if (!has_streams || root_fd < 0) {
        say_problem(&world, root_fd < 0 ? "/ cannot be opened" : "/dev/null cannot be opened",
                    "the machine may be out of memory or file descriptors");
        return EXIT_REFUSED;
    }
    if (!directory || *directory != '/')
        return say_bad_input(&world, "the current directory does not exist",
                             "change to a directory that exists");
    char account[ACCOUNT_LARGEST];
    world.caller.account_home = account_home(&world, account);
    int status = bawn_main(&world, argument_count, arguments);
    if (fflush(world.out) != 0 || ferror(world.out)) {
        say_problem(&world, "the output could not be written", NULL);
        return EXIT_REFUSED;
    }
    return status;
}
