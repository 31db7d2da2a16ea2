#include "prove/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "base/vec.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/fsview.h"

/* In the decoy home. `#` is the canary. A text of NULL is a directory. */
static const struct {
    const char *path, *text;
    mode_t mode;
} home_files[] = {
    {".ssh", NULL, 0700},
    {".ssh/id_rsa", "secret #\n", 0600},
    {".ssh/id_work", "secret #\n", 0600},
    {".aws", NULL, 0700},
    {".aws/session", "secret #\n", 0600},
    {".aws/credentials", "secret #\n", 0600},
    {".config", NULL, 0700},
    {".config/bawn", NULL, 0700},
    {".config/bawn/policy.bawn", "# secret #\n", 0600},
    {".bash_history", "secret #\n", 0600},
    {".bashrc", "# start-up file\n", 0644},
    {".profile", "# start-up file\n", 0644},
    {"src", NULL, 0755},
    {"src/sibling", NULL, 0755},
    {"src/sibling/README", "secret #\n", 0644},
};

static const struct {
    const char *path, *text;
    mode_t mode;
} project_files[] = {
    {".git", NULL, 0755},
    {".git/objects", NULL, 0755},
    {".git/refs", NULL, 0755},
    {".git/refs/heads", NULL, 0755},
    {".git/info", NULL, 0755},
    {".git/hooks", NULL, 0755},
    {".git/HEAD", "ref: refs/heads/main\n", 0644},
    {".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n", 0644},
    {".git/hooks/pre-commit", "#!/bin/sh\n", 0755},
    {"plain", NULL, 0755},
    {"work", "work\n", 0644},
};

/* Where an attack that got out would leave a file of the mark's name. */
static const char *const outside_folders[] = {"/usr", "/opt",     "/etc",     "/",   "/dev",
                                              "/var", "/var/tmp", "/dev/shm", "/tmp"};

static const char *random_hex(struct arena *arena, size_t bytes)
{
    unsigned char random[32] = {0};
    char hex[2 * sizeof(random) + 1];
    if (getrandom(random, bytes, 0) != (ssize_t)bytes)
        abort();
    text_hex(random, bytes, hex);
    return arena_str(arena, hex);
}

/* Everything follows from the mark. */
static void name_all(struct targets *targets, const char *mark)
{
    struct arena *arena = targets->arena;
    char hash[SHA256_HEX_SIZE];
    sha256_hex(mark, strlen(mark), hash);
    hash[6] = '\0';
    targets->mark = mark;
    targets->ipc_key = 0x42000000 | (int)strtol(hash, NULL, 16);
    targets->home = arena_printf(arena, "%s/.%s", targets->user_home, mark);
    targets->project = arena_printf(arena, "%s/src/project", targets->home);
    targets->state = path_join(arena, targets->states, mark);
    targets->tmp = arena_printf(arena, "/tmp/%s.d", mark);
    targets->var_tmp = arena_printf(arena, "/var/tmp/%s.d", mark);
    targets->runtime =
        targets->user_runtime ? arena_printf(arena, "%s/%s.d", targets->user_runtime, mark) : NULL;
    targets->run_socket = targets->is_root   ? arena_printf(arena, "/run/%s.sock", mark)
                          : targets->runtime ? path_join(arena, targets->runtime, "docker.sock")
                                             : NULL;
}

static const char mark_prefix[] = "bawn-prove-";

/* What a prover left that was killed, and the one that waited for it too. Whoever is at work holds a lock. */
static void sweep(const struct targets *own)
{
    auto_fd int folder_fd = open_directory_at(AT_FDCWD, own->states);
    auto_dir DIR *folder = folder_fd < 0 ? NULL : directories_list(folder_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!text_starts_with(entry->d_name, mark_prefix))
            continue;
        auto_fd int lock = open_directory_at(folder_fd, entry->d_name);
        if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
            continue;
        struct targets left = *own;
        name_all(&left, arena_str(own->arena, entry->d_name));
        targets_remove(&left);
    }
}

/* Whoever can rename entries of the home could redirect the attacks without a sandbox, which act as this user. */
static int insist_on_own_home(const char *path, struct err *err)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return err_sys(err, errno, "cannot look at the home directory %s", path);
    bool is_others = status.st_uid != geteuid() && status.st_uid != 0;
    if (!is_others && (!(status.st_mode & S_IWOTH) || status.st_mode & S_ISVTX))
        return 0;
    err_set(err, "decoys are made in the home directory, and %s %s", path,
            is_others ? "belongs to another user" : "can be changed by everyone");
    return err_hint(err, "set HOME to your own, as `sudo -H` does");
}

int targets_begin(struct targets *targets, struct err *err)
{
    if (insist_on_own_home(targets->user_home, err) < 0)
        return -1;
    if (strpbrk(targets->user_home, "\t\n "))
        return err_set(err, "bawn prove does not work with a space in the name of the home directory: %s",
                       targets->user_home);
    sweep(targets);
    name_all(targets, arena_printf(targets->arena, "%s%s", mark_prefix, random_hex(targets->arena, 6)));
    targets->token = arena_printf(targets->arena, "CANARY%s", random_hex(targets->arena, 16));
    if (directories_make(targets->state, err) < 0)
        return -1;
    auto_fd int lock = open_directory_at(AT_FDCWD, targets->state);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return err_sys(err, errno, "cannot lock %s", targets->state);
    return fd_take(&lock);
}

static int make_folder(const char *path, mode_t mode, struct err *err)
{
    return mkdir(path, mode) < 0 || chmod(path, mode) < 0
               ? err_sys(err, errno, "cannot make the decoy %s", path)
               : 0;
}

static int make_file(const struct targets *targets, const char *path, const char *text, mode_t mode,
                     struct err *err)
{
    auto_buf struct buf content = {0};
    for (const char *at = text; *at; at++) {
        bool is_canary = *at == '#' && at > text && at[-1] == ' ' && at[1] == '\n';
        buf_add_str(&content, is_canary ? targets->token : (char[]){*at, '\0'});
    }
    auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0 || fchmod(fd, mode) < 0 || write_whole(fd, content.bytes, content.size) < 0)
        return err_sys(err, errno, "cannot make the decoy %s", path);
    return 0;
}

static int make_entry(const struct targets *targets, const char *folder, const char *name, const char *text,
                      mode_t mode, struct err *err)
{
    const char *path = path_join(targets->arena, folder, name);
    return text ? make_file(targets, path, text, mode, err) : make_folder(path, mode, err);
}

static int make_project(const struct targets *targets, struct err *err)
{
    struct arena *arena = targets->arena;
    if (make_folder(targets->project, 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(project_files); i++) {
        if (make_entry(targets, targets->project, project_files[i].path, project_files[i].text,
                       project_files[i].mode, err) < 0)
            return -1;
    }
    if (symlink(path_join(arena, targets->home, ".ssh/id_work"),
                path_join(arena, targets->project, "link-to-key")) < 0 ||
        symlink(targets->home, path_join(arena, targets->project, "link-to-home")) < 0)
        return err_sys(err, errno, "cannot make a link in the decoy project");
    return 0;
}

static int make_home(const struct targets *targets, struct err *err)
{
    if (make_folder(targets->home, 0700, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(home_files); i++) {
        if (make_entry(targets, targets->home, home_files[i].path, home_files[i].text, home_files[i].mode,
                       err) < 0)
            return -1;
    }
    return make_project(targets, err);
}

/* Only the user's id protects these. Where the kernel has none of them, the attacks on them are not applicable. */
static void make_ipc(const struct targets *targets)
{
    enum { FLAGS = IPC_CREAT | IPC_EXCL | 0600 };
    if (shmget(targets->ipc_key, 4096, FLAGS) < 0 || msgget(targets->ipc_key, FLAGS) < 0 ||
        semget(targets->ipc_key, 1, FLAGS) < 0)
        return;
    mqd_t queue =
        mq_open(arena_printf(targets->arena, "/%s", targets->mark), O_CREAT | O_RDWR | O_CLOEXEC, 0600, NULL);
    if (queue != (mqd_t)-1)
        mq_close(queue);
}

int targets_make(const struct targets *targets, struct err *err)
{
    struct arena *arena = targets->arena;
    const char *const folders[] = {targets->tmp, targets->var_tmp, targets->runtime};
    for (size_t i = 0; i < array_len(folders); i++) {
        if (folders[i] && make_folder(folders[i], 0700, err) < 0)
            return -1;
    }
    if (make_home(targets, err) < 0 ||
        make_file(targets, path_join(arena, targets->tmp, "canary"), "secret #\n", 0644, err) < 0 ||
        make_file(targets, path_join(arena, targets->var_tmp, "id_rsa"), "secret #\n", 0600, err) < 0 ||
        make_file(targets, path_join(arena, targets->var_tmp, "canary"), "secret #\n", 0644, err) < 0 ||
        make_file(targets, arena_printf(arena, "/dev/shm/%s.host", targets->mark), "shared #\n", 0600, err) <
            0)
        return -1;
    make_ipc(targets);
    return 0;
}

/* --- away again ---------------------------------------------------------------------------------------------------- */

static void remove_path(const struct targets *targets, const char *path)
{
    struct err ignored;
    if (!path)
        return;
    auto_fd int parent = open_directory_at(AT_FDCWD, path_parent(targets->arena, path));
    if (parent >= 0 && remove_tree(parent, path_name(path), &ignored) < 0)
        unlinkat(parent, path_name(path), 0);
}

static void remove_outside_files(const struct targets *targets)
{
    for (size_t i = 0; i < array_len(outside_folders); i++)
        unlink(path_join(targets->arena, outside_folders[i], targets->mark));
}

static void remove_ipc(const struct targets *targets)
{
    int number = shmget(targets->ipc_key, 0, 0);
    if (number >= 0)
        shmctl(number, IPC_RMID, NULL);
    number = msgget(targets->ipc_key, 0);
    if (number >= 0)
        msgctl(number, IPC_RMID, NULL);
    number = semget(targets->ipc_key, 0, 0);
    if (number >= 0)
        semctl(number, 0, IPC_RMID);
    mq_unlink(arena_printf(targets->arena, "/%s", targets->mark));
}

void targets_remove(const struct targets *targets)
{
    remove_path(targets, targets->home);
    remove_path(targets, targets->tmp);
    remove_path(targets, targets->var_tmp);
    remove_path(targets, targets->runtime);
    if (targets->run_socket)
        unlink(targets->run_socket);
    unlink(arena_printf(targets->arena, "/dev/shm/%s.host", targets->mark));
    remove_outside_files(targets);
    remove_ipc(targets);
    remove_path(targets, targets->state); /* the last: as long as it is there, the rest is found again */
}

int targets_repair(const struct targets *targets, struct err *err)
{
    remove_path(targets, targets->home);
    remove_path(targets, targets->tmp);
    remove_outside_files(targets);
    if (make_home(targets, err) < 0 || make_folder(targets->tmp, 0700, err) < 0)
        return -1;
    return make_file(targets, path_join(targets->arena, targets->tmp, "canary"), "secret #\n", 0644, err);
}

void targets_age(void)
{
    enum { TRIES = 200, TRY_MICROSECONDS = 500 };
    struct timespec made, dated;
    clock_gettime(CLOCK_REALTIME, &made);
    /* The clock that dates files goes in steps of at most ten milliseconds. It takes longer only if somebody sets it back. */
    for (int i = 0; i < TRIES; i++) {
        clock_gettime(CLOCK_REALTIME_COARSE, &dated);
        if (timespec_order(dated, made) > 0)
            return;
        pause_microseconds(TRY_MICROSECONDS);
    }
}

/* --- what happened to them ------------------------------------------------------------------------------------------ */

enum { DEEPEST = 8, LARGEST_CONTENT = 4096 };

static void describe(int folder_fd, struct buf *out, int depth);

static void describe_entry(int folder_fd, const char *name, struct buf *out, int depth)
{
    struct stat status;
    char bytes[LARGEST_CONTENT];
    ssize_t size = 0;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    buf_printf(out, "%d %s %o %u %llu ", depth, name, status.st_mode, status.st_uid,
               S_ISDIR(status.st_mode) ? 0ULL : (unsigned long long)status.st_nlink);
    if (S_ISLNK(status.st_mode))
        size = readlinkat(folder_fd, name, bytes, sizeof(bytes));
    auto_fd int fd = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)
                         ? openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                         : -1;
    if (fd >= 0 && S_ISREG(status.st_mode))
        size = read(fd, bytes, sizeof(bytes));
    buf_add(out, bytes, size > 0 ? (size_t)size : 0);
    size = fd >= 0 ? flistxattr(fd, bytes, sizeof(bytes)) : 0;
    buf_add(out, bytes, size > 0 ? (size_t)size : 0);
    buf_add_char(out, '\n');
    if (S_ISDIR(status.st_mode) && fd >= 0 && depth < DEEPEST)
        describe(fd, out, depth + 1);
}

static void describe(int folder_fd, struct buf *out, int depth)
{
    auto_arena struct arena arena = {0};
    auto_vec fs_names names = {0};
    auto_dir DIR *folder = directories_list(folder_fd);
    int ignored = 0;
    for (const struct dirent *entry; folder && (entry = directories_next(folder, &ignored));)
        vec_push(&names, arena_str(&arena, entry->d_name));
    fs_sort_names(&names);
    for (size_t i = 0; i < names.count; i++)
        describe_entry(folder_fd, names.at[i], out, depth);
}

void targets_describe(const struct targets *targets, struct buf *out)
{
    const char *const folders[] = {targets->home, targets->tmp, targets->var_tmp};
    for (size_t i = 0; i < array_len(folders); i++)
        describe_entry(AT_FDCWD, folders[i], out, 0);
    for (size_t i = 0; i < array_len(outside_folders); i++) {
        struct stat status;
        bool is_there = lstat(path_join(targets->arena, outside_folders[i], targets->mark), &status) == 0;
        buf_printf(out, "%s %d\n", outside_folders[i], is_there);
    }
}

uint64_t targets_fingerprint(const struct targets *targets)
{
    auto_buf struct buf all = {0};
    targets_describe(targets, &all);
    char hex[SHA256_HEX_SIZE];
    sha256_hex(all.bytes, all.size, hex);
    hex[16] = '\0';
    return strtoull(hex, NULL, 16);
}

static void add_start(struct buf *text, struct bytes line)
{
    enum { SHOWN = 120 };
    text_add_printable(text, line.at, line.size < SHOWN ? line.size : SHOWN);
}

const char *targets_difference(const struct targets *targets, const struct buf *before, const struct buf *now)
{
    struct bytes old = bytes_of(buf_text(before), before->size), new = bytes_of(buf_text(now), now->size);
    struct bytes was = {0}, is = {0};
    if (bytes_equal(old, new))
        return NULL;
    do {
        bool is_over = !bytes_take_line(&old, &was);
        if (!bytes_take_line(&new, &is) || is_over)
            break;
    } while (bytes_equal(was, is));
    auto_buf struct buf text = {0};
    buf_add_str(&text, "the files before and after differ first at: ");
    add_start(&text, was);
    buf_add_str(&text, " / ");
    add_start(&text, is);
    return arena_str(targets->arena, buf_text(&text));
}

const char *const *targets_environment(const struct targets *targets, const char *const *environment)
{
    struct arena *arena = targets->arena;
    const char *const added[] = {
        arena_printf(arena, "AWS_SECRET_ACCESS_KEY=%s", targets->token),
        arena_printf(arena, "GITHUB_TOKEN=%s", targets->token),
        arena_printf(arena, "SSH_AUTH_SOCK=%s/agent", targets->tmp),
        arena_printf(arena, "DBUS_SESSION_BUS_ADDRESS=unix:path=%s/bus",
                     targets->runtime ? targets->runtime : targets->tmp),
        "GIT_DIR=/nowhere",
        arena_printf(arena, "http_proxy=http://user:%s@127.0.0.1:1", targets->token),
    };
    size_t count = 0;
    while (environment[count])
        count++;
    const char **all = arena_alloc(arena, (count + array_len(added) + 1) * sizeof(*all));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_replaced = false;
        for (size_t j = 0; j < array_len(added); j++)
            is_replaced |= strncmp(environment[i], added[j], strcspn(added[j], "=") + 1) == 0;
        if (!is_replaced)
            all[used++] = environment[i];
    }
    for (size_t j = 0; j < array_len(added); j++)
        all[used++] = added[j];
    return all;
}
