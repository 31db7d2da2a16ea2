"""One act, said as words; prints the errno that it ends with, or "done". Runs outside as a control, and inside as an attack.

    python3 acts.py ACT [WORD...]
"""
import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
X86_64 = os.uname().machine == "x86_64"
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW = -100, 0x1000, 0x100


def call(number, *arguments):
    """A raw system call: no libc in between chooses another one."""
    words = [ctypes.c_char_p(a.encode()) if isinstance(a, str) else a if isinstance(a, ctypes.Array) else
             ctypes.c_long(a) for a in arguments]
    if LIBC.syscall(ctypes.c_long(number), *words) < 0:
        raise OSError(ctypes.get_errno(), "")


def number(x86_64, aarch64):
    return x86_64 if X86_64 else aarch64


FLAGS_OF_FILE = 0x40086602  # FS_IOC_SETFLAGS


def set_flags(path):
    with open(path) as file:
        flags = struct.unpack("l", fcntl.ioctl(file, 0x80086601, struct.pack("l", 0)))[0]
        fcntl.ioctl(file, FLAGS_OF_FILE, struct.pack("l", flags))


def by_descriptor(act):
    def with_open(path, *rest):
        fd = os.open(path, os.O_RDONLY)
        act(fd, *rest)
        os.close(fd)
    return with_open


def connect_unix(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\0" + path[1:] if path.startswith("@") else path)


def datagram(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", path)


def connect_tcp(port):
    with socket.create_connection(("127.0.0.1", int(port))):
        pass


def set_nice(pid):
    os.setpriority(os.PRIO_PROCESS, int(pid), os.getpriority(os.PRIO_PROCESS, int(pid)))


def set_limit(pid):
    import resource
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE, resource.prlimit(int(pid), resource.RLIMIT_NOFILE))


def trace(pid):
    if LIBC.ptrace(16, int(pid), None, None) < 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "")
    os.waitpid(int(pid), 0)
    LIBC.ptrace(17, int(pid), None, None)


def read_memory(pid):
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    with open(f"/proc/{pid}/stat") as stat:
        start = int(stat.read().rpartition(")")[2].split()[26 - 1])  # start_code… any mapped address will do
    here = ctypes.create_string_buffer(8)
    ours, theirs = Part(ctypes.addressof(here), 8), Part(start, 8)
    if LIBC.process_vm_readv(int(pid), ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "")


def read_file(path):
    with open(path, "rb") as file:
        file.read(1)


def append(path):
    with open(path, "ab") as file:
        file.write(b"evil")


def make(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def replace(path):
    with open(path + ".evil", "w") as file:
        file.write("evil")
    try:
        os.rename(path + ".evil", path)
    finally:
        if os.path.exists(path + ".evil"):
            os.unlink(path + ".evil")


def in_directory(act):
    """The path is spelt as /proc/self/fd/N/name, with the directory open as N."""
    def with_open(*words):
        *first, folder, name = words
        act(*first, f"/proc/self/fd/{os.open(folder, os.O_RDONLY)}/{name}")
    return with_open


TIMES = (ctypes.c_long * 4)(1, 0, 1, 0)
ACTS = {
    "read": read_file, "list": os.listdir, "append": append, "make": make, "replace": replace,
    "truncate": lambda path: os.truncate(path, 0),
    "open-truncating": lambda path: os.close(os.open(path, os.O_RDONLY | os.O_TRUNC)),
    "open-for-nothing": lambda path: os.close(os.open(path, os.O_ACCMODE)),  # neither to read nor to write, so Landlock wants no right
    "open-for-nothing-truncating": lambda path: os.close(os.open(path, os.O_ACCMODE | os.O_TRUNC)),
    "unlink": os.unlink, "rename": os.rename, "link": os.link,
    "mkdir": os.mkdir, "rmdir": os.rmdir, "symlink": os.symlink,
    "exchange": lambda a, b: call(number(316, 276), AT_FDCWD, a, AT_FDCWD, b, 2),
    "chmod": lambda path: os.chmod(path, 0o640),
    "chmod-setuid": lambda path: os.chmod(path, 0o4755),
    "fchmod": by_descriptor(lambda fd: os.fchmod(fd, 0o640)),
    "fchmodat2": lambda path: call(452, AT_FDCWD, path, 0o640, 0),
    "fchmodat2-fd": by_descriptor(lambda fd: call(452, fd, "", 0o640, AT_EMPTY_PATH)),
    "chmod-proc": by_descriptor(lambda fd: os.chmod(f"/proc/self/fd/{fd}", 0o640)),
    "chown": lambda path: os.chown(path, -1, os.getgid()),
    "lchown": lambda path: os.lchown(path, -1, os.getgid()),
    "fchown": by_descriptor(lambda fd: os.fchown(fd, -1, os.getgid())),
    "utime": lambda path: os.utime(path, (1, 1)),
    "utime-raw": lambda path: call(132, path, 0) if X86_64 else os.utime(path),
    "utimes": lambda path: call(235, path, TIMES) if X86_64 else os.utime(path, (1, 1)),
    "futimesat": lambda path: call(261, AT_FDCWD, path, TIMES) if X86_64 else os.utime(path, (1, 1)),
    "futimens": by_descriptor(lambda fd: os.utime(fd, (1, 1))),
    "setxattr": lambda path: os.setxattr(path, "user.bawn", b"1"),
    "lsetxattr": lambda path: os.setxattr(path, "user.bawn", b"1", follow_symlinks=False),
    "fsetxattr": by_descriptor(lambda fd: os.setxattr(fd, "user.bawn", b"1")),
    "removexattr": lambda path: os.removexattr(path, "user.bawn"),
    "fremovexattr": by_descriptor(lambda fd: os.removexattr(fd, "user.bawn")),
    "flags": set_flags,
    "terminal": lambda path: os.write(os.open(path, os.O_RDWR | os.O_NOCTTY), b"evil"),
    "shm-open": lambda path: os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC),
    "rename-by-descriptor": in_directory(os.rename), "unlink-by-descriptor": in_directory(os.unlink),
    "kill": lambda pid: os.kill(int(pid), 0),
    "kill-all": lambda: os.kill(-1, 0),
    "pidfd": lambda pid: signal.pidfd_send_signal(os.pidfd_open(int(pid)), 0),
    "nice": set_nice, "limit": set_limit,
    "affinity": lambda pid: os.sched_setaffinity(int(pid), os.sched_getaffinity(int(pid))),
    "trace": trace, "memory": read_memory,
    "connect": connect_unix, "datagram": datagram, "tcp": connect_tcp,
    "shm": lambda: call(number(29, 194), 0, 4096, 0o1600),
    "mq": lambda name: call(number(240, 180), name, 0o102, 0o600, 0),
    "mq-unlink": lambda name: call(number(241, 181), name),
    "landlock": lambda: call(444, 0, 0, 1),
    "unshare": lambda: call(number(272, 97), 0x10000000),
}

if __name__ == "__main__":
    try:
        ACTS[sys.argv[1]](*sys.argv[2:])
        print("done")
    except OSError as why:
        print(errno.errorcode[why.errno])
