"""An agent that draws the whole screen, while a person is asked: by a popup of tmux's, or by the bell and the terminal's title."""
import contextlib
import difflib
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time

import catalogue
import interactive
import lab
import model
import scratch
import screen
from scratch import same

AGENT = "claude"
WAYS = ("tmux", "terminal")
HOST = "asked.example.test"
TYPED = "still here"


class Client(threading.Thread):
    """A person's terminal, attached to the tmux of a screen: popups are drawn there and not in the pane."""

    def __init__(self, terminal):
        super().__init__(daemon=True)
        self.seen, (self.master, slave) = b"", pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", screen.LINES, screen.COLUMNS, 0, 0))
        trial = terminal.trial
        self.tmux = subprocess.Popen([*trial.who.prefix, "tmux", "-u", "-S", terminal.socket, "attach"], cwd=trial.project, env=trial.environment(),
                                     stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while text := os.read(self.master, 65536):
                self.seen += text

    def press(self, key):
        os.write(self.master, key)


def settled(terminal):
    """The screen once it does not change any more."""
    def twice():
        text = terminal.text()
        time.sleep(1)  # the screen must stay as it is for so long
        return text if terminal.text() == text else None
    return scratch.until(twice, "the agent has drawn its screen", lab.SECONDS)


def open_screen(agent, who, base, bawn, closed, way):
    """The agent at a terminal, at rest after its first task. Inside, a program waits for the file `go` and then asks."""
    manner = interactive.MANNERS[agent.name]
    ask = f"while ! [ -e go ]; do sleep 0.1; done; {bawn} ask connect {HOST} >said"
    trial = lab.Trial(agent, who, base / f"watched-{way}", bawn, closed, files={**manner.files, ".config/bawn/policy.bawn": f"ask-by {way}\n"},
                      steps=[model.Run(f"setsid sh -c '{ask}' >/dev/null 2>&1 </dev/null & echo began")])
    return trial, screen.Screen(trial, bawn, "--read", os.path.dirname(bawn), "--host-port", trial.model.port, "--", agent.program(), *manner.words)


def be_asked(trial, terminal, client, way):
    """Returns the screen before, while and after the question is open, and the question's number."""
    before = settled(terminal)
    catalogue.write(trial.project, "go", "")
    title = lambda: terminal.tmux("display-message", "-p", "#{pane_title}")
    is_told = (lambda: b"q quit:" in client.seen and HOST.encode() in client.seen) if way == "tmux" else (lambda: HOST in title())
    scratch.until(is_told, "the question is shown", lab.SECONDS)
    while_open = terminal.text()
    if way == "tmux":
        client.press(b"n")
    else:
        number = trial.on_host(trial.bawn, "requests").stdout.split()[0]
        trial.on_host(trial.bawn, "answer", number, "no")
    said = trial.project / "said"
    scratch.until(lambda: said.exists() and said.read_text().startswith("refused: "), "the answer arrives", lab.SECONDS)
    scratch.until(lambda: HOST not in title(), "the title is the agent's again")
    return before, while_open, settled(terminal)


def watch(agent, who, base, bawn, closed, way):
    """Returns the three screens, and whether the agent still takes what is typed."""
    trial, terminal = open_screen(agent, who, base, bawn, closed, way)
    try:
        client = Client(terminal)
        interactive.answer_dialogs(terminal, interactive.MANNERS[agent.name])
        terminal.type(catalogue.PROMPT)
        terminal.wait(lambda text: catalogue.PROMPT[:20] in text, "what is typed is on the screen")
        terminal.wait(lambda _: terminal.keys("Enter") or trial.model.asked.wait(2), "the model is asked")
        terminal.wait(lambda text: model.FAREWELL in text, "the answer is on the screen")
        screens = be_asked(trial, terminal, client, way)
        terminal.type(TYPED)
        terminal.wait(lambda text: TYPED in text, "what is typed is on the screen")
        return screens
    finally:
        terminal.close()
        trial.model.close()


def without_notices(text):
    """The agent shows notices of its own at the right edge, and hints after the mode in its last line, and takes them away when it likes."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(" " * 40)]
    return [line.split(" · ")[0] if interactive.MANNERS[AGENT].ready in line else line for line in lines]


def stay_the_same(before, *screens):
    for other in screens:
        same([line for line in difflib.ndiff(without_notices(before), without_notices(other)) if line[0] in "+-"], [])


def test_tmux(before, while_open, after):
    """a popup of tmux's comes and goes over its screen, which is as it was, and it takes keys again"""
    stay_the_same(before, while_open, after)


def test_terminal(before, while_open, after):
    """the bell and the terminal's title tell of a question, and its screen is as it was"""
    stay_the_same(before, while_open, after)
