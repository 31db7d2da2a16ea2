"""What begins and ends in which order, standard streams, and that git is not harmed."""
import os
import pathlib
import subprocess

import scratch
from ground import GIT, IDENTITY
from scratch import need, same

claim = scratch.Claims()


def traced(place, work, how, *words, stdin=subprocess.DEVNULL, check=False):
    """bawn below strace, which does to its system calls what `how` says."""
    need("strace")
    options = place.environment.get("ASAN_OPTIONS", "")  # no leak is looked for in what is traced
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", *how, place.bawn, "--net", "off", "--", *words], cwd=work,
                          check=check, env={**place.environment, "ASAN_OPTIONS": f"{options}:detect_leaks=0"},
                          capture_output=True, stdin=stdin, timeout=120)


def delayed(place, work, call, moment, follow, *words):
    """bawn, with each of these system calls taking 0.3 s more: its own, or everybody's."""
    how = [*(["-f"] if follow else []), "-e", f"trace={call}", "-e", f"inject={call}:{moment}=300000"]
    return traced(place, work, how, *words, check=True)


@claim("streams: a frozen file is not let in as standard input, whichever look at it fails")
def test_streams_unlooked(place):
    work = place.repository("streams")
    config = work / ".git/config"
    before = config.read_text()
    write = ["sh", "-c", "echo '#evil' >&0"]
    said = set()
    for nth in range(12):
        fault = ["-e", f"inject=newfstatat:error=EIO:when={nth}"] if nth else []
        with config.open("r+") as stream:
            done = traced(place, work, ["-f", "-P", str(config), "-e", "trace=newfstatat", *fault], *write, stdin=stream)
        same((nth, done.returncode, config.read_text()), (nth, 125, before))
        said.add(done.stderr)
    assert any(b"cannot look at" in text for text in said), said
    with config.open("r+") as stream:
        subprocess.run(write, stdin=stream, check=True)
    same("#evil" in config.read_text(), True)  # the control


# Opens standard input again, for writing: what is open for reading only says nothing of that.
REOPEN = ("python3", "-c", "import os; os.write(os.open('/proc/self/fd/0', os.O_WRONLY | os.O_APPEND), b'evil')")


@claim("streams: what a mount keeps from being written is not let in as standard input, also in a directory")
def test_streams_kept(place):
    work = place.repository("streams-kept", {"vendor/lib/x": "one\n", "hidden/y": "one\n", "c/some.key": "one\n", "set/f": "one\n"})
    hook = work / ".git/hooks/pre-commit"
    hook.write_text("one\n")
    flags = ("--read", str(work / "vendor"), "--hide", str(work / "hidden"), "--hide", str(work) + "/**/*.key",
             "--copy", str(work / "set/f"))
    for path in (hook, work / "vendor/lib/x", work / "hidden/y", work / "c/some.key", work / "set/f"):
        with path.open() as stream:
            done = place.inside(work, *REOPEN, flags=flags, stdin=stream)
        same((path.name, done.returncode, path.read_text()), (path.name, 125, "one\n"))
        same(b"standard stream 0 is a file that is frozen, hidden or read-only inside" in done.stderr, True)
        with path.open() as stream:
            subprocess.run(REOPEN, stdin=stream, check=True)
        same((path.name, path.read_text()), (path.name, "one\nevil"))  # the control
    with (work / "a").open() as stream:
        same(place.inside(work, "cat", flags=flags, stdin=stream).stdout, b"one\n")


@claim("streams: where Landlock has no rules on files, a file that is open for reading is not let in")
def test_streams_without_rules(place):
    work = place.repository("streams-nested")
    host = place.folder("streams-host") / "file"
    host.write_text("one\n")
    with host.open() as stream:
        done = place.inside(work, *REOPEN, flags=("--nested",), stdin=stream)
    same((done.returncode, host.read_text()), (125, "one\n"))
    same(b"the command could write to standard stream 0, which is open for reading only" in done.stderr, True)
    with host.open() as stream:
        same(place.inside(work, *REOPEN, stdin=stream).returncode, 1)
    same(host.read_text(), "one\n")
    same(place.inside(work, "cat", flags=("--nested",), input=b"by a pipe").stdout, b"by a pipe")
    with pathlib.Path("/etc/passwd").open() as stream:  # which the user cannot write
        same(place.inside(work, "true", flags=("--nested",), stdin=stream).returncode, 125 if os.getuid() == 0 else 0)
    with host.open() as stream:
        subprocess.run(REOPEN, stdin=stream, check=True)
    same(host.read_text(), "one\nevil")  # the control


@claim("order: the command does not begin before all is noted that it could change, however late bawn is")
def test_order_begin(place):
    work = place.repository("begin", place.FLAGGED)
    # The plan is handed over by sendto: whoever began then would be done before bawn looks at the flagged files.
    delayed(place, work, "sendto", "delay_exit", False, "sh", "-c", "echo evil >CLAUDE.md; rm .git/index")
    same(place.held(work), {"CLAUDE.md": "evil\n"})
    same((work / "CLAUDE.md").read_text(), "one\n")


@claim("order: what a command leaves running is dead before bawn settles, and plants nothing afterwards")
def test_order_end(place):
    work = place.folder("end")
    (work / "CLAUDE.md").write_text("one\n")
    # Process 1 is late with its end: what it had not killed by then would go on while bawn looks around.
    delayed(place, work, "exit_group", "delay_enter", True, "python3", "-c", "import os\n"
            "if os.fork() == 0:\n"
            "  os.setsid()\n"
            "  while True:\n"
            "    with open('CLAUDE.md', 'w') as file: file.write('evil')\n"
            "while open('CLAUDE.md').read() != 'evil': pass\n")
    same((work / "CLAUDE.md").read_text(), "one\n")
    same(list(place.held(work)), ["CLAUDE.md"])


# One after the other in one repository, each in a run of its own, whose end settles the flagged files.
VERBS = {
    "checkout": "git checkout -q two; git checkout -q main; git checkout -q two~1; git checkout -q two -- CLAUDE.md; "
                "git checkout -q -f two",
    "commit": "git switch -q main; echo more >>a; git commit -qam more; git rm -q .vscode/tasks.json; git commit -qm less",
    "merge": "git switch -qc merged main~2; echo m >m; git add m; git commit -qm m; git merge -q -m merged two",
    "merge with a conflict": "git switch -q main; git merge -q clash || git merge --abort",
    "rebase": "git switch -qc three main~2; echo 3 >three; git add three; git commit -qm three; git rebase -q two",
    "rebase with a conflict": "git switch -qc four clash; git rebase -q two || git rebase --abort",
    "stash": "git switch -q two; echo dirty >>a; echo x >>CLAUDE.md; git stash -q; git switch -q main; git switch -q two; "
             "git stash pop -q; git checkout -q CLAUDE.md; git commit -qam dirty",
    "cherry-pick": "git switch -q main; git cherry-pick three; git revert --no-edit HEAD",
    "reset": "git switch -q three; git reset -q --hard two~1; git reset -q --hard main; git reset -q --soft main~1",
    "worktree": "git reset -q --hard; git worktree add -q --detach wt two; git -C wt status --porcelain; "
                "git -C wt commit -q --allow-empty -m x; git worktree remove wt",
    "gc": "git gc -q --prune=now; git fsck --no-progress --no-dangling; git switch -q two; git switch -q main",
}


def branches(place, name):
    """Branches that differ in CI files, agents' instructions and editors' tasks."""
    work = place.repository(name, {**place.FLAGGED, ".vscode/tasks.json": "{}\n"})
    for branch, text in (("two", "two\n"), ("clash", "clash\n")):
        place.host(*GIT, "switch", "-qc", branch, "main", cwd=work)
        for file in place.FLAGGED:
            (work / file).write_text(text)
        if branch == "two":
            (work / ".vscode/tasks.json").unlink()
            (work / ".mcp.json").write_text("{}\n")
        place.host(*GIT, "add", "-A", cwd=work)
        place.host(*GIT, "commit", "-qm", branch, cwd=work)
    place.host(*GIT, "switch", "-q", "main", cwd=work)
    return work


def looks(place, work):
    return (place.host("git", "status", "--porcelain", "--branch", cwd=work),
            place.host("git", "for-each-ref", "--format=%(refname) %(objectname)", cwd=work),
            place.host("git", "ls-files", "-s", cwd=work),
            sorted((str(p.relative_to(work)), p.stat().st_mode, p.read_text()) for p in work.rglob("*")
                   if p.is_file() and ".git" not in p.relative_to(work).parts))


@claim("git is not harmed: every verb leaves the same tree and the same status inside as outside")
def test_git_unharmed(place):
    dates = {f"GIT_{who}_DATE": "@1700000000 +0000" for who in ("AUTHOR", "COMMITTER")}
    place.environment.update(dates)
    outside, inside = branches(place, "unharmed-outside/r"), branches(place, "unharmed-inside/r")
    exports = "export " + " ".join(f"{name}='{value}'" for name, value in {**IDENTITY, **dates}.items())
    same(looks(place, inside), looks(place, outside))
    for verb, script in VERBS.items():
        with place.tap.test(f"git is not harmed: {verb} over branches that differ in flagged files"):
            want = place.host("bash", "-euc", f"{exports}\n{script}", cwd=outside)
            done = place.inside(inside, "bash", "-euc", f"{exports}\n{script}", seconds=60)
            told = [line for line in done.stderr.decode().splitlines() if "a commit that changes flagged files" not in line]
            same((done.returncode, [line for line in told if line.startswith("bawn:")]), (0, []))
            same(done.stdout.decode(), want)
            for got, wanted in zip(looks(place, inside), looks(place, outside)):
                same(got, wanted)
