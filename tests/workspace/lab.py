"""What the parts of this suite share: runs that are under way, runs that were killed, a repository with one commit."""
import contextlib
import pathlib
import re
import signal
import subprocess
import time

from processes import children_of, is_alive
from scratch import PATIENCE, Project, same, until

# Writes through a mapping, once a line that it reads: three times the line's first byte. A page that was read can be written.
MAPPED = """
import mmap, os, sys
maps = [mmap.mmap(os.open(name, os.O_RDWR), 0) for name in sys.argv[1:]]
for line in sys.stdin:
    for map in maps:
        map[0]
        map[:3] = line[0].encode() * 3
    print(flush=True)
"""


def repository(place, name):
    """A workspace that is a git repository with one commit, on the branch main."""
    project = Project(place, name)
    project.git("init", "-q", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-qm", "one")
    return project


def started(project, script, *flags, **options):
    """A run under way: its script has printed `up`, and mostly waits for a line now."""
    run = subprocess.Popen([project.place.bawn, "--net", "off", *flags, "--", "sh", "-c", script], cwd=project.path,
                           env=project.place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    same(run.stdout.readline(), b"up\n")
    return run


def killed(project, script, *flags):
    """A run whose bawn was killed when its script had printed `up`. Its sandbox is gone, too."""
    run = started(project, script, *flags)
    run.kill()
    run.communicate(timeout=PATIENCE)


class Checkpointed:
    """A live run with checkpoints, a second apart, that does a step when it is told to."""

    def __init__(self, project, *flags):
        self.project = project
        self.run = subprocess.Popen([project.place.bawn, "--net", "off", "--checkpoint", "1s", *flags, "--", "sh", "-c",
                                     "echo up; while read line; do eval \"$line\"; echo done; done"], cwd=project.path,
                                    env=project.place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        same(self.run.stdout.readline(), b"up\n")
        state = project.place.environment.get("XDG_STATE_HOME", project.place.home / ".local/state")
        self.folder = pathlib.Path(state) / "bawn/sessions" / f"{project.path.name}-1"
        self.steps = 0

    def kept(self):
        return len(list(self.folder.glob("checkpoints/*-after")))

    def is_taking_one(self):
        """A child of bawn's that is not in the sandbox looks at the workspace."""
        for child in children_of(self.run.pid):
            with contextlib.suppress(OSError):
                status = pathlib.Path(f"/proc/{child}/status").read_text()
                if is_alive(child) and len(re.search(r"^NSpid:(.*)", status, re.M)[1].split()) == 1:
                    return True
        return False

    def step(self, script):
        """Returns how the workspace looked at the checkpoint that was then taken."""
        self.run.send_signal(signal.SIGSTOP)  # none is taken in the middle of the script
        until(lambda: not self.is_taking_one(), "the last checkpoint is done")
        before = self.kept()
        self.run.stdin.write(script.encode() + b"\n")
        self.run.stdin.flush()
        same(self.run.stdout.readline(), b"done\n")
        self.run.send_signal(signal.SIGCONT)
        until(lambda: self.kept() > before, "a checkpoint")
        second = int(time.time())
        until(lambda: int(time.time()) > second, "the next second")  # by which checkpoints are told apart
        self.steps += 1
        return self.project.looks()

    def end(self):
        said = self.run.communicate(timeout=PATIENCE)[1].decode()
        same(self.run.returncode, 0)
        return said

    def times(self):
        """Those of `undo --list`, the oldest first. On a slow machine there may be one more, of what was done after the last step."""
        listed = self.project.bawn("undo", "--list").splitlines()
        times = [line.split()[0] for line in listed if line.startswith("  ")][::-1]
        same(len(times) in (self.steps, self.steps + 1), True)
        return times[:self.steps]
