#include "supervise/granting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/within.h"
#include "kernel/beneath.h"
#include "outside/outside.h"
#include "outside/own.h"
#include "plan/grant.h"

enum { LARGEST_CONTENT = 1024 * 1024, LONGEST_SHOWN = 1000 };

/* Can a person read the path as it is? */
static bool is_printable(const char *text)
{
    auto_buf struct buf shown = {0};
    text_add_printable(&shown, text, strlen(text));
    return strcmp(buf_text(&shown), text) == 0;
}

/*
 * What is at a path, seen anew: what was remembered at the start may have changed. A path that cannot be followed is one where nothing is: the
 * reason would tell of files that the program cannot see.
 */
static const char *resolve(const struct granting *granting, struct arena *arena, const char *path,
                           struct path_look *ret_look)
{
    struct fsview fs = {.root_fd = granting->plan->policy->request.fs->root_fd, .arena = arena};
    const struct fs_place *place = NULL;
    struct err err;
    if (fs_resolve(&fs, path, &place, &err) == 0)
        path = arena_str(arena, place->real);
    bool is_sure = fs_check(&fs, &err) == 0;
    fs_free(&fs);
    *ret_look = (struct path_look){.path = path, .identity = "", .not_now = ""};
    if (!is_sure)
        return "the path cannot be looked at now: ask again later";
    return is_printable(path) && strlen(path) <= LONGEST_SHOWN
               ? NULL
               : "the path leads to one that cannot be shown to a person";
}

/* Opens the file itself, through no link. A file that may not be looked at is as good as none. */
static int pin(struct path_look *look, struct arena *arena)
{
    struct stat status;
    auto_fd int fd = open_absolute(look->path, O_PATH);
    if (fd < 0 || fstat(fd, &status) < 0) {
        look->kind = FILE_MISSING;
        return -1;
    }
    look->kind = S_ISDIR(status.st_mode)   ? FILE_DIRECTORY
                 : S_ISREG(status.st_mode) ? FILE_REGULAR
                                           : FILE_OTHER;
    look->identity = arena_printf(arena, "%llx:%llx", (unsigned long long)status.st_dev,
                                  (unsigned long long)status.st_ino);
    return fd_take(&fd);
}

/* Why the running command cannot get it; NULL: it can. */
static const char *problem_with(const struct granting *granting, struct arena *arena,
                                const struct path_look *look, bool writes)
{
    struct operations ignored;
    bool is_tree = writes && look->kind == FILE_DIRECTORY;
    const char *problem = plan_grant(granting->plan, arena, look->path, look->kind, writes, &ignored);
    if (problem)
        return problem;
    if (writes && granting->keeps_aside)
        return "what this run writes waits until you apply it";
    if (is_tree && granting->counts_disk)
        return "`limit disk` counts only what a run could write from its start";
    if (is_tree && git_lies_in_repository(look->path))
        return "it is part of a git directory, which git on your machine obeys";
    return NULL;
}

/* Could the command replace bawn, or a program of bawn's own, if it could write this path? Looked at anew: links may have changed. */
static int check_own(const struct granting *granting, const char *path, struct err *err)
{
    const struct policy_request *request = &granting->plan->policy->request;
    auto_arena struct arena arena = {0};
    struct operation writes = {.kind = OP_BIND_WRITE, .path = path};
    const struct operations operations = {.at = &writes, .count = 1, .on = granting->plan->request.on};
    struct fsview fs = {.root_fd = request->fs->root_fd, .arena = &arena};
    const char *own = request->own_path ? request->own_path(&arena) : NULL;
    int result = own ? own_programs_check(own, &fs, &operations, err) : 0;
    fs_free(&fs);
    return result;
}

/* Without namespaces the private home has a path of its own. What a program asks for in its home is the user's. */
static const char *in_users_home(const struct granting *granting, struct arena *arena, const char *path)
{
    const char *private = granting->launch ? granting->launch->home : NULL;
    const char *meant = granting->plan->request.on == ON_LANDLOCK && private
                            ? path_moved(arena, path, private, granting->plan->policy->request.home)
                            : NULL;
    return meant ? meant : path;
}

const char *granting_look(void *context, struct arena *arena, const char *text, bool writes,
                          struct path_look *ret_look)
{
    struct granting *granting = context;
    if (*text != '/' || strlen(text) > LONGEST_SHOWN)
        return "ask for an absolute path of 1000 characters at most";
    if (!is_printable(text))
        return "the path has characters that cannot be shown to a person";
    struct path_look look = {0};
    const char *problem =
        resolve(granting, arena, in_users_home(granting, arena, path_clean(arena, "/", text)), &look);
    struct err err = {0};
    if (problem)
        return problem;
    if (writes && check_own(granting, look.path, &err) < 0)
        return "bawn itself, or a program that bawn starts outside, could be replaced there: nobody can let a "
               "running command write that";
    granting_keep(granting, 0);
    granting->looked_at_fd = pin(&look, arena);
    const char *not_now = problem_with(granting, arena, &look, writes);
    look.not_now = not_now ? not_now : "";
    *ret_look = look;
    return NULL;
}

void granting_keep(struct granting *granting, unsigned question)
{
    if (granting->looked_at_fd < 0)
        return;
    if (question)
        vec_push(&granting->pinned, (struct pinned){question, fd_take(&granting->looked_at_fd)});
    fd_close(granting->looked_at_fd);
    granting->looked_at_fd = -1;
}

static int find_pinned(const struct granting *granting, const struct question *question)
{
    vec_each (const struct pinned, pinned, &granting->pinned) {
        if (pinned->question == question->id)
            return pinned->fd;
    }
    return -1;
}

/* Puts bytes into memory that nobody can change any more. */
static int seal_bytes(const char *bytes, size_t size, struct err *err)
{
    auto_fd int fd = memfd_create("given", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || write_whole(fd, bytes, size) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return err_sys(err, errno, "cannot copy what was given");
    return fd_take(&fd);
}

static int file_content(const struct granting *granting, const struct question *question, struct err *err)
{
    auto_buf struct buf content = {0};
    int pinned = find_pinned(granting, question);
    if (pinned < 0)
        return err_set(err, "%s is gone", question->object);
    auto_fd int fd = open(fd_path(pinned).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || buf_read(&content, fd, LARGEST_CONTENT + 1) < 0)
        return err_sys(err, errno, "cannot read %s", question->object);
    if (content.size > LARGEST_CONTENT)
        return err_set(err, "%s is larger than 1 MiB, too large to be given once", question->object);
    return seal_bytes(buf_text(&content), content.size, err);
}

int granting_content(const struct granting *granting, const struct question *question, struct err *err)
{
    if (question->kind != QUESTION_ENV)
        return file_content(granting, question, err);
    const char *const *environment = granting->plan->policy->request.environment;
    const char *value = environment ? text_variable(environment, question->object) : NULL;
    return value ? seal_bytes(value, strlen(value), err)
                 : err_set(err, "%s is not set outside", question->object);
}

static int giving_ready(void *self, short events not_used, struct err *err)
{
    struct granting *granting = self;
    struct arena arena = {0};
    given_places places = {0};
    struct err problem = {0};
    loop_remove(granting->loop, granting->giving.fd);
    int given = launch_given(&granting->giving, &arena, &places, &problem), result = 0;
    if (given == 0)
        result = granting->shown(granting->run, &granting->given, &places, err);
    granting->done(granting->context, granting->number, given == 0 ? "" : problem.message);
    vec_free(&places);
    arena_free(&arena);
    return result;
}

int granting_show(struct granting *granting, const struct question *question, unsigned number,
                  struct err *err)
{
    struct arena arena = {0};
    struct operations operations = {0};
    bool is_written = question->kind == QUESTION_WRITE;
    int pinned = find_pinned(granting, question);
    struct stat status;
    if (granting->giving.child > 0)
        return err_set(err, "another file is being shown at the moment: answer again");
    if (pinned < 0 || fstat(pinned, &status) < 0)
        return err_set(err, "%s is gone", question->object);
    const char *state = granting->plan->policy->request.starts[START_STATE];
    if (is_written && (check_own(granting, question->object, err) < 0 ||
                       granting->may_write(granting->run, question->object, err) < 0 ||
                       outside_record_tree(state, question->object, err) < 0))
        return -1;
    enum file_kind kind = S_ISDIR(status.st_mode) ? FILE_DIRECTORY : FILE_REGULAR;
    struct given_tree given = {
        .path = question->object, .is_written = is_written, .is_directory = kind == FILE_DIRECTORY};
    clock_gettime(CLOCK_REALTIME_COARSE, &given.since);
    const char *problem = plan_grant(granting->plan, &arena, question->object, kind, is_written, &operations);
    struct give give = {.operations = &operations, .pinned_fd = pinned};
    int result = problem ? err_set(err, "this run cannot get it: %s", problem)
                         : launch_give(granting->launch, granting->launched, &give, &granting->giving, err);
    arena_free(&arena);
    if (result < 0)
        return -1;
    granting->number = number;
    granting->given = given;
    loop_add(granting->loop, granting->giving.fd, POLLIN, giving_ready, granting);
    return 0;
}

void granting_settle(struct granting *granting)
{
    struct arena arena = {0};
    given_places places = {0};
    struct err ignored;
    if (granting->giving.child <= 0)
        return;
    loop_remove(granting->loop, granting->giving.fd);
    if (launch_given(&granting->giving, &arena, &places, &ignored) < 0)
        places.count = 0;
    if (granting->shown(granting->run, &granting->given, &places, &ignored) < 0)
        granting->number = 0; /* nothing runs inside any more */
    vec_free(&places);
    arena_free(&arena);
}

void granting_end(struct granting *granting)
{
    granting_keep(granting, 0);
    for (size_t i = 0; i < granting->pinned.count; i++)
        close(granting->pinned.at[i].fd);
    vec_free(&granting->pinned);
}
