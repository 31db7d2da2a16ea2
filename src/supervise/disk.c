#include "supervise/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/process.h"
#include "kernel/usage.h"

enum {
    SHORTEST_PAUSE = 100,
    LONGEST_PAUSE = 30000, /* milliseconds between two looks */
    PATIENCE = 20,         /* a look may take one part in so many of the time */
    PATIENT = 10,          /* the niceness of the child */
};

/* --- in the child ----------------------------------------------------------------------------------------------------- */

/* What cannot be counted ends the command, which can bring it about. */
static struct usage count_all(const struct disk *disk)
{
    struct usage count = {0};
    for (size_t i = 0; i < disk->trees.count; i++) {
        auto_fd int fd = open_absolute(disk->trees.at[i], O_RDONLY | O_DIRECTORY);
        if (fd >= 0)
            usage_add(fd, &count);
        else if (errno != ENOENT && errno != ENOTDIR)
            count.trouble = USAGE_CLOSED;
    }
    return count;
}

static void pause_for(int64_t milliseconds)
{
    nanosleep(&(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000},
              NULL);
}

/* In a user namespace of its own, the modes that the command sets do not stop it. Where there is none, they end the command. */
static void ignore_modes(void)
{
    struct err ignored;
    struct id_map map = process_id_map();
    if (!process_is_real_root() && unshare(CLONE_NEWUSER) == 0 && process_map_own_ids(&map, &ignored) < 0)
        return;
}

static _Noreturn void count_as_child(const struct disk *disk, pid_t parent, int told_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setpriority(PRIO_PROCESS, 0, PATIENT);
    ignore_modes();
    /* To the supervisor: first what is there at the start, then what ends the command. */
    struct usage first = count_all(disk), now;
    if (write(told_fd, &first, sizeof(first)) != sizeof(first))
        _exit(1);
    for (int64_t pause = SHORTEST_PAUSE;;) {
        pause_for(pause);
        int64_t began = now_milliseconds();
        now = count_all(disk);
        if (now.trouble || (now.bytes > first.bytes && now.bytes - first.bytes > disk->most))
            break;
        pause = (now_milliseconds() - began) * PATIENCE;
        pause = pause < SHORTEST_PAUSE ? SHORTEST_PAUSE : pause > LONGEST_PAUSE ? LONGEST_PAUSE : pause;
    }
    now.bytes -= now.bytes > first.bytes ? first.bytes : now.bytes;
    _exit(write(told_fd, &now, sizeof(now)) == sizeof(now) ? 0 : 1);
}

/* --- in the supervisor ------------------------------------------------------------------------------------------------ */

void disk_add(struct disk *disk, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < disk->trees.count; i++) {
        if (path_is_beneath(path, disk->trees.at[i]))
            return;
        if (!path_is_beneath(disk->trees.at[i], path))
            disk->trees.at[kept++] = disk->trees.at[i];
    }
    disk->trees.count = kept;
    vec_push(&disk->trees, path);
}

/* The child has ended. One that told nothing was killed: nothing holds the limit any more. */
static int is_over(void *self, short events not_used, struct err *err)
{
    struct disk *disk = self;
    struct usage count;
    ssize_t got = read(disk->told_fd, &count, sizeof(count));
    if (got < 0 && errno == EINTR)
        return 0;
    loop_remove(disk->loop, disk->told_fd);
    if (got != sizeof(count))
        return err_set(err, "the process that held the disk limit was ended");
    disk->is_over = true;
    disk->used = count.bytes;
    disk->trouble = usage_trouble_text(count.trouble);
    if (!launch_pass_on(disk->launched, SIGKILL, false))
        launch_kill(disk->launched);
    return 0;
}

int disk_begin(struct disk *disk, struct err *err)
{
    int ends[2];
    struct usage count;
    if (disk->most == UINT64_MAX || !disk->trees.count)
        return 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        count_as_child(disk, parent, ends[1]);
    close(ends[1]);
    disk->told_fd = ends[0];
    disk->child = child;
    if (child < 0)
        return err_sys(err, errno, "cannot make a process for the disk limit");
    if (read(disk->told_fd, &count, sizeof(count)) != sizeof(count))
        return err_set(err, "the disk limit cannot be enforced: its process was ended");
    if (count.trouble)
        return err_set(err, "the disk limit cannot be enforced: %s", usage_trouble_text(count.trouble));
    loop_add(disk->loop, disk->told_fd, POLLIN, is_over, disk);
    return 0;
}

void disk_end(struct disk *disk)
{
    if (disk->child > 0) {
        kill(disk->child, SIGKILL);
        waitpid(disk->child, NULL, 0);
    }
    fd_close(disk->told_fd);
    disk->told_fd = -1;
    disk->child = 0;
    vec_free(&disk->trees);
}
