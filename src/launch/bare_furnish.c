/*
 * The directory of the run's temporary files: what is in it from the start. With namespaces these files have places in /etc and /run (furnish.c).
 * It is filled in the first domain, which allows that, before the command begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "launch/bare.h"

static int write_file(int scratch_fd, const char *path, const char *text, struct err *err)
{
    auto_fd int fd = openat(scratch_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write_whole(fd, text, strlen(text)) < 0)
        return err_sys(err, errno, "cannot write %s for the command", path);
    return 0;
}

static int write_files(int scratch_fd, const struct launch *launch, struct err *err)
{
    for (size_t i = 0; i < launch->file_count; i++) {
        const struct launch_file *file = &launch->files[i];
        if (write_file(scratch_fd, file->path + strlen(launch->scratch) + 1, file->text, err) < 0)
            return -1;
    }
    return 0;
}

/*
 * Sockets of bawn's own. By the time the command begins their files have no name: no program, inside or outside, can connect to them, or put another
 * file in their place. The judge has them open, and connects whoever asks for the name that they have inside with namespaces.
 */
static int make_own_sockets(struct bare *bare, struct err *err)
{
    static const char temporary[] = "socket";
    for (size_t i = 0; i < OWN_SOCKETS; i++) {
        char path[64];
        if (!own_socket_is_wanted(bare->launch, &own_sockets[i]))
            continue;
        snprintf(path, sizeof(path), "%s/%s", fd_path(bare->scratch_fd).text, temporary);
        if (hand_over_socket(bare->control_fd, &own_sockets[i], path, err) < 0)
            return -1;
        bare->own_fds[i] = openat(bare->scratch_fd, temporary, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (bare->own_fds[i] < 0 || unlinkat(bare->scratch_fd, temporary, 0) < 0)
            return err_sys(err, errno, "cannot keep %s for the command", own_sockets[i].path);
    }
    return 0;
}

int bare_hold_scratch(struct bare *bare, struct err *err)
{
    const char *scratch = bare->launch->scratch;
    if (!scratch)
        return 0;
    bare->scratch_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return bare->scratch_fd < 0 || flock(bare->scratch_fd, LOCK_SH) < 0
               ? err_sys(err, errno, "cannot lock %s", scratch)
               : 0;
}

int bare_furnish(struct bare *bare, struct err *err)
{
    const struct launch *launch = bare->launch;
    int scratch_fd = bare->scratch_fd;
    if (scratch_fd < 0)
        return 0;
    if (mkdirat(scratch_fd, SCRATCH_OWN, 0700) < 0 || mkdirat(scratch_fd, SCRATCH_SHARED, 0700) < 0)
        return err_sys(err, errno, "cannot make a directory for temporary files");
    bare->shared_fd = open_directory_at(scratch_fd, SCRATCH_SHARED);
    /* It stays open, so that the supervisor does not wait for the disk when it removes the directory. */
    int own_fd = open_directory_at(scratch_fd, SCRATCH_OWN);
    if (bare->shared_fd < 0 || own_fd < 0)
        return err_sys(err, errno, "cannot open a directory for temporary files");
    if (write_file(scratch_fd, SCRATCH_GIT_CONFIG, launch->git_config ? launch->git_config : "", err) < 0 ||
        (launch->briefing && write_file(scratch_fd, SCRATCH_BRIEFING, launch->briefing, err) < 0) ||
        write_files(scratch_fd, launch, err) < 0 || make_own_sockets(bare, err) < 0)
        return -1;
    return launch->policy ? write_file(scratch_fd, SCRATCH_POLICY, launch->policy, err) : 0;
}
