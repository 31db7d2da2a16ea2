"""undo, redo and diff as a newcomer types them: wrong names, a second undo, redo, and the numbers in the answers."""
import json
import os
import re

import scratch
from lab import repository
from scratch import Project, same

claim = scratch.Claims()


@claim("diff, undo, apply and discard of a session that does not exist: an error, status 2, and nothing changes")
def test_unknown_session(place):
    project = Project(place, "unknown")
    project.inside("echo live >a")
    project.inside("echo review >b/c", "--review")
    for verb in ("diff", "undo", "apply", "discard"):
        text = project.bawn(verb, "unknown-99", status=2)
        assert "unknown-99 is neither a session nor a path in" in text, (verb, text)
    same([project.read("a"), project.read("b/c")], ["live\n", "two\n"])
    project.bawn("undo", "unknown-1")
    same(project.read("a"), "one\n")  # the control: a session that exists


@claim("diff and undo of a path that the run removed or made find it, though it is not there or was not there")
def test_paths_of_trees(place):
    project = Project(place, "gone")
    project.inside("rm -r b; mkdir -p n/m; echo x >n/m/f")
    assert "-two" in project.bawn("diff", "b"), "a folder that the run removed"
    assert "+x" in project.bawn("diff", "n/m"), "a folder that the run made"
    project.bawn("undo", "b")
    same(project.read("b/c"), "two\n")


@claim("undo of a file whose directory the run removed: the file is back, with the directory and nothing else of it")
def test_file_of_removed_directory(place):
    project = Project(place, "removed-folder")
    project.bawn("run", "--net", "off", "true")
    (project.path / "b/deep").mkdir()
    (project.path / "b/deep/e").write_text("e\n")
    (project.path / "b/f").write_text("f\n")
    project.inside("rm -r b")
    same(project.bawn("undo", "b/none", status=2).count("neither a session nor a path"), 1)
    same((project.path / "b").exists(), False)  # a name of nothing makes no directory
    text = project.bawn("undo", "b/deep/e")
    same((project.read("b/deep/e"), (project.path / "b/f").exists()), ("e\n", False))
    assert "1 file and 2 directories taken back." in text, text
    project.bawn("undo", "removed-folder-2", "b/c")
    same((project.read("b/c"), (project.path / "b/f").exists()), ("two\n", False))
    project.bawn("redo")
    same(sorted(path.name for path in (project.path / "b").iterdir()), ["deep"])


@claim("diff of a session that was undone says so first, and no longer after redo")
def test_diff_of_undone(place):
    project = Project(place, "undone-diff")
    project.inside("echo more >>a")
    project.bawn("undo")
    said = "# undone-diff-1 was undone: the workspace does not have these changes"
    same(project.bawn("diff").splitlines()[0], said)
    project.bawn("redo")
    assert said not in project.bawn("diff")


@claim("apply of a file in a new directory: the file is applied, with the directories above it and nothing else of them")
def test_apply_file_of_new_directory(place):
    project = Project(place, "new-folder")
    project.inside("mkdir -p n/m; echo 1 >n/m/f; echo 2 >n/m/g; echo 3 >n/h", "--review")
    text = project.bawn("apply", "--yes", "n/m/f")
    assert "1 file and 2 directories applied." in text, text
    same((project.read("n/m/f"), (project.path / "n/m/g").exists()), ("1\n", False))
    same(project.bawn("diff", "--name-only").split(), ["n/h", "n/m/g"])


@claim("the end, sessions, review and discard count files, and no directory that has files in it; an empty directory counts")
def test_count_files(place):
    project = Project(place, "count-files")
    text, _ = place.terminal(project.path, ("--net", "off", "sh", "-c", "mkdir -p n/m; echo x >n/m/f; rm -r b"))
    assert re.search(r"files +3 changed\n", text), text
    assert "A n/m/f" in text and "A n/m\n" not in text, text
    project.inside("mkdir -p d/e; echo 1 >d/e/f", "--review")
    project.inside("mkdir -p empty/deep")
    files = {entry["name"]: entry["files"] for entry in json.loads(project.bawn("sessions", "--json"))}
    same(files, {"count-files-1": 3, "count-files-2": 1, "count-files-3": 1})
    same(project.bawn("discard", "--yes", "count-files-2", "d").splitlines(), ["1 file of count-files-2 discarded. `bawn undo count-files-2` makes it wait again."])
    project.bawn("undo", "count-files-3")
    project.bawn("undo", "count-files-1")
    same((project.read("b/c"), (project.path / "n").exists(), (project.path / "empty").exists()), ("two\n", False, False))


@claim("redo of a partial apply: what it applied waits no longer, and the rest does; undo and redo again do the same")
def test_redo_of_apply(place):
    project = Project(place, "redo-apply")
    project.inside("echo 1 >x; echo 2 >y", "--review")
    def waits():
        return project.bawn("diff", "--name-only", "redo-apply-1").split()
    project.bawn("apply", "--yes", "x")
    same(waits(), ["y"])
    for _ in range(2):
        project.bawn("undo")
        same((waits(), (project.path / "x").exists()), (["x", "y"], False))
        project.bawn("redo")
        same((waits(), project.read("x")), (["y"], "1\n"))
    project.bawn("apply", "--yes")
    same((project.read("y"), "waiting" in project.bawn("sessions")), ("2\n", False))


@claim("an apply that names all that waits ends the review, and one that names a part does not")
def test_apply_all_by_name(place):
    project = Project(place, "by-name")
    project.inside("echo 1 >x; mkdir n; echo 2 >n/y", "--review")
    project.bawn("apply", "--yes", "x")
    assert "by-name-1               waiting    review       1 file " in project.bawn("sessions"), project.bawn("sessions")
    project.bawn("apply", "--yes", "n/y")
    same("waiting" in project.bawn("sessions"), False)
    assert "no session has waiting changes" in project.bawn("apply", status=2)
    project.bawn("undo", "by-name-3")
    same(project.bawn("diff", "--name-only", "by-name-1").split(), ["n", "n/y"])
    project.bawn("apply", "--yes")
    same(project.read("n/y"), "2\n")


@claim("redo of an apply of everything: nothing waits; the undo of that redo makes it wait again")
def test_redo_of_whole_apply(place):
    project = Project(place, "redo-whole")
    project.inside("echo 1 >x", "--review")
    project.bawn("apply", "--yes")
    project.bawn("undo")
    same("waiting" in project.bawn("sessions"), True)
    project.bawn("redo")
    same(("waiting" in project.bawn("sessions"), project.read("x")), (False, "1\n"))
    project.bawn("undo")
    same(("waiting" in project.bawn("sessions"), (project.path / "x").exists()), (True, False))
    project.bawn("apply", "--yes")
    same(project.read("x"), "1\n")


@claim("undo --to 20m ago: accepted as the help spells it, in one word or two")
def test_ago(place):
    project = Project(place, "ago")
    project.inside("echo x >>a")
    for words in (("--to", "0s ago"), ("--to", "0s", "ago"), ("--to=0s", "ago")):
        assert "1 file taken back" in project.bawn("undo", *words), words
        project.bawn("redo")
        same(project.read("a"), "one\nx\n")
    assert "is not a time" in project.bawn("undo", "--to", "soon ago", status=2)


@claim("undo: its message counts files, and directories and git's own files apart")
def test_counts(place):
    project = repository(place, "counted")
    project.inside("echo 2 >a; mkdir -p n/m; echo x >n/m/f; git add a; "
                   "git -c user.name=t -c user.email=t@example.com commit -qm y")
    text = project.bawn("undo")
    listed = [line for line in text.splitlines() if line.startswith(("  change", "  remove", "  make"))]
    same(len(listed), 4)
    assert "\n2 files, 2 directories and 3 git files taken back." in text, text
    plain = Project(place, "counts-plain")
    plain.inside("echo 2 >a")
    assert "\n1 file taken back." in plain.bawn("undo")
    plain.inside("mkdir empty")
    assert "\n1 directory taken back." in plain.bawn("undo")


@claim("a second undo says that it reverses the first; a third takes back the run again")
def test_second_undo(place):
    project = Project(place, "second")
    project.inside("echo x >>a")
    assert "1 file taken back" in project.bawn("undo")
    second = project.bawn("undo")
    assert "second-2 is the undo of second-1. Reversing it brings back what second-1 changed." in second, second
    assert "1 file brought back. `bawn undo second-3` reverses that." in second, second
    same(project.read("a"), "one\nx\n")
    third = project.bawn("undo")
    assert "1 file taken back" in third, third
    same(project.read("a"), "one\n")
    assert [line.split()[:2] for line in project.bawn("sessions").splitlines() if line.startswith("second-1 ")] == \
        [["second-1", "undone"]], project.bawn("sessions")


@claim("redo: brings back what the latest undo took, never twice, and never takes anything back itself")
def test_redo(place):
    project = Project(place, "redo-verb")
    assert "nothing to redo" in project.bawn("redo", status=2)
    project.inside("echo x >>a; rm b/c")
    after = project.looks()
    assert "nothing to redo" in project.bawn("redo", status=2)
    project.bawn("undo")
    text = project.bawn("redo")
    assert "brought back" in text, text
    same(project.looks(), after)
    assert "nothing to redo" in project.bawn("redo", status=2)
    same(project.looks(), after)
    project.bawn("undo")
    same(project.read("a"), "one\n")
    project.bawn("redo")
    same(project.looks(), after)


@claim("redo SESSION: the run that was undone, or the undo, may be named; a run that is in force is refused")
def test_redo_named(place):
    project = Project(place, "redo-named")
    project.inside("echo x >>a")
    project.bawn("undo")
    project.inside("echo y >>b/c")
    assert "nothing to redo" in project.bawn("redo", status=2)  # a run came after the undo
    project.bawn("redo", "redo-named-1")
    same([project.read("a"), project.read("b/c")], ["one\nx\n", "two\ny\n"])
    assert "redo-named-1 is not undone" in project.bawn("redo", "redo-named-1", status=2)
    assert "redo-named-3 is not undone" in project.bawn("redo", "redo-named-3", status=2)
    assert "redo-named-2 is reversed already" in project.bawn("redo", "redo-named-2", status=2)


@claim("redo: a file that the user has changed since the undo is kept and named, and --force overwrites it")
def test_redo_conflict(place):
    project = Project(place, "redo-conflict")
    project.inside("echo x >>a")
    project.bawn("undo")
    project.write("a", "mine\n")
    assert "a: it was changed since" in project.bawn("redo", status=1)
    same(project.read("a"), "mine\n")
    project.bawn("redo", "--force")
    same(project.read("a"), "one\nx\n")


@claim("an undo of some paths, reversed and done again, leaves the run itself undoable")
def test_partial_stays(place):
    project = Project(place, "partial")
    project.inside("echo x >>a; echo y >>b/c")
    project.bawn("undo", "a")
    project.bawn("redo")
    project.bawn("undo")
    same([project.read("a"), project.read("b/c")], ["one\n", "two\ny\n"])
    project.bawn("undo", "partial-1")
    same([project.read("a"), project.read("b/c")], ["one\n", "two\n"])


@claim("log of an undo, a redo and an apply: the end has a status")
def test_log_has_status(place):
    project = Project(place, "log-status")
    project.inside("echo x >>a")
    project.bawn("undo")
    assert "status 0, files changed: 1" in project.bawn("log", "log-status-2"), project.bawn("log", "log-status-2")
    project.inside("echo y >>b/c", "--review")
    project.bawn("apply")
    assert "status 0, files changed: 1" in project.bawn("log", "log-status-4"), project.bawn("log", "log-status-4")


@claim("sessions: runs that changed nothing are counted, --all lists them, and a terminal explains the states")
def test_sessions_hides(place):
    project = Project(place, "listed")
    project.inside("true")
    project.inside("echo x >>a")
    project.inside("echo x >>b/c", "--review")
    text = project.bawn("sessions")
    same([line.split()[:2] for line in text.splitlines()],
         [["listed-3", "waiting"], ["listed-2", "done"], ["1", "run"]])
    assert "1 run changed nothing; --all lists it." in text, text
    assert "listed-1 " in project.bawn("sessions", "--all")
    project.bawn("run", "--net", "off", "--read-only", "true")
    rows = [line for line in project.bawn("sessions", "--all").splitlines() if line.startswith("listed-")]
    same(({line.index(" file") for line in rows}, any(" read-only " in line for line in rows)), ({rows[-1].index(" file")}, True))
    assert '"listed-1"' in project.bawn("sessions", "--json")
    shown, status = place.terminal(project.path, ("sessions",))
    same(status, 0)
    assert "waiting    its changes wait for `bawn review`" in shown and "`bawn undo` takes them back" in shown, shown
    assert "undone " not in shown, shown  # only the states that are listed


@claim("the start of a run: a line on a terminal says what the command may write and reach; --quiet and a setting turn it off")
def test_start_line(place):
    project = Project(place, "start")
    folder = f"~/{project.path.relative_to(place.home)}"
    connect = ("--connect", "one.test", "--connect", "two.test")
    for flags, wanted in ((("--net", "off"), f"bawn: true may write {folder} and reach no host (bawn show).\n"),
                          (connect, f"bawn: true may write {folder} and reach 2 hosts (bawn show).\n"),
                          (("--net", "open"), f"bawn: true may write {folder} and reach every host (bawn show).\n"),
                          (("--net", "off", "--read-only"), f"bawn: true may read {folder} and reach no host (bawn show).\n"),
                          (("--net", "off", "--review"), f"bawn: true may write a copy of {folder} and reach no host (bawn show).\n")):
        text, status = place.terminal(project.path, (*flags, "true"))
        same((status, text.count("(bawn show)")), (0, 1))
        assert wanted in text, text
    assert "(bawn show)" not in place.terminal(project.path, ("--net", "off", "--quiet", "true"))[0]
    project.git("init", "-q")
    part, other = project.path / "part", project.path / "other"
    part.mkdir(), other.mkdir()  # a repository of which the command may write a directory: that directory is named
    for flags, wanted in ((("--workspace", "."), f"bawn: true may write {folder}/part and reach no host (bawn show).\n"),
                          (("--workspace", ".", "--review"), f"bawn: true may write a copy of {folder}/part and reach no host (bawn show).\n"),
                          (("--workspace", ".", "--workspace", str(other)),
                           f"bawn: true may write {folder}/part, 1 more workspace and reach no host (bawn show).\n")):
        text, status = place.terminal(part, ("--net", "off", *flags, "true"))
        same(status, 0)
        assert wanted in text, text
    same(project.bawn("show", "--net", "off", "--workspace", str(part), "--", "true").split(",")[0], f"true in {folder}/part")
    cannot = f"bawn: note: you cannot write the directory {folder}/part itself, so the command cannot either.\n"
    if os.getuid():
        part.chmod(0o555)  # its owner is told why nothing can be written, and that bawn did not take it away
        for flags, is_told in (((), True), (("--review",), True), (("--read-only",), False)):
            text, status = place.terminal(part, ("--net", "off", "--workspace", ".", *flags, "touch", "x"))
            same((status, cannot in text), (1, is_told))
        part.chmod(0o755)
    assert cannot not in place.terminal(part, ("--net", "off", "--workspace", ".", "touch", "x"))[0]
    setting = place.home / ".config/bawn/start-line"
    setting.parent.mkdir(parents=True, exist_ok=True)
    setting.write_text("off\n")
    assert "(bawn show)" not in place.terminal(project.path, ("--net", "off", "true"))[0]
    setting.unlink()
    same(place.run("true", cwd=project.path).stderr, b"")
