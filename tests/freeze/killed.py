"""What a killed bawn leaves: the next command ends it."""
import contextlib
import os
import random
import shutil
import signal
import time

import scratch
from processes import children_of
from scratch import SANITIZED, same, until

claim = scratch.Claims()

PLANT = "import os\n" \
        "def put(path, text):\n" \
        "  os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n" \
        "  with open(path, 'w') as file: file.write(text)\n" \
        "print('up', flush=True)\n" \
        "while True:\n" \
        "  for path in ('CLAUDE.md', 'GEMINI.md', 'sub/.claude/settings.json', 'src/new.c', '.bawn'): put(path, 'evil')\n"


def is_clean(place, work, left):
    place.no_stub(work)
    same(os.listdir(place.state("running")), [])
    same((work / "CLAUDE.md").read_text(), "one\n")
    same((work / "sub/.claude/settings.json").read_text(), "mine")
    same([name for name in ("GEMINI.md", ".bawn") if (work / name).exists()], [])
    same(list(place.state("sessions").glob("*/git-home")), [])
    if left:
        same({"CLAUDE.md", "GEMINI.md", "sub/.claude/settings.json"} - set(place.held(work)), set())


def planting(place, name):
    work = place.repository(name, {"CLAUDE.md": "one\n", "src/x.c": "x\n"})
    (work / "sub/.claude").mkdir(parents=True)
    (work / "sub/.claude/settings.json").write_text("mine")
    return work


@claim("kill -9 of bawn: the next command, whichever it is, settles what is new in flagged places, and says so")
def test_killed_flags(place):
    work = planting(place, "killed-flags")
    child = place.start(work, "python3", "-c", PLANT)
    same(child.stdout.readline(), b"up\n")
    until(lambda: (work / "src/new.c").exists() and (work / "src/new.c").read_text() == "evil", "it has planted all")
    child.kill()
    child.communicate()
    said = place.next_command(work, "sessions")
    is_clean(place, work, True)
    for name in ("CLAUDE.md is changed", "GEMINI.md is new", "sub/.claude/settings.json is changed"):
        same((name, f"{work}/{name}, and programs on your machine may run or obey it: it is set aside." in said), (name, True))
    same("was killed in the session killed-flags-1" in said, True)
    # Which is no business of the flags', and may have been cut short by the kill.
    same((work / "src/new.c").read_text() in ("", "evil"), True)
    same(place.next_command(work, "sessions"), "")
    place.next_command(work, "undo", "--yes")
    same((work / "src/new.c").exists(), False)


@claim("kill -9 of bawn or of process 1 at any moment: the next command leaves nothing that was planted")
def test_killed_anywhere(place):
    work = planting(place, "killed-anywhere")
    for number in range(6 if SANITIZED else 20):
        child = place.start(work, "python3", "-c", PLANT)
        if number % 4 < 2:
            same(child.stdout.readline(), b"up\n")
        time.sleep(random.Random(number).uniform(0, 0.03))  # the moment is what is being varied
        inner = children_of(child.pid)
        if number % 2 and inner:
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner[0], signal.SIGKILL)
        else:
            child.kill()
        child.communicate(timeout=scratch.PATIENCE)
        place.next_command(work, "sessions")
        is_clean(place, work, False)


@claim("kill -9 while files are being set aside: the rest follows, and what is held is told of")
def test_killed_settling(place):
    for attempt in range(10):  # one that was done before it was killed shows nothing
        work = planting(place, f"killed-settling-{attempt}")
        for number in range(300):
            (work / f"sub/.claude/{number}").write_text("mine")
        child = place.start(work, "sh", "-c", "for i in $(seq 0 299); do echo evil >sub/.claude/$i; done")
        folder = place.state("sessions") / f"{work.name}-1"
        until(lambda: list(folder.glob("held*")), "something is held")
        child.kill()
        child.communicate()
        said = place.next_command(work, "sessions")
        same([n for n in range(300) if (work / f"sub/.claude/{n}").read_text() != "mine"], [])
        same(len(place.held(work)), 300)
        if f"files are set aside. `bawn held {work.name}-1` lists them." in said:
            return
    raise AssertionError(said)


@claim("kill -9, and the workspace is gone: that is the end of it")
def test_killed_workspace_gone(place):
    work = planting(place, "killed-gone")
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    child.kill()
    child.communicate()
    shutil.rmtree(work)
    place.next_command(place.home, "sessions", "--repair")
    same((place.next_command(place.home, "sessions", "--repair"), os.listdir(place.state("running"))), ("", []))
