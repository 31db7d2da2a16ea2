"""One person's machine in the lab, and bawn on it."""
import json
import os
import pathlib
import pty
import shutil
import socket
import subprocess
import tempfile
import threading

from scratch import PATIENCE

BAWN = os.environ["BAWN"]
WALLS = ["--walls", "landlock"] if os.environ.get("BAWN_EGRESS_WALLS") == "landlock" else []
SLOWER = max(1, PATIENCE / 20)  # than most machines: limits of time are so much longer


class Skip(Exception):
    pass


def sanitized_too(test):
    """It feeds the parsers, the relay or the table: with the sanitizers, where a start takes a second, only these are run."""
    test.sanitized_too = True
    return test


def rare(test):
    """Only `make test-all` runs it, because other tests show the same with less."""
    test.rare = True
    return test


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self):
        return f"status {self.status}\nout: {self.out[-1500:]}\nerr: {self.err[-1500:]}"


class Session:
    def __init__(self, lab):
        self.lab = lab
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=lab.folder))
        self.work = self.home / "work"
        self.work.mkdir()
        self.results = []
        self.started = []
        for name in ("cert.pem",):
            shutil.copy(lab.folder / name, self.work / name)

    def environment(self, more=None) -> dict:
        sanitizers = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        return {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", **sanitizers,
                **(more or {})}

    def command(self, rules, command) -> list:
        words = [BAWN, *WALLS]
        for rule in rules:
            verb, _, rest = rule.partition(" ")
            words += [f"--{verb}", rest]
        return words + ["--"] + list(command)

    def run(self, rules, *command, env=None, timeout=30) -> Result:
        """bawn with these rules ("connect allowed.test:80") and this command."""
        done = subprocess.run(self.command(rules, command), cwd=self.work, env=self.environment(env), text=True,
                              capture_output=True, timeout=timeout * SLOWER, stdin=subprocess.DEVNULL, errors="replace")
        self.results.append(Result(done))
        if all(process.poll() is not None for process in self.started):
            self.lab.settle()
        return self.results[-1]

    def start(self, rules, *command, env=None, prefix=()) -> subprocess.Popen:
        process = subprocess.Popen([*prefix, *self.command(rules, command)], cwd=self.work, env=self.environment(env), text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def python(self, rules, code, env=None, timeout=30) -> Result:
        """A program inside, with a few words that every test needs."""
        return self.run(rules, "/usr/bin/python3", "-c", HELPERS + code, env=env, timeout=timeout)

    def on_terminal(self, rules, *command, env=None) -> str:
        """What bawn says to a person: its standard error is a terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(self.command(rules, command), cwd=self.work, env=self.environment(env), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        process.wait(timeout=30 * SLOWER)
        return said.decode().replace("\r\n", "\n")

    def outside(self, code, prefix=()) -> Result:
        """The same program on the lab's host, without bawn: the control."""
        done = subprocess.run([*prefix, "/usr/bin/python3", "-c", HELPERS + code], cwd=self.work, env=self.environment(), text=True,
                              capture_output=True, timeout=30 * SLOWER, stdin=subprocess.DEVNULL)
        self.results.append(Result(done))
        return self.results[-1]

    def journal(self) -> list:
        """Everything that was recorded, of all runs, the oldest first."""
        events = []
        sessions = self.home / ".local/state/bawn/sessions"
        for path in sorted(sessions.glob("*/journal*"), key=lambda path: (int(path.parent.name.rpartition("-")[2]), path.name)):
            text = path.read_text()
            whole = text[:text.rfind("\n") + 1]  # a line may be in the making
            events += [json.loads(line) for line in whole.splitlines()]
        return events

    def events(self, kind) -> list:
        return [event for event in self.journal() if event["event"] == kind]

    def tell(self) -> str:
        return "\n".join(map(repr, self.results)) + "\nseen outside: " + repr(self.lab.ask()) + "\njournal: " + "\n".join(
            json.dumps({key: value for key, value in event.items() if key not in ("chain", "at")}) for event in self.journal())

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()


class Host:
    """A service on the lab's host itself, which says who it is and counts who came."""

    def __init__(self, address="127.0.0.1", port=0):
        self.socket = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.port = self.socket.getsockname()[1]
        self.came = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.came += 1
            try:
                client.sendall(b"the host: " + client.recv(100))
            except OSError:  # it was reset
                pass
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits
        self.socket.close()


HELPERS = f"PATIENCE = {PATIENCE}\n" + '''
import errno, socket, struct, sys, time
def attempt(action):
    """What it gives, or the name of its errno."""
    try:
        return action()
    except socket.gaierror as error:
        return "EAI" + str(error.errno)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
def dial(host, port, timeout=PATIENCE):
    return socket.create_connection((host, port), timeout)
def exchange(host, port, data, timeout=PATIENCE):
    with dial(host, port, timeout) as s:
        s.sendall(data)
        try:
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass   # it was reset meanwhile, and reading tells
        got = b""
        while part := s.recv(65536):
            got += part
        return got
'''
