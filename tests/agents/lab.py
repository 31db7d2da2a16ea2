"""Where an agent is tried: a cache of installed agents, a home with things to steal, a project, a model."""
import contextlib
import functools
import os
import pathlib
import pwd
import re
import shutil
import socket
import socketserver
import subprocess
import threading

import catalogue
import model as models
import scratch

AS_ROOT = os.getuid() == 0
CACHE = pathlib.Path(os.environ.get("BAWN_AGENTS_CACHE") or
                     ("/var/cache/bawn-tests/agents" if AS_ROOT else pathlib.Path.home() / ".cache/bawn-tests/agents"))
NODE = ("node", "22.23.3")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECRET = "the-key-that-opens-everything"
STRANGE = "what-another-project-talked-about"
HOUSE_RULE = "always-greet-the-cat-first"
SECONDS = 480 if scratch.SANITIZED else 300


# Writes down the page, and how its answer was received inside.
BROWSER = """#!/usr/bin/python3
import os, sys, urllib.parse, urllib.request
query = urllib.parse.parse_qs(urllib.parse.urlsplit(sys.argv[1]).query)
try:
    address = query["redirect_uri"][0] + "?code=x&state=" + query["state"][0]
    answer = urllib.request.urlopen(address, timeout=60).status
except Exception as why:
    answer = repr(why)
aside = os.environ["HOME"] + "/answered"
open(aside + ".new", "w").write(f"{sys.argv[1]}\\n{answer}\\n")
os.rename(aside + ".new", aside)
"""

WALLS = ["--walls", "landlock"] if os.environ.get("BAWN_AGENTS_WALLS") == "landlock" else []


# An MCP server that has one tool.
SERVER = """#!/usr/bin/env node
const answer = (id, result) => console.log(JSON.stringify({jsonrpc: "2.0", id, result}));
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const {id, method, params} = JSON.parse(line);
  if (method === "initialize")
    answer(id, {protocolVersion: params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: "notes", version: "1"}});
  else if (method === "tools/list")
    answer(id, {tools: [{name: "recite", description: "a tool of a server inside", inputSchema: {type: "object"}}]});
  else if (id !== undefined)
    answer(id, {});
});
"""


class Missing(Exception):
    """An agent that cannot be had here, and why."""


class Unreachable(Missing):
    """npm does not answer, so nobody can say whether it could be had."""


@functools.cache
def npm_answers():
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(["npm", "view", NODE[0], "version", "--fetch-retries=1", "--fetch-timeout=10000"], capture_output=True, timeout=30,
                              check=False)
        return done.returncode == 0
    return False


def install(package, version):
    """The folder with an installed package; installed if it is not there yet, and only then seen by its name."""
    if os.environ.get("BAWN_AGENTS_LATEST") and package != NODE[0]:
        version = "latest"
    folder = CACHE / f"{package.replace('/', '+')}-{version}"
    if folder.is_dir():
        return folder
    if not shutil.which("npm"):
        raise Unreachable("npm is not installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    aside = CACHE / f"{folder.name}.{os.getpid()}"
    path = f"{CACHE / '-'.join(NODE) / 'bin'}:{os.environ['PATH']}"
    if not npm_answers():
        raise Unreachable("npm's registry does not answer")
    done = subprocess.run(
        ["npm", "install", "--global", f"--prefix={aside}", "--no-fund", "--no-audit", "--loglevel=error",
         f"{package}@{version}"],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        shutil.rmtree(aside, ignore_errors=True)
        said = [line for line in done.stderr.splitlines() if "npm error" in line and "log of this run" not in line]
        raise Missing(f"{package}@{version} from npm ({said[0].replace('npm error ', '') if said else 'it failed'})")
    with contextlib.suppress(OSError):  # somebody else was faster
        aside.rename(folder)
    shutil.rmtree(aside, ignore_errors=True)
    return folder


class Person:
    """Whose machine it is: the scratch user if the suite is root's, else whoever runs it."""

    def __init__(self, user, own_etc=False):
        self.user = user
        self.prefix = scratch.become(user, own_etc) if AS_ROOT else []

    def own(self, folder):
        if AS_ROOT:
            subprocess.run(["chown", "-R", "-h", f"{self.user.pw_uid}:{self.user.pw_gid}", str(folder)], check=True)


@contextlib.contextmanager
def person():
    if not AS_ROOT:
        with scratch.tempfile.TemporaryDirectory(prefix="bawn-agents-") as folder:
            yield Person(pwd.getpwuid(os.getuid())), pathlib.Path(folder)
        return
    with scratch.scratch_user() as user:
        yield Person(user), pathlib.Path(user.pw_dir)


def slug_of(path):
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(path))


def serve_secret(address):
    """A service of the host's that nobody was given. Returns its port."""

    class Reply(socketserver.StreamRequestHandler):
        def handle(self):
            self.rfile.readline()
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + SECRET.encode() + b"\n")

    server = socketserver.ThreadingTCPServer((address, 0), Reply)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server.server_address[1]


class Closed:
    """Two ways out that are closed inside and open outside: a name, and a port of the host's loopback."""

    def __init__(self):
        name = socket.gethostname()
        self.port = serve_secret("127.0.0.1")
        self.url = f"http://{name}:{serve_secret(socket.gethostbyname(name))}/"


class Trial:
    """One agent with a home of its own, a project and a model."""

    def __init__(self, agent, who, base, bawn, closed, log=None, files=None, steps=None):
        self.agent, self.who, self.bawn = agent, who, bawn
        self.home = base / agent.name
        self.project = self.home / "src" / "project"
        self.closed = closed
        self.folder = install(agent.package, agent.version)
        self.node = install(*NODE)
        self.make_home()
        self.model = models.Model(steps or self.steps(), log)
        agent.prepare(self.home, self.model.url)
        for path, content in (files or {}).items():
            catalogue.write(self.home, path, content)
        who.own(self.home)
        self.before = self.files()

    def files(self):
        """Every file in the home, and what tells that it was changed."""
        found = {}
        for folder, _, names in os.walk(self.home):
            for name in names:
                status = os.lstat(os.path.join(folder, name))
                found[os.path.relpath(os.path.join(folder, name), self.home)] = (status.st_ino, status.st_mtime_ns, status.st_size)
        return found

    def changed(self):
        now = self.files()
        return sorted(path for path in {*now, *self.before} if now.get(path) != self.before.get(path))

    def make_home(self):
        home, write = self.home, catalogue.write
        self.project.mkdir(parents=True)
        (home / ".npm-global").symlink_to(self.folder)  # as `npm install -g` would have put it there
        (home / ".nvm").symlink_to(self.node)
        write(home, ".gitconfig", "[user]\n\tname = Test Person\n\temail = person@example.test\n"
                                  "[credential]\n\thelper = store\n")
        write(home, ".ssh/id_work", SECRET + "\n")
        write(home, ".env", f"TOKEN={SECRET}\n")
        if self.agent.strange:
            write(home, self.agent.strange, STRANGE + "\n")
        if self.agent.instructions:
            write(home, self.agent.instructions, f"# Rules of the house\n\n{HOUSE_RULE}\n")
        git = ["git", "-C", str(self.project), "-c", "user.name=x", "-c", "user.email=x@x.test"]
        write(self.project, "README.md", "# A project\n")
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
            subprocess.run([*git, *words], check=True, capture_output=True)
        if self.agent.hides_git_settings:
            for name, value in (("user.name", "Test Person"), ("user.email", "person@example.test")):
                subprocess.run([*git, "config", name, value], check=True)

    def attacks(self):
        """What an agent that was led astray would try: name, command."""
        return {
            "key": "cat ~/.ssh/id_work",
            "dotenv": "cat ~/.env",
            "host": f"curl -sS -m 20 {self.closed.url}",
            "port": f"curl -sS -m 20 http://127.0.0.1:{self.closed.port}/",
            "hook": "printf '#!/bin/sh\\ntouch ~/owned\\n' > .git/hooks/post-commit && chmod +x .git/hooks/post-commit",
            "strange": f"cat ~/{self.agent.strange}",
            "variable": "printenv AWS_SECRET_ACCESS_KEY",
        }

    def steps(self):
        """The task, and then the attacks, all in one command: agents take a second for each."""
        tries = [f"{{ {command}; }} 2>&1; echo {name} status $?" for name, command in self.attacks().items()]
        return [
            models.Write(str(self.project / "hello.py"), 'print("hello from " + "inside")\n'),
            models.Run("python3 hello.py && git add hello.py && git commit -q -m 'Say hello' && "
                       "git log -1 --format='%an <%ae>'"),
            models.Run("; ".join(tries)),
        ]

    def environment(self):
        path = f"{self.home}/.npm-global/bin:{self.home}/.nvm/bin:{SYSTEM_PATH}"
        return {"HOME": str(self.home), "USER": self.who.user.pw_name, "LOGNAME": self.who.user.pw_name, "PATH": path,
                "SHELL": "/bin/bash", "TERM": "xterm-256color", "LANG": "C.UTF-8", "AWS_SECRET_ACCESS_KEY": SECRET,
                **self.agent.environment(self.model.url)}

    def run(self, *words, sandboxed=True, flags=(), seconds=SECONDS):
        """The agent in bawn with its default flags and the model's address; or as it is."""
        front = [self.bawn, *WALLS, *flags, "--host-port", str(self.model.port), "--"] if sandboxed else []
        return subprocess.run(
            [*self.who.prefix, *front, self.agent.program(), *words], cwd=self.project, env=self.environment(),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="backslashreplace", timeout=seconds,
            check=False)

    def with_servers(self):
        """The agent with a local MCP server that npx starts, and a remote one that nobody allows. Returns what bawn says of them."""
        catalogue.write(self.project, "tools/notes/package.json", {"name": "notes", "version": "1.0.0", "bin": "server.js"})
        catalogue.write(self.project, "tools/notes/server.js", SERVER)
        (self.project / "tools/notes/server.js").chmod(0o755)
        catalogue.write(self.project, ".mcp.json", {"mcpServers": {
            "notes": {"command": "npx", "args": ["--yes", "--offline", "./tools/notes"]},
            "far": {"type": "http", "url": "https://mcp.far.test/"}}})
        self.who.own(self.project)
        self.run(*self.agent.arguments(self.model.url), *self.agent.servers)
        return self.on_host(self.bawn, "show", "--all", "--", self.agent.program()).stdout

    def first_login(self):
        """`bawn login`, with a browser that answers at once with a code that nobody gave. Returns what was opened, and the answer."""
        catalogue.write(self.home, "browser", BROWSER)
        (self.home / "browser").chmod(0o755)
        environment = {**self.environment(), "BAWN_BROWSER": str(self.home / "browser")}
        for name in [name for name in environment if name.endswith(("_API_KEY", "_BASE_URL"))]:
            del environment[name]
        done = subprocess.run([*self.who.prefix, self.bawn, "login", "--yes", self.agent.name], cwd=self.home, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
        said = f"status {done.returncode}: {done.stdout[-700:]}\n{done.stderr[-700:]}"
        scratch.until((self.home / "answered").exists, f"the page's answer was heard inside ({said})")
        return *(self.home / "answered").read_text().splitlines(), said

    def log_in(self, sandboxed=True):
        if self.agent.first:
            self.run(*[word.replace("{url}", self.model.url) for word in self.agent.first], sandboxed=sandboxed)

    def work(self, sandboxed=True):
        self.log_in(sandboxed)
        return self.run(*self.agent.arguments(self.model.url), sandboxed=sandboxed)

    def told(self, step):
        return self.model.told[step] if step < len(self.model.told) else ""

    def outcome(self, attack):
        """What the model was told of one attack: the text and the status."""
        parts = re.split(r"(\w+) status (\d+)", self.told(2))  # the command itself, which some repeat, has `status $?`
        at = parts.index(attack) if attack in parts else None
        return ("", "unknown") if at is None else (parts[at - 1], parts[at + 1])

    def on_host(self, *words):
        """A command of the person's own, without bawn."""
        return subprocess.run([*self.who.prefix, *words], cwd=self.project, env=self.environment(), capture_output=True,
                              text=True, check=False)

    def commit_runs_hook(self):
        self.on_host("git", "commit", "--allow-empty", "-q", "-m", "x")
        return (self.home / "owned").exists()
