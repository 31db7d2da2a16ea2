#include "home/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "home/files.h"
#include "home/version.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

/* One of the two places of a file: inside or outside. */
struct side {
    int top_fd;         /* the directory's path starts here */
    const char *folder; /* relative to top_fd */
    const char *name;
    bool is_hosts;
    int watch; /* -1: none */
    int fd;    /* the directory, while both sides are compared */
    struct version version;
};

struct synced {
    const char *source;
    struct side host, home;
    const char *base_name; /* file in the state folder with the hash of the last common content */
    int lock_fd;
    bool is_login;               /* its tokens stay outside: */
    bool is_copy;                /* nothing that is written inside goes to the host */
    const char *key, *entries;   /* see login_file_key(), login_find() */
    struct version masked;       /* the host's content with stand-ins, while both sides are compared */
    char known[SHA256_HEX_SIZE]; /* the hash of the host's content when it was looked at last */
    bool is_taken;               /* the host has just got a login that the command made */
    bool waits;                  /* a side cannot be read now */
    const char *blocked;         /* why the private home has no place for it, or NULL */
    bool is_told;                /* that it is blocked */
};

/* A hostile program could write the file endlessly, so the journal records only so many changes. */
enum { MOST_TOLD = 200 };

static void tell(struct sync *sync, const struct synced *synced, const char *event, const char *how)
{
    if (sync->told < MOST_TOLD)
        journal_event(sync->journal, event, "file", synced->source, "how", how);
    else if (sync->told == MOST_TOLD)
        journal_event(sync->journal, event, "how", "there are too many files");
    sync->told += sync->told <= MOST_TOLD;
}

/* Opens the directory of a side and watches it, before the file is read. */
static void open_side(struct sync *sync, struct side *side, bool at_start)
{
    struct err ignored;
    side->fd = side->is_hosts ? open_beneath(side->top_fd, side->folder, O_RDONLY | O_DIRECTORY, 0)
                              : files_make_directory(side->top_fd, side->folder, at_start, &ignored);
    if (side->fd < 0) {
        bool is_missing = side->is_hosts && errno == ENOENT;
        side->version = (struct version){.state = is_missing ? VERSION_NONE : VERSION_UNFIT,
                                         .why = "its directory cannot be opened"};
        return;
    }
    uint32_t mask =
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    int watch = sync->fd < 0 ? -1 : inotify_add_watch(sync->fd, fd_path(side->fd).text, mask);
    if (side->watch >= 0 && side->watch != watch)
        inotify_rm_watch(sync->fd, side->watch); /* the watched directory was renamed or removed */
    side->watch = watch;
    if (at_start)
        files_sweep(side->fd);
    version_read(side->fd, side->name, &side->version);
}

static void close_side(struct side *side)
{
    version_free(&side->version);
    fd_close(side->fd);
    side->fd = -1;
}

/* What the host's file is inside. */
static void mask_host(const struct sync *sync, struct synced *synced)
{
    struct version *host = &synced->host.version;
    auto_buf struct buf text = {0};
    if (host->state != VERSION_WHOLE) {
        synced->masked = (struct version){.state = host->state};
        return;
    }
    if (!login_mask(bytes_of(host->bytes, host->size), synced->key, synced->entries, &sync->kept, &text)) {
        version_free(host);
        *host = (struct version){.state = VERSION_UNFIT, .why = "it is not JSON, so its tokens are unknown"};
        return;
    }
    synced->masked =
        (struct version){.state = VERSION_WHOLE, .bytes = text.bytes, .size = text.size, .time = host->time};
    text = (struct buf){0};
    sha256_hex(synced->masked.bytes, synced->masked.size, synced->masked.hash);
}

/* Tells that the host's tokens may be others now. */
static void notice_change(const struct sync *sync, struct synced *synced)
{
    if (strcmp(synced->known, synced->host.version.hash) == 0)
        return;
    memcpy(synced->known, synced->host.version.hash, sizeof(synced->known));
    if (sync->changed)
        sync->changed(sync->context, synced->source);
}

/* The last common content; VERSION_UNFIT if it is not known. */
static struct version read_base(const struct sync *sync, const struct synced *synced)
{
    struct version base = {0};
    auto_fd int fd = openat(sync->state_fd, synced->base_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    size_t size = sizeof(base.hash) - 1;
    if (fd >= 0 && read(fd, base.hash, size) == (ssize_t)size &&
        strspn(base.hash, "0123456789abcdef") == size)
        base.state = VERSION_WHOLE;
    return base;
}

static int write_base(const struct sync *sync, const struct synced *synced, const struct version *version,
                      struct err *err)
{
    if (version->state == VERSION_NONE)
        return unlinkat(sync->state_fd, synced->base_name, 0) < 0 && errno != ENOENT
                   ? err_sys(err, errno, "cannot forget %s", synced->source)
                   : 0;
    return files_replace(sync->state_fd, synced->base_name, version->hash, strlen(version->hash), err);
}

/* A time in the future counts as now, so that a wrong clock does not win. */
static struct timespec past(struct timespec time)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return timespec_order(time, now) > 0 ? now : time;
}

static bool is_newer(const struct version *a, const struct version *b)
{
    return timespec_order(past(a->time), past(b->time)) > 0;
}

static bool is_masked(const struct sync *sync, const struct version *version)
{
    return version->state == VERSION_WHOLE &&
           login_is_masked(bytes_of(version->bytes, version->size), &sync->kept);
}

/* The same for a login whose tokens stay outside. */
static const struct side *login_winner(struct sync *sync, const struct synced *synced,
                                       const struct version *base, bool at_start)
{
    const struct version *host = &synced->host.version, *home = &synced->home.version,
                         *masked = &synced->masked;
    bool has_stand_ins = is_masked(sync, home), is_known = version_equal(masked, base);
    if (version_equal(masked, home))
        return NULL;
    if (synced->is_copy) /* logins that were made inside stay there while the others are complete */
        return home->state == VERSION_WHOLE && login_has_stand_ins(bytes_of(home->bytes, home->size),
                                                                   bytes_of(host->bytes, host->size),
                                                                   synced->key, synced->entries, &sync->kept)
                   ? NULL
                   : &synced->host;
    if (at_start || synced->is_taken)
        return has_stand_ins && is_known && !synced->is_taken ? NULL : &synced->host;
    if (version_equal(host, home))
        return NULL; /* a session that has its tokens inside shares this home */
    if (home->state == VERSION_WHOLE && !has_stand_ins && !version_equal(home, base) &&
        login_has_tokens(bytes_of(home->bytes, home->size), synced->entries))
        return &synced->home;
    return is_known ? NULL : &synced->host;
}

/* The side whose content wins; NULL: nothing to do. */
static const struct side *winner(struct sync *sync, const struct synced *synced, const struct version *base,
                                 bool at_start)
{
    const struct side *host = &synced->host, *home = &synced->home;
    if (synced->is_login)
        return login_winner(sync, synced, base, at_start);
    if (version_equal(&host->version, &home->version))
        return NULL;
    if (is_masked(sync, &home->version))
        return host; /* a former run has left stand-ins */
    bool host_is_old = version_equal(&host->version, base), home_is_old = version_equal(&home->version, base);
    if (home->version.state == VERSION_NONE)
        return at_start || !host_is_old ? host : NULL; /* removed inside: it stays removed for now */
    if (host->version.state == VERSION_NONE)
        return home_is_old ? host : home;
    if (home_is_old || host_is_old)
        return home_is_old ? host : home;
    const struct side *newer = is_newer(&home->version, &host->version) ? home : host;
    tell(sync, synced, "sync-conflict",
         newer == home ? "the newer one, from inside, wins" : "the host's wins");
    return newer;
}

/* Copies one side's content to the other. Returns as version_replace does. */
static int carry_over(struct sync *sync, struct synced *synced, const struct side *from, struct err *err)
{
    struct side *to = from->is_hosts ? &synced->home : &synced->host;
    if (to->fd < 0 && (to->fd = files_make_directory(to->top_fd, to->folder, false, err)) < 0)
        return -1;
    const struct version *wanted = synced->is_login && from->is_hosts ? &synced->masked : &from->version;
    int result = version_replace(to->fd, to->name, wanted, &to->version, err);
    synced->is_taken = synced->is_login && result > 0 && to->is_hosts;
    if (result > 0) {
        tell(sync, synced, "sync", from->is_hosts ? "from the host" : "from inside");
        if (write_base(sync, synced, wanted, err) < 0)
            return -1;
        return synced->is_taken ? 0 : 1; /* its stand-ins go inside at once */
    }
    return result;
}

/* Returns 1 if both sides are as they should be, 0 if one changed meanwhile. */
static int compare_sides(struct sync *sync, struct synced *synced, bool at_start, struct err *err)
{
    struct side *host = &synced->host, *home = &synced->home;
    open_side(sync, host, at_start);
    open_side(sync, home, at_start);
    if (synced->is_login)
        mask_host(sync, synced);
    int result = 1;
    const struct side *unfit = host->version.state == VERSION_UNFIT   ? host
                               : home->version.state == VERSION_UNFIT ? home
                                                                      : NULL;
    if (unfit && !synced->waits)
        tell(sync, synced, "sync-waits", unfit->version.why);
    synced->waits = unfit;
    synced->blocked = home->version.is_no_file ? home->version.why : NULL;
    if (!unfit) {
        struct version base = read_base(sync, synced);
        notice_change(sync, synced);
        const struct side *from = winner(sync, synced, &base, at_start);
        if (from)
            result = carry_over(sync, synced, from, err);
        else if (!synced->is_login && version_equal(&host->version, &home->version) &&
                 !version_equal(&host->version, &base))
            result = write_base(sync, synced, &host->version, err) < 0 ? -1 : 1;
    }
    close_side(host);
    close_side(home);
    version_free(&synced->masked);
    return result;
}

/*
 * inotify reports the close of a written file a moment before it can be read, and on some file systems not at all. So the file
 * is looked at again later.
 */
static void look_again(struct sync *sync, bool is_same)
{
    enum { SHORTEST = 20, LONGEST = 2000 }; /* milliseconds */
    if (is_same) {
        sync->patience = SHORTEST;
        return;
    }
    struct itimerspec soon = {
        .it_value = {.tv_sec = sync->patience / 1000, .tv_nsec = sync->patience % 1000 * 1000000L + 1}};
    if (sync->timer_fd >= 0)
        timerfd_settime(sync->timer_fd, 0, &soon, NULL);
    sync->patience = sync->patience * 2 < LONGEST ? sync->patience * 2 : LONGEST;
}

static int make_same(struct sync *sync, struct synced *synced, bool at_start, struct err *err)
{
    enum { TRIES = 20 };
    if (flock(synced->lock_fd, LOCK_EX) < 0)
        return err_sys(err, errno, "cannot lock %s", synced->source);
    int result = 0;
    for (int i = 0; i < TRIES && result == 0; i++)
        result = compare_sides(sync, synced, at_start, err);
    flock(synced->lock_fd, LOCK_UN);
    look_again(sync, !synced->waits && result != 0);
    if (result < 0)
        tell(sync, synced, "sync-failed", err->message);
    return result < 0 ? -1 : 0;
}

int sync_open_lock(struct arena *arena, const char *data, const char *source, const char *purpose,
                   struct err *err)
{
    char hash[SHA256_HEX_SIZE];
    const char *directory = path_parent(arena, source);
    sha256_hex(directory, strlen(directory), hash);
    const char *folder = arena_printf(arena, "%s/bawn/locks", data);
    const char *path = arena_printf(arena, "%s/%s%s", folder, hash, purpose);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == ENOENT && directories_make(folder, err) == 0)
        fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? err_sys(err, errno, "cannot open %s", path) : fd;
}

/* Says once that something is in the file's place inside. Returns -1 if it was said now. */
static int check_place(const struct sync *sync, struct synced *synced, struct err *err)
{
    if (!synced->blocked || synced->is_told)
        return 0;
    synced->is_told = true;
    err_set(err, "%s is not kept the same inside and outside: in the private home %s", synced->source,
            synced->blocked);
    if (sync->home)
        err_hint(err, "remove %s/%s%s%s", sync->home, synced->home.folder, *synced->home.folder ? "/" : "",
                 synced->home.name);
    return -1;
}

static int add_file(struct arena *arena, const struct plan *plan, const struct operation *operation,
                    struct sync *sync, struct err *err)
{
    const char *destination = operations_destination(&plan->operations, operation);
    if (!destination)
        return 0;
    char hash[SHA256_HEX_SIZE];
    sha256_hex(operation->source, strlen(operation->source), hash);
    struct synced *synced = arena_new(arena, struct synced);
    *synced = (struct synced){
        .source = operation->source,
        .host = {.top_fd = sync->root_fd,
                 .folder = path_parent(arena, operation->source) + 1,
                 .name = path_name(operation->source),
                 .is_hosts = true,
                 .watch = -1,
                 .fd = -1},
        .home = {.top_fd = sync->home_fd,
                 .folder = path_parent(arena, destination) + 1,
                 .name = path_name(destination),
                 .watch = -1,
                 .fd = -1},
        .base_name = arena_printf(arena, "synced-%.16s", hash),
        .lock_fd =
            sync_open_lock(arena, plan->policy->request.starts[START_DATA], operation->source, "", err),
        .is_login = operation->is_login,
        .is_copy = operation->kind == OP_COPY,
        .entries = operation->entries,
        .key = login_file_key(arena, operation->source),
    };
    if (synced->lock_fd < 0)
        return -1;
    vec_push(&sync->files, synced);
    return make_same(sync, synced, true, err) < 0 ? -1 : check_place(sync, synced, err);
}

/* A login that is copied is looked after here, too: its tokens change while the command runs. */
static bool is_kept_same(const struct operation *operation)
{
    return operation->kind == OP_SYNC || (operation->kind == OP_COPY && operation->is_login);
}

int sync_begin(struct arena *arena, const struct plan *plan, int home_fd, int state_fd,
               struct journal *journal, struct sync *ret_sync, struct err *err)
{
    *ret_sync = (struct sync){.fd = -1,
                              .timer_fd = -1,
                              .root_fd = -1,
                              .home_fd = home_fd,
                              .state_fd = state_fd,
                              .home = operations_find(&plan->operations, OP_HOME)->source,
                              .journal = journal};
    look_again(ret_sync, true);
    int result = 0;
    vec_each (const struct operation, operation, &plan->operations) {
        if (!is_kept_same(operation))
            continue;
        if (ret_sync->root_fd < 0) {
            login_state_read(arena, state_fd, &ret_sync->kept);
            ret_sync->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
            ret_sync->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
            ret_sync->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
            if (ret_sync->fd < 0 || ret_sync->timer_fd < 0) {
                result = err_sys(err, errno, "cannot watch the files that `sync` keeps the same");
                err_hint(err, "they are updated only at the start and at the end");
            }
        }
        if (add_file(arena, plan, operation, ret_sync, err) < 0)
            result = -1;
    }
    return result;
}

/* Does the event concern the file? An event without a name is about the directory, or about lost events. */
static bool concerns(const struct inotify_event *event, const struct synced *synced)
{
    const struct side *sides[] = {&synced->host, &synced->home};
    if (event->mask & IN_Q_OVERFLOW)
        return true;
    for (size_t i = 0; i < array_len(sides); i++) {
        if (event->wd == sides[i]->watch && (!event->len || strcmp(event->name, sides[i]->name) == 0))
            return true;
    }
    return false;
}

int sync_ready(void *self, short events not_used, struct err *err)
{
    struct sync *sync = self;
    _Alignas(struct inotify_event) char bytes[16384];
    ssize_t size = read(sync->fd, bytes, sizeof(bytes));
    for (size_t i = 0; i < sync->files.count; i++) {
        bool is_concerned = false;
        for (ssize_t at = 0; at < size && !is_concerned;) {
            const struct inotify_event *event = (const void *)(bytes + at);
            is_concerned = concerns(event, sync->files.at[i]);
            at += (ssize_t)(sizeof(*event) + event->len);
        }
        if (is_concerned && make_same(sync, sync->files.at[i], false, err) < 0)
            continue; /* the journal has the error, and the run continues */
    }
    return 0;
}

int sync_due(void *self, short events not_used, struct err *err)
{
    struct sync *sync = self;
    uint64_t expirations;
    if (read(sync->timer_fd, &expirations, sizeof(expirations)) < 0)
        return 0;
    for (size_t i = 0; i < sync->files.count; i++) {
        if (make_same(sync, sync->files.at[i], false, err) < 0)
            continue; /* the journal has the error, and the run continues */
    }
    return 0;
}

int sync_end(struct sync *sync, struct err *err)
{
    struct err ignored;
    int result = 0;
    for (size_t i = 0; i < sync->files.count; i++) {
        if (make_same(sync, sync->files.at[i], false, &ignored) < 0)
            ignored.errnum = 0;
        if (check_place(sync, sync->files.at[i], err) < 0)
            result = -1;
        close(sync->files.at[i]->lock_fd);
    }
    vec_free(&sync->files);
    vec_free(&sync->kept);
    int *const fds[] = {&sync->fd, &sync->timer_fd, &sync->root_fd};
    for (size_t i = 0; i < array_len(fds); i++)
        fd_close(fd_take(fds[i]));
    return result;
}
