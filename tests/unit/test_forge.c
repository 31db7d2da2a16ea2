/* The walls of bawn-forge, on this machine's kernel: each act is tried in a child without them first. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "forge/forge.h"
#include "unit.h"

enum { BROKEN = 200 };

static int errno_of(long result)
{
    return result < 0 ? errno : 0;
}

static int open_file(void)
{
    return errno_of(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int make_file(void)
{
    return errno_of(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

static int open_socket(void)
{
    return errno_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int open_unix_socket(void)
{
    return errno_of(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int run_program(void)
{
    char *const words[] = {(char *)"true", NULL};
    return errno_of(execve("/bin/true", words, words + 1));
}

static int make_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return errno_of(child);
}

static int signal_parent(void)
{
    return errno_of(kill(getppid(), 0));
}

static int duplicate(void)
{
    return errno_of(dup(0));
}

/* What `act` gives in a child of its own, 0 or an errno. */
static int outcome(int (*act)(void), bool is_confined)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct err err;
        if (is_confined && forge_confine(&err) < 0)
            _exit(BROKEN);
        _exit(act());
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

TEST(it_opens_no_file_and_no_socket_and_runs_nothing)
{
    int (*const acts[])(void) = {open_file,   make_file,    open_socket,   open_unix_socket,
                                 run_program, make_process, signal_parent, duplicate};
    for (size_t i = 0; i < array_len(acts); i++) {
        CHECK_INT(outcome(acts[i], false), 0); /* the control */
        CHECK_INT(outcome(acts[i], true), EPERM);
    }
}

/* Reads and writes what is open. */
static int pass_bytes(void)
{
    char byte;
    int pair[2];
    memcpy(pair, (int[]){10, 11}, sizeof(pair));
    return write(pair[1], "x", 1) == 1 && read(pair[0], &byte, 1) == 1 && byte == 'x' ? 0 : 1;
}

TEST(it_reads_and_writes_what_was_open_before)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    CHECK(dup3(pair[0], 10, O_CLOEXEC) == 10 && dup3(pair[1], 11, O_CLOEXEC) == 11);
    CHECK_INT(outcome(pass_bytes, true), 0);
    close(pair[0]);
    close(pair[1]);
    close(10);
    close(11);
}

TEST(settings_say_what_may_be_pushed)
{
    static const char text[] = "push\nrule -fo refs/heads/a refs/heads/b/*\nrule -d refs/tags/*";
    struct forge_settings settings = {0};
    struct err err = {0};
    int pair[2];
    CHECK(pipe2(pair, O_CLOEXEC) == 0 && write(pair[1], text, strlen(text)) == (ssize_t)strlen(text));
    close(pair[1]);
    CHECK(forge_settings_read(pair[0], &settings, &err) == 0);
    CHECK(settings.is_push && settings.rules.count == 2);
    CHECK(settings.rules.at[0].may_force && settings.rules.at[0].may_send_options &&
          !settings.rules.at[0].may_delete);
    CHECK(!settings.rules.at[1].may_force && settings.rules.at[1].may_delete);
    CHECK_STR(settings.rules.at[0].refs[1], "refs/heads/b/*");
    vec_free(&settings.rules);
    arena_free(&settings.arena);
}

UNIT_MAIN()
