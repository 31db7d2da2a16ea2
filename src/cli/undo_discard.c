/* `bawn undo SESSION` of a session that was discarded: its changes wait again, or its worktree is made again. */
#include "base/fd.h"
#include "cli/dialogue.h"
#include "cli/say.h"
#include "cli/undo.h"

bool undo_is_of_discard(const struct choice *choice, const struct record *record)
{
    auto_fd int fd = session_open(choice->sessions_fd, record->name);
    if (fd < 0)
        return false;
    return record->mode == RECORD_BRANCH   ? branch_is_kept(fd)
           : record->mode == RECORD_REVIEW ? waiting_has_dropped(fd, record)
                                           : false;
}

struct branch_copy undo_branch_copy(const struct choice *choice, const struct record *record, int folder_fd)
{
    return (struct branch_copy){.loaded = &choice->loaded,
                                .arena = choice->loaded.policy.arena,
                                .state = choice->state,
                                .store = choice->store,
                                .record = record,
                                .folder_fd = folder_fd};
}

static int bring_back_worktree(const struct world *world, const struct choice *choice,
                               const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct err err = {0};
    struct progress_line line;
    struct branch_copy copy = undo_branch_copy(choice, record, choice->folder_fd);
    copy.progress = progress_begin(&line, &world->speaker, "writing files");
    int result = branch_bring_back(&copy, &err);
    progress_end(&line);
    if (result < 0)
        return say_refused(world, &err);
    mark_state(choice, record->name, STATE_DONE);
    branch_forget_kept(choice->folder_fd);
    auto_buf struct buf out = {0};
    struct style style = style_for_out(world, choice->loaded.request.home);
    buf_printf(&out, "The worktree of the branch %s is back, as it was discarded: ", record->of);
    style_add_path(&style, &out, COLOUR_PLAIN,
                   branch_tree(arena, choice->state, record->workspace, record->of));
    buf_add_char(&out, '\n');
    put(world->out, &out);
    return EXIT_FINE;
}

static int bring_back_changes(const struct world *world, const struct choice *choice,
                              const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct err err = {0};
    uint64_t files = 0;
    if (choice->paths.count && record->state == STATE_DISCARDED && record->changes)
        return say_bad_input(world, arena_printf(arena, "%s was discarded as a whole", record->name),
                             arena_printf(arena, "`bawn undo %s` makes all of it wait again", record->name));
    if (waiting_bring_back(choice, record, &files, &err) < 0)
        return say_refused(world, &err);
    if (files == 0)
        return say_bad_input(world, arena_printf(arena, "nothing of %s was discarded there", record->name),
                             "`bawn undo` without a path makes all of it wait again");
    fprintf(world->out, "%llu file%s of %s wait%s again; `bawn review %s` goes through them.\n",
            (unsigned long long)files, files == 1 ? "" : "s", record->name, files == 1 ? "s" : "",
            record->name);
    return EXIT_FINE;
}

int undo_discard(const struct world *world, struct choice *choice, const struct record *record)
{
    int status = choose_alone(world, choice, "undo", &record);
    if (status == 0)
        status = choose_open(world, choice, record);
    if (status)
        return status;
    return record->mode == RECORD_BRANCH ? bring_back_worktree(world, choice, record)
                                         : bring_back_changes(world, choice, record);
}
