#include <unistd.h>

#include "base/fd.h"
#include "cli/answer_parts.h"
#include "cli/choose.h"
#include "kernel/terminals.h"
#include "supervise/control.h"

/* A program in a multiplexer can write to the terminal around it, where that lets it. */
static bool is_in_multiplexer(const struct world *world)
{
    const char *tmux = caller_variable(&world->caller, "TMUX"),
               *screen = caller_variable(&world->caller, "STY");
    return (tmux && *tmux) || (screen && *screen);
}

int still_begin(struct answering *answering, struct err *err)
{
    auto_loaded struct loaded loaded = {0};
    auto_vec fs_names running = {0};
    uint64_t terminal = terminal_number(answering->fd);
    if (load_request(&answering->world->caller, &loaded) != EXIT_FINE)
        return err_set(err, "the sessions that run cannot be listed");
    running_find(&loaded, &running);
    for (size_t i = 0; i < running.count; i++) {
        bool asks = answering->session && strcmp(answering->session, running.at[i]) == 0;
        bool is_any = !terminal || (asks && is_in_multiplexer(answering->world));
        int fd = -1;
        int result =
            control_hold_still(running_folder(&loaded, running.at[i]), is_any ? 0 : terminal, &fd, err);
        if (result) {
            still_end(answering);
            return result;
        }
        if (fd >= 0)
            vec_push(&answering->still, fd);
    }
    return 0;
}

bool still_is_unbroken(const struct answering *answering)
{
    for (size_t i = 0; i < answering->still.count; i++) {
        if (!control_was_still(answering->still.at[i]))
            return false;
    }
    return true;
}

void still_end(struct answering *answering)
{
    while (answering->still.count)
        close(answering->still.at[--answering->still.count]);
}
