#include "hold/versions.h"

#include <string.h>

#include "base/text.h"

enum { MOST_TIPS = 500, OBJECT_LARGEST = 4 * 1024 * 1024 };

/* A verified object: its kind and what it holds. */
struct object {
    const char *kind;
    struct bytes content;
};

static void add_tip(struct versions *versions, const struct git_ref *ref)
{
    struct git_hash hash;
    bool is_usable = git_ref_is_branch_or_tag(ref->name) && strlen(ref->at.digits) == SHA1_DIGITS &&
                     versions->tips.count < MOST_TIPS && git_hash_parse(ref->at.digits, &hash);
    for (size_t i = 0; is_usable && i < versions->tips.count; i++)
        is_usable = memcmp(&versions->tips.at[i], &hash, sizeof(hash)) != 0;
    if (is_usable)
        vec_push(&versions->tips, hash);
}

void versions_begin_part(struct versions *versions, struct arena *arena, const char *git_dir,
                         struct timespec before)
{
    struct refs_at_start start = {.git_dir = git_dir};
    git_refs_read(git_dir, before, arena, &start.refs);
    vec_push(&versions->starts, start);
}

void versions_begin(struct versions *versions, struct arena *arena, const char *git_dir,
                    struct timespec before)
{
    versions->arena = arena;
    versions_begin_part(versions, arena, git_dir, before);
    vec_each (const struct git_ref, ref, &versions->starts.at[versions->starts.count - 1].refs.list)
        add_tip(versions, ref);
}

const struct git_refs *versions_refs(const struct versions *versions, const char *git_dir)
{
    vec_each (const struct refs_at_start, start, &versions->starts) {
        if (strcmp(start->git_dir, git_dir) == 0)
            return &start->refs;
    }
    return NULL;
}

static struct object *object_of(const struct versions *versions, const struct git_hash *hash)
{
    return map_get(&versions->objects, (const char *)hash->bytes, SHA1_SIZE);
}

/* Keeps an answer only if its content has the hash that was asked for. */
static void keep_object(struct versions *versions, const struct git_hash *hash, const char *kind,
                        struct bytes content)
{
    struct git_hash found = {0};
    if (!git_hash_of(kind, content, &found) || memcmp(&found, hash, sizeof(found)) != 0)
        return;
    struct object *object = arena_new(versions->arena, struct object);
    *object = (struct object){arena_str(versions->arena, kind),
                              bytes_of(arena_copy(versions->arena, content.at, content.size), content.size)};
    char *key = arena_copy(versions->arena, (const char *)hash->bytes, SHA1_SIZE);
    *map_at(&versions->objects, key, SHA1_SIZE) = object;
}

/* "HASH KIND SIZE\nBYTES\n", or "HASH missing\n". */
bool git_answer_take(struct arena *arena, struct bytes *text, struct git_answer *ret_answer)
{
    const char *end = text->size ? memchr(text->at, '\n', text->size) : NULL;
    if (!end)
        return false;
    char *line = arena_copy(arena, text->at, (size_t)(end - text->at));
    char *kind = strchrnul(line, ' '), *space = *kind ? strchr(kind + 1, ' ') : NULL;
    const char *number = space ? space + 1 : "";
    uint64_t size = 0;
    struct bytes rest = bytes_of(end + 1, text->size - (size_t)(end + 1 - text->at));
    bool is_there = space && text_take_number(&number, &size) && !*number;
    if (is_there && size >= rest.size)
        return false;
    if (*kind)
        *kind++ = '\0';
    if (is_there)
        *space = '\0';
    *ret_answer =
        (struct git_answer){line, kind, is_there ? bytes_of(rest.at, (size_t)size) : (struct bytes){0}};
    *text = is_there ? bytes_of(rest.at + size + 1, rest.size - (size_t)size - 1) : rest;
    return true;
}

static void read_answers(struct versions *versions, const struct buf *output)
{
    struct bytes text = bytes_of(output->bytes, output->size);
    struct git_answer answer;
    struct git_hash hash;
    while (git_answer_take(versions->arena, &text, &answer)) {
        if (bytes_known(answer.content) && strlen(answer.name) == SHA1_DIGITS &&
            answer.content.size <= OBJECT_LARGEST && git_hash_parse(answer.name, &hash))
            keep_object(versions, &hash, answer.kind, answer.content);
    }
}

/* Asks git for all unknown hashes in one call. */
static void fetch(struct versions *versions, const char *work_tree, const git_hashes *wanted)
{
    static const char *const command[] = {"git", "cat-file", "--batch", NULL};
    auto_buf struct buf input = {0}, output = {0};
    for (size_t i = 0; i < wanted->count; i++) {
        char text[SHA1_DIGITS + 1];
        if (object_of(versions, &wanted->at[i]))
            continue;
        git_hash_format(&wanted->at[i], text);
        buf_printf(&input, "%s\n", text);
    }
    if (input.size && versions->ask(versions->context, work_tree, command, &input, &output) == 0 &&
        output.size)
        read_answers(versions, &output);
}

/* The tree of a commit, or what a tag stands for. */
static bool follow_head(const struct object *object, const char *field, struct git_hash *ret_hash)
{
    size_t size = strlen(field);
    return object->content.size > size + SHA1_DIGITS && strncmp(object->content.at, field, size) == 0 &&
           git_hash_parse(object->content.at + size, ret_hash);
}

/* An entry of a tree: "MODE NAME\0" and twenty bytes. */
static bool find_entry(const struct object *tree, const char *name, size_t name_size,
                       struct git_hash *ret_hash)
{
    for (const char *at = tree->content.at, *end = at + tree->content.size; at < end;) {
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

/* --- paths ------------------------------------------------------------------------------------------------------- */

/* A way down from a commit to a path. */
struct descent {
    struct git_hash at; /* a tag or commit, then a tree, at last what lies at the path */
    bool is_in_tree;
    const char *rest;     /* of the path, below `at` */
    struct version *goal; /* NULL: it led nowhere */
};

typedef VEC(struct descent) descents;

static void add_descent(descents *all, const struct git_hash *commit, struct version *goal)
{
    vec_push(all, (struct descent){.at = *commit, .rest = goal->path, .goal = goal});
}

/* Goes one step: tag to commit, commit to tree, tree to entry. Returns whether the step led somewhere. */
static bool step_down(const struct versions *versions, struct descent *descent)
{
    const struct object *object = object_of(versions, &descent->at);
    if (!object)
        return false;
    if (!descent->is_in_tree && strcmp(object->kind, "tag") == 0)
        return follow_head(object, "object ", &descent->at);
    if (!descent->is_in_tree) {
        descent->is_in_tree = true;
        return strcmp(object->kind, "commit") == 0 && follow_head(object, "tree ", &descent->at);
    }
    size_t size = strcspn(descent->rest, "/");
    if (strcmp(object->kind, "tree") != 0 || !find_entry(object, descent->rest, size, &descent->at))
        return false;
    descent->rest += size + (descent->rest[size] == '/');
    return true;
}

/* Advances all descents together, so that git runs once for each level. */
static void go_down(struct versions *versions, const char *work_tree, descents *all)
{
    for (bool goes_on = true; goes_on;) {
        git_hashes wanted = {0};
        for (size_t i = 0; i < all->count; i++) {
            if (all->at[i].goal && *all->at[i].rest)
                vec_push(&wanted, all->at[i].at);
        }
        goes_on = wanted.count > 0;
        fetch(versions, work_tree, &wanted);
        vec_free(&wanted);
        vec_each (struct descent, descent, all) {
            if (descent->goal && *descent->rest && !step_down(versions, descent))
                descent->goal = NULL;
        }
    }
    for (size_t i = 0; i < all->count; i++) {
        struct version *goal = all->at[i].goal;
        struct git_hash blob = {0};
        if (!goal || goal->was_there)
            continue;
        goal->was_there =
            git_hash_of("blob", goal->content, &blob) && memcmp(&blob, &all->at[i].at, sizeof(blob)) == 0;
    }
}

/* Is the version still to be found? */
static bool is_open(const struct version *version)
{
    return bytes_known(version->content) && !version->was_there;
}

static void look_at_tips(struct versions *versions, const char *work_tree, struct version *wanted,
                         size_t count)
{
    descents all = {0};
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; is_open(&wanted[i]) && j < versions->tips.count; j++)
            add_descent(&all, &versions->tips.at[j], &wanted[i]);
    }
    go_down(versions, work_tree, &all);
    vec_free(&all);
}

/* --- history ----------------------------------------------------------------------------------------------------- */

/* Writes the tips and the paths for `--stdin`. Returns the number of paths. */
static size_t add_question(const struct versions *versions, const struct version *wanted, size_t count,
                           struct buf *input)
{
    for (size_t i = 0; i < versions->tips.count; i++) {
        char text[SHA1_DIGITS + 1];
        git_hash_format(&versions->tips.at[i], text);
        buf_printf(input, "%s\n", text);
    }
    size_t paths = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_open(&wanted[i]) && !strchr(wanted[i].path, '\n'))
            buf_printf(input, "%s%s\n", paths++ ? "" : "--\n", wanted[i].path);
    }
    return paths;
}

/*
 * Reads which commits introduced one of the contents: a line "HASH", then lines that begin with a colon and have the
 * new hash as fourth field. Only a hint: every object is verified afterwards.
 */
static void read_hints(const struct buf *output, const git_hashes *blobs, git_hashes *ret_commits)
{
    enum { NEW_AT = sizeof(":100644 100644 ") - 1 + SHA1_DIGITS + 1, MOST_COMMITS = 1000 };
    struct git_hash commit = {0}, blob;
    const char *text = buf_text(output), *end = text + output->size;
    for (const char *line = text, *line_end; line < end && ret_commits->count < MOST_COMMITS &&
                                             (line_end = memchr(line, '\n', (size_t)(end - line)));
         line = line_end + 1) {
        size_t size = (size_t)(line_end - line);
        if (size == SHA1_DIGITS && git_hash_parse(line, &commit))
            continue;
        if (*line != ':' || size < NEW_AT + SHA1_DIGITS || !git_hash_parse(line + NEW_AT, &blob))
            continue;
        for (size_t i = 0; i < blobs->count; i++) {
            if (memcmp(&blobs->at[i], &blob, sizeof(blob)) == 0) {
                vec_push(ret_commits, commit);
                break;
            }
        }
    }
}

static void read_hashes(const struct buf *output, git_hashes *ret_hashes)
{
    struct git_hash hash;
    for (size_t at = 0; at + SHA1_DIGITS < output->size; at += SHA1_DIGITS + 1) {
        if (git_hash_parse(output->bytes + at, &hash))
            vec_push(ret_hashes, hash);
    }
}

/* Marks all known commits that are reachable from the tips by their verified parents. */
static void mark_ancestors(const struct versions *versions, struct map *reached)
{
    git_hashes waiting = {0};
    for (size_t i = 0; i < versions->tips.count; i++)
        vec_push(&waiting, versions->tips.at[i]);
    while (waiting.count) {
        struct git_hash hash = waiting.at[--waiting.count];
        struct object *object = object_of(versions, &hash);
        if (!object || map_get(reached, (const char *)hash.bytes, SHA1_SIZE))
            continue;
        char *key = arena_copy(versions->arena, (const char *)hash.bytes, SHA1_SIZE);
        *map_at(reached, key, SHA1_SIZE) = object;
        const char *field = strcmp(object->kind, "tag") == 0 ? "object " : "parent ";
        const char *at = object->content.at, *end = at + object->content.size;
        for (const char *line_end; (line_end = memchr(at, '\n', (size_t)(end - at))) && line_end > at;
             at = line_end + 1) {
            if ((size_t)(line_end - at) == strlen(field) + SHA1_DIGITS &&
                strncmp(at, field, strlen(field)) == 0 && git_hash_parse(at + strlen(field), &hash))
                vec_push(&waiting, hash);
        }
    }
    vec_free(&waiting);
}

/* Keeps the hinted commits that are reachable from the tips. */
static void keep_ancestors(struct versions *versions, const char *work_tree, git_hashes *commits)
{
    static const char *const command[] = {"git",     "rev-list", "--max-count=20000", "--ignore-missing",
                                          "--stdin", NULL};
    auto_buf struct buf input = {0}, output = {0};
    git_hashes history = {0};
    struct map reached = {0};
    add_question(versions, NULL, 0, &input);
    if (versions->ask(versions->context, work_tree, command, &input, &output) == 0)
        read_hashes(&output, &history);
    fetch(versions, work_tree, &history);
    mark_ancestors(versions, &reached);
    size_t kept = 0;
    for (size_t i = 0; i < commits->count; i++) {
        if (map_get(&reached, (const char *)commits->at[i].bytes, SHA1_SIZE))
            commits->at[kept++] = commits->at[i];
    }
    commits->count = kept;
    vec_free(&history);
    map_free(&reached);
}

static void look_at_history(struct versions *versions, const char *work_tree, struct version *wanted,
                            size_t count)
{
    static const char *const command[] = {"git",
                                          "--literal-pathspecs",
                                          "log",
                                          "--format=%H",
                                          "--raw",
                                          "--no-abbrev",
                                          "--no-renames",
                                          "--no-show-signature",
                                          "--no-ext-diff",
                                          "--full-history",
                                          "-m",
                                          "--max-count=20000",
                                          "--ignore-missing",
                                          "--stdin",
                                          NULL};
    auto_buf struct buf input = {0}, output = {0};
    git_hashes blobs = {0}, commits = {0};
    descents all = {0};
    for (size_t i = 0; i < count; i++) {
        struct git_hash blob = {0};
        if (is_open(&wanted[i]) && git_hash_of("blob", wanted[i].content, &blob))
            vec_push(&blobs, blob);
    }
    if (add_question(versions, wanted, count, &input) > 0 &&
        versions->ask(versions->context, work_tree, command, &input, &output) == 0)
        read_hints(&output, &blobs, &commits);
    if (commits.count)
        keep_ancestors(versions, work_tree, &commits);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; is_open(&wanted[i]) && j < commits.count; j++)
            add_descent(&all, &commits.at[j], &wanted[i]);
    }
    go_down(versions, work_tree, &all);
    vec_free(&blobs);
    vec_free(&commits);
    vec_free(&all);
}

void versions_find(struct versions *versions, const char *work_tree, struct version *wanted, size_t count)
{
    if (!versions->ask || !versions->tips.count || !count)
        return;
    look_at_tips(versions, work_tree, wanted, count);
    look_at_history(versions, work_tree, wanted, count);
}

bool versions_commit_has(struct versions *versions, const char *work_tree, const char *commit,
                         const struct version *version)
{
    struct version goal = {.path = version->path, .content = version->content};
    struct git_hash hash;
    descents all = {0};
    if (!versions->ask || strlen(commit) != SHA1_DIGITS || !git_hash_parse(commit, &hash))
        return false;
    add_descent(&all, &hash, &goal);
    go_down(versions, work_tree, &all);
    vec_free(&all);
    return goal.was_there;
}

/* Does this commit, whose objects are verified on the way, lack the path? False where nobody can tell. */
static bool commit_lacks(struct versions *versions, const char *work_tree, const struct git_hash *commit,
                         const char *path)
{
    struct version goal = {.path = path};
    struct descent descent = {.at = *commit, .rest = path, .goal = &goal};
    bool is_known = true, goes_on = true;
    while (goes_on && *descent.rest) {
        auto_vec git_hashes wanted = {0};
        vec_push(&wanted, descent.at);
        fetch(versions, work_tree, &wanted);
        const struct object *object = object_of(versions, &descent.at);
        is_known = object != NULL && (!descent.is_in_tree || strcmp(object->kind, "tree") == 0);
        goes_on = is_known && step_down(versions, &descent);
    }
    return is_known && descent.is_in_tree && *descent.rest;
}

/* Adds the commits on which new ones are built: the last before these on every line of descent. git marks them with "-". */
static void add_bases(const struct versions *versions, const char *work_tree, const char *commit,
                      git_hashes *commits)
{
    static const char *const command[] = {
        "git", "rev-list", "--boundary", "--max-count=20000", "--ignore-missing", "--stdin", NULL};
    auto_buf struct buf input = {0}, output = {0};
    char text[SHA1_DIGITS + 1];
    buf_printf(&input, "%s\n", commit);
    vec_each (const struct git_hash, tip, &versions->tips) {
        git_hash_format(tip, text);
        buf_printf(&input, "^%s\n", text);
    }
    if (versions->ask(versions->context, work_tree, command, &input, &output) != 0)
        return;
    for (const char *line = buf_text(&output), *end; *line; line = *end ? end + 1 : end) {
        struct git_hash hash;
        end = strchrnul(line, '\n');
        if (*line == '-' && end - line == SHA1_DIGITS + 1 &&
            git_hash_parse(arena_copy(versions->arena, line + 1, SHA1_DIGITS), &hash))
            vec_push(commits, hash);
    }
}

bool versions_lack(struct versions *versions, const char *work_tree, const char *commit, const char *path)
{
    enum { BASES_MOST = 16 };
    struct git_hash hash;
    auto_vec git_hashes commits = {0};
    if (!versions->ask || !versions->tips.count || strlen(commit) != SHA1_DIGITS ||
        !git_hash_parse(commit, &hash))
        return false;
    vec_push(&commits, hash);
    add_bases(versions, work_tree, commit, &commits);
    keep_ancestors(versions, work_tree, &commits);
    for (size_t i = 0; i < commits.count && i < BASES_MOST; i++) {
        if (commit_lacks(versions, work_tree, &commits.at[i], path))
            return true;
    }
    return false;
}

void versions_free(struct versions *versions)
{
    vec_free(&versions->tips);
    vec_each (struct refs_at_start, start, &versions->starts)
        git_refs_free(&start->refs);
    vec_free(&versions->starts);
    map_free(&versions->objects);
}
