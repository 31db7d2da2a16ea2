/*
 * Types into the terminal that bawn was started from, as if the user did: the shell reads it after the run.
 *
 * Why: a sandbox that shares the caller's terminal is left by one ioctl.
 * Seen: CVE-2017-5226 (bubblewrap); with high bits, that a 64-bit comparison takes for another number, CVE-2019-10063
 * (flatpak); TIOCLINUX on a console CVE-2023-28100 (flatpak).
 *
 * case type-into-terminal: 0 0x5412 => EPERM ioctl | pty | harms terminal
 *   terminal: type a command into your terminal (TIOCSTI)
 * case type-with-high-bits: 0 0x100005412 => EPERM ioctl | pty | harms terminal
 *   terminal: type into your terminal, with bits that a careless filter overlooks
 * case type-with-all-high-bits: 0 0xffffffff00005412 => EPERM ioctl | pty | harms terminal
 *   terminal: type into your terminal, with all high bits set
 * case type-by-dev-tty: /dev/tty 0x5412 => EPERM ioctl | pty | harms terminal
 *   terminal: type into your terminal through /dev/tty
 * case paste-from-console: 0 0x541c => EPERM ioctl | pty | control ~
 *   terminal: paste a console's selection (TIOCLINUX)
 * case type-full-access: 0 0x5412 => EPERM ioctl | pty | harms terminal | flags --full-access --i-know
 * case line-discipline: 0 0x5423 => EPERM ioctl | pty | control ~
 *   terminal: put another line discipline on your terminal
 * case terminal-size: 0 0x5413 => done | pty
 */
#include <sys/ioctl.h>

#include "attack.h"

ATTACK(terminal)
{
    const char *terminal = argument(argc, argv, 1);
    int fd = *terminal == '/' ? open(terminal, O_RDWR) : 0;
    must(fd, "open");
    char room[64] = "x";
    must(syscall(SYS_ioctl, fd, strtoul(argument(argc, argv, 2), NULL, 0), room), "ioctl");
    done();
}
