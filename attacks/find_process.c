/*
 * Looks for a process of the host in /proc, by a word on its command line.
 *
 * Why: names, arguments and numbers of the host's processes tell what else is going on, and are where attacks on them
 * begin.
 * Seen: sandboxes that bind the host's /proc.
 *
 * case find-host-process: {victim_half} {victim_other_half} => not found
 *   processes: find a process of the host in /proc
 * case find-host-process-full-access: {victim_half} {victim_other_half} => not found | flags --full-access --i-know
 *
 * What was typed to start bawn is on the command line of its process 1, and names what the caller has.
 * case find-command-line-of-bawn: --ne t => not found | control-args {victim_half} {victim_other_half}
 */
#include <ctype.h>
#include <dirent.h>

#include "attack.h"

static int holds(const char *pid, const char *word)
{
    char path[64], line[8192] = "";
    snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, line, sizeof(line));
    close(fd);
    return got > 0 && memmem(line, (size_t)got, word, strlen(word)) != NULL;
}

ATTACK(find_process)
{
    char word[256]; /* in two halves, or the attack would find itself */
    snprintf(word, sizeof(word), "%s%s", argument(argc, argv, 1), argument(argc, argv, 2));
    DIR *proc = opendir("/proc");
    must(proc ? 0 : -1, "open");
    for (const struct dirent *entry; (entry = readdir(proc));) {
        if (isdigit((unsigned char)*entry->d_name) && holds(entry->d_name, word))
            done();
    }
    saw("not found");
}
