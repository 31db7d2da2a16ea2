#include "workspace/positions.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "git/branch.h"
#include "git/objects.h"
#include "kernel/beneath.h"
#include "workspace/gitdir.h"
#include "workspace/outcome.h"
#include "workspace/staged.h"

enum { REF_LARGEST = 4096 };

static const char no_commit[] = "it would stand at a commit that is not in the repository";

struct positions {
    struct outcome outcome;
    decision_list *decisions;
    struct map broken; /* by directory: repositories of which a position or an object is held back */
};

/* A path of a repository, in two parts. */
struct inner {
    const char *path;
    size_t git_size;  /* of the repository's directory, with its slash */
    const char *name; /* what follows: "HEAD", "refs/heads/main"; of a linked worktree's, what follows that */
    bool is_linked;
};

static struct inner inner_of(const char *path)
{
    struct inner inner = {.path = path, .git_size = git_repository_size(path)};
    inner.name = path + inner.git_size;
    const char *slash =
        text_starts_with(inner.name, "worktrees/") ? strchr(inner.name + strlen("worktrees/"), '/') : NULL;
    inner.is_linked = slash != NULL;
    inner.name = slash ? slash + 1 : inner.name;
    return inner;
}

static bool is_position(const struct inner *inner)
{
    return inner->git_size && (strcmp(inner->name, "HEAD") == 0 || strcmp(inner->name, "packed-refs") == 0 ||
                               text_starts_with(inner->name, "refs/"));
}

static bool is_index(const struct inner *inner)
{
    return inner->git_size &&
           (strcmp(inner->name, "index") == 0 || text_starts_with(inner->name, "sharedindex."));
}

static bool is_shallow(const struct inner *inner)
{
    return inner->git_size && !inner->is_linked && strcmp(inner->name, "shallow") == 0;
}

static const char *sibling(const struct positions *positions, const struct inner *inner, const char *name)
{
    return arena_printf(positions->outcome.arena, "%.*s%s", (int)inner->git_size, inner->path, name);
}

static bool has_object(const struct positions *positions, const struct inner *inner, const char *digits)
{
    return outcome_has_object(&positions->outcome, sibling(positions, inner, "objects/"), digits);
}

/* --- what a file says --------------------------------------------------------------------------------------------- */

static bool ref_is_sound(const char *ref)
{
    return text_starts_with(ref, "refs/") && git_branch_is_sound(ref + strlen("refs/"));
}

/* The ref that the text leads on to ("ref: refs/heads/main"), or NULL. */
static const char *symbolic_in(struct arena *arena, const char *text)
{
    if (!text_starts_with(text, "ref:"))
        return NULL;
    text += strlen("ref:");
    text += strspn(text, " \t");
    return arena_copy(arena, text, strcspn(text, " \t\r\n"));
}

struct packed_refs {
    const struct positions *positions;
    const struct inner *inner;
};

/* One line of packed refs: "HASH REF", "^HASH" for what a tag stands for, or "# …". */
static const char *why_packed(void *context, const char *line)
{
    const struct packed_refs *refs = context;
    struct git_position position;
    bool is_peeled = *line == '^';
    const char *space = strchrnul(line, ' ');
    const char *digits =
        arena_copy(refs->positions->outcome.arena, line + is_peeled, (size_t)(space - line) - is_peeled);
    if (*line == '#')
        return NULL;
    if (!git_position_parse(digits, &position) ||
        (is_peeled ? *space != '\0' : !*space || !ref_is_sound(space + 1)))
        return outcome_unreadable;
    return has_object(refs->positions, refs->inner, digits) ? NULL : outcome_names_missing;
}

static const char *why_content(struct positions *positions, const struct inner *inner,
                               const struct change *change)
{
    auto_buf struct buf text = {0};
    struct git_position position;
    if (strcmp(inner->name, "packed-refs") == 0) {
        struct packed_refs refs = {positions, inner};
        return outcome_why_line(&positions->outcome, change, GIT_PACKED_REFS_MOST, why_packed, &refs);
    }
    if (!outcome_read_entry(&positions->outcome, change->after, REF_LARGEST, &text))
        return outcome_unreadable;
    const char *led_to = symbolic_in(positions->outcome.arena, buf_text(&text));
    if (led_to)
        return ref_is_sound(led_to) ? NULL : outcome_unreadable;
    if (!git_position_parse(buf_text(&text), &position))
        return outcome_unreadable;
    return has_object(positions, inner, position.digits) ? NULL : no_commit;
}

/* --- a change ----------------------------------------------------------------------------------------------------- */

/* Does all of it go, the repository or the linked worktree's part of it? */
static bool goes_as_a_whole(const struct positions *positions, const struct inner *inner)
{
    const char *directory =
        arena_copy(positions->outcome.arena, inner->path, (size_t)(inner->name - inner->path) - 1);
    const struct decision *decision = outcome_of(&positions->outcome, directory);
    return decision && !decision->judged.change.after;
}

/* The commits before those that it names come with further objects. */
static bool gets_objects(const struct positions *positions, const struct inner *inner)
{
    const char *objects = sibling(positions, inner, "objects/");
    for (size_t i = 0; i < positions->decisions->count; i++) {
        const struct decision *decision = &positions->decisions->at[i];
        if (decision->course == COURSE_GO && decision->judged.change.after &&
            text_starts_with(decision->judged.change.path, objects))
            return true;
    }
    return false;
}

static const char *why_removal(const struct positions *positions, const struct inner *inner)
{
    static const char *const needed[] = {"HEAD", "refs", "objects"};
    bool is_needed = false;
    if (is_shallow(inner) && !gets_objects(positions, inner) && !goes_as_a_whole(positions, inner))
        return "without it git would look for commits that are not there";
    for (size_t i = 0; i < (inner->is_linked ? 1 : array_len(needed)); i++)
        is_needed |= strcmp(inner->name, needed[i]) == 0;
    return is_needed && !goes_as_a_whole(positions, inner) ? "without it there would be no repository" : NULL;
}

/* A file of no bytes is what a crash leaves of an object. */
static const char *why_object(const struct inner *inner, const struct decision *decision)
{
    if (!git_is_object_path(inner->name + strlen("objects/")))
        return NULL;
    return decision->judged.now.path                  ? "git never changes an object"
           : decision->judged.change.after->size == 0 ? outcome_unreadable
                                                      : NULL;
}

/* Why the change must not go, or NULL. */
static const char *why_broken(struct positions *positions, const struct inner *inner,
                              const struct decision *decision)
{
    unsigned of_content = CHANGE_ADDED | CHANGE_KIND | CHANGE_CONTENT | CHANGE_TARGET;
    const struct change *change = &decision->judged.change;
    bool is_directory = change->after && S_ISDIR(change->after->mode);
    if (!change->after)
        return why_removal(positions, inner);
    if (!(change->what & of_content))
        return NULL;
    if (text_starts_with(inner->name, "objects/"))
        return is_directory ? NULL : why_object(inner, decision);
    if (is_index(inner))
        return staged_why_index(&positions->outcome, change, sibling(positions, inner, "objects/"));
    if (is_shallow(inner))
        return staged_why_shallow(&positions->outcome, change, sibling(positions, inner, "objects/"));
    bool is_ref = text_starts_with(inner->name, "refs/");
    if (!is_position(inner) || (is_ref && is_directory))
        return NULL;
    return is_ref && !ref_is_sound(inner->name) ? "git would not take that for the name of a branch"
                                                : why_content(positions, inner, change);
}

/* --- the branch that HEAD names ----------------------------------------------------------------------------------- */

static bool will_be_there(struct positions *positions, const struct inner *inner, const char *ref)
{
    auto_buf struct buf packed = {0};
    struct git_position position;
    if (outcome_has(&positions->outcome, sibling(positions, inner, ref)))
        return true;
    return outcome_read(&positions->outcome, sibling(positions, inner, "packed-refs"), GIT_PACKED_REFS_MOST,
                        &packed) &&
           git_packed_position(buf_text(&packed), ref, &position);
}

static bool is_there(const struct positions *positions, const struct inner *inner, const char *ref)
{
    struct git_position position;
    auto_fd int git_fd =
        open_beneath(positions->outcome.top_fd, sibling(positions, inner, ""), O_RDONLY | O_DIRECTORY, 0);
    return git_fd >= 0 && text_starts_with(ref, "refs/heads/") &&
           git_branch_position(git_fd, ref + strlen("refs/heads/"), &position);
}

static void hold(struct positions *positions, const struct inner *inner, struct decision *decision,
                 const char *why)
{
    decision->course = COURSE_HELD;
    decision->why = why;
    decision->breaks = true;
    if (!is_index(inner) && !is_shallow(inner))
        *map_at(&positions->broken, inner->path, inner->git_size) = decision;
}

/* A branch that does not exist yet is a HEAD's alone to name, and not one that is held back. */
static void hold_leading(struct positions *positions, const struct inner *inner, struct decision *decision,
                         const char *ref)
{
    const char *path = sibling(positions, inner, ref);
    const struct decision *of_ref = outcome_decided(&positions->outcome, path);
    if (strcmp(inner->name, "HEAD") != 0 || (of_ref && of_ref->course == COURSE_HELD))
        hold(positions, inner, decision, "the branch that it names is not there");
}

/* The branch that HEAD will name must not go. */
static void hold_named(struct positions *positions, const struct inner *inner, struct decision *decision)
{
    auto_buf struct buf head = {0};
    const char *ref = outcome_read(&positions->outcome, sibling(positions, inner, "HEAD"), REF_LARGEST, &head)
                          ? symbolic_in(positions->outcome.arena, buf_text(&head))
                          : NULL;
    bool concerns = ref && (strcmp(inner->name, ref) == 0 || strcmp(inner->name, "packed-refs") == 0);
    if (concerns && is_there(positions, inner, ref) && !will_be_there(positions, inner, ref) &&
        !goes_as_a_whole(positions, inner))
        hold(positions, inner, decision, "HEAD names a branch that would be gone");
}

static void hold_for_others(struct positions *positions, const struct inner *inner, struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    auto_buf struct buf text = {0};
    const char *ref =
        change->after && outcome_read_entry(&positions->outcome, change->after, REF_LARGEST, &text)
            ? symbolic_in(positions->outcome.arena, buf_text(&text))
            : NULL;
    if (!ref)
        hold_named(positions, inner, decision);
    else if (!will_be_there(positions, inner, ref))
        hold_leading(positions, inner, decision, ref);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static void hold_all(struct positions *positions)
{
    decision_list *decisions = positions->decisions;
    for (size_t i = 0; i < decisions->count; i++) {
        struct decision *decision = &decisions->at[i];
        struct inner inner = inner_of(decision->judged.change.path);
        bool goes = decision->course == COURSE_GO && inner.git_size;
        const char *why = goes ? why_broken(positions, &inner, decision) : NULL;
        if (why)
            hold(positions, &inner, decision, why);
    }
    for (size_t i = 0; i < decisions->count; i++) {
        struct inner inner = inner_of(decisions->at[i].judged.change.path);
        if (decisions->at[i].course == COURSE_GO && is_position(&inner))
            hold_for_others(positions, &inner, &decisions->at[i]);
    }
    /* Logs and the index beside what was held back speak of commits that are not there either. */
    for (size_t i = 0; i < decisions->count && positions->broken.count; i++) {
        struct inner inner = inner_of(decisions->at[i].judged.change.path);
        bool is_company = text_starts_with(inner.name, "logs/") || strcmp(inner.name, "index") == 0;
        if (is_company && decisions->at[i].course == COURSE_GO &&
            map_get(&positions->broken, inner.path, inner.git_size))
            decisions->at[i].course = COURSE_DONE;
    }
}

int positions_hold_broken(const struct transition *transition, struct arena *arena, decision_list *decisions,
                          struct err *err)
{
    struct positions positions = {.decisions = decisions};
    int result = outcome_begin(transition, arena, decisions, &positions.outcome, err);
    if (result == 0)
        hold_all(&positions);
    outcome_end(&positions.outcome);
    map_free(&positions.broken);
    return result;
}
