/*
 * Makes the sandbox's own network. That takes the kernel longer than everything else that is made before the plan is known,
 * and neither needs the other. So a thread of process 1 makes the network, and ends before the walls are raised.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/loopback.h"
#include "kernel/ports.h"
#include "launch/inside.h"

/* Through the sandbox's own /proc: in the host's, the kernel would search the settings of all networks. */
static bool set(int settings_fd, const char *name, char value)
{
    auto_fd int file = openat(settings_fd, name, O_WRONLY | O_CLOEXEC);
    return file >= 0 && write(file, &value, 1) == 1;
}

/* Lets every program bind low ports: in this network there is no service of the host to impersonate. */
static int open_low_ports(int settings_fd, struct err *err)
{
    return set(settings_fd, "net/ipv4/ip_unprivileged_port_start", '0')
               ? 0
               : err_sys(err, errno, "cannot open the sandbox's low ports");
}

/*
 * Lets the kernel reuse ports in TIME_WAIT. They wait for a minute because packets may still be on the way, and a program that makes
 * more than 28,000 connections a minute to one address runs out of them. In this network no packet is ever on the way; the
 * kernel assumes that only for 127.0.0.0/8. A failure is ignored: everything else works.
 */
static void use_ports_again(int settings_fd)
{
    (void)set(settings_fd, "net/ipv4/tcp_tw_reuse", '1');
}

/* Opens the network namespace of the calling thread. Asking a socket is faster than opening /proc. */
static int open_network(struct err *err)
{
    auto_fd int any_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int fd = any_socket < 0 ? -1 : ioctl(any_socket, SIOCGSKNS);
    return fd < 0 ? err_sys(err, errno, "cannot open the sandbox's network") : fd;
}

int explain_namespaces(struct err *err)
{
    return err_hint(
        err, "`sysctl user.max_user_namespaces` must be above 0; on Ubuntu 24.04 and later AppArmor must "
             "allow it: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bawn");
}

/* Only the calling thread enters the new network. */
static int make(struct own_network *network)
{
    struct err *err = &network->err;
    if (unshare(CLONE_NEWNET) < 0) {
        err_sys(err, errno, "this machine does not let bawn make namespaces");
        return explain_namespaces(err);
    }
    int result = network->has_all_addresses ? loopback_take_all_addresses(PORT_NAMES_ADDRESS, err)
                                            : loopback_bring_up(err);
    if (result < 0)
        return -1;
    network->fd = open_network(err);
    return network->fd < 0 ? -1 : 0;
}

static void *make_in_thread(void *network)
{
    struct own_network *own = network;
    own->result = make(own);
    return NULL;
}

/*
 * Grows the table of descriptors while the process has one thread. A table that threads share grows only after an RCU grace
 * period, which takes 5 to 20 milliseconds. 512 are enough for most plans.
 */
static void make_room_for_descriptors(void)
{
    enum { ENOUGH = 512 };
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, ENOUGH - 1);
    fd_close(fd);
}

int own_network_begin(struct own_network *network, bool all_addresses, struct err *err)
{
    *network = (struct own_network){.has_all_addresses = all_addresses, .result = -1, .fd = -1};
    make_room_for_descriptors();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 16 * sizeof(struct err));
    int failed = pthread_create(&network->thread, &attributes, make_in_thread, network);
    pthread_attr_destroy(&attributes);
    return failed ? err_sys(err, failed, "cannot make a thread") : 0;
}

int own_network_enter(struct own_network *network, const struct root *root, struct err *err)
{
    pthread_join(network->thread, NULL);
    if (network->result < 0) {
        *err = network->err;
        return -1;
    }
    auto_fd int fd = network->fd;
    if (setns(fd, CLONE_NEWNET) < 0)
        return err_sys(err, errno, "cannot enter the sandbox's network");
    /* Checked as every wall is: the network of this process must be the new one. */
    auto_fd int entered_fd = open_network(err);
    struct stat own, entered;
    if (entered_fd < 0)
        return -1;
    if (fstat(fd, &own) < 0 || fstat(entered_fd, &entered) < 0 || own.st_ino != entered.st_ino ||
        own.st_dev != entered.st_dev) {
        err_set(err, "self-check of the network wall failed: bawn is not in the network that it made");
        return err_hint(err, "nothing was run; please report this with the output of `uname -a`");
    }
    if (open_low_ports(root->settings, err) < 0)
        return -1;
    /* The network was made before the plan was known. */
    const struct operations *operations = root->launch->operations;
    if (ports_by_name(operations))
        use_ports_again(root->settings);
    if (ports_by_name(operations) && !network->has_all_addresses)
        return loopback_take_all_addresses(PORT_NAMES_ADDRESS, err);
    if (!ports_by_name(operations) && network->has_all_addresses)
        return loopback_let_addresses_go(PORT_NAMES_ADDRESS, err);
    return 0;
}
