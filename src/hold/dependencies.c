/*
 * Folders that package managers and builds fill: node_modules and its like. The packages of others bring files with flagged names by
 * the hundred (.gitattributes, AGENTS.md, .vscode). A program of the host obeys those only if somebody works in that very folder, so
 * they are counted in one line and stay.
 *
 * What does not stay, wherever it lies:
 *
 *   1. what a link from outside leads to: it is compared under the name of the link, which is not in such a folder
 *   2. repositories: nested.c judges each `.git` and each bare repository
 *   3. what lay there at the start, as far as that is known: tracked files among it
 *   4. what a rule of the user, the administrator or the repository flags
 *   5. a folder that merely has the name: the manifest must lie beside it, as a regular file
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "hold/flags.h"
#include "policy/decide.h"

static const char folders[] = "node_modules if package.json\n"
                              ".venv if pyproject.toml\n"
                              ".venv if requirements.txt\n"
                              "venv if pyproject.toml\n"
                              "venv if requirements.txt\n"
                              ".tox if tox.ini\n"
                              ".nox if noxfile.py\n"
                              "target if Cargo.toml\n"
                              "target if pom.xml\n"
                              "target if build.sbt\n"
                              "deps if mix.exs\n"
                              "_build if mix.exs\n";

void dependencies_begin(struct arena *arena, struct skips *ret_folders)
{
    skips_parse(arena, folders, ret_folders);
}

static bool has_manifest(void *context, const char *name)
{
    const int *directory_fd = context;
    struct stat status;
    return fstatat(*directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

bool dependencies_are_in(const struct skips *known, int directory_fd, const char *name)
{
    return directory_fd >= 0 && skips_match(known, name, has_manifest, &directory_fd);
}

/* Is it flagged by shipped patterns alone, which know no folder? */
static bool is_flagged_by_name(const struct flags *flags, const char *path)
{
    auto_vec candidate_list candidates = {0};
    decide_collect(flags->hold->plan->policy, path, &candidates);
    vec_each (const struct candidate, candidate, &candidates) {
        if (candidate->rule->verb == VERB_FLAG &&
            (candidate->is_literal || !candidate->rule->source->is_profile))
            return false;
    }
    return true;
}

bool dependencies_leave(struct flags *flags, const char *folder, const struct new_content *change)
{
    if (!folder || change->before || !is_flagged_by_name(flags, change->now->path))
        return false;
    /* Each installation makes something in the folder itself: that alone makes nothing in it new. */
    struct file_content before;
    if (past_find(&flags->past, flags->hold->arena, change->now, &before) == PAST_NOTHING ||
        flags_came_since(flags, change->now, folder))
        vec_push(&flags->left,
                 (struct dependency_file){folder, arena_str(flags->hold->arena, change->now->path)});
    return true;
}

void dependencies_report(struct flags *flags)
{
    struct arena *arena = flags->hold->arena;
    for (size_t i = 0, next; i < flags->left.count; i = next) {
        const char *folder = flags->left.at[i].folder, *first = NULL;
        size_t count = 0;
        for (next = i; next < flags->left.count && flags->left.at[next].folder == folder; next++) {
            const char *path = flags->left.at[next].path;
            if (map_get(&flags->changed, path, strlen(path)))
                continue; /* it was found by another way too, and is on the list */
            first = first && strcmp(first, path) < 0 ? first : path;
            count++;
        }
        if (count)
            flags_add_sighting(
                flags,
                (struct sighting){
                    arena_printf(
                        arena, "%zu file%s that programs on your machine may obey in a dependency directory",
                        count, count == 1 ? "" : "s"),
                    folder,
                    arena_printf(arena, "%s there. Check %s before you work in that directory",
                                 count == 1 ? "it stays" : "they stay", first)});
    }
}
