#include "session/arrivals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/objects.h"
#include "git/refs.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "session/ask_git.h"

/* In the session's folder: what came, and git's home, which must not be seen under its own path inside. */
#define PLACE   "arrivals"
#define CAME    PLACE "/came"
#define GIT_DIR ".git/"

struct looking {
    const struct arrivals_request *request;
    struct arena *arena;
    const decision_list *decisions;
    struct store *store;
    struct git_refs before, after;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) packs;
};

bool arrivals_concern(const char *path)
{
    return text_starts_with(path, GIT_DIR);
}

static const struct entry *file_of(const struct decision *decision)
{
    const struct entry *after = decision->judged.change.after;
    bool is_file = decision->course == COURSE_GO && after && S_ISREG(after->mode) &&
                   after->content == CONTENT_STORED && arrivals_concern(decision->judged.change.path);
    return is_file ? after : NULL;
}

/* --- where refs will stand ---------------------------------------------------------------------------------------- */

static void read_packed(struct looking *looking, const char *text)
{
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        struct git_ref ref = {.is_packed = true};
        end = strchrnul(line, '\n');
        const char *space = memchr(line, ' ', (size_t)(end - line));
        if (*line == '#' || *line == '^' || !space ||
            !git_position_parse(arena_copy(looking->arena, line, (size_t)(space - line)), &ref.at))
            continue; /* repo_check.c holds a file with a line that is junk */
        ref.name = arena_copy(looking->arena, space + 1, (size_t)(end - space) - 1);
        vec_push(&looking->after.list, ref);
    }
}

static int read_refs(struct looking *looking, struct err *err)
{
    for (size_t i = 0; i < looking->decisions->count; i++) {
        const struct decision *decision = &looking->decisions->at[i];
        const struct entry *file = file_of(decision);
        const char *name = decision->judged.change.path + strlen(GIT_DIR);
        bool is_packed = file && strcmp(name, "packed-refs") == 0;
        if (!file || !(is_packed || strcmp(name, "HEAD") == 0 || text_starts_with(name, "refs/")))
            continue;
        auto_buf struct buf text = {0};
        struct git_ref ref = {.name = name};
        if (store_read(looking->store, &file->blob, GIT_PACKED_REFS_MOST, &text, err) < 0)
            return -1;
        if (is_packed)
            read_packed(looking, buf_text(&text));
        else if (git_position_parse(buf_text(&text), &ref.at))
            vec_push(&looking->after.list, ref);
    }
    return 0;
}

/* --- the objects -------------------------------------------------------------------------------------------------- */

static int write_object(struct looking *looking, int came_fd, const char *path, const struct entry *file,
                        struct err *err)
{
    const char *name;
    auto_fd int made = directories_make_beneath(came_fd, path_parent(looking->arena, path));
    auto_fd int parent = made < 0 ? -1 : open_parent_beneath(came_fd, path, &name);
    auto_fd int fd =
        parent < 0 ? -1 : openat(parent, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "cannot make room for the objects that came");
    return store_write_out(looking->store, &file->blob, fd, err);
}

/* Writes the objects, and the list of commits where history was cut off, if that is new. */
static int write_objects(struct looking *looking, int came_fd, struct err *err)
{
    for (size_t i = 0; i < looking->decisions->count; i++) {
        const struct entry *file = file_of(&looking->decisions->at[i]);
        const char *path = looking->decisions->at[i].judged.change.path + strlen(GIT_DIR);
        bool is_object =
            file && text_starts_with(path, "objects/") && git_is_object_path(path + strlen("objects/"));
        if (!is_object && !(file && strcmp(path, "shallow") == 0))
            continue;
        if (write_object(looking, came_fd, path, file, err) < 0)
            return -1;
        if (text_starts_with(path, "objects/pack/") && text_ends_with(path, ".idx"))
            vec_push(&looking->packs, path + strlen("objects/pack/"));
    }
    return 0;
}

/* --- the look ----------------------------------------------------------------------------------------------------- */

static int ask(struct looking *looking, struct new_commits *ret_found, struct err *err)
{
    struct arena *arena = looking->arena;
    const char *came = arena_printf(arena, "%s/" CAME, looking->request->folder);
    struct launch launch = {.home = arena_printf(arena, "%s/" PLACE "/home", looking->request->folder)};
    struct git_asker asker = {looking->request->caller, &launch, came};
    const char *const folders[] = {PLACE "/home", CAME "/objects"};
    if (remove_tree(looking->request->folder_fd, PLACE, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(folders); i++) {
        auto_fd int made = directories_make_beneath(looking->request->folder_fd, folders[i]);
        if (made < 0)
            return err_sys(err, errno, "cannot make %s", folders[i]);
    }
    auto_fd int came_fd = open_beneath(looking->request->folder_fd, CAME, O_RDONLY | O_DIRECTORY, 0);
    if (came_fd < 0)
        return err_sys(err, errno, "cannot open %s", came);
    if (write_objects(looking, came_fd, err) < 0)
        return -1;
    struct new_commits_question question = {.arena = arena,
                                            .ask = ask_git,
                                            .context = &asker,
                                            .work_tree = looking->request->transition->workspace,
                                            .before = &looking->before,
                                            .after = &looking->after,
                                            .packs = looking->packs.at,
                                            .pack_count = looking->packs.count};
    new_commits_find(&question, ret_found);
    return 0;
}

static int look(struct looking *looking, struct arrivals *ret_arrivals, struct err *err)
{
    const struct timespec always = {.tv_sec = INT64_MAX};
    const char *git_dir = arena_printf(looking->arena, "%s/.git", looking->request->transition->workspace);
    if (read_refs(looking, err) < 0)
        return -1;
    if (!looking->after.list.count)
        return 0;
    git_refs_read(git_dir, always, looking->arena, &looking->before);
    if (!new_commits_has_new(&looking->before, &looking->after))
        return 0;
    ret_arrivals->are_asked_for = true;
    int result = ask(looking, &ret_arrivals->found, err);
    struct err ignored;
    if (remove_tree(looking->request->folder_fd, PLACE, result < 0 ? &ignored : err) < 0)
        result = -1;
    return result;
}

int arrivals_find(const struct arrivals_request *request, struct arena *arena, const decision_list *decisions,
                  struct arrivals *ret_arrivals, struct err *err)
{
    *ret_arrivals = (struct arrivals){0};
    auto_store struct store store = STORE_NONE;
    struct looking looking = {.request = request, .arena = arena, .decisions = decisions, .store = &store};
    int result = store_open(request->transition->directory, &store, err);
    if (result == 0)
        result = look(&looking, ret_arrivals, err);
    git_refs_free(&looking.before);
    git_refs_free(&looking.after);
    vec_free(&looking.packs);
    return result;
}

void arrivals_free(struct arrivals *arrivals)
{
    new_commits_free(&arrivals->found);
}

struct repo_findings arrivals_findings(const struct arrivals *arrivals)
{
    const struct new_commits *found = &arrivals->found;
    return (struct repo_findings){found->broken.at, found->broken.count, found->damaged.at,
                                  found->damaged.count};
}
