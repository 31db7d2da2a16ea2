/*
 * Theory of operation
 *
 * A ref is a value and not a file: it lies in a file of its own (loose), or in `packed-refs`, and every `git gc` may
 * move it there. So its values at three moments are compared, wherever they lie:
 *
 *   START   before the run: the tree `to`
 *   END     after the run: the tree `from`
 *   NOW     in the workspace
 *
 *   START = END                  the run has not moved it: left alone
 *   NOW = START                  nothing to do
 *   NOW = END, and none          it was deleted during the run: brought back, whoever deleted it. Nothing is lost by that
 *   NOW = END, own               goes back to START
 *   NOW = END, not own           held: a fetch, the user or another worktree may have moved or made it
 *   NOW is another, own          a conflict: the repository has moved on
 *   NOW is another, not own      held
 *
 * A branch is own if the work tree was on it: HEAD names it at one of the three moments, or the log of HEAD says so for
 * the time of the run. A log that the command forged can only name more branches, which the command could have moved
 * itself.
 *
 * Of `packed-refs`, while it can be read, only the lines of refs that go back are edited. If all its refs
 * then stand where they stood at START, the file is that of START, byte for byte. Logs stay, so that every
 * commit can be found; lines that were lost come back.
 */
#include "workspace/undo_git.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/path.h"
#include "base/text.h"
#include "git/repo.h"
#include "workspace/reconcile.h"
#include "workspace/repo_texts.h"

enum { HEAD_LARGEST = 4096 };

struct repository {
    const struct transition *transition;
    struct repo_texts texts;
    decision_list *decisions;
    size_t first, end;                /* its decisions follow each other, with those of repositories in it */
    const struct packed_refs *coming; /* the packed refs after the undo, without the edits */
    struct decision *packed_decision; /* about `packed-refs`, if its lines can be edited; else NULL */
    packed_edits edits;
    struct map own;     /* the names of own branches */
    struct map decided; /* inner path of a loose ref → its decision */
    decision_list more; /* about refs that have no file of their own */
};

/* --- own branches ------------------------------------------------------------------------------------------------- */

static void add_own(void *context, const char *name, size_t size)
{
    struct repository *repository = context;
    if (size)
        *map_at(&repository->own, arena_copy(repository->texts.arena, name, size), size) = repository;
}

static void add_own_head(struct repository *repository, enum moment moment, const char *head)
{
    static const char start[] = "ref: refs/heads/";
    auto_buf struct buf text = {0};
    if (repo_texts_read(&repository->texts, moment, head, HEAD_LARGEST, &text) &&
        text_starts_with(buf_text(&text), start))
        add_own(repository, buf_text(&text) + strlen(start), strcspn(buf_text(&text) + strlen(start), "\n"));
}

static bool is_own(const struct repository *repository, const char *ref)
{
    static const char *const of_work_tree[] = {"refs/bisect/", "refs/worktree/", "refs/rewritten/"};
    static const char heads[] = "refs/heads/";
    for (size_t i = 0; i < array_len(of_work_tree); i++) {
        if (text_starts_with(ref, of_work_tree[i]))
            return true;
    }
    return text_starts_with(ref, heads) &&
           map_get(&repository->own, ref + strlen(heads), strlen(ref) - strlen(heads));
}

/* --- linked worktrees --------------------------------------------------------------------------------------------- */

/* Does "worktrees/NAME/…" belong to a work tree outside of this workspace? That may be at work, too. */
static bool is_elsewhere(const struct repository *repository, const char *inner)
{
    struct arena *arena = repository->texts.arena;
    size_t size = strlen("worktrees/") + strcspn(inner + strlen("worktrees/"), "/");
    auto_buf struct buf text = {0};
    const char *link = arena_printf(arena, "%.*s/gitdir", (int)size, inner);
    if (!repo_texts_read(&repository->texts, START, link, PATH_LONGEST, &text) &&
        !repo_texts_read(&repository->texts, END, link, PATH_LONGEST, &text))
        return false;
    const char *from = arena_printf(arena, "%s/%s%.*s", repository->transition->workspace,
                                    repository->texts.prefix, (int)size, inner);
    const char *target =
        path_clean(arena, from, arena_copy(arena, buf_text(&text), strcspn(buf_text(&text), "\n")));
    return !path_is_beneath(target, repository->transition->workspace);
}

static void decide_worktree(struct repository *repository, struct decision *decision, const char *inner)
{
    const struct change *change = &decision->judged.change;
    bool is_head = strcmp(path_name(inner), "HEAD") == 0 && !strstr(inner, "/logs/");
    if (is_elsewhere(repository, inner)) {
        if (!change->after || decision->judged.now.path)
            decision->course = COURSE_DONE;
    } else if (is_head && !change->after) {
        add_own_head(repository, END, inner);
    }
}

/* --- one ref ------------------------------------------------------------------------------------------------------ */

struct ref {
    const char *name;
    const char *value[MOMENTS];
    struct decision *loose; /* about its own file; NULL if that is the same in both trees */
};

static enum course course_of(const struct repository *repository, const struct ref *ref)
{
    const char *start = ref->value[START], *end = ref->value[END], *now = ref->value[NOW];
    bool own = is_own(repository, ref->name);
    if (repo_texts_is_same(now, start) || repo_texts_is_same(start, end))
        return COURSE_DONE;
    if (repository->transition->overwrites || (repo_texts_is_same(now, end) && (own || !now)))
        return COURSE_GO;
    if (own)
        return COURSE_CONFLICT;
    return text_starts_with(ref->name, "refs/remotes/") ? COURSE_DONE : COURSE_HELD;
}

static const char *why_held(const struct ref *ref, enum course course)
{
    if (course == COURSE_CONFLICT || !ref->value[NOW])
        return ref->value[NOW] ? "it was changed since" : "it was removed since";
    return ref->value[START] ? "it was moved during the run, perhaps by you (--force moves it back)"
                             : "it was made during the run, perhaps by you (--force removes it)";
}

/* A decision about a ref without a file of its own. Its entries are those of `packed-refs`. */
static struct decision *decision_of(struct repository *repository, struct ref *ref)
{
    if (ref->loose || !repository->packed_decision)
        return ref->loose;
    struct decision decision = *repository->packed_decision;
    decision.judged.change.path =
        arena_printf(repository->texts.arena, "%s%s", repository->texts.prefix, ref->name);
    vec_push(&repository->more, decision);
    return &repository->more.at[repository->more.count - 1];
}

static int write_loose(struct repository *repository, struct decision *decision, const char *value,
                       struct err *err)
{
    auto_buf struct buf text = {0};
    struct entry like = {
        .path = decision->judged.change.path, .mode = S_IFREG | 0644, .target = "", .attributes = ""};
    struct entry *entry;
    buf_printf(&text, "%s\n", value);
    if (entry_of_text(repository->texts.store, repository->texts.arena, &like, &text, &entry, err) < 0)
        return -1;
    decision->judged.change.after = entry;
    decision->judged.change.what |= decision->judged.now.path ? CHANGE_CONTENT : CHANGE_ADDED;
    decision->course = COURSE_GO;
    return 0;
}

/* Its own file goes, so that the packed value counts. */
static void remove_loose(struct decision *loose)
{
    if (!loose)
        return;
    loose->judged.change.after = NULL;
    loose->judged.change.what = CHANGE_DELETED;
    loose->course = loose->judged.now.path ? COURSE_GO : COURSE_DONE;
}

static int go_back(struct repository *repository, struct ref *ref, struct err *err)
{
    const char *start = ref->value[START], *packed = packed_refs_find(repository->coming, ref->name);
    bool can_edit = repository->packed_decision != NULL;
    if (ref->loose && ref->loose->judged.change.after) {
        if (ref->loose->course != COURSE_HELD) /* its content was not kept */
            ref->loose->course = COURSE_GO;
        const char *covered = packed_refs_find(&repository->texts.packed[START], ref->name);
        if (can_edit && covered && !repo_texts_is_same(packed, covered))
            packed_refs_edit(&repository->edits, ref->name, &repository->texts.packed[START]);
        return 0;
    }
    if (!repo_texts_is_same(packed, start) && !can_edit && start && ref->loose)
        return write_loose(repository, ref->loose, start, err);
    if (!repo_texts_is_same(packed, start) && !can_edit) {
        if (ref->loose) {
            ref->loose->course = COURSE_HELD;
            ref->loose->why = "it was packed since (`git branch -D` removes it)";
        }
        return 0;
    }
    if (!repo_texts_is_same(packed, start))
        packed_refs_edit(&repository->edits, ref->name, start ? &repository->texts.packed[START] : NULL);
    remove_loose(ref->loose);
    return 0;
}

static int decide_ref(struct repository *repository, const char *name, struct err *err)
{
    struct ref ref = {.name = name, .loose = map_get(&repository->decided, name, strlen(name))};
    for (enum moment moment = START; moment < MOMENTS; moment++)
        ref.value[moment] = repo_texts_value(&repository->texts, moment, name);
    enum course course = course_of(repository, &ref);
    if (course == COURSE_GO)
        return go_back(repository, &ref, err);
    struct decision *decision = course == COURSE_DONE ? ref.loose : decision_of(repository, &ref);
    if (!decision)
        return 0;
    bool has_moved = !repo_texts_is_same(ref.value[NOW], ref.value[START]);
    decision->course = course;
    decision->why = has_moved ? why_held(&ref, course) : NULL;
    if (course != COURSE_DONE) /* the value has changed, whatever the files say */
        decision->judged.change.what |= CHANGE_CONTENT;
    return 0;
}

/* --- one repository ----------------------------------------------------------------------------------------------- */

/* Modes go back if nobody has set another one since. That alone does not mean that the repository has moved on. */
static void decide_mode(struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    mode_t now = decision->judged.now.mode;
    bool goes = now == change->before->mode && (S_ISDIR(now) || decision->course == COURSE_GO);
    decision->course = goes ? COURSE_GO : now == change->after->mode ? COURSE_DONE : COURSE_HELD;
    decision->why = goes ? NULL : "it was changed since";
}

/* A directory of refs comes back if it is gone, and goes if all that lies in it goes. */
static void decide_directory(const decision_list *decisions, size_t number)
{
    struct decision *decision = &decisions->at[number];
    const struct change *change = &decision->judged.change;
    bool is_gone = change->after && !decision->judged.now.path, stays = false;
    if (!is_gone && change_is_mode(change)) {
        decide_mode(decision);
        return;
    }
    for (size_t i = number + 1;
         i < decisions->count && path_is_inside(decisions->at[i].judged.change.path, change->path); i++)
        stays |= decisions->at[i].judged.now.path && decisions->at[i].course != COURSE_GO;
    decision->course = is_gone || (!change->after && !stays) ? COURSE_GO : COURSE_DONE;
}

static const char *inner_of(const struct repository *repository, const struct decision *decision)
{
    return repo_texts_inner(&repository->texts, decision->judged.change.path);
}

static bool is_directory(const struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    return S_ISDIR((change->after ? change->after : change->before)->mode);
}

/* If `packed-refs` is gone or unreadable, the file of the start comes back as a whole. */
static void decide_packed(struct repository *repository, struct decision *decision)
{
    const struct packed_refs *packed = repository->texts.packed;
    bool is_gone = decision->judged.change.after && !decision->judged.now.path;
    bool is_broken =
        (packed[NOW].is_there && !packed[NOW].is_sound) || (packed[END].is_there && !packed[END].is_sound);
    if ((is_gone && !packed[END].is_there) || is_broken) {
        if (decision->course == COURSE_GO && packed[START].is_there)
            repository->coming = &packed[START];
        return;
    }
    decision->course = COURSE_DONE;
    repository->packed_decision = decision;
}

static int decide_refs(struct repository *repository, struct err *err)
{
    for (size_t i = repository->first; i < repository->end; i++) {
        struct decision *decision = &repository->decisions->at[i];
        const char *inner = inner_of(repository, decision);
        bool is_ref = text_starts_with(inner, "refs/") && !is_directory(decision);
        if (is_ref && decision->judged.now.path && change_is_mode(&decision->judged.change))
            decide_mode(decision);
        else if (is_ref && strcmp(inner, REFLOGS_STASH) != 0 && decide_ref(repository, inner, err) < 0)
            return -1;
    }
    /* Refs that changed in `packed-refs` alone. */
    const enum moment moments[] = {START, END};
    for (size_t i = 0; i < array_len(moments); i++) {
        const struct packed_refs *packed = &repository->texts.packed[moments[i]],
                                 *other = &repository->texts.packed[moments[!i]];
        for (size_t j = 0; j < packed->lines.count; j++) {
            const char *name = packed->lines.at[j].name, *value = packed_refs_find(other, name);
            bool is_changed =
                !repo_texts_is_same(value, packed->lines.at[j].value) && !(i && value); /* once */
            if (is_changed && !map_get(&repository->decided, name, strlen(name)) &&
                decide_ref(repository, name, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int write_packed(struct repository *repository, struct err *err)
{
    struct decision *decision = repository->packed_decision;
    const struct packed_refs *packed = repository->texts.packed;
    if (!decision)
        return 0;
    const struct entry *start = decision->judged.change.after;
    if ((!start || (S_ISREG(start->mode) && start->content == CONTENT_STORED)) && packed[NOW].is_there &&
        packed[NOW].is_sound && (!start || packed[START].is_sound) &&
        packed_refs_become(&packed[NOW], &repository->edits, &packed[START])) {
        decision->course = decision->judged.judgement == JUDGED_AS_AFTER ? COURSE_DONE : COURSE_GO;
        if (decision->course == COURSE_GO)
            decision->judged.judgement = JUDGED_CONFLICT; /* its present content is saved first */
        return 0; /* the file of the start takes its place, or there is none again */
    }
    if (!repository->edits.count)
        return 0;
    auto_buf struct buf text = {0};
    struct entry like = {
        .path = decision->judged.change.path, .mode = S_IFREG | 0644, .target = "", .attributes = ""};
    struct entry *entry;
    packed_refs_write(&packed[NOW], &packed[START], &repository->edits, &text);
    if (decision->judged.now.path)
        like.mode = decision->judged.now.mode;
    if (entry_of_text(repository->texts.store, repository->texts.arena, &like, &text, &entry, err) < 0)
        return -1;
    decision->judged.change.after = entry;
    decision->judged.change.what |= CHANGE_CONTENT;
    decision->judged.judgement = JUDGED_CONFLICT; /* its present content is saved first */
    decision->course = COURSE_GO;
    return 0;
}

/* A log without its branch would be in the way of a branch whose name begins like it. */
static void remove_log(struct repository *repository, const char *ref)
{
    const char *name = arena_printf(repository->texts.arena, "logs/%s", ref);
    struct decision *log = map_get(&repository->decided, name, strlen(name));
    const char *value = log ? repo_texts_value(&repository->texts, NOW, ref) : NULL;
    if (value && !repo_texts_value(&repository->texts, START, ref))
        reflogs_decide_removed(&repository->texts, log, value);
}

static int decide_others(struct repository *repository, struct err *err)
{
    decision_list *decisions = repository->decisions;
    for (size_t i = repository->first; i < repository->end; i++) {
        const char *inner = inner_of(repository, &decisions->at[i]);
        bool is_log = text_starts_with(inner, "logs/") && strcmp(inner, REFLOGS_STASH_LOG) != 0;
        if (is_log && !is_directory(&decisions->at[i]) &&
            reflogs_decide(&repository->texts, repository->transition, &decisions->at[i], err) < 0)
            return -1;
    }
    for (size_t i = repository->first; i < repository->end; i++) {
        const char *inner = inner_of(repository, &decisions->at[i]);
        bool goes = decisions->at[i].course == COURSE_GO && !decisions->at[i].judged.change.after;
        if (goes && text_starts_with(inner, "refs/heads/"))
            remove_log(repository, inner);
    }
    vec_each (const struct packed_edit, one, &repository->edits) {
        if (!one->from && text_starts_with(one->name, "refs/heads/"))
            remove_log(repository, one->name);
    }
    for (size_t i = repository->first; i < repository->end; i++) {
        const char *inner = inner_of(repository, &decisions->at[i]);
        if ((text_starts_with(inner, "refs/") || text_starts_with(inner, "logs/")) &&
            is_directory(&decisions->at[i]))
            decide_directory(decisions, i);
    }
    return 0;
}

static int decide_repository(struct repository *repository, struct err *err)
{
    decision_list *decisions = repository->decisions;
    repo_texts_begin(&repository->texts);
    repository->coming = &repository->texts.packed[NOW];
    for (enum moment moment = START; moment < MOMENTS; moment++)
        add_own_head(repository, moment, "HEAD");
    reflogs_find_branches(&repository->texts, add_own, repository);
    for (size_t i = repository->first; i < repository->end; i++) {
        struct decision *decision = &decisions->at[i];
        const char *inner = inner_of(repository, decision);
        if (text_starts_with(inner, "worktrees/"))
            decide_worktree(repository, decision, inner);
        else if (strcmp(inner, "packed-refs") == 0)
            decide_packed(repository, decision);
        else if (*inner && !is_directory(decision))
            *map_at(&repository->decided, inner, strlen(inner)) = decision;
    }
    if (decide_refs(repository, err) < 0 || write_packed(repository, err) < 0)
        return -1;
    reflogs_decide_stash(&repository->texts, repository->transition,
                         map_get(&repository->decided, REFLOGS_STASH, strlen(REFLOGS_STASH)),
                         map_get(&repository->decided, REFLOGS_STASH_LOG, strlen(REFLOGS_STASH_LOG)));
    return decide_others(repository, err);
}

static void repository_free(struct repository *repository)
{
    repo_texts_end(&repository->texts);
    vec_free(&repository->edits);
    map_free(&repository->own);
    map_free(&repository->decided);
    vec_free(&repository->more);
}

bool positions_repository_stays(const struct transition *transition, const char *path)
{
    char directory[PATH_LONGEST];
    size_t size = git_repository_size(path);
    memcpy(directory, path, size - 1);
    directory[size - 1] = '\0';
    return !tree_find(transition->from, directory) || tree_find(transition->to, directory);
}

int positions_decide(const struct transition *transition, int top_fd, struct store *store,
                     struct arena *arena, decision_list *decisions, struct err *err)
{
    struct map seen = {0};
    decision_list more = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < decisions->count; i++) {
        const char *path = decisions->at[i].judged.change.path;
        size_t size = git_repository_size(path);
        void **place =
            size && positions_repository_stays(transition, path) ? map_at(&seen, path, size) : NULL;
        if (!place || *place)
            continue;
        *place = decisions;
        size_t end = i + 1;
        while (end < decisions->count && strncmp(decisions->at[end].judged.change.path, path, size) == 0)
            end++;
        struct repository repository = {.transition = transition,
                                        .decisions = decisions,
                                        .first = i,
                                        .end = end,
                                        .texts = {.start = transition->to,
                                                  .end = transition->from,
                                                  .top_fd = top_fd,
                                                  .store = store,
                                                  .arena = arena,
                                                  .prefix = arena_copy(arena, path, size)}};
        result = decide_repository(&repository, err);
        for (size_t j = 0; j < repository.more.count; j++)
            vec_push(&more, repository.more.at[j]);
        repository_free(&repository);
    }
    for (size_t i = 0; i < more.count; i++)
        vec_push(decisions, more.at[i]);
    vec_free(&more);
    map_free(&seen);
    return result < 0 ? -1 : store_flush(store, err);
}

/* Does the path lie in one of these repositories? */
static bool lies_in(const struct map *repositories, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (map_get(repositories, path, (size_t)(slash + 1 - path)))
            return true;
    }
    return false;
}

void positions_hold_moved(decision_list *decisions)
{
    struct map moved = {0};
    vec_each (const struct decision, decision, decisions) {
        const char *path = decision->judged.change.path;
        if (decision->course == COURSE_CONFLICT && git_is_position(path) &&
            change_is_shown(&decision->judged.change))
            *map_at(&moved, path, git_repository_size(path)) = decisions;
    }
    vec_each (struct decision, other, decisions) {
        const char *held = other->judged.change.path;
        if (moved.count && other->course == COURSE_GO && lies_in(&moved, held) &&
            !text_starts_with(held + git_repository_size(held), "objects/")) {
            other->course = COURSE_HELD;
            other->why = "its repository was changed since";
        }
    }
    map_free(&moved);
}
