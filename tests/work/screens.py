"""Terminals with somebody at them: a pseudo terminal whose other end answers as a terminal does, @xterm/headless from npm, and a real xterm.

A terminal says by itself only what it is asked for. Whoever can write to one can ask.
"""
import base64
import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading

import scratch

ROWS, COLUMNS = 30, 100
KEPT = 16000000  # bytes of what was shown: an attack writes without end, and a busy machine looks at it late

# What is asked, and what terminals answer: xterm, Konsole, xterm.js, iTerm2, kitty, PuTTY. `o` and `s` in it are keys of a question of bawn's.
REPLIES = (
    (rb"\x1bP\$q([^\x1b]*)\x1b\\", lambda m: b"\x1bP1$r1;80s\x1b\\"),           # DECRQSS
    (rb"\x1b\[>0?q", lambda m: b"\x1bP>|Konsole 23.08.5 session\x1b\\"),        # XTVERSION
    (rb"\x1b\[0?c", lambda m: b"\x1b[?64;1;2;6;9;15;16;17;18;21;22;28c"),       # DA1
    (rb"\x1b\[>0?c", lambda m: b"\x1b[>41;379;0c"),                             # DA2
    (rb"\x1b\[=0?c", lambda m: b"\x1bP!|00000000\x1b\\"),                       # DA3
    (rb"\x1b\[5n", lambda m: b"\x1b[0n"),                                       # DSR
    (rb"\x1b\[\?(\d+)\$p", lambda m: b"\x1b[?" + m[1] + b";2$y"),               # DECRQM
    (rb"\x1b\]([14][0-9]?);(\d*;?)\?(\x07|\x1b\\)", lambda m: b"\x1b]" + m[1] + b";" + m[2] + b"rgb:eeee/ffff/0000s" + m[3]),
    (rb"\x1b\]50;\?\x07", lambda m: b"\x1b]50;-sony-fixed-medium\x07"),
    (rb"\x1b\]52;c;\?\x07", lambda m: b"\x1b]52;c;" + base64.b64encode(b"session once") + b"\x07"),
    (rb"\x1b\[21t", lambda m: "\x1b]lsession Üso \x07s\x1b\\".encode()),        # a title with half a 0x9c in it
    (rb"\x1b\[20t", lambda m: b"\x1b]Lsos\x1b\\"),
    (rb"\x1b\[1[4-9]t", lambda m: b"\x1b[8;30;100t"),
    (rb"\x1b\]1337;ReportCellSize\x07", lambda m: b"\x1b]1337;ReportCellSize=17.5;8.0;2.0;so\x1b\\"),
    (rb"\x1b\[\?u", lambda m: b"\x1b[?0u"),
    (rb"\x1b_Gi=31[^\x1b]*\x1b\\", lambda m: b"\x1b_Gi=31;so sorry\x1b\\"),     # kitty's pictures
    (rb"\x1bP\+q[^\x1b]*\x1b\\", lambda m: b"\x1bP1+r736f\x1b\\"),              # XTGETTCAP
    (rb"\x1b\[\?996n", lambda m: b"\x9b?997;1n"),                               # in 8 bits
    (rb"\x1b\[\?15n", lambda m: b"\x1b[?10n"),
    (rb"\x05", lambda m: b"s"),                                                 # the answerback that a user has set: no string around it
)
# What a program writes that wants to be answered; a click of the mouse is a person's, and types three letters.
QUERIES = (b"\x1bP$qs\x1b\\", b"\x1b[>q", b"\x1b[c", b"\x1b[>c", b"\x1b[=c", b"\x1b[5n", b"\x1b[6n", b"\x1b[?1$p" * 40, b"\x1b]4;1;?\x07", b"\x1b]10;?\x1b\\",
           b"\x1b]11;?\x07", b"\x1b]50;?\x07", b"\x1b]52;c;?\x07", b"\x1b[21t", b"\x1b[20t", b"\x1b[18t", b"\x1b]1337;ReportCellSize\x07", b"\x1b[?u",
           b"\x1b_Gi=31,a=q;AAAA\x1b\\", b"\x1bP+q544e\x1b\\", b"\x1b[?996n", b"\x1b[?15n", b"\x05")
PATTERN = re.compile(rb"\x1b\[(\d+);(\d+)H|(\x1b\[6n)|" + b"|".join(b"(?P<r%d>%s)" % (i, re.sub(rb"\((?!\?)", b"(?:", query)) for i, (query, _) in enumerate(REPLIES)))
# What bawn writes to a terminal before it takes an answer: its queries, and what undoes a mess.
BAWNS_OWN = re.compile(rb"\x1b7(?:\x1b\[\d+;\d+H\x1b\[6n)+\x1b8|\x18\x1b\\\x1b\[0m\x1b\(B\x0f\x1b\[4l\x1b\[\?2026l\x1b\[\?69l\x1b\[\?7h\x1b7\x1b\[r\x1b8|"
                       rb"\x1b\[!p\x1b\[=0u\x1b\[>4m|\x1b\]104\x1b\\\x1b\]110\x1b\\\x1b\]111\x1b\\|\x1b_Ga=d,d=A\x1b\\|"
                       rb"\x1b\]R\x1b\[39;49m\x1b\[8\]|\x1b\[2l(?:\x1b\[\?\d+l)+\r\n\x1b\[J")
UNFINISHED = re.compile(rb"\x1b(?:[\[P\]_][^\x1b\x07]*\x1b?)?$")


class Answering:
    """The other end of a pseudo terminal: knows where its cursor is when it was told, and answers from the table above."""

    def __init__(self, replies=REPLIES):
        self.replies, self.pending, self.cursor = replies, b"", (1, 1)

    def feed(self, output):
        text, out, end = self.pending + output, [], 0
        for found in PATTERN.finditer(text):
            end = found.end()
            if found[1]:
                self.cursor = (min(int(found[1]), ROWS), min(int(found[2]), COLUMNS))
            elif found[3]:
                out.append(b"\x1b[%d;%dR" % self.cursor)
            else:
                query, reply = next(REPLIES[i] for i in range(len(REPLIES)) if found[f"r{i}"] is not None)
                if self.replies:
                    out.append(reply(re.fullmatch(query, found[0])))
        rest = UNFINISHED.search(text, end)
        self.pending = rest[0] if rest else b""
        return b"".join(out)

    def close(self):
        pass


class Silent(Answering):
    """A terminal that answers nothing."""

    def feed(self, output):
        return b""


def xterm_js_folder():
    """@xterm/headless, installed once into a cache."""
    scratch.need("node", "npm")
    folder = pathlib.Path(os.environ.get("BAWN_XTERM_JS") or "/var/cache/bawn-tests/xterm-js")
    if not (folder / "node_modules/@xterm/headless").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        own = pathlib.Path(tempfile.mkdtemp(prefix="bawn-xterm-js-", dir=folder.parent))
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", own, "--cache", own / "cache", "@xterm/headless@6"],
                              check=False, capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(own, ignore_errors=True)
            raise scratch.Skip(f"needs @xterm/headless from npm: {done.stderr[-300:]}")
        own.chmod(0o755)
        with contextlib.suppress(OSError):  # another suite was first
            own.rename(folder)
        shutil.rmtree(own, ignore_errors=True)
    return folder


XTERM_JS = """
const { Terminal } = require("@xterm/headless");
const term = new Terminal({ rows: %d, cols: %d, allowProposedApi: true });
term.onData((data) => process.stdout.write(data));
term.onBinary((data) => process.stdout.write(Buffer.from(data, "binary")));
process.stdin.on("data", (data) => term.write(data));
process.stdin.on("end", () => process.exit(0));
""" % (ROWS, COLUMNS)


class XtermJs:
    """The terminal of VS Code and of many web pages, with its own parser."""

    def __init__(self, folder):
        self.node = subprocess.Popen(["node", "-e", XTERM_JS], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.output = self.node.stdout

    def feed(self, output):
        self.node.stdin.write(output)
        self.node.stdin.flush()
        return b""

    def close(self):
        self.node.stdin.close()
        self.node.wait()
        self.output.close()


class Pty:
    """A program on a pseudo terminal of its own."""

    def __init__(self, words, cwd, environment, end=None):
        self.end, self.shown, self.status = end or Answering(), b"", None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(str(words[0]), [str(word) for word in words], environment)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.lock = threading.Lock()
        self.pump = threading.Thread(target=self._pump, daemon=True)
        self.pump.start()

    def _pump(self):
        other = getattr(self.end, "output", None)
        with contextlib.suppress(OSError, ValueError):
            while True:
                for ready in select.select([self.master, *([other] if other else [])], [], [])[0]:
                    if ready is other:
                        part = os.read(other.fileno(), 65536)
                        if part:
                            os.write(self.master, part)
                        else:
                            other = None
                        continue
                    part = os.read(self.master, 65536)
                    if not part:
                        return
                    with self.lock:
                        self.shown = (self.shown + part)[-KEPT:]
                    reply = self.end.feed(part)
                    if reply:
                        os.write(self.master, reply)

    def text(self):
        with self.lock:
            return self.shown.decode(errors="replace").replace("\r\n", "\n")

    def await_text(self, wanted, count=1):
        wanted = [wanted] if isinstance(wanted, str) else wanted
        try:
            scratch.until(lambda: any(self.text().count(each) >= count for each in wanted), f"{wanted!r} is shown")
        except AssertionError as why:
            raise AssertionError(f"{why}: {self.text()[-1500:]!r}") from None

    def type(self, text):
        os.write(self.master, text.encode())

    def modes(self):
        return termios.tcgetattr(self.master)

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def wait(self):
        scratch.until(self.ended, "the program on the terminal has ended")
        return self.status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL
        self.end.close()
        os.close(self.master)
        self.pump.join(scratch.PATIENCE)


class Xterm:
    """A real xterm under Xvfb, with its usual settings. Keys are typed as a keyboard types them."""

    def __init__(self, words, cwd, environment):
        scratch.need("xterm", "Xvfb", "xdotool")
        self.folder = tempfile.mkdtemp(prefix="bawn-xterm-")
        read, write = os.pipe()
        self.screen = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "900x600x24", "-nolisten", "tcp", "-nolisten", "unix"], pass_fds=[write],
                                       stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as display:
            self.environment = {**environment, "DISPLAY": f":{display.readline().strip()}"}
        self.log = os.path.join(self.folder, "log")
        self.xterm = subprocess.Popen(["xterm", "-l", "-lf", self.log, "-geometry", f"{COLUMNS}x{ROWS}", "-e", *map(str, words)], cwd=cwd, env=self.environment,
                                      stderr=subprocess.DEVNULL)

    def text(self):
        with contextlib.suppress(OSError):
            return pathlib.Path(self.log).read_bytes().decode(errors="replace").replace("\r\n", "\n")
        return ""

    await_text = Pty.await_text

    def type(self, key):
        """Keys go to the window under the pointer: there is no window manager."""
        subprocess.run(["xdotool", "search", "--class", "xterm", "windowfocus", "key", "--clearmodifiers", key], env=self.environment, check=False,
                       capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (self.xterm, self.screen):
            each.terminate()
            each.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
