"""apply and review of commits: git has read all that they lead to, and those that change flagged files wait for a person."""
import re
import shutil
import subprocess

import scratch
from lab import repository
from scratch import Project, same
from walk import Terminal

claim = scratch.Claims()
ME = "git -c user.name=t -c user.email=t@x"
TWO = f"echo two >>a; {ME} commit -qam two; f() {{ echo .git/objects/$(git rev-parse $1 | sed 's,..,&/,'); }}; "
FORGE = ("python3 -c 'import sys, zlib; text = sys.stdin.buffer.read(); "
         "sys.stdout.buffer.write(zlib.compress(sys.argv[1].encode() + b\" %d\" % len(text) + b\"\\0\" + text))' ")
DAMAGE = {
    "a file that is junk": "c=$(f HEAD:a); chmod 644 $c; echo junk >$c",
    "a tree that is missing": "rm -f $(f 'HEAD^{tree}')",
    "a file of another content than its name says": f"c=$(f HEAD:a); chmod 644 $c; echo other | {FORGE} blob >$c",
    "a commit of another content than its name says":
        f"c=$(f HEAD); chmod 644 $c; (git cat-file commit HEAD; echo more) | {FORGE} commit >x; mv -f x $c",
    "a pack that is cut off": "git rev-list --objects main ^main~1 | cut -d' ' -f1 | git pack-objects -q .git/objects/pack/pack; "
                              "git prune-packed -q; for p in .git/objects/pack/*.pack; do chmod 644 $p; truncate -s -25 $p; done",
}
KEPT = re.compile("kept  .git/refs/heads/main: it (leads to an object that is missing or damaged|would stand at a commit that is not in the repository)")
WAITS = "its commits change files that need your approval: "


def host_git(project):
    """How the host's git ends in there."""
    return [subprocess.run(words, cwd=project.path, env=project.place.environment, check=False, capture_output=True,
                           timeout=60, stdin=subprocess.DEVNULL).returncode
            for words in (["git", "for-each-ref"], ["git", "log", "--all"], ["git", "fsck", "--no-dangling"], ["git", "gc", "-q"])]


def objects(project):
    return sorted(path.name for path in (project.path / ".git/objects").rglob("*") if path.is_file())


@claim("apply: a branch does not go to a commit of which something is missing or damaged, and git on the host works")
def test_damaged(place):
    scratch.need("git", "python3")
    for number, (name, act) in enumerate(DAMAGE.items()):
        project = repository(place, f"damaged-{number}")
        outside = project.path.with_name(f"damaged-{number}-outside")
        shutil.copytree(project.path, outside, symlinks=True)
        subprocess.run(["sh", "-euc", TWO + act], cwd=outside, env=place.environment, check=True, capture_output=True)
        assert any(host_git(Project(place, outside.name))), f"the control of {name}"
        project.inside(TWO + act, "--review")
        said = project.bawn("apply", "--allow-risky", status=1)
        assert KEPT.search(said), (name, said)
        same((name, host_git(project), project.git("log", "--format=%s")), (name, [0, 0, 0, 0], "one\n"))
        same((name, project.read("a")), (name, "one\ntwo\n"))
    project = repository(place, "sound")  # the control
    project.inside(TWO, "--review")
    project.bawn("apply")
    same((host_git(project), project.git("log", "--format=%s")), ([0, 0, 0, 0], "two\none\n"))


@claim("apply: commits that change flagged files wait with them, refs and objects; --allow-risky takes both")
def test_flagged(place):
    scratch.need("git")
    for number, (script, files) in enumerate((
            ("echo evil >CLAUDE.md; echo more >>a; git add .", "CLAUDE.md"),
            ("echo all: >Makefile; echo more >>a; git add .", "Makefile"),
            (f"git switch -qc side; echo evil >CLAUDE.md; git add .; {ME} commit -qm side; git switch -q main; echo more >>a", "CLAUDE.md"))):
        project = repository(place, f"flagged-{number}")
        before = objects(project)
        project.inside(f"{script}; {ME} commit -qam two", "--review")
        said = project.bawn("apply", status=1)
        assert f"needs your approval: {WAITS}" in said and f"({files})" in said, said
        same((project.git("log", "--format=%s", "--all"), objects(project), project.read("a")), ("one\n", before, "one\nmore\n"))
        project.bawn("apply", "--allow-risky")
        same(project.git("log", "-1", "--format=%s"), "two\n")
        project.git("fsck", "--strict")
    project = repository(place, "path-alone")
    project.inside(f"echo evil >CLAUDE.md; echo more >>a; git add .; {ME} commit -qm two", "--review")
    same("commits" in project.bawn("apply", "a"), False)  # which are none of it
    project = repository(place, "unflagged")  # the control
    project.inside(f"echo more >>a; {ME} commit -qam two", "--review")
    project.bawn("apply")
    same(project.git("log", "--format=%s"), "two\none\n")


@claim("apply on a terminal: one question for each flagged file, and its answer holds for the commits too")
def test_one_decision(place):
    scratch.need("git")
    for answer, commits in (("n", "one\n"), ("y", "two\none\n")):
        project = repository(place, f"one-decision-{answer}")
        project.inside(f"echo more >>a; echo evil >CLAUDE.md; echo all: >Makefile; ln -s a .envrc; git add .; {ME} commit -qm two", "--review")
        questions = [("Apply this anyway?", b"y\n")] * 2 + [("Apply this anyway?", answer.encode() + b"\n"), ("Apply the changes", b"y\n")]
        printed, status = place.terminal(project.path, ("apply",), *questions)
        same(("Apply the commits anyway?" in printed, status), (False, int(answer == "n")))
        commit = re.search(r"you left out Makefile, and the commit [0-9a-f]{10} changes it", printed)
        same((answer, bool(commit), project.git("log", "--format=%s")), (answer, answer == "n", commits))
        there = [name for name in (".envrc", "CLAUDE.md", "Makefile") if (project.path / name).is_file()]
        same((answer, there, project.read("a")), (answer, [".envrc", "CLAUDE.md", "Makefile"][:3 if answer == "y" else 2], "one\nmore\n"))
        if answer == "y":
            same(project.git("status", "--porcelain"), "")


@claim("apply on a terminal: commits that have a flagged file with another content than was shown, or only they have, are asked about by their files")
def test_asked(place):
    scratch.need("git")
    for number, (script, shown) in enumerate(((f"echo evil >CLAUDE.md; git add .; {ME} commit -qm two; echo good >CLAUDE.md", True),
                                              (f"echo evil >CLAUDE.md; git add .; {ME} commit -qm two; git rm -q CLAUDE.md; {ME} commit -qm three", False))):
        for answer in "ny":
            project = repository(place, f"asked-{number}-{answer}")
            project.inside(f"echo more >>a; {script}", "--review")
            questions = [("Apply this anyway?", b"y\n")] * shown + [("Apply the commits anyway?", answer.encode() + b"\n"), ("Apply the changes", b"y\n")]
            printed, _ = place.terminal(project.path, ("apply",), *questions)
            assert WAITS in printed and "(CLAUDE.md)" in printed, printed
            same((number, answer, "two\n" in project.git("log", "--format=%s"), (project.path / "CLAUDE.md").exists()), (number, answer, answer == "y", shown))


@claim("apply on a terminal: the commits of a merge are read, too: a file left out that a merge brings keeps them waiting")
def test_merge(place):
    scratch.need("git")
    project = repository(place, "merging")
    project.inside(f"git switch -qc side; echo s >side; git add .; {ME} commit -qm side; git switch -q main; echo more >>a; {ME} commit -qam two; "
                   f"{ME} merge -q --no-commit side; echo evil >CLAUDE.md; git add .; {ME} commit -qm merge", "--review")
    printed, _ = place.terminal(project.path, ("apply",), ("Apply this anyway?", b"n\n"), ("Apply the changes", b"y\n"))
    assert "you left out CLAUDE.md, and the commit" in printed, printed
    same(project.git("log", "--format=%s"), "one\n")
    project.bawn("apply", "--allow-risky")  # the control
    same(project.git("log", "-1", "--format=%s"), "merge\n")


@claim("apply: a name with escape sequences in the reason for commits that wait reaches no terminal as it is")
def test_escapes(place):
    scratch.need("git")
    project = repository(place, "escapes")
    name = "a\033]2;title\007\033[31mX"
    project.inside(f"mkdir '{name}'; echo evil >'{name}/CLAUDE.md'; git add .; {ME} commit -qm two", "--review")
    said = project.bawn("apply", "--yes", status=1)
    assert WAITS in said and "\\x1b]2;title" in said and "\033" not in said and "\007" not in said, said


@claim("review: a repository whose commits change flagged files says so, and is left out of what A takes")
def test_reviewed(place):
    scratch.need("git")
    project = repository(place, "reviewed")
    project.inside(f"echo evil >CLAUDE.md; echo more >>a; git add .; {ME} commit -qm two", "--review")
    terminal = Terminal(project, "review")
    shown = terminal.answer("Apply the repository's changes", "j")
    assert f"! risky: {WAITS}" in shown and "(CLAUDE.md)" in shown, shown
    terminal.answer("Apply CLAUDE.md", "n")
    terminal.answer("Apply a", "A")
    terminal.answer("Apply 1, throw away 0, leave 2 waiting", "y")
    terminal.end()
    same((project.git("log", "--format=%s"), project.read("a")), ("one\n", "one\nmore\n"))
    terminal = Terminal(project, "review")
    terminal.answer("Apply the repository's changes", "y")
    terminal.answer("Apply CLAUDE.md", "n")
    shown = terminal.end()
    assert "The commits wait: you leave out CLAUDE.md, and the commit " in shown and "Nothing was changed." in shown, shown
    same((project.git("log", "--format=%s"), (project.path / "CLAUDE.md").exists()), ("one\n", False))
    terminal = Terminal(project, "review")
    terminal.answer("Apply the repository's changes", "y")
    terminal.answer("Apply CLAUDE.md", "y")
    terminal.answer("Apply 2, throw away 0, leave 0 waiting", "y")
    terminal.end()
    same((project.git("log", "--format=%s"), project.read("CLAUDE.md")), ("two\none\n", "evil\n"))


@claim("apply: commits that git could not look at wait; --allow-risky takes them, and says that they were not checked")
def test_unchecked(place):
    scratch.need("git")
    project = repository(place, "unchecked")
    project.inside(f"echo more >>a; {ME} commit -qam two", "--review")
    shallow = project.path / ".git/shallow"
    shallow.write_text("junk\n")  # which git fails of
    said = project.bawn("apply", status=1)
    assert "needs your approval: its commits could not be checked: git failed" in said, said
    shallow.unlink()
    same("not checked" in project.bawn("apply"), False)  # the control
    same(project.git("log", "--format=%s"), "two\none\n")
    project.inside(f"echo more >>a; {ME} commit -qam three", "--review")
    shallow.write_text("junk\n")
    said = project.bawn("apply", "--allow-risky")
    assert "bawn: the commits are not checked: git failed" in said, said
    shallow.unlink()
    same(project.git("log", "--format=%s"), "three\ntwo\none\n")


@claim("apply: a branch of a submodule does not go to a damaged commit either, and its commits wait with flagged files (control: sound ones go)")
def test_submodule(place):
    scratch.need("git")
    library = repository(place, "submodule-library")
    acts = {"damaged": "c=$(git rev-parse --git-path objects)/$(git rev-parse HEAD:a | sed 's,..,&/,'); chmod 644 $c; echo junk >$c",
            "flagged": "git switch -qc side; echo evil >CLAUDE.md; git add .; " + f"{ME} commit -qm side; git switch -q main", "sound": ":"}
    for name, act in acts.items():
        project = repository(place, f"submodule-{name}")
        project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.path, "lib")
        project.git("commit", "-qm", "lib")
        module = Project(place, f"submodule-{name}/lib")  # which has the same files
        before = module.git("for-each-ref")
        project.inside(f"cd lib; echo two >>a; {ME} commit -qam two; {act}", "--review")
        said = project.bawn("apply", *(["--allow-risky"] if name == "damaged" else []), status=int(name != "sound"))
        same((name, host_git(module)), (name, [0, 0, 0, 0]))
        same((name, module.git("for-each-ref") == before), (name, name != "sound"))
        same((name, "kept  .git/modules/lib/refs/heads/main: it leads to an object that is missing or damaged" in said), (name, name == "damaged"))
        same((name, f"{WAITS}" in said and "(lib/CLAUDE.md)" in said), (name, name == "flagged"))
