"""A server of `bawn web`, and a client that sends what it is told, byte by byte if need be."""
import contextlib
import html
import pathlib
import re
import signal
import socket
import subprocess
import urllib.parse

from processes import children_of
from scratch import PATIENCE


class Reply:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0].startswith("HTTP/") else 0
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        self.text = self.body.decode("utf-8", "replace")

    def form(self, action):
        """The fields of the form with this action: hidden ones, and selects with their first choice."""
        part = re.search(rf'<form[^>]*method=post action="{re.escape(action)}".*?</form>', self.text, re.S)
        assert part, f"no form {action} in {self.text[-1500:]}"
        fields = {}
        for tag in re.findall(r"<input type=hidden[^>]*>", part[0]):
            fields[html.unescape(re.search(r'name="?([^ ">]+)', tag)[1])] = html.unescape(re.search(r'value="?([^">]*)', tag)[1])
        for name in re.findall(r'<select name="?([^">]+)"?', part[0]):
            fields[name] = ""
        return fields


class Page:
    """`bawn web`, as a person starts it. `with Page(place) as page: page.get("/")`. With a browser, which is a program: `page.file` leads it to the address."""

    def __init__(self, place, *flags, cwd=None, browser=None):
        self.place = place
        environment = {**place.environment, **({"BAWN_BROWSER": str(browser)} if browser else {})}
        self.process = subprocess.Popen([place.bawn, "web", *([] if browser else ["--no-open"]), *map(str, flags)], cwd=cwd or place.home, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise AssertionError(f"bawn web: {self.process.stderr.read()}")
        self.file = pathlib.Path(self.address) if browser else None
        if browser:
            self.address = re.search(r'url=(http://[^"]+)"', self.file.read_text())[1]
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.token, self.cookie = parts.netloc, parts.query.partition("=")[2], ""
        self.path = flags[flags.index("--unix") + 1] if "--unix" in flags else None
        self.port = None if self.path else parts.port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()

    def server(self):
        """The process that speaks HTTP: the other one's only lasting child."""
        return children_of(self.process.pid)[0]

    def connect(self):
        if self.path:
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(PATIENCE)
            peer.connect(str(self.path))
            return peer
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def raw(self, data):
        with contextlib.closing(self.connect()) as peer:
            peer.sendall(data)
            return Reply(read_all(peer))

    def request(self, method, path, headers=None, body=b""):
        sent = {"Host": self.host, **({"Cookie": f"bawn={self.cookie}"} if self.cookie else {}), **(headers or {})}
        if method == "POST":
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
            sent["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value is not None)
        return self.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)

    def get(self, path, **headers):
        return self.request("GET", path, {name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path, fields, **headers):
        own = {"Origin": f"http://{self.host}", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.request("POST", path, own, urllib.parse.urlencode(fields).encode())

    def enter(self):
        """Opens the address, as the browser does, and keeps the cookie."""
        reply = self.get(f"/?token={self.token}", Cookie=None, Sec_Fetch_Site="none")
        assert reply.status == 303, (reply.status, reply.text)
        self.cookie = re.match(r"bawn=([0-9a-f]{64});", reply.headers["set-cookie"])[1]
        return reply


def read_all(peer):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := peer.recv(65536):
            data += part
    return data
