#include "kernel/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>

enum {
    MOST_THREADS = 16, /* beyond the first */
    STACK_SIZE = 128 * 1024,
};

struct shared {
    thread_work *work;
    void *context;
};

static void *work_in_thread(void *context)
{
    const struct shared *shared = context;
    shared->work(shared->context, false);
    return NULL;
}

static size_t count_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

void threads_share(thread_work *work, void *context, bool is_worth_it)
{
    struct shared shared = {work, context};
    pthread_t threads[MOST_THREADS];
    pthread_attr_t attributes;
    sigset_t all, before;
    size_t started = 0, wanted = is_worth_it ? count_processors() - 1 : 0;
    if (wanted > MOST_THREADS)
        wanted = MOST_THREADS;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted && pthread_create(&threads[started], &attributes, work_in_thread, &shared) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    work(context, true);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
