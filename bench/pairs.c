/*
 * Two processes that hand one byte to and fro: bench-pairs pipe|socket COUNT. What a system call costs under the filter,
 * and what waking another process costs in a sandbox.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int pass_on(int from, int to, unsigned long count, int begins)
{
    char byte = 'x';
    for (unsigned long i = 0; i < count; i++) {
        if (begins && write(to, &byte, 1) != 1)
            return 1;
        if (read(from, &byte, 1) != 1)
            return 1;
        if (!begins && write(to, &byte, 1) != 1)
            return 1;
    }
    return 0;
}

int main(int count, char **arguments)
{
    unsigned long rounds = count == 3 ? strtoul(arguments[2], NULL, 10) : 0;
    int there[2], back[2], status = 1;
    if (rounds == 0) {
        fputs("usage: bench-pairs pipe|socket COUNT\n", stderr);
        return 2;
    }
    int made = strcmp(arguments[1], "pipe") == 0 ? pipe(there) == 0 && pipe(back) == 0
                                                 : socketpair(AF_UNIX, SOCK_STREAM, 0, there) == 0 &&
                                                       socketpair(AF_UNIX, SOCK_STREAM, 0, back) == 0;
    if (!made) {
        perror("bench-pairs");
        return 1;
    }
    pid_t child = fork();
    if (child == 0)
        _exit(pass_on(there[0], back[1], rounds, 0));
    int failed = pass_on(back[0], there[1], rounds, 1);
    return child < 0 || waitpid(child, &status, 0) < 0 || status || failed;
}
