/*
 * Runs commands in turn, A B C A B C …, and compares them:
 *
 *     bench RUNS NAME CMD... [, NAME CMD...]...
 *
 * A lone comma separates the contenders. Interleaving lets every contender meet the same noise; medians and ratios are
 * what carries over from one machine to another, milliseconds do not. Output of the commands is thrown away.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONTENDERS = 16 };

struct contender {
    const char *name;
    char **command;
    double *wall, *processor; /* milliseconds, one a run */
};

static double milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double milliseconds_of(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

static int run_once(struct contender *contender, size_t run)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double start = milliseconds_now();
    pid_t child;
    int failed = posix_spawnp(&child, contender->command[0], &actions, NULL, contender->command, environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    struct rusage usage;
    if (failed || wait4(child, &status, 0, &usage) < 0 || status != 0) {
        fprintf(stderr, "bench: %s failed (status %d)\n", contender->name, status);
        return -1;
    }
    contender->wall[run] = milliseconds_now() - start;
    contender->processor[run] = milliseconds_of(usage.ru_utime) + milliseconds_of(usage.ru_stime);
    return 0;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int count, char **arguments)
{
    struct contender contenders[MOST_CONTENDERS];
    size_t contender_count = 0, runs = count > 3 ? strtoul(arguments[1], NULL, 10) : 0;
    if (runs == 0) {
        fputs("usage: bench RUNS NAME CMD... [, NAME CMD...]...\n", stderr);
        return 2;
    }
    for (int i = 2; i + 1 < count && contender_count < MOST_CONTENDERS; i++) {
        struct contender *contender = &contenders[contender_count++];
        *contender = (struct contender){arguments[i], arguments + i + 1, calloc(runs, sizeof(double)),
                                        calloc(runs, sizeof(double))};
        while (i < count && strcmp(arguments[i], ",") != 0)
            i++;
        arguments[i] = NULL;
    }
    for (size_t run = 0; run < runs; run++) {
        for (size_t i = 0; i < contender_count; i++) {
            if (run_once(&contenders[i], run) < 0)
                return 1;
        }
    }
    printf("%-24s %10s %10s %10s %8s\n", "", "median ms", "p99 ms", "cpu ms", "ratio");
    double first = 0;
    for (size_t i = 0; i < contender_count; i++) {
        struct contender *contender = &contenders[i];
        qsort(contender->wall, runs, sizeof(double), compare);
        qsort(contender->processor, runs, sizeof(double), compare);
        double median = contender->wall[runs / 2];
        first = i == 0 ? median : first;
        printf("%-24s %10.2f %10.2f %10.2f %8.2f\n", contender->name, median,
               contender->wall[runs * 99 / 100], contender->processor[runs / 2], median / first);
    }
    return 0;
}
