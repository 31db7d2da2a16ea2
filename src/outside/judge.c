#include "outside/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

enum { MOST_LINKS = 40, MOST_INTERPRETERS = 4, LONGEST_LINE = 256 };

/* --- one path ----------------------------------------------------------------------------------------------------- */

struct walk {
    const struct trees *trees;
    struct arena *arena;
    enum judge_kind kind;
    const char *path; /* as it was asked for, for messages */
    struct judged at;
    const char *rest; /* what is still to be followed */
    unsigned links;
};

static int refuse(const struct walk *walk, const char *place, const char *why, struct err *err)
{
    bool is_link = !path_is_beneath(walk->path, place);
    if (is_link)
        err_set(err, "%s is not used: it leads to %s, and %s", walk->path, place, why);
    else
        err_set(err, "%s is not used: %s", walk->path, why);
    err->errnum = 0;
    return err_hint(err, "put %s where no run of bawn can write, such as %s",
                    is_link ? "the file itself, and not a link to it," : "it",
                    walk->kind == JUDGE_FILE ? "~/.config" : "~/bin or /usr/local");
}

/* In the tree of a run. One of an earlier run is in the record. */
static int refuse_tree(const struct walk *walk, const char *place, const struct written_tree *tree,
                       struct err *err)
{
    refuse(walk, place, arena_printf(walk->arena, "a run of bawn can write in %s", tree->path), err);
    return tree->record ? err_hint(err,
                                   "%s. %s lists that tree, because a run could write there: when you have "
                                   "checked its files, you may delete the line",
                                   arena_str(walk->arena, err->hint), tree->record)
                        : -1;
}

/* Debian gives directories below /usr/local to root and the group staff (50). */
static bool is_foreign_group(gid_t group)
{
    enum { STAFF = 50, MOST_GROUPS = 1024 };
    gid_t own[MOST_GROUPS];
    if (group == 0 || group == STAFF || group == getegid())
        return false;
    int count = getgroups(MOST_GROUPS, own);
    for (int i = 0; i < count; i++) {
        if (own[i] == group)
            return false;
    }
    return true;
}

/* May others change what has this status, by its mode alone? A sticky directory protects entries of its owner's and of root's. */
static const char *loose_mode(const struct stat *status)
{
    if (S_ISLNK(status->st_mode) || S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode))
        return NULL;
    if (status->st_mode & S_IWOTH && !(S_ISDIR(status->st_mode) && status->st_mode & S_ISVTX))
        return "everybody can write it";
    if (status->st_mode & S_IWGRP && is_foreign_group(status->st_gid) &&
        !(S_ISDIR(status->st_mode) && status->st_mode & S_ISVTX))
        return "another group can write it";
    return NULL;
}

/* Judges the place that the walk has reached, or the missing file that it would reach. */
static int check_place(const struct walk *walk, const char *place, const struct stat *status, struct err *err)
{
    const struct written_tree *tree = trees_find(walk->trees, place, status);
    if (tree && !tree->is_public)
        return refuse_tree(walk, place, tree, err);
    if (walk->kind == JUDGE_FILE)
        return 0;
    if (tree)
        return refuse(walk, place, arena_printf(walk->arena, "everybody can write in %s", tree->path), err);
    const char *loose = status ? loose_mode(status) : NULL;
    return loose ? refuse(walk, place, loose, err) : 0;
}

/* In a directory that everybody can write, others may have put this entry there. */
static int check_entry(const struct walk *walk, const char *place, const struct stat *parent,
                       const struct stat *status, struct err *err)
{
    bool is_shared = parent->st_mode & (S_IWOTH | S_IWGRP) && parent->st_mode & S_ISVTX;
    if (walk->kind == JUDGE_FILE || !is_shared || status->st_uid == 0 || status->st_uid == geteuid())
        return 0;
    return refuse(walk, place, "it belongs to another user", err);
}

static int go_to(struct walk *walk, int fd, const char *real)
{
    fd_close(walk->at.fd);
    walk->at.fd = fd;
    walk->at.real = real;
    return fd < 0 ? -1 : fstat(fd, &walk->at.status);
}

static int go_to_root(struct walk *walk, struct err *err)
{
    return go_to(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/") < 0
               ? err_sys(err, errno, "cannot open /")
               : 0;
}

/* The next walk begins where the link leads, and goes on with what followed the link. */
static int follow(struct walk *walk, int link_fd, const char *place, struct err *err)
{
    char target[PATH_MAX];
    ssize_t size = readlinkat(link_fd, "", target, sizeof(target) - 1);
    if (size <= 0 || ++walk->links > MOST_LINKS)
        return err_sys(err, size <= 0 ? errno : ELOOP, "cannot follow %s", place);
    target[size] = '\0';
    walk->rest = arena_printf(walk->arena, "%s/%s", target, walk->rest);
    return *target == '/' ? go_to_root(walk, err) : 0;
}

static int go_up(struct walk *walk, struct err *err)
{
    int fd = openat(walk->at.fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return go_to(walk, fd, path_parent(walk->arena, walk->at.real)) < 0
               ? err_sys(err, errno, "cannot look at %s", walk->path)
               : 0;
}

/* Takes one step. Returns 1, 0 if there is no such entry, -1. */
static int step(struct walk *walk, const char *name, struct err *err)
{
    struct stat status;
    if (strcmp(name, ".") == 0)
        return 1;
    if (strcmp(name, "..") == 0)
        return go_up(walk, err) < 0 ? -1 : 1;
    const char *place = path_join(walk->arena, walk->at.real, name);
    auto_fd int fd = openat(walk->at.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno_is_of_machine(errno))
        return err_sys(err, errno, "cannot look at %s", place);
    if (fd < 0)
        return check_place(walk, place, NULL, err);
    if (fstat(fd, &status) < 0)
        return err_sys(err, errno, "cannot look at %s", place);
    if (check_place(walk, place, &status, err) < 0 ||
        check_entry(walk, place, &walk->at.status, &status, err) < 0)
        return -1;
    if (S_ISLNK(status.st_mode))
        return follow(walk, fd, place, err) < 0 ? -1 : 1;
    if (go_to(walk, fd_take(&fd), place) < 0)
        return err_sys(err, errno, "cannot look at %s", place);
    return 1;
}

int judge_open(const struct trees *trees, struct arena *arena, const char *path, enum judge_kind kind,
               struct judged *ret_judged, struct err *err)
{
    struct walk walk = {
        .trees = trees, .arena = arena, .kind = kind, .path = path, .at.fd = -1, .rest = path};
    int result = go_to_root(&walk, err) < 0 ? -1 : 1;
    while (result > 0) {
        walk.rest += strspn(walk.rest, "/");
        size_t size = strcspn(walk.rest, "/");
        if (!size)
            break;
        const char *name = arena_copy(arena, walk.rest, size);
        walk.rest += size;
        result = size > NAME_MAX ? 0 : step(&walk, name, err);
    }
    *ret_judged = walk.at;
    ret_judged->path = path;
    if (result > 0 && kind == JUDGE_FOLDER && S_ISDIR(walk.at.status.st_mode)) {
        const struct written_tree *tree = trees_inside(trees, walk.at.real);
        if (tree)
            result = refuse_tree(&walk, walk.at.real, tree, err);
    }
    if (result <= 0) {
        fd_close(walk.at.fd);
        ret_judged->fd = -1;
    }
    return result;
}

/* --- PATH --------------------------------------------------------------------------------------------------------- */

/* Why the directory is left out of PATH; NULL: it stays. */
static const char *why_left_out(const struct trees *trees, struct arena *arena, const char *folder,
                                bool *ret_is_there)
{
    struct judged judged;
    struct err err = {0};
    *ret_is_there = true;
    if (*folder != '/')
        return "it is not absolute";
    int found = judge_open(trees, arena, folder, JUDGE_FOLDER, &judged, &err);
    *ret_is_there = found && (found < 0 || S_ISDIR(judged.status.st_mode));
    fd_close(judged.fd);
    return found < 0 ? arena_str(arena, err.message) : NULL;
}

struct judged_path judge_search_path(const struct trees *trees, struct arena *arena, const char *path)
{
    static const char usual[] = "/usr/local/bin:/usr/bin:/bin";
    struct judged_path judged = {.text = ""};
    const char *list = path && *path ? path : usual, *folder;
    size_t most = 1;
    for (const char *at = list; *at; at++)
        most += *at == ':';
    judged.left_out = arena_alloc(arena, most * sizeof(*judged.left_out));
    while ((folder = path_next_folder(arena, &list))) {
        bool is_there;
        const char *why = why_left_out(trees, arena, folder, &is_there);
        if (why)
            judged.left_out[judged.left_out_count++] = (struct left_out){folder, why};
        else if (is_there)
            judged.text = arena_printf(arena, "%s%s%s", judged.text, *judged.text ? ":" : "", folder);
    }
    return judged;
}

int judge_missing(const struct judged_path *path, struct arena *arena, const char *name, struct err *err)
{
    for (size_t i = 0; i < path->left_out_count; i++) {
        const struct left_out *out = &path->left_out[i];
        if (*out->folder == '/' && access(path_join(arena, out->folder, name), X_OK) == 0)
            return err_set(err, "%s is not used: %s is left out of PATH: %s", name, out->folder, out->why);
    }
    return 0;
}

/* --- a program ---------------------------------------------------------------------------------------------------- */

/* The words behind "#!", of which there are at most two; NULL: it is no script, or one that cannot be read. */
static const char *read_first_line(struct arena *arena, int path_fd)
{
    char line[LONGEST_LINE];
    auto_fd int fd = open(fd_path(path_fd).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    if (size < 2 || line[0] != '#' || line[1] != '!')
        return NULL;
    line[size] = '\0';
    line[strcspn(line, "\n")] = '\0';
    const char *text = line + 2;
    return arena_str(arena, text + strspn(text, " \t"));
}

static int judge_at(const struct trees *trees, struct arena *arena, const struct judged_path *path,
                    const char *program, unsigned depth, struct judged *ret_judged, struct err *err);

/* The words behind an interpreter, which may be env, nice or a shell: each may be a program, or a file that is read. */
struct line_words {
    const struct trees *trees;
    struct arena *arena;
    const struct judged_path *path;
    const char *list;  /* of directories in which programs are found */
    const char *place; /* the last directory among the words: env -C changes to one */
    unsigned depth;
};

static int judge_line_path(struct line_words *words, const char *path, struct err *err)
{
    struct judged judged = {.fd = -1};
    int found = judge_open(words->trees, words->arena, path, JUDGE_PROGRAM, &judged, err);
    if (found > 0 && S_ISDIR(judged.status.st_mode))
        words->place = path;
    fd_close(judged.fd);
    judged.fd = -1;
    if (found > 0)
        found = judge_at(words->trees, words->arena, words->path, path, words->depth, &judged, err);
    fd_close(judged.fd);
    return found;
}

/* An absolute path, or one from / and from the directory that was named last. */
static int judge_line_file(struct line_words *words, const char *word, struct err *err)
{
    if (*word == '/')
        return judge_line_path(words, word, err);
    const char *place = words->place;
    if (place && judge_line_path(words, path_join(words->arena, place, word), err) < 0)
        return -1;
    return judge_line_path(words, path_join(words->arena, "/", word), err);
}

static int judge_line_name(struct line_words *words, const char *name, struct err *err)
{
    const char *list = words->list, *folder;
    int found = 0;
    while (!found && (folder = path_next_folder(words->arena, &list))) {
        if (*folder == '/')
            found = judge_line_path(words, path_join(words->arena, folder, name), err);
    }
    return found;
}

/* "NAME=VALUE", "--option=VALUE": a list of files. PATH is a list of directories. */
static int judge_line_value(struct line_words *words, const char *word, struct err *err)
{
    const char *value = strchr(word, '=') + 1, *list = value, *part;
    bool is_path = text_starts_with(word, "PATH=");
    if (is_path)
        words->list = arena_printf(words->arena, "%s:%s", value, words->list);
    while ((part = path_next_folder(words->arena, &list))) {
        struct judged judged = {.fd = -1};
        int found = *part == '/' ? judge_open(words->trees, words->arena, part,
                                              is_path ? JUDGE_FOLDER : JUDGE_FILE, &judged, err)
                                 : 0;
        fd_close(judged.fd);
        if (found < 0)
            return -1;
    }
    return 0;
}

/* env -S splits a word at spaces, and takes quotes off. */
static int judge_line_words(struct line_words *words, const char *line, struct err *err)
{
    char *rest = arena_str(words->arena, line);
    for (char *word; (word = strsep(&rest, " \t\r\"'"));) {
        int found = 0;
        if (word[0] == '-' && word[1] && word[1] != '-')
            word += 2; /* the letter of an option, and what belongs to it */
        if (strchr(word, '='))
            found = judge_line_value(words, word, err);
        else if (*word && *word != '-')
            found = strchr(word, '/') ? judge_line_file(words, word, err) : judge_line_name(words, word, err);
        if (found < 0)
            return -1;
    }
    return 0;
}

static int judge_interpreter(const struct trees *trees, struct arena *arena, const struct judged_path *path,
                             const char *program, const char *line, unsigned depth, struct err *err)
{
    size_t size = strcspn(line, " \t");
    const char *interpreter = arena_copy(arena, line, size);
    struct judged judged = {.fd = -1};
    struct err why = {0};
    if (*interpreter != '/' || depth >= MOST_INTERPRETERS)
        return err_set(err, "%s is not used: its interpreter '%s' is not an absolute path", program,
                       interpreter);
    int found = judge_at(trees, arena, path, interpreter, depth + 1, &judged, &why);
    fd_close(judged.fd);
    struct line_words words = {
        .trees = trees, .arena = arena, .path = path, .list = path->text, .depth = depth + 1};
    if (found >= 0)
        found = judge_line_words(&words, line + size, &why);
    if (found >= 0)
        return 0;
    err_set(err, "%s is not used: of its interpreter, %s", program, why.message);
    return err_hint(err, "%s", why.hint);
}

static int judge_at(const struct trees *trees, struct arena *arena, const struct judged_path *path,
                    const char *program, unsigned depth, struct judged *ret_judged, struct err *err)
{
    int found = judge_open(trees, arena, program, JUDGE_PROGRAM, ret_judged, err);
    if (found > 0 &&
        (!S_ISREG(ret_judged->status.st_mode) || access(fd_path(ret_judged->fd).text, X_OK) < 0)) {
        fd_close(fd_take(&ret_judged->fd));
        return 0;
    }
    const char *line = found > 0 ? read_first_line(arena, ret_judged->fd) : NULL;
    ret_judged->is_script = line;
    if (!line || judge_interpreter(trees, arena, path, program, line, depth, err) == 0)
        return found;
    fd_close(fd_take(&ret_judged->fd));
    return -1;
}

int judge_program(const struct trees *trees, struct arena *arena, const struct judged_path *path,
                  const char *program, struct judged *ret_judged, struct err *err)
{
    return judge_at(trees, arena, path, program, 0, ret_judged, err);
}

int judge_name(const struct trees *trees, struct arena *arena, const struct judged_path *path,
               const char *name, struct judged *ret_judged, struct err *err)
{
    const char *list = path->text, *folder;
    int found = 0;
    *ret_judged = (struct judged){.fd = -1};
    while (!found && (folder = path_next_folder(arena, &list)))
        found = judge_program(trees, arena, path, path_join(arena, folder, name), ret_judged, err);
    return found;
}
