#include "wrapped_syscall.h"

#include <stdarg.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long pass_syscall_on(long number, const long *arguments)
{
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                          arguments[5]);
}

long __wrap_syscall(long number, ...)
{
    long arguments[SYSCALL_ARGUMENTS];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < SYSCALL_ARGUMENTS; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    return answer_syscall(number, arguments);
}
