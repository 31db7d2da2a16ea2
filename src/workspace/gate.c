#include "workspace/gate.h"

#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "git/config.h"
#include "git/judge.h"
#include "git/objects.h"
#include "workspace/compare.h"

enum { READ_MOST = 1024 * 1024, JUDGE_MOST = 256 * 1024 * 1024 };

/* What must be true of a file's content, besides its name. */
enum test {
    TEST_NONE,    /* nothing: any change counts */
    TEST_SCRIPTS, /* a script of a package.json differs */
    TEST_EXEC,    /* it has a line that git would execute */
    TEST_HEAD,    /* it looks like the HEAD of a repository */
    TEST_CONFIG,  /* it has a setting through which git runs a program */
};

/* Patterns of paths. A path begins with a slash at the top of the workspace. */
static const struct {
    const char *pattern, *why;
    enum test test;
} table[] = {
    {"/**/.git", "a file that leads git to another repository", TEST_NONE},
    {"/**/.git/hooks/**", "git runs its hooks", TEST_NONE},
    {"/**/.git/config", "git runs what its configuration says", TEST_NONE},
    {"/**/.git/config.worktree", "git runs what its configuration says", TEST_NONE},
    {"/**/.git/commondir", "leads git to another configuration", TEST_NONE},
    {"/**/.git/info/attributes", "chooses filters that git runs", TEST_NONE},
    {"/**/.git/info/sparse-checkout", "chooses which files git checks out", TEST_NONE},
    {"/**/.git/objects/info/alternates", "leads git to other objects", TEST_NONE},
    {"/**/.git/remotes/**", "names a place that git pushes to and fetches from", TEST_NONE},
    {"/**/.git/branches/**", "names a place that git pushes to and fetches from", TEST_NONE},
    {"/**/.git/modules/**/config*", "git runs what its configuration says", TEST_NONE},
    {"/**/.git/modules/**/hooks/**", "git runs its hooks", TEST_NONE},
    {"/**/.git/worktrees/*/config.worktree", "git runs what its configuration says", TEST_NONE},
    {"/**/.git/worktrees/*/commondir", "leads git to another configuration", TEST_NONE},
    {"/**/.git/worktrees/*/gitdir", "leads git to another work tree", TEST_NONE},
    {"/**/.git/**/git-rebase-todo*", "git executes its lines when the rebase goes on", TEST_EXEC},
    {"/*/**/.git/**", "a repository inside the workspace: git runs what its configuration says", TEST_NONE},
    {"/**/config", "git runs what its configuration says", TEST_CONFIG},
    {"/**/config.worktree", "git runs what its configuration says", TEST_CONFIG},
    {"/**/commondir", "leads git to another configuration", TEST_NONE},
    {"/**/HEAD", "looks like a bare repository: git runs what its configuration says", TEST_HEAD},
    {"/**/package.json", "scripts that the package manager runs", TEST_SCRIPTS},
    {"/**/setup.py", "runs when the package is built or installed", TEST_NONE},
    {"/**/conftest.py", "runs when the tests are looked for", TEST_NONE},
    {"/**/sitecustomize.py", "runs when Python starts", TEST_NONE},
    {"/**/build.rs", "runs when the crate is built, also by editors", TEST_NONE},
    {"/**/Makefile", "runs when you call make", TEST_NONE},
    {"/**/makefile", "runs when you call make", TEST_NONE},
    {"/**/GNUmakefile", "runs when you call make", TEST_NONE},
    {"/**/*.mk", "runs when you call make", TEST_NONE},
    {"/**/CMakeLists.txt", "runs when the project is configured, also by editors", TEST_NONE},
    {"/**/meson.build", "runs when the project is configured", TEST_NONE},
    {"/**/*.gradle", "runs when the project is loaded, also by editors", TEST_NONE},
    {"/**/*.gradle.kts", "runs when the project is loaded, also by editors", TEST_NONE},
    {"/**/pom.xml", "plugins that the build runs", TEST_NONE},
    {"/**/Rakefile", "runs when you call rake", TEST_NONE},
    {"/**/Gemfile", "runs when bundler reads it", TEST_NONE},
    {"/**/justfile", "runs when you call just", TEST_NONE},
    {"/**/Taskfile.y*ml", "runs when you call task", TEST_NONE},
    {"/**/flake.nix", "runs when the environment is entered", TEST_NONE},
    {"/**/shell.nix", "runs when the environment is entered", TEST_NONE},
    {"/**/devenv.nix", "runs when the environment is entered", TEST_NONE},
    {"/**/devbox.json", "runs when the environment is entered", TEST_NONE},
    {"/**/eslint.config.*", "runs when the code is checked, also by editors", TEST_NONE},
    {"/**/.eslintrc.*js", "runs when the code is checked, also by editors", TEST_NONE},
    {"/**/prettier.config.*", "runs when the code is formatted, also by editors", TEST_NONE},
    {"/**/.prettierrc.*js", "runs when the code is formatted, also by editors", TEST_NONE},
};

/* --- content ------------------------------------------------------------------------------------------------------ */

/*
 * Finds a member of a package.json. Returns 1, 0 if there is none, or -1 if parsers could disagree: the package
 * manager may use a second member of the same name, or one that is spelled with escapes.
 */
static int find_member(struct arena *arena, const struct buf *text, const char *name,
                       struct json_value *ret_value)
{
    struct json_value object, key, value;
    int found = 0;
    if (!json_read(buf_text(text), text->size, &object))
        return -1;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        const char *spelled = json_text(arena, key);
        if (!spelled || strcmp(spelled, name) != 0)
            continue;
        if (found++)
            return -1;
        *ret_value = value;
    }
    return found;
}

static int read_side(const struct gate_change *change, const struct entry *entry, struct buf *bytes)
{
    if (!entry)
        return 1;
    return S_ISREG(entry->mode) ? change->read(change->context, entry, READ_MOST, bytes) : 0;
}

static bool member_differs(const struct buf *old, const struct buf *new, const char *name)
{
    struct arena arena = {0};
    struct json_value before = {0}, after = {0};
    int had = old->size ? find_member(&arena, old, name, &before) : 0;
    int has = find_member(&arena, new, name, &after);
    arena_free(&arena);
    return had < 0 || has < 0 || had != has || before.size != after.size ||
           (has && memcmp(before.at, after.at, after.size) != 0);
}

static bool scripts_differ(const struct gate_change *change)
{
    /* The members that npm and similar programs run, or that installed hooks run. */
    static const char *const running[] = {"scripts",          "gypfile",  "husky",      "lint-staged",
                                          "simple-git-hooks", "gitHooks", "pre-commit", "packageManager"};
    auto_buf struct buf old = {0}, new = {0};
    if (read_side(change, change->before, &old) != 1 || read_side(change, change->after, &new) != 1)
        return true; /* an unreadable file may be harmful */
    for (size_t i = 0; i < array_len(running); i++) {
        if (member_differs(&old, &new, running[i]))
            return true;
    }
    return false;
}

/* Does the todo list of a rebase contain a command? */
static bool has_exec_line(const struct gate_change *change)
{
    auto_buf struct buf text = {0};
    if (read_side(change, change->after, &text) != 1)
        return true;
    return git_todo_runs(buf_text(&text));
}

/* git wants no space after "ref:", and takes a hash in capitals, too. */
static bool is_head(const struct gate_change *change)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    if (text_starts_with(change->path, ".git/"))
        return false; /* the workspace's own HEAD */
    auto_buf struct buf text = {0};
    if (read_side(change, change->after, &text) != 1)
        return true;
    return text_starts_with(buf_text(&text), "ref:") || strspn(buf_text(&text), digits) >= 40;
}

/* The config of a bare repository of any name. Other programs have files called config, too. */
static bool has_running_setting(const struct gate_change *change)
{
    struct arena arena = {0};
    git_setting_list settings = {0};
    auto_buf struct buf text = {0};
    if (read_side(change, change->after, &text) != 1)
        return true;
    bool runs = git_setting_list_read(&arena, buf_text(&text), text.size, &settings) < 0 &&
                memchr(buf_text(&text), '[', text.size);
    for (size_t i = 0; !runs && i < settings.count; i++)
        runs = git_setting_runs(&settings.at[i]);
    vec_free(&settings);
    arena_free(&arena);
    return runs;
}

static bool passes(enum test test, const struct gate_change *change)
{
    switch (test) {
    case TEST_SCRIPTS:
        return scripts_differ(change);
    case TEST_EXEC:
        return has_exec_line(change);
    case TEST_HEAD:
        return is_head(change);
    case TEST_CONFIG:
        return has_running_setting(change);
    case TEST_NONE:
        break;
    }
    return true;
}

/* --- kinds -------------------------------------------------------------------------------------------------------- */

/* Could a symlink lead out of the tree? A name before ".." may be a symlink itself, and lead anywhere. */
static bool leaves_tree(const char *path, const char *target)
{
    if (*target == '/')
        return true;
    size_t depth = 0;
    bool is_named = false;
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
        depth++;
    while (*target) {
        size_t size = strcspn(target, "/");
        if (size == 2 && target[0] == '.' && target[1] == '.') {
            if (is_named || depth-- == 0)
                return true;
        } else if (size && !(size == 1 && *target == '.')) {
            is_named = true;
        }
        target += size;
        target += strspn(target, "/");
    }
    return false;
}

/* Would a terminal show the name as something else? */
static bool is_tricky_name(const char *path)
{
    auto_buf struct buf shown = {0};
    text_add_printable(&shown, path, strlen(path));
    return strcmp(buf_text(&shown), path) != 0;
}

static void judge_kind(const struct gate_change *change, gate_reasons *reasons)
{
    const struct entry *before = change->before, *after = change->after;
    bool is_regular = S_ISREG(after->mode), was_regular = before && S_ISREG(before->mode);
    if (is_regular && after->mode & 0111 && !(was_regular && before->mode & 0111))
        vec_push(reasons, "became executable");
    if (entry_new_ids(before, after))
        vec_push(reasons, "runs as its owner (set-id)");
    bool same_target = before && S_ISLNK(before->mode) && strcmp(before->target, after->target) == 0;
    if (S_ISLNK(after->mode) && !same_target && leaves_tree(change->path, after->target))
        vec_push(reasons, "a link that leads out of the workspace");
    if (S_ISFIFO(after->mode) || S_ISCHR(after->mode) || S_ISBLK(after->mode))
        vec_push(reasons, "neither a file nor a directory");
    if (!before && is_tricky_name(change->path))
        vec_push(reasons, "its name has invisible characters");
}

static bool is_listed(const gate_reasons *reasons, const char *why)
{
    for (size_t i = 0; i < reasons->count; i++) {
        if (strcmp(reasons->at[i], why) == 0)
            return true;
    }
    return false;
}

const char *gate_judge_git(const struct gate_change *change)
{
    struct git_inner inner = git_inner_of(change->path);
    const struct entry *after = change->after;
    bool is_object = after && S_ISREG(after->mode) && text_starts_with(inner.path, "objects/") &&
                     git_is_object_path(inner.path + strlen("objects/"));
    if (!inner.size || !after || is_object || git_is_control(inner.path))
        return NULL;
    auto_buf struct buf bytes = {0};
    struct git_entry entry = {
        .path = inner.path, .mode = after->mode, .links = after->links, .length = after->size};
    size_t wanted = S_ISREG(after->mode) ? git_judge_wants(inner.path) : 0;
    size_t most = JUDGE_MOST; /* its first bytes may be enough */
    if (after->size < most)
        most = (size_t)after->size;
    if (most < wanted)
        most = wanted;
    if (wanted && change->read(change->context, after, most, &bytes) != 1)
        return "is too large to be read, or its content was not kept";
    if (wanted)
        entry.bytes = bytes_of(buf_text(&bytes), bytes.size < wanted ? bytes.size : wanted);
    return git_judge(&entry);
}

const char *gate_reason_of_name(const char *path)
{
    for (size_t i = 0; i < array_len(table); i++) {
        if (pattern_matches_path(table[i].pattern, path, strlen(path)))
            return table[i].why;
    }
    return NULL;
}

void gate_judge(const struct gate_change *change, gate_reasons *reasons)
{
    if (!change->after)
        return; /* a removed file runs nothing */
    char absolute[PATH_LONGEST + 1];
    size_t size = strlen(change->path);
    if (size >= PATH_LONGEST) {
        vec_push(reasons, "its path is too long");
        return;
    }
    absolute[0] = '/';
    memcpy(absolute + 1, change->path, size + 1);
    for (size_t i = 0; !S_ISDIR(change->after->mode) && i < array_len(table); i++) {
        if (pattern_matches_path(table[i].pattern, absolute, size + 1) && !is_listed(reasons, table[i].why) &&
            passes(table[i].test, change))
            vec_push(reasons, table[i].why);
    }
    const char *live = reasons->count ? NULL : gate_judge_git(change);
    if (live)
        vec_push(reasons, live);
    judge_kind(change, reasons);
}
