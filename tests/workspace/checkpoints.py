"""States of a live run in between, and the way back to each of them."""
import scratch
from lab import Checkpointed, MAPPED, repository
from scratch import PATIENCE, Project, same, until

claim = scratch.Claims()


@claim("checkpoints: undo --to goes to any of them, back and forth, and undo to the beginning or the end")
def test_any_of_them(place):
    project = Project(place, "checkpoints")
    before = project.looks()
    run = Checkpointed(project)
    looks = [run.step("echo first >>a; mkdir e; echo new >e/f; chmod 755 b/c"),
             run.step("echo second >>a; rm -r e; ln -s a l; mv b/d b/moved; echo passing >passing"),
             run.step("echo third >>a; rm l passing; echo three >b/d; rm b/moved")]
    run.run.stdin.write(b"echo last >>a; rm b/d\n")
    run.end()
    times = run.times()
    same(len(times), 3)
    for number in (1, 0, 2, 1):
        text = project.bawn("undo", "--to", times[number])
        assert f"is that of {times[number]}" in text, text
        same(project.looks(), looks[number])
    project.bawn("undo")
    same(project.looks(), looks[2])
    project.bawn("undo", "checkpoints-1")
    same(project.looks(), before)
    project.bawn("undo", "--to", times[2])
    same(project.looks(), looks[2])
    project.bawn("undo")
    same(project.looks(), before)


@claim("checkpoints: what is written on through a mapping after one of them is what the end shows")
def test_mapped(place):
    project = Project(place, "checkpoint-mapped")
    project.write("mapped", MAPPED)
    run = Checkpointed(project)
    run.step("mkfifo /tmp/go /tmp/gone; python3 mapped a </tmp/go >/tmp/gone & exec 3>/tmp/go 4</tmp/gone; "
             "echo 1 >&3; read line <&4")
    run.run.stdin.write(b"echo 2 >&3; read line <&4\n")
    run.end()
    same(project.read("a"), "222\n")  # and no time tells, unless the disk has been written in between
    assert "+222\n" in project.bawn("diff"), project.bawn("diff")


@claim("checkpoints: a branch goes back to where it was then, and git finds nothing wrong")
def test_branch(place):
    scratch.need("git")
    project = repository(place, "checkpoint-git")
    run = Checkpointed(project)
    commit = "git -c user.name=t -c user.email=t@x commit -qam"
    run.step(f"echo x >>a; {commit} two")
    second = project.git("rev-parse", "HEAD")
    run.step(f"echo x >>a; {commit} three")
    run.end()
    project.bawn("undo", "--to", run.times()[0])
    same([project.git("rev-parse", "HEAD"), project.git("status", "--porcelain"), project.read("a")],
         [second, "", "one\nx\n"])
    project.git("fsck", "--strict")
    # What bawn put there while it ran is no state to go back to.
    same([name for name in ("commondir", "config.worktree") if (project.path / ".git" / name).exists()], [])


@claim("checkpoints: what the user has changed since is kept, and named; a path alone goes back")
def test_conflict(place):
    project = Project(place, "checkpoint-conflict")
    run = Checkpointed(project)
    run.step("echo first >>a; echo first >>b/c")
    run.run.stdin.write(b"echo last >>a; echo last >>b/c; echo last >>b/d\n")
    run.end()
    project.write("a", "the user's\n")
    time_then = run.times()[0]
    project.bawn("undo", "--to", time_then, "checkpoint-conflict-1", "b/d")
    same([project.read("b/c"), project.read("b/d")], ["two\nfirst\nlast\n", "three\n"])
    text = project.bawn("undo", "--to", time_then, status=1)
    assert "a: it was changed since" in text, text
    same([project.read("a"), project.read("b/c")], ["the user's\n", "two\nfirst\n"])


@claim("checkpoints: a run that ends as it began can still go back to what it had in between")
def test_between(place):
    project = Project(place, "checkpoint-between")
    before = project.looks()
    run = Checkpointed(project)
    between = run.step("cp -p b/c saved; echo good >>b/c; touch -r b stamp; mv stamp /tmp")
    run.run.stdin.write(b"cat saved >b/c; touch -r saved b/c; rm saved; touch -r /tmp/stamp b\n")
    run.end()
    same({**project.looks(), "b": None}, {**before, "b": None})
    project.bawn("undo", "--to", run.times()[0])
    same({**project.looks(), "b": None}, {**between, "b": None})


@claim("checkpoints: what a killed run had kept is there afterwards, and nothing works on without bawn")
def test_killed(place):
    project = Project(place, "checkpoint-killed")
    run = Checkpointed(project)
    looks = run.step("echo first >>a")
    run.run.stdin.write(b"echo last >>a\n")
    run.run.stdin.flush()
    same(run.run.stdout.readline(), b"done\n")
    run.run.kill()
    run.run.communicate(timeout=PATIENCE)
    project.bawn("undo", "--to", run.times()[0])
    same(project.looks(), looks)


@claim("checkpoints: the command is not disturbed, is never told, and none is kept where nothing has changed")
def test_quiet(place):
    project = Project(place, "checkpoint-quiet")
    run = Checkpointed(project)
    run.step("echo first >>a")
    journal = run.folder / "journal.jsonl"
    run.run.stdin.write(b"sleep 3; test -z \"$(jobs)\"; echo quiet\n")
    run.run.stdin.flush()
    same([run.run.stdout.readline(), run.run.stdout.readline()], [b"quiet\n", b"done\n"])
    same(run.kept(), 1)
    run.step("echo second >>a")
    until(lambda: journal.read_text().count('"event":"checkpoint"') == 2, "a line of the journal")  # it comes after what is kept
    same([run.kept(), run.end()], [2, ""])
    same(journal.read_text().count('"event":"checkpoint"'), 2)


@claim("checkpoints: what is no time, is too early or too late, or is not live, is refused and changes nothing")
def test_refused(place):
    project = Project(place, "checkpoint-bad")
    for flags in (("--checkpoint", "0s"), ("--checkpoint", "15"), ("--checkpoint", "often"), ("--checkpoint=",),
                  ("--checkpoint", "1m", "--review"), ("--checkpoint", "1m", "--read-only"),
                  ("--checkpoint", "1m", "--branch", "x")):
        same(place.run("true", cwd=project.path, flags=flags).returncode, 2)
    assert "has checkpoints" in project.bawn("undo", "--to", "04:45", status=2)
    project.inside("echo x >>a")
    for wrong in ("4:45", "24:00", "04:60", "2026-02-30T04:45", "20", "20x", "", "04:45 "):
        assert "is not a time" in project.bawn("undo", "--to", wrong, status=2), wrong
    assert "began" in project.bawn("undo", "--to", "1h", status=2)
    assert "ended" in project.bawn("undo", "--to", "2099-01-01T00:00", status=2)
    same(project.read("a"), "one\nx\n")
    project.bawn("undo", "--to", "0s")
    same(project.read("a"), "one\n")


@claim("checkpoints: what was set aside at the end of the run does not come back unseen; --force brings it, and what was there before comes")
def test_settled(place):
    scratch.need("git")
    project = repository(place, "checkpoint-settled")
    project.write("AGENTS.md", "mine\n")
    run = Checkpointed(project)
    run.step("echo evil >CLAUDE.md; git init -q lib; git -C lib config core.fsmonitor 'touch pwned'; rm AGENTS.md; echo x >>a")
    run.step("echo mine >AGENTS.md; echo y >>a")
    run.end()
    same([(project.path / name).exists() for name in ("CLAUDE.md", "lib/.git/config")], [False, False])  # set aside
    moment = run.times()[0]
    said = project.bawn("undo", "--to", moment, status=1)
    assert "kept  CLAUDE.md: could run on your machine: " in said and "kept  lib/.git/config: could run on your machine: " in said, said
    same([(project.path / name).exists() for name in ("CLAUDE.md", "lib/.git/config")] + [project.read("a")], [False, False, "one\nx\n"])
    project.bawn("undo", "--force", "--to", moment)
    same(project.read("CLAUDE.md"), "evil\n")  # the control
