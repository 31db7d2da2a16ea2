#include "workspace/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "git/objects.h"
#include "kernel/beneath.h"
#include "workspace/top.h"

const struct decision *outcome_decided(const struct outcome *outcome, const char *path)
{
    return map_get(&outcome->decided, path, strlen(path));
}

const struct decision *outcome_of(const struct outcome *outcome, const char *path)
{
    const struct decision *decision = outcome_decided(outcome, path);
    return decision && decision->course == COURSE_GO ? decision : NULL;
}

static bool is_file(const struct entry *entry)
{
    return entry && S_ISREG(entry->mode) && entry->content == CONTENT_STORED;
}

bool outcome_has(const struct outcome *outcome, const char *path)
{
    const struct decision *decision = outcome_of(outcome, path);
    auto_fd int fd = decision ? -1 : open_beneath(outcome->top_fd, path, O_PATH, 0);
    return fd >= 0 || (decision && decision->judged.change.after);
}

bool outcome_read_bytes(struct outcome *outcome, const struct entry *entry, size_t most,
                        struct buf *ret_bytes)
{
    struct err ignored;
    return is_file(entry) && store_read(&outcome->store, &entry->blob, most, ret_bytes, &ignored) > 0;
}

bool outcome_read_entry(struct outcome *outcome, const struct entry *entry, size_t most, struct buf *ret_text)
{
    return outcome_read_bytes(outcome, entry, most, ret_text) &&
           !memchr(buf_text(ret_text), '\0', ret_text->size);
}

bool outcome_read(struct outcome *outcome, const char *path, size_t most, struct buf *ret_text)
{
    const struct decision *decision = outcome_of(outcome, path);
    if (decision)
        return outcome_read_entry(outcome, decision->judged.change.after, most, ret_text);
    auto_fd int fd = open_beneath(outcome->top_fd, path, O_RDONLY | O_NONBLOCK, 0);
    return fd >= 0 && buf_read(ret_text, fd, most) == 0;
}

const char outcome_unreadable[] = "git could not read it";
const char outcome_names_missing[] = "it names a commit that is not in the repository";

const char *outcome_why_line(struct outcome *outcome, const struct change *change, size_t most,
                             outcome_judge_line *why, void *context)
{
    auto_buf struct buf text = {0}, old = {0};
    struct map known = {0};
    const char *found = NULL;
    if (!outcome_read_entry(outcome, change->after, most, &text))
        return outcome_unreadable;
    if (outcome_read_entry(outcome, change->before, most, &old)) {
        for (const char *line = buf_text(&old), *end; *line; line = *end ? end + 1 : end) {
            end = strchrnul(line, '\n');
            *map_at(&known, line, (size_t)(end - line)) = outcome;
        }
    }
    for (const char *line = buf_text(&text), *end; *line && !found; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        if (!map_get(&known, line, (size_t)(end - line)))
            found = why(context, arena_copy(outcome->arena, line, (size_t)(end - line)));
    }
    map_free(&known);
    return found;
}

/* A file with bytes in it: one without is what a crash leaves of an object. */
static bool comes(const struct outcome *outcome, const char *path)
{
    const struct decision *decision = outcome_of(outcome, path);
    return decision && is_file(decision->judged.change.after) && decision->judged.change.after->size > 0;
}

static bool is_in_new_pack(const struct outcome *outcome, const char *objects, const char *digits)
{
    for (size_t i = 0; i < outcome->packs.count; i++) {
        const struct new_pack *pack = &outcome->packs.at[i];
        if (text_starts_with(pack->path, objects) && git_pack_index_has(pack->index_fd, digits))
            return true;
    }
    return false;
}

bool outcome_has_object(const struct outcome *outcome, const char *objects, const char *digits)
{
    struct arena *arena = outcome->arena;
    if (comes(outcome, arena_printf(arena, "%s%s", objects, git_object_path(arena, digits))) ||
        is_in_new_pack(outcome, objects, digits))
        return true;
    auto_fd int fd = open_beneath(outcome->top_fd, objects, O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? errno != ENOENT : git_objects_have(fd, arena, digits) != GIT_MISSING;
}

static int add_pack(struct outcome *outcome, const struct decision *decision, struct err *err)
{
    const char *path = decision->judged.change.path;
    size_t stem = strlen(path) < strlen(".idx") ? 0 : strlen(path) - strlen(".idx");
    if (strcmp(path + stem, ".idx") != 0 || !strstr(path, "/objects/pack/") || !comes(outcome, path) ||
        !comes(outcome, arena_printf(outcome->arena, "%.*s.pack", (int)stem, path)))
        return 0;
    auto_fd int fd = memfd_create("index", MFD_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot make room for the index of a pack");
    if (store_write_out(&outcome->store, &decision->judged.change.after->blob, fd, err) < 0)
        return -1;
    vec_push(&outcome->packs, (struct new_pack){path, fd_take(&fd)});
    return 0;
}

int outcome_begin(const struct transition *transition, struct arena *arena, const decision_list *decisions,
                  struct outcome *ret_outcome, struct err *err)
{
    *ret_outcome = (struct outcome){.arena = arena, .store = STORE_NONE};
    ret_outcome->top_fd = workspace_open(transition->workspace, err);
    if (ret_outcome->top_fd < 0 || store_open(transition->directory, &ret_outcome->store, err) < 0)
        return -1;
    for (size_t i = 0; i < decisions->count; i++) {
        const char *path = decisions->at[i].judged.change.path;
        if (decisions->at[i].course == COURSE_GO && strstr(path, ".git"))
            *map_at(&ret_outcome->decided, path, strlen(path)) = &decisions->at[i];
    }
    for (size_t i = 0; i < decisions->count; i++) {
        if (add_pack(ret_outcome, &decisions->at[i], err) < 0)
            return -1;
    }
    return 0;
}

void outcome_end(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->packs.count; i++)
        close(outcome->packs.at[i].index_fd);
    vec_free(&outcome->packs);
    map_free(&outcome->decided);
    store_close(&outcome->store);
    if (outcome->top_fd >= 0)
        close(outcome->top_fd);
}
