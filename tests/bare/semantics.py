"""Calls that are judged, one after the other in a new directory: prints how each ends. Inside and outside must print the same.

    python3 semantics.py DIRECTORY
"""
import ctypes
import errno
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
X86_64 = os.uname().machine == "x86_64"
KERNEL = tuple(map(int, os.uname().release.split("-")[0].split(".")[:2]))
CWD = -100
RENAMEAT2, LINKAT, UNLINKAT, UTIMENSAT, FCHMODAT, FCHOWNAT = (
    (316, 265, 263, 280, 268, 260) if X86_64 else (276, 37, 35, 88, 53, 54))
FCHMOD, SETXATTR, LSETXATTR, REMOVEXATTR = (91, 188, 189, 197) if X86_64 else (52, 5, 6, 14)
FCHOWN, FSETXATTR, FREMOVEXATTR = (93, 190, 199) if X86_64 else (55, 7, 16)
FCHMODAT2 = 452
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2


def times(*values):
    return (ctypes.c_long * 4)(*values)


def by_descriptor(fd):
    return [(FCHMOD, fd, 0o640), (FCHMOD, fd, 0o600), (FCHMOD, fd, 0o740), (FCHOWN, fd, -1, -1), (FCHOWN, fd, os.getuid(), os.getgid()),
            (UTIMENSAT, fd, None, times(7, 0, 7, 0), 0), (UTIMENSAT, fd, None, times(0, OMIT, 9, 0), 0),
            (UTIMENSAT, fd, None, times(0, 1 << 31, 0, 0), 0), (UTIMENSAT, fd, None, None, 0), (UTIMENSAT, fd, None, times(6, 0, 6, 0), 0),
            (FSETXATTR, fd, b"user.f\0", b"1", 1, 0), (FSETXATTR, fd, b"user.f\0", b"1", 1, 1),
            (FREMOVEXATTR, fd, b"user.f\0"), (FREMOVEXATTR, fd, b"user.f\0")]


def calls(top):
    """Each is the number of a system call and its arguments. Text is a path; None is address 0; an int stands for itself."""
    top_fd = os.open(top, os.O_RDONLY)
    file_fd = os.open(top + "/a", os.O_RDONLY)
    path_fd = os.open(top + "/a", os.O_PATH)
    yield from [
        # names
        (RENAMEAT2, CWD, "a", CWD, "b", 0), (RENAMEAT2, CWD, "b", CWD, "a", 0), (RENAMEAT2, CWD, "none", CWD, "b", 0),
        (RENAMEAT2, CWD, "a/", CWD, "b", 0), (RENAMEAT2, CWD, "a", CWD, "b/", 0), (RENAMEAT2, CWD, "d/", CWD, "e/", 0),
        (RENAMEAT2, CWD, "e", CWD, "d//", 0), (RENAMEAT2, CWD, "a", CWD, "d", 0), (RENAMEAT2, CWD, "d", CWD, "a", 0),
        (RENAMEAT2, CWD, "d", CWD, "d/x", 0), (RENAMEAT2, CWD, "a", CWD, "a", 0), (RENAMEAT2, CWD, ".", CWD, "b", 0),
        (RENAMEAT2, CWD, "d/..", CWD, "b", 0), (RENAMEAT2, CWD, "/", CWD, "b", 0), (RENAMEAT2, CWD, "", CWD, "b", 0),
        (RENAMEAT2, CWD, "a", CWD, "/", 0), (RENAMEAT2, CWD, "//", CWD, "/", 0), (RENAMEAT2, CWD, "/", CWD, "a", 2),
        (UNLINKAT, CWD, "/", 0), (UNLINKAT, CWD, "//", 0x200), (LINKAT, CWD, "a", CWD, "/", 0), (LINKAT, CWD, "/", CWD, "b", 0),
        (RENAMEAT2, CWD, "a", CWD, "", 0), (RENAMEAT2, CWD, None, CWD, "b", 0), (RENAMEAT2, CWD, "a", CWD, "c", 1),
        (RENAMEAT2, CWD, "a", CWD, "c", 2), (RENAMEAT2, CWD, "a", CWD, "c", 2), (RENAMEAT2, CWD, "a", CWD, "none", 2),
        (RENAMEAT2, CWD, "a", CWD, "b", 3), (RENAMEAT2, CWD, "a", CWD, "b", 64), (RENAMEAT2, top_fd, "a", CWD, "b", 0),
        (RENAMEAT2, CWD, "b", top_fd, "a", 0), (RENAMEAT2, 999, "a", CWD, "b", 0), (RENAMEAT2, file_fd, "a", CWD, "b", 0),
        (RENAMEAT2, CWD, "a/b", CWD, "b", 0), (RENAMEAT2, CWD, "loop/x", CWD, "b", 0), (RENAMEAT2, CWD, "n" * 255, CWD, "b", 0),
        (RENAMEAT2, CWD, "n" * 256, CWD, "b", 0), (RENAMEAT2, CWD, "a", CWD, "n" * 256, 0), (RENAMEAT2, CWD, "x/" * 2100, CWD, "b", 0),
        (RENAMEAT2, CWD, "link", CWD, "link2", 0), (RENAMEAT2, CWD, "link2", CWD, "link", 0), (RENAMEAT2, CWD, "dangling", CWD, "dd", 0),
        (RENAMEAT2, CWD, "to-d/f", CWD, "to-d/g", 0), (RENAMEAT2, CWD, "d/g", CWD, "to-d/f", 0),
        (UNLINKAT, CWD, "none", 0), (UNLINKAT, CWD, "d", 0), (UNLINKAT, CWD, "a", 0x200), (UNLINKAT, CWD, "d", 0x200),
        (UNLINKAT, CWD, "empty/", 0x200), (UNLINKAT, CWD, "c/", 0), (UNLINKAT, CWD, ".", 0x200), (UNLINKAT, CWD, "d/..", 0x200),
        (UNLINKAT, CWD, "c", 1), (UNLINKAT, CWD, "dd", 0), (UNLINKAT, CWD, "", 0), (UNLINKAT, CWD, None, 0), (UNLINKAT, 999, "c", 0),
        (UNLINKAT, top_fd, "c", 0), (UNLINKAT, CWD, "to-d", 0x200), (UNLINKAT, CWD, "to-d/", 0x200), (UNLINKAT, CWD, "link3", 0),
        (LINKAT, CWD, "a", CWD, "l1", 0), (LINKAT, CWD, "a", CWD, "l1", 0), (LINKAT, CWD, "link", CWD, "l2", 0),
        (LINKAT, CWD, "link", CWD, "l3", 0x400), (LINKAT, CWD, "d", CWD, "l4", 0), (LINKAT, CWD, "none", CWD, "l5", 0),
        (LINKAT, CWD, "a", CWD, "l6/", 0), (LINKAT, CWD, f"/proc/self/fd/{file_fd}", CWD, "l7", 0x400), (LINKAT, CWD, "a", CWD, "", 0),
        (LINKAT, CWD, "a", CWD, "l8", 1), (LINKAT, CWD, "", CWD, "l9", 0), (LINKAT, CWD, "dangling2", CWD, "l10", 0x400),
        # names in a directory that is named by its descriptor
        (RENAMEAT2, CWD, f"/proc/self/fd/{top_fd}/a", CWD, f"/proc/self/fd/{top_fd}/b", 0), (RENAMEAT2, CWD, f"/dev/fd/{top_fd}//b", CWD, "a", 0),
        (LINKAT, CWD, f"/proc/self/fd/{top_fd}/a", CWD, f"/proc/self/fd/{top_fd}/l11", 0), (UNLINKAT, CWD, f"/proc/self/fd/{top_fd}/l11", 0),
        (RENAMEAT2, CWD, f"/proc/self/fd/{file_fd}/a", CWD, "b", 0), (RENAMEAT2, CWD, "/proc/self/fd/999/a", CWD, "b", 0),
        (FCHMODAT, CWD, f"/proc/self/fd/{top_fd}/a", 0o640), (UTIMENSAT, CWD, f"/proc/self/fd/{top_fd}/d/f", times(4, 0, 4, 0), 0),
        (UNLINKAT, CWD, f"/proc/self/fd/{top_fd}/none", 0), (FCHMODAT, CWD, f"/proc/self/fd/{top_fd}/../nowhere", 0o600),
        # metadata
        (FCHMODAT, CWD, "a", 0o600), (FCHMODAT, CWD, "none", 0o600), (FCHMODAT, CWD, "link", 0o640), (FCHMODAT, CWD, "loop", 0o600),
        (FCHMODAT, CWD, "", 0o600), (FCHMODAT, CWD, None, 0o600), (FCHMODAT, 999, "a", 0o600), (FCHMODAT, top_fd, "a", 0o644),
        (FCHMODAT, CWD, "d", 0o755), (FCHMODAT, CWD, "a/", 0o600), (FCHMODAT, CWD, "dangling2", 0o600), (FCHMODAT, CWD, "d", 0o1777),
        (FCHMODAT, CWD, "n" * 256, 0o600), (FCHMODAT, CWD, f"/proc/self/fd/{file_fd}", 0o604), (FCHMODAT, CWD, f"/dev/fd/{file_fd}", 0o644),
        (FCHMODAT2, CWD, "link", 0o600, 0x100), (FCHMODAT2, file_fd, "", 0o606, 0x1000), (FCHMODAT2, path_fd, "", 0o644, 0x1000),
        (FCHMODAT2, CWD, "a", 0o644, 1), (FCHMODAT2, CWD, "", 0o755, 0x1000), (FCHMODAT2, CWD, "a", 0o600, 0x100),
        (FCHMOD, file_fd, 0o644), (FCHMOD, 999, 0o644), (FCHMOD, top_fd, 0o755),
        (FCHOWNAT, CWD, "a", -1, -1, 0), (FCHOWNAT, CWD, "a", os.getuid(), os.getgid(), 0), (FCHOWNAT, CWD, "none", -1, -1, 0),
        (FCHOWNAT, CWD, "dangling2", -1, -1, 0x100), (FCHOWNAT, CWD, "dangling2", -1, -1, 0), (FCHOWNAT, file_fd, "", -1, -1, 0x1000),
        (FCHOWNAT, CWD, "a", -1, -1, 1), (FCHOWNAT, CWD, "", -1, -1, 0x1000),
        (UTIMENSAT, CWD, "a", times(1, 2, 3, 4), 0), (UTIMENSAT, CWD, "a", times(0, OMIT, 9, 0), 0),
        (UTIMENSAT, CWD, "a", times(0, OMIT, 0, OMIT), 0), (UTIMENSAT, CWD, "a", times(0, 1 << 29, 0, -1), 0),
        (UTIMENSAT, CWD, "link", times(5, 0, 5, 0), 0x100), (UTIMENSAT, file_fd, None, times(7, 0, 7, 0), 0),
        (UTIMENSAT, CWD, None, times(7, 0, 7, 0), 0), (UTIMENSAT, CWD, "none", times(7, 0, 7, 0), 0), (UTIMENSAT, 999, "a", None, 0),
        (UTIMENSAT, path_fd, "", times(8, 0, 8, 0), 0x1000),
        (UTIMENSAT, CWD, "a", times(1, 0, 1, 0), 4), (UTIMENSAT, CWD, "", times(1, 0, 1, 0), 0), (UTIMENSAT, CWD, "d/f", times(3, 0, 3, 0), 0),
        (SETXATTR, "a", b"user.x\0", b"1", 1, 1), (SETXATTR, "a", b"user.x\0", b"1", 1, 1), (SETXATTR, "a", b"user.x\0", b"22", 2, 2),
        (SETXATTR, "a", b"user.y\0", b"1", 1, 2), (SETXATTR, "a", b"user.z\0", b"1", 70000, 0), (SETXATTR, "a", b"\0", b"1", 1, 0),
        (SETXATTR, "a", b"user." + b"n" * 260 + b"\0", b"1", 1, 0), (SETXATTR, "a", b"none.x\0", b"1", 1, 0),
        (SETXATTR, "a", b"user.e\0", b"", 0, 0), (SETXATTR, "none", b"user.x\0", b"1", 1, 0), (SETXATTR, "a", None, b"1", 1, 0),
        (LSETXATTR, "link", b"user.x\0", b"1", 1, 0), (SETXATTR, "link", b"user.l\0", b"1", 1, 0), (SETXATTR, "a", b"user.x\0", b"1", 1, 8),
        (REMOVEXATTR, "a", b"user.x\0"), (REMOVEXATTR, "a", b"user.x\0"), (REMOVEXATTR, "none", b"user.x\0"),
        # by descriptor, one after another: from the second on the kernel carries them out
        *by_descriptor(file_fd), *by_descriptor(top_fd), *by_descriptor(path_fd), *by_descriptor(999), *by_descriptor(-1),
        *by_descriptor(os.pipe()[0]), *by_descriptor(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)),
    ]


def fill(top):
    os.makedirs(top + "/d")
    os.mkdir(top + "/empty")
    for name in ("a", "c", "d/f"):
        with open(f"{top}/{name}", "w") as file:
            file.write(name)
    for name, target in (("link", "a"), ("link3", "a"), ("dangling", "none"), ("dangling2", "none"), ("loop", "loop"), ("to-d", "d")):
        os.symlink(target, f"{top}/{name}")


def looks(top):
    for name in sorted(os.listdir(top)) + ["d/" + name for name in sorted(os.listdir(top + "/d"))]:
        status = os.lstat(f"{top}/{name}")
        old = status.st_mtime_ns if status.st_mtime < 100 else "new"
        names = {} if os.path.islink(f"{top}/{name}") else {n: os.getxattr(f"{top}/{name}", n) for n in os.listxattr(f"{top}/{name}")}
        print(name, oct(status.st_mode), status.st_nlink if not os.path.isdir(f"{top}/{name}") else "", old, sorted(names.items()))


def main(top):
    os.umask(0o22)
    fill(top)
    os.chdir(top)
    for number, *arguments in calls(top):
        if number == FCHMODAT2 and KERNEL < (6, 6):  # which has no such call; bawn's judge does
            continue
        words = [ctypes.c_void_p(None) if a is None else ctypes.c_char_p(a.encode() if isinstance(a, str) else a) if
                 isinstance(a, (str, bytes)) else a if isinstance(a, ctypes.Array) else ctypes.c_long(a) for a in arguments]
        got = LIBC.syscall(ctypes.c_long(number), *words)
        shown = [a if not isinstance(a, ctypes.Array) else list(a) for a in arguments]
        print(number, str([str(a)[:40] for a in shown]), "done" if got == 0 else errno.errorcode[ctypes.get_errno()] if got < 0 else got)
    looks(".")


if __name__ == "__main__":
    main(sys.argv[1])
