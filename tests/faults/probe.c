/*
 * Run inside: prints what the sandbox's walls are like, one line each, always in the same order, and tries what must not work.
 * Whoever started it holds that against what a run without a fault printed. Arguments are tries:
 *
 *   read PATH      what the file holds          list PATH     the names in the folder       write PATH   writes, renames, removes
 *   unix PATH      connects to a socket         abstract NAME  the same, by abstract name    tcp PORT     on the loopback
 *   do PATH=TEXT   what an honest command does: makes the file
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char *result(bool is_done)
{
    return is_done ? "DONE" : strerrorname_np(errno);
}

static void try_read(const char *path)
{
    char text[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[strcspn(text, "\n")] = '\0';
    printf("read %s: %s %s\n", path, result(size >= 0), text);
    if (fd >= 0)
        close(fd);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void try_list(const char *path)
{
    char *names[256];
    size_t count = 0;
    DIR *directory = opendir(path);
    printf("list %s: %s", path, result(directory));
    for (const struct dirent *entry; directory && count < 256 && (entry = readdir(directory));)
        names[count++] = strdup(entry->d_name);
    qsort(names, count, sizeof(*names), compare);
    for (size_t i = 0; i < count; i++)
        printf(" %s", names[i]);
    printf("\n");
    if (directory)
        closedir(directory);
}

static void try_write(const char *path)
{
    char other[4096];
    snprintf(other, sizeof(other), "%s-moved", path);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    printf("write %s: %s", path, result(fd >= 0 && write(fd, "x", 1) == 1));
    if (fd >= 0)
        close(fd);
    printf(" rename %s", result(rename(path, other) == 0));
    printf(" chmod %s", result(chmod(path, 0777) == 0));
    printf(" unlink %s", result(unlink(path) == 0));
    snprintf(other, sizeof(other), "%s/new", path);
    fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    printf(" create %s\n", result(fd >= 0));
    if (fd >= 0)
        close(fd);
}

static void try_unix(const char *name, bool is_abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    memcpy(address.sun_path + is_abstract, name, size);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    printf("unix %s: %s\n", name, result(fd >= 0 && connect(fd, (const void *)&address, length) == 0));
    close(fd);
}

static void try_tcp(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    printf("tcp: %s\n", result(fd >= 0 && connect(fd, (const void *)&address, sizeof(address)) == 0));
    close(fd);
}

/* With a word before the text, by which it is told from the arguments that the journal has. */
static void act(const char *what)
{
    char *path = strdup(what), *text = strchr(path, '='), *written = NULL;
    *text++ = '\0';
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int size = asprintf(&written, "wrote: %s", text);
    printf("do %s: %s\n", path, result(fd >= 0 && write(fd, written, (size_t)size) == size));
    if (fd >= 0)
        close(fd);
    free(written);
    free(path);
}

/* The lines of a file of /proc of which the beginning is one of these. */
static void show_lines(const char *path, const char *const *beginnings)
{
    char line[4096];
    FILE *file = fopen(path, "re");
    printf("%s: %s\n", path, result(file));
    while (file && fgets(line, sizeof(line), file)) {
        for (size_t i = 0; beginnings[i]; i++) {
            if (strncmp(line, beginnings[i], strlen(beginnings[i])) == 0)
                printf("  %s", line);
        }
    }
    if (file)
        fclose(file);
}

/* Mount point, options, kind and root of each mount; numbers of devices and mounts are not the same each time. */
static void show_mounts(void)
{
    char line[8192], *lines[1024];
    size_t count = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && count < 1024 && fgets(line, sizeof(line), file)) {
        char *words[24], *save = NULL;
        size_t n = 0;
        for (char *word = strtok_r(line, " \n", &save); word && n < 24; word = strtok_r(NULL, " \n", &save))
            words[n++] = word;
        size_t dash = 6;
        while (dash < n && strcmp(words[dash], "-") != 0)
            dash++;
        if (dash + 1 < n && asprintf(&lines[count], "  mount %s %s %s", words[4], words[5], words[dash + 1]) > 0)
            count++;
    }
    if (file)
        fclose(file);
    qsort(lines, count, sizeof(*lines), compare);
    for (size_t i = 0; i < count; i++)
        puts(lines[i]);
}

static void show_links(void)
{
    static const char *const kinds[] = {"pid", "net", "ipc", "uts", "user", "mnt", "cgroup", "time"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        char path[64], link[64] = "";
        snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
        if (readlink(path, link, sizeof(link) - 1) < 0)
            snprintf(link, sizeof(link), "none");
        printf("namespace %s\n", link);
    }
}

static void show_limits(void)
{
    static const int resources[] = {RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_NPROC};
    for (size_t i = 0; i < 3; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)resources[i], &limit) == 0)
            printf("limit %d %ld %ld\n", resources[i], (long)limit.rlim_cur, (long)limit.rlim_max);
    }
}

int main(int argc, char **argv)
{
    static const char *const status[] = {"Cap", "NoNewPrivs", "Seccomp:", "Groups", "Uid", "Gid", "SigBlk", "SigIgn", NULL};
    static const char *const all[] = {"", NULL};
    sigset_t blocked;
    try_list("/proc/self/fd");
    show_lines("/proc/self/status", status);
    show_links();
    show_limits();
    show_lines("/proc/self/oom_score_adj", all);
    show_lines("/proc/sys/user/max_user_namespaces", all);
    show_lines("/proc/sys/net/ipv4/ip_unprivileged_port_start", all);
    show_lines("/proc/sys/kernel/hostname", all);
    for (char **entry = environ; *entry; entry++)
        printf("env %s\n", *entry);
    show_mounts();
    printf("blocked %d\n", sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGTERM));
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *what = argv[i], *object = argv[i + 1];
        if (strcmp(what, "read") == 0)
            try_read(object);
        else if (strcmp(what, "list") == 0)
            try_list(object);
        else if (strcmp(what, "write") == 0)
            try_write(object);
        else if (strcmp(what, "unix") == 0)
            try_unix(object, false);
        else if (strcmp(what, "abstract") == 0)
            try_unix(object, true);
        else if (strcmp(what, "tcp") == 0)
            try_tcp(object);
        else
            act(object);
    }
    printf("user namespace: %s\n", result(unshare(CLONE_NEWUSER) == 0));
    printf("mkdir: %s\n", result(mkdir("/bawn-probe", 0700) == 0));
    puts("END");
    return 0;
}
