#include "report/storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/directories.h"

/* In the order in which they are shown. All else in such a directory is small, and is told in a sum. */
static const struct {
    enum path_start start;
    const char *name, *what, *remedy;
} known[] = {
    {START_DATA, "snapshots", "contents of files, for undo, diff and apply",
     "bawn undo --prune  # forget old ones now; ~/.config/bawn/snapshot-keep says which are old"},
    {START_DATA, "homes", "private homes: settings, logins and caches of agents",
     "bawn home reset    # in a project: delete its homes"},
    {START_DATA, "locks", "locks of logins, and the login before an unfinished refresh", NULL},
    {START_DATA, "trust", "which .bawn files you trust", "bawn trust --revoke DIR"},
    {START_STATE, "sessions", "a folder for each run: its journal, waiting changes, files set aside",
     "bawn discard SESSION  # throw waiting changes away; `bawn sessions --all` names the sessions"},
    {START_STATE, "branches", "worktrees of runs with --branch",
     "bawn discard SESSION  # remove the worktree; commits stay on the branch"},
    {START_STATE, "fleets", "fleets, and their results without --out", NULL},
    {START_STATE, "proofs", "proofs that were made on the page of `bawn web`", NULL},
};

static const struct {
    enum path_start start;
    const char *what, *rest;
} folders[] = {
    {START_CONFIG, "your policy, profiles and settings", NULL},
    {START_DATA, "what runs keep", "other records"},
    {START_STATE, "what runs did",
     "records of runs: their numbers, where they could write, what a repair needs"},
};

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static uint64_t add(stored_list *all, const struct stored *stored)
{
    struct stored found = *stored;
    usage_add_path(found.path, &found.usage);
    vec_push(all, found);
    return found.usage.bytes;
}

static void add_folder(const struct policy_request *request, struct arena *arena, size_t index,
                       stored_list *all)
{
    enum path_start start = folders[index].start;
    const char *folder = directories_resolve(arena, path_join(arena, request->starts[start], "bawn"));
    if (!is_there(folder))
        return;
    uint64_t bytes = add(all, &(struct stored){.path = folder, .what = folders[index].what}), in_parts = 0;
    for (size_t i = 0; i < array_len(known); i++) {
        const char *path = path_join(arena, folder, known[i].name);
        if (known[i].start == start && is_there(path))
            in_parts += add(
                all, &(struct stored){
                         .path = path, .what = known[i].what, .remedy = known[i].remedy, .is_part = true});
    }
    /* Runs that go on may have changed the numbers meanwhile. */
    if (folders[index].rest && bytes > in_parts) {
        const struct stored rest = {
            .what = folders[index].rest, .is_part = true, .usage.bytes = bytes - in_parts};
        vec_push(all, rest);
    }
}

/* Where no overlay can be made beside the session, it lies in one of these (workspace/layers.c). */
static void add_layers(const struct policy_request *request, struct arena *arena, stored_list *all)
{
    const char *const places[] = {"/var/tmp", "/tmp", request->starts[START_RUNTIME], "/dev/shm"};
    for (size_t i = 0; i < array_len(places); i++) {
        int ignored = 0;
        auto_dir DIR *folder = places[i] ? opendir(places[i]) : NULL;
        for (const struct dirent *entry; folder && (entry = directories_next(folder, &ignored));) {
            struct stat status;
            if (text_starts_with(entry->d_name, "bawn-layer-") &&
                fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISDIR(status.st_mode) && status.st_uid == geteuid())
                add(all, &(struct stored){.path = path_join(arena, places[i], entry->d_name),
                                          .what = "what a run with --review or --discard writes",
                                          .remedy = "bawn sessions --repair  # if the run was killed"});
        }
    }
}

void storage_find(const struct policy_request *request, struct arena *arena, stored_list *ret_all)
{
    for (size_t i = 0; i < array_len(folders); i++)
        add_folder(request, arena, i, ret_all);
    add_layers(request, arena, ret_all);
}

static uint64_t sum(const stored_list *all)
{
    uint64_t bytes = 0;
    vec_each (const struct stored, stored, all)
        bytes += stored->is_part ? 0 : stored->usage.bytes;
    return bytes;
}

/* "at least 12 MiB" */
static const char *room_text(struct arena *arena, const struct usage *usage)
{
    return arena_printf(arena, "%s%s", usage->trouble ? "at least " : "", size_text(arena, usage->bytes));
}

static void add_text(struct buf *out, const struct style *style, const stored_list *all, struct arena *arena)
{
    if (!all->count) {
        buf_add_str(out, "bawn has stored nothing here.\n");
        return;
    }
    vec_each (const struct stored, stored, all) {
        if (!stored->is_part) {
            buf_add_str(out, stored == all->at ? "" : "\n");
            style_add_path(style, out, COLOUR_BOLD, stored->path);
            buf_printf(out, "  %s, %s\n", room_text(arena, &stored->usage), stored->what);
        } else {
            buf_add_str(out, "  ");
            style_add_column(style, out, COLOUR_PLAIN, stored->path ? path_name(stored->path) : "the rest",
                             13);
            style_add_column(style, out, COLOUR_PLAIN, room_text(arena, &stored->usage), 13);
            buf_printf(out, "%s\n", stored->what);
        }
        if (stored->remedy)
            buf_printf(out, "      %s\n", stored->remedy);
    }
    buf_printf(
        out,
        "\n%s in all. To delete everything, end all runs, and apply or discard what waits. Then:\n    rm -rf --",
        size_text(arena, sum(all)));
    vec_each (const struct stored, stored, all) {
        if (!stored->is_part)
            buf_printf(out, " %s", shell_word(arena, stored->path));
    }
    buf_add_str(out, "\n    git worktree prune  # in each repository that a run with --branch worked on\n");
}

static void add_members(struct json *json, const struct stored *stored)
{
    json_str(json, "path", stored->path);
    json_int(json, "bytes", (int64_t)stored->usage.bytes);
    json_bool(json, "whole", stored->usage.trouble == USAGE_WHOLE);
    json_str(json, "trouble", usage_trouble_text(stored->usage.trouble));
    json_str(json, "what", stored->what);
    json_str(json, "remedy", stored->remedy);
}

static void add_json(struct buf *out, const stored_list *all)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_str(&json, "schema", "bawn.storage");
    json_int(&json, "version", 1);
    json_int(&json, "bytes", (int64_t)sum(all));
    json_open(&json, "directories", '[');
    for (size_t i = 0; i < all->count;) {
        json_open(&json, NULL, '{');
        add_members(&json, &all->at[i++]);
        json_open(&json, "parts", '[');
        for (; i < all->count && all->at[i].is_part; i++) {
            json_open(&json, NULL, '{');
            add_members(&json, &all->at[i]);
            json_close(&json, '}');
        }
        json_close(&json, ']');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

void storage_add(struct buf *out, const struct style *style, const stored_list *all, bool as_json)
{
    auto_arena struct arena arena = {0};
    if (as_json)
        add_json(out, all);
    else
        add_text(out, style, all, &arena);
}
