#include "kernel/path_notice.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "kernel/memory.h"

enum { NONE = -1 };

/* Which arguments of a call have the path, its start and the flags of an open. */
struct call {
    int number;
    enum path_act act;
    signed char path, start, flags;
};

static const struct call calls[] = {
    {SYS_openat, PATH_READ, 1, 0, 2},           {SYS_openat2, PATH_READ, 1, 0, 2},
    {SYS_newfstatat, PATH_LOOK, 1, 0, NONE},    {SYS_statx, PATH_LOOK, 1, 0, NONE},
    {SYS_faccessat, PATH_LOOK, 1, 0, NONE},     {SYS_faccessat2, PATH_LOOK, 1, 0, NONE},
    {SYS_readlinkat, PATH_LOOK, 1, 0, NONE},    {SYS_chdir, PATH_READ, 0, NONE, NONE},
    {SYS_execve, PATH_EXECUTE, 0, NONE, NONE},  {SYS_execveat, PATH_EXECUTE, 1, 0, NONE},
    {SYS_mkdirat, PATH_MAKE, 1, 0, NONE},       {SYS_unlinkat, PATH_WRITE, 1, 0, NONE},
    {SYS_renameat2, PATH_MAKE, 3, 2, NONE},     {SYS_linkat, PATH_MAKE, 3, 2, NONE},
    {SYS_symlinkat, PATH_MAKE, 2, 1, NONE},     {SYS_truncate, PATH_WRITE, 0, NONE, NONE},
    {SYS_connect, PATH_CONNECT, 1, NONE, NONE},
#ifdef SYS_renameat
    {SYS_renameat, PATH_MAKE, 3, 2, NONE},
#endif
#ifdef SYS_open
    {SYS_open, PATH_READ, 0, NONE, 1},          {SYS_creat, PATH_MAKE, 0, NONE, NONE},
    {SYS_stat, PATH_LOOK, 0, NONE, NONE},       {SYS_lstat, PATH_LOOK, 0, NONE, NONE},
    {SYS_access, PATH_LOOK, 0, NONE, NONE},     {SYS_readlink, PATH_LOOK, 0, NONE, NONE},
    {SYS_mkdir, PATH_MAKE, 0, NONE, NONE},      {SYS_rmdir, PATH_WRITE, 0, NONE, NONE},
    {SYS_unlink, PATH_WRITE, 0, NONE, NONE},    {SYS_rename, PATH_MAKE, 1, NONE, NONE},
    {SYS_link, PATH_MAKE, 1, NONE, NONE},       {SYS_symlink, PATH_MAKE, 1, NONE, NONE},
#endif
};

int path_notice_begin(struct err *err)
{
    /* Load the number; compare it with each call; allow; notify. The other filter refuses calls of another architecture. */
    enum { COUNT = array_len(calls) };
    struct sock_filter code[COUNT + 3];
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT; i++)
        code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number,
                                                   (uint8_t)(COUNT - i), 0);
    code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    int fd = notice_begin(code, array_len(code), NOTICE_AT_ONCE);
    if (fd >= 0)
        return fd;
    int errnum = errno;
    err_sys(err, errnum, "cannot watch which paths the command names");
    return err_hint(err, errnum == EBUSY ? "another sandbox around this one already listens"
                                         : "this kernel lacks seccomp's notifications");
}

/* What an open asks for. Of openat2 the flags lie in the process's memory. */
static enum path_act act_of_open(const struct notice *notice, const struct call *call)
{
    uint64_t flags = notice->arguments[call->flags];
    if (call->number == SYS_openat2) {
        struct open_how how = {0};
        memory_read_some(notice->pid, flags, &how, sizeof(how.flags));
        flags = how.flags;
    }
    if (flags & O_CREAT)
        return PATH_MAKE;
    if (flags & O_PATH)
        return PATH_LOOK;
    return (flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC) ? PATH_READ : PATH_WRITE;
}

/* The path of a Unix socket; "" for an abstract one and for other families. */
static void read_address(const struct notice *notice, char *out, size_t capacity)
{
    struct sockaddr_un address = {0};
    uint64_t size = notice->arguments[2];
    size = size < sizeof(address) ? size : sizeof(address);
    size_t got = memory_read_some(notice->pid, notice->arguments[1], &address, size);
    if (got <= offsetof(struct sockaddr_un, sun_path) || address.sun_family != AF_UNIX)
        return;
    size_t length = strnlen(address.sun_path, sizeof(address.sun_path));
    if (length < capacity) {
        memcpy(out, address.sun_path, length);
        out[length] = '\0';
    }
}

bool path_notice_knows(int call)
{
    for (size_t i = 0; i < array_len(calls); i++) {
        if (calls[i].number == call)
            return true;
    }
    return false;
}

int path_notice_take(int fd, bool is_told, struct path_notice *ret_notice)
{
    ret_notice->path[0] = '\0';
    ret_notice->start = AT_FDCWD;
    int taken = is_told ? notice_take_told(fd, &ret_notice->notice) : notice_take(fd, &ret_notice->notice);
    const struct notice *notice = &ret_notice->notice;
    for (size_t i = 0; taken > 0 && i < array_len(calls); i++) {
        const struct call *call = &calls[i];
        if (call->number != notice->call)
            continue;
        ret_notice->act = call->flags == NONE ? call->act : act_of_open(notice, call);
        ret_notice->start = call->start == NONE ? AT_FDCWD : (int)notice->arguments[call->start];
        if (call->act == PATH_CONNECT)
            read_address(notice, ret_notice->path, sizeof(ret_notice->path));
        else
            memory_read_text(notice->pid, notice->arguments[call->path], ret_notice->path,
                             sizeof(ret_notice->path), NULL);
        break;
    }
    return taken;
}
