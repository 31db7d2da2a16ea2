#include "hold/flags.h"

#include <string.h>

#include "base/path.h"

enum { MOST_TIPS = 500, MOST_COMMITS_NAMED = 10, MOST_FILES_NAMED = 3, SHORT_HASH = 10 };

/* The commit whose files are being read. */
struct touching {
    struct flags *flags;
    const char *work_tree;
    const char *commit;
    const char *files; /* that are flagged, as far as they are named */
    size_t file_count, commit_count;
};

static bool has_hash(const git_hashes *hashes, const struct git_hash *wanted)
{
    for (size_t i = 0; i < hashes->count; i++) {
        if (memcmp(&hashes->at[i], wanted, sizeof(*wanted)) == 0)
            return true;
    }
    return false;
}

/* Asks for commits that branches, tags and the stash reach now and did not reach before. */
static bool add_question(const struct flags *flags, const char *git_dir, struct buf *input)
{
    const struct timespec always = {.tv_sec = INT64_MAX};
    git_hashes now = {0};
    bool has_new = false;
    char text[SHA1_DIGITS + 1];
    git_refs_before(git_dir, always, MOST_TIPS, &now);
    for (size_t i = 0; i < now.count; i++) {
        if (has_hash(&flags->versions.tips, &now.at[i]))
            continue;
        git_hash_format(&now.at[i], text);
        buf_printf(input, "%s\n", text);
        has_new = true;
    }
    for (size_t i = 0; i < flags->versions.tips.count; i++) {
        git_hash_format(&flags->versions.tips.at[i], text);
        buf_printf(input, "^%s\n", text);
    }
    vec_free(&now);
    return has_new;
}

static void end_commit(struct touching *touching)
{
    struct arena *arena = touching->flags->hold->arena;
    if (touching->file_count && touching->commit_count++ < MOST_COMMITS_NAMED) {
        const char *more = touching->file_count > MOST_FILES_NAMED
                               ? arena_printf(arena, " and %zu more", touching->file_count - MOST_FILES_NAMED)
                               : "";
        flags_add_sighting(touching->flags,
                           (struct sighting){"a commit that changes flagged files",
                                             arena_printf(arena, "%.*s (%s%s)", SHORT_HASH, touching->commit,
                                                          touching->files, more),
                                             "look at it before you push it or check it out"});
    }
    touching->files = "";
    touching->file_count = 0;
}

static void add_file(struct touching *touching, const char *file)
{
    struct arena *arena = touching->flags->hold->arena;
    if (!*file || !flags_is_flagged(touching->flags, path_join(arena, touching->work_tree, file)))
        return;
    if (touching->file_count++ < MOST_FILES_NAMED)
        touching->files = arena_printf(arena, "%s%s%s", touching->files, *touching->files ? ", " : "", file);
}

/* "COMMIT NUL newline FILE NUL FILE NUL COMMIT NUL …", the last NUL perhaps missing. */
static void read_answer(struct touching *touching, const struct buf *output)
{
    for (size_t at = 0, size; at < output->size; at += size + 1) {
        const char *word = output->bytes + at, *end = memchr(word, '\0', output->size - at);
        size = end ? (size_t)(end - word) : output->size - at;
        const char *copy = arena_copy(touching->flags->hold->arena, word, size);
        bool is_last = at + size + 1 >= output->size;
        bool is_commit = size == SHA1_DIGITS && (is_last || word[size + 1] == '\n');
        if (is_commit) {
            end_commit(touching);
            touching->commit = copy;
        } else {
            add_file(touching, copy + (*copy == '\n'));
        }
    }
    end_commit(touching);
}

void commits_look(struct flags *flags)
{
    static const char *const command[] = {
        "log",           "--format=%H",         "--name-only",      "-z",      "-c", "--no-renames",
        "--no-ext-diff", "--no-show-signature", "--max-count=1000", "--stdin", NULL};
    const struct policy *policy = flags->hold->plan->policy;
    for (size_t i = 0; flags->versions.ask && i < policy->workspaces.count; i++) {
        const struct workspace *workspace = &policy->workspaces.at[i];
        struct touching touching = {flags, workspace->path, .commit = "", .files = ""};
        auto_buf struct buf input = {0}, output = {0};
        if (workspace->git.dirs.count && add_question(flags, workspace->git.dirs.at[0], &input) &&
            flags->versions.ask(flags->versions.context, workspace->path, command, &input, &output) == 0)
            read_answer(&touching, &output);
        if (touching.commit_count > MOST_COMMITS_NAMED)
            flags_add_sighting(flags, (struct sighting){"more commits that change flagged files",
                                                        arena_printf(flags->hold->arena, "%zu in all",
                                                                     touching.commit_count),
                                                        "`git log` shows them"});
    }
}
