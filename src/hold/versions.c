#include "hold/versions.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MOST_TIPS = 500, OBJECT_LARGEST = 4 * 1024 * 1024 };

/* A verified object: its kind and what it holds. */
struct object {
    const char *kind;
    const char *bytes;
    size_t size;
};

void versions_begin(struct versions *versions, struct arena *arena, const char *git_dir,
                    struct timespec before)
{
    versions->arena = arena;
    git_refs_before(git_dir, before, MOST_TIPS, &versions->tips);
}

static struct object *object_of(const struct versions *versions, const struct git_hash *hash)
{
    return map_get(&versions->objects, (const char *)hash->bytes, SHA1_SIZE);
}

/* An answer counts if it hashes to what was asked for. */
static void keep_object(struct versions *versions, const struct git_hash *hash, const char *kind,
                        const char *bytes, size_t size)
{
    char head[64];
    struct git_hash found = {0};
    int head_size = snprintf(head, sizeof(head), "%s %zu", kind, size) + 1;
    sha1_of(head, (size_t)head_size, bytes, size, found.bytes);
    if (memcmp(&found, hash, sizeof(found)) != 0)
        return;
    struct object *object = arena_new(versions->arena, struct object);
    *object =
        (struct object){arena_str(versions->arena, kind), arena_copy(versions->arena, bytes, size), size};
    char *key = arena_copy(versions->arena, (const char *)hash->bytes, SHA1_SIZE);
    *map_at(&versions->objects, key, SHA1_SIZE) = object;
}

/* "HASH KIND SIZE\nBYTES\n", or "HASH missing\n", again and again. */
static void read_answers(struct versions *versions, const struct buf *output)
{
    const char *at = output->bytes, *end = at + output->size;
    while (at && end - at > SHA1_DIGITS) {
        struct git_hash hash;
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end || !git_hash_parse(at, &hash))
            return;
        char line[128];
        snprintf(line, sizeof(line), "%.*s", (int)(line_end - at), at);
        char *kind = line + SHA1_DIGITS + (line[SHA1_DIGITS] == ' ');
        char *space = strchr(kind, ' ');
        const char *number = space ? space + 1 : "";
        uint64_t size = 0;
        at = line_end + 1;
        if (!space || !text_take_number(&number, &size) || *number)
            continue; /* missing */
        *space = '\0';
        if (size > OBJECT_LARGEST || size >= (uint64_t)(end - at))
            return;
        keep_object(versions, &hash, kind, at, (size_t)size);
        at += size + 1;
    }
}

/* Asks for those of the hashes that are not known yet, all at once. */
static void fetch(struct versions *versions, const char *work_tree, const git_hashes *wanted)
{
    auto_buf struct buf input = {0}, output = {0};
    for (size_t i = 0; i < wanted->count; i++) {
        char text[SHA1_DIGITS + 1];
        if (object_of(versions, &wanted->at[i]))
            continue;
        git_hash_format(&wanted->at[i], text);
        buf_printf(&input, "%s\n", text);
    }
    if (input.size && versions->ask(versions->context, work_tree, &input, &output) == 0 && output.size)
        read_answers(versions, &output);
}

/* The tree of a commit, or what a tag stands for. */
static bool follow_head(const struct object *object, const char *field, struct git_hash *ret_hash)
{
    size_t size = strlen(field);
    return object->size > size + SHA1_DIGITS && strncmp(object->bytes, field, size) == 0 &&
           git_hash_parse(object->bytes + size, ret_hash);
}

/* An entry of a tree: "MODE NAME\0" and twenty bytes. */
static bool find_entry(const struct object *tree, const char *name, size_t name_size,
                       struct git_hash *ret_hash)
{
    for (const char *at = tree->bytes, *end = at + tree->size; at < end;) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *nul = space ? memchr(space, '\0', (size_t)(end - space)) : NULL;
        if (!nul || end - nul <= SHA1_SIZE)
            return false;
        if ((size_t)(nul - space - 1) == name_size && memcmp(space + 1, name, name_size) == 0) {
            memcpy(ret_hash->bytes, nul + 1, SHA1_SIZE);
            return true;
        }
        at = nul + 1 + SHA1_SIZE;
    }
    return false;
}

/* One step down for every hash: commits and tags to their trees, trees to the entry of that name. */
static void step(struct versions *versions, const char *work_tree, const char *name, size_t name_size,
                 git_hashes *hashes)
{
    git_hashes next = {0};
    fetch(versions, work_tree, hashes);
    for (size_t i = 0; i < hashes->count; i++) {
        const struct object *object = object_of(versions, &hashes->at[i]);
        struct git_hash hash;
        bool is_there =
            object && (name ? strcmp(object->kind, "tree") == 0 && find_entry(object, name, name_size, &hash)
                            : strcmp(object->kind, "commit") == 0 && follow_head(object, "tree ", &hash));
        if (is_there)
            vec_push(&next, hash);
    }
    vec_free(hashes);
    *hashes = next;
}

bool versions_include(struct versions *versions, const char *work_tree, const char *path, const char *bytes,
                      size_t size)
{
    char head[32];
    struct git_hash wanted = {0};
    if (!versions->ask || !versions->tips.count)
        return false;
    int head_size = snprintf(head, sizeof(head), "blob %zu", size) + 1;
    sha1_of(head, (size_t)head_size, bytes, size, wanted.bytes);
    git_hashes hashes = {0};
    for (size_t i = 0; i < versions->tips.count; i++)
        vec_push(&hashes, versions->tips.at[i]);
    step(versions, work_tree, NULL, 0, &hashes);
    for (const char *name = path; name && hashes.count;) {
        size_t name_size = strcspn(name, "/");
        step(versions, work_tree, name, name_size, &hashes);
        name = name[name_size] ? name + name_size + 1 : NULL;
    }
    bool found = false;
    for (size_t i = 0; i < hashes.count; i++)
        found |= memcmp(&hashes.at[i], &wanted, sizeof(wanted)) == 0;
    vec_free(&hashes);
    return found;
}

void versions_free(struct versions *versions)
{
    vec_free(&versions->tips);
    map_free(&versions->objects);
}
