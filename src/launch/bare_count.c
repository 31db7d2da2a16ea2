/*
 * The limit on processes and threads (`limit pids`) where no control group holds it. Without a user namespace the kernel would count all that the
 * user has, and nothing of root's. So the judge counts.
 *
 * Theory of operation
 *
 * Every way to make a process or a thread is judged: fork, vfork and clone. (clone3 and io_uring are refused.) The judge adds one to `most_there` for each call
 * that it lets go on, and nothing tells it what ends. When `most_there` has reached the limit, a census says what is really there, as a control group
 * would: every thread, and every process that nobody has waited for. If that is the limit, the call fails with EAGAIN.
 *
 * Invariants.
 *
 *   1. `most_there` is never less than what is there. Only a census lowers it.
 *   2. During a census the judge lets nothing go on. So what is there after it was there before it, or was on its way:
 *   3. A call that was let go on may not have been carried out yet. Its thread is on its way through the kernel, where it runs or waits without being
 *      interrupted. A thread that does neither, or calls again, has carried it out. The census looks at these threads before it looks at the
 *      processes, so that what they make is counted once at least.
 *   4. The kernel lists processes in the order of their numbers. One that is there during the whole of a census is found, whoever else ends.
 *   5. A process belongs to the run if its parents lead to the warden: all orphans of the run fall to processes of the run. One whose parent ended during the
 *      census, or of which nothing can be read, is counted in doubt.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/directories.h"
#include "kernel/process.h"
#include "launch/bare_sockets.h"

enum {
    AT_THE_START = 4, /* the warden, its judge, the killer and the command */
    MOST_ON_THEIR_WAY = 16384,
};

struct population {
    uint64_t most, most_there;
    _Atomic uint64_t refused;  /* the warden reports it */
    process_list on_their_way; /* threads that may be making something; some twice */
};

enum belonging { UNKNOWN, INSIDE, OUTSIDE };

struct member {
    pid_t process, parent;
    uint64_t threads;
    enum belonging belonging;
};
typedef VEC(struct member) member_list;

void bare_begin_counting(struct bare *bare)
{
    static struct population population; /* the judge's, until the process ends */
    population.most = limits_judged(bare->launch->operations);
    population.most_there = AT_THE_START;
    bare->population = population.most == UINT64_MAX ? NULL : &population;
}

uint64_t bare_refused_processes(const struct bare *bare)
{
    return bare->population ? bare->population->refused : 0;
}

static int compare_numbers(const void *a, const void *b)
{
    const pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return (left > right) - (left < right);
}

/* What a thread on its way looks like, and some that only compute. */
static bool may_be_on_its_way(pid_t thread)
{
    auto_fd int fd = process_open(thread);
    char state = process_look(fd).state;
    return state == 'R' || state == 'D';
}

static uint64_t count_on_their_way(struct population *population, pid_t caller)
{
    size_t kept = 0;
    pid_t *threads = population->on_their_way.at;
    if (population->on_their_way.count)
        qsort(threads, population->on_their_way.count, sizeof(*threads), compare_numbers);
    for (size_t i = 0; i < population->on_their_way.count; i++) {
        bool is_twice = kept && threads[kept - 1] == threads[i];
        if (threads[i] != caller && !is_twice && may_be_on_its_way(threads[i]))
            threads[kept++] = threads[i];
    }
    population->on_their_way.count = kept;
    return kept;
}

/* Adds a process, unless it has ended meanwhile. */
static void add_member(member_list *members, pid_t process)
{
    auto_fd int fd = process_open(process);
    struct process_look look = process_look(fd);
    struct member member = {process, look.parent, look.threads, UNKNOWN};
    if (process == getpid())
        member.belonging = INSIDE;
    if (!look.state) { /* nobody may read it, and this user may signal it */
        member.threads = 1;
        member.belonging = INSIDE;
    }
    if (look.state || kill(process, 0) == 0)
        vec_push(members, member);
}

static bool list_members(member_list *members)
{
    auto_dir DIR *processes = directories_take(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int trouble = processes ? 0 : errno;
    for (const struct dirent *entry; processes && (entry = directories_next(processes, &trouble));) {
        const char *name = entry->d_name;
        uint64_t number;
        if (text_take_number(&name, &number) && !*name)
            add_member(members, (pid_t)number);
    }
    if (members->count)
        qsort(members->at, members->count, sizeof(*members->at), compare_numbers); /* `process` comes first */
    return !trouble;
}

static struct member *find_member(const member_list *members, pid_t process)
{
    return process <= 0
               ? NULL
               : bsearch(&process, members->at, members->count, sizeof(*members->at), compare_numbers);
}

/* NULL: it is known of this process itself. */
static struct member *find_parent(const member_list *members, struct member *member)
{
    struct member *parent = find_member(members, member->parent);
    if (parent || member->parent == 0) {
        member->belonging = parent ? member->belonging : OUTSIDE;
        return parent;
    }
    /* The parent has ended meanwhile, and there is another one. */
    auto_fd int fd = process_open(member->process);
    struct process_look look = process_look(fd);
    member->parent = look.state ? look.parent : member->parent;
    parent = find_member(members, member->parent);
    if (!parent)
        member->belonging = member->parent == 0 ? OUTSIDE : INSIDE;
    return parent;
}

/* Finds out about a process, and all of its parents. */
static bool is_inside(const member_list *members, struct member *member)
{
    struct member *at = member;
    for (size_t steps = 0; at->belonging == UNKNOWN && steps < members->count; steps++) {
        struct member *parent = find_parent(members, at);
        at = parent ? parent : at;
    }
    enum belonging found = at->belonging == OUTSIDE ? OUTSIDE : INSIDE;
    for (at = member; at && at->belonging == UNKNOWN; at = find_member(members, at->parent))
        at->belonging = found;
    return found == INSIDE;
}

static void take_census(struct population *population, pid_t caller)
{
    auto_vec member_list members = {0};
    uint64_t count = count_on_their_way(population, caller);
    bool are_listed = list_members(&members);
    vec_each (struct member, member, &members) {
        if (is_inside(&members, member))
            count += member->threads;
    }
    if (are_listed)
        population->most_there = count;
}

int bare_fork(const struct bare *bare, const struct judged_call *call)
{
    struct population *population = bare->population;
    if (!population)
        return BARE_CONTINUED;
    if (population->most_there >= population->most || population->on_their_way.count >= MOST_ON_THEIR_WAY)
        take_census(population, call->thread);
    if (population->most_there >= population->most) {
        population->refused++;
        return EAGAIN;
    }
    population->most_there++;
    vec_push(&population->on_their_way, call->thread);
    return BARE_CONTINUED;
}

int bare_clone(const struct bare *bare, const struct judged_call *call)
{
    if ((call->arguments[0] & (CLONE_FILES | CLONE_THREAD)) == CLONE_FILES)
        callers_note_sharing(bare->callers);
    return bare_fork(bare, call);
}
