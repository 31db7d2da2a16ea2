/*
 * The seccomp wall on this machine's kernel: real calls in a child with and without the filter. Calls that are refused
 * are made with arguments that the kernel itself would refuse in another way, or that change nothing but the child, so
 * that they are harmless wherever the filter should fail, and the child without it is the proof that it was the filter.
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/seccomp.h"
#include "unit.h"

enum { NO_FILTER = -1, BROKEN = 200, DIED = 1000 };

/* In a child of its own: what `run` returns, 0 or an errno. DIED + the signal where it was killed. */
static int in_child(int kind, int (*run)(const void *), const void *argument)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct err err;
        if (kind != NO_FILTER && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                                  seccomp_load((enum seccomp_kind)kind, false, &err) < 0))
            _exit(BROKEN);
        _exit(run(argument));
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return BROKEN;
    return WIFSIGNALED(status) ? DIED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A container's filter, say: the kernel's own answers do not come through it. */
static bool is_filtered_already(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

static int errno_of(long result)
{
    return result < 0 ? errno : 0;
}

/* --- what is refused ----------------------------------------------------------------------------------------------------- */

enum { ANY = -2 }; /* depends on how the kernel was built, or on who asks */

struct refusal {
    const char *name;
    long number;
    unsigned long args[5];
    int plain, by_default, nested; /* errno without a filter, and with each */
};

/* No flags of clone fit CLONE_SIGHAND without CLONE_VM: EINVAL before anything else is looked at. */
#define CLONE(flag)                                                                                          \
    {                                                                                                        \
        "clone " #flag, SYS_clone, {flag | CLONE_SIGHAND | SIGCHLD}, EINVAL, EPERM, EINVAL                   \
    }
#define SOCKET(family, type, protocol, errnum)                                                               \
    {                                                                                                        \
        "socket " #family " " #type " " #protocol, SYS_socket, {family, type, protocol}, ANY, errnum, errnum \
    }
#define MINUS_1 (unsigned long)-1

static const struct refusal refusals[] = {
    {"number 600", 600, {0}, ENOSYS, ENOSYS, ENOSYS},
    {"clone3", 435, {0}, EINVAL, ENOSYS, ENOSYS},
    CLONE(CLONE_NEWNS),
    CLONE(CLONE_NEWCGROUP),
    CLONE(CLONE_NEWUTS),
    CLONE(CLONE_NEWIPC),
    CLONE(CLONE_NEWUSER),
    CLONE(CLONE_NEWPID),
    CLONE(CLONE_NEWNET),
    {"unshare", SYS_unshare, {CLONE_NEWUSER | CLONE_PTRACE}, EINVAL, EPERM, EINVAL},
    {"setns", SYS_setns, {MINUS_1}, EBADF, EPERM, EBADF},
    {"mount", SYS_mount, {0}, EFAULT, EPERM, EFAULT},
    {"umount2", SYS_umount2, {0, MINUS_1}, EINVAL, EPERM, EINVAL},
    {"open_tree", 428, {MINUS_1, 0, 0x80000000}, EINVAL, EPERM, EINVAL},
    {"open_by_handle_at", SYS_open_by_handle_at, {MINUS_1}, ANY, EPERM, EPERM},
    {"ioctl TIOCSTI", SYS_ioctl, {MINUS_1, TIOCSTI}, EBADF, EPERM, EPERM},
    {"ioctl TIOCSTI beyond 32 bits", SYS_ioctl, {MINUS_1, 0x100000000 | TIOCSTI}, EBADF, EPERM, EPERM},
    {"ioctl TIOCLINUX", SYS_ioctl, {MINUS_1, TIOCLINUX}, EBADF, EPERM, EPERM},
    {"ioctl TIOCSETD", SYS_ioctl, {MINUS_1, TIOCSETD}, EBADF, EPERM, EPERM},
    {"ioctl BTRFS_IOC_SNAP_CREATE", SYS_ioctl, {MINUS_1, 0x50009401}, EBADF, ENOTTY, ENOTTY},
    {"ioctl XFS_IOC_SWAPEXT", SYS_ioctl, {MINUS_1, 0xc0c0586d}, EBADF, ENOTTY, ENOTTY},
    {"ioctl EXT4_IOC_MOVE_EXT", SYS_ioctl, {MINUS_1, 0xc028660f}, EBADF, ENOTTY, ENOTTY},
    {"ioctl F2FS_IOC_SEC_TRIM_FILE", SYS_ioctl, {MINUS_1, 0x4018f514}, EBADF, ENOTTY, ENOTTY},
    {"ioctl FICLONE", SYS_ioctl, {MINUS_1, 0x40049409}, EBADF, EBADF, EBADF},
    {"ioctl FIONREAD", SYS_ioctl, {MINUS_1, FIONREAD}, EBADF, EBADF, EBADF},
    {"personality READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC}, 0, EPERM, EPERM},
    {"io_uring_setup", 425, {0}, ANY, ENOSYS, ENOSYS},
    {"io_uring_enter", 426, {MINUS_1}, ANY, ENOSYS, ENOSYS},
    {"keyctl", SYS_keyctl, {MINUS_1}, ANY, ENOSYS, ENOSYS},
    {"add_key", SYS_add_key, {0}, ANY, ENOSYS, ENOSYS},
    {"bpf", SYS_bpf, {MINUS_1}, ANY, EPERM, EPERM},
    {"perf_event_open", SYS_perf_event_open, {0}, ANY, EPERM, EPERM},
    {"userfaultfd", SYS_userfaultfd, {MINUS_1}, ANY, EPERM, EPERM},
    {"fanotify_init", SYS_fanotify_init, {MINUS_1}, ANY, EPERM, EPERM},
    {"syslog", SYS_syslog, {MINUS_1}, ANY, EPERM, EPERM},
    {"finit_module", SYS_finit_module, {MINUS_1}, ANY, EPERM, EPERM},
    {"settimeofday", SYS_settimeofday, {0}, ANY, EPERM, EPERM},
    {"get_mempolicy", SYS_get_mempolicy, {0, 0, 0, 0, MINUS_1}, ANY, ENOSYS, ENOSYS},
    SOCKET(AF_PACKET, SOCK_RAW, 0, EAFNOSUPPORT),
    SOCKET(AF_ALG, SOCK_SEQPACKET, 0, EAFNOSUPPORT),
    SOCKET(AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT),
    SOCKET(AF_NETLINK, SOCK_RAW, 12, EPROTONOSUPPORT), /* netfilter */
    SOCKET(AF_INET, SOCK_PACKET, 0, EPROTONOSUPPORT),
    SOCKET(AF_INET, SOCK_STREAM, 132, EPROTONOSUPPORT), /* SCTP */
};

static int make_call(const void *argument)
{
    const struct refusal *call = argument;
    const unsigned long *args = call->args;
    return errno_of(syscall(call->number, args[0], args[1], args[2], args[3], args[4]));
}

static void check_refusals(int kind)
{
    for (size_t i = 0; i < array_len(refusals); i++) {
        const struct refusal *call = &refusals[i];
        int want = kind == NO_FILTER ? call->plain : kind == SECCOMP_NESTED ? call->nested : call->by_default;
        if (want != ANY && !CHECK_INT(in_child(kind, make_call, call), want))
            printf("# that is %s\n", call->name);
    }
}

TEST(without_a_filter_the_kernel_answers_otherwise)
{
    if (is_filtered_already())
        SKIP("needs a machine without a filter around the tests");
    check_refusals(NO_FILTER);
}

TEST(with_the_filter_each_call_is_refused_with_its_errno)
{
    check_refusals(SECCOMP_DEFAULT);
}

TEST(with_root_s_filter_too)
{
    check_refusals(SECCOMP_ROOT);
}

TEST(with_the_nested_filter_namespaces_and_mounts_are_the_kernel_s_business)
{
    if (is_filtered_already())
        SKIP("needs a machine without a filter around the tests");
    check_refusals(SECCOMP_NESTED);
}

/* --- ids --- */

enum { STRANGER = 54321 };

static int give_a_file_away(const void *unused)
{
    (void)unused;
    int fd = memfd_create("own", MFD_CLOEXEC);
    return fd < 0 ? BROKEN : errno_of(fchown(fd, STRANGER, (gid_t)-1));
}

static int give_a_file_to_oneself(const void *unused)
{
    (void)unused;
    int fd = memfd_create("own", MFD_CLOEXEC);
    return fd < 0 ? BROKEN : errno_of(fchown(fd, geteuid(), getegid()));
}

static int become_a_stranger(const void *unused)
{
    (void)unused;
    return errno_of(setresuid(STRANGER, STRANGER, (uid_t)-1));
}

static int with_other_ids(const void *run)
{
    struct err err;
    int (*const *call)(const void *) = run;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_load(SECCOMP_DEFAULT, true, &err) < 0
               ? BROKEN
               : (*call)(NULL);
}

TEST(another_id_than_one_s_own_is_refused_as_outside)
{
    static int (*const give)(const void *) = give_a_file_away;
    CHECK_INT(in_child(SECCOMP_DEFAULT, give_a_file_away, NULL), EPERM);
    CHECK_INT(in_child(SECCOMP_DEFAULT, become_a_stranger, NULL), EPERM);
    CHECK_INT(in_child(SECCOMP_DEFAULT, give_a_file_to_oneself, NULL), 0);
    int plain = in_child(NO_FILTER, give_a_file_away, NULL);
    CHECK_INT(in_child(NO_FILTER, with_other_ids, &give), plain); /* the kernel alone judges */
}

/* --- content that changes behind the times of a file ------------------------------------------------------------------- */

enum { BLOCK = 4096, EXT4_MAGIC = 0xef53 };

struct move_extent {
    /* cppcheck-suppress unusedStructMember; the kernel reads it */
    uint32_t reserved, donor;
    /* cppcheck-suppress unusedStructMember; the kernel reads and writes it */
    uint64_t from, to, count, moved;
};

struct pair {
    int own, victim;
};

/* The first block of one file for that of another, as a defragmenter does it. The victim is the donor. */
static int exchange_blocks(const void *argument)
{
    const struct pair *files = argument;
    struct move_extent request = {.donor = (uint32_t)files->victim, .count = 1};
    if (ioctl(files->own, 0xc028660fU, &request) < 0)
        return errno;
    return request.moved == 1 ? 0 : BROKEN;
}

static int new_file(char content)
{
    char path[] = "/var/tmp/bawn-blocks-XXXXXX", block[BLOCK];
    int fd = mkostemp(path, O_CLOEXEC);
    memset(block, content, sizeof block);
    if (fd < 0 || unlink(path) < 0 || write(fd, block, sizeof block) != BLOCK || fsync(fd) < 0) {
        perror("# /var/tmp");
        exit(1);
    }
    return fd;
}

/* Of what is on the disk: the kernel does not forget by itself what it has read of a donor. */
static char first_byte(int fd)
{
    char byte = '?';
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return pread(fd, &byte, 1, 0) == 1 ? byte : '!';
}

static void check_exchange(int kind, int want)
{
    struct pair files = {.own = new_file('o'), .victim = new_file('v')};
    struct stat before, after;
    CHECK_INT(fstat(files.victim, &before), 0);
    CHECK_INT(in_child(kind, exchange_blocks, &files), want);
    CHECK_INT(fstat(files.victim, &after), 0);
    CHECK_INT(first_byte(files.victim) != 'v', kind == NO_FILTER); /* zeros, or the other's content, by kernel */
    CHECK_INT(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
    CHECK_INT(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
    close(files.own);
    close(files.victim);
}

TEST(no_file_of_ext4_gets_the_blocks_of_another)
{
    struct statfs fs;
    if (statfs("/var/tmp", &fs) < 0 || fs.f_type != EXT4_MAGIC)
        SKIP("/var/tmp is not on ext4");
    check_exchange(NO_FILTER, 0); /* why it is refused: other content, and the same times */
    check_exchange(SECCOMP_DEFAULT, ENOTTY);
    check_exchange(SECCOMP_NESTED, ENOTTY);
    check_exchange(SECCOMP_ROOT, ENOTTY);
}

/* --- what works ---------------------------------------------------------------------------------------------------------- */

static void *add_one(void *number)
{
    ++*(int *)number;
    return NULL;
}

static int start_a_thread(const void *unused)
{
    (void)unused;
    pthread_t thread;
    int number = 1, errnum = pthread_create(&thread, NULL, add_one, &number);
    return errnum ? errnum : pthread_join(thread, NULL) || number != 2;
}

static int execute(const void *path)
{
    char *arguments[] = {(char *)path, (char *)"-c", (char *)"exit 0", NULL};
    execv(path, arguments);
    return errno;
}

static int trace_a_child(const void *unused)
{
    (void)unused;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            raise(SIGSTOP);
        _exit(1);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return BROKEN;
    return errno_of(ptrace(PTRACE_KILL, child, NULL, NULL));
}

static int make_sockets(const void *unused)
{
    (void)unused;
    static const int families[][3] = {{AF_UNIX, SOCK_STREAM, 0},
                                      {AF_INET, SOCK_STREAM, 0},
                                      {AF_INET, SOCK_DGRAM, 17},
                                      {AF_UNIX, SOCK_SEQPACKET, 0},
                                      {AF_NETLINK, SOCK_RAW, 0}};
    for (size_t i = 0; i < array_len(families); i++) {
        int fd = socket(families[i][0], families[i][1] | SOCK_CLOEXEC, families[i][2]);
        if (fd < 0)
            return errno;
        close(fd);
    }
    int pair[2];
    return errno_of(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
}

static int be_a_program(const void *unused)
{
    (void)unused;
    char byte;
    int memory = memfd_create("x", MFD_CLOEXEC), events = epoll_create1(EPOLL_CLOEXEC), ends[2];
    if (memory < 0 || events < 0 || ftruncate(memory, 4096) < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (page == MAP_FAILED || munmap(page, 4096) < 0)
        return errno;
    if (syscall(SYS_getrandom, &byte, 1, 0) < 0 || unshare(CLONE_FILES) < 0)
        return errno;
    if (personality(0xffffffff) < 0 || personality(ADDR_NO_RANDOMIZE) < 0)
        return errno;
    return errno_of(prctl(PR_SET_NAME, "x"));
}

/* A filter of the program's own, on top of ours. */
static int add_a_filter(const void *unused)
{
    (void)unused;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), /* which ours does not */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = array_len(code), .filter = code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return errno;
    if (errno_of(syscall(SYS_getppid)) != EDOM)
        return BROKEN;
    return errno_of(mount(NULL, NULL, NULL, 0, NULL));
}

TEST(programs_run)
{
    static const int kinds[] = {NO_FILTER, SECCOMP_DEFAULT, SECCOMP_NESTED, SECCOMP_ROOT};
    for (size_t i = 0; i < array_len(kinds); i++) {
        CHECK_INT(in_child(kinds[i], start_a_thread, NULL), 0);
        CHECK_INT(in_child(kinds[i], execute, "/bin/sh"), 0);
        CHECK_INT(in_child(kinds[i], trace_a_child, NULL), 0);
        CHECK_INT(in_child(kinds[i], make_sockets, NULL), 0);
        CHECK_INT(in_child(kinds[i], be_a_program, NULL), 0);
    }
}

TEST(a_program_s_own_filter_takes_away_and_does_not_give)
{
    CHECK_INT(in_child(SECCOMP_DEFAULT, add_a_filter, NULL), EPERM);
    if (!is_filtered_already())
        CHECK_INT(in_child(SECCOMP_NESTED, add_a_filter, NULL), EFAULT);
}

/* --- what cannot be got round --------------------------------------------------------------------------------------------- */

static int mount_in_a_child(const void *unused)
{
    (void)unused;
    pid_t child = fork();
    if (child == 0)
        _exit(errno_of(mount(NULL, NULL, NULL, 0, NULL)));
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return BROKEN;
    return WEXITSTATUS(status);
}

static int load_nested_too(const void *unused)
{
    (void)unused;
    struct err err;
    if (seccomp_load(SECCOMP_NESTED, true, &err) < 0)
        return BROKEN;
    return errno_of(mount(NULL, NULL, NULL, 0, NULL));
}

TEST(children_and_a_second_load_stay_behind_the_wall)
{
    if (!is_filtered_already())
        CHECK_INT(in_child(NO_FILTER, mount_in_a_child, NULL), EFAULT);
    CHECK_INT(in_child(SECCOMP_DEFAULT, mount_in_a_child, NULL), EPERM);
    CHECK_INT(in_child(SECCOMP_DEFAULT, load_nested_too, NULL), EPERM);
}

#ifdef __x86_64__
static int ask_as_i386(const void *unused)
{
    (void)unused;
    long result = 20; /* getpid there, writev here */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result == getpid() ? 0 : BROKEN;
}

static int ask_as_x32(const void *unused)
{
    (void)unused;
    return errno_of(syscall(0x40000000 | SYS_getpid));
}
#endif

TEST(other_architectures_of_the_machine_are_closed)
{
#ifdef __x86_64__
    for (int kind = 0; kind < SECCOMP_KINDS; kind++)
        CHECK_INT(in_child(kind, ask_as_x32, NULL), ENOSYS);
    if (in_child(NO_FILTER, ask_as_x32, NULL) != 0)
        printf("# this kernel answers no x32 numbers anyway (with syscall.x32=y some do)\n");
    if (in_child(NO_FILTER, ask_as_i386, NULL) != 0)
        SKIP("this kernel does not run i386 programs anyway");
    for (int kind = 0; kind < SECCOMP_KINDS; kind++)
        CHECK_INT(in_child(kind, ask_as_i386, NULL), DIED + SIGSYS);
#else
    SKIP("only x86_64 lets a program of its own make calls of another architecture");
#endif
}

/* --- loading ---------------------------------------------------------------------------------------------------------------- */

static int load_without_no_new_privs(const void *unused)
{
    (void)unused;
    struct err err;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
        return BROKEN;
    return seccomp_load(SECCOMP_DEFAULT, false, &err) < 0 ? err.errnum : 0;
}

TEST(loading_fails_loudly)
{
    struct err err;
    CHECK_INT(seccomp_load((enum seccomp_kind)SECCOMP_KINDS, false, &err), -1);
    CHECK_STR(err.message, "cannot filter system calls: there is no filter number 11");
    CHECK_INT(seccomp_load((enum seccomp_kind) - 1, false, &err), -1);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
        CHECK_INT(in_child(NO_FILTER, load_without_no_new_privs, NULL), EACCES);
}

/* ENOSYS from the kernel: the call is judged, and the judge is gone. */
static int fork_unjudged(bool counts)
{
    struct err err;
    int listener = seccomp_load_judged(SECCOMP_BARE, counts, &err);
    if (listener < 0 || close(listener) < 0)
        return BROKEN;
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    return errno_of(child);
}

static int fork_counted(const void *unused)
{
    (void)unused;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? BROKEN : fork_unjudged(true);
}

static int fork_uncounted(const void *unused)
{
    (void)unused;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? BROKEN : fork_unjudged(false);
}

TEST(calls_that_make_processes_are_judged_only_where_they_are_counted)
{
    if (is_filtered_already()) /* which may have a listener: there is one at most */
        return;
    CHECK_INT(in_child(NO_FILTER, fork_counted, NULL), ENOSYS);
    CHECK_INT(in_child(NO_FILTER, fork_uncounted, NULL), 0);
}

UNIT_MAIN()
