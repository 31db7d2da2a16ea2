"""What /proc says of processes that may end while it is being read: one that has ended has no name and no children."""
import contextlib
import pathlib


def children_of(pid):
    """Their numbers. With more than one thread a child counts whichever thread made it."""
    found = []
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def all_below(pid):
    """Its children, and theirs."""
    return [each for child in children_of(pid) for each in (child, *all_below(child))]


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    return ""


def words_of(pid):
    """What it was started with."""
    with contextlib.suppress(OSError):
        return [word.decode(errors="replace") for word in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    return [""]


def is_alive(pid):
    """One that nobody has waited for is dead."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
