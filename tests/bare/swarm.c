/*
 * Makes processes or threads, each in one of the ways that there are, until there are so many or the kernel refuses. Prints how many, and the errno.
 *
 *     swarm WAY MOST
 *
 * All that it makes ends with it: it waits for the end of a pipe that only the first process can write to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKERS = 8, THREADS = 4, FAILURES = 3, HOGS = 2 };

static int ends[2], ready[2], go[2], done[2];
static unsigned most;
static _Atomic unsigned *made; /* shared by all */

static void stay(void)
{
    char ignored;
    close(ends[1]);
    while (read(ends[0], &ignored, 1) > 0) {
    }
    _exit(0);
}

static int zombie(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return child;
}

static int zombie_by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    return child;
}

static int by_clone(unsigned long flags)
{
    long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        stay();
    return (int)child;
}

static int sibling(void)
{
    return by_clone(CLONE_PARENT);
}

static int sharing(void)
{
    return by_clone(CLONE_FS);
}

static int hidden(void) /* nobody may read what it is */
{
    pid_t child = fork();
    if (child == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
        stay();
    return child;
}

static int orphan(void) /* of a session of its own */
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t other = fork();
        if (other == 0)
            stay();
        _exit(other < 0 ? errno : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return -1;
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static void *stay_as_thread(void *ignored)
{
    for (;;)
        pause();
    return ignored;
}

static int thread(void)
{
    pthread_t ignored;
    errno = pthread_create(&ignored, NULL, stay_as_thread, NULL);
    return errno ? -1 : 0;
}

/* Each process makes the next one, and stays. */
static int chain(void)
{
    int result[2], errnum = 0;
    if (pipe(result) < 0)
        return -1;
    pid_t child = fork();
    while (child == 0) {
        (*made)++;
        child = *made < most ? fork() : -1;
        if (child != 0) {
            errnum = child < 0 ? errno : 0;
            if (child < 0 && write(result[1], &errnum, sizeof(errnum)) < 0)
                _exit(1);
            stay();
        }
    }
    if (child < 0 || read(result[0], &errnum, sizeof(errnum)) != sizeof(errnum))
        return -1;
    errno = errnum;
    return -1;
}

/* Fails often, so that it is there when others end. */
static void *make_zombies(void *ignored)
{
    char none;
    if (write(ready[1], "", 1) != 1 || read(go[0], &none, 1) != 0)
        return ignored;
    for (unsigned failures = 0; failures < FAILURES && *made < most;) {
        if (zombie() < 0)
            failures++;
        else
            (*made)++;
    }
    if (write(done[1], "", 1) == 1)
        stay();
    return ignored;
}

/* Many threads of some processes at once: they begin when all are there. */
static int many(void)
{
    char ignored;
    if (pipe(go) < 0 || pipe(ready) < 0 || pipe(done) < 0)
        return -1;
    for (unsigned i = 0; i < FORKERS; i++) {
        if (fork() == 0) {
            pthread_t thread;
            close(go[1]);
            for (unsigned j = 1; j < THREADS; j++)
                pthread_create(&thread, NULL, make_zombies, NULL);
            make_zombies(NULL);
        }
    }
    for (unsigned i = 0; i < FORKERS * THREADS; i++) {
        if (read(ready[0], &ignored, 1) != 1)
            return -1;
    }
    close(go[1]);
    for (unsigned i = 0; i < FORKERS * THREADS; i++) {
        if (read(done[0], &ignored, 1) != 1)
            return -1;
    }
    errno = *made < most ? EAGAIN : 0;
    return -1;
}

/* On the first processor that there is. */
static void share_processor(void)
{
    cpu_set_t all, one;
    unsigned first = 0;
    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        _exit(1);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || sched_setaffinity(0, sizeof(one), &one) < 0)
        _exit(1);
}

/* A process that hardly gets a processor: between the permission for its fork and the fork a second goes by. */
static pid_t start_slow(_Atomic unsigned *state)
{
    const struct sched_param none = {0};
    pid_t slow = 0;
    for (unsigned i = 0; i <= HOGS && (i == 0 || slow > 0); i++) {
        pid_t child = fork();
        if (child == 0) {
            char ignored;
            share_processor();
            while (i > 0) {
            }
            if (sched_setscheduler(0, SCHED_IDLE, &none) < 0 || read(go[0], &ignored, 1) != 1)
                _exit(1);
            *state = 1;
            pid_t made_late = fork();
            if (made_late != 0)
                *state = made_late > 0 ? 2 : 3;
            stay();
        }
        slow = i == 0 ? child : slow;
    }
    return slow;
}

/* How often the thread has waited, and what it does now. */
static long count_waits(pid_t thread, char *ret_state)
{
    char path[64], line[128];
    long waits = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        sscanf(line, "State: %c", ret_state);
        sscanf(line, "voluntary_ctxt_switches: %ld", &waits);
    }
    if (file)
        fclose(file);
    return waits;
}

/* There is room for one more; a slow process is allowed to make it, and another one asks before it is there. */
static int late(void)
{
    _Atomic unsigned *state = made + 1;
    if (pipe(go) < 0)
        return -1;
    pid_t slow = start_slow(state), child = 1;
    while (*made < most && (child = zombie()) > 0)
        (*made)++;
    if (child > 0 || slow < 0)
        return -1;
    while (waitpid(-1, NULL, WNOHANG) <= 0) {
    }
    (*made)--;
    char slow_is = 0;
    long waits = 0;
    while (slow_is != 'S') /* in read() */
        waits = count_waits(slow, &slow_is);
    if (write(go[1], "", 1) != 1)
        return -1;
    while (*state == 0) {
    }
    /* It waits for the judge, and then for a processor. */
    while (*state == 1 && (count_waits(slow, &slow_is) == waits || slow_is != 'R')) {
    }
    *made += zombie() > 0;
    while (*state == 1) {
    }
    *made += *state == 2;
    errno = EAGAIN;
    return -1;
}

static const struct {
    const char *name;
    int (*make)(void);
    int counts; /* its successes are counted here */
} ways[] = {{"fork", zombie, 1},     {"vfork", zombie_by_vfork, 1}, {"clone-parent", sibling, 1},
            {"clone-fs", sharing, 1}, {"hidden", hidden, 1},         {"orphan", orphan, 1},
            {"thread", thread, 1},    {"chain", chain, 0},           {"many", many, 0},
            {"late", late, 0}};

int main(int count, char **words)
{
    made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    most = count > 2 ? (unsigned)atoi(words[2]) : 0;
    if (made == MAP_FAILED || pipe(ends) < 0)
        return 1;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        if (strcmp(ways[i].name, words[1]) != 0)
            continue;
        int result = 0;
        errno = 0;
        while (*made < most && result >= 0) {
            result = ways[i].make();
            if (ways[i].counts && result >= 0)
                (*made)++;
        }
        printf("%u %s\n", *made, *made >= most ? "all" : errno == EAGAIN ? "EAGAIN" : strerror(errno));
        return 0;
    }
    return 1;
}
