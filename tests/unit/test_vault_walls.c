/* The walls that both processes of the vault put around themselves, on this machine's kernel: each act is tried in a child without them first. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/landlock.h"
#include "unit.h"
#include "vault/vault.h"
#include "walled.h"

enum side { WITHOUT_WALLS, FRONT, BACK };

static char folder[] = "/tmp/bawn-vault-walls-XXXXXX";
static char secret[64], planted[64];
static int opened = -1, unbound = -1; /* a file that can be written and a socket, from before the walls */

static int enter_front(struct err *err)
{
    signal(SIGXFSZ, SIG_IGN);
    return confine(false, err);
}

static int enter_back(struct err *err)
{
    signal(SIGXFSZ, SIG_IGN);
    return confine(true, err);
}

static int outcome(int (*act)(void), enum side side)
{
    return outcome_behind(side == FRONT ? enter_front : side == BACK ? enter_back : NULL, act);
}

static int read_secret(void)
{
    return errno_of(open(secret, O_RDONLY | O_CLOEXEC));
}

static int read_users(void)
{
    return errno_of(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int read_own_memory(void)
{
    return errno_of(open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
}

static int list_root(void)
{
    return errno_of(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int list_trust_store(void)
{
    return errno_of(open("/etc/ssl", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int plant(void)
{
    return errno_of(open(planted, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int write_more(void)
{
    return errno_of(pwrite(opened, "x", 1, 0));
}

static int append(void)
{
    return errno_of(write(opened, "x", 1));
}

static int make_folder(void)
{
    int result = mkdir(planted, 0700);
    return result < 0 ? errno : errno_of(rmdir(planted));
}

static int change_mode(void)
{
    return errno_of(fchmod(opened, 0600));
}

static int execute(void)
{
    static char name[] = "true";
    static char *const words[] = {name, NULL}, *const none[] = {NULL};
    execve("/bin/true", words, none);
    return errno;
}

static int make_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return errno_of(child);
}

static void *do_nothing(void *self)
{
    return self;
}

static int make_thread(void)
{
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, do_nothing, NULL);
    return failed ? failed : pthread_join(thread, NULL);
}

static int make_socket(void)
{
    return errno_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int make_unix_socket(void)
{
    return errno_of(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int bind_socket(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return errno_of(bind(unbound, (const struct sockaddr *)&address, sizeof(address)));
}

static int listen_at_socket(void)
{
    return errno_of(listen(unbound, 1));
}

/* Without the walls: nobody listens there. */
static int dial(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int result = errno_of(connect(unbound, (const struct sockaddr *)&address, sizeof(address)));
    return result == ECONNREFUSED ? 0 : result;
}

static int trace(void)
{
    return errno_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int read_memory_by_call(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {folder, 1};
    int result = errno_of(process_vm_readv(getpid(), &here, 1, &there, 1, 0));
    return result;
}

static int signal_parent(void)
{
    return errno_of(kill(getppid(), 0));
}

static int become_dumpable(void)
{
    return errno_of(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int raise_limit(void)
{
    struct rlimit limit;
    return errno_of(prlimit(0, RLIMIT_FSIZE, NULL, &limit));
}

static int make_memory_file(void)
{
    return errno_of(memfd_create("x", MFD_CLOEXEC));
}

static int enter_namespace(void)
{
    return errno_of(unshare(CLONE_FS)); /* the kernel gives that to everybody */
}

/* What both need for their work. */
static int work(void)
{
    int pair[2];
    char byte = 'x';
    void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || munmap(memory, 1 << 20) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return errno;
    return errno_of(send(pair[0], &byte, 1, MSG_NOSIGNAL) == 1 && recv(pair[1], &byte, 1, 0) == 1 ? 0 : -1);
}

static bool prepare(void)
{
    static const int on = 1;
    if (*secret)
        return true;
    if (!mkdtemp(folder) || chmod(folder, 0777) < 0)
        return false;
    snprintf(secret, sizeof(secret), "%s/secret", folder);
    snprintf(planted, sizeof(planted), "%s/planted", folder);
    opened = open(secret, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    unbound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(unbound, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    return opened >= 0 && unbound >= 0;
}

TEST(no_file_can_be_read_or_written)
{
    REQUIRE(prepare());
    if (landlock_abi() == 0)
        SKIP("needs Landlock");
    static int (*const reads[])(void) = {read_secret, read_users, read_own_memory, list_root};
    for (size_t i = 0; i < array_len(reads); i++) {
        CHECK_INT(outcome(reads[i], WITHOUT_WALLS), 0);
        CHECK_INT(outcome(reads[i], FRONT), EPERM);
        CHECK_INT(outcome(reads[i], BACK), EACCES);
    }
    CHECK_INT(outcome(plant, FRONT), EPERM);
    CHECK_INT(outcome(plant, BACK), EACCES);
    CHECK_INT(access(planted, F_OK), -1);
    CHECK_INT(outcome(plant, WITHOUT_WALLS), 0);
    unlink(planted);
}

TEST(only_the_back_sees_the_trust_store)
{
    if (landlock_abi() == 0)
        SKIP("needs Landlock");
    if (access("/etc/ssl", F_OK) < 0)
        SKIP("needs /etc/ssl");
    CHECK_INT(outcome(list_trust_store, WITHOUT_WALLS), 0);
    CHECK_INT(outcome(list_trust_store, FRONT), EPERM);
    CHECK_INT(outcome(list_trust_store, BACK), 0);
}

TEST(no_file_can_grow_that_is_open)
{
    REQUIRE(prepare());
    for (enum side side = FRONT; side <= BACK; side++) {
        CHECK_INT(outcome(append, side), EFBIG);
        CHECK_INT(outcome(write_more, side), EPERM);
    }
    CHECK_INT(outcome(append, WITHOUT_WALLS), 0);
    CHECK_INT(outcome(write_more, WITHOUT_WALLS), 0);
}

TEST(other_calls_are_not_there)
{
    REQUIRE(prepare());
    static int (*const acts[])(void) = {
        make_folder,         change_mode,     execute,     make_process,     make_socket,
        make_unix_socket,    bind_socket,     dial,        listen_at_socket, trace,
        signal_parent,       become_dumpable, raise_limit, make_thread,      make_memory_file,
        read_memory_by_call, enter_namespace};
    for (size_t i = 0; i < array_len(acts); i++) {
        CHECK_INT(outcome(acts[i], FRONT), EPERM);
        CHECK_INT(outcome(acts[i], BACK), EPERM);
        CHECK_INT(outcome(acts[i], WITHOUT_WALLS), 0);
    }
    CHECK_INT(outcome(work, FRONT), 0);
    CHECK_INT(outcome(work, BACK), 0);
}

/* --- what others may do to it ------------------------------------------------------------------------------------- */

/* Waits, with the walls or without, until the test ends it. */
static pid_t start_target(enum side side)
{
    int ready[2];
    char byte = 0;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    pid_t target = fork();
    if (target == 0) {
        struct err err;
        struct timespec day = {.tv_sec = 86400};
        if (side != WITHOUT_WALLS && confine(side == BACK, &err) < 0)
            _exit(BROKEN);
        if (write(ready[1], "r", 1) == 1)
            ppoll(NULL, 0, &day, NULL);
        _exit(0);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        byte = 0;
    close(ready[0]);
    return byte == 'r' ? target : -1;
}

static int open_memory_of(pid_t target)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", target);
    return errno_of(open(path, O_RDONLY | O_CLOEXEC));
}

static int read_memory_of(pid_t target)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {folder, 1};
    return errno_of(process_vm_readv(target, &here, 1, &there, 1, 0));
}

static int trace_other(pid_t target)
{
    return errno_of(ptrace(PTRACE_SEIZE, target, NULL, NULL));
}

/* In a child that is an ordinary user, as the vault is then, too: what `act` gives for a process of that user. */
static int outcome_of_other(int (*act)(pid_t), enum side side)
{
    enum { SOMEBODY = 61234 };
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 &&
            (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0))
            _exit(BROKEN);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* which a change of the user id takes away */
        pid_t target = start_target(side);
        int result = target < 0 ? BROKEN : act(target);
        if (target > 0)
            kill(target, SIGKILL);
        _exit(result);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

TEST(nobody_of_the_same_user_looks_into_it)
{
    if (outcome_of_other(trace_other, WITHOUT_WALLS) != 0)
        SKIP("needs a kernel that lets a process trace its child");
    CHECK_INT(outcome_of_other(open_memory_of, WITHOUT_WALLS), 0);
    CHECK_INT(outcome_of_other(read_memory_of, WITHOUT_WALLS), 0);
    for (enum side side = FRONT; side <= BACK; side++) {
        CHECK_INT(outcome_of_other(trace_other, side), EPERM);
        CHECK_INT(outcome_of_other(open_memory_of, side), EACCES);
        CHECK_INT(outcome_of_other(read_memory_of, side), EPERM);
    }
}

/* Of a process, as the kernel shows them: of a core, and of any file. 1 means "less than any core has". */
static bool has_limits(enum side side, const char *core, const char *file)
{
    char path[64];
    auto_buf struct buf limits = {0};
    pid_t target = start_target(side);
    snprintf(path, sizeof(path), "/proc/%d/limits", target);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = target > 0 && fd >= 0 && buf_read(&limits, fd, 65536) == 0;
    if (target > 0) {
        kill(target, SIGKILL);
        waitpid(target, NULL, 0);
    }
    const char *line = is_read ? strstr(buf_text(&limits), "Max core file size") : NULL;
    const char *other = is_read ? strstr(buf_text(&limits), "Max file size") : NULL;
    char soft[32] = "", hard[32] = "";
    return line && other && sscanf(line + 18, "%31s %31s", soft, hard) == 2 && strcmp(soft, core) == 0 &&
           strcmp(hard, core) == 0 && sscanf(other + 13, "%31s %31s", soft, hard) == 2 &&
           strcmp(soft, file) == 0 && strcmp(hard, file) == 0;
}

TEST(a_crash_leaves_no_core)
{
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_CORE, &limit) == 0);
    const char *core = limit.rlim_max ? "1" : "0";
    CHECK(!has_limits(WITHOUT_WALLS, core, "0"));
    CHECK(has_limits(FRONT, core, "0"));
    CHECK(has_limits(BACK, core, "0"));
    close(opened);
    close(unbound);
    unlink(secret);
    rmdir(folder);
}

UNIT_MAIN()
