"""The first walk of a large project: several threads read its files."""
import os

import scratch
from scratch import Project, same

claim = scratch.Claims()
FILES = 1500  # enough for threads


def large(place, name):
    """Files of every kind that is stored in its own way, among many small ones."""
    project = Project(place, name)
    top = project.path
    for number in range(FILES):
        folder = top / f"d{number % 30}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_text(f"{number % 700}\n")  # many contents twice
    (top / "d0/empty").write_text("")
    (top / "d1/largest-small").write_bytes(os.urandom(256 * 1024))
    (top / "d1/larger").write_bytes(os.urandom(256 * 1024 + 1))
    for number in range(10):  # more than a thread keeps in memory
        (top / f"d2/half-{number}").write_bytes(os.urandom(200 * 1024))
    with open(top / "d3/sparse", "wb") as file:
        file.truncate(8 << 20)
        file.seek(5 << 20)
        file.write(b"data")
    (top / "d4/first").write_text("two names\n")
    os.link(top / "d4/first", top / "d29/second")
    os.link(top / "d4/first", top / "a-third")
    (top / "d5/marked").write_text("marked\n")
    os.setxattr(top / "d5/marked", "user.mark", b"value")
    (top / "d6/link").symlink_to("../d7/f7")
    return project


def attribute(project):
    return os.getxattr(project.path / "d5/marked", "user.mark")


@claim("first walk: a project of all kinds of file is as it was after undo, although a run removed all of it")
def test_all_kinds(place):
    project = large(place, "all-kinds")
    before = project.looks()
    closed = project.path / "closed/file"
    project.write("closed/file", "not readable\n", mode=0)
    project.inside("rm -rf d* a-third closed")
    assert not (project.path / "d0").exists()
    project.bawn("undo")
    same(closed.stat().st_mode & 0o777, 0)
    closed.chmod(0o600)
    same(closed.read_text(), "not readable\n")
    closed.unlink()
    closed.parent.rmdir()
    same(project.looks(), before)
    same(attribute(project), b"value")
    same((project.path / "d3/sparse").stat().st_blocks < 8192, True)


@claim("first walk: what a run wrote into one of many files is found, and nothing else")
def test_one_of_many(place):
    project = large(place, "one-of-many")
    before = project.looks()
    project.inside("echo x >>d9/f9; echo y >>d29/second")
    same(project.bawn("diff", "--name-only").split(), ["a-third", "d29/second", "d4/first", "d9/f9"])
    project.bawn("undo")
    same(project.looks(), before)
