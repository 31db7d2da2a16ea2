/*
 * Linked with -Wl,--wrap=syscall into programs whose instructions valgrind counts: Debian's does not know openat2. What is
 * counted runs on a tree without links that the test has made, where openat means the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "wrapped_syscall.h"

#define HAS_A_MODE (O_CREAT | __O_TMPFILE)

long answer_syscall(long number, const long *arguments)
{
    if (number == SYS_openat2) {
        const char *path = (const char *)arguments[1];
        const struct open_how *how = (const struct open_how *)arguments[2];
        if (how->flags & HAS_A_MODE) {
            errno = ENOSYS;
            return -1;
        }
        return openat((int)arguments[0], path, (int)how->flags);
    }
    return pass_syscall_on(number, arguments);
}
