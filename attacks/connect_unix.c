/*
 * Connects to a Unix socket of the host. "@name" is an abstract one.
 *
 * Why: behind docker.sock is root, behind the session bus `systemd-run --user`, behind the agent every key. A read-only
 * mount does not stop a connect, and abstract names belong to the network namespace, not to any directory.
 * Seen: bubblewrap with `--ro-bind / /`: docker, D-Bus, ssh-agent, tmux, editors and X11 all answered.
 *
 * case connect-docker: {run_socket} => ENOENT connect | harms listeners
 *   network: connect to a socket like docker's, in /run
 * case connect-session-bus: {runtime}/bus => ENOENT connect | harms listeners
 *   network: connect to a socket like the session bus (D-Bus)
 * case connect-ssh-agent: {host_tmp}/agent => ENOENT connect | harms listeners
 *   network: connect to a socket like the ssh agent's, in /tmp
 * case connect-in-sibling: ../sibling/daemon => ENOENT connect | harms listeners
 *   network: connect to a daemon's socket in the next repository
 * case connect-by-host-root: /proc/{victim}/root{host_tmp}/agent => ENOENT connect | harms listeners
 *   network: connect to a socket through a host process's root
 *
 * A daemon of the host that listens inside the workspace: masked when the sandbox starts.
 * case connect-in-workspace: daemon => EACCES connect | harms listeners
 *   network: connect to a host daemon's socket inside the project
 *
 * case connect-abstract: @{mark} => ECONNREFUSED connect | harms listeners
 *   network: connect to an abstract Unix socket of the host
 * case connect-abstract-net-open: @{mark} => EPERM connect | flags --net open | harms listeners
 * case send-abstract-net-open: @{mark}-datagram dgram => EPERM connect | flags --net open | harms listeners
 */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "attack.h"

ATTACK(connect_unix)
{
    const char *name = argument(argc, argv, 1);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    if (size >= sizeof(address.sun_path))
        saw("the name is too long");
    memcpy(address.sun_path, name, size);
    if (*name == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, argc > 2 ? SOCK_DGRAM : SOCK_STREAM, 0);
    must(fd, "socket");
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    must(connect(fd, (struct sockaddr *)&address, length), "connect");
    must(send(fd, "x", 1, 0), "send");
    done();
}
