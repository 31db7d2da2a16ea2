#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/attr.h"
#include "kernel/process.h"

enum { KEY_STOP = 26, KEY_ESCAPE = 27, SEQUENCE_MILLISECONDS = 50 };

/* Raw mode: keys arrive at once and without echo, including those that send signals. */
static bool take(const struct keys *keys)
{
    struct termios raw = keys->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return tcsetattr(keys->fd, TCSADRAIN, &raw) == 0;
}

bool keys_begin(const struct world *world, struct keys *ret_keys)
{
    *ret_keys = (struct keys){.fd = -1};
    int fd = world->in_is_terminal && world->out_is_terminal ? fileno(world->in) : -1;
    if (fd < 0 || tcgetattr(fd, &ret_keys->before) < 0)
        return false;
    ret_keys->fd = fd;
    return true;
}

/* Reads the rest of an arrow key's sequence, which arrives at once. */
static char read_sequence(const struct keys *keys)
{
    static const struct {
        const char *sent;
        char key;
    } known[] = {{"[A", 'k'}, {"OA", 'k'}, {"[B", 'j'}, {"OB", 'j'}, {"[6~", ' '}};
    char sent[8] = "";
    struct pollfd ready = {.fd = keys->fd, .events = POLLIN};
    for (size_t size = 0; size + 1 < sizeof(sent) && poll(&ready, 1, SEQUENCE_MILLISECONDS) > 0; size++) {
        if (read(keys->fd, sent + size, 1) != 1)
            break;
        for (size_t i = 0; i < array_len(known); i++) {
            if (strcmp(sent, known[i].sent) == 0)
                return known[i].key;
        }
    }
    return *sent ? '\0' : KEY_CANCEL;
}

char keys_read(struct keys *keys)
{
    for (;;) {
        char key = KEY_END;
        if (!take(keys) || read(keys->fd, &key, 1) != 1)
            key = KEY_END;
        if (key == KEY_ESCAPE)
            key = read_sequence(keys);
        tcsetattr(keys->fd, TCSADRAIN, &keys->before);
        if (key != KEY_STOP)
            return key;
        kill(0, SIGTSTP); /* the whole job, as the terminal would stop it: bawn may wait for this process */
    }
}

char keys_read_within(struct keys *keys, int other_fd, int milliseconds)
{
    struct pollfd ready[] = {{.fd = keys->fd, .events = POLLIN}, {.fd = other_fd, .events = POLLIN}};
    if (!take(keys))
        return KEY_END;
    bool came = poll(ready, array_len(ready), milliseconds) > 0 && ready[0].revents;
    tcsetattr(keys->fd, TCSADRAIN, &keys->before);
    return came ? keys_read(keys) : '\0';
}

size_t keys_rows(const struct keys *keys)
{
    struct winsize size;
    return ioctl(keys->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 ? size.ws_row : 24;
}

/* --- the pager ------------------------------------------------------------------------------------------------------------ */

static const char *chosen_pager(const struct world *world)
{
    const char *own = caller_variable(&world->caller, "BAWN_PAGER"),
               *usual = caller_variable(&world->caller, "PAGER");
    const char *chosen = own ? own : usual && *usual ? usual : "less";
    return !*chosen || strcmp(chosen, "cat") == 0 ? NULL : chosen;
}

static _Noreturn void become_pager(const char *command, int input_fd)
{
    /* less: pass colours, quit if the text fits on the screen, leave the screen as it is. */
    if (dup2(input_fd, STDIN_FILENO) < 0 || setenv("LESS", "FRX", 0) < 0)
        _exit(1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void pager_begin(const struct world *world, struct pager *ret_pager)
{
    *ret_pager = (struct pager){.pid = -1, .world = *world};
    const char *command = world->out_is_terminal && world->in_is_terminal ? chosen_pager(world) : NULL;
    int ends[2];
    if (!command || pipe2(ends, O_CLOEXEC) < 0)
        return;
    fflush(world->out);
    pid_t pid = fork();
    if (pid == 0)
        become_pager(command, ends[0]);
    close(ends[0]);
    FILE *out = pid < 0 ? NULL : fdopen(ends[1], "w");
    if (!out) {
        close(ends[1]);
        return;
    }
    /* The person may quit the pager early. */
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    ret_pager->pid = pid;
    ret_pager->world.out = out;
}

void pager_end(struct pager *pager)
{
    if (pager->pid < 0)
        return;
    fclose(pager->world.out);
    /* Ctrl-C is for the pager while it runs. */
    struct sigaction before;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
    process_wait(pager->pid);
    sigaction(SIGINT, &before, NULL);
}
