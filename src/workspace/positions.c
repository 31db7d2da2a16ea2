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
 * A file that neither tree has did not change during the run. Its text NOW stands for all three.
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
 * `packed-refs` is never replaced as a whole while it can be read: only the lines of refs that go back are edited. Logs
 * stay, so that every commit can be found; lines that were lost come back.
 */
#include "workspace/positions.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "base/text.h"
#include "git/branch.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "workspace/packed_refs.h"
#include "workspace/reconcile.h"

enum { REF_LARGEST = 4096, LOG_LARGEST = 16 * 1024 * 1024 };

enum moment { START, END, NOW, MOMENTS };

struct repository {
    const struct transition *transition;
    int top_fd;
    struct store *store;
    struct arena *arena;
    decision_list *decisions;
    const char *prefix; /* the path of the git directory, with its slash */
    struct packed_refs packed[MOMENTS];
    const struct packed_refs *coming; /* the packed refs after the undo, without the edits */
    struct decision *packed_decision; /* about `packed-refs`, if its lines can be edited; else NULL */
    packed_edits edits;
    struct map own;     /* the names of own branches */
    struct map decided; /* inner path of a loose ref → its decision */
    decision_list more; /* about refs that have no file of their own */
};

/* --- texts at a moment -------------------------------------------------------------------------------------------- */

static bool read_now(const struct repository *repository, const char *path, size_t most, struct buf *ret_text)
{
    auto_fd int fd = open_beneath(repository->top_fd, path, O_RDONLY | O_NONBLOCK, 0);
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && buf_read(ret_text, fd, most) == 0;
}

/* Reads a file of the repository. Returns false if there is none, or if it cannot be read. */
static bool read_at(const struct repository *repository, enum moment moment, const char *inner, size_t most,
                    struct buf *ret_text)
{
    const struct transition *transition = repository->transition;
    const char *path = arena_printf(repository->arena, "%s%s", repository->prefix, inner);
    const struct entry *start = tree_find(transition->to, path), *end = tree_find(transition->from, path);
    const struct entry *entry = moment == START ? start : end;
    struct err ignored;
    if (moment == NOW || (!start && !end))
        return read_now(repository, path, most, ret_text);
    return entry && entry->content == CONTENT_STORED &&
           store_read(repository->store, &entry->blob, most, ret_text, &ignored) > 0;
}

/* The value of a ref: its hash, or the ref that it stands for; NULL if there is none. */
static const char *value_at(const struct repository *repository, enum moment moment, const char *ref)
{
    auto_buf struct buf text = {0};
    if (!read_at(repository, moment, ref, REF_LARGEST, &text))
        return packed_refs_find(&repository->packed[moment], ref);
    return arena_copy(repository->arena, buf_text(&text), strcspn(buf_text(&text), "\n"));
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* --- own branches ------------------------------------------------------------------------------------------------- */

static void add_own(struct repository *repository, const char *name, size_t size)
{
    if (size)
        *map_at(&repository->own, arena_copy(repository->arena, name, size), size) = repository;
}

static void add_own_head(struct repository *repository, enum moment moment, const char *head)
{
    static const char start[] = "ref: refs/heads/";
    auto_buf struct buf text = {0};
    if (read_at(repository, moment, head, REF_LARGEST, &text) && text_starts_with(buf_text(&text), start))
        add_own(repository, buf_text(&text) + strlen(start), strcspn(buf_text(&text) + strlen(start), "\n"));
}

/* "checkout: moving from A to B", "rebase (finish): returning to refs/heads/B" */
static void add_own_line(struct repository *repository, const char *line, size_t size)
{
    static const char moving[] = "\tcheckout: moving from ", to[] = " to ",
                      back[] = "returning to refs/heads/";
    const char *at = memmem(line, size, moving, strlen(moving)), *end = line + size;
    if (at) {
        at += strlen(moving);
        const char *middle = memmem(at, (size_t)(end - at), to, strlen(to));
        if (!middle)
            return;
        add_own(repository, at, (size_t)(middle - at));
        add_own(repository, middle + strlen(to), (size_t)(end - middle) - strlen(to));
    } else if ((at = memmem(line, size, back, strlen(back)))) {
        at += strlen(back);
        add_own(repository, at, (size_t)(end - at));
    }
}

/* The lines that the run has added. If lines were removed, nobody can tell which those are. */
static void add_own_of_log(struct repository *repository)
{
    auto_buf struct buf start = {0}, end = {0};
    bool was_there = read_at(repository, START, "logs/HEAD", LOG_LARGEST, &start);
    if (!read_at(repository, END, "logs/HEAD", LOG_LARGEST, &end) ||
        (was_there && !text_starts_with(buf_text(&end), buf_text(&start))))
        return;
    for (const char *line = buf_text(&end) + start.size, *line_end; *line;
         line = *line_end ? line_end + 1 : line_end) {
        line_end = strchrnul(line, '\n');
        add_own_line(repository, line, (size_t)(line_end - line));
    }
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
    struct arena *arena = repository->arena;
    size_t size = strlen("worktrees/") + strcspn(inner + strlen("worktrees/"), "/");
    auto_buf struct buf text = {0};
    const char *link = arena_printf(arena, "%.*s/gitdir", (int)size, inner);
    if (!read_at(repository, START, link, PATH_LONGEST, &text) &&
        !read_at(repository, END, link, PATH_LONGEST, &text))
        return false;
    const char *from = arena_printf(arena, "%s/%s%.*s", repository->transition->workspace, repository->prefix,
                                    (int)size, inner);
    const char *target =
        path_clean(arena, from, arena_copy(arena, buf_text(&text), strcspn(buf_text(&text), "\n")));
    return !path_is_beneath(target, repository->transition->workspace);
}

static void decide_worktree(struct repository *repository, struct decision *decision, const char *inner)
{
    const struct change *change = &decision->judged.change;
    bool is_head = strcmp(path_name(inner), "HEAD") == 0 && !strstr(inner, "/logs/");
    if (is_elsewhere(repository, inner)) {
        if (!repository->transition->overwrites && !(change->after && !decision->judged.now.path))
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
    if (is_same(now, start) || is_same(start, end))
        return COURSE_DONE;
    if (repository->transition->overwrites || (is_same(now, end) && (own || !now)))
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
    decision.judged.change.path = arena_printf(repository->arena, "%s%s", repository->prefix, ref->name);
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
    if (entry_of_text(repository->store, repository->arena, &like, &text, &entry, err) < 0)
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
    if (ref->loose && ref->loose->judged.change.after) {
        if (ref->loose->course != COURSE_HELD) /* its content was not kept */
            ref->loose->course = COURSE_GO;
        return 0;
    }
    bool can_edit = repository->packed_decision != NULL;
    if (!is_same(packed, start) && !can_edit && start && ref->loose)
        return write_loose(repository, ref->loose, start, err);
    if (!is_same(packed, start) && !can_edit) {
        if (ref->loose) {
            ref->loose->course = COURSE_HELD;
            ref->loose->why = "it was packed since (`git branch -D` removes it)";
        }
        return 0;
    }
    if (!is_same(packed, start))
        packed_refs_edit(&repository->edits, ref->name, start ? &repository->packed[START] : NULL);
    remove_loose(ref->loose);
    return 0;
}

static int decide_ref(struct repository *repository, const char *name, struct err *err)
{
    struct ref ref = {.name = name, .loose = map_get(&repository->decided, name, strlen(name))};
    for (enum moment moment = START; moment < MOMENTS; moment++)
        ref.value[moment] = value_at(repository, moment, name);
    enum course course = course_of(repository, &ref);
    if (course == COURSE_GO)
        return go_back(repository, &ref, err);
    struct decision *decision = course == COURSE_DONE ? ref.loose : decision_of(repository, &ref);
    if (!decision)
        return 0;
    decision->course = course;
    decision->why = why_held(&ref, course);
    if (course != COURSE_DONE) /* the value has changed, whatever the files say */
        decision->judged.change.what |= CHANGE_CONTENT;
    return 0;
}

/* --- the stash ---------------------------------------------------------------------------------------------------- */

static const char stash[] = "refs/stash", stash_log[] = "logs/refs/stash";

/* Does the log have a line for a stash that the other one lacks? The second field of a line names the stash. */
static bool has_more(const struct buf *log, const struct buf *other)
{
    for (const char *line = buf_text(log), *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t first = strcspn(line, " \n"),
               second = line[first] == ' ' ? strcspn(line + first + 1, " \n") : 0;
        if (second && !memmem(buf_text(other), other->size, line + first, second + 2))
            return true;
    }
    return false;
}

/*
 * The list of stashes is the log of the ref, so both go together. They go back if stashes were dropped and none was
 * added; otherwise they stay, and are named.
 */
static void decide_stash(struct repository *repository)
{
    struct decision *ref = map_get(&repository->decided, stash, strlen(stash));
    struct decision *log = map_get(&repository->decided, stash_log, strlen(stash_log));
    auto_buf struct buf start = {0}, end = {0};
    read_at(repository, START, stash_log, LOG_LARGEST, &start);
    read_at(repository, END, stash_log, LOG_LARGEST, &end);
    bool was_added = has_more(&end, &start), was_dropped = has_more(&start, &end);
    bool is_since = (ref && ref->course == COURSE_CONFLICT) || (log && log->course == COURSE_CONFLICT);
    if (repository->transition->overwrites || (was_dropped && !was_added && !is_since))
        return;
    if (log)
        log->course = COURSE_DONE;
    struct decision *told = ref ? ref : log;
    if (!told)
        return;
    bool is_told = was_added || (was_dropped && is_since);
    told->course = is_told ? COURSE_HELD : COURSE_DONE;
    told->why = is_since     ? "it was changed since"
                : start.size ? "it was changed during the run, perhaps by you (--force takes that back)"
                             : "it was made during the run, perhaps by you (--force removes it)";
}

/* --- logs and directories ----------------------------------------------------------------------------------------- */

/* Logs stay. If lines of the start were lost, they come before those that are there. */
static int decide_log(struct repository *repository, struct decision *decision, const char *inner,
                      struct err *err)
{
    const struct change *change = &decision->judged.change;
    auto_buf struct buf start = {0}, now = {0};
    bool is_gone = change->after && !decision->judged.now.path;
    if (is_gone || repository->transition->overwrites)
        return 0;
    decision->course = COURSE_DONE;
    if (!change->after || !S_ISREG(change->after->mode) ||
        !read_at(repository, START, inner, LOG_LARGEST, &start) ||
        !read_at(repository, NOW, inner, LOG_LARGEST, &now))
        return 0;
    size_t line = strcspn(buf_text(&now), "\n");
    bool is_kept =
        text_starts_with(buf_text(&now), buf_text(&start)) ||
        (line && memmem(buf_text(&start), start.size, buf_text(&now), line)); /* old lines have expired */
    if (is_kept)
        return 0;
    struct entry *entry;
    buf_add(&start, buf_text(&now), now.size);
    if (entry_of_text(repository->store, repository->arena, change->after, &start, &entry, err) < 0)
        return -1;
    decision->judged.change.after = entry;
    decision->judged.judgement = JUDGED_CONFLICT; /* its present content is saved first */
    decision->course = COURSE_GO;
    return 0;
}

/* A directory of refs comes back if it is gone, and goes if all that lies in it goes. */
static void decide_directory(const decision_list *decisions, size_t number)
{
    struct decision *decision = &decisions->at[number];
    const struct change *change = &decision->judged.change;
    bool is_gone = change->after && !decision->judged.now.path, stays = false;
    for (size_t i = number + 1;
         i < decisions->count && path_is_inside(decisions->at[i].judged.change.path, change->path); i++)
        stays |= decisions->at[i].judged.now.path && decisions->at[i].course != COURSE_GO;
    decision->course = is_gone || (!change->after && !stays) ? COURSE_GO : COURSE_DONE;
}

/* --- one repository ----------------------------------------------------------------------------------------------- */

/* The path after the git directory; "" if it belongs to another repository. */
static const char *inner_of(const struct repository *repository, const struct decision *decision)
{
    const char *path = decision->judged.change.path;
    size_t size = strlen(repository->prefix);
    return git_repository_size(path) == size && strncmp(path, repository->prefix, size) == 0
               ? path + size
               : path + strlen(path);
}

static bool is_directory(const struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    return S_ISDIR((change->after ? change->after : change->before)->mode);
}

static void read_packed(struct repository *repository)
{
    for (enum moment moment = START; moment < MOMENTS; moment++) {
        auto_buf struct buf text = {0};
        if (read_at(repository, moment, "packed-refs", GIT_PACKED_REFS_MOST, &text))
            packed_refs_parse(repository->arena, &text, &repository->packed[moment]);
    }
    repository->coming = &repository->packed[NOW];
}

/* If `packed-refs` is gone or unreadable, the file of the start comes back as a whole. */
static void decide_packed(struct repository *repository, struct decision *decision)
{
    const struct packed_refs *packed = repository->packed;
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
    for (size_t i = 0; i < repository->decisions->count; i++) {
        const char *inner = inner_of(repository, &repository->decisions->at[i]);
        if (text_starts_with(inner, "refs/") && strcmp(inner, stash) != 0 &&
            !is_directory(&repository->decisions->at[i]) && decide_ref(repository, inner, err) < 0)
            return -1;
    }
    /* Refs that changed in `packed-refs` alone. */
    const enum moment moments[] = {START, END};
    for (size_t i = 0; i < array_len(moments); i++) {
        const struct packed_refs *packed = &repository->packed[moments[i]],
                                 *other = &repository->packed[moments[!i]];
        for (size_t j = 0; j < packed->lines.count; j++) {
            const char *name = packed->lines.at[j].name, *value = packed_refs_find(other, name);
            bool is_changed = !is_same(value, packed->lines.at[j].value) && !(i && value); /* once */
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
    if (!decision || !repository->edits.count)
        return 0;
    auto_buf struct buf text = {0};
    struct entry like = {
        .path = decision->judged.change.path, .mode = S_IFREG | 0644, .target = "", .attributes = ""};
    struct entry *entry;
    packed_refs_write(&repository->packed[NOW], &repository->packed[START], &repository->edits, &text);
    if (decision->judged.now.path)
        like.mode = decision->judged.now.mode;
    if (entry_of_text(repository->store, repository->arena, &like, &text, &entry, err) < 0)
        return -1;
    decision->judged.change.after = entry;
    decision->judged.change.what |= CHANGE_CONTENT;
    decision->judged.judgement = JUDGED_CONFLICT; /* its present content is saved first */
    decision->course = COURSE_GO;
    return 0;
}

static int decide_others(struct repository *repository, struct err *err)
{
    decision_list *decisions = repository->decisions;
    for (size_t i = 0; i < decisions->count; i++) {
        const char *inner = inner_of(repository, &decisions->at[i]);
        bool is_log = text_starts_with(inner, "logs/") && strcmp(inner, stash_log) != 0;
        if (is_log && !is_directory(&decisions->at[i]) &&
            decide_log(repository, &decisions->at[i], inner, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < decisions->count; i++) {
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
    read_packed(repository);
    for (enum moment moment = START; moment < MOMENTS; moment++)
        add_own_head(repository, moment, "HEAD");
    add_own_of_log(repository);
    for (size_t i = 0; i < decisions->count; i++) {
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
    decide_stash(repository);
    return decide_others(repository, err);
}

static void repository_free(struct repository *repository)
{
    for (enum moment moment = START; moment < MOMENTS; moment++)
        packed_refs_free(&repository->packed[moment]);
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
        struct repository repository = {.transition = transition,
                                        .top_fd = top_fd,
                                        .store = store,
                                        .arena = arena,
                                        .decisions = decisions,
                                        .prefix = arena_copy(arena, path, size)};
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

void positions_hold_moved(decision_list *decisions)
{
    for (size_t i = 0; i < decisions->count; i++) {
        const struct decision *moved = &decisions->at[i];
        const char *path = moved->judged.change.path;
        if (moved->course != COURSE_CONFLICT || !git_is_position(path) ||
            !change_is_shown(&moved->judged.change))
            continue;
        size_t size = git_repository_size(path);
        for (size_t j = 0; j < decisions->count; j++) {
            struct decision *other = &decisions->at[j];
            const char *held = other->judged.change.path;
            if (other->course == COURSE_GO && strncmp(held, path, size) == 0 &&
                !text_starts_with(held + git_repository_size(held), "objects/")) {
                other->course = COURSE_HELD;
                other->why = "its repository has moved on";
            }
        }
    }
}
