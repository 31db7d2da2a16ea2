"""What the claims about frozen and flagged paths share: repositories, and attacks with a control."""
import contextlib
import os
import pathlib
import shutil
import subprocess

import scratch
from scratch import need, same


GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main",
       "-c", "advice.detachedHead=false", "-c", "protocol.file.allow=always"]
IDENTITY = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

# One act, said as words; prints the errno it ends with, or "done". Runs inside and outside alike.
ACT = r"""
import errno, os, sys
def act(what, *paths):
    if what == "write":
        with open(paths[0], "a") as file:
            file.write("evil")
    elif what == "make":
        os.close(os.open(paths[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755))
    elif what == "mkdir":
        os.mkdir(paths[0])
    elif what == "replace":
        with open(paths[0] + ".evil", "w") as file:
            file.write("evil")
        os.rename(paths[0] + ".evil", paths[0])
    else:
        getattr(os, what)(*paths)
try:
    act(*sys.argv[1:])
    print("done")
except OSError as why:
    print(errno.errorcode[why.errno])
"""

# Each of these uses up one thing until it is refused, and says how much it got and how that ended.
FILL_MORE = r"""
import ctypes, errno, os, platform, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_MEMLOCK):
    resource.setrlimit(what, (resource.getrlimit(what)[1],) * 2)
def until_refused(act, most=1 << 30):
    made = 0
    while made < most and act() >= 0:
        made += 1
    return made, errno.errorcode[ctypes.get_errno()] if made < most else "enough"
def lock():
    # Memory that mlock() locks is counted for each process. Memory that processes share is counted for the user.
    segment = libc.shmget(0, 65536, 0o1600)
    done = libc.shmctl(segment, 11, None)
    libc.shmctl(segment, 0, None) if done < 0 else segments.append(segment)
    return done
def terminal():
    return libc.open(b"/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
def context():
    number = 206 if platform.machine() == "x86_64" else 0
    return libc.syscall(number, 128, ctypes.byref(ctypes.c_ulong(0)))
def zero_copy():
    # What nobody reads stays pinned. A socket has a limit of its own: only a new one that is refused at once tells of the user's.
    end = socket.create_connection(server.getsockname())
    sockets.append(end)
    end.setsockopt(socket.SOL_SOCKET, 60, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    end.setblocking(False)
    sent = until_refused(lambda: libc.send(end.fileno(), page, len(page), 0x4000000), 1024)[0]
    return -1 if sent == 0 else 0
def watch():
    # The same descriptors in one epoll after the other.
    if not watched or watched[-1][1] == len(targets):
        watched.append([libc.epoll_create1(0), 0])
    watched[-1][1] += 1
    return libc.epoll_ctl(watched[-1][0], 1, targets[watched[-1][1] - 1], bytes(16))
segments, sockets, watched, page = [], [], [], bytes(16384)
"""

FILL = {
    "locked": FILL_MORE + "def fill(): return until_refused(lock)\n",
    "terminals": FILL_MORE + "def fill(): return until_refused(terminal)\n",
    "aio": FILL_MORE + "def fill(): return until_refused(context)\n",
    "zero copy": FILL_MORE + "server = socket.create_server(('127.0.0.1', 0), backlog=4096)\ndef fill(): return until_refused(zero_copy)\n",
    "epoll": FILL_MORE + "targets = [os.eventfd(0) for _ in range(200)]\ndef fill(): return until_refused(watch)\n",
}


class Ground(scratch.Ground):
    def __init__(self, tap, place):
        super().__init__(place)
        self.tap = tap
        self.environment.update(IDENTITY)

    def host(self, *words, cwd, check=True):
        return subprocess.run(words, cwd=cwd, env=self.environment, check=check, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL).stdout

    def repository(self, name, files=None):
        need("git", "python3")
        path = self.folder(name)
        self.host(*GIT, "init", "-q", ".", cwd=path)
        for file, text in {"a": "one\n", **(files or {})}.items():
            (path / file).parent.mkdir(parents=True, exist_ok=True)
            (path / file).write_text(text)
        self.host(*GIT, "add", ".", cwd=path)
        self.host(*GIT, "commit", "-qm", "first", cwd=path)
        return path

    def inside(self, work, *words, flags=(), **options):
        return self.run(*words, cwd=work, flags=("--net", "off", *flags), **options)

    def sh(self, work, text, **options):
        identity = " ".join(f"{name}={value}" for name, value in IDENTITY.items())
        return self.inside(work, "sh", "-euc", f"export {identity}\n{text}", **options)

    def start(self, work, *words, flags=()):
        return subprocess.Popen([self.bawn, "--net", "off", *flags, "--", *words], cwd=work,
                                env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def attack(self, work, want, *act):
        """Succeeds on a copy outside, ends with this errno inside, and leaves the tree as it was."""
        copy = work.parent / (work.name + "-copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(work, copy, symlinks=True)
        same((act, self.host("python3", "-c", ACT, *act, cwd=copy)), (act, "done\n"))
        done = self.inside(work, "python3", "-c", ACT, *act)
        same((act, done.stdout), (act, want.encode() + b"\n"))

    def state(self, name):
        return self.home / ".local/state/bawn" / name

    def held(self, work):
        """What the newest session of a workspace holds: path below the workspace → content."""
        sessions = sorted(self.state("sessions").glob(f"{work.name}-*"), key=lambda p: int(p.name.rpartition("-")[2]))
        tops = [pathlib.Path(f"{folder}{work}") for folder in sorted(sessions[-1].glob("held*"))] if sessions else []
        return {str(p.relative_to(top)): p.read_text() for top in tops for p in top.rglob("*") if p.is_file()}

    def no_stub(self, work):
        """Just what git itself makes is in .git."""
        names = set(os.listdir(work / ".git"))
        same(names & {"commondir", "config.worktree"}, set())
        same([n for n in names if n.startswith("bawn-")], [])
        same(os.listdir(self.state("stubs")) if self.state("stubs").exists() else [], [])

    @staticmethod
    def need_libgit2():
        if subprocess.run(["/usr/bin/python3", "-c", "import pygit2"], check=False, capture_output=True).returncode != 0:
            raise scratch.Skip("needs python3-pygit2")

    def next_command(self, work, *words):
        return subprocess.run([self.bawn, *words], env=self.environment, capture_output=True, cwd=work,
                              check=True, stdin=subprocess.DEVNULL, timeout=scratch.PATIENCE).stderr.decode()

    @staticmethod
    def watches(pid, folder):
        """Does a process watch this folder?"""
        wanted = f" ino:{folder.stat().st_ino:x} "
        lines = []
        for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it is closed by now
                lines += path.read_text().splitlines()
        return any(wanted in line for line in lines if line.startswith("inotify"))

    def journal(self, work):
        sessions = sorted(self.state("sessions").glob(f"{work.name}-*"), key=lambda p: int(p.name.rpartition("-")[2]))
        return (sessions[-1] / "journal.jsonl").read_text()

    def journals(self, work):
        return "".join((folder / "journal.jsonl").read_text() for folder in self.state("sessions").glob(f"{work.name}-*"))

    FLAGGED = {"CLAUDE.md": "one\n", ".github/workflows/ci.yml": "ci\n", "deep/er/AGENTS.md": "deep\n", "src/x.c": "x\n"}

    QUESTION = "Keep it? [y]es, [a]ll, [N]o: set it aside, [s]et all aside: "
