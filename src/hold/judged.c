/*
 * A git directory at the end of a run: whatever is new in it, and is not inert data in its valid form, is held aside. git/judge.h says
 * what is inert; this file decides what counts as new, and what is held together.
 *
 *   - A file that was there at the start, byte for byte, stays, whatever it is.
 *   - Files that were not changed since the start are not read, and directories of objects in which nothing was made or replaced
 *     are not even listed: what an object holds is git fsck's business.
 *   - A commit-graph is held unless git finds in it what the commits say themselves.
 *   - Files of one unfinished operation (a rebase) are held together, as the directory that they lie in.
 *   - A file that is held only because it has a second name (a hard link) is replaced by a copy.
 *   - If HEAD names a branch that is held and was not there before, HEAD is held too, so that it is back where it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/config.h"
#include "git/judge.h"
#include "hold/flags.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { DEEPEST = 64 };

/* An entry on its way to the judge. */
struct found {
    int parent_fd;
    const char *name, *path;
    const char *inner; /* below the git directory */
    struct stat status;
};

struct judging {
    struct flags *flags;
    const char *git_dir;
    size_t hash_size;
    bool all_are_new;
    bool is_bare; /* files that are not git's may lie in it */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct found) graphs; /* files of commit-graphs that may be new */
};

/* --- what is new ------------------------------------------------------------------------------------------------------------- */

static struct file_content content_of(const struct found *found)
{
    return (struct file_content){.path = found->path,
                                 .mode = found->status.st_mode,
                                 .links = found->status.st_nlink,
                                 .device = found->status.st_dev,
                                 .inode = found->status.st_ino,
                                 .changed = found->status.st_ctim,
                                 .length = (uint64_t)found->status.st_size};
}

static enum past_answer past_of(struct judging *judging, const struct found *found)
{
    struct file_content now = content_of(found), before;
    return past_find(&judging->flags->past, judging->flags->hold->arena, &now, &before);
}

/* Was nothing at this path at the start, as far as that is known? */
static bool was_missing(struct judging *judging, const struct found *found)
{
    return past_of(judging, found) == PAST_NOTHING;
}

/* Could it be new? Asked before anything is read. */
static bool may_be_new(struct judging *judging, const struct found *found)
{
    const struct file_content now = content_of(found);
    if (judging->all_are_new || flags_is_since(judging->flags, now.changed))
        return true;
    enum past_answer answer = past_of(judging, found);
    return answer == PAST_NOTHING || (answer == PAST_UNKNOWN && flags_came_since(judging->flags, &now, NULL));
}

/* --- what is held ------------------------------------------------------------------------------------------------------------ */

/* Adds it if it is new indeed. `own`: what takes its place; NULL: what was there before. */
static void add(struct judging *judging, const struct found *found, const char *why, struct bytes own)
{
    struct flags *flags = judging->flags;
    const struct file_content *before = NULL;
    struct file_content *now = arena_new(flags->hold->arena, struct file_content);
    *now = content_of(found);
    if (!S_ISDIR(now->mode)) {
        file_contents contents = {0};
        content_add_all(flags->hold->arena, found->path, &contents);
        if (contents.trouble)
            flags_add_unsearched(flags, found->path);
        if (contents.count)
            *now = contents.at[0];
        vec_free(&contents);
    }
    if (!flags_is_new(flags, now, &before) && !judging->all_are_new)
        return;
    if (bytes_known(own)) {
        struct file_content *copy = arena_new(flags->hold->arena, struct file_content);
        *copy = *now;
        copy->bytes = bytes_of(arena_copy(flags->hold->arena, own.at, own.size), own.size);
        before = copy;
    }
    flags_add_change(flags, (struct new_content){now, before, .why = why});
}

/* Is something in the directory not as it was at the start? Shows what git would go on with, where there is such a file. */
static bool is_changed(struct judging *judging, const struct found *found, struct bytes *ret_shown)
{
    file_contents contents = {0};
    bool is_new = false;
    content_add_all(judging->flags->hold->arena, found->path, &contents);
    is_new |= contents.trouble != 0;
    vec_each (const struct file_content, now, &contents) {
        const struct file_content *before;
        is_new |= flags_is_new(judging->flags, now, &before);
        if (strcmp(path_name(now->path), "git-rebase-todo") == 0 || strcmp(path_name(now->path), "todo") == 0)
            *ret_shown = now->bytes;
    }
    is_new |= contents.count == 0 && flags_is_since(judging->flags, found->status.st_ctim);
    vec_free(&contents);
    return is_new || judging->all_are_new;
}

/* Holds the directory of an unfinished operation as a whole. */
static void judge_unfinished(struct judging *judging, const struct found *found, const char *what)
{
    struct arena *arena = judging->flags->hold->arena;
    struct file_content *now = arena_new(arena, struct file_content);
    *now = content_of(found);
    if (is_changed(judging, found, &now->bytes))
        flags_add_change(
            judging->flags,
            (struct new_content){
                now, NULL,
                .why = arena_printf(
                    arena,
                    "is %s, and git would continue with what its files say; `bawn held --keep %s %s` brings "
                    "it back after a look",
                    what, judging->flags->hold->session->name, found->path)});
}

/* --- the walk ---------------------------------------------------------------------------------------------------------------- */

/* Reads as much as the judge wants. False where the machine failed, which is said. */
static bool read_wanted(struct judging *judging, const struct found *found, struct buf *ret_bytes)
{
    size_t wanted = git_judge_wants(found->inner);
    if (!S_ISREG(found->status.st_mode) || !wanted)
        return true;
    auto_fd int fd = openat(found->parent_fd, found->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_read = fd >= 0 && buf_read(ret_bytes, fd, wanted) == 0;
    if (!is_read && errno_is_of_machine(errno))
        flags_add_unsearched(judging->flags, found->path);
    return is_read;
}

static void judge_entry(struct judging *judging, const struct found *found)
{
    auto_buf struct buf bytes = {0};
    struct git_entry entry = {.path = found->inner,
                              .mode = found->status.st_mode,
                              .links = found->status.st_nlink,
                              .length = (uint64_t)found->status.st_size,
                              .hash_size = judging->hash_size};
    if (read_wanted(judging, found, &bytes))
        entry.bytes = bytes_of(buf_text(&bytes), bytes.size);
    const char *why = git_judge(&entry);
    if (!why) {
        if (git_is_lock(found->inner))
            flags_add_sighting(
                judging->flags,
                (struct sighting){"a git lock file", found->path,
                                  "it blocks git on your machine: remove it if no git is running"});
        else if (git_is_commit_graph(found->inner) && !judging->all_are_new)
            vec_push(&judging->graphs, *found);
        return;
    }
    struct bytes own = {0};
    if (why == git_is_second_name) {
        entry.links = 1;
        if (!git_judge(&entry) && bytes.size == entry.length)
            own = entry.bytes;
    }
    if (!(judging->is_bare && why == git_is_unknown))
        add(judging, found, why, own);
}

static void walk(struct judging *judging, int directory_fd, const char *inner, unsigned depth);

/*
 * Objects are added and never changed: where nothing was made or replaced in a directory of them, there is nothing to look at. What
 * lies in objects/info is no object.
 */
static bool is_quiet(struct judging *judging, const struct found *found)
{
    return text_starts_with(found->inner, "objects/") && !text_starts_with(found->inner, "objects/info") &&
           !may_be_new(judging, found);
}

static void descend(struct judging *judging, const struct found *found, unsigned depth)
{
    int fd = depth < DEEPEST ? directories_open_up(found->parent_fd, found->name, DIRECTORY_LOOKS) : -1;
    if (fd >= 0)
        walk(judging, fd, found->inner, depth + 1);
    else
        flags_add_unsearched(judging->flags, found->path);
}

static void judge_directory(struct judging *judging, const struct found *found, unsigned depth)
{
    const char *what = NULL;
    if (is_quiet(judging, found) || git_is_control(found->inner) ||
        gitdir_is_part(judging->flags, found->inner, found->path))
        return;
    if (git_unfinished_size(found->inner, &what)) {
        judge_unfinished(judging, found, what);
        return;
    }
    const char *why = git_judge(&(struct git_entry){.path = found->inner, .mode = found->status.st_mode});
    bool is_held = why && (judging->all_are_new || was_missing(judging, found));
    if (judging->is_bare && why == git_is_unknown)
        return;
    /* A directory in the place of a file is new, too: the file is brought back. */
    const struct file_content *before = NULL;
    struct file_content now = content_of(found);
    is_held |= why && flags_is_new(judging->flags, &now, &before) && (!before || !S_ISDIR(before->mode));
    if (is_held)
        add(judging, found, why, (struct bytes){0});
    else
        descend(judging, found, depth);
}

/* The control files of a repository have rules of their own (nested.c); only what they must not be is judged here. */
static bool is_judged_elsewhere(const struct found *found)
{
    return S_ISREG(found->status.st_mode) &&
           (git_is_control(found->inner) || strcmp(found->inner, "commondir") == 0);
}

static void walk(struct judging *judging, int directory_fd, const char *inner, unsigned depth)
{
    struct arena *arena = judging->flags->hold->arena;
    auto_dir DIR *directory = directories_take(directory_fd);
    int trouble = directory ? 0 : errno;
    for (const struct dirent *entry; directory && (entry = directories_next(directory, &trouble));) {
        struct found found = {.parent_fd = dirfd(directory), .name = entry->d_name};
        if (fstatat(found.parent_fd, found.name, &found.status, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* gone: the host's own git works on */
        found.inner = *inner ? path_join(arena, inner, entry->d_name) : arena_str(arena, entry->d_name);
        found.path = path_join(arena, judging->git_dir, found.inner);
        found.name = path_name(found.path);
        if (S_ISDIR(found.status.st_mode))
            judge_directory(judging, &found, depth);
        else if (may_be_new(judging, &found) && !is_judged_elsewhere(&found) &&
                 !gitdir_is_sound_link(judging->flags, judging->git_dir, found.inner))
            judge_entry(judging, &found);
    }
    if (trouble)
        flags_add_unsearched(judging->flags,
                             *inner ? path_join(arena, judging->git_dir, inner) : judging->git_dir);
}

/* --- commit-graphs ----------------------------------------------------------------------------------------------------------- */

/* Does git, in a sandbox, find in the commit-graph what the commits say? It looks at a chain of them only if there is no single one. */
static bool are_true(const struct judging *judging)
{
    enum { MOST_ASKED = 16 }; /* each costs a sandbox, and a command can make many repositories */
    struct flags *flags = judging->flags;
    const struct versions *versions = &flags->versions;
    const char *const command[] = {"git", "--git-dir", judging->git_dir, "commit-graph", "verify", NULL};
    const char *work_tree = NULL;
    struct buf nothing = {0};
    auto_buf struct buf output = {0};
    vec_each (const struct workspace, workspace, &flags->hold->plan->policy->workspaces) {
        if (path_is_beneath(judging->git_dir, workspace->path))
            work_tree = workspace->path;
    }
    struct stat status;
    const char *single = path_join(flags->hold->arena, judging->git_dir, "objects/info/commit-graph");
    bool is_single = lstat(single, &status) == 0, is_chain = false;
    vec_each (const struct found, found, &judging->graphs)
        is_chain |= strcmp(found->path, single) != 0;
    return versions->ask && work_tree && !(is_single && is_chain) && flags->graphs_asked++ < MOST_ASKED &&
           versions->ask(versions->context, work_tree, command, &nothing, &output) == 0;
}

static void judge_graphs(struct judging *judging)
{
    if (judging->graphs.count && !are_true(judging)) {
        vec_each (const struct found, found, &judging->graphs)
            add(judging, found,
                "tells git things about commits that the commits do not say, or cannot be verified",
                (struct bytes){0});
    }
    vec_free(&judging->graphs);
}

/* --- HEAD -------------------------------------------------------------------------------------------------------------------- */

/* HEAD as it is now; false where there is none that could be read. */
static bool read_head(struct flags *flags, const char *git_dir, struct file_content *ret_head)
{
    file_contents contents = {0};
    content_add(flags->hold->arena, path_join(flags->hold->arena, git_dir, "HEAD"), &contents);
    bool is_read = contents.count == 1 && bytes_known(contents.at[0].bytes);
    if (is_read)
        *ret_head = contents.at[0];
    vec_free(&contents);
    return is_read;
}

static bool is_held_for_good(const struct flags *flags, const char *path)
{
    vec_each (const struct new_content, change, &flags->changes) {
        if (strcmp(change->now->path, path) == 0)
            return !change->before;
    }
    return false;
}

static void hold_head_with_branch(struct flags *flags, const char *git_dir)
{
    struct arena *arena = flags->hold->arena;
    struct file_content head;
    struct bytes ref;
    const struct file_content *before = NULL;
    if (!read_head(flags, git_dir, &head) || !S_ISREG(head.mode) || !git_symbolic_parse(head.bytes, &ref) ||
        !is_held_for_good(flags, path_join(arena, git_dir, arena_copy(arena, ref.at, ref.size))) ||
        !flags_is_new(flags, &head, &before) || !before)
        return;
    struct file_content *now = arena_new(arena, struct file_content);
    *now = head;
    flags_add_change(flags, (struct new_content){now, before, .why = "names a branch that is set aside"});
}

/*
 * Without its HEAD a git directory is none, and git takes the next one around it: one that the command has made. It is brought
 * back at once.
 */
void judged_bring_head_back(struct flags *flags, const char *git_dir)
{
    struct arena *arena = flags->hold->arena;
    struct file_content now = {.path = path_join(arena, git_dir, "HEAD")}, before;
    struct stat status;
    struct err err = {0};
    if (lstat(now.path, &status) == 0 || errno != ENOENT ||
        lstat(path_join(arena, git_dir, "objects"), &status) < 0)
        return;
    const struct file_content *known = content_find(&flags->before, now.path);
    if (!known && past_find(&flags->past, arena, &now, &before) == PAST_SOMETHING)
        known = &before;
    if (known && S_ISREG(known->mode) && content_restore(known, &err) == 0)
        flags_add_sighting(flags, (struct sighting){"a repository without its HEAD", git_dir,
                                                    "HEAD is back as it was at the start"});
    else
        flags_add_sighting(flags, (struct sighting){"a repository without its HEAD", git_dir,
                                                    "git on your machine would use a repository above it"});
}

/* --- all of it --------------------------------------------------------------------------------------------------------------- */

/* Where the repository has hashes of the longer kind, its configuration says so. */
static size_t hash_size_of(struct flags *flags, const char *git_dir)
{
    struct arena *arena = flags->hold->arena;
    size_t size = 20;
    git_setting_list settings = {0};
    file_contents config = {0};
    content_add(arena, path_join(arena, git_dir, "config"), &config);
    if (config.count != 1 || !bytes_known(config.at[0].bytes) ||
        git_setting_list_read(arena, config.at[0].bytes.at, config.at[0].bytes.size, &settings) < 0)
        size = 0;
    vec_each (const struct git_setting, setting, &settings) {
        if (strcmp(setting->section, "extensions") == 0 && strcmp(setting->name, "objectformat") == 0)
            size = strcmp(setting->value, "sha256") == 0 ? 32 : 20;
    }
    vec_free(&settings);
    vec_free(&config);
    return size;
}

void judged_look(struct flags *flags, const char *git_dir, const struct judged_as *as)
{
    struct judging judging = {.flags = flags,
                              .git_dir = git_dir,
                              .hash_size = hash_size_of(flags, as->config_dir),
                              .all_are_new = as->all_are_new,
                              .is_bare = as->is_bare};
    int fd = open_absolute(git_dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        if (errno_is_of_machine(errno))
            flags_add_unsearched(flags, git_dir);
        return;
    }
    walk(&judging, fd, "", 0);
    judge_graphs(&judging);
    hold_head_with_branch(flags, git_dir);
}
