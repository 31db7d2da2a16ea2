/*
 * For programs that are linked with -Wl,--wrap=syscall and wrapped_syscall.c: what bawn asks of the kernel by syscall() is answered
 * by the program's own answer_syscall(), which may pass it on.
 */
#pragma once

enum { SYSCALL_ARGUMENTS = 6 };

long answer_syscall(long number, const long *arguments);
long pass_syscall_on(long number, const long *arguments);
