/*
 * Decoys are made while the policy is still being read, in the new root's memory, in a directory that /dev covers
 * later: processes inside reach them only where they are shown. Process 1 gets a signal when one is read or listed
 * (F_NOTIFY). That is free, while closing an inotify instance costs milliseconds. The signal names the directory, not
 * the file, and comes once; soon the supervisor watches as well, through a descriptor that process 1 keeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/mounts.h"
#include "launch/inside.h"
#include "plan/decoys.h"

static const char cover[] = "dev";

/* Of which all decoys are further names. */
static const char full[] = ".full", empty[] = ".empty", with_canary[] = ".canary";

static int make_file(int cover_fd, const char *name, const char *text, const char *more)
{
    auto_fd int fd = openat(cover_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t size = strlen(text), more_size = strlen(more);
    return fd >= 0 && write(fd, text, size) == (ssize_t)size &&
                   write(fd, more, more_size) == (ssize_t)more_size
               ? 0
               : -1;
}

static int make_files(const struct root *root)
{
    char canary[CANARY_TEXT_SIZE] = "";
    if (root->launch->canary)
        canary_write(root->launch->canary, canary);
    return make_file(root->decoys.fd, full, decoy_text, "") < 0 ||
                   make_file(root->decoys.fd, with_canary, decoy_text, canary) < 0 ||
                   make_file(root->decoys.fd, empty, "", "") < 0
               ? -1
               : 0;
}

static int make_decoy(struct root *root, int cover_fd, size_t index, struct err *err)
{
    const struct decoy *decoy = &decoys[index];
    if (mkdirat(cover_fd, decoy->name, 0700) < 0)
        return err_sys(err, errno, "cannot make a decoy");
    auto_fd int folder = openat(cover_fd, decoy->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return err_sys(err, errno, "cannot make a decoy");
    for (const struct decoy_file *file = decoy->files; file->name; file++) {
        const char *content = file->is_empty ? empty : file->has_canary ? with_canary : full;
        if (linkat(cover_fd, content, folder, file->name, 0) < 0)
            return err_sys(err, errno, "cannot make a decoy");
    }
    root->decoy_trees[index] = mount_open_restricted(cover_fd, decoy->name, true, false, err);
    if (root->decoy_trees[index] < 0)
        return -1;
    root->decoys.folder_fds[index] = fd_take(&folder);
    return 0;
}

int decoys_make(struct root *root, struct err *err)
{
    if (mkdirat(root->fd, cover, 0755) < 0)
        return err_sys(err, errno, "cannot make /%s", cover);
    root->decoys.fd = openat(root->fd, cover, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->decoys.fd < 0)
        return err_sys(err, errno, "cannot open /%s", cover);
    if (make_files(root) < 0)
        return err_sys(err, errno, "cannot make a decoy");
    for (size_t i = 0; i < DECOY_COUNT; i++) {
        if (make_decoy(root, root->decoys.fd, i, err) < 0)
            return -1;
    }
    return 0;
}

/* Directories above a decoy get mode 0700: gpg insists. */
static void make_way(struct root *root, const char *path, struct err *err)
{
    const char *parent = path_parent(&root->arena, path);
    int above = place_open_parent(root, parent, err);
    if (above >= 0)
        mkdirat(above, path_name(parent), 0700);
}

/* From the second run on, the private home has the directory that the decoy covers. */
static bool covers_existing(struct root *root, int tree_fd, const char *path)
{
    struct err ignored;
    auto_fd int place = place_open(root, path, O_DIRECTORY);
    return place >= 0 && place_attach_over(root, tree_fd, place, path, &ignored) == 0;
}

/*
 * If a file of an earlier run is in the way, there is one decoy less, and the run goes on. An error of the machine ends
 * it.
 */
int decoys_show(struct root *root, const struct operation *operation, struct err *err)
{
    size_t index = decoy_find(operation->name);
    if (index == DECOY_COUNT)
        return 0;
    bool is_shown = covers_existing(root, root->decoy_trees[index], operation->path);
    if (!is_shown && strchr(decoys[index].place, '/'))
        make_way(root, operation->path, err);
    if (!is_shown)
        is_shown = place_attach(root, root->decoy_trees[index], operation->path, true, err) == 0;
    root->decoys.are_shown[index] = is_shown;
    return is_shown || !errno_is_of_machine(err->errnum) ? 0 : -1;
}

void decoys_arm(const struct decoy_fds *fds)
{
    for (size_t i = 0; i < DECOY_COUNT; i++) {
        if (fds->are_shown[i] && fcntl(fds->folder_fds[i], F_SETSIG, DECOY_SIGNAL) == 0)
            fcntl(fds->folder_fds[i], F_NOTIFY,
                  DN_ACCESS); /* a kernel without it has the supervisor's watch */
    }
}

size_t decoys_touched(const struct decoy_fds *fds, const struct signalfd_siginfo *information)
{
    /* Sent by the kernel: signals from processes inside have another code. */
    bool is_notice = (int)information->ssi_signo == DECOY_SIGNAL && information->ssi_code > 0;
    size_t i = is_notice ? 0 : DECOY_COUNT;
    while (i < DECOY_COUNT && !(fds->are_shown[i] && fds->folder_fds[i] == information->ssi_fd))
        i++;
    return i;
}
