#include "cli/undo.h"

#include "base/fd.h"
#include "cli/say.h"
#include "workspace/checkpoint.h"

bool undo_is_possible(const struct record *record)
{
    bool has_changed =
        record->mode == RECORD_LIVE || record->mode == RECORD_APPLY || record->mode == RECORD_UNDO;
    return has_changed && record->state == STATE_DONE && record->changes;
}

static uint64_t bytes_in(const struct tree *tree)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < tree->entries.count; i++)
        sum += tree->entries.at[i].content == CONTENT_STORED ? tree->entries.at[i].size : 0;
    return sum;
}

struct undo_line {
    const char *name;
    enum colour colour;
    struct timespec moment;
    uint64_t files;
    const struct tree *before, *after;
    const char *remark;
};

static void add_line(struct arena *arena, const struct style *style, struct buf *out,
                     const struct undo_line *line)
{
    size_t start = out->size;
    style_add(style, out, line->colour, line->name);
    buf_pad(out, start, style->colours && line->colour != COLOUR_PLAIN ? 32 : 24);
    buf_printf(out, "%-16s  %5llu file%s  %9s%s%s\n", age_text(arena, line->moment),
               (unsigned long long)line->files, line->files == 1 ? " " : "s",
               size_text(arena, bytes_in(line->before) + bytes_in(line->after)), *line->remark ? "  " : "",
               line->remark);
}

static void add_checkpoints(struct arena *arena, const struct style *style, struct buf *out, int folder_fd,
                            const checkpoint_list *checkpoints)
{
    for (size_t i = checkpoints->count; i--;) {
        const struct checkpoint *checkpoint = &checkpoints->at[i];
        auto_tree struct tree before = {0}, after = {0};
        struct err ignored;
        if (checkpoint_load(folder_fd, checkpoint->number, &before, &after, &ignored) <= 0)
            continue;
        struct undo_line line = {
            .name = arena_printf(arena, "  %s", time_text(arena, checkpoint->taken)),
            .moment = checkpoint->taken,
            .files = record_count_changes(&before, &after),
            .before = &before,
            .after = &after,
            .remark = "",
        };
        add_line(arena, style, out, &line);
    }
}

static const char *remark_on(struct arena *arena, const struct record *record)
{
    if (record->state == STATE_RUNNING)
        return "it runs";
    if (record->state == STATE_UNDONE)
        return "undone";
    if (record->mode == RECORD_REVIEW || record->mode == RECORD_BRANCH)
        return "discarded";
    return *record->of ? arena_printf(arena, "%s of %s", record_mode_name(record->mode), record->of) : "";
}

/* Adds a session that can be undone or has checkpoints, with its checkpoints. */
static void add_session(const struct choice *choice, const struct style *style, struct buf *out,
                        const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    auto_fd int fd = session_open(choice->sessions_fd, record->name);
    auto_tree struct tree before = {0}, after = {0};
    struct err ignored;
    checkpoint_list checkpoints = {0};
    if (fd >= 0 && record->mode == RECORD_LIVE)
        checkpoint_list_all(fd, &checkpoints);
    bool has_trees = fd >= 0 && tree_load(fd, "before", &before, &ignored) > 0 &&
                     tree_load(fd, "after", &after, &ignored) > 0;
    bool can_go_back = undo_is_possible(record) || undo_is_of_discard(choice, record);
    if ((has_trees && can_go_back) || checkpoints.count) {
        struct undo_line line = {
            .name = record->name,
            .colour = COLOUR_BOLD,
            .moment = record->state == STATE_RUNNING ? record->began : record->ended,
            .files = record->changes,
            .before = &before,
            .after = &after,
            .remark = remark_on(arena, record),
        };
        add_line(arena, style, out, &line);
        add_checkpoints(arena, style, out, fd, &checkpoints);
    }
    vec_free(&checkpoints);
}

int undo_list(const struct world *world, struct choice *choice)
{
    struct style style = style_for_out(world, NULL);
    auto_buf struct buf out = {0};
    for (size_t i = choice->records.count; i--;)
        add_session(choice, &style, &out, &choice->records.at[i]);
    if (out.size == 0)
        buf_add_str(&out, "Nothing can be undone here.\n");
    else
        buf_printf(&out, "The snapshots of all workspaces take %s.\n",
                   size_text(choice->loaded.policy.arena, store_size(choice->store)));
    put(world->out, &out);
    return EXIT_FINE;
}
