"""A process of bawn's is killed as it makes a system call, one in each run: the next command finishes what was begun.

Each kind of command is run once without a kill, and tests/faults/inject.c writes down the calls of every process: of bawn
itself and of each of its children. Then each of these calls kills who makes it. Afterwards `bawn sessions` runs, as any next command
would, and nothing may be lost, stranded or left behind:

- no session counts as running or unrepaired, and no part of an overlay or a copy is left
- each journal's hash chain is intact, and no process, mount or temporary folder is left
- what the command wrote waits, or is in the workspace as a whole, or is discarded, as it should be
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import scratch
from scratch import PATIENCE

# Replaces a folder (which makes it opaque), removes a tree, changes, adds and links files.
SCRIPT = """
rm -r b && mkdir b && echo new >b/e && echo changed >a && rm -r gone && mkdir -p deep/er && echo x >deep/er/f
ln a twin && ln -s a soft && chmod 700 deep && seq 300 >long && echo END
"""
FILES = {"a": "one\n", "b/c": "two\n", "gone/x": "1\n", "gone/y/z": "2\n", "kept": "kept\n"}
AFTER = {"a": "changed\n", "twin": "changed\n", "soft": "changed\n", "b/e": "new\n", "deep/er/f": "x\n", "kept": "kept\n",
         "long": "".join(f"{number}\n" for number in range(1, 301))}
LEFT = ("upper", "work", "copy", "elsewhere")
REMOVING = ("unlinkat", "unlink", "rmdir", "rename", "renameat", "renameat2")


def plain(folder):
    """The files of a folder that is no repository, or of one without what is git's."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(".git"):
            found[name] = path.read_text()
    return found


def run(words, lab, **options):
    return subprocess.run([str(word) for word in words], cwd=lab.work, env=lab.environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE * 2, check=False, **options)


class Lab:
    """A home that is made anew for each kill."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.top = place.folder(f"kills-{name}")
        self.home, self.report = self.top / "h", self.top / "report"
        self.work = self.home / "app"
        self.state = self.home / ".local/state/bawn"
        self.environment = {**place.environment, "HOME": str(self.home), "TERM": "dumb", "GIT_CONFIG_NOSYSTEM": "1"}

    def refresh(self):
        for folder, folders, _ in os.walk(self.home):  # an overlay's own folder is closed to its owner
            for name in folders:
                if not os.path.islink(os.path.join(folder, name)):
                    os.chmod(os.path.join(folder, name), 0o700)
        shutil.rmtree(self.home, ignore_errors=True)
        for path, text in FILES.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        SHAPES[self.name].prepare(self)

    def bawn(self, *words):
        return run([self.place.bawn, *words], self)

    def git(self, *words):
        done = run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words], self)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def killed(self, *fault):
        """The command of this shape, with one kill; none without a fault. Returns whether the command inside came to its end."""
        self.refresh()
        inject = pathlib.Path(self.place.bawn).with_name("faults-inject")
        done = run([inject, self.report, *fault, "--", self.place.bawn, *SHAPES[self.name].words], self)
        return b"END" in done.stdout, done

    def sessions(self):
        done = self.bawn("sessions", "--all", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr.decode()

    def stranded(self, said):
        """What is left that should not be."""
        found = [f"{mark.parent.name}: {mark.name}" for kind in ("running", "unrepaired") for mark in (self.state / kind).glob("*")]
        found += [str(path.relative_to(self.state)) for path in (self.state / "sessions").glob("*/*") if path.name in LEFT]
        found += [line for line in said.splitlines() if "could not be repaired" in line]
        for path in (path for place in ("/var/tmp", "/tmp", "/dev/shm") for path in pathlib.Path(place).glob("bawn-layer-*")):
            with contextlib.suppress(FileNotFoundError):  # another user's, which was just removed
                found += [str(path)] if path.stat().st_uid == os.getuid() else []
        for folder in (self.state / "sessions").glob("*"):
            if (folder / "journal.jsonl").exists() and (folder / "journal.jsonl").stat().st_size:
                done = self.bawn("log", "--verify", folder.name)
                found += [] if done.returncode == 0 else [f"{folder.name}: {done.stdout.decode()}{done.stderr.decode()}"]
        found += [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if str(self.top) in line]
        return found


def waiting(lab):
    return [entry["name"] for entry in lab.sessions()[0] if entry["state"] == "waiting"]


class Shape:
    words = ()

    def prepare(self, lab):
        pass

    def check_status(self, lab, has_ended, status):
        """The same, before another command has run: of what bawn itself said."""
        return ""

    def check(self, lab, has_ended, status):
        """What is wrong, or an empty text."""
        raise NotImplementedError


class Review(Shape):
    words = ("--net", "off", "--review", "--", "sh", "-ec", SCRIPT)

    def check_status(self, lab, has_ended, status):
        """Where the record of the changes is missing, the run must end with 125, or by the kill."""
        abouts = list(lab.state.glob("sessions/*/about"))
        waits = any(about.read_bytes().split(b"\0")[1] == b"waiting" for about in abouts)
        return "" if waits or not has_ended or status in (125, 137) else f"status {status}, and nothing is written down"

    def check(self, lab, has_ended, status):
        if plain(lab.work) != FILES:
            return f"the workspace was changed: {plain(lab.work)}"
        names = waiting(lab)
        if has_ended and not names:
            return "the work is lost"
        if status == 0 and not has_ended:
            return "it says success"
        done = lab.bawn("apply", "--yes", "--allow-risky") if names else None
        if has_ended and (done.returncode or plain(lab.work) != AFTER):
            return f"applied: {plain(lab.work)} {done.stderr.decode()}"
        return ""


class Discard(Shape):
    words = ("--net", "off", "--discard", "--", "sh", "-ec", SCRIPT)

    def check(self, lab, has_ended, status):
        return "" if plain(lab.work) == FILES and not waiting(lab) else f"it is not as before: {plain(lab.work)}"


class Live(Shape):
    words = ("--net", "off", "--", "sh", "-ec", SCRIPT)

    def check(self, lab, has_ended, status):
        if has_ended and plain(lab.work) != AFTER:
            return f"it wrote {plain(lab.work)}"
        done = lab.bawn("undo", "--yes") if plain(lab.work) != FILES else None
        return "" if plain(lab.work) == FILES else f"undone: {plain(lab.work)} {done.stderr.decode()}"


class Branch(Shape):
    words = ("--net", "off", "--branch", "topic", "--", "sh", "-ec",
             "echo changed >a && git -c user.name=t -c user.email=t@example.com commit -qam done && echo END")

    def prepare(self, lab):
        lab.git("init", "-q", "-b", "main")
        lab.git("add", ".")
        lab.git("commit", "-qm", "one")

    def check(self, lab, has_ended, status):
        if plain(lab.work) != FILES:
            return f"the workspace was changed: {plain(lab.work)}"
        for name in waiting(lab):
            lab.bawn("apply", name, "--yes", "--allow-risky")
        lab.git("fsck", "--strict", "--no-progress")
        subjects = lab.git("log", "--format=%s", "topic").split() if has_ended else []
        return "the commit is lost" if has_ended and subjects != ["done", "one"] else ""


class Apply(Shape):
    words = ("apply", "--yes", "--allow-risky")

    def prepare(self, lab):
        done = lab.bawn(*Review.words)
        assert done.returncode == 0, done.stderr

    def check(self, lab, has_ended, status):
        if plain(lab.work) == FILES:
            done = lab.bawn(*self.words)
            assert done.returncode == 0, done.stderr
        return "" if plain(lab.work) == AFTER else f"applied: {plain(lab.work)}"


class Undo(Shape):
    words = ("undo", "--yes")

    def prepare(self, lab):
        done = lab.bawn(*Live.words)
        assert done.returncode == 0, done.stderr

    def check(self, lab, has_ended, status):
        if plain(lab.work) == AFTER:
            done = lab.bawn(*self.words)
            assert done.returncode == 0, done.stderr
        return "" if plain(lab.work) == FILES else f"undone: {plain(lab.work)}"


class Repair(Shape):
    """A command that finds a review whose bawn was killed, and finishes it."""

    words = ("sessions",)

    def prepare(self, lab):
        inject = pathlib.Path(lab.place.bawn).with_name("faults-inject")
        run([inject, lab.report, "helper", "getdents64", "1", "KILL", "--", lab.place.bawn, *Review.words], lab)

    def check(self, lab, has_ended, status):
        return Review().check(lab, True, 1)


SHAPES = {"review": Review(), "discard": Discard(), "live": Live(), "branch": Branch(), "apply": Apply(), "undo": Undo(),
          "repair": Repair()}


def calls(report):
    """Each call of a report. The first is the execution of bawn itself."""
    for line in report.read_text().splitlines()[1:]:
        who, call, nth, about = (*line.split(" ", 3), "")[:4]
        yield who, call, int(nth), about


def complaint(lab, *fault):
    has_ended, done = lab.killed(*fault)
    found = list(filter(None, [SHAPES[lab.name].check_status(lab, has_ended, done.returncode)]))
    _, said = lab.sessions()
    found += lab.stranded(said)
    try:
        found += list(filter(None, [SHAPES[lab.name].check(lab, has_ended, done.returncode)]))
    except AssertionError as why:
        found.append(str(why))
    return "\n".join([*found, f"said: {done.stderr.decode()[-300:]} then: {said[-300:]}"] if found else [])


def chosen(report, most):
    """Calls of children and calls that remove come first: a sample has at least as many of them as of the others."""
    every = list(calls(report))
    first = [call for call in every if call[0] != "launcher" or call[1] in REMOVING]
    if most is None:
        return every
    step = max(1, len(first) // (most * 2 // 3))
    some = first[step // 2 :: step]
    step = max(1, len(every) // max(1, most - len(some)))
    # a child that is killed before its parent has given it its ids
    waiting = [call for call in every if call[:2] == ("helper", "read")][:8]
    return waiting + some + every[step // 2 :: step]


def try_shape(tap, place, name, most):
    with tap.test(f"kills, {name}: whoever is killed at whatever call, nothing is lost, stranded or left"):
        lab = Lab(place, name)
        has_ended, done = lab.killed()
        if done.returncode == 3:
            raise scratch.Skip("needs ptrace")
        wrong = complaint(lab)
        if done.returncode or wrong:
            raise AssertionError(f"without a kill: status {done.returncode} {done.stderr.decode()[-300:]} {wrong}")
        todo, found, felt = chosen(lab.report, most), [], 0
        for who, call, nth, about in todo:
            wrong = complaint(lab, who, call, nth, "KILL")
            felt += bool(lab.report.read_text())
            if wrong:
                found.append(f"{who} {call} {nth} ({about}): {wrong}")
                print("# " + found[-1].replace("\n", "\n# "), flush=True)
        print(f"# {name}: {felt} kills, {len(found)} complaints", flush=True)
        if found:
            raise AssertionError(f"{len(found)} of {len(todo)}, the first: {found[0]}")
        assert felt > len(todo) // 2, f"only {felt} of {len(todo)} came to the call"  # the control: somebody was killed
