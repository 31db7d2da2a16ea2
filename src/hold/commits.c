#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/repo.h"
#include "hold/flags.h"
#include "hold/new_commits.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "policy/decide.h"

enum { MOST_COMMITS_NAMED = 10, MOST_FILES_NAMED = 3, SHORT_HASH = 10, MOST_PACKS = 1000 };

/* The repository that is looked at. */
struct repository {
    struct flags *flags;
    const char *asked_in;            /* where git is asked: the workspace */
    const char *work_tree, *git_dir; /* of a submodule, where it lies as a rule: by its name */
    const struct git_refs *before;
    struct git_refs after;
    struct new_commits found;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) packs; /* the indexes of those that came */
};

/* --- commits that change flagged files ---------------------------------------------------------------------------- */

/* What somebody must look at before a checkout brings it, the weightiest last. */
enum guarded { GUARDED_NOT, GUARDED_FLAGGED, GUARDED_FROZEN, GUARDED_RUN };

/*
 * Also what git runs and is frozen now: a later run may find it tracked, and then flagged. And what lies above such a path: a link or a file
 * there takes its place.
 */
static enum guarded guard_of(const struct flags *flags, const char *path)
{
    const struct policy *policy = flags->hold->plan->policy;
    if (flags_cause(flags, path))
        return GUARDED_RUN;
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        if (placed->rule->cause && path_is_inside(placed->path, path))
            return GUARDED_RUN;
    }
    struct path_verdict verdict = decide_path(policy, path, NULL);
    return verdict.access == ACCESS_FROZEN ? GUARDED_FROZEN
           : verdict.flagged_by            ? GUARDED_FLAGGED
                                           : GUARDED_NOT;
}

/* Returns whether the commit changes a guarded file. Names the first commits with the first of their files. */
static bool report_commit(struct flags *flags, const char *work_tree, const struct new_commit *commit,
                          size_t number)
{
    static const char *const what[] = {[GUARDED_FLAGGED] = "a commit that changes flagged files",
                                       [GUARDED_FROZEN] = "a commit that changes frozen files",
                                       [GUARDED_RUN] = "a commit that changes what git runs"};
    struct arena *arena = flags->hold->arena;
    const char *files = "";
    size_t count = 0;
    enum guarded most = GUARDED_NOT;
    for (size_t i = 0; i < commit->files.count; i++) {
        const char *file = commit->files.at[i];
        enum guarded guarded = *file ? guard_of(flags, path_join(arena, work_tree, file)) : GUARDED_NOT;
        most = guarded > most ? guarded : most;
        if (!guarded)
            continue;
        if (count++ < MOST_FILES_NAMED)
            files = arena_printf(arena, "%s%s%s", files, *files ? ", " : "", file);
    }
    const char *more =
        count > MOST_FILES_NAMED ? arena_printf(arena, " and %zu more", count - MOST_FILES_NAMED) : "";
    if (count && number < MOST_COMMITS_NAMED)
        flags_add_sighting(flags, (struct sighting){what[most],
                                                    arena_printf(arena, "%.*s (%s%s)", SHORT_HASH,
                                                                 commit->name, files, more),
                                                    "look at it before you push it or check it out"});
    return count > 0;
}

void commits_report(struct flags *flags, const char *work_tree, const struct new_commits *found)
{
    struct arena *arena = flags->hold->arena;
    size_t count = 0;
    vec_each (const struct new_commit, commit, &found->commits)
        count += report_commit(flags, work_tree, commit, count);
    if (count > MOST_COMMITS_NAMED)
        flags_add_sighting(flags, (struct sighting){"more commits that change frozen or flagged files",
                                                    arena_printf(arena, "%zu in all", count),
                                                    "`git log` shows them"});
    if (found->unchecked)
        flags_add_sighting(
            flags,
            (struct sighting){"commits that could not be checked for flagged files and damage",
                              arena_printf(arena, "%s (%s)", work_tree, found->unchecked),
                              "look through `git log --all --name-only` before you push or check out"});
}

/* --- refs that lead to something missing or damaged --------------------------------------------------------------- */

static const char leads_to_damage[] = "leads to an object that is missing or damaged";

/* Holds a file of the repository that is new. `before` is what takes its place; NULL: what lay there at the start. */
static void hold_file(const struct repository *repository, const char *name, const char *why,
                      const struct file_content *before)
{
    struct flags *flags = repository->flags;
    struct arena *arena = flags->hold->arena;
    file_contents found = {0};
    const struct file_content *past = NULL;
    content_add(arena, path_join(arena, repository->git_dir, name), &found);
    bool is_new = found.count && flags_is_new(flags, &found.at[0], &past);
    bool is_needed = strcmp(path_name(name), "HEAD") == 0 || strcmp(path_name(name), "index") == 0;
    const struct file_content *back = past && bytes_known(past->bytes) ? past : before;
    if (is_new && (back || !is_needed))
        flags_add_change(flags, (struct new_content){&found.at[0], back, .why = why, .breaks = true});
    vec_free(&found);
}

static const struct file_content *make_content(const struct repository *repository, const char *name,
                                               const char *text, size_t size)
{
    struct arena *arena = repository->flags->hold->arena;
    struct file_content *content = arena_new(arena, struct file_content);
    *content = (struct file_content){.path = path_join(arena, repository->git_dir, name),
                                     .mode = S_IFREG | 0644,
                                     .links = 1,
                                     .length = size,
                                     .bytes = bytes_of(arena_copy(arena, text, size), size)};
    return content;
}

/* A log that names a damaged commit would stop `git gc`, too. */
static void hold_log(const struct repository *repository, const char *log, const char *digits)
{
    struct arena *arena = repository->flags->hold->arena;
    file_contents found = {0};
    content_add(arena, path_join(arena, repository->git_dir, log), &found);
    bool names = found.count && (!bytes_known(found.at[0].bytes) || strstr(found.at[0].bytes.at, digits));
    vec_free(&found);
    if (names)
        hold_file(repository, log, "names a commit that is missing or damaged", NULL);
}

static void hold_ref(const struct repository *repository, const struct git_ref *ref)
{
    const struct git_ref *old = git_refs_find(repository->before, ref->name);
    struct arena *arena = repository->flags->hold->arena;
    const char *text = old ? arena_printf(arena, "%s\n", old->at.digits) : NULL;
    if (!ref->is_packed)
        hold_file(repository, ref->name, leads_to_damage,
                  text ? make_content(repository, ref->name, text, strlen(text)) : NULL);
    bool is_linked = text_starts_with(ref->name, "worktrees/");
    hold_log(repository,
             is_linked ? path_join(arena, path_parent(arena, ref->name), "logs/HEAD")
                       : arena_printf(arena, "logs/%s", ref->name),
             ref->at.digits);
    hold_log(repository, "logs/HEAD", ref->at.digits);
    /* A commit and its index name the same files. */
    hold_file(repository, is_linked ? path_join(arena, path_parent(arena, ref->name), "index") : "index",
              "may name an object that is missing or damaged", NULL);
}

/* The packed refs that lead to damage stand again where they stood, or are gone; the others stay as they are. */
static void hold_packed(const struct repository *repository, struct bytes text)
{
    auto_buf struct buf kept = {0};
    bool is_broken = false, differs = false;
    for (struct git_packed_line line; git_packed_next(&text, &line);) {
        if (line.kind == GIT_PACKED_PEELED && is_broken)
            continue; /* what the tag before it stands for */
        is_broken = line.kind == GIT_PACKED_REF && new_commits_is_broken(&repository->found, line.at.digits);
        differs |= is_broken;
        if (!is_broken) {
            buf_add(&kept, line.text.at, line.text.size);
            buf_add_char(&kept, '\n');
            continue;
        }
        const char *name = arena_copy(repository->flags->hold->arena, line.name.at, line.name.size);
        const struct git_ref *old = git_refs_find(repository->before, name);
        if (old)
            buf_printf(&kept, "%s %s\n", old->at.digits, name);
    }
    if (differs)
        hold_file(repository, "packed-refs", leads_to_damage,
                  make_content(repository, "packed-refs", buf_text(&kept), kept.size));
}

static void hold_broken(const struct repository *repository)
{
    struct arena *arena = repository->flags->hold->arena;
    file_contents packed = {0};
    vec_each (const struct git_ref, ref, &repository->after.list) {
        if (new_commits_is_broken(&repository->found, ref->at.digits))
            hold_ref(repository, ref);
    }
    content_add(arena, path_join(arena, repository->git_dir, "packed-refs"), &packed);
    if (packed.count && bytes_known(packed.at[0].bytes))
        hold_packed(repository, packed.at[0].bytes);
    vec_free(&packed);
    for (size_t i = 0; i < repository->found.damaged.count; i++)
        hold_file(repository, arena_printf(arena, "objects/%s", repository->found.damaged.at[i]),
                  "is damaged", NULL);
}

/* --- a repository ------------------------------------------------------------------------------------------------- */

static void find_new_packs(struct repository *repository)
{
    struct arena *arena = repository->flags->hold->arena;
    auto_fd int fd =
        open_absolute(path_join(arena, repository->git_dir, "objects/pack"), O_RDONLY | O_DIRECTORY);
    auto_dir DIR *list = fd < 0 ? NULL : directories_list(fd);
    int trouble = 0;
    for (const struct dirent *entry;
         list && repository->packs.count < MOST_PACKS && (entry = directories_next(list, &trouble));) {
        struct stat status;
        bool is_index = text_starts_with(entry->d_name, "pack-") && text_ends_with(entry->d_name, ".idx") &&
                        !strpbrk(entry->d_name, " \n\"'");
        if (is_index && fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            flags_is_since(repository->flags, status.st_ctim))
            vec_push(&repository->packs, arena_str(arena, entry->d_name));
    }
}

static void look(struct repository *repository)
{
    const struct timespec always = {.tv_sec = INT64_MAX};
    struct flags *flags = repository->flags;
    git_refs_read(repository->git_dir, always, flags->hold->arena, &repository->after);
    find_new_packs(repository);
    struct new_commits_question question = {
        .arena = flags->hold->arena,
        .ask = flags->versions.ask,
        .context = flags->versions.context,
        .work_tree = repository->asked_in,
        .git_dir = repository->asked_in == repository->work_tree ? NULL : repository->git_dir,
        .before = repository->before,
        .after = &repository->after,
        .packs = repository->packs.at,
        .pack_count = repository->packs.count};
    new_commits_find(&question, &repository->found);
    commits_report(flags, repository->work_tree, &repository->found);
    if (repository->found.broken.count)
        hold_broken(repository);
    new_commits_free(&repository->found);
    git_refs_free(&repository->after);
    vec_free(&repository->packs);
}

void commits_look(struct flags *flags)
{
    const struct policy *policy = flags->hold->plan->policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        for (size_t i = 0; i < workspace->git.dirs.count; i++) {
            const char *git_dir = workspace->git.dirs.at[i];
            const char *module = i ? git_module_name(workspace->git.dirs.at[0], git_dir) : NULL;
            struct repository repository = {
                .flags = flags,
                .asked_in = workspace->path,
                .work_tree =
                    module ? path_join(flags->hold->arena, workspace->path, module) : workspace->path,
                .git_dir = git_dir,
                .before = versions_refs(&flags->versions, git_dir)};
            if (repository.before && !hold_keeps_aside(flags->hold, git_dir))
                look(&repository);
        }
    }
}
