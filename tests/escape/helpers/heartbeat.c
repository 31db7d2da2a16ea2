/*
 * heartbeat FILE [daemon]: appends a byte to FILE every few milliseconds, until it is ended. As a daemon it first leaves
 * its session by the usual two forks, and the process that was started returns. Ends by itself after 20 s.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0)
        return 1;
    if (argc > 2) {
        if (fork() != 0) {
            for (int i = 0; i < 4000 && lseek(fd, 0, SEEK_END) == 0; i++)
                usleep(5000); /* until the daemon lives, or it would end with the run before it began */
            return 0;
        }
        setsid();
        if (fork() != 0)
            return 0;
        for (int i = 0; i < 3; i++)
            close(i);
    }
    for (int i = 0; i < 4000; i++) {
        if (write(fd, ".", 1) != 1)
            return 1;
        usleep(5000);
    }
    return 0;
}
