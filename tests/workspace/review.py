"""--review and --discard: the host sees nothing until an apply, whatever becomes of the run."""
import os
import re
import subprocess

import scratch
from lab import killed, repository, started
from scratch import PATIENCE, Project, same

claim = scratch.Claims()


@claim("a review without a terminal says that changes wait, and how to go on; --quiet and --json do not")
def test_headless_says(place):
    project = Project(place, "headless")
    for flags, wanted in (((), "1 file waits in headless-1. `bawn review headless-1` goes through it.\n"), (("--quiet",), "")):
        done = place.run("sh", "-c", "echo x >>a", cwd=project.path, flags=("--net", "off", "--review", *flags))
        same((done.returncode, done.stderr.decode()), (0, wanted and "bawn: " + wanted))
    done = place.run("sh", "-c", "echo x >>a", cwd=project.path, flags=("--net", "off", "--review", "--json"))
    same(len(done.stderr.splitlines()), 1)
    done = place.run("true", cwd=project.path, flags=("--net", "off", "--review"))
    same(done.stderr, b"")
    done = place.run("sh", "-c", "echo x >>a", cwd=project.path)
    same(done.stderr, b"")  # a live run: nothing waits


@claim("--review: the host sees nothing until apply, and then what the command saw")
def test_apply(place):
    project = Project(place, "review")
    before = project.looks()
    project.inside("echo x >>a; rm -r b; mkdir b; echo new >b/e; test $(ls b) = e", "--review")
    same(project.looks(), before)
    project.bawn("apply")
    same([project.read("a"), project.read("b/e"), os.listdir(project.path / "b")], ["one\nx\n", "new\n", ["e"]])
    project.bawn("undo")
    same(project.looks(), before)


@claim("--review: git's control files stay frozen")
def test_frozen(place):
    scratch.need("git")
    project = Project(place, "frozen")
    project.git("init", "-q")
    done = place.run("sh", "-c", "echo x >.git/config; echo $?; touch .git/hooks/x; echo $?", cwd=project.path,
                     flags=("--net", "off", "--review"))
    same(done.stdout, b"2\n1\n")


@claim("--discard leaves the workspace byte-identical, and no trace")
def test_discard(place):
    project = Project(place, "discarded")
    before = project.looks()
    project.inside("rm -rf * ; mkdir deep; cd deep; for i in $(seq 300); do mkdir d; cd d; done; chmod 0 .", "--discard")
    same(project.looks(), before)
    state = place.home / ".local/state/bawn/sessions"
    same([str(path) for path in state.glob("discarded-*/*") if path.name != "journal.jsonl"], [])


@claim("apply: what the host has changed since the session began is kept, and --theirs overwrites it")
def test_theirs(place):
    project = Project(place, "theirs")
    project.inside("echo inside >a; echo inside >b/c", "--review")
    project.write("a", "host\n")
    text = project.bawn("apply", status=1)
    assert "a: it was changed since" in text, text
    same([project.read("a"), project.read("b/c")], ["host\n", "inside\n"])
    project.bawn("apply", "--theirs")
    same(project.read("a"), "inside\n")


@claim("apply: what the host changes while the session runs is a conflict too")
def test_changed_during(place):
    project = Project(place, "during")
    run = started(project, "echo up; read line; echo inside >a", "--review")
    project.write("a", "host\n")
    run.communicate(b"\n", timeout=PATIENCE)
    project.bawn("apply", status=1)
    same(project.read("a"), "host\n")


@claim("apply PATH, then the rest; several sessions that wait are ambiguous and named")
def test_path(place):
    project = Project(place, "some")
    project.inside("echo inside >a; echo inside >b/c", "--review")
    project.bawn("apply", "b")
    same([project.read("a"), project.read("b/c")], ["one\n", "inside\n"])
    project.inside("echo other >b/d", "--review")
    text = project.bawn("apply", status=2)
    assert "some-1" in text and "some-3" in text, text
    project.bawn("discard", "--yes", "some-3")
    project.bawn("apply", "some-1")
    same([project.read("a"), project.read("b/d")], ["inside\n", "three\n"])


@claim("--review: a folder is renamed by mv, and by git as the briefing says, since git mv cannot; apply brings the rename")
def test_renamed_folder(place):
    scratch.need("git")
    project = repository(place, "renamed")
    status = ("--no-optional-locks", "status", "--porcelain")  # which leaves the index as it is
    text = project.inside("git mv b e 2>&1 && exit 1; cat /run/bawn/BRIEFING.md; mv b f; mkdir g; mv f g/h; mv g/h b; "
                          "mv b e && git add -A b e; git status --porcelain", "--review")
    assert "cross-device link" in text and "`mv OLD NEW && git add -A OLD NEW`" in text, text
    assert "R  b/c -> e/c" in text and "R  b/d -> e/d" in text, text
    project.bawn("apply")
    same([project.git(*status).split("\n"), project.read("e/c"), (project.path / "b").exists()],
         [["R  b/c -> e/c", "R  b/d -> e/d", ""], "two\n", False])
    project.git("fsck", "--strict")
    project.bawn("undo")
    same([project.git(*status), project.read("b/c"), (project.path / "e").exists()], ["", "two\n", False])


@claim("a killed review waits, too, while its workspace is not there, until that is back or it is given up")
def test_workspace_gone(place):
    for name, ending in (("unmounted", "back"), ("given-up", "discard")):
        project, elsewhere = Project(place, f"{name}/{name}-app"), Project(place, f"{name}-elsewhere")
        killed(project, "echo inside >>a; echo up; read line", "--review")
        session = f"{name}-app-1"
        os.rename(project.path.parent, project.path.parent.with_name("away"))
        for _ in range(2):
            text = elsewhere.bawn("sessions")
            assert f"killed in the session {session}: {project.path} does not exist" in text, text
        if ending == "discard":
            elsewhere.bawn("discard", "--yes", session)
            assert "does not exist" not in elsewhere.bawn("sessions"), "it is still told"
        os.rename(project.path.parent.with_name("away"), project.path.parent)
        if ending == "back":
            text = project.bawn("diff", "--name-only")
            assert "a\n" in text and f"was killed in the session {session}" in text, text
            project.bawn("apply")
        elsewhere.bawn("sessions")
        same((ending, project.read("a")), (ending, "one\ninside\n" if ending == "back" else "one\n"))


@claim("a run at whose end the workspace is not there is ended by the next command that finds it")
def test_gone_at_the_end(place):
    for flags, verb, want in (((), "undo", "one\n"), (("--review",), "apply", "one\ninside\n")):
        project = Project(place, f"away-{verb}")
        run = started(project, "echo inside >>a; echo up; read line", *flags, stderr=subprocess.PIPE)
        os.rename(project.path, project.path.with_name("moved-away"))
        said = run.communicate(b"\n", timeout=PATIENCE)[1]
        assert b"are not recorded yet" in said, said
        os.rename(project.path.with_name("moved-away"), project.path)
        text = project.bawn("diff")
        assert f"could not record the end of the session away-{verb}-1" in text and "+inside" in text, text
        project.bawn(verb)
        same((verb, project.read("a")), (verb, want))


@claim("a killed review waits as if it had ended")
def test_killed(place):
    project = Project(place, "crashed")
    run = started(project, "echo inside >a; echo up; read line", "--review")
    run.kill()
    run.communicate(timeout=PATIENCE)  # until the last process inside is gone, too
    project.bawn("apply")
    same(project.read("a"), "inside\n")


@claim("diff --stat and sessions count the same files, those of a commit too")
def test_counts(place):
    scratch.need("git")
    project = repository(place, "git-counts")
    project.inside("echo x >>a; git -c user.name=u -c user.email=u@example.com commit -qam two", "--review")
    waiting = int(re.search(r"(\d+) files", project.bawn("sessions"))[1])
    text = project.bawn("diff", "--stat")
    counts = [int(line.split()[1]) if line.startswith("#") else 1 for line in text.splitlines()]
    same((sum(counts), len(counts)), (waiting, 2))
    text = project.bawn("diff", "--stat", ".git")
    counts = [int(line.split()[1]) if line.startswith("#") else 1 for line in text.splitlines()]
    same(sum(counts), waiting - 1)


@claim("a commit made under review arrives whole; a repository that moved meanwhile is a conflict")
def test_commit(place):
    scratch.need("git")
    project = repository(place, "repository")
    commit = "echo $1 >$1; git add $1; git -c user.name=t -c user.email=t@x commit -qm $1"
    project.inside(f"set two; {commit}", "--review")
    same(project.git("log", "--format=%s").split(), ["one"])
    project.bawn("apply")
    same([project.git("log", "--format=%s").split(), project.git("status", "--short")], [["two", "one"], ""])
    project.git("fsck", "--strict")
    project.inside(f"set locked; {commit}", "--review")
    lock = project.path / ".git/HEAD.lock"
    branch = project.path / (".git/" + project.git("symbolic-ref", "HEAD").strip() + ".lock")
    lock.touch()
    branch.touch()
    assert "git is running there" in project.bawn("apply", status=1)
    same(project.git("log", "--format=%s").split(), ["two", "one"])
    lock.unlink()
    branch.unlink()
    project.bawn("apply")
    same(project.git("log", "--format=%s").split(), ["locked", "two", "one"])
    project.git("fsck", "--strict")
    project.inside(f"set three; {commit}", "--review")
    project.write("mine", "x")
    project.git("add", "mine")
    project.git("commit", "-qm", "mine")
    project.bawn("apply", status=1)
    same(project.git("log", "--format=%s").split(), ["mine", "locked", "two", "one"])
    project.git("fsck", "--strict")
