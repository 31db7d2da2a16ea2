#include "kernel/loopback.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"

int loopback_up(struct err *err)
{
    auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        return err_sys(err, errno, "cannot look at the sandbox's loopback");
    request.ifr_flags |= IFF_UP;
    if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return err_sys(err, errno, "cannot bring the sandbox's loopback up");
    return 0;
}
