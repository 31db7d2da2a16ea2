/*
 * Theory of operation
 *
 * git has many ways to run, follow and write, and gets more. So this is no list of what git would run but one of what it merely reads.
 * A path is looked up by its name; the name has a form, and the content must have that form to its last byte. Three answers:
 *
 *   inert     its name is known, it is a regular file (or a directory where git has one), its content has the form
 *   live      its name is known, and git follows or obeys it: alternates, attributes, an unfinished rebase
 *   unknown   everything else
 *
 * Invariants.
 *
 *   1. Nothing but a regular file or a directory is inert, whatever it leads to. A file with a second name is inert only among
 *      the objects, where git itself makes such files: elsewhere git writes into files that it finds.
 *   2. A form is checked to the end of the content, or the content is judged by its first bytes alone (objects, packs). A file longer
 *      than what the judge reads is never inert where the form goes to the end.
 *   3. The answer depends on the entry alone. Whether something was there before is the caller's question.
 */
#include "git/judge.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/text.h"
#include "git/index.h"
#include "git/judge_form.h"
#include "git/refs.h"
#include "git/repo.h"

enum {
    TEXT_MOST = 16 * 1024 * 1024, /* with `commit --verbose` a message has the whole difference in it */
    SMALL_MOST = 1024 * 1024,
    LISTS_MOST = GIT_PACKED_REFS_MOST,
    INDEX_MOST = 256 * 1024 * 1024,
};

static const char unreadable[] = "is not in the form that git writes";
const char git_is_unknown[] = "is not a file that git writes, as far as bawn knows";
const char git_is_second_name[] = "has a second name (a hard link), by which it could be changed";
static const char no_ref[] = "is not a valid name of a ref";
static const char controls[] = "makes git run or follow something";

static bool is_named(const char *path, const char *name)
{
    return strcmp(path, name) == 0;
}

/* The part of a path after "NAME/"; NULL where it does not begin so. */
static const char *after(const char *path, const char *name)
{
    size_t size = strlen(name);
    return strncmp(path, name, size) == 0 && path[size] == '/' ? path + size + 1 : NULL;
}

/* --- names ------------------------------------------------------------------------------------------------------------------- */

/* Files of which the whole content has a form. */
struct known {
    const char *name;
    git_form *form;
    size_t most;
};

static const struct known files[] = {
    {"HEAD", git_form_head, GIT_REF_LARGEST},
    {"AUTO_MERGE", git_form_position, GIT_REF_LARGEST},
    {"MERGE_AUTOSTASH", git_form_position, GIT_REF_LARGEST},
    {"NOTES_MERGE_PARTIAL", git_form_pseudo_ref, GIT_REF_LARGEST},
    {"NOTES_MERGE_REF", git_form_pseudo_ref, GIT_REF_LARGEST},
    {"FETCH_HEAD", git_form_fetched, LISTS_MOST},
    {"MERGE_MODE", git_form_merge_mode, GIT_REF_LARGEST},
    {"MERGE_RR", git_form_conflicts, LISTS_MOST},
    {"packed-refs", git_form_packed_refs, LISTS_MOST},
    {"shallow", git_form_positions, LISTS_MOST},
    {"refs/heads", git_form_no_refs, GIT_REF_LARGEST},
    {"info/refs", git_form_fetched, LISTS_MOST},
    {"info/exclude", git_form_text, SMALL_MOST},
    {"description", git_form_text, SMALL_MOST},
    {"locked", git_form_text, SMALL_MOST}, /* of a linked worktree */
    {"gc.pid", git_form_text, GIT_REF_LARGEST},
    {"gc.log", git_form_text, SMALL_MOST},
    {"EDIT_DESCRIPTION", git_form_text, TEXT_MOST},
    {"ADD_EDIT.patch", git_form_text, TEXT_MOST},
    {"addp-hunk-edit.diff", git_form_text, TEXT_MOST},
    {"opencode", git_form_position, GIT_REF_LARGEST}, /* an agent that notes the first commit there */
};

/* git takes names of capitals that end so for refs. */
static bool is_pseudo_ref(const char *path)
{
    return text_ends_with(path, "_HEAD") && path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

/* COMMIT_EDITMSG, MERGE_MSG, SQUASH_MSG, TAG_EDITMSG, GITGUI_MSG … */
static bool is_message(const char *path)
{
    return (text_ends_with(path, "_EDITMSG") || text_ends_with(path, "_MSG")) &&
           path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

/*
 * The name and form of a file, where the whole of its content has one; NULL otherwise. `ret_own` has room for
 * one that is not a constant.
 */
static const struct known *known_file(const char *path, struct known *ret_own)
{
    for (size_t i = 0; i < array_len(files); i++) {
        if (is_named(path, files[i].name))
            return &files[i];
    }
    *ret_own = is_pseudo_ref(path)   ? (struct known){path, git_form_pseudo_ref, GIT_REF_LARGEST}
               : is_message(path)    ? (struct known){path, git_form_text, TEXT_MOST}
               : after(path, "refs") ? (struct known){path, git_form_ref, GIT_REF_LARGEST}
               : after(path, "logs") ? (struct known){path, git_form_reflog, LISTS_MOST}
                                     : (struct known){0};
    return ret_own->form ? ret_own : NULL;
}

static bool is_hex(const char *text)
{
    return *text && text[strspn(text, "0123456789abcdef")] == '\0';
}

static bool is_index(const char *path)
{
    static const char shared[] = "sharedindex.";
    return is_named(path, "index") || (text_starts_with(path, shared) && is_hex(path + strlen(shared)));
}

/* Left behind by a git that was killed, and never read. */
static bool is_temporary(const char *path)
{
    static const char *const starts[] = {"sharedindex_", "index.stash.", "next-index-"};
    for (size_t i = 0; i < array_len(starts) && !strchr(path, '/'); i++) {
        if (text_starts_with(path, starts[i]))
            return true;
    }
    return false;
}

/* Content that is copied and compared, and never looked into: recorded resolutions, large files beside git, notes in a merge. */
static bool is_opaque(const char *path)
{
    static const char *const trees[] = {"rr-cache",  "lfs/objects",          "lfs/tmp", "lfs/incomplete",
                                        "lfs/cache", "NOTES_MERGE_WORKTREE", "lfs/logs"};
    for (size_t i = 0; i < array_len(trees); i++) {
        if (after(path, trees[i]))
            return true;
    }
    return after(path, "fsmonitor--daemon/cookies") != NULL;
}

/* The refs in tables, where the repository keeps them so. */
static bool is_table(const char *path)
{
    const char *name = after(path, "reftable");
    return name && !strchr(name, '/') && text_ends_with(name, ".ref") && text_starts_with(name, "0x");
}

static bool is_table_list(const char *path)
{
    return is_named(path, "reftable/tables.list");
}

static bool is_control(const char *path)
{
    static const char *const trees[] = {"hooks", "remotes", "branches"};
    for (size_t i = 0; i < array_len(trees); i++) {
        if (is_named(path, trees[i]) || after(path, trees[i]))
            return true;
    }
    return is_named(path, "config") || is_named(path, "config.worktree");
}

size_t git_unfinished_size(const char *path, const char **ret_what)
{
    static const struct {
        const char *name, *what;
    } states[] = {
        {"rebase-merge", "a rebase that is not finished"},
        {"rebase-apply", "a rebase or `git am` that is not finished"},
        {"sequencer", "a cherry-pick or revert of several commits that is not finished"},
    };
    for (size_t i = 0; i < array_len(states); i++) {
        if (is_named(path, states[i].name) || after(path, states[i].name)) {
            *ret_what = states[i].what;
            return strlen(states[i].name);
        }
    }
    return 0;
}

/* Why git would follow or obey a file of this name; NULL: it would not. */
static const char *why_live(const char *path)
{
    static const struct {
        const char *name, *why;
    } live[] = {
        {"commondir", "makes git work with another git directory"},
        {"gitdir", "tells git where a linked worktree lies"},
        {"info/attributes", "tells git which files to run filters and drivers for"},
        {"info/sparse-checkout", "tells git which files to remove from the work tree, and which to write"},
        {"info/grafts", "gives commits other parents"},
    };
    for (size_t i = 0; i < array_len(live); i++) {
        if (is_named(path, live[i].name))
            return live[i].why;
    }
    if (text_starts_with(path, "BISECT_") && !is_pseudo_ref(path))
        return "belongs to a bisection that is not finished: git reads its next steps from there";
    return git_unfinished_size(path, &(const char *){NULL})
               ? "belongs to an operation that is not finished: git reads its next steps from there"
               : NULL;
}

/* --- paths ------------------------------------------------------------------------------------------------------------------- */

/* The part of a path that is in the git directory itself, or in that of a linked worktree or a submodule in it. */
static const char *own_part(const char *path)
{
    path += git_module_size(path);
    const char *worktree = after(path, "worktrees"), *slash = worktree ? strchr(worktree, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

static bool is_lock_path(const char *path)
{
    char stem[GIT_REF_LARGEST];
    struct known own;
    size_t size = strlen(path);
    if (!text_ends_with(path, ".lock") || size >= sizeof(stem))
        return false;
    memcpy(stem, path, size - strlen(".lock"));
    stem[size - strlen(".lock")] = '\0';
    const char *object = after(stem, "objects");
    return known_file(stem, &own) || is_index(stem) || is_control(stem) || why_live(stem) ||
           is_table_list(stem) || is_temporary(stem) ||
           (object && (git_store_wants(object) || is_named(object, "maintenance")));
}

bool git_is_control(const char *path)
{
    return is_control(own_part(path));
}

bool git_is_commit_graph(const char *path)
{
    const char *info = after(own_part(path), "objects/info");
    return info && (is_named(info, "commit-graph") || after(info, "commit-graphs"));
}

bool git_is_multi_pack_index(const char *path)
{
    const char *pack = after(own_part(path), "objects/pack");
    return pack && text_starts_with(pack, "multi-pack-index");
}

bool git_is_lock(const char *path)
{
    return is_lock_path(own_part(path));
}

size_t git_judge_wants(const char *path)
{
    struct known own;
    path = own_part(path);
    const char *object = after(path, "objects");
    const struct known *known = known_file(path, &own);
    if (object)
        return git_store_wants(object);
    if (is_lock_path(path))
        return 0;
    return known                 ? known->most
           : is_index(path)      ? (size_t)INDEX_MOST
           : is_table(path)      ? strlen("REFT")
           : is_table_list(path) ? (size_t)SMALL_MOST
                                 : 0;
}

/* --- the judgment ------------------------------------------------------------------------------------------------------------ */

static const char *why_kind(mode_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode) ? NULL
           : S_ISLNK(mode)                ? "is a symbolic link in a git directory"
           : S_ISFIFO(mode)               ? "is a named pipe in a git directory, at which git would wait"
           : S_ISSOCK(mode)               ? "is a socket in a git directory"
                                          : "is a device in a git directory";
}

/* Directories in which git has files, of any depth. */
static bool is_directory_known(const char *path)
{
    static const char *const trees[] = {"refs", "logs", "lfs", "rr-cache", "NOTES_MERGE_WORKTREE", "modules"};
    static const char *const alone[] = {
        "objects", "info", "worktrees", "reftable", "fsmonitor--daemon", "fsmonitor--daemon/cookies"};
    const char *object = after(path, "objects");
    if (object)
        return git_store_has_directory(object);
    for (size_t i = 0; i < array_len(trees); i++) {
        if (is_named(path, trees[i]) || after(path, trees[i]))
            return true;
    }
    for (size_t i = 0; i < array_len(alone); i++) {
        if (is_named(path, alone[i]))
            return true;
    }
    const char *worktree = after(path, "worktrees");
    return worktree && !strchr(worktree, '/');
}

static const char *judge_directory(const char *path)
{
    const char *why = why_live(path);
    return why ? why : is_control(path) ? controls : is_directory_known(path) ? NULL : git_is_unknown;
}

static bool is_whole(const struct git_entry *entry, size_t most)
{
    return bytes_known(entry->bytes) && entry->length <= most && entry->bytes.size == entry->length;
}

/* A hash of a size that is not the repository's own would be read as something else. */
static bool is_sound_index(const struct git_entry *entry)
{
    const unsigned char *bytes = (const unsigned char *)entry->bytes.at;
    return is_whole(entry, INDEX_MOST) &&
           (entry->hash_size ? git_index_is_sound(bytes, entry->bytes.size, entry->hash_size)
                             : git_index_check(bytes, entry->bytes.size) != 0);
}

static const char *judge_known(const struct git_entry *entry, const char *path, const struct known *known)
{
    const char *log = after(path, "logs"), *ref = after(path, "refs") ? path : NULL;
    if (log && after(log, "refs"))
        ref = log;
    else if (log && !is_named(log, "HEAD") && !is_pseudo_ref(log))
        return no_ref;
    if (ref && !git_ref_is_sound(ref))
        return no_ref;
    return is_whole(entry, known->most) && known->form(entry->bytes) ? NULL : unreadable;
}

static const char *judge_file(const struct git_entry *entry, const char *path)
{
    struct known own;
    const struct known *known = known_file(path, &own);
    const char *object = after(path, "objects"), *why = why_live(path);
    if (why || is_control(path))
        return why ? why : controls;
    if (is_lock_path(path) || is_temporary(path) || is_opaque(path))
        return NULL;
    if (object)
        return git_store_judge(entry, object);
    if (is_index(path))
        return is_sound_index(entry) ? NULL
                                     : "is not in the form that git writes, or has paths that git refuses";
    if (is_table_list(path))
        return is_whole(entry, SMALL_MOST) && git_form_text(entry->bytes) ? NULL : unreadable;
    if (is_table(path))
        return entry->bytes.size >= 4 && memcmp(entry->bytes.at, "REFT", 4) == 0 ? NULL : unreadable;
    return known ? judge_known(entry, path, known) : git_is_unknown;
}

const char *git_judge(const struct git_entry *entry)
{
    const char *path = own_part(entry->path), *why = why_kind(entry->mode);
    bool is_store = after(path, "objects") || after(path, "lfs/objects");
    if (why)
        return why;
    if (S_ISDIR(entry->mode))
        return judge_directory(path);
    if (entry->links > 1 && !is_store)
        return git_is_second_name;
    return judge_file(entry, path);
}
