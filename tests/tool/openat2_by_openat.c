/*
 * Linked with -Wl,--wrap=syscall into programs whose instructions valgrind counts: Debian's does not know openat2. What is
 * counted runs on a tree without links that the test has made, where openat means the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>

#define HAS_A_MODE (O_CREAT | __O_TMPFILE)

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_openat2) {
        const char *path = (const char *)arguments[1];
        const struct open_how *how = (const struct open_how *)arguments[2];
        if (how->flags & HAS_A_MODE) {
            errno = ENOSYS;
            return -1;
        }
        return openat((int)arguments[0], path, (int)how->flags);
    }
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                          arguments[5]);
}
