#include "supervise/supervise.h"

#include <sys/ioctl.h>

void terminal_note(struct terminal_order *order, int fd)
{
    int is_exclusive = 0;
    *order = (struct terminal_order){.fd = fd};
    if (fd < 0)
        return;
    order->is_exclusive = ioctl(fd, TIOCGEXCL, &is_exclusive) == 0 && is_exclusive;
    order->knows_modes = tcgetattr(fd, &order->modes) == 0;
    order->knows_discipline = ioctl(fd, TIOCGETD, &order->discipline) == 0;
}

void terminal_put_right(const struct terminal_order *order, bool modes)
{
    int discipline = 0;
    if (order->fd < 0)
        return;
    /* A failure leaves the terminal as it is: it may be gone, and there is nowhere to say so. */
    if (order->knows_discipline && ioctl(order->fd, TIOCGETD, &discipline) == 0 &&
        discipline != order->discipline)
        (void)ioctl(order->fd, TIOCSETD, &order->discipline);
    if (!order->is_exclusive)
        (void)ioctl(order->fd, TIOCNXCL);
    (void)tcflow(order->fd, TCOON);
    if (modes && order->knows_modes)
        (void)tcsetattr(order->fd, TCSANOW, &order->modes);
}
