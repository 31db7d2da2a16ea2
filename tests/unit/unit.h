/*
 * Unit tests in one header. A test program is one C file:
 *
 *     #include "unit.h"
 *
 *     TEST(a_name_ends_at_a_space)
 *     {
 *         CHECK(is_name("read"));
 *         CHECK_INT(name_size("read x"), 4);
 *         CHECK_STR(name("read x"), "read");
 *     }
 *
 *     UNIT_MAIN()
 *
 * It prints TAP, runs its tests in the order in which they are written, all in one process, and fails if one fails. An
 * argument, or BAWN_PART, runs only the tests whose name contains it. A failed CHECK does not end its test; CHECK is an expression
 * that says whether it held, and REQUIRE ends the test. SKIP("needs …") ends a test that this machine cannot run.
 * Tests say what is true: underscores of the name are printed as spaces.
 */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit_test {
    const char *name;
    void (*run)(void);
    struct unit_test *next;
};

static struct {
    struct unit_test *first, **end;
    const struct unit_test *now;
    int number;
    bool now_failed, now_skipped, any_failed;
} unit;

static inline void unit_add(struct unit_test *test)
{
    if (!unit.end)
        unit.end = &unit.first;
    *unit.end = test;
    unit.end = &test->next;
}

#define TEST(name_)                                                                                          \
    static void test_##name_(void);                                                                          \
    static struct unit_test unit_test_##name_ = {.name = #name_, .run = test_##name_};                       \
    __attribute__((constructor)) static void unit_add_##name_(void)                                          \
    {                                                                                                        \
        unit_add(&unit_test_##name_);                                                                        \
    }                                                                                                        \
    static void test_##name_(void)

static inline void unit_print_name(void)
{
    for (const char *at = unit.now->name; *at; at++)
        putchar(*at == '_' ? ' ' : *at);
}

/* TAP wants the result before its diagnostics, so that the first failed check prints it. */
static inline void unit_failed(const char *file, int line)
{
    if (!unit.now_failed && !unit.now_skipped) {
        printf("not ok %d - ", unit.number);
        unit_print_name();
        putchar('\n');
    }
    unit.now_failed = unit.any_failed = true;
    printf("# %s:%d: ", file, line);
}

/* A value in a diagnostic: one line, whatever its bytes are. */
static inline void unit_print_text(const char *text)
{
    if (!text) {
        printf("NULL");
        return;
    }
    putchar('"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '\n')
            printf("\\n");
        else if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (*at < ' ' || *at == 127)
            printf("\\x%02x", *at);
        else
            putchar(*at);
    }
    putchar('"');
}

static inline bool unit_check(bool held, const char *text, const char *file, int line)
{
    if (!held) {
        unit_failed(file, line);
        printf("%s is not true\n", text);
    }
    return held;
}

static inline bool unit_check_int(intmax_t got, intmax_t want, const char *text, const char *file, int line)
{
    if (got != want) {
        unit_failed(file, line);
        printf("%s is %" PRIdMAX ", not %" PRIdMAX "\n", text, got, want);
    }
    return got == want;
}

static inline bool unit_check_str(const char *got, const char *want, const char *text, const char *file,
                                  int line)
{
    bool same = got == want || (got && want && strcmp(got, want) == 0);
    if (!same) {
        unit_failed(file, line);
        printf("%s is ", text);
        unit_print_text(got);
        printf(", not ");
        unit_print_text(want);
        putchar('\n');
    }
    return same;
}

#define CHECK(condition)     unit_check((condition) ? true : false, #condition, __FILE__, __LINE__)
#define CHECK_INT(got, want) unit_check_int((intmax_t)(got), (intmax_t)(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) unit_check_str((got), (want), #got, __FILE__, __LINE__)

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!CHECK(condition))                                                                               \
            return;                                                                                          \
    } while (0)

#define SKIP(reason)                                                                                         \
    do {                                                                                                     \
        unit_skip(reason);                                                                                   \
        return;                                                                                              \
    } while (0)

static inline void unit_skip(const char *reason)
{
    if (unit.now_failed || unit.now_skipped)
        return; /* a test that has failed stays failed */
    unit.now_skipped = true;
    printf("ok %d - ", unit.number);
    unit_print_name();
    printf(" # SKIP %s\n", reason);
}

static inline void unit_run(const struct unit_test *test)
{
    unit.now = test;
    unit.number++;
    unit.now_failed = unit.now_skipped = false;
    errno = 0;
    test->run();
    if (unit.now_failed || unit.now_skipped)
        return;
    printf("ok %d - ", unit.number);
    unit_print_name();
    putchar('\n');
}

/* Is this a part of its name, as it is written or as it is shown? */
static inline bool unit_is_chosen(const struct unit_test *test, const char *part)
{
    for (const char *from = test->name;; from++) {
        const char *at = from, *wanted = part;
        while (*wanted && (*at == *wanted || (*at == '_' && *wanted == ' ')))
            at++, wanted++;
        if (!*wanted)
            return true;
        if (!*from)
            return false;
    }
}

static inline int unit_main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : getenv("BAWN_PART");
    if (!part)
        part = "";
    int planned = 0;
    for (const struct unit_test *test = unit.first; test; test = test->next)
        planned += unit_is_chosen(test, part);

    /* Line by line, so that a crash loses nothing and a forked child repeats nothing. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%d\n", planned);
    for (const struct unit_test *test = unit.first; test; test = test->next) {
        if (unit_is_chosen(test, part))
            unit_run(test);
    }
    return unit.any_failed ? 1 : 0;
}

#define UNIT_MAIN()                                                                                          \
    int main(int argc, char **argv)                                                                          \
    {                                                                                                        \
        return unit_main(argc, argv);                                                                        \
    }
