"""A terminal that a test can look at: tmux with a server of its own."""
import subprocess
import tempfile
import time

import scratch

COLUMNS, LINES = 100, 40


class Screen:
    """A program in a terminal, run by the person; ended with the test."""

    def __init__(self, trial, *words):
        self.trial = trial
        self.folder = tempfile.TemporaryDirectory(prefix="tmux-", dir=trial.home)
        trial.who.own(self.folder.name)
        self.socket = f"{self.folder.name}/s"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), *map(str, words), ";",
                  "set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "status", "off")

    def tmux(self, *words):
        done = subprocess.run([*self.trial.who.prefix, "tmux", "-u", "-S", self.socket, *words],
                              cwd=self.trial.project, env=self.trial.environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait(self, condition, what, seconds=240):
        try:
            return scratch.until(lambda: condition(self.text()), what, seconds)
        except AssertionError as why:
            raise AssertionError(f"{why}; on the screen: {self.text()!r}") from None

    def status(self, seconds=scratch.PATIENCE):
        """The program's exit status once it has ended, or None."""
        ended = time.monotonic() + seconds
        while True:
            dead, _, status = self.tmux("list-panes", "-F", "#{pane_dead}:#{pane_dead_status}").strip().partition(":")
            if dead == "1":
                return status or "a signal"
            if time.monotonic() > ended:
                return None
            time.sleep(0.05)

    def close(self):
        subprocess.run([*self.trial.who.prefix, "tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)
        self.folder.cleanup()
