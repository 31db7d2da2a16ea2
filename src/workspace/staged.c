#include "workspace/staged.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "git/branch.h"
#include "git/index.h"
#include "git/objects.h"
#include "kernel/beneath.h"

enum {
    INDEX_MOST = 256 * 1024 * 1024,
    SHALLOW_MOST = 64 * 1024 * 1024,
    LOOKUPS_MOST = 5000, /* of objects: beyond that `git fsck` says what is missing */
};

/* --- the index ---------------------------------------------------------------------------------------------------- */

struct lookups {
    const struct outcome *outcome;
    const char *objects;
    struct map known; /* digits of what need not be looked for */
    unsigned left;
    bool has_missing;
};

static void note_known(void *context, const char *digits)
{
    struct lookups *lookups = context;
    *map_at(&lookups->known, arena_str(lookups->outcome->arena, digits), strlen(digits)) = lookups;
}

static void look_for(void *context, const char *digits)
{
    struct lookups *lookups = context;
    if (!lookups->left || lookups->has_missing || map_get(&lookups->known, digits, strlen(digits)))
        return;
    lookups->left--;
    note_known(lookups, digits);
    lookups->has_missing = !outcome_has_object(lookups->outcome, lookups->objects, digits);
}

/* What the user's own index names already is not asked for, and git has empty files and folders by heart. */
static bool names_missing(struct outcome *outcome, const struct change *change, const char *objects,
                          const struct buf *index, size_t hash_size)
{
    static const char *const empty[] = {"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
                                        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
                                        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
                                        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"};
    struct lookups lookups = {.outcome = outcome, .objects = objects, .left = LOOKUPS_MOST};
    auto_buf struct buf old = {0};
    for (size_t i = 0; i < array_len(empty); i++)
        note_known(&lookups, empty[i]);
    if (outcome_read_bytes(outcome, change->before, INDEX_MOST, &old)) {
        const unsigned char *bytes = (const unsigned char *)buf_text(&old);
        git_index_objects(bytes, old.size, git_index_check(bytes, old.size), note_known, &lookups);
    }
    git_index_objects((const unsigned char *)buf_text(index), index->size, hash_size, look_for, &lookups);
    map_free(&lookups.known);
    return lookups.has_missing;
}

/* Where objects are fetched when they are wanted, any may be missing. */
static bool may_lack_objects(const struct outcome *outcome, const char *objects)
{
    auto_fd int fd = open_beneath(outcome->top_fd, objects, O_RDONLY | O_DIRECTORY, 0);
    return fd >= 0 && git_objects_are_promised(fd);
}

/* One of the user's own is; one that goes beside it must be sound, too. */
static bool has_base(struct outcome *outcome, const char *index, const char *digits)
{
    auto_buf struct buf base = {0};
    const char *path = arena_printf(outcome->arena, "%.*s/sharedindex.%s", (int)(strrchr(index, '/') - index),
                                    index, digits);
    const struct decision *decision = outcome_of(outcome, path);
    if (!decision)
        return outcome_has(outcome, path);
    return outcome_read_bytes(outcome, decision->judged.change.after, INDEX_MOST, &base) &&
           git_index_check((const unsigned char *)buf_text(&base), base.size);
}

const char *staged_why_index(struct outcome *outcome, const struct change *change, const char *objects)
{
    auto_buf struct buf index = {0};
    struct git_position base;
    if (!outcome_read_bytes(outcome, change->after, INDEX_MOST, &index))
        return outcome_unreadable;
    const unsigned char *bytes = (const unsigned char *)buf_text(&index);
    size_t hash_size = git_index_check(bytes, index.size);
    if (!hash_size)
        return outcome_unreadable;
    if (git_index_base(bytes, index.size, hash_size, &base) && !has_base(outcome, change->path, base.digits))
        return "the index that it adds to is not there";
    return names_missing(outcome, change, objects, &index, hash_size) && !may_lack_objects(outcome, objects)
               ? "it names files that are not in the repository"
               : NULL;
}

/* --- where history was cut off ------------------------------------------------------------------------------------ */

struct shallow {
    const struct outcome *outcome;
    const char *objects;
};

static const char *why_commit(void *context, const char *line)
{
    const struct shallow *shallow = context;
    struct git_position position;
    if (!git_position_parse(line, &position))
        return outcome_unreadable;
    return outcome_has_object(shallow->outcome, shallow->objects, position.digits) ? NULL
                                                                                   : outcome_names_missing;
}

const char *staged_why_shallow(struct outcome *outcome, const struct change *change, const char *objects)
{
    struct shallow shallow = {outcome, objects};
    return outcome_why_line(outcome, change, SHALLOW_MOST, why_commit, &shallow);
}
