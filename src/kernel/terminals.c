#include "kernel/terminals.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/fd.h"

uint64_t terminal_number(int fd)
{
    unsigned number = 0;
    return fd >= 0 && ioctl(fd, TIOCGDEV, &number) == 0 ? number : 0;
}

uint64_t terminal_number_own(void)
{
    auto_fd int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    return terminal_number(fd);
}
