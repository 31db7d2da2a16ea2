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

int exec_notice_begin(struct err *err)
{
    /* The other filter refuses calls of another architecture. */
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    const struct sock_fprog program = {.len = array_len(code), .filter = code};
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (fd >= 0)
        return fd;
    int errnum = errno;
    err_sys(err, errnum, "cannot record processes");
    return err_hint(err, errnum == EBUSY
                             ? "another sandbox around this one already listens; leave --log-exec out"
                             : "this kernel lacks seccomp's notifications; leave --log-exec out");
}

static void *in_process(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr): of another process's memory
}

/* Reads a text from the process's memory, up to its NUL, in parts: the memory behind it may be unmapped. */
static size_t read_text(pid_t pid, uint64_t address, char *out, size_t capacity)
{
    enum { PART = 256 };
    size_t size = 0;
    while (size + 1 < capacity) {
        size_t wanted = PART - (address + size) % PART;
        wanted = wanted < capacity - 1 - size ? wanted : capacity - 1 - size;
        struct iovec here = {out + size, wanted}, there = {in_process(address + size), wanted};
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0)
            break;
        const char *end = memchr(out + size, '\0', (size_t)got);
        if (end)
            return (size_t)(end - out);
        size += (size_t)got;
    }
    out[size] = '\0';
    return size;
}

enum { MOST_ARGUMENTS = 64, ARGUMENT_LONGEST = 256 };

static void add_argument(struct exec_notice *notice, const char *text, size_t size)
{
    size_t room = sizeof(notice->arguments) - notice->arguments_size;
    if (room < size + 1)
        return;
    memcpy(notice->arguments + notice->arguments_size, text, size);
    notice->arguments[notice->arguments_size + size] = '\0';
    notice->arguments_size += size + 1;
}

/* Makes two calls for any number of arguments: one for the addresses, one for the texts. */
static void read_arguments(struct exec_notice *notice, uint64_t address)
{
    uint64_t pointers[MOST_ARGUMENTS] = {0};
    char texts[MOST_ARGUMENTS][ARGUMENT_LONGEST];
    struct iovec here = {pointers, sizeof(pointers)}, there = {in_process(address), sizeof(pointers)};
    ssize_t got = process_vm_readv(notice->pid, &here, 1, &there, 1, 0);
    size_t count = 0, most = got > 0 ? (size_t)got / sizeof(*pointers) : 0;
    struct iovec theirs[MOST_ARGUMENTS], ours[MOST_ARGUMENTS];
    for (; count < most && pointers[count]; count++) {
        theirs[count] = (struct iovec){in_process(pointers[count]), ARGUMENT_LONGEST};
        ours[count] = (struct iovec){texts[count], ARGUMENT_LONGEST};
    }
    got = count ? process_vm_readv(notice->pid, ours, count, theirs, count, 0) : 0;
    size_t whole = got > 0 ? (size_t)got / ARGUMENT_LONGEST : 0;
    for (size_t i = 0; i < count; i++) {
        /* A text near the end of the last mapped page is read alone. */
        size_t size = i < whole ? strnlen(texts[i], ARGUMENT_LONGEST - 1)
                                : read_text(notice->pid, pointers[i], texts[i], ARGUMENT_LONGEST);
        add_argument(notice, texts[i], size);
    }
}

/* Looks the file up from the process's root, through no link that leads out of it. Opens only the name. */
static bool is_there(const struct exec_notice *notice)
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

int exec_notice_take(int listener_fd, struct exec_notice *ret_notice)
{
    union {
        struct seccomp_notif notice;
        char room[512]; // cppcheck-suppress unusedStructMember ; kernels to come may say more
    } asked = {0};
    union {
        struct seccomp_notif_resp answer;
        char room[512]; // cppcheck-suppress unusedStructMember
    } said = {0};
    *ret_notice = (struct exec_notice){0};
    if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
        return errno == EINTR || errno == ENOENT || errno == EAGAIN ? 0 : -1;
    bool is_at = asked.notice.data.nr == SYS_execveat;
    ret_notice->pid = (pid_t)asked.notice.pid;
    read_text(ret_notice->pid, asked.notice.data.args[is_at], ret_notice->path, sizeof(ret_notice->path));
    read_arguments(ret_notice, asked.notice.data.args[1 + is_at]);
    ret_notice->is_there = is_there(ret_notice);
    ret_notice->pid_fd = ret_notice->is_there ? (int)syscall(SYS_pidfd_open, ret_notice->pid, 0) : -1;
    if (ret_notice->is_there)
        read_parent(ret_notice); /* the process may end as soon as it continues */
    said.answer =
        (struct seccomp_notif_resp){.id = asked.notice.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    int sent;
    do {
        sent = ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &said);
    } while (sent < 0 && errno == EINTR);
    return sent == 0 ? 1 : errno == ENOENT ? 0 : -1; /* ENOENT: it was killed meanwhile */
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
