/*
 * Runs commands in turn, A B C A B C …, and compares them:
 *
 *     bench [OPTIONS] RUNS NAME CMD... [, NAME CMD...]...
 *     bench [OPTIONS] --from FILE
 *
 *     --title TEXT      what is measured
 *     --of NAME         ratios are to this contender, the first one if nothing is said
 *     --goal NAME=R     the ratio that NAME may have at most (with --more: must have at least)
 *     --inside          each command says how long its work took, as bench-timed does: how it starts and ends is left out
 *     --pause MS        before each run: what the one before it left to the kernel to take down is then gone
 *     --from FILE       nothing is run: FILE has lines `NAME<tab>NUMBER`, each contender's in the order of the rounds
 *     --unit TEXT       what the numbers are; milliseconds
 *     --more            more is better
 *
 * A lone comma separates the contenders. Interleaving lets every contender meet the same noise. Output of the commands is
 * thrown away; one that fails ends the benchmark.
 */
#include "figures.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_GOALS = MOST_CONTENDERS };

struct request {
    struct figures figures;
    const char *of, *from;
    long pause_milliseconds;
    bool is_inside; /* the commands take the time themselves */
    char *goals[MOST_GOALS];
    size_t goal_count;
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

static double *numbers(size_t count)
{
    double *made = calloc(count, sizeof *made);
    if (!made)
        abort();
    return made;
}

/* What a command says in the pipe: a number, or -1. Ends with the command. */
static double read_number(int fd)
{
    char text[256] = "", *end = text;
    size_t size = 0;
    ssize_t got;
    while ((got = read(fd, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = 0;
    double value = strtod(text, &end);
    return end == text ? -1 : value;
}

static int run_once(struct contender *contender, size_t run, bool is_inside)
{
    if (!contender->command[0]) {
        fprintf(stderr, "bench: %s has no command\n", contender->name);
        return -1;
    }
    int said[2] = {-1, -1};
    if (is_inside && pipe2(said, O_CLOEXEC) < 0) {
        perror("bench");
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (is_inside)
        posix_spawn_file_actions_adddup2(&actions, said[1], STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double start = milliseconds_now();
    pid_t child;
    int failed = posix_spawnp(&child, contender->command[0], &actions, NULL, contender->command, environ);
    posix_spawn_file_actions_destroy(&actions);
    double taken = 0;
    if (is_inside) {
        close(said[1]);
        taken = read_number(said[0]);
        close(said[0]);
    }
    int status = 0;
    struct rusage usage;
    if (failed || wait4(child, &status, 0, &usage) < 0 || status != 0 || taken < 0) {
        fprintf(stderr, "bench: %s failed (status %d)\n", contender->name, status);
        return -1;
    }
    contender->samples[run] = is_inside ? taken : milliseconds_now() - start;
    contender->processor[run] = milliseconds_of(usage.ru_utime) + milliseconds_of(usage.ru_stime);
    return 0;
}

static int run_all(struct request *request, int count, char **arguments)
{
    struct figures *figures = &request->figures;
    struct timespec pause = {.tv_sec = request->pause_milliseconds / 1000,
                             .tv_nsec = request->pause_milliseconds % 1000 * 1000000};
    for (int i = 0; i + 1 < count && figures->contender_count < MOST_CONTENDERS; i++) {
        figures->contenders[figures->contender_count++] =
            (struct contender){.name = arguments[i],
                               .command = arguments + i + 1,
                               .samples = numbers(figures->runs),
                               .processor = numbers(figures->runs)};
        while (i < count && strcmp(arguments[i], ",") != 0)
            i++;
        arguments[i] = NULL;
    }
    for (size_t run = 0; run < figures->runs; run++) {
        for (size_t i = 0; i < figures->contender_count; i++) {
            nanosleep(&pause, NULL);
            if (run_once(&figures->contenders[i], run, request->is_inside) < 0)
                return -1;
        }
    }
    return 0;
}

static int take(struct figures *figures, size_t *counts, const char *name, double value)
{
    int at = figures_find(figures, name);
    if (at < 0) {
        at = (int)figures->contender_count;
        if (at == MOST_CONTENDERS)
            return -1;
        figures->contenders[figures->contender_count++] = (struct contender){.owned_name = strdup(name)};
        figures->contenders[at].name = figures->contenders[at].owned_name;
    }
    double **samples = &figures->contenders[at].samples;
    *samples = realloc(*samples, (counts[at] + 1) * sizeof **samples);
    if (!*samples)
        abort();
    (*samples)[counts[at]++] = value;
    return 0;
}

static int read_all(struct figures *figures, const char *path)
{
    FILE *in = fopen(path, "re");
    char line[256];
    size_t counts[MOST_CONTENDERS] = {0};
    if (!in) {
        perror(path);
        return -1;
    }
    while (fgets(line, sizeof line, in)) {
        char *tab = strchr(line, '\t'), *end = NULL;
        if (tab)
            *tab = 0;
        double value = tab ? strtod(tab + 1, &end) : 0;
        if (!tab || end == tab + 1 || take(figures, counts, line, value) < 0) {
            fprintf(stderr, "bench: %s: not `NAME<tab>NUMBER`, or too many names: %s\n", path, line);
            fclose(in);
            return -1;
        }
    }
    fclose(in);
    figures->runs = figures->contender_count ? counts[0] : 0;
    for (size_t i = 0; i < figures->contender_count; i++)
        figures->runs = counts[i] < figures->runs ? counts[i] : figures->runs;
    return figures->runs ? 0 : -1;
}

static int set_goals(struct request *request)
{
    int base = request->of ? figures_find(&request->figures, request->of) : 0;
    if (base < 0) {
        fprintf(stderr, "bench: --of %s: there is no such contender\n", request->of);
        return -1;
    }
    request->figures.base = (size_t)base;
    for (size_t i = 0; i < request->goal_count; i++) {
        char *equals = strrchr(request->goals[i], '=');
        if (equals)
            *equals = 0;
        int at = figures_find(&request->figures, request->goals[i]);
        if (!equals || at < 0) {
            fprintf(stderr, "bench: --goal %s: there is no such contender\n", request->goals[i]);
            return -1;
        }
        request->figures.contenders[at].goal = strtod(equals + 1, NULL);
    }
    return 0;
}

/* Returns the number of arguments that were options. */
static int parse_options(struct request *request, int count, char **arguments)
{
    struct figures *figures = &request->figures;
    int i = 1;
    for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
        const char *option = arguments[i];
        if (strcmp(option, "--more") == 0) {
            figures->more_is_better = true;
            continue;
        }
        if (strcmp(option, "--inside") == 0) {
            request->is_inside = true;
            continue;
        }
        if (++i == count)
            return -1;
        if (strcmp(option, "--title") == 0)
            figures->title = arguments[i];
        else if (strcmp(option, "--unit") == 0)
            figures->unit = arguments[i];
        else if (strcmp(option, "--of") == 0)
            request->of = arguments[i];
        else if (strcmp(option, "--pause") == 0)
            request->pause_milliseconds = strtol(arguments[i], NULL, 10);
        else if (strcmp(option, "--from") == 0)
            request->from = arguments[i];
        else if (strcmp(option, "--goal") == 0 && request->goal_count < MOST_GOALS)
            request->goals[request->goal_count++] = arguments[i];
        else
            return -1;
    }
    return i;
}

int main(int count, char **arguments)
{
    struct request request = {.figures = {.title = "", .unit = "median ms"}};
    struct figures *figures = &request.figures;
    int at = parse_options(&request, count, arguments);
    if (at > 0 && !request.from && at < count)
        figures->runs = strtoul(arguments[at++], NULL, 10);
    if (at < 0 || (request.from ? at != count : figures->runs == 0 || at + 1 >= count)) {
        fputs(
            "usage: bench [--title T] [--of NAME] [--goal NAME=R]... [--inside] [--pause MS] RUNS NAME CMD... [, NAME CMD...]...\n"
            "       bench [--title T] [--of NAME] [--goal NAME=R]... [--unit U] [--more] --from FILE\n",
            stderr);
        return 2;
    }
    int failed =
        request.from ? read_all(figures, request.from) : run_all(&request, count - at, arguments + at);
    failed = failed < 0 || set_goals(&request) < 0 || figures_print(figures) < 0;
    figures_free(figures);
    return failed;
}
