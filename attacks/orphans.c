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

static int is_zombie(const char *pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, line, sizeof(line) - 1) < 0)
        return 0;
    close(fd);
    const char *end = strrchr(line, ')');
    return end && end[2] == 'Z' && strtol(strchr(end, ' ') + 3, NULL, 10) <= 1; /* process 1 is its parent */
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
    usleep(50000);
    DIR *proc = opendir("/proc");
    must(proc ? 0 : -1, "open");
    for (const struct dirent *entry; (entry = readdir(proc));) {
        if (isdigit((unsigned char)*entry->d_name) && is_zombie(entry->d_name))
            done();
    }
    saw("none");
}
