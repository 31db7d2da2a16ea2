#include "prove/sensors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "kernel/own_program.h"

DEFINE_TEXTS(sensor_says, enum sensor, SENSORS, NAME_OF)

/* --- listeners ------------------------------------------------------------------------------------------------------- */

static int add_listener(struct sensors *sensors, int kind, const void *address, socklen_t size)
{
    const struct sockaddr *named = address;
    auto_fd int fd = socket(named->sa_family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, named, size) < 0 || (kind == SOCK_STREAM && listen(fd, 8) < 0))
        return -1;
    int kept = fd_take(&fd);
    vec_push(&sensors->listeners, (struct listener){kept, kind == SOCK_DGRAM, false});
    return kept;
}

/* On a path, or abstract where the name begins with '@'. */
static int add_unix(struct sensors *sensors, int kind, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    if (size >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path, name, size);
    if (*name == '@')
        address.sun_path[0] = '\0';
    return add_listener(sensors, kind, &address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
}

static unsigned port_of(int fd)
{
    struct sockaddr_in6 address = {0}; /* the port is at the same place in both families */
    socklen_t size = sizeof(address);
    return fd < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0 ? 0 : ntohs(address.sin6_port);
}

static void listen_on_network(struct sensors *sensors)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    sensors->tcp_port = port_of(add_listener(sensors, SOCK_STREAM, &four, sizeof(four)));
    sensors->udp_port = port_of(add_listener(sensors, SOCK_DGRAM, &four, sizeof(four)));
    sensors->tcp6_port = port_of(add_listener(sensors, SOCK_STREAM, &six, sizeof(six)));
}

static void close_files(struct sensors *sensors)
{
    size_t kept = 0;
    vec_each (const struct listener, listener, &sensors->listeners) {
        if (listener->is_a_file)
            close(listener->fd);
        else
            sensors->listeners.at[kept++] = *listener;
    }
    sensors->listeners.count = kept;
}

/* Where one cannot be made, its control fails, and says so. */
static void listen_on_files(struct sensors *sensors)
{
    const struct targets *targets = sensors->targets;
    struct arena *arena = targets->arena;
    close_files(sensors);
    size_t first = sensors->listeners.count;
    add_unix(sensors, SOCK_STREAM, path_join(arena, targets->tmp, "agent"));
    add_unix(sensors, SOCK_STREAM, path_join(arena, targets->home, "src/sibling/daemon"));
    add_unix(sensors, SOCK_STREAM, path_join(arena, targets->project, "daemon"));
    for (size_t i = first; i < sensors->listeners.count; i++)
        sensors->listeners.at[i].is_a_file = true;
}

static bool was_heard(const struct sensors *sensors)
{
    bool heard = false;
    vec_each (const struct listener, listener, &sensors->listeners) {
        char byte;
        int fd = -1;
        if (listener->is_datagram)
            heard |= recv(listener->fd, &byte, 1, MSG_DONTWAIT) >= 0;
        else
            fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
        heard |= fd >= 0;
        fd_close(fd);
    }
    return heard;
}

/* --- the victim ------------------------------------------------------------------------------------------------------ */

/* It stands in the secret directory, holds a secret open, and has one in its environment. */
static _Noreturn void become_victim(const struct targets *targets, pid_t parent)
{
    struct arena *arena = targets->arena;
    const char *folder = path_join(arena, targets->home, ".ssh");
    int secret = open(path_join(arena, folder, "id_rsa"), O_RDONLY | O_CLOEXEC);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || setpgid(0, 0) < 0 ||
        chdir(folder) < 0 || dup2(secret, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0)
        _exit(1);
    const char *const arguments[] = {arena_printf(arena, "%s-victim", targets->mark), "--victim", NULL};
    const char *const environment[] = {arena_printf(arena, "TOKEN=%s", targets->token), NULL};
    own_program_become(targets->program, arguments, environment);
    _exit(1);
}

/* Its state as the kernel has it: 'S' while it waits to be attacked. */
static char victim_state(const struct sensors *sensors)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)sensors->victim);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
        return 'X';
    const char *end = strrchr(line, ')');
    return end && end[1] ? end[2] : 'X';
}

/* Has it become the program, and is it waiting? Its command line says so. */
static bool victim_waits(const struct sensors *sensors)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)sensors->victim);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, line, sizeof(line) - 1) > 0 && strncmp(line, "bawn-prove-", 11) == 0 &&
           victim_state(sensors) == 'S';
}

static int start_victim(struct sensors *sensors, struct err *err)
{
    pid_t parent = getpid();
    sensors->victim = fork();
    if (sensors->victim == 0)
        become_victim(sensors->targets, parent);
    if (sensors->victim < 0)
        return err_sys(err, errno, "cannot make a process to be attacked");
    for (int i = 0; i < 2000 && !victim_waits(sensors); i++) {
        if (waitpid(sensors->victim, NULL, WNOHANG) != 0) {
            sensors->victim = -1;
            break;
        }
        pause_microseconds(1000);
    }
    return sensors->victim > 0 && victim_waits(sensors)
               ? 0
               : err_set(err, "the process to be attacked does not start");
}

/* Not reaped before: until then nobody else can bear its number. */
static void end_victim(struct sensors *sensors)
{
    if (sensors->victim <= 0)
        return;
    kill(sensors->victim, SIGKILL);
    waitpid(sensors->victim, NULL, 0);
    sensors->victim = -1;
}

static bool victim_was_reached(const struct sensors *sensors)
{
    struct rlimit limit = {0};
    char state = victim_state(sensors);
    if (state != 'S' && state != 'R' && state != 'D')
        return true;
    return prlimit(sensors->victim, RLIMIT_FSIZE, NULL, &limit) < 0 ||
           limit.rlim_cur != sensors->limit.rlim_cur ||
           getpriority(PRIO_PROCESS, (id_t)sensors->victim) != sensors->nice;
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

int sensors_begin(const struct targets *targets, struct sensors *ret_sensors, struct err *err)
{
    *ret_sensors = (struct sensors){.targets = targets, .victim = -1};
    listen_on_network(ret_sensors);
    listen_on_files(ret_sensors);
    if (targets->runtime)
        add_unix(ret_sensors, SOCK_STREAM, path_join(targets->arena, targets->runtime, "bus"));
    if (targets->run_socket)
        add_unix(ret_sensors, SOCK_STREAM, targets->run_socket);
    add_unix(ret_sensors, SOCK_STREAM, arena_printf(targets->arena, "@%s", targets->mark));
    if (start_victim(ret_sensors, err) < 0)
        return -1;
    sensors_calm(ret_sensors);
    return 0;
}

void sensors_end(struct sensors *sensors)
{
    end_victim(sensors);
    for (size_t i = 0; i < sensors->listeners.count; i++)
        close(sensors->listeners.at[i].fd);
    vec_free(&sensors->listeners);
}

void sensors_calm(struct sensors *sensors)
{
    while (was_heard(sensors)) {
    }
    sensors->files = targets_fingerprint(sensors->targets);
    sensors->nice = getpriority(PRIO_PROCESS, (id_t)sensors->victim);
    prlimit(sensors->victim, RLIMIT_FSIZE, NULL, &sensors->limit);
}

sensor_set sensors_read(struct sensors *sensors)
{
    sensor_set tripped = 0;
    if (was_heard(sensors))
        tripped |= 1u << SENSOR_LISTENERS;
    if (victim_was_reached(sensors))
        tripped |= 1u << SENSOR_VICTIM;
    if (targets_fingerprint(sensors->targets) != sensors->files)
        tripped |= 1u << SENSOR_FILES;
    return tripped;
}

int sensors_repair(struct sensors *sensors, sensor_set tripped, struct err *err)
{
    if (tripped & 1u << SENSOR_FILES) {
        if (targets_repair(sensors->targets, err) < 0)
            return -1;
        listen_on_files(sensors);
    }
    if (tripped & (1u << SENSOR_FILES | 1u << SENSOR_VICTIM)) {
        end_victim(sensors); /* it stands in a folder that is no more, or has ended */
        if (start_victim(sensors, err) < 0)
            return -1;
    }
    sensors_calm(sensors);
    return 0;
}
