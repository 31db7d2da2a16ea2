"""Later walks: a directory that is as the last walk found it is not listed again. Whatever changed in one is found all the same."""
import errno
import os
import subprocess
import time

import scratch
from lab import killed
from scratch import Project, same, until
from undo_git import history

claim = scratch.Claims()
DIRECTORIES = 60  # with 50 files each: enough for threads


def settle():
    """Times are now older than any walk that follows by more than the clock's tick."""
    made = time.time()
    until(lambda: time.time() > made + 0.1, "the clock to tick")


def settled(place, name):
    """A project whose times are old, and that a run has walked."""
    project = Project(place, name)
    for number in range(DIRECTORIES):
        folder = project.path / f"d{number}" / "inner"
        folder.mkdir(parents=True)
        for file in range(50):
            (folder / f"f{file}").write_text(f"{number} {file}\n")
    settle()
    project.inside("true")
    return project


CHANGES = {
    "a file written in its place, its size and time as they were":
        "touch -r d1/inner/f1 t; printf 'X 1\\n' | dd of=d1/inner/f1 conv=notrunc status=none; touch -r t d1/inner/f1; rm t",
    "a file replaced by another of its size and time":
        "touch -r d2/inner/f1 t; printf 'X 1\\n' >t2; touch -r t t2; mv t2 d2/inner/f1; rm t",
    "two directories that change places": "mv d3/inner t; mv d4/inner d3/inner; mv t d4/inner",
    "files that change places": "mv d5/inner/f1 t; mv d5/inner/f2 d5/inner/f1; mv t d5/inner/f2",
    "a file written through a second name in another directory":
        "ln d6/inner/f1 d7/second; printf 'X 1\\n' >d7/second; rm d7/second",
    "a mode": "chmod 600 d8/inner/f9",
    "a directory's mode": "chmod 700 d9/inner",
    "a new file far down": "mkdir -p d10/inner/x/y; echo new >d10/inner/x/y/z",
    "a removed directory": "rm -r d11/inner",
    "a file in the place of a directory": "rm -r d12/inner; echo file >d12/inner",
    "a link in the place of a directory": "mv d13/inner d13/other; ln -s other d13/inner",
    "a link in the place of a file": "rm d14/inner/f3; ln -s f4 d14/inner/f3",
    "a new name of a file": "ln d15/inner/f1 d15/inner/name",
    "a mapping":
        "python3 -c 'import mmap; f = open(\"d17/inner/f1\", \"r+b\"); mmap.mmap(f.fileno(), 0)[0:1] = b\"X\"'",
}


@claim("later walks: every kind of change in a settled project is found, and undo takes it back")
def test_changes(place):
    project = settled(place, "settled")
    for what, script in CHANGES.items():
        before = project.looks()
        project.inside(script)
        assert project.looks() != before, f"{what}: nothing changed"
        project.bawn("undo")
        assert project.looks() == before, what


@claim("later walks: all kinds of change at once, found and taken back")
def test_changes_at_once(place):
    project = settled(place, "settled-once")
    before = project.looks()
    project.inside("; ".join(CHANGES.values()))
    project.bawn("undo")
    same(project.looks(), before)


@claim("later walks: what the host changed between two runs is no change of the second")
def test_between_runs(place):
    project = settled(place, "between")
    for what, script in CHANGES.items():
        subprocess.run(["sh", "-ec", script], cwd=project.path, check=True)
        before = project.looks()
        project.inside("echo x >>a")
        same([what, project.bawn("diff", "--name-only")], [what, "a\n"])
        project.bawn("undo")
        assert project.looks() == before, what


@claim("later walks: directories have their own times back after a killed run, although the tree was not written for them")
def test_times_of_killed(place):
    project = settled(place, "retimed")
    for number in range(1, 4):  # the files stay, the times of their directories do not
        project.write(f"d{number}/inner/new", "")
        (project.path / f"d{number}/inner/new").unlink()
    settle()
    before = project.looks()
    killed(project, "rm d1/inner/f1; rm -r d2/inner; echo x >d3/inner/f1; echo up; sleep 600")
    project.bawn("undo")
    same(project.looks(), before)


def settled_history(place, name):
    """A repository with loose objects, old times, and a run behind it. Returns also one of its objects."""
    project = history(place, name)
    settle()
    project.inside("true")
    return project, sorted(project.path.glob(".git/objects/[0-9a-f]?/*"))[0]


def damage(path):
    """Writes into the file and leaves its folder as it is, and the file's size and time."""
    was = path.stat()
    path.chmod(0o600)
    with open(path, "r+b") as file:
        file.write(b"X")
    path.chmod(was.st_mode & 0o777)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


@claim("later walks: an object that a run wrote in its place is as before, although the start did not look at it")
def test_object_in_run(place):
    project, victim = settled_history(place, "object-in-run")
    before = project.looks()
    name = victim.relative_to(project.path)
    project.inside(f"touch -r {name} t; chmod u+w {name}; printf X | dd of={name} conv=notrunc status=none; chmod 444 {name}; "
                   f"touch -r t {name}; rm t")
    assert victim.read_bytes()[:1] == b"X"
    project.bawn("undo")
    same(project.looks(), before)


@claim("later walks: an object that the host wrote in its place before a run is no change of that run")
def test_object_before_run(place):
    project, victim = settled_history(place, "object-before")
    damage(victim)
    settle()
    project.inside("true")
    assert "Nothing can be undone" in project.bawn("undo", "--list")
    before = project.looks()
    project.inside("echo x >>a")
    same(project.bawn("diff", "--name-only"), "a\n")
    project.bawn("undo")
    same(project.looks(), before)


@claim("later walks: an object that a run removes is back, and so is its folder")
def test_object_removed(place):
    project, victim = settled_history(place, "object-removed")
    before = {path: look for path, look in project.looks().items() if not path.startswith(".git/objects")}
    content = victim.read_bytes()
    project.inside(f"rm -rf {victim.parent.relative_to(project.path)}")
    project.bawn("undo")
    same(victim.read_bytes(), content)
    same({path: look for path, look in project.looks().items() if not path.startswith(".git/objects")}, before)


LISTEN = """
import socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.bind("s")
    server.listen()
    print("up", flush=True)
    sys.stdin.read()
"""
CONNECT = """
import socket
try:
    socket.socket(socket.AF_UNIX).connect("deep/er/s")
    print("connected")
except OSError as why:
    print(why.errno)
"""


@claim("later walks: a host's socket in a directory that never changes is hidden in every run")
def test_socket(place):
    project = Project(place, "sockets")
    folder = project.path / "deep/er"
    folder.mkdir(parents=True)
    # Bound by a relative name, it can be found by a walk alone: the kernel's list has no path for it.
    with subprocess.Popen(["python3", "-c", LISTEN], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        same(server.stdout.readline(), b"up\n")
        settle()
        same(subprocess.run(["python3", "-c", CONNECT], cwd=project.path, check=True, capture_output=True).stdout, b"connected\n")
        seen = [place.out("python3", "-c", CONNECT, cwd=project.path) for _ in range(3)]
        server.stdin.close()
    same(seen, [f"{errno.EACCES}\n"] * 3)
