#include "workspace/transition.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "git/index.h"
#include "git/judge.h"
#include "git/objects.h"
#include "git/refs.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "workspace/future.h"
#include "workspace/gate.h"

enum {
    REF_LARGEST = 4096,
    INDEX_MOST = 256 * 1024 * 1024,
    SHALLOW_MOST = 64 * 1024 * 1024,
    OF_CONTENT = CHANGE_ADDED | CHANGE_KIND | CHANGE_CONTENT | CHANGE_TARGET,
    LOOKUPS_MOST = 5000, /* of objects in one index; `git fsck` reports what is missing beyond that */
};

static const char unreadable[] = "git could not read it";
static const char names_missing_commit[] = "it names a commit that is not in the repository";
static const char no_commit[] = "it would stand at a commit that is not in the repository";
static const char leads_to_damage[] = "it leads to an object that is missing or damaged";

struct check {
    struct future future;
    decision_list *decisions;
    struct repo_findings findings;
    struct map broken; /* by directory: repositories of which a ref or an object is held back */
};

/* A path in a repository, in two parts. */
struct inner {
    const char *path;
    size_t git_size; /* of the repository's directory, with its slash */
    const char
        *name; /* the rest: "HEAD", "refs/heads/main"; of a linked worktree, the part after its directory */
    bool is_linked;
};

static struct inner inner_of(const char *path)
{
    struct git_inner found = git_inner_of(path);
    return (struct inner){path, found.size, found.path, found.is_linked};
}

static bool is_position(const struct inner *inner)
{
    return inner->git_size && (strcmp(inner->name, "HEAD") == 0 || strcmp(inner->name, "packed-refs") == 0 ||
                               text_starts_with(inner->name, "refs/"));
}

static bool is_log(const struct inner *inner)
{
    return inner->git_size && text_starts_with(inner->name, "logs/");
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

static const char *sibling(const struct check *check, const struct inner *inner, const char *name)
{
    return arena_printf(check->future.arena, "%.*s%s", (int)inner->git_size, inner->path, name);
}

static bool has_object(const struct check *check, const struct inner *inner, const char *digits)
{
    return future_has_object(&check->future, sibling(check, inner, "objects/"), digits);
}

/* --- what a file says --------------------------------------------------------------------------------------------- */

/* The ref that a symbolic ref names ("ref: refs/heads/main"), or NULL. */
static const char *symbolic_in(struct arena *arena, const char *text)
{
    struct bytes ref;
    return git_symbolic_parse(bytes_of(text, strlen(text)), &ref) ? arena_copy(arena, ref.at, ref.size)
                                                                  : NULL;
}

typedef const char *judge_line(void *context, const char *line);

/*
 * Returns what `why` says about the first line that it objects to, or NULL. Lines that the file had before are the
 * user's own and are not judged.
 */
static const char *why_line(struct future *future, const struct change *change, size_t most, judge_line *why,
                            void *context)
{
    auto_buf struct buf text = {0}, old = {0};
    struct map known = {0};
    const char *found = NULL;
    if (!future_read_entry(future, change->after, most, &text))
        return unreadable;
    if (future_read_entry(future, change->before, most, &old)) {
        for (const char *line = buf_text(&old), *end; *line; line = *end ? end + 1 : end) {
            end = strchrnul(line, '\n');
            *map_at(&known, line, (size_t)(end - line)) = future;
        }
    }
    for (const char *line = buf_text(&text), *end; *line && !found; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        if (!map_get(&known, line, (size_t)(end - line)))
            found = why(context, arena_copy(future->arena, line, (size_t)(end - line)));
    }
    map_free(&known);
    return found;
}

/* Where the objects that a line names are looked up. */
struct lookup {
    const struct future *future;
    const char *objects; /* "….git/objects/" */
    struct repo_findings findings;
};

static bool leads_astray(struct repo_findings findings, const char *digits)
{
    return text_is_among(digits, findings.broken, findings.broken_count);
}

/* One line of packed-refs: "HASH REF", "^HASH" for the target of a tag, or "# …". */
static const char *why_packed(void *context, const char *line)
{
    const struct lookup *lookup = context;
    struct git_packed_line packed = git_packed_parse(bytes_of(line, strlen(line)));
    if (packed.kind == GIT_PACKED_COMMENT)
        return NULL;
    if (!git_packed_is_sound(&packed))
        return unreadable;
    if (leads_astray(lookup->findings, packed.at.digits))
        return leads_to_damage;
    return future_has_object(lookup->future, lookup->objects, packed.at.digits) ? NULL : names_missing_commit;
}

/* One line of a log: "OLD NEW …". `git fsck` and `git gc` follow both. */
static const char *why_logged(void *context, const char *line)
{
    const struct lookup *lookup = context;
    struct git_position at[2]; /* before and after */
    if (!git_logged_parse(bytes_of(line, strlen(line)), &at[0], &at[1]))
        return unreadable;
    for (size_t i = 0; i < array_len(at); i++) {
        if (!git_position_is_null(&at[i]) &&
            (leads_astray(lookup->findings, at[i].digits) ||
             !future_has_object(lookup->future, lookup->objects, at[i].digits)))
            return "it names a commit that is missing or damaged";
    }
    return NULL;
}

static const char *why_content(struct check *check, const struct inner *inner, const struct change *change)
{
    auto_buf struct buf text = {0};
    struct git_position position;
    if (strcmp(inner->name, "packed-refs") == 0 || is_log(inner)) {
        struct lookup lookup = {&check->future, sibling(check, inner, "objects/"), check->findings};
        return why_line(&check->future, change, GIT_PACKED_REFS_MOST, is_log(inner) ? why_logged : why_packed,
                        &lookup);
    }
    if (!future_read_entry(&check->future, change->after, REF_LARGEST, &text))
        return unreadable;
    const char *led_to = symbolic_in(check->future.arena, buf_text(&text));
    if (led_to)
        return git_ref_is_sound(led_to) ? NULL : unreadable;
    if (!git_position_parse(buf_text(&text), &position))
        return unreadable;
    if (!has_object(check, inner, position.digits))
        return no_commit;
    return leads_astray(check->findings, position.digits) ? leads_to_damage : NULL;
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

struct lookups {
    const struct future *future;
    const char *objects;
    struct map known; /* hashes that need not be looked up */
    unsigned left;
    bool has_missing;
};

static void note_known(void *context, const char *digits)
{
    struct lookups *lookups = context;
    *map_at(&lookups->known, arena_str(lookups->future->arena, digits), strlen(digits)) = lookups;
}

static void look_for(void *context, const char *digits)
{
    struct lookups *lookups = context;
    if (!lookups->left || lookups->has_missing || map_get(&lookups->known, digits, strlen(digits)))
        return;
    lookups->left--;
    note_known(lookups, digits);
    lookups->has_missing = !future_has_object(lookups->future, lookups->objects, digits);
}

/* Objects that the user's index names already need no lookup. Neither do the empty blob and tree, which git has built in. */
static bool names_missing(struct future *future, const struct change *change, const char *objects,
                          const struct buf *index, size_t hash_size)
{
    static const char *const empty[] = {"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
                                        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
                                        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
                                        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"};
    struct lookups lookups = {.future = future, .objects = objects, .left = LOOKUPS_MOST};
    auto_buf struct buf old = {0};
    for (size_t i = 0; i < array_len(empty); i++)
        note_known(&lookups, empty[i]);
    if (future_read_bytes(future, change->before, INDEX_MOST, &old)) {
        const unsigned char *bytes = (const unsigned char *)buf_text(&old);
        git_index_objects(bytes, old.size, git_index_check(bytes, old.size), note_known, &lookups);
    }
    git_index_objects((const unsigned char *)buf_text(index), index->size, hash_size, look_for, &lookups);
    map_free(&lookups.known);
    return lookups.has_missing;
}

/* In a partial clone any object may be missing: git fetches it on demand. */
static bool may_lack_objects(const struct future *future, const char *objects)
{
    auto_fd int fd = open_beneath(future->top_fd, objects, O_RDONLY | O_DIRECTORY, 0);
    return fd >= 0 && git_objects_are_promised(fd);
}

/* Is there a base for a split index? A base of the user's own is trusted; one that is among the changes must be readable. */
static bool has_base(struct future *future, const char *index, const char *digits)
{
    auto_buf struct buf base = {0};
    const char *path =
        arena_printf(future->arena, "%.*s/sharedindex.%s", (int)(strrchr(index, '/') - index), index, digits);
    const struct decision *decision = future_of(future, path);
    if (!decision)
        return future_has(future, path);
    return future_read_bytes(future, decision->judged.change.after, INDEX_MOST, &base) &&
           git_index_check((const unsigned char *)buf_text(&base), base.size);
}

static const char *why_index(struct future *future, const struct change *change, const char *objects)
{
    auto_buf struct buf index = {0};
    struct git_position base;
    if (!future_read_bytes(future, change->after, INDEX_MOST, &index))
        return unreadable;
    const unsigned char *bytes = (const unsigned char *)buf_text(&index);
    size_t hash_size = git_index_check(bytes, index.size);
    if (!hash_size)
        return unreadable;
    if (git_index_base(bytes, index.size, hash_size, &base) && !has_base(future, change->path, base.digits))
        return "the index that it adds to is not there";
    return names_missing(future, change, objects, &index, hash_size) && !may_lack_objects(future, objects)
               ? "it names files that are not in the repository"
               : NULL;
}

/* --- where history was cut off ------------------------------------------------------------------------------------ */

static const char *why_commit(void *context, const char *line)
{
    const struct lookup *lookup = context;
    struct git_position position;
    if (!git_position_parse(line, &position))
        return unreadable;
    return future_has_object(lookup->future, lookup->objects, position.digits) ? NULL : names_missing_commit;
}

static const char *why_shallow(struct future *future, const struct change *change, const char *objects)
{
    struct lookup lookup = {.future = future, .objects = objects};
    return why_line(future, change, SHALLOW_MOST, why_commit, &lookup);
}

/* --- a change ----------------------------------------------------------------------------------------------------- */

/* Is the whole repository, or the whole linked worktree's directory, removed? */
static bool goes_as_a_whole(const struct check *check, const struct inner *inner)
{
    const char *directory =
        arena_copy(check->future.arena, inner->path, (size_t)(inner->name - inner->path) - 1);
    const struct decision *decision = future_of(&check->future, directory);
    return decision && !decision->judged.change.after;
}

/* Are objects added? Then the history that `shallow` cut off may be among them. */
static bool gets_objects(const struct check *check, const struct inner *inner)
{
    const char *objects = sibling(check, inner, "objects/");
    for (size_t i = 0; i < check->decisions->count; i++) {
        const struct decision *decision = &check->decisions->at[i];
        if (decision->course == COURSE_GO && decision->judged.change.after &&
            text_starts_with(decision->judged.change.path, objects))
            return true;
    }
    return false;
}

static const char *why_removal(const struct check *check, const struct inner *inner)
{
    static const char *const needed[] = {"HEAD", "refs", "objects"};
    bool is_needed = false;
    if (is_shallow(inner) && !gets_objects(check, inner) && !goes_as_a_whole(check, inner))
        return "without it git would look for commits that are not there";
    for (size_t i = 0; i < (inner->is_linked ? 1 : array_len(needed)); i++)
        is_needed |= strcmp(inner->name, needed[i]) == 0;
    return is_needed && !goes_as_a_whole(check, inner) ? "without it there would be no repository" : NULL;
}

/* An empty file is what a crash leaves of an object. */
static const char *why_object(const struct check *check, const struct inner *inner,
                              const struct decision *decision)
{
    const char *name = inner->name + strlen("objects/");
    if (!git_is_object_path(name))
        return NULL;
    if (decision->judged.now.path)
        return "git never changes an object";
    if (text_is_among(name, check->findings.damaged, check->findings.damaged_count))
        return "it is damaged";
    return decision->judged.change.after->size == 0 ? unreadable : NULL;
}

static int read_for_judge(void *context, const struct entry *entry, size_t most, struct buf *ret_bytes)
{
    return future_read_bytes(context, entry, most, ret_bytes);
}

/*
 * What no git makes is held back whatever the user allows: links and pipes, and files that git reads as data and that do not have
 * their form. What git makes and obeys, such as an unfinished rebase, is the user's decision (gate.c).
 */
static const char *why_not_data(struct check *check, const struct inner *inner, const struct change *change)
{
    struct gate_change judged = {change->path, change->before, change->after, read_for_judge, &check->future};
    bool is_file = S_ISREG(change->after->mode);
    bool is_data = is_index(inner) || is_shallow(inner) || is_position(inner) || is_log(inner);
    return !S_ISDIR(change->after->mode) && (!is_file || is_data) ? gate_judge_git(&judged) : NULL;
}

/* Returns why the change must be held back, or NULL. */
static const char *why_broken(struct check *check, const struct inner *inner, const struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    bool is_directory = change->after && S_ISDIR(change->after->mode);
    if (!change->after)
        return why_removal(check, inner);
    if (!(change->what & OF_CONTENT))
        return NULL;
    if (text_starts_with(inner->name, "objects/"))
        return is_directory ? NULL : why_object(check, inner, decision);
    if (is_index(inner))
        return why_index(&check->future, change, sibling(check, inner, "objects/"));
    if (is_shallow(inner))
        return why_shallow(&check->future, change, sibling(check, inner, "objects/"));
    bool is_ref = text_starts_with(inner->name, "refs/"), is_past = strcmp(inner->name, "ORIG_HEAD") == 0;
    if (!(is_position(inner) || is_past || is_log(inner)) || ((is_ref || is_log(inner)) && is_directory))
        return NULL;
    return is_ref && !git_ref_is_sound(inner->name) ? "this is not a valid branch name"
                                                    : why_content(check, inner, change);
}

/* --- the branch that HEAD names ----------------------------------------------------------------------------------- */

static bool will_be_there(struct check *check, const struct inner *inner, const char *ref)
{
    auto_buf struct buf packed = {0};
    struct git_position position;
    if (future_has(&check->future, sibling(check, inner, ref)))
        return true;
    return future_read(&check->future, sibling(check, inner, "packed-refs"), GIT_PACKED_REFS_MOST, &packed) &&
           git_packed_position(bytes_of(buf_text(&packed), packed.size), ref, &position);
}

static bool is_there(const struct check *check, const struct inner *inner, const char *ref)
{
    struct git_position position;
    auto_fd int git_fd =
        open_beneath(check->future.top_fd, sibling(check, inner, ""), O_RDONLY | O_DIRECTORY, 0);
    return git_fd >= 0 && text_starts_with(ref, "refs/heads/") &&
           git_branch_position(git_fd, ref + strlen("refs/heads/"), &position);
}

static void hold(struct check *check, const struct inner *inner, struct decision *decision, const char *why)
{
    decision->course = COURSE_HELD;
    decision->why = why;
    decision->breaks = true;
    if (is_position(inner) || text_starts_with(inner->name, "objects/"))
        *map_at(&check->broken, inner->path, inner->git_size) = decision;
}

/* HEAD may name a branch without commits, but not a branch that is held back. */
static void hold_leading(struct check *check, const struct inner *inner, struct decision *decision,
                         const char *ref)
{
    const char *path = sibling(check, inner, ref);
    const struct decision *of_ref = future_decided(&check->future, path);
    if (strcmp(inner->name, "HEAD") != 0 || (of_ref && of_ref->course == COURSE_HELD))
        hold(check, inner, decision, "the branch that it names is not there");
}

/* The branch that HEAD will name must not be removed. */
static void hold_named(struct check *check, const struct inner *inner, struct decision *decision)
{
    auto_buf struct buf head = {0};
    const char *ref = future_read(&check->future, sibling(check, inner, "HEAD"), REF_LARGEST, &head)
                          ? symbolic_in(check->future.arena, buf_text(&head))
                          : NULL;
    bool concerns = ref && (strcmp(inner->name, ref) == 0 || strcmp(inner->name, "packed-refs") == 0);
    if (concerns && is_there(check, inner, ref) && !will_be_there(check, inner, ref) &&
        !goes_as_a_whole(check, inner))
        hold(check, inner, decision, "HEAD names a branch that would be gone");
}

static void hold_for_others(struct check *check, const struct inner *inner, struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    auto_buf struct buf text = {0};
    const char *ref = change->after && future_read_entry(&check->future, change->after, REF_LARGEST, &text)
                          ? symbolic_in(check->future.arena, buf_text(&text))
                          : NULL;
    if (!ref)
        hold_named(check, inner, decision);
    else if (!will_be_there(check, inner, ref))
        hold_leading(check, inner, decision, ref);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static void hold_one(struct check *check, const struct inner *inner, struct decision *decision)
{
    const struct change *change = &decision->judged.change;
    const char *why = why_broken(check, inner, decision);
    if (!why && change->after && change->what & OF_CONTENT)
        why = why_not_data(check, inner, change);
    if (why)
        hold(check, inner, decision, why);
}

/* Reflogs and the index beside a ref that is held back name missing commits, too: they stay as they are, without a word. */
static bool stays_with_ref(struct check *check, const struct inner *inner)
{
    return (is_log(inner) || strcmp(inner->name, "index") == 0) &&
           map_get(&check->broken, inner->path, inner->git_size);
}

static void hold_all(struct check *check)
{
    decision_list *decisions = check->decisions;
    for (size_t i = 0; i < decisions->count; i++) {
        struct inner inner = inner_of(decisions->at[i].judged.change.path);
        if (decisions->at[i].course == COURSE_GO && inner.git_size && !is_log(&inner))
            hold_one(check, &inner, &decisions->at[i]);
    }
    for (size_t i = 0; i < decisions->count; i++) {
        struct inner inner = inner_of(decisions->at[i].judged.change.path);
        if (decisions->at[i].course == COURSE_GO && is_position(&inner))
            hold_for_others(check, &inner, &decisions->at[i]);
    }
    for (size_t i = 0; i < decisions->count; i++) {
        struct inner inner = inner_of(decisions->at[i].judged.change.path);
        bool goes = decisions->at[i].course == COURSE_GO;
        if (goes && stays_with_ref(check, &inner))
            decisions->at[i].course = COURSE_DONE;
        else if (goes && is_log(&inner))
            hold_one(check, &inner, &decisions->at[i]);
    }
}

int repo_check_hold_broken(const struct transition *transition, struct arena *arena,
                           struct repo_findings findings, decision_list *decisions, struct err *err)
{
    struct check check = {.decisions = decisions, .findings = findings};
    int result = future_begin(transition, arena, decisions, &check.future, err);
    if (result == 0)
        hold_all(&check);
    future_end(&check.future);
    map_free(&check.broken);
    return result;
}
