/*
 * Makes a system call by the 32-bit entry of x86, or with the x32 bit: the numbers mean other calls there.
 *
 * Why: a filter that compares numbers without looking at the architecture is walked past.
 * Seen: Chrome's and Docker's early filters.
 *
 * case compat-int80: int80 => killed | only-on x86_64
 *   kernel: make a call by the 32-bit entry, where numbers mean other calls
 * case compat-x32: x32 => ENOSYS unshare | only-on x86_64 | control done or ENOSYS unshare
 */
#include "attack.h"

ATTACK(int80)
{
    (void)argc;
    (void)argv;
#ifdef __x86_64__
    if (strcmp(argument(argc, argv, 1), "x32") == 0) {
        must(syscall(0x40000000L + SYS_unshare, 0x10000000), "unshare");
        done();
    }
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(310 /* unshare */), "b"(0x10000000) : "memory");
    errno = result < 0 ? (int)-result : 0;
    must(result < 0 ? -1 : 0, "unshare");
#endif
    done();
}
