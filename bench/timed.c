/*
 * Runs a command and says how many milliseconds it took: bench-timed [--after MS] CMD... Started inside a sandbox, it
 * leaves the sandbox's own start and end out; --after lets what begins a moment after the start begin first. What the command
 * writes is thrown away.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void wait_milliseconds(long count)
{
    struct timespec pause = {.tv_sec = count / 1000, .tv_nsec = count % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

int main(int count, char **arguments)
{
    int at = 1;
    if (count > 3 && strcmp(arguments[1], "--after") == 0) {
        wait_milliseconds(strtol(arguments[2], NULL, 10));
        at = 3;
    }
    if (at >= count) {
        fputs("usage: bench-timed [--after MS] CMD...\n", stderr);
        return 2;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double start = milliseconds_now();
    pid_t child;
    int status = 0;
    if (posix_spawnp(&child, arguments[at], &actions, NULL, arguments + at, environ) ||
        waitpid(child, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "bench-timed: %s failed (status %d)\n", arguments[at], status);
        return 1;
    }
    printf("%.4f\n", milliseconds_now() - start);
    posix_spawn_file_actions_destroy(&actions);
    return 0;
}
