#include "cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "kernel/process.h"

static const char *chosen_pager(const struct world *world)
{
    const char *own = caller_variable(&world->caller, "BAWN_PAGER"),
               *usual = caller_variable(&world->caller, "PAGER");
    const char *chosen = own ? own : usual && *usual ? usual : "less";
    return !*chosen || strcmp(chosen, "cat") == 0 ? NULL : chosen;
}

static _Noreturn void become_pager(const char *command, int input_fd)
{
    /* Colours pass, a text that fits the screen ends it at once, and the screen is left as it is. */
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
    /* Whoever leaves the pager has seen enough. */
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    ret_pager->pid = pid;
    ret_pager->world.out = out;
}

void pager_end(struct pager *pager)
{
    if (pager->pid < 0)
        return;
    fclose(pager->world.out);
    /* Ctrl-C is the pager's as long as it is there. */
    struct sigaction before;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
    process_wait(pager->pid);
    sigaction(SIGINT, &before, NULL);
}
