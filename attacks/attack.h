/*
 * What the attacks share. Each ends with one line on standard output: `done` where the act succeeded, or the errno and
 * the step that was refused, as in `EPERM mount`. Whoever runs it compares that line with the one that the case states.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The attack of this file, in a process of its own. The first argument is argv[1]. */
#define ATTACK(name)                                                                                         \
    int attack_##name(int argc, char **argv);                                                                \
    int attack_##name(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

static inline _Noreturn void done(void)
{
    puts("done");
    exit(0);
}

static inline _Noreturn void refused(const char *step)
{
    printf("%s %s\n", strerrorname_np(errno), step);
    exit(0);
}

/* An observation that is neither. */
static inline _Noreturn void saw(const char *what)
{
    puts(what);
    exit(0);
}

static inline void must(long result, const char *step)
{
    if (result < 0)
        refused(step);
}

/* Arguments and the environment are what the runner says; a mistake there must not look like a refusal. */
static inline const char *argument(int argc, char **argv, int number)
{
    if (number >= argc)
        saw("an argument is missing");
    return argv[number];
}

static inline long number_argument(int argc, char **argv, int number)
{
    char *end;
    const char *text = argument(argc, argv, number);
    long value = strtol(text, &end, 0);
    if (end == text || *end)
        saw("an argument is not a number");
    return value;
}
