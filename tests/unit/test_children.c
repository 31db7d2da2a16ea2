/* Processes as /proc shows them: one that is open stays that one, whoever has its number later. */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
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
    uint64_t runs = process_look(fd).runs;
    REQUIRE(process_signal(fd, SIGCONT));
    REQUIRE(process_signal(fd, SIGSTOP));
    waitpid(child, NULL, WUNTRACED);
    CHECK(runs == 0 || process_look(fd).runs > runs);
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
    char state = process_look(fd).state;
    CHECK(state == 'S' || state == 'R');
    end(child);
}

UNIT_MAIN()
