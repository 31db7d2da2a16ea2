#include "kernel/exec_notice.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/memory.h"
#include "kernel/notice.h"

/* Older kernel headers lack it (Linux 6.13; exit status since 6.15). */
struct process_information {
    uint64_t mask;
    uint64_t cgroup; // cppcheck-suppress unusedStructMember; the kernel's layout
    uint32_t pid;    // cppcheck-suppress unusedStructMember; the kernel's layout
    uint32_t group;  // cppcheck-suppress unusedStructMember; the kernel's layout
    uint32_t parent;
    uint32_t users[8]; // cppcheck-suppress unusedStructMember; the kernel's layout
    int32_t exit_code;
};
#define PROCESS_GET_INFORMATION _IOWR(0xFF, 11, struct process_information)
#define PROCESS_INFORMATION_IDS UINT64_C(1)
#define PROCESS_INFORMATION_END (UINT64_C(1) << 3)

int exec_notice_begin(enum notice_patience patience, struct err *err)
{
    /* The other filter refuses calls of another architecture. */
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    int fd = notice_begin(code, array_len(code), patience);
    if (fd >= 0)
        return fd;
    int errnum = errno;
    err_sys(err, errnum, "cannot watch which programs the command runs");
    return err_hint(err,
                    errnum == EBUSY
                        ? "another sandbox around this one already listens; leave --log-exec and guards out"
                        : "this kernel lacks seccomp's notifications; leave --log-exec and guards out");
}

enum { MOST_ARGUMENTS = 64, ARGUMENT_LONGEST = 256 };

static void add_argument(struct exec_notice *notice, const char *text, size_t size)
{
    size_t room = sizeof(notice->arguments) - notice->arguments_size;
    if (room < size + 1) {
        notice->is_cut = true;
        return;
    }
    memcpy(notice->arguments + notice->arguments_size, text, size);
    notice->arguments[notice->arguments_size + size] = '\0';
    notice->arguments_size += size + 1;
}

/* Makes two calls for any number of arguments: one for the addresses, one for the texts. */
static void read_arguments(struct exec_notice *notice, uint64_t address)
{
    uint64_t pointers[MOST_ARGUMENTS] = {0};
    char texts[MOST_ARGUMENTS][ARGUMENT_LONGEST];
    size_t count = 0,
           most = memory_read_some(notice->pid, address, pointers, sizeof(pointers)) / sizeof(*pointers);
    struct iovec theirs[MOST_ARGUMENTS], ours[MOST_ARGUMENTS];
    for (; count < most && pointers[count]; count++) {
        theirs[count] = (struct iovec){memory_of_process(pointers[count]), ARGUMENT_LONGEST};
        // cppcheck-suppress legacyUninitvar ; the kernel fills it
        ours[count] = (struct iovec){texts[count], ARGUMENT_LONGEST};
    }
    ssize_t got = count ? process_vm_readv(notice->pid, ours, count, theirs, count, 0) : 0;
    size_t whole = got > 0 ? (size_t)got / ARGUMENT_LONGEST : 0;
    for (size_t i = 0; i < count; i++) {
        /* A text near the end of the last mapped page is read alone. */
        size_t size = i < whole
                          ? strnlen(texts[i], ARGUMENT_LONGEST - 1)
                          : memory_read_text(notice->pid, pointers[i], texts[i], ARGUMENT_LONGEST, NULL);
        notice->is_cut |= size >= ARGUMENT_LONGEST - 1;
        add_argument(notice, texts[i], size);
    }
    notice->is_cut |= count == MOST_ARGUMENTS;
}

/* Looks the file up from the process's root, through no link that leads out of it. Opens only the name. */
bool exec_notice_is_there(const struct exec_notice *notice)
{
    char place[64];
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    bool is_absolute = *notice->path == '/';
    if (!*notice->path)
        return true; /* executed by descriptor, or not readable */
    snprintf(place, sizeof(place), "/proc/%d/%s", (int)notice->pid, is_absolute ? "root" : "cwd");
    auto_fd int start = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (start < 0)
        return true;
    if (!is_absolute)
        how.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
    auto_fd int file = (int)syscall(SYS_openat2, start, notice->path, &how, sizeof(how));
    return file >= 0 || errno != ENOENT;
}

/* "4711 (name) S 12 …": the name may contain parentheses. "" if it cannot be read any more. */
static void look_up_parent(struct exec_notice *notice)
{
    char path[64], text[1024] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)notice->pid);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *end = size > 0 ? strrchr(text, ')') : NULL;
    if (end && strlen(end) > 4)
        snprintf(notice->parent, sizeof(notice->parent), "%.*s", (int)strspn(end + 4, "0123456789"), end + 4);
}

/* The kernel's call is faster than reading /proc. */
static void read_parent(struct exec_notice *notice)
{
    struct process_information information = {.mask = PROCESS_INFORMATION_IDS};
    if (ioctl(notice->pid_fd, PROCESS_GET_INFORMATION, &information) < 0)
        look_up_parent(notice);
    else
        snprintf(notice->parent, sizeof(notice->parent), "%u", information.parent);
}

/* With namespaces this user may read all memory inside, but for process 1's and that of programs whose file may not be read. */
static bool is_closed(pid_t pid, uint64_t address)
{
    char byte;
    return address && memory_read(pid, address, &byte, 1) < 0 && errno == EPERM;
}

int exec_notice_receive(int listener_fd, int told_fd, struct exec_notice *ret_notice)
{
    struct notice asked;
    *ret_notice = (struct exec_notice){.pid_fd = -1};
    int taken = told_fd < 0 ? notice_take(listener_fd, &asked) : notice_take_told(told_fd, &asked);
    if (taken <= 0)
        return taken;
    bool is_at = asked.call == SYS_execveat;
    ret_notice->id = asked.id;
    ret_notice->pid = asked.pid;
    ret_notice->arguments_at = asked.arguments[1 + is_at];
    memory_read_text(ret_notice->pid, asked.arguments[is_at], ret_notice->path, sizeof(ret_notice->path),
                     NULL);
    ret_notice->is_closed =
        told_fd >= 0 && !*ret_notice->path && is_closed(asked.pid, asked.arguments[is_at]);
    return 1;
}

void exec_notice_read_arguments(struct exec_notice *notice)
{
    notice->arguments_size = 0;
    read_arguments(notice, notice->arguments_at);
}

void exec_notice_look(struct exec_notice *notice)
{
    notice->is_there = exec_notice_is_there(notice);
    notice->pid_fd = notice->is_there ? (int)syscall(SYS_pidfd_open, notice->pid, 0) : -1;
    if (notice->is_there)
        read_parent(notice); /* the process may end as soon as it continues */
}

bool exec_read_end(int pid_fd, int *ret_status)
{
    struct process_information information = {.mask = PROCESS_INFORMATION_END};
    if (ioctl(pid_fd, PROCESS_GET_INFORMATION, &information) < 0 ||
        !(information.mask & PROCESS_INFORMATION_END))
        return false;
    *ret_status = information.exit_code;
    return true;
}
