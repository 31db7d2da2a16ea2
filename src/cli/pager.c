#include "cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/say.h"
#include "kernel/process.h"
#include "outside/outside.h"

static const char *chosen_pager(const struct world *world)
{
    const char *own = caller_variable(&world->caller, "BAWN_PAGER"),
               *usual = caller_variable(&world->caller, "PAGER");
    const char *chosen = own ? own : usual && *usual ? usual : "less";
    return !*chosen || strcmp(chosen, "cat") == 0 ? NULL : chosen;
}

static int find_pager(const struct world *world, struct arena *arena, const char *command,
                      struct outside_program *ret_program, struct err *err)
{
    /* less: pass colours, quit if the text fits on the screen, leave the screen as it is. */
    const char *const facts[] = {caller_variable(&world->caller, "LESS") ? NULL : "LESS=FRX", NULL};
    const struct outside outside = caller_outside(&world->caller, NULL);
    return outside_shell(&outside, arena, command, facts, ret_program, err);
}

void pager_begin(const struct world *world, struct pager *ret_pager)
{
    *ret_pager = (struct pager){.pid = -1, .world = *world};
    const char *command = world->out_is_terminal && world->in_is_terminal ? chosen_pager(world) : NULL;
    int ends[2];
    auto_arena struct arena arena = {0};
    struct outside_program program = OUTSIDE_NONE;
    struct err err = {0};
    if (command && find_pager(world, &arena, command, &program, &err) < 0) {
        say_err(world, &err); /* the text is printed without a pager */
        command = NULL;
    }
    if (!command || pipe2(ends, O_CLOEXEC) < 0) {
        outside_close(&program);
        return;
    }
    fflush(world->out);
    pid_t pid = fork();
    if (pid == 0 && dup2(ends[0], STDIN_FILENO) >= 0)
        outside_become(&program);
    if (pid == 0)
        _exit(1);
    close(ends[0]);
    outside_close(&program);
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
