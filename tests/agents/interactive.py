"""Agents at a terminal: start, prompt, answer, resize, Ctrl-C."""
import contextlib
import dataclasses
import re

import catalogue
import model
import scratch
import screen

WIDER = 130


@dataclasses.dataclass
class Manner:
    """How an agent is spoken to."""

    words: tuple = ()
    dialogs: tuple = ()  # what is asked on the way, and the answer: words on the screen, the line to choose
    quits: int = 1  # how often Ctrl-C must be pressed to end it
    ready: str = ""  # what is on the screen when it waits for a prompt
    files: dict = dataclasses.field(default_factory=dict)  # beside those of the catalogue


MANNERS = {
    "claude": Manner(
        words=("--dangerously-skip-permissions",),
        dialogs=(("trust this folder", "Yes, I trust"), ("use this API key", "Yes"), ("Bypass Permissions mode", "Yes, I accept")),
        ready="bypass permissions on", quits=2,
        files={".claude.json": {"hasCompletedOnboarding": True, "theme": "dark", "lastOnboardingVersion": "2.1.325",
                                "primaryApiKey": "not-for-inside", "projects": {}}}),
    "codex": Manner(words=catalogue.CODEX_PROVIDER, dialogs=(("Trust this folder", "Trust and continue"),),
                    ready="Ask Codex to do anything",
                    files={".codex/config.toml": '[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n'}),
    "opencode": Manner(ready="Ask anything"),
}


def chosen(text):
    """The line that the cursor of a dialog is on."""
    lines = [line for line in text.splitlines() if re.match(r"\s*[❯›>]\s*\S", line)]
    return lines[-1] if lines else ""


def choose(terminal, asked, wanted):
    """Moves to the answer and takes it. A key that comes too early is lost, so it is pressed until something happens. A key that only comes
    late is not pressed again soon: two of them would lead past the answer, which must stay chosen for a moment before it is taken."""

    def moves_on(line, seconds):
        with contextlib.suppress(AssertionError):
            scratch.until(lambda: asked not in (now := terminal.text()) or chosen(now) not in ("", line), "", seconds)
            return True
        return False

    def step(text):
        if asked not in text:
            return True
        line = chosen(text)
        if line and wanted not in line:
            terminal.keys("Down")
            moves_on(line, 10)
        elif line and not moves_on(line, 1):
            terminal.keys("Enter")
            moves_on(line, 10)
        return False

    terminal.wait(step, f"the dialog takes '{wanted}'")


def answer_dialogs(terminal, manner):
    """Until the agent waits for a prompt."""
    left = list(manner.dialogs)

    def next_thing(text):
        if manner.ready in text and not any(asked in text for asked, _ in left):
            return "ready"
        return next((dialog for dialog in left if dialog[0] in text and chosen(text)), None)

    while (thing := terminal.wait(next_thing, "the agent waits for a prompt")) != "ready":
        left.remove(thing)
        choose(terminal, *thing)


def widest(text):
    return max(map(len, text.splitlines()), default=0)


def converse(trial):
    """The whole conversation; an assertion fails where it breaks off."""
    manner = MANNERS[trial.agent.name]
    terminal = screen.Screen(trial, trial.bawn, "--host-port", trial.model.port, "--", trial.agent.program(),
                             *(word.replace("{url}", trial.model.url) for word in manner.words))
    try:
        answer_dialogs(terminal, manner)
        terminal.type(catalogue.PROMPT)
        terminal.wait(lambda text: catalogue.PROMPT[:20] in text, "what is typed is on the screen")
        terminal.wait(lambda _: terminal.keys("Enter") or trial.model.asked.wait(2), "the model is asked")
        terminal.wait(lambda text: model.FAREWELL in text, "the answer is on the screen")
        assert widest(terminal.text()) <= screen.COLUMNS
        terminal.resize(WIDER, screen.LINES)
        terminal.wait(lambda text: screen.COLUMNS < widest(text) <= WIDER, "the program draws itself as wide as the terminal")
        # One that still works on its answer takes the first as a wish to stop that.
        terminal.wait(lambda _: terminal.keys(*["C-c"] * manner.quits) or terminal.status(8), "Ctrl-C ends it")
        return terminal.status(), terminal.text()
    finally:
        terminal.close()
