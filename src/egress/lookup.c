#include "egress/lookup.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/arena.h"

/* musl has no modules at all. */
#if defined(BAWN_STATIC_HELPER) && defined(__GLIBC__)
#define LEAVES_MODULES_OUT
#include <nss.h>
#endif

enum { MOST_THREADS = 16, MOST_FOR_MANY = 8 };

struct job {
    struct job *next;
    void *self;
    bool is_one_of_many;
    struct lookup_result result;
    char name[256];
};

struct queue {
    struct job *first, **end;
};

struct lookup {
    pthread_mutex_t mutex;
    pthread_cond_t has_work;
    struct queue waiting, waiting_many, done;
    unsigned threads, idle, queued, busy_with_many;
    int ready_fd;
};

static void put(struct queue *queue, struct job *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
}

static struct job *get(struct queue *queue)
{
    struct job *job = queue->first;
    if (job && !(queue->first = job->next))
        queue->end = &queue->first;
    return job;
}

static void ask_system(struct job *job)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int failed = getaddrinfo(job->name, NULL, &hints, &found);
    if (failed) {
        job->result.problem = gai_strerror(failed);
        return;
    }
    for (const struct addrinfo *at = found; at && job->result.count < LOOKUP_MOST_ADDRESSES;
         at = at->ai_next) {
        struct sockaddr_storage address = {0};
        memcpy(&address, at->ai_addr, at->ai_addrlen);
        if (endpoint_from_socket(&address, &job->result.addresses[job->result.count]))
            job->result.count++;
    }
    job->result.problem = job->result.count ? NULL : "it has no address";
    freeaddrinfo(found);
}

/* Names below a wildcard use at most MOST_FOR_MANY threads, and come last. */
static struct job *next_job(struct lookup *lookup)
{
    struct job *job = get(&lookup->waiting);
    if (!job && lookup->busy_with_many < MOST_FOR_MANY && (job = get(&lookup->waiting_many)))
        lookup->busy_with_many++;
    lookup->queued -= job != NULL;
    return job;
}

static void *work(void *self)
{
    struct lookup *lookup = self;
    pthread_mutex_lock(&lookup->mutex);
    for (;;) {
        struct job *job;
        while (!(job = next_job(lookup))) {
            lookup->idle++;
            pthread_cond_wait(&lookup->has_work, &lookup->mutex);
            lookup->idle--;
        }
        pthread_mutex_unlock(&lookup->mutex);
        ask_system(job);
        pthread_mutex_lock(&lookup->mutex);
        lookup->busy_with_many -= job->is_one_of_many;
        put(&lookup->done, job);
        static const uint64_t one = 1;
        if (write(lookup->ready_fd, &one, sizeof(one)) < 0)
            continue; /* the counter is full: the descriptor is readable anyway */
    }
    return NULL;
}

#ifdef LEAVES_MODULES_OUT
/*
 * A static program must not load the modules of whichever libc the host has, so it does not follow nsswitch.conf. It asks
 * /etc/hosts and the servers in /etc/resolv.conf. Names that only a module knows (mDNS, systemd's own, LDAP) are not found.
 */
static bool choose_sources(void)
{
    return __nss_configure_lookup("hosts", "files dns") == 0;
}
#endif

struct lookup *lookup_open(int *ret_ready_fd)
{
#ifdef LEAVES_MODULES_OUT
    if (!choose_sources())
        return NULL;
#endif
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct lookup *lookup = must_realloc(NULL, 1, sizeof(*lookup));
    *lookup = (struct lookup){.ready_fd = fd};
    lookup->waiting.end = &lookup->waiting.first;
    lookup->waiting_many.end = &lookup->waiting_many.first;
    lookup->done.end = &lookup->done.first;
    pthread_mutex_init(&lookup->mutex, NULL);
    pthread_cond_init(&lookup->has_work, NULL);
    *ret_ready_fd = fd;
    return lookup;
}

/* Starts threads on demand. If not even one can be started, the lookup fails at once. */
void lookup_start(struct lookup *lookup, const char *name, bool is_one_of_many, void *self)
{
    struct job *job = must_realloc(NULL, 1, sizeof(*job));
    *job = (struct job){.self = self, .is_one_of_many = is_one_of_many};
    size_t size = strnlen(name, sizeof(job->name) - 1);
    memcpy(job->name, name, size);
    pthread_mutex_lock(&lookup->mutex);
    lookup->queued++;
    /* A thread that was signalled but has not run yet still counts as idle: compare with the queue. */
    if (lookup->queued > lookup->idle && lookup->threads < MOST_THREADS) {
        pthread_t thread;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&small, 1024UL * 1024);
        lookup->threads += pthread_create(&thread, &small, work, lookup) == 0;
        pthread_attr_destroy(&small);
    }
    if (lookup->threads) {
        put(is_one_of_many ? &lookup->waiting_many : &lookup->waiting, job);
        pthread_cond_signal(&lookup->has_work);
    } else {
        lookup->queued--;
        job->result.problem = "no thread could be started to resolve it";
        put(&lookup->done, job);
        eventfd_write(lookup->ready_fd, 1);
    }
    pthread_mutex_unlock(&lookup->mutex);
}

void *lookup_next(struct lookup *lookup, struct lookup_result *ret_result)
{
    eventfd_t ignored;
    eventfd_read(lookup->ready_fd, &ignored);
    pthread_mutex_lock(&lookup->mutex);
    struct job *job = get(&lookup->done);
    pthread_mutex_unlock(&lookup->mutex);
    if (!job)
        return NULL;
    *ret_result = job->result;
    void *self = job->self;
    free(job);
    return self;
}
