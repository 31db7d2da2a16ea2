/*
 * Looks for a secret of the caller's environment: in its own, in that of every process, on every command line.
 *
 * Why: clearing the child's environment is not enough: another process inside keeps the original.
 * Seen: bubblewrap, whose process 1 shows the caller's environment in /proc/1/environ.
 *
 * case find-token: {token_half} {token_other_half} => not found
 *   files: find a secret of your environment in any process's memory of it
 */
#include <ctype.h>
#include <dirent.h>

#include "attack.h"

static int file_holds(const char *pid, const char *file, const char *word)
{
    static char bytes[1 << 20];
    char path[300];
    snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, bytes, sizeof(bytes));
    close(fd);
    return got > 0 && memmem(bytes, (size_t)got, word, strlen(word)) != NULL;
}

ATTACK(find_secret)
{
    char word[256]; /* in two halves, or the attack would find itself */
    snprintf(word, sizeof(word), "%s%s", argument(argc, argv, 1), argument(argc, argv, 2));
    DIR *proc = opendir("/proc");
    must(proc ? 0 : -1, "open");
    for (const struct dirent *entry; (entry = readdir(proc));) {
        if (isdigit((unsigned char)*entry->d_name) &&
            (file_holds(entry->d_name, "environ", word) || file_holds(entry->d_name, "cmdline", word)))
            done();
    }
    saw("not found");
}
