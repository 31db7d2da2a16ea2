/*
 * bawn-prove: the attacks, as one program that can be run on either side of the walls.
 *
 *   bawn-prove ATTACK ARGUMENT...   one attack
 *   bawn-prove --serve DIRECTORY    attacks as they are ordered on standard input, one a line, each in a process of its own
 *   bawn-prove --list               the cases of `bawn prove`
 *   bawn-prove --victim             does nothing: what the attacks aim at
 *
 * An order is the letters of namespaces to be in ("-": none), the attack and its arguments, with tabs between. The answer
 * is what the attack printed, and a line with the byte 0x1e and the status that it ended with.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "attack.h"
#include "table.h"

enum {
    MOST_ARGUMENTS = 64,
    LARGEST_ANSWER = 64 * 1024,
    LONGEST_MICROSECONDS = 5 * 1000 * 1000,
    OPEN_MICROSECONDS = 5000,
    CLOSED_MICROSECONDS = 200,
};

static const struct attack *find(const char *name)
{
    for (const struct attack *attack = attacks; attack->name; attack++) {
        if (strcmp(attack->name, name) == 0)
            return attack;
    }
    return NULL;
}

static void write_setting(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        saw("needs a user namespace for the control");
    close(fd);
}

/* Always in a user namespace as well, for root too: whatever is done in the others stays in them. */
static void enter_namespaces(const char *letters)
{
    static const struct {
        char letter;
        int flag;
    } kinds[] = {{'m', CLONE_NEWNS}, {'p', CLONE_NEWPID}, {'u', CLONE_NEWUTS}, {'i', CLONE_NEWIPC}};
    int flags = CLONE_NEWUSER;
    char map[64];
    if (*letters == '-')
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        flags |= strchr(letters, kinds[i].letter) ? kinds[i].flag : 0;
    unsigned uid = getuid(), gid = getgid();
    if (unshare(flags) < 0)
        saw("needs a user namespace for the control");
    write_setting("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "0 %u 1", uid);
    write_setting("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "0 %u 1", gid);
    write_setting("/proc/self/gid_map", map);
    int status = 0;
    pid_t child = flags & CLONE_NEWPID ? fork() : 0; /* the first child is the one that is inside */
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    fflush(stdout);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/*
 * In the child. Descriptor 0 is the way out that the server answers on: what lives on keeps it open, and is noticed by
 * that. 9 is what whoever started all this may have left open.
 */
static _Noreturn void attack_as_ordered(char **words, int count, const char *directory, int answer_fd)
{
    const struct attack *attack = count > 1 ? find(words[1]) : NULL;
    if (!attack || dup2(STDOUT_FILENO, STDIN_FILENO) < 0 || dup2(answer_fd, STDOUT_FILENO) < 0)
        _exit(1);
    for (int fd = 3; fd < 64; fd++) {
        if (fd != 9)
            close(fd);
    }
    if (chdir(directory) < 0)
        refused("chdir");
    enter_namespaces(words[0]);
    exit(attack->run(count - 1, words + 1));
}

/* Passes on what is there; nothing more than fits. */
static int pass_on(int from, size_t *room)
{
    char bytes[4096];
    ssize_t got = read(from, bytes, sizeof(bytes));
    if (got <= 0)
        return -1;
    size_t size = (size_t)got < *room ? (size_t)got : *room;
    *room -= size;
    return fwrite(bytes, 1, size, stdout) == size ? 0 : -1;
}

static int answer_with(pid_t child, int from)
{
    int status = 0, waited = 0, is_open = 1;
    size_t room = LARGEST_ANSWER;
    struct pollfd ready = {.fd = from, .events = POLLIN};
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (waited > LONGEST_MICROSECONDS)
            kill(child, SIGKILL);
        int step = is_open ? OPEN_MICROSECONDS
                           : CLOSED_MICROSECONDS; /* one that has closed its end is about to go */
        int events = poll(&ready, is_open, is_open ? OPEN_MICROSECONDS / 1000 : 0);
        if (events > 0) {
            is_open = pass_on(from, &room) == 0;
            continue;
        }
        waited += step;
        if (!is_open)
            usleep(CLOSED_MICROSECONDS);
    }
    while (is_open && poll(&ready, 1, 0) > 0 && pass_on(from, &room) == 0) {
    }
    return status;
}

static void obey(char *line, const char *directory)
{
    char *words[MOST_ARGUMENTS + 1] = {NULL};
    int count = 0, pair[2];
    for (char *word = strtok(line, "\t\n"); word && count < MOST_ARGUMENTS; word = strtok(NULL, "\t\n"))
        words[count++] = word;
    if (pipe2(pair, O_CLOEXEC) < 0)
        exit(1);
    pid_t child = fork();
    if (child == 0)
        attack_as_ordered(words, count, directory, pair[1]);
    close(pair[1]);
    int status = child < 0 ? 1 : answer_with(child, pair[0]);
    close(pair[0]);
    printf("\n\x1e%d\n", status);
    fflush(stdout);
}

static int serve(const char *directory)
{
    char *line = NULL;
    size_t size = 0;
    signal(SIGTERM, SIG_IGN); /* one of the attacks sends it to its own group */
    while (getline(&line, &size, stdin) > 0)
        obey(line, directory);
    free(line);
    return 0;
}

static int list(void)
{
    for (const char *const *line = catalogue; *line; line++)
        puts(*line);
    return 0;
}

int main(int argc, char **argv)
{
    const char *act = argc > 1 ? argv[1] : "";
    const struct attack *attack = find(act);
    if (attack)
        return attack->run(argc - 1, argv + 1);
    if (strcmp(act, "--serve") == 0 && argc == 3)
        return serve(argv[2]);
    if (strcmp(act, "--list") == 0)
        return list();
    while (strcmp(act, "--victim") == 0)
        pause();
    fputs("bawn-prove holds the attacks of `bawn prove`, which runs it.\n", stderr);
    return 2;
}
