/*
 * Leaves fifty children behind that end at once, and counts the dead that nobody has buried.
 *
 * Why: an init that does not reap fills the table of processes, until nothing can be started.
 * Seen: containers whose process 1 is the application itself.
 *
 * case orphans-are-reaped: => none | control ~
 */
#include <ctype.h>
#include <dirent.h>
#include <sys/wait.h>

#include "attack.h"

enum { TRIES = 60, TRY_MICROSECONDS = 50000 };

static int is_zombie(const char *pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (got < 0)
        return 0;
    const char *end = strrchr(line, ')');
    return end && end[2] == 'Z' && strtol(strchr(end, ' ') + 3, NULL, 10) <= 1; /* process 1 is its parent */
}

static int has_zombies(void)
{
    DIR *proc = opendir("/proc");
    must(proc ? 0 : -1, "open");
    int is_found = 0;
    for (const struct dirent *entry; !is_found && (entry = readdir(proc));)
        is_found = isdigit((unsigned char)*entry->d_name) && is_zombie(entry->d_name);
    closedir(proc);
    return is_found;
}

ATTACK(orphans)
{
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (fork() == 0)
                _exit(0);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    for (int i = 0; has_zombies(); i++) {
        if (i >= TRIES)
            done();
        usleep(TRY_MICROSECONDS); /* on a busy machine process 1 takes its time */
    }
    saw("none");
}
