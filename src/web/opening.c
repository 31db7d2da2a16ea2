#include "web/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "session/hook.h"
#include "web/html.h"

static const char *browser(const struct caller *caller)
{
    const char *named = caller_variable(caller, "BAWN_BROWSER");
    return named && *named == '/' ? named : "/usr/bin/xdg-open";
}

bool opening_is_possible(const struct caller *caller)
{
    return access(browser(caller), X_OK) == 0;
}

/* Removes the files of pages that were killed: nobody holds their lock. */
static void sweep(int folder_fd)
{
    auto_dir DIR *folder = directories_list(folder_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        auto_fd int fd = *entry->d_name == '.' ? -1
                                               : openat(folder_fd, entry->d_name,
                                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(folder_fd, entry->d_name, 0);
    }
}

/* Its lock is kept until this process ends. */
static int make_file(const struct web_place *place, struct arena *arena, const char *page,
                     const char **ret_path, struct err *err)
{
    const char *folder = arena_printf(arena, "%s/bawn/web", place->state);
    const char *name = arena_printf(arena, "%s.html", place->name);
    auto_fd int folder_fd = directories_open_made(folder, err);
    if (folder_fd < 0)
        return -1;
    if (fchmod(folder_fd, 0700) < 0 || flock(folder_fd, LOCK_EX) < 0)
        return err_sys(err, errno, "cannot have %s for this user alone", folder);
    sweep(folder_fd);
    auto_fd int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    auto_buf struct buf text = {0};
    /* The name and the token are letters, digits and dashes. */
    buf_printf(&text,
               "<!doctype html>\n<meta charset=utf-8><meta name=referrer content=no-referrer>"
               "<meta http-equiv=refresh content=\"0;url=%s\"><title>bawn</title>"
               "<a href=\"%s\" rel=noreferrer>Open bawn's page</a>\n",
               page, page);
    if (fd < 0 || flock(fd, LOCK_EX) < 0 || write_whole(fd, text.bytes, text.size) < 0) {
        int errnum = errno;
        if (fd >= 0)
            unlinkat(folder_fd, name, 0);
        return err_sys(err, errnum, "cannot write %s/%s", folder, name);
    }
    *ret_path = arena_printf(arena, "%s/%s", folder, name);
    return fd_take(&fd);
}

/* "file:///home/u/a%20b.html" */
static const char *file_url(struct arena *arena, const char *path)
{
    auto_buf struct buf url = {0};
    buf_add_str(&url, "file://");
    for (const char *end; *path; path = end) {
        end = strchrnul(path + 1, '/');
        const char *name = arena_copy(arena, path + 1, (size_t)(end - path - 1));
        buf_printf(&url, "/%s", url_part(arena, name));
    }
    return arena_copy(arena, url.bytes, url.size);
}

int opening_begin(const struct caller *caller, struct arena *arena, struct web_place *place, const char *page,
                  struct err *err)
{
    if (make_file(place, arena, page, &place->opening, err) < 0)
        return -1;
    const char *const program[] = {browser(caller), file_url(arena, place->opening), NULL};
    hook_start(caller, &(struct hook){.program = program, .text = ""});
    return 0;
}

void opening_end(const struct web_place *place)
{
    if (place->opening)
        unlink(place->opening);
}
