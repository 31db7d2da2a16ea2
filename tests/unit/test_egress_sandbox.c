/* The helper's own walls, on this machine's kernel: each act is tried in a child without them first. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "egress/egress.h"
#include "kernel/landlock.h"
#include "kernel/loopback.h"
#include "unit.h"
#include "walled.h"

static char folder[] = "/tmp/bawn-egress-walls-XXXXXX";
static char secret[64], planted[64], service[64];

static int outcome(int (*act)(void), bool is_locked_in)
{
    return outcome_behind(is_locked_in ? sandbox_enter : NULL, act);
}

static int read_secret(void)
{
    return errno_of(open(secret, O_RDONLY | O_CLOEXEC));
}

static int read_settings_of_lookups(void)
{
    return errno_of(open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC));
}

/* Where sessions keep logins and keys. */
static int list_users_folders(void)
{
    return errno_of(open("/run/user", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int list_services_folder(void)
{
    return errno_of(open("/run/lock", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* By its number, as any other process would be. */
static int limit_process(void)
{
    struct rlimit limit;
    return errno_of(prlimit(getpid(), RLIMIT_NOFILE, NULL, &limit));
}

static int limit_itself(void)
{
    struct rlimit limit;
    return errno_of(getrlimit(RLIMIT_NOFILE, &limit));
}

static int signal_parent(void)
{
    return errno_of(tgkill(getppid(), getppid(), 0));
}

static int signal_itself(void)
{
    return errno_of(raise(0));
}

static int plant(void)
{
    return errno_of(open(planted, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int execute(void)
{
    static char name[] = "true";
    static char *const words[] = {name, NULL}, *const none[] = {NULL};
    execve("/bin/true", words, none);
    return errno;
}

static int enter_namespace(void)
{
    return errno_of(unshare(CLONE_FS)); /* the kernel gives that to everybody */
}

static int trace(void)
{
    return errno_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int make_memory_file(void)
{
    return errno_of(memfd_create("x", MFD_CLOEXEC));
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

static int open_packets(void)
{
    return errno_of(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int open_other_transport(void)
{
    return errno_of(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP));
}

/* Every socket of this machine, and who has it. */
static int list_sockets(void)
{
    return errno_of(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
}

static int serve_strangers(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? BROKEN : errno_of(listen(fd, 1));
}

static int ask_for_route(void)
{
    static const struct endpoint loopback = {.address = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
    int fd = route_open();
    return fd >= 0 && route_of(fd, &loopback) == ROUTE_HERE ? 0 : BROKEN;
}

static int open_usual_transports(void)
{
    static const int kinds[][3] = {{AF_INET, SOCK_STREAM, 0},
                                   {AF_INET6, SOCK_STREAM, IPPROTO_TCP},
                                   {AF_INET, SOCK_DGRAM, IPPROTO_UDP},
                                   {AF_INET6, SOCK_DGRAM, 0}};
    for (size_t i = 0; i < array_len(kinds); i++) {
        auto_fd int fd = socket(kinds[i][0], kinds[i][1] | SOCK_CLOEXEC, kinds[i][2]);
        if (fd < 0)
            return errno;
    }
    return 0;
}

/* As the modules of libc do that ask a service of this machine: resolved, avahi, sssd, nscd. */
static int ask_service(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, service, sizeof(service));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    return errno_of(connect(fd, (const struct sockaddr *)&address, sizeof(address)));
}

static int look_up(void)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int failed = getaddrinfo("localhost", NULL, &hints, &found);
    if (!failed)
        freeaddrinfo(found);
    return failed ? EHOSTUNREACH : 0;
}

TEST(nothing_can_be_read_written_or_run)
{
    REQUIRE(mkdtemp(folder));
    snprintf(secret, sizeof(secret), "%s/secret", folder);
    snprintf(planted, sizeof(planted), "%s/planted", folder);
    close(open(secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    REQUIRE(chmod(folder, 0777) == 0);
    if (landlock_abi() == 0)
        SKIP("needs Landlock");
    CHECK_INT(outcome(read_secret, false), 0);
    CHECK_INT(outcome(read_secret, true), EACCES);
    CHECK_INT(outcome(plant, true), EACCES);
    CHECK_INT(access(planted, F_OK), -1);
    CHECK_INT(outcome(plant, false), 0);
    CHECK_INT(outcome(list_services_folder, true), outcome(list_services_folder, false));
    CHECK_INT(outcome(list_users_folders, true), access("/run/user", F_OK) == 0 ? EACCES : ENOENT);
    CHECK_INT(outcome(execute, false), 0);
    CHECK_INT(outcome(execute, true), EPERM);
    unlink(planted);
}

TEST(other_calls_are_not_there)
{
    static int (*const acts[])(void) = {
        enter_namespace, trace,         make_memory_file,     make_process, open_packets,
        limit_process,   signal_parent, open_other_transport, list_sockets, serve_strangers};
    for (size_t i = 0; i < array_len(acts); i++) {
        if (acts[i] != open_packets && acts[i] != open_other_transport) /* which not every kernel has */
            CHECK_INT(outcome(acts[i], false), 0);
        CHECK_INT(outcome(acts[i], true), EPERM);
    }
    CHECK_INT(outcome(open_usual_transports, true), 0);
    CHECK_INT(outcome(ask_for_route, true), 0);
    CHECK_INT(outcome(make_thread, true), 0);
    CHECK_INT(outcome(limit_itself, true), 0);
    CHECK_INT(outcome(signal_itself, true), 0);
}

TEST(services_are_spoken_to_only_where_names_are_looked_up_by_them)
{
    CHECK(!sandbox_needs_services(""));
    CHECK(!sandbox_needs_services("passwd: files sss\nhosts: files dns\n"));
    CHECK(!sandbox_needs_services("hosts:\tfiles [NOTFOUND=continue] myhostname dns # mdns\n"));
    CHECK(!sandbox_needs_services("hosts: files[NOTFOUND=return]dns"));
    CHECK(sandbox_needs_services("# x\nhosts: files mdns4_minimal [NOTFOUND=return] dns\n"));
    CHECK(sandbox_needs_services("hosts: resolve [!UNAVAIL=return] files"));
    CHECK(sandbox_needs_services("hosts: files\nhosts: files sss\n"));
    CHECK(sandbox_needs_services("hosts:[NOTFOUND=return files\n  hosts: wins"));
}

TEST(names_can_be_looked_up_as_everybody_does)
{
    snprintf(service, sizeof(service), "%s/service", folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, service, sizeof(service));
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
            listen(listener, 8) == 0 && chmod(service, 0666) == 0);
    auto_buf struct buf settings = {0};
    int fd = open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC);
    bool needs_services =
        fd >= 0 && buf_read(&settings, fd, 65536) == 0 && sandbox_needs_services(buf_text(&settings));
    CHECK_INT(outcome(ask_service, false), 0);
    CHECK_INT(outcome(ask_service, true), needs_services ? 0 : EPERM);
    CHECK_INT(outcome(read_settings_of_lookups, true), outcome(read_settings_of_lookups, false));
    CHECK_INT(outcome(look_up, false), 0);
    CHECK_INT(outcome(look_up, true), 0);
    close(listener);
    unlink(service);
    unlink(secret);
    rmdir(folder);
}

UNIT_MAIN()
