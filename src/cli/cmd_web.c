/* `bawn web`: becomes the program that serves the page. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/say.h"
#include "kernel/own_program.h"
#include "kernel/process.h"

const char web_usage[] = "bawn web [--port N | --unix PATH] [--no-open]\n"
                         "\n"
                         "Show sessions, reviews, open questions, the policy and the proof in your\n"
                         "browser. The page is served at 127.0.0.1 until you press Ctrl-C. Its address\n"
                         "works once, in one browser.\n"
                         "\n"
                         "  --port N      listen at this port; the default is any that is free\n"
                         "  --unix PATH   listen at a Unix socket, for `ssh -L PORT:PATH HOST`\n"
                         "  --no-open     print the address, and open no browser\n"
                         "\n"
                         "$BAWN_BROWSER is the full path of the browser; the default is xdg-open.\n"
                         "\n"
                         "  bawn web\n"
                         "  bawn web --no-open --port 8000\n";

struct trial {
    const char *program;
    const char *const *environment;
};

/* Starts it with a word that it refuses at once, and shows nothing of that. */
static int try_program(void *argument)
{
    const struct trial *trial = argument;
    const char *const words[] = {trial->program, "--?", NULL};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
        dup2(nothing, STDERR_FILENO) >= 0)
        own_program_become(trial->program, words, trial->environment);
    return EXIT_REFUSED;
}

/* The loader ends a program with this status if it does not find one of its libraries. */
static bool lacks_library(const struct world *world, const char *program)
{
    enum { EXIT_OF_LOADER = 127 };
    struct trial trial = {program, world->caller.environment};
    return process_wait(process_start(try_program, &trial)) == EXIT_OF_LOADER;
}

int cmd_web(const struct world *world, const struct args *args)
{
    auto_arena struct arena arena = {0};
    struct err err = {0};
    const char *program = libexec_find(&arena, "bawn-web");
    VEC(const char *) words = {0};
    if (!program) {
        say_problem(
            world, "the program bawn-web, which serves the page, is not installed",
            "install libmicrohttpd (Debian: libmicrohttpd-dev), build bawn again, and install bawn-web "
            "beside bawn or in " BAWN_LIBEXEC);
        return EXIT_REFUSED;
    }
    if (lacks_library(world, program)) {
        say_problem(world, "the library libmicrohttpd, which serves the page, is not installed",
                    "install the package libmicrohttpd12 (Debian, Ubuntu) or libmicrohttpd (Fedora, Arch)");
        return EXIT_REFUSED;
    }
    vec_push(&words, program);
    vec_push(&words, process_own_path(&arena)); /* bawn-web may be installed elsewhere, beside no bawn */
    for (size_t i = 0; i < args->words.count; i++)
        vec_push(&words, args->words.at[i]);
    vec_push(&words, NULL);
    own_program_become(program, words.at, world->caller.environment);
    err_sys(&err, errno, "cannot start %s", program);
    vec_free(&words);
    return say_refused(world, &err);
}
