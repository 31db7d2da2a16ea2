/* Processes as /proc shows them: one that is open stays that one, whoever has its number later. */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "kernel/process.h"
#include "unit.h"

/* Starts a process that waits. With a number, it gets that number; -1 where that is not permitted. */
static pid_t start(pid_t number)
{
    struct clone_args arguments = {
        .exit_signal = SIGCHLD,
        .set_tid = number ? (uint64_t)(uintptr_t)&number : 0,
        .set_tid_size = number ? 1 : 0,
    };
    pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
}

static void end(pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

static bool marks_of(int process_fd, unsigned char ret_marks[BLAKE2B_SIZE])
{
    struct blake2b hash;
    bool is_counted = true;
    blake2b_begin(&hash);
    process_look_whole(process_fd, &hash, &is_counted);
    blake2b_end(&hash, ret_marks);
    return is_counted;
}

static char whole_state(int process_fd)
{
    struct blake2b hash;
    bool ignored = true;
    blake2b_begin(&hash);
    return process_look_whole(process_fd, &hash, &ignored).state;
}

TEST(a_process_is_found_among_the_children_of_its_parent_with_its_state)
{
    pid_t child = start(0);
    auto_fd int fd = process_open(child);
    process_list children = {0};
    children_add(&children, getpid(), 16);
    REQUIRE(children.count == 1);
    CHECK_INT(children.at[0], child);
    CHECK_INT(process_look(fd).parent, getpid());
    REQUIRE(process_signal(fd, SIGSTOP));
    waitpid(child, NULL, WUNTRACED);
    CHECK_INT(process_look(fd).state, 'T');
    unsigned char before[BLAKE2B_SIZE], same[BLAKE2B_SIZE], after[BLAKE2B_SIZE];
    bool is_counted = marks_of(fd, before);
    CHECK(is_counted == marks_of(fd, same));
    CHECK(memcmp(before, same, sizeof(same)) == 0);
    REQUIRE(process_signal(fd, SIGCONT));
    REQUIRE(process_signal(fd, SIGSTOP));
    waitpid(child, NULL, WUNTRACED);
    marks_of(fd, after);
    CHECK(!is_counted || memcmp(before, after, sizeof(after)) != 0);
    vec_free(&children);
    end(child);
}

TEST(a_process_that_has_ended_is_not_signalled_though_another_has_its_number)
{
    pid_t child = start(0);
    auto_fd int fd = process_open(child);
    REQUIRE(process_signal(fd, 0));
    end(child);
    pid_t other = start(child);
    if (other < 0 && errno == EPERM)
        SKIP("the right to choose a process's number is root's");
    REQUIRE(other == child);
    CHECK(!process_signal(fd, SIGKILL));
    CHECK_INT(process_look(fd).state, '\0');
    auto_fd int other_fd = process_open(other); /* the control: it is there, and can be signalled */
    CHECK(process_signal(other_fd, SIGKILL));
    waitpid(other, NULL, 0);
}

static _Noreturn void *stay(void *unused)
{
    (void)unused;
    for (;;)
        pause();
}

TEST(a_process_whose_first_thread_has_ended_is_no_dead_one)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&thread, NULL, stay, NULL) != 0)
            _exit(1);
        syscall(SYS_exit, 0); /* of this thread alone */
    }
    auto_fd int fd = process_open(child);
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", child);
    for (char state = 'R'; state != 'Z'; nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL)) {
        FILE *file = fopen(path, "re");
        REQUIRE(file != NULL);
        REQUIRE(fscanf(file, "%*d %*s %c", &state) == 1);
        fclose(file);
    }
    /* The thread that is left sleeps, or is on its way there. */
    char state = whole_state(fd);
    CHECK(state == 'S' || state == 'R');
    end(child);
}

/* Waits until the first thread of the process is in this state. */
static void await_first(int process_fd, char state)
{
    for (int i = 0; i < 10000 && process_look(process_fd).state != state; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

TEST(a_process_whose_first_thread_waits_in_vfork_runs_as_long_as_another_one_does)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&thread, NULL, stay, NULL) != 0)
            _exit(1);
        struct clone_args arguments = {.flags = CLONE_VFORK, .exit_signal = SIGCHLD};
        if (syscall(SYS_clone3, &arguments, sizeof(arguments)) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            stay(NULL);
        }
        _exit(0);
    }
    auto_fd int fd = process_open(child);
    await_first(fd, 'D');
    REQUIRE(process_look(fd).state == 'D');
    char state = whole_state(fd);
    CHECK(state == 'S' || state == 'R');
    end(child);
}

TEST(a_process_whose_first_thread_is_traced_runs_as_long_as_another_one_does)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&thread, NULL, stay, NULL);
        stay(NULL);
    }
    auto_fd int fd = process_open(child);
    await_first(fd, 'S');
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) < 0)
        SKIP("no process may be traced here");
    REQUIRE(ptrace(PTRACE_INTERRUPT, child, NULL, NULL) == 0);
    await_first(fd, 't');
    REQUIRE(process_look(fd).state == 't');
    char state = whole_state(fd);
    CHECK(state == 'S' || state == 'R');
    end(child);
}

UNIT_MAIN()
