"""A script acts on the session of its own run: --session-file, and names of sessions that changed nothing."""
import re

import scratch
from scratch import Project, same

claim = scratch.Claims()
REFUSED = 125


def walls():
    return [(), *([("--walls", "landlock")] if scratch.landlock_version() >= 4 else [])]


def own_place(place, name):
    """A directory that no run can write."""
    folder = place.home / "own" / name
    folder.mkdir(parents=True)
    return folder


def refused(project, file, *flags, script="echo ran >>ran"):
    done = project.place.run("sh", "-c", script, cwd=project.path, flags=("--net", "off", "--session-file", str(file), *flags))
    same((done.returncode, (project.path / "ran").exists()), (REFUSED, False))
    return done.stderr.decode()


@claim("--session-file: the file has the name of this run's session before the command begins, also with --review, --branch and without namespaces")
def test_named(place):
    project, own = Project(place, "named"), own_place(place, "named")
    project.git("init", "-q")
    project.git("add", ".")
    project.git("commit", "-qm", "first")
    file = own / "session"
    for number, flags in enumerate([("--review",), (), ("--branch", "b"), *([(*walls()[-1], "--review")] if walls()[1:] else [])], 1):
        file.write_text("named-77\n")  # of an earlier run
        done = project.place.run("cat", file, cwd=project.path, flags=("--net", "off", "--read", str(own), "--session-file", str(file), *flags))
        same((done.returncode, done.stdout.decode(), file.read_text()), (0, f"named-{number}\n", f"named-{number}\n"))
        same(file.stat().st_mode & 0o777, 0o600)
    project.inside("cat a", "--session-file", "../../own/named/relative")
    same((own / "relative").read_text(), f"named-{number + 1}\n")


@claim("--session-file: a file in a place that this run, or another, can write is refused before the command begins")
def test_writable(place):
    project, own = Project(place, "writable"), own_place(place, "writable")
    given, file = place.folder("given"), own / "session"
    for flags in walls():
        for path in (project.path / "session", given / "session"):
            assert f"{path} is not used: a run of bawn can write in" in refused(project, path, "--write", str(given), *flags)
            same(path.read_text(), "")  # no name that could be taken for this run's
    # The attack: a run that could write there names another session. An earlier run could, and so may its processes.
    project.inside("echo victim-1 >session; cat a")
    same(project.read("session"), "victim-1\n")
    assert "a run of bawn can write in" in refused(project, given / "session")
    project.inside("cat a", "--session-file", str(file))  # the control
    assert re.fullmatch(r"writable-\d+\n", file.read_text()), file.read_text()


@claim("--session-file: with --full-access, whose command could write any file, it is refused")
def test_full_access(place):
    project, own = Project(place, "full"), own_place(place, "full")
    words = ("--full-access", "--i-know", "--session-file", str(own / "session"), "sh", "-c", f"echo victim-1 >{own}/session")
    same(project.bawn(*words, status=2), "bawn: with --full-access the command could write the file of --session-file. Leave one of them out.\n")
    assert not (own / "session").exists()
    project.bawn(*words[:2], *words[4:])  # the control
    same((own / "session").read_text(), "victim-1\n")


@claim("--session-file: no link is followed, neither at the file nor on the way, and what is no file is refused")
def test_links(place):
    project, own = Project(place, "linked"), own_place(place, "linked")
    aim = own / "aim"
    aim.write_text("mine\n")
    (own / "link").symlink_to(aim)
    (own / "way").symlink_to(own)
    (own / "folder").mkdir()
    assert "exists, and is not a regular file" in refused(project, own / "link")
    assert "symbolic link" in refused(project, own / "way/aim")
    refused(project, own / "folder")
    refused(project, own / "missing/file")
    assert "is not a regular file" in refused(project, "/dev/null")
    same(aim.read_text(), "mine\n")
    project.inside("cat a", "--session-file", str(aim))  # the control
    assert aim.read_text().startswith("linked-"), aim.read_text()


@claim("--session-file: a run that is refused leaves the file empty, not the name of an earlier session")
def test_refused(place):
    project, file = Project(place, "refused"), own_place(place, "refused") / "session"
    project.inside("cat a", "--session-file", str(file))
    same(file.read_text(), "refused-1\n")
    done = place.run("true", cwd=project.path, flags=("--workspace", "/", "--session-file", str(file)))
    assert done.returncode and "/" in done.stderr.decode(), done
    same(file.read_text(), "")


@claim("a session that changed nothing is none of the others: diff, apply and discard of it succeed, and touch no file of that name elsewhere")
def test_idle(place):
    project = Project(place, "idle")
    project.inside("echo older >a; echo older >idle-2", "--review")
    project.inside("cat a", "--review")
    for words in (("diff",), ("apply", "--yes"), ("discard", "--yes"), ("review", "--json")):
        same(project.bawn(*words, "idle-2"), "bawn: idle-2 changed nothing.\n")
    text = project.bawn("diff", "idle-1")
    assert "+older" in text and "idle-2" in text, text
    assert "idle-2" in project.bawn("diff", "./idle-2"), "the control: a path of that name"
    same(project.bawn("undo", "idle-2", status=2), "bawn: there is no record of changes by idle-2. `bawn sessions` lists the sessions.\n")
    project.bawn("discard", "--yes", "idle-1", "./idle-2")
    assert "idle-2" not in project.bawn("diff", "idle-1"), "the control: and it is thrown away"


@claim("an empty word is refused by every verb, and is neither the workspace nor the only session that waits")
def test_empty(place):
    project = Project(place, "empty")
    project.inside("echo inside >a", "--review")
    for words in (("discard", "--yes"), ("apply", "--yes"), ("diff",), ("undo", "--yes"), ("log", "--verify"), ("held",), ("home", "reset", "--yes")):
        same(project.bawn(*words, "", status=2), f"bawn: `bawn {words[0]}` got an empty argument. A variable in the command may be empty.\n")
    assert "+inside" in project.bawn("diff", "empty-1")
    project.bawn("discard", "--yes", "empty-1")  # the control
