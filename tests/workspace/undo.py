"""undo of a live run: what it takes back, what it leaves alone, and what it is sure of first."""
import json
import os
import subprocess

import scratch
from lab import killed, repository, started
from scratch import PATIENCE, Project, same

claim = scratch.Claims()


@claim("undo: a folder that a build or a package manager makes again stays, is named, and is no failure")
def test_made_again(place):
    project = repository(place, "made-again")
    for manifest, folder in (("Cargo.toml", "target"), ("package.json", "node_modules")):
        project.write(manifest, "")
        project.inside(f"mkdir -p {folder}/deep; echo x >{folder}/deep/o; echo y >new")
        said = project.bawn("undo")
        assert f"kept  {folder}: snapshots leave it out" in said and "1 file taken back" in said, said
        same([(project.path / "new").exists(), (project.path / folder / "deep/o").exists()], [False, True])


@claim("undo: what a live run changed is as it was, to the nanosecond, and a second undo reverses it")
def test_live_run(place):
    project = Project(place, "undo")
    before = project.looks()
    project.inside("echo x >>a; rm -r b; mkdir e; echo new >e/f; ln -s a l; chmod 755 a")
    after = project.looks()
    project.bawn("undo")
    same(project.looks(), before)
    project.bawn("undo")
    same(project.looks(), after)


@claim("undo: a file of many names counts once in the snapshot's limit, and each name comes back")
def test_many_names(place):
    project = Project(place, "names")
    (project.path / "program").write_bytes(os.urandom(3 << 20))
    for number in range(30):
        os.link(project.path / "program", project.path / f"name-{number}")
    before = project.looks()
    done = place.run("sh", "-ec", "rm name-* program", cwd=project.path, flags=("--net", "off", "--limit", "snapshot=16M"))
    same([done.returncode, b"cannot restore the content" in done.stderr], [0, False])
    project.bawn("undo")
    same(project.looks(), before)


@claim("undo: a file that the user has changed since is kept and named, and --force overwrites it")
def test_changed_since(place):
    project = Project(place, "conflict")
    project.inside("echo inside >a; echo inside >b/c")
    project.write("a", "the user's\n")
    text = project.bawn("undo", status=1)
    assert "a: it was changed since" in text, text
    same([project.read("a"), project.read("b/c")], ["the user's\n", "two\n"])
    project.bawn("undo", project.path.name + "-1", "--force")
    same(project.read("a"), "one\n")


@claim("undo: a file that was written in its place, with its size and time as they were, is taken back")
def test_same_size_and_time(place):
    project = Project(place, "unseen")
    before = project.looks()
    project.inside("cp -p a b/c /tmp; printf ONE | dd of=a conv=notrunc status=none; touch -r /tmp/a a; "
                   "echo plain >b/c")
    same([project.read("a"), project.read("b/c")], ["ONE\n", "plain\n"])
    project.bawn("undo")
    same(project.looks(), before)


@claim("apply: a file of the user's that looks like the session's, and is another, is a conflict")
def test_alike_is_conflict(place):
    for name, text, status in (("twin", "mine\n", 1), ("same", "this\n", 0)):
        project = Project(place, f"alike-{name}")
        project.inside("echo this >new; touch -d @1000000000 new; echo x >>a", "--review")
        project.write("new", text, mode=0o644)
        os.utime(project.path / "new", (1000000000, 1000000000))
        told = project.bawn("apply", status=status)
        same(("kept  new: " in told, project.read("new")), (status == 1, text))


@claim("undo: whatever folder the command closed to its owner, what it changed there is taken back")
def test_closed_folder(place):
    for closed, mode in ((".", "0"), (".", "0444"), ("b", "0"), ("b", "0444")):
        project = Project(place, f"closed-{len(closed)}-{closed.strip('.')}{mode}")
        before = project.looks()
        project.inside(f"echo inside >b/c; rm b/d; chmod {mode} {closed}")
        project.path.chmod(0o755)
        project.bawn("undo")
        same((closed, mode, project.looks()), (closed, mode, before))


@claim("undo: so it is where bawn was killed, and the folder that was closed is open again")
def test_closed_and_killed(place):
    project = Project(place, "closed-killed")
    before = project.looks()
    killed(project, "echo inside >b/c; rm b/d; chmod 0 .; echo up; read line")
    Project(place, "closed-other").bawn("sessions", "--all")
    same(oct(project.path.stat().st_mode & 0o700), "0o700")
    project.path.chmod(0o755)
    project.bawn("undo", "closed-killed-1")
    same(project.looks(), before)


@claim("undo and review: what could be lost is on the disk before something is replaced or goes")
def test_durable(place):
    scratch.need("strace")
    project = Project(place, "durable")

    def traced(calls, *words):
        trace = place.home / "trace"
        options = place.environment.get("ASAN_OPTIONS", "")  # no leak is looked for in what is traced
        subprocess.run(["strace", "-f", "-y", "-qq", "-o", trace, "-e", f"trace={calls}", place.bawn, *words],
                       cwd=project.path, check=True, env={**place.environment, "ASAN_OPTIONS": f"{options}:detect_leaks=0"},
                       capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
        return trace.read_text().splitlines()

    def synced(lines):
        """How far it is until all that is kept is on the disk."""
        ends = ("/pack-0>", "/index>", "/before>", "/after>", "/about>")
        return max(next(i for i, line in enumerate(lines) if "fdatasync(" in line and f"{end})" in line) for end in ends)

    project.inside("echo inside >a; rm b/c; echo new >e")
    lines = traced("fdatasync,renameat2,unlinkat", "undo")
    touched = [i for i, line in enumerate(lines) if f"<{project.path}" in line]
    assert synced(lines) < touched[0], lines
    same(project.read("a"), "one\n")
    lines = traced("fdatasync,unlinkat", "--review", "--net", "off", "--", "sh", "-c", "echo inside >a")
    removed = [i for i, line in enumerate(lines) if "unlinkat(" in line and ("/upper>" in line or '"upper"' in line)]
    assert synced(lines) < removed[-1], lines
    project.bawn("discard", "--yes")


@claim("undo PATH takes back just that")
def test_path(place):
    project = Project(place, "paths")
    project.inside("echo inside >a; echo inside >b/c")
    project.bawn("undo", "b")
    same([project.read("a"), project.read("b/c")], ["inside\n", "two\n"])


@claim("undo: folders that a build makes again are not touched")
def test_build_folders(place):
    project = Project(place, "skipped")
    project.write("node_modules/x", "1")
    project.inside("echo 2 >node_modules/x; echo y >node_modules/y; echo x >a")
    project.bawn("undo")
    same([project.read("node_modules/x"), project.read("node_modules/y"), project.read("a")], ["2\n", "y\n", "one\n"])


@claim("undo: two runs at the same time are refused, and both are named")
def test_overlap(place):
    project = Project(place, "overlap")
    other = started(project, "echo up; read line; echo x >b/c")
    project.inside("echo inside >a")
    text = project.bawn("undo", "overlap-2", status=125)
    assert "overlap-2 and overlap-1" in text, text
    other.communicate(b"\n", timeout=PATIENCE)
    text = project.bawn("undo", "overlap-2", status=125)
    assert "overlap-1" in text, text
    same(project.read("a"), "inside\n")


@claim("undo: a run that began later and still runs is named as that, and undo works once it has ended")
def test_later_run(place):
    project = Project(place, "later")
    project.inside("echo inside >a")
    other = started(project, "echo up; read line")
    text = project.bawn("undo", "later-1", status=125)
    assert "later-2 is still running" in text and "at the same time" not in text, text
    other.communicate(b"\n", timeout=PATIENCE)
    project.bawn("undo", "later-1")
    same(project.read("a"), "one\n")


@claim("undo: a commit made by the run is undone, its objects stay, and git finds nothing wrong")
def test_commit(place):
    scratch.need("git")
    project = repository(place, "commit")
    first = project.git("rev-parse", "HEAD")
    project.inside("echo inside >a; git -c user.name=t -c user.email=t@x commit -qam two")
    second = project.git("rev-parse", "HEAD").strip()
    project.bawn("undo")
    same([project.git("rev-parse", "HEAD"), project.read("a")], [first, "one\n"])
    project.git("fsck", "--strict")
    project.git("cat-file", "-e", second)


@claim("undo: an index that `git status` wrote anew is no change of the user's, and one in which he has staged is")
def test_restated_index(place):
    scratch.need("git")
    project = repository(place, "status")

    def restate():
        index = project.path / ".git/index"
        seen = index.read_bytes()
        os.utime(project.path / "b/c", (1000000000, 1000000000))
        project.git("status")
        assert index.read_bytes() != seen, "git has written nothing: there is nothing to tell apart"

    project.inside("echo inside >a; git -c user.name=t -c user.email=t@x commit -qam two")
    restate()
    project.bawn("undo")
    same([project.git("status", "--porcelain"), project.read("a")], ["", "one\n"])
    project.bawn("undo")
    same([project.git("status", "--porcelain"), project.read("a")], ["", "inside\n"])
    project.bawn("undo")
    project.inside("echo inside >a; git -c user.name=t -c user.email=t@x commit -qam two")
    project.write("b/d", "the user's\n")
    project.git("add", "b/d")
    text = project.bawn("undo", status=1)
    assert ".git/index: it was changed since" in text, text
    same(project.git("diff", "--cached", "--name-only", "--", "b/d"), "b/d\n")


@claim("undo: branches and tags that the user made or moved during a live run stay, and so do the logs")
def test_users_branches(place):
    scratch.need("git")
    project = repository(place, "meanwhile")
    project.git("branch", "mine")
    first = project.git("rev-parse", "HEAD").strip()
    run = started(project, "echo up; read line; echo x >>a; "
                           "git -c user.name=t -c user.email=t@x commit -qam inside")
    mine = project.git("commit-tree", "-p", "main", "-m", "mine", "main^{tree}").strip()
    project.git("update-ref", "refs/heads/mine", mine)
    project.git("branch", "new", mine)
    project.git("tag", "t", mine)
    run.communicate(b"\n", timeout=PATIENCE)
    inside = project.git("rev-parse", "HEAD").strip()
    text = project.bawn("undo", status=1)
    assert "perhaps by you" in text, text
    same([project.git("rev-parse", ref).strip() for ref in ("main", "mine", "new", "t")], [first, mine, mine, mine])
    same(project.read("a"), "one\n")
    assert inside in project.git("reflog", "--no-abbrev", "main"), project.git("reflog", "main")
    project.git("fsck", "--strict")


@claim("undo: a repository that the user has moved on since is left alone as a whole")
def test_moved_on(place):
    scratch.need("git")
    project = repository(place, "moved")
    project.inside("echo inside >a; git -c user.name=t -c user.email=t@x commit -qam two")
    project.write("mine", "x")
    project.git("add", "mine")
    project.git("commit", "-qm", "three")
    head = project.git("rev-parse", "HEAD")
    project.bawn("undo", status=1)
    same([project.git("rev-parse", "HEAD"), project.read("a")], [head, "one\n"])
    project.git("fsck", "--strict")


@claim("a killed run can be undone, and the next command says that it was killed")
def test_killed(place):
    project = Project(place, "killed")
    run = started(project, "echo inside >a; echo up; read line")
    run.kill()
    run.communicate(timeout=PATIENCE)  # until the last process inside is gone, too
    text = project.bawn("undo")
    assert "was killed in the session killed-1" in text, text
    same(project.read("a"), "one\n")


@claim("a run that changes nothing leaves nothing that could be undone")
def test_nothing(place):
    project = Project(place, "nothing")
    project.inside("cat a")
    assert "Nothing can be undone" in project.bawn("undo", "--list")


def at_once(first, second, first_ends_first):
    """Two runs that overlap, each changing nothing. Returns what each counts as changed."""
    runs = [started(project, "echo up; read line", "--json", stderr=subprocess.PIPE) for project in (first, second)]
    ends = runs if first_ends_first else runs[::-1]
    said = {run: run.communicate(b"\n", timeout=PATIENCE)[1] for run in ends}
    return [json.loads(said[run])["changes"] for run in runs]


@claim("two runs at once in one repository do not count each other's stubs, whichever ends first; nor do runs in its linked worktree")
def test_stubs_of_another_run(place):
    project = repository(place, "at-once")
    linked = Project(place, "at-once-linked")
    project.git("worktree", "add", "-f", "-q", str(linked.path / "tree"))
    linked.path = linked.path / "tree"
    for first, second in ((project, project), (project, linked), (linked, project), (linked, linked)):
        same(at_once(first, second, True), [0, 0])
        same(at_once(first, second, False), [0, 0])
    first, second = started(project, "echo up; read line"), started(project, "echo up; read line; echo inside >a")
    first.communicate(b"\n", timeout=PATIENCE)
    second.communicate(b"\n", timeout=PATIENCE)
    same(project.bawn("diff", "--name-only"), "a\n")
    project.bawn("undo")
    same(project.read("a"), "one\n")


@claim("two runs at once: a run that was killed counts no stub of another when it is repaired")
def test_stubs_killed(place):
    project = repository(place, "at-once-killed")
    other = started(project, "echo up; read line")
    killed(project, "echo x >>a; echo up; read line")
    other.communicate(b"\n", timeout=PATIENCE)
    project.bawn("sessions")
    same(project.bawn("diff", "--name-only", f"{project.path.name}-2"), "a\n")
