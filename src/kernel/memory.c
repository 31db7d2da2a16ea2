#include "kernel/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

void *memory_of_process(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr): of another process's memory
}

size_t memory_read_some(pid_t pid, uint64_t address, void *ret_bytes, size_t size)
{
    struct iovec here = {ret_bytes, size}, there = {memory_of_process(address), size};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

int memory_read(pid_t pid, uint64_t address, void *ret_bytes, size_t size)
{
    struct iovec here = {ret_bytes, size}, there = {memory_of_process(address), size};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (got == (ssize_t)size)
        return 0;
    errno = got < 0 ? errno : EFAULT;
    return -1;
}

int memory_write(pid_t pid, uint64_t address, const void *bytes, size_t size)
{
    struct iovec here = {(void *)bytes, size}, there = {memory_of_process(address), size};
    ssize_t put = process_vm_writev(pid, &here, 1, &there, 1, 0);
    if (put == (ssize_t)size)
        return 0;
    errno = put < 0 ? errno : EFAULT;
    return -1;
}

size_t memory_read_text(pid_t pid, uint64_t address, char *ret_text, size_t capacity, bool *ret_is_whole)
{
    enum { PART = 256 };
    size_t size = 0;
    bool ignored = false;
    ret_is_whole = ret_is_whole ? ret_is_whole : &ignored;
    *ret_is_whole = false;
    while (size + 1 < capacity) {
        size_t wanted = PART - (address + size) % PART;
        wanted = wanted < capacity - 1 - size ? wanted : capacity - 1 - size;
        size_t got = memory_read_some(pid, address + size, ret_text + size, wanted);
        if (got == 0)
            break;
        const char *end = memchr(ret_text + size, '\0', got);
        if (end) {
            *ret_is_whole = true;
            return (size_t)(end - ret_text);
        }
        size += got;
    }
    ret_text[size] = '\0';
    return size;
}
