"""A workspace whose sandbox asks, and a person who answers: for the suites ask, grants and execs."""
import json
import os
import pathlib
import re
import subprocess

from scratch import BAWN_INSIDE, PATIENCE, STARTED, Project, until


class Asking(Project):
    """A workspace whose sandbox sees bawn."""

    def start(self, *words, flags=()):
        STARTED.append(subprocess.Popen([self.place.bawn, *self.place.walls, *BAWN_INSIDE, "--read", os.path.dirname(self.place.bawn), *flags, "--", *words], cwd=self.path,
                                        env=self.place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return STARTED[-1]

    def ask(self, *words, flags=()):
        """A run that asks once; ends when it is answered. The last line inside is its status."""
        return self.start("sh", "-c", '"$@"; echo $?', "-", self.place.bawn, "ask", *words, flags=flags)

    def requests(self):
        return self.host("requests")[1]

    def host(self, *words):
        done = subprocess.run([self.place.bawn, *words], cwd=self.path, env=self.place.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout + done.stderr

    def number(self, text):
        """The question with this text, once it is open."""
        found = until(lambda: re.search(rf"^(\S+/\d+)  {re.escape(text)}  ", self.requests(), re.M), f"{text} is asked")
        return found[1]

    def events(self, name, session=None):
        state = pathlib.Path(self.place.environment["HOME"]) / ".local/state/bawn/sessions"
        folders = sorted(state.glob(f"{self.path.name}-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        lines = (folders[-1] / "journal.jsonl").read_text().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]  # without the one that is just being written
        return [event for event in map(json.loads, whole) if event["event"] == name]


def finish(child):
    out, said = child.communicate(timeout=PATIENCE)
    return out.decode().splitlines(), said.decode()
