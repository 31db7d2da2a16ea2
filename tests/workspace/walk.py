"""A person who goes through the changes on a terminal, file by file and hunk by hunk."""
import os
import pty
import select
import subprocess
import termios

import scratch
from lab import repository
from conflicts import text
from scratch import Project, same, until

claim = scratch.Claims()


class Terminal:
    """A verb of bawn on a terminal of its own, with a person's keys."""

    def __init__(self, project, *words):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(project.path)
            os.execve(project.place.bawn, ["bawn", *words], {**project.place.environment, "NO_COLOR": "1"})

    def read(self):
        """Whatever comes next; False at the end."""
        ready, _, _ = select.select([self.fd], [], [], 0.05)
        try:
            got = os.read(self.fd, 65536).decode() if ready else ""
        except OSError:
            return False
        self.seen += got.replace("\r\n", "\n")
        return not ready or bool(got)

    def answer(self, question, keys):
        """Waits for a question, as the last thing on the screen, and answers it."""
        def is_asked():
            self.read()
            last = self.seen.rpartition("\n")[2]
            return question in last and last.endswith(("?] ", "(space shows more) ", "]: "))
        try:
            until(is_asked, f"the question {question!r}")
        except AssertionError as why:
            raise AssertionError(f"{why}: {self.seen[-500:]}") from why
        os.write(self.fd, keys.encode())
        shown, self.seen = self.seen, ""
        return shown

    def end(self, status=0):
        until(lambda: not self.read(), "the end")
        os.close(self.fd)
        same(os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), status)
        return self.seen


@claim("review: a walk applies one file, throws one away and leaves one; what is left waits, and undo brings all back")
def test_files(place):
    project = Project(place, "walk")
    before = project.looks()
    project.inside("echo x >>a; echo y >>b/c; echo z >>b/d; echo n >new", "--review")
    terminal = Terminal(project, "review")
    shown = terminal.answer("Apply a", "y")
    assert "walk-1: sh" in shown and "1 new, 3 changed, 0 removed" in shown and "+x" in shown, shown
    terminal.answer("Apply b/c", "x")
    terminal.answer("Apply b/d", "n")
    terminal.answer("Apply new", "y")
    terminal.answer("Apply 2, throw away 1, leave 1 waiting", "y")
    assert "2 files applied" in terminal.end()
    same([project.read(name) for name in ("a", "b/c", "b/d", "new")], ["one\nx\n", "two\n", "three\n", "n\n"])
    same(project.bawn("diff", "--name-only", "walk-1"), "b/d\n")
    assert "waiting" in project.bawn("sessions")
    project.bawn("undo")
    same(project.looks(), before)
    same(project.bawn("diff", "--name-only", "walk-1"), "a\nb/d\nnew\n")
    project.bawn("apply")
    same([project.read(name) for name in ("a", "b/c", "b/d", "new")], ["one\nx\n", "two\n", "three\nz\n", "n\n"])


@claim("review of a file in a new directory: the directories above it are made, and nothing else of them")
def test_file_of_new_directory(place):
    project = Project(place, "walk-new")
    project.inside("mkdir -p n/m; echo 1 >n/m/f; echo 2 >n/m/g; echo 3 >n/h", "--review")
    terminal = Terminal(project, "review", "walk-new-1", "n/m/f")
    assert "3 new, 0 changed" in terminal.answer("Apply n/m/f", "y")
    terminal.answer("Apply 1", "y")
    assert "1 file and 2 directories applied" in terminal.end()
    same((project.read("n/m/f"), (project.path / "n/m/g").exists()), ("1\n", False))
    same(project.bawn("diff", "--name-only", "walk-new-1").split(), ["n/h", "n/m/g"])


@claim("review: hunk by hunk, one is applied, one waits and one is thrown away; split parts a hunk")
def test_hunks(place):
    project = Project(place, "hunks")
    project.write("t", text())
    project.inside("sed -i 's/line 1$/A/;s/line 9$/B/;s/line 17$/C/;s/line 19$/D/' t", "--review")
    terminal = Terminal(project, "review")
    terminal.answer("Apply t", "h")
    terminal.answer("(1/3) Apply this hunk", "y")
    terminal.answer("(2/3) Apply this hunk", "n")
    terminal.answer("(3/3) Apply this hunk", "s")
    terminal.answer("(3/4) Apply this hunk", "x")
    terminal.answer("(4/4) Apply this hunk", "y")
    terminal.answer("Apply 1, throw away 1, leave 1 waiting", "y")
    terminal.end()
    same(project.read("t"), text(l1="A", l19="D"))
    shown = project.bawn("diff", "hunks-1")
    assert "+B" in shown and "+A" not in shown and "+C" not in shown, shown
    project.bawn("undo")
    same(project.read("t"), text())
    project.bawn("apply")
    same(project.read("t"), text(l1="A", l9="B", l19="D"))


@claim("apply --patch asks hunk by hunk, and q leaves the rest waiting")
def test_patch(place):
    project = Project(place, "patch")
    project.write("t", text())
    project.inside("sed -i 's/line 1$/A/;s/line 17$/C/' t; echo x >>a", "--review")
    terminal = Terminal(project, "apply", "--patch")
    terminal.answer("(1/1) Apply this hunk", "n")
    terminal.answer("(1/2) Apply this hunk", "y")
    terminal.answer("(2/2) Apply this hunk", "q")
    terminal.answer("Apply 1, throw away 0, leave 2 waiting", "y")
    terminal.end()
    same([project.read("a"), project.read("t")], ["one\n", text(l1="A")])
    project.bawn("apply")
    same([project.read("a"), project.read("t")], ["one\nx\n", text(l1="A", l17="C")])
    assert "done" in project.bawn("sessions"), project.bawn("sessions")


@claim("review: what is flagged is named with its reason first, and A does not answer for it")
def test_flagged(place):
    project = Project(place, "flagged")
    project.inside("echo x >>a; printf '#!/bin/sh\\n' >run; chmod 755 run; echo z >zz", "--review")
    terminal = Terminal(project, "review")
    shown = terminal.answer("Apply a", "A")
    assert "! run: " in shown and "execut" in shown, shown
    shown = terminal.answer("Apply run", "n")
    assert "! risky" in shown, shown
    terminal.answer("Apply 2, throw away 0, leave 1 waiting", "y")
    terminal.end()
    same([(project.path / name).exists() for name in ("run", "zz")], [False, True])


@claim("review: a conflict is shown three ways; m joins, t overwrites, and it can be gone back to")
def test_conflict(place):
    project = Project(place, "both")
    for name in ("t", "u", "v"):
        project.write(name, text())
    project.inside("sed -i 's/line 2$/theirs/' t u v", "--review")
    for name, line in (("t", "l15"), ("u", "l2"), ("v", "l2")):
        project.write(name, text(**{line: "mine"}))
    terminal = Terminal(project, "review")
    assert "m merges both" in terminal.answer("Apply t", "m")
    shown = terminal.answer("Apply u", "n")
    assert "<<<<<<< yours" in shown and "mine" in shown and "||||||| before" in shown, shown
    terminal.answer("Apply v", "\033[A")
    terminal.answer("Apply u", "t")
    terminal.answer("Apply v", "x")
    terminal.answer("Apply 2, throw away 1, leave 0 waiting", "y")
    terminal.end()
    same([project.read(name) for name in "tuv"],
         [text(l2="theirs", l15="mine"), text(l2="theirs"), text(l2="mine")])
    assert "done" in project.bawn("sessions"), project.bawn("sessions")


@claim("review: a commit is one item, applied as a repository")
def test_commit(place):
    scratch.need("git")
    project = repository(place, "oneitem")
    project.inside("echo x >>a; git -c user.name=t -c user.email=t@x commit -qam two", "--review")
    terminal = Terminal(project, "review")
    shown = terminal.answer("the repository's changes", "y")
    assert "refs/heads/main" in shown and "->" in shown, shown
    terminal.answer("Apply a", "y")
    terminal.answer("Apply 2, throw away 0, leave 0 waiting", "y")
    terminal.end()
    same(project.git("log", "--format=%s"), "two\none\n")
    same(project.git("status", "--porcelain"), "")
    project.inside("echo x >>a; git -c user.name=t -c user.email=t@x commit -qam three; "
                   "rm -f .git/objects/$(git rev-parse HEAD | sed 's,..,&/,')", "--review")
    terminal = Terminal(project, "review")
    terminal.answer("the repository's changes", "y")
    terminal.answer("Apply a", "y")
    terminal.answer("Apply 2, throw away 0, leave 0 waiting", "y")
    said = terminal.end()
    assert "cannot be applied: .git/refs/heads/main: it would stand at a commit that is not in the repository" in said, said
    same([project.git("log", "--format=%s"), project.read("a")], ["two\none\n", "one\nx\nx\n"])
    assert "waiting" in project.bawn("sessions"), project.bawn("sessions")


@claim("review: of a live run a file is taken back, and a hunk of another")
def test_live_run(place):
    project = Project(place, "alive")
    project.write("t", text())
    project.inside("echo x >>a; sed -i 's/line 1$/A/;s/line 17$/C/' t; echo n >new")
    terminal = Terminal(project, "review")
    terminal.answer("Keep a", "x")
    terminal.answer("Keep new", "y")
    terminal.answer("Keep t", "h")
    terminal.answer("(1/2) Keep this hunk", "x")
    terminal.answer("(2/2) Keep this hunk", "y")
    terminal.answer("Take back 2, keep 2", "y")
    terminal.end()
    same([project.read(name) for name in ("a", "new", "t")], ["one\n", "n\n", text(l17="C")])
    project.bawn("undo")
    same([project.read(name) for name in ("a", "new", "t")], ["one\nx\n", "n\n", text(l1="A", l17="C")])


@claim("review: Ctrl-C, and a no at the end, change nothing; the terminal is as it was")
def test_interrupted(place):
    project = Project(place, "nothing")
    project.inside("echo x >>a; echo y >>b/c", "--review")
    for keys in ("\003", "q"):
        terminal = Terminal(project, "review")
        modes = termios.tcgetattr(terminal.fd)
        terminal.answer("Apply a", "y")
        terminal.answer("Apply b/c", keys)
        if keys == "q":
            terminal.answer("Apply 1, throw away 0, leave 1 waiting", "n")
        until(lambda: "Nothing was changed." in terminal.seen or not terminal.read(), "the end of it")
        same(termios.tcgetattr(terminal.fd), modes)
        assert "Nothing was changed." in terminal.end()
        same([project.read("a"), project.read("b/c")], ["one\n", "two\n"])


@claim("discard without a terminal and without --yes: status 2, the reason, and everything waits as before")
def test_discard_unasked(place):
    project = Project(place, "unasked")
    project.inside("echo x >>a; echo new >e", "--review")
    for words in ((), ("a",), ("unasked-1",)):
        said = project.bawn("discard", *words, status=2)
        assert "nothing was discarded: there is no terminal to ask on. Pass --yes." in said, said
        same(project.bawn("diff", "--name-only"), "a\ne\n")
    printed, status = place.terminal(project.path, ("discard",), ("?", b"n\n"))
    same(("Nothing was discarded." in printed, status), (True, 0))
    project.bawn("discard", "--yes")
    assert "no session has waiting changes" in project.bawn("apply", status=2)


@claim("a part that was applied does not wait any more; what is discarded after it stays discarded when the apply is undone")
def test_discard_after_part(place):
    project = Project(place, "partly")
    before = project.looks()
    project.inside("echo x >>a; rm b/c; echo new >e; mkdir -p f; echo new >f/g", "--review")
    project.bawn("apply", "--yes", "a", "b/c")
    same(project.bawn("diff", "--name-only"), "e\nf\nf/g\n")
    assert "partly-1                waiting    review       2 files" in project.bawn("sessions"), project.bawn("sessions")
    said = project.bawn("discard", "--yes")
    same(said, "2 files of partly-1 discarded. What was applied before stays. `bawn undo partly-1` makes them wait again.\n")
    same([project.read("a"), (project.path / "b/c").exists(), (project.path / "e").exists()], ["one\nx\n", False, False])
    project.bawn("undo", "--yes")
    same({name: look[2] for name, look in project.looks().items()}, {name: look[2] for name, look in before.items()})
    same(project.bawn("diff", "--name-only", "partly-1"), "a\nb/c\n")
    project.bawn("apply", "--yes")
    same([project.read("a"), (project.path / "b/c").exists(), (project.path / "e").exists()], ["one\nx\n", False, False])


@claim("discard PATH throws away a part, and what is not there is bad input")
def test_discard_path(place):
    project = Project(place, "parts")
    project.inside("echo x >>a; rm b/c; echo n >b/n", "--review")
    assert "2 files of parts-1 discarded" in project.bawn("discard", "--yes", "b")
    project.bawn("discard", "--yes", "b", status=2)
    same(project.bawn("diff", "--name-only"), "a\n")
    project.bawn("apply")
    same([project.read("a"), sorted(os.listdir(project.path / "b"))], ["one\nx\n", ["c", "d"]])
    project.bawn("undo")
    assert "1 file of parts-1 discarded" in project.bawn("discard", "--yes", "parts-1", "a")
    assert "parts-1                 discarded" in project.bawn("sessions"), project.bawn("sessions")


@claim("undo of a discarded session makes it wait again, as a whole or in part, with the bytes that it had; the workspace is not touched")
def test_discard_undone(place):
    project = Project(place, "again")
    before = project.looks()
    project.inside("echo x >>a; rm b/c; mkdir n; echo new >n/m; ln -s a b/link", "--review")
    patch, names = project.bawn("diff"), "a\nb/c\nb/link\nn\nn/m\n"
    assert "`bawn undo again-1` brings it back" in project.bawn("discard", "--yes", "again-1")
    assert "discarded" in project.bawn("undo", "--list"), project.bawn("undo", "--list")
    assert "discarded as a whole" in project.bawn("undo", "again-1", "a", status=2)
    same(project.bawn("undo", "again-1"), "4 files of again-1 wait again; `bawn review again-1` goes through them.\n")
    same((project.bawn("diff"), project.looks()), (patch, before))
    project.bawn("undo", "again-1", status=2)  # nothing is discarded
    for words in (("a", "b"), ("n",)):
        project.bawn("discard", "--yes", "again-1", *words)
    assert "discarded" in project.bawn("sessions"), project.bawn("sessions")
    project.bawn("undo", "--prune")  # what was discarded is needed
    assert "1 file of again-1 waits again" in project.bawn("undo", "again-1", "b/c")
    same(project.bawn("diff", "--name-only"), "b/c\n")
    assert "3 files of again-1 wait again" in project.bawn("undo", "again-1")
    same((project.bawn("diff"), project.bawn("diff", "--name-only"), project.looks()), (patch, names, before))
    project.bawn("apply", "--yes", "n")
    project.bawn("discard", "--yes", "again-1")
    project.bawn("undo", "again-1")
    same(project.bawn("diff", "--name-only"), "a\nb/c\nb/link\n")
    project.bawn("apply", "--yes")
    same((project.read("a"), (project.path / "b/c").exists(), project.read("n/m")), ("one\nx\n", False, "new\n"))


@claim("undo of what a review threw away, a file or a hunk, makes that wait again; so it is with what apply --ours gave up")
def test_thrown_away_undone(place):
    project = Project(place, "thrown-away")
    project.write("t", text())
    project.inside("sed -i 's/line 1$/A/;s/line 9$/B/;s/line 17$/C/' t; echo x >>a", "--review")
    terminal = Terminal(project, "review")
    terminal.answer("Apply a", "x")
    terminal.answer("Apply t", "h")
    for key in "yxn":
        terminal.answer("Apply this hunk", key)
    terminal.answer("Apply 1, throw away 2, leave 1 waiting", "y")
    assert "2 thrown away. `bawn undo thrown-away-1` makes them wait again." in terminal.end()
    same((project.read("t"), project.bawn("diff", "--name-only", "thrown-away-1")), (text(l1="A"), "t\n"))
    project.bawn("undo", "thrown-away-1")
    shown = project.bawn("diff", "thrown-away-1")
    assert "+B" in shown and "+C" in shown and "+x" in shown and "+A" not in shown, shown
    project.write("a", "mine\n")
    assert "1 left out in favour of yours. `bawn undo thrown-away-1` makes it wait again." in project.bawn("apply", "--ours")
    same((project.read("t"), project.read("a")), (text(l1="A", l9="B", l17="C"), "mine\n"))
    assert "1 file of thrown-away-1 waits again" in project.bawn("undo", "thrown-away-1")
    project.bawn("apply", "--theirs", "thrown-away-1")
    same(project.read("a"), "one\nx\n")


@claim("without a terminal apply and discard take no session that another run came after, unless it is named; a person is shown its name")
def test_later_run(place):
    for number, (script, *flags) in enumerate((("true",), ("echo live >>b/c",), ("true", "--discard"), ("echo >new", "--read-only"))):
        project = Project(place, f"later-{number}")
        name = f"later-{number}"
        project.inside("echo precious >>a", "--review")
        subprocess.run([place.bawn, "--net", "off", *flags, "--", "sh", "-c", script], cwd=project.path, env=place.environment, check=False, capture_output=True)
        for verb, *words in (("discard", "--yes"), ("apply", "--yes"), ("apply",), ("apply", "a"), ("discard", "--yes", "a")):
            said = project.bawn(verb, *words, status=2)
            assert f"{name}-2 ran later in " in said and f"the session that waits is {name}-1. Name the one that you mean: `bawn {verb} {name}-1`" in said, said
            same((project.read("a"), project.bawn("diff", "--name-only", f"{name}-1")), ("one\n", "a\n"))
        printed, _ = place.terminal(project.path, ("discard",), (f"Throw away the changes of {name}-1", b"n\n"))
        assert "Nothing was discarded" in printed, printed
        project.bawn("apply", "--yes", f"{name}-1")
        same(project.read("a"), "one\nprecious\n")


@claim("without a terminal undo and redo take none of several sessions unless it is named; its own undos count as one with it")
def test_several(place):
    project = Project(place, "severally")
    for line in "xyz":
        project.inside(f"echo {line} >>a")
    for words in (("undo",), ("undo", "--yes"), ("undo", "a"), ("undo", "--force")):
        said = project.bawn(*words, status=2)
        assert "several sessions can be undone in " in said and "severally-1, severally-2, severally-3. Name one: `bawn undo severally-3`" in said, said
        same(project.read("a"), "one\nx\ny\nz\n")
    project.bawn("undo", "severally-3")
    project.bawn("undo", "severally-2")
    said = project.bawn("redo", status=2)
    assert "undos of several sessions can be reversed in " in said and "severally-3, severally-2. Name one: `bawn redo severally-5`" in said, said
    same(project.read("a"), "one\nx\n")
    printed, _ = place.terminal(project.path, ("redo",), ("Reverse severally-5, the undo of severally-2", b"y\n"))
    same(project.read("a"), "one\nx\ny\n")
    project.bawn("redo", "severally-4")
    same(project.read("a"), "one\nx\ny\nz\n")
    alone = Project(place, "alone")  # the control
    alone.inside("echo x >>a")
    for verb, wanted in (("undo", "one\n"), ("redo", "one\nx\n"), ("undo", "one\n"), ("undo", "one\nx\n"), ("undo", "one\n")):
        alone.bawn(verb)
        same(alone.read("a"), wanted)


@claim("a person is asked which session is meant where several wait")
def test_which_session(place):
    project = Project(place, "which")
    project.inside("echo x >>a", "--review")
    project.inside("echo y >>a", "--review")
    terminal = Terminal(project, "review")
    shown = terminal.answer("Which one", "2\n")
    assert "1  which-2" in shown and "2  which-1" in shown, shown
    assert "+x" in terminal.answer("Apply a", "y")
    terminal.answer("Apply 1, throw away 0, leave 0 waiting", "y")
    terminal.end()
    same(project.read("a"), "one\nx\n")


@claim("review and apply --patch refuse clearly where there is no terminal, and change nothing")
def test_no_terminal(place):
    project = Project(place, "piped")
    project.inside("echo x >>a", "--review")
    for words in (("review",), ("apply", "--patch")):
        said = project.bawn(*words, status=2)
        assert "needs a terminal" in said and "bawn diff" in said, said
    same(project.read("a"), "one\n")
