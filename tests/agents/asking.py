"""Agents that meet a closed host, ask for it with the tools of `bawn mcp`, and are answered by a person."""
import contextlib
import json
import re
import socket
import threading

import lab
import model
import scratch
from scratch import same

BECAUSE = "the task needs this page"


def open_page():
    """HOST:PORT of a page of this machine's. A name of its own would lead to its loopback, which only `host-port` opens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))  # sends nothing
        address = probe.getsockname()[0]
    if address == "0.0.0.0":
        raise scratch.Skip("needs an address beside the loopback's")
    return f"{address}:{lab.serve_secret(address)}"


class Person(threading.Thread):
    """Waits for a question, looks at it, and answers it with a word."""

    def __init__(self, trial, word):
        super().__init__(daemon=True)
        self.trial, self.word, self.seen = trial, word, ""
        self.start()

    def run(self):
        with contextlib.suppress(AssertionError):
            number = scratch.until(self.find, "a question", lab.SECONDS)[1]
            self.trial.on_host(self.trial.bawn, "answer", number, self.word)

    def find(self):
        self.seen = self.trial.on_host(self.trial.bawn, "requests").stdout
        return re.search(r"^(\S+/\d+)  connect ", self.seen, re.M)


def converse(agent, who, base, bawn, closed, word):
    """Returns the page, what the model was told of each step, what the person saw, and the questions in the journal."""
    page = open_page()
    ask = {"kind": "connect", "object": page, "because": BECAUSE}
    fetch = model.Run(f"curl -sS -m 20 http://{page}/ 2>&1; echo status $?")
    steps = [fetch, model.Find("bawn", ("ask", "status")), model.Use("bawn", "ask", ask), *([fetch] if word != "no" else []),
             model.Use("bawn", "status", {})]
    trial = lab.Trial(agent, who, base / f"ask-{word}", bawn, closed, steps=steps)
    person = Person(trial, word)
    done = trial.run(*agent.arguments(trial.model.url), flags=("--read", bawn.rpartition("/")[0]))
    trial.model.close()
    person.join(scratch.PATIENCE)
    assert done.returncode == 0 and model.FAREWELL in done.stdout, f"status {done.returncode}: {done.stderr[-1200:]}"
    log = trial.on_host(bawn, "log", "--asked", "--json").stdout
    return page, trial.model.told, person.seen, json.loads(log)


def off(agent, who, base, bawn, closed):
    """Does the model hear of the tools where the user's policy turns them off?"""
    rule = {".config/bawn/policy.bawn": "mcp off\n"}
    trial = lab.Trial(agent, who, base / "ask-off", bawn, closed, steps=[model.Run("true")], files=rule)
    done = trial.run(*agent.arguments(trial.model.url), flags=("--read", bawn.rpartition("/")[0]))
    trial.model.close()
    assert done.returncode == 0, done.stderr[-1200:]
    return trial.model.saw("mcp__bawn__ask") or trial.model.saw("says how your questions stand")


def test_granted(host, told, seen, events):
    """meets a closed host, asks for it by MCP, is granted it by `bawn answer`, and gets there"""
    assert "status 7" in told[0] and lab.SECRET not in told[0], told[0]
    assert f"connect {host}" in seen and f'"{BECAUSE}"' in seen, seen
    assert f"granted: you may connect to {host} until this run ends." in told[2], told[2]
    assert lab.SECRET in told[3], told[3]
    same([event["event"] for event in events], ["asked", "answered"])
    assert f"connect {host}: granted until this run ends" in told[4], told[4]


def test_refused(host, told, seen, events):
    """is refused by `bawn answer`, is told so, and ends without the host"""
    assert f"refused: you may not connect to {host}: a person said no. Go on without it." in told[2], told[2]
    assert f"connect {host}: refused" in told[3], told[3]
    assert not any(lab.SECRET in text for text in told), told
    same([event["event"] for event in events], ["asked", "answered"])


def test_off(hears):
    """with `mcp off` in the user's policy it does not get the tools (control: above, it does)"""
    assert not hears, "the model heard of the tools"
