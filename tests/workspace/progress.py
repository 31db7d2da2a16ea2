"""What takes long says on a terminal how far it is."""
import contextlib
import fcntl
import re
import threading
import time

import scratch
from scratch import Project, same, until

claim = scratch.Claims()


class Delayed:
    """While it stands, whoever appends to the snapshots has to wait."""

    def __init__(self, place):
        self.path = place.home / ".local/share/bawn/snapshots/lock"
        self.file = open(self.path)
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def release_late(self):
        """When somebody has waited for longer than a second."""
        number = f":{self.path.stat().st_ino} "
        until(lambda: any("->" in line and number in line for line in open("/proc/locks")), "somebody waits")
        time.sleep(1.1)  # what is shown after a second is the claim
        self.file.close()


@contextlib.contextmanager
def delayed(place):
    """What is done in it has to wait for longer than a second."""
    thread = threading.Thread(target=Delayed(place).release_late)
    thread.start()
    yield
    thread.join()


@claim("progress: a snapshot that takes longer than a second says how far it is, and takes the line back")
def test_snapshot(place):
    project = Project(place, "progress")
    project.inside("true")
    for number in range(20):
        project.write(f"f{number}", f"{number}\n")
    with delayed(place):
        printed, status = place.terminal(project.path, ("--net", "off", "--", "echo", "the command"))
    same(status, 0)
    shown = re.search(r"\rbawn: taking a snapshot: (\d+) of (\d+) \(\d+ %\) *\r", printed)
    assert shown, printed
    assert re.search(r"\r {20,}\r(?!.*taking a snapshot).*the command", printed, re.S), repr(printed)


@claim("progress: an apply says it too; what is fast, or goes to no terminal, says nothing")
def test_apply(place):
    project = Project(place, "progress-apply")
    project.inside("for i in $(seq 20); do echo $i >f$i; done; echo x >>a", "--review")
    project.write("a", "the user's\n")
    with delayed(place):
        printed, status = place.terminal(project.path, ("apply", "--theirs", "--yes"))
    same(status, 0)
    assert "bawn: writing files: " in printed and "21 files applied" in printed, printed
    for _ in range(5):  # a busy disk may be slow: then once more
        began = time.monotonic()
        printed, status = place.terminal(project.path, ("undo", "--yes"))
        if time.monotonic() - began < 1:
            break
        project.bawn("apply", "--theirs", "--yes")
    assert status == 0 and "writing files" not in printed, printed
    project.write("a", "the user's again\n")
    with delayed(place):
        text = project.bawn("apply", "--theirs", "--yes")
    assert "writing files" not in text and "applied" in text, text
