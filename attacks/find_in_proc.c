/*
 * Looks through /proc, in the files of every process that are named, for a word.
 *
 * Why: names, arguments and numbers of the host's processes tell what else is going on, and are where attacks on them
 * begin. A process that keeps the caller's environment gives away what was cleared in the child's.
 * Seen: sandboxes that bind the host's /proc; bubblewrap, whose process 1 shows the caller's environment in /proc/1/environ.
 *
 * case find-host-process: {victim_half} {victim_other_half} cmdline => not found
 *   processes: find a process of the host in /proc
 * case find-host-process-full-access: {victim_half} {victim_other_half} cmdline => not found | flags --full-access --i-know
 *
 * What was typed to start bawn is on the command line of its process 1, and names what the caller has.
 * case find-command-line-of-bawn: --ne t cmdline => not found | control-args {victim_half} {victim_other_half} cmdline
 *
 * case find-token: {token_half} {token_other_half} environ cmdline => not found
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

ATTACK(find_in_proc)
{
    char word[256]; /* in two halves, or the attack would find itself */
    snprintf(word, sizeof(word), "%s%s", argument(argc, argv, 1), argument(argc, argv, 2));
    DIR *proc = opendir("/proc");
    must(proc ? 0 : -1, "open");
    for (const struct dirent *entry; (entry = readdir(proc));) {
        for (int i = 3; isdigit((unsigned char)*entry->d_name) && i < argc; i++) {
            if (file_holds(entry->d_name, argv[i], word))
                done();
        }
    }
    saw("not found");
}
