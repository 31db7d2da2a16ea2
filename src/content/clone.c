#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "content/parts.h"
#include "kernel/directories.h"

#define PREFIX "clone-"
#define NEW    PREFIX "new"

void store_clone_name(const struct blob_id *id, char ret_name[CLONE_NAME_SIZE])
{
    memcpy(ret_name, PREFIX, strlen(PREFIX));
    text_hex(id->bytes, sizeof(id->bytes), ret_name + strlen(PREFIX));
}

/* The clone first, and its hash from it: nobody else has it open. */
static int clone_and_name(struct store *store, int new_fd, struct store_record *ret_record, struct err *err)
{
    struct stat status;
    struct blob_id id;
    char name[CLONE_NAME_SIZE];
    if (fstat(new_fd, &status) < 0)
        return store_explain_write(err);
    if (store_identify(store, new_fd, (uint64_t)status.st_size, true, &id, err) < 0)
        return -1;
    store_clone_name(&id, name);
    if (!store_find_record(store, &id) && renameat(store->folder_fd, NEW, store->folder_fd, name) < 0)
        return store_explain_write(err);
    *ret_record = (struct store_record){.id = id,
                                        .size = (uint64_t)status.st_blocks * 512,
                                        .pack = NO_PACK,
                                        .file_size = (uint64_t)status.st_size};
    return 0;
}

int store_clone(struct store *store, int fd, struct store_record *ret_record, struct err *err)
{
    if (store->cannot_clone)
        return 0;
    auto_fd int new_fd =
        openat(store->folder_fd, NEW, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (new_fd < 0)
        return store_explain_write(err);
    int result = 0;
    if (ioctl(new_fd, FICLONE, fd) < 0)
        store->cannot_clone = errno != ETXTBSY && errno != EPERM;
    else
        result = clone_and_name(store, new_fd, ret_record, err) < 0 ? -1 : 1;
    unlinkat(store->folder_fd, NEW, 0); /* where it has got no other name */
    return result;
}

int store_unclone(struct store *store, int clone_fd, uint64_t size, int fd, struct err *err)
{
    if (ioctl(fd, FICLONE, clone_fd) == 0)
        return 0;
    if (ftruncate(fd, (off_t)size) < 0)
        return err_sys(err, errno, "cannot write a file");
    for (uint64_t at = 0; at < size;) {
        off_t data = lseek(clone_fd, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return 0; /* the rest is a hole */
        at = data > 0 ? (uint64_t)data : at;
        size_t part = size - at < PIECE ? (size_t)(size - at) : (size_t)PIECE;
        if (store_read_piece(clone_fd, store_room(store), part, at, err) < 0)
            return -1;
        if (store_write_at(fd, store->piece, part, at) < 0)
            return err_sys(err, errno, "cannot write a file");
        at += part;
    }
    return 0;
}

/* The hash in a name; what is none of theirs gives one that nothing has. */
static struct blob_id id_in(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    struct blob_id id = {0};
    const char *at = name + strlen(PREFIX);
    for (size_t i = 0; i < 2 * sizeof(id.bytes) && at[i] && strchr(digits, at[i]); i++)
        id.bytes[i / 2] =
            (unsigned char)(id.bytes[i / 2] | (strchr(digits, at[i]) - digits) << (i % 2 ? 0 : 4));
    return id;
}

static bool is_kept_clone(struct store *store, const char *name, store_is_kept *is_kept, void *context)
{
    struct blob_id id = id_in(name);
    const struct store_record *record = store_find_record(store, &id);
    return record && record->pack == NO_PACK && is_kept(context, &id);
}

uint64_t store_remove_clones(struct store *store, store_is_kept *is_kept, void *context)
{
    uint64_t freed = 0;
    DIR *folder = directories_list(store->folder_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        if (text_starts_with(entry->d_name, PREFIX) &&
            !is_kept_clone(store, entry->d_name, is_kept, context) &&
            fstatat(store->folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            unlinkat(store->folder_fd, entry->d_name, 0) == 0)
            freed += (uint64_t)status.st_blocks * 512;
    }
    if (folder)
        closedir(folder);
    return freed;
}
