/*
 * Folding. Wants of the same line become one. Then, from the deepest directory up: if a run wanted several entries of a directory in
 * the same way, the directory is proposed in their place. At last each directory gets its width, which is the number of
 * files in it: a command that touches a few files of a large directory must not get all of it unnoticed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "learn/parts.h"

enum { FOLDED_FROM = 4, WIDE_FROM = 64, MOST_COUNTED = 5000, DEEPEST_COUNTED = 16 };

void proposal_merge(struct proposal *to, const struct proposal *from)
{
    to->times += from->times;
    to->wanted += from->wanted;
    if (from->ending == WANT_FAILED)
        to->ending = WANT_FAILED;
    if (from->class < to->class)
        to->class = from->class;
    if (!*to->program)
        to->program = from->program;
}

static bool is_foldable(const struct proposal *proposal)
{
    return proposal->line && (proposal->verb == VERB_READ || proposal->verb == VERB_WRITE) &&
           proposal->class != PROPOSAL_PROBE;
}

/* Write gives what read gives. What programs went on without does not stand for what is needed. */
static bool covers(const struct proposal *a, const struct proposal *b)
{
    return is_foldable(a) && is_foldable(b) && a->class <= b->class &&
           (a->verb == b->verb || a->verb == VERB_WRITE) &&
           (a->is_directory ? path_is_beneath(b->object, a->object) : strcmp(a->object, b->object) == 0);
}

static bool is_same(const struct proposal *a, const struct proposal *b)
{
    return a->class != PROPOSAL_NEVER && b->class != PROPOSAL_NEVER && a->line && b->line &&
           strcmp(a->line, b->line) == 0;
}

/* Programs look at each directory on the way to a file: that one of them was looked at says nothing if something in it was wanted. */
static void drop_ways(proposal_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct proposal *way = &list->at[i];
        bool is_way = false;
        for (size_t j = 0; way->is_look && way->is_directory && j < list->count; j++)
            is_way |= *list->at[j].object == '/' && path_is_inside(list->at[j].object, way->object);
        if (!is_way)
            list->at[kept++] = *way;
    }
    list->count = kept;
}

/* Drops what another proposal gives as well. What is given with the directory does not make the directory wanted. */
static void merge_covered(proposal_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t kept = 0;
        struct proposal wide = list->at[i];
        size_t own = SIZE_MAX;
        for (size_t j = 0; j < list->count; j++) {
            const struct proposal *other = &list->at[j];
            bool is_second = j != i && (is_same(&wide, other) ? j > i : covers(&wide, other));
            if (is_second) {
                proposal_merge(&wide, other);
                continue;
            }
            own = j == i ? kept : own;
            list->at[kept++] = *other;
        }
        list->at[own] = wide;
        list->count = kept;
        i = own;
    }
}

/* What is folded together. */
struct way {
    enum verb verb;
    enum proposal_class class;
};

static bool is_wanted_so(const struct proposal *proposal, struct way way)
{
    return is_foldable(proposal) && proposal->verb == way.verb && proposal->class == way.class &&
           proposal->object[1];
}

/* How many entries of the directory are wanted in this way. */
static size_t entries_in(const proposal_list *list, struct arena *arena, const char *directory,
                         struct way way)
{
    size_t count = 0;
    vec_each (const struct proposal, proposal, list)
        count += is_wanted_so(proposal, way) && strcmp(path_parent(arena, proposal->object), directory) == 0;
    return count;
}

/* The deepest directory that can be folded; NULL: none. */
static const char *deepest(struct judge *judge, const proposal_list *list, struct way way)
{
    const char *found = NULL;
    vec_each (const struct proposal, proposal, list) {
        if (!is_wanted_so(proposal, way))
            continue;
        const char *parent = path_parent(judge->arena, proposal->object);
        if (found && path_depth(parent) <= path_depth(found))
            continue;
        if (entries_in(list, judge->arena, parent, way) >= FOLDED_FROM &&
            judge_may_propose(judge, way.verb, parent))
            found = parent;
    }
    return found;
}

static void fold_directories(struct judge *judge, proposal_list *list, struct way way)
{
    for (const char *directory; (directory = deepest(judge, list, way));) {
        struct proposal whole = {
            .class = way.class, .verb = way.verb, .object = directory, .program = "", .is_directory = true};
        proposal_spell(judge->policy, judge->arena, &whole);
        if (whole.class == PROPOSAL_NEVER)
            return;
        vec_push(list, whole);
        merge_covered(list);
    }
}

/* The files beneath a directory, at most MOST_COUNTED. */
static size_t count_files(struct fsview *fs, struct arena *arena, const char *directory, unsigned depth,
                          size_t most)
{
    auto_vec fs_names names = {0};
    size_t count = 0;
    fs_list(fs, directory, most, &names);
    for (size_t i = 0; i < names.count && count < most; i++) {
        const char *path = path_join(arena, directory, names.at[i]);
        bool is_directory = depth < DEEPEST_COUNTED && fs_kind(fs, path) == FILE_DIRECTORY;
        count += is_directory ? count_files(fs, arena, path, depth + 1, most - count) : 1;
    }
    return count;
}

static const char *can_do(enum verb verb)
{
    return verb == VERB_WRITE ? "change and delete" : "read and run";
}

/* Says what the line gives away. */
static void say_width(const struct policy *policy, struct arena *arena, struct proposal *proposal)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    if (proposal->verb == VERB_SOCKET)
        proposal->gives = "what answers at this socket works outside the sandbox, with its own rights";
    if (proposal->verb != VERB_READ && proposal->verb != VERB_WRITE)
        return;
    if (!proposal->is_directory) {
        proposal->gives = arena_printf(arena, "the command can %s this file", can_do(proposal->verb));
        return;
    }
    if (fs_resolve(policy->request.fs, proposal->object, &place, &ignored) < 0)
        return;
    size_t files = count_files(policy->request.fs, arena, place->real, 0, MOST_COUNTED);
    bool is_whole = files < MOST_COUNTED;
    proposal->gives = arena_printf(
        arena, "the command can %s all of this directory: %s%zu file%s, of which the run wanted %zu",
        can_do(proposal->verb), is_whole ? "" : "more than ", files, files == 1 ? "" : "s",
        proposal->wanted < files ? proposal->wanted : files);
    if (proposal->class == PROPOSAL_NEEDED && files >= WIDE_FROM && proposal->wanted * 2 < files)
        proposal->class = PROPOSAL_WIDE;
}

void fold(struct judge *judge, proposal_list *list)
{
    drop_ways(list);
    merge_covered(list);
    fold_directories(judge, list, (struct way){VERB_READ, PROPOSAL_NEEDED});
    fold_directories(judge, list, (struct way){VERB_WRITE, PROPOSAL_NEEDED});
    fold_directories(judge, list, (struct way){VERB_READ, PROPOSAL_WENT_ON});
    fold_directories(judge, list, (struct way){VERB_WRITE, PROPOSAL_WENT_ON});
    vec_each (struct proposal, proposal, list) {
        if (proposal->line)
            say_width(judge->policy, judge->arena, proposal);
    }
}
