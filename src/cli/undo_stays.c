#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/dialogue.h"
#include "cli/say.h"
#include "cli/undo.h"
#include "git/judge.h"

struct stays {
    size_t logs, remotes, elsewhere;
    bool is_packed;
};

static void note(struct stays *stays, const struct decision *decision)
{
    struct git_inner inner = git_inner_of(decision->judged.change.path);
    bool is_moved = decision->why; /* and not only in another file */
    if (text_starts_with(inner.path, "logs/"))
        stays->logs++;
    else if (inner.is_linked)
        stays->elsewhere++;
    else if (text_starts_with(inner.path, "refs/remotes/") && is_moved)
        stays->remotes++;
    else
        stays->is_packed |= text_starts_with(inner.path, "refs/") ||
                            text_starts_with(inner.path, "objects/") ||
                            strcmp(inner.path, "packed-refs") == 0;
}

static void add(struct buf *out, const char *what)
{
    buf_printf(out, "%s%s", out->size ? ", " : "Not taken back in the repository: ", what);
}

static void add_counted(struct buf *out, size_t count, const char *one, const char *many)
{
    if (count) {
        add(out, "");
        buf_printf(out, "%zu %s", count, count == 1 ? one : many);
    }
}

void undo_say_stays(const struct world *world, const struct choice *choice, const struct dialogue *dialogue,
                    const decision_list *decisions)
{
    if (!dialogue->transition.keeps_refs || !dialogue->has_run || choice->paths.count)
        return;
    auto_buf struct buf out = {0};
    struct stays stays = {.is_packed = record_has_note(choice->folder_fd, RECORD_PACKED)};
    vec_each (const struct decision, decision, decisions) {
        const struct change *change = &decision->judged.change;
        const struct entry *either = change->after ? change->after : change->before;
        bool stays_so = decision->course == COURSE_DONE || (decision->course == COURSE_GO && decision->why);
        if (stays_so && decision->judged.judgement != JUDGED_AS_AFTER && change_is_shown(change) &&
            !S_ISDIR(either->mode) && git_inner_of(change->path).size)
            note(&stays, decision);
    }
    if (record_has_note(choice->folder_fd, RECORD_OBJECTS))
        add(&out, "new objects");
    if (stays.is_packed)
        add(&out, "how git has packed objects and branches");
    add_counted(&out, stays.logs, "log (`git reflog` shows its new lines)",
                "logs (`git reflog` shows their new lines)");
    add_counted(&out, stays.remotes, "remote branch", "remote branches");
    add_counted(&out, stays.elsewhere, "file of another work tree", "files of other work trees");
    if (out.size)
        buf_add_str(&out, ".\n");
    put(world->out, &out);
}
