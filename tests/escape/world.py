"""A made-up machine around one run: a home with decoy secrets, repositories, processes, sockets; and the sensors that tell
from outside whether something happened to them."""
import ctypes
import errno
import fcntl
import hashlib
import os
import pathlib
import resource
import secrets
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import termios
import tty

LIBC = ctypes.CDLL(None, use_errno=True)
PATIENCE = int(os.environ.get("BAWN_PATIENCE") or 20)  # seconds, for what should take milliseconds
IPC_CREAT, IPC_EXCL, IPC_RMID = 0o1000, 0o2000, 0


class Lacking(Exception):
    """This machine, or this user, cannot have what a case is about."""


def read_or(path: str, fallback: str = "") -> str:
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return fallback


class World:
    def __init__(self, way: str, base: pathlib.Path, tools: pathlib.Path, given: dict):
        self.way, self.base, self.tools, self.given = way, base, tools, given
        self.mark = f"bawn-escape-{os.getpid()}-{way}"
        self.token = "TOKEN" + secrets.token_hex(12)
        self.home, self.ws = base / "home", base / "home/src/project"
        self.runtime, self.host_tmp = base / "runtime", base / "host-tmp"
        self.host_var_tmp = pathlib.Path(tempfile.mkdtemp(prefix=self.mark + ".", dir="/var/tmp"))
        self.listeners, self.victim, self.ipc = [], None, []
        self.canaries = {}
        for folder in (self.home, self.runtime, self.host_tmp):
            folder.mkdir(parents=True)
        self.make_home()
        self.make_workspace()
        self.listen()
        self.make_ipc()
        self.start_victim()
        self.calm = self.state()

    # --- what is there ----------------------------------------------------------------------------------------------

    def file(self, path: pathlib.Path, text: str, mode: int = 0o644):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        self.canaries[path] = (text, mode)

    def make_home(self):
        secret = f"secret {self.token}\n"
        self.file(self.home / ".ssh/id_rsa", secret, 0o600)  # where a decoy stands inside
        self.file(self.home / ".ssh/id_work", secret, 0o600)  # where nothing does
        self.file(self.home / ".aws/credentials", secret, 0o600)
        self.file(self.home / ".aws/session", secret, 0o600)
        self.file(self.home / ".bash_history", secret, 0o600)
        self.file(self.home / ".config/bawn/policy.bawn", f"# {secret}", 0o600)
        self.file(self.home / ".linked-key", "a key that has a second name in the workspace\n", 0o600)
        self.file(self.home / ".bashrc", "# start-up file\n")
        self.file(self.home / ".profile", "# start-up file\n")
        self.file(self.home / "src/sibling/README", secret)
        self.file(self.home / "wide/file", "granted to be read\n")
        self.file(self.home / "wide/.env", secret)
        self.file(self.home / "wide/hidden/secret", secret)
        (self.home / "wide/.ssh-backup").mkdir()
        (self.home / "keys").symlink_to(".ssh")
        self.file(self.host_tmp / "canary", secret)
        self.file(self.host_var_tmp / "canary", secret)

    def make_workspace(self):
        """A repository, made by hand: git itself is never needed."""
        if self.ws.exists():
            shutil.rmtree(self.ws)
        git = self.ws / ".git"
        for folder in ("objects", "refs/heads", "hooks", "info"):
            (git / folder).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        self.file(git / "config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
        self.file(git / "hooks/pre-commit", "#!/bin/sh\n", 0o755)
        self.file(self.ws / ".bawn", "# this repository's own policy\n")
        self.file(self.ws / "frozen/inner/file", "frozen by a flag\n")
        (self.ws / "work").write_text("work\n")
        (self.ws / "plain").mkdir()
        (self.ws / "private").mkdir()
        (self.ws / "private/secret").write_text(f"secret {self.token}\n")
        (self.ws / "link-to-key").symlink_to(self.home / ".ssh/id_work")
        (self.ws / "link-to-home").symlink_to(self.home)
        os.link(self.home / ".linked-key", self.ws / "alias-of-key")

    def listen(self):
        def add(family, kind, address):
            listener = socket.socket(family, kind)
            listener.bind(address)
            if kind == socket.SOCK_STREAM:
                listener.listen(8)
            listener.setblocking(False)
            self.listeners.append(listener)
            return listener

        unix, stream, datagram = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM
        self.tcp_port = add(socket.AF_INET, stream, ("127.0.0.1", 0)).getsockname()[1]
        self.udp_port = add(socket.AF_INET, datagram, ("127.0.0.1", 0)).getsockname()[1]
        try:
            self.tcp6_port = add(socket.AF_INET6, stream, ("::1", 0)).getsockname()[1]
        except OSError:
            self.tcp6_port = None
        add(unix, stream, str(self.runtime / "bus"))
        add(unix, stream, str(self.host_tmp / "agent"))
        add(unix, stream, str(self.home / "src/sibling/daemon"))
        add(unix, stream, f"\0{self.mark}")
        add(unix, datagram, f"\0{self.mark}-datagram")
        if self.given.get("run_listener"):
            self.listeners.append(self.given["run_listener"])
        self.workspace_listener = None
        self.listen_in_workspace()

    def listen_in_workspace(self):
        if self.workspace_listener:
            self.listeners.remove(self.workspace_listener)
            self.workspace_listener.close()
        self.workspace_listener = socket.socket(socket.AF_UNIX)
        self.workspace_listener.bind(str(self.ws / "daemon"))
        self.workspace_listener.listen(8)
        self.workspace_listener.setblocking(False)
        self.listeners.append(self.workspace_listener)

    def make_ipc(self):
        """System V and POSIX objects that only this user's id protects."""
        self.ipc_key = 0x43000000 | secrets.randbelow(1 << 24)  # those of `bawn prove` begin with 0x42
        for make, name, arguments in (
            (LIBC.shmget, "shmctl", (self.ipc_key, 4096, IPC_CREAT | IPC_EXCL | 0o600)),
            (LIBC.msgget, "msgctl", (self.ipc_key, IPC_CREAT | IPC_EXCL | 0o600)),
            (LIBC.semget, "semctl", (self.ipc_key, 1, IPC_CREAT | IPC_EXCL | 0o600)),
        ):
            number = make(*arguments)
            if number >= 0:
                self.ipc.append((name, number))
        queue = LIBC.mq_open(f"/{self.mark}".encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
        if queue >= 0:
            os.close(queue)
        pathlib.Path(f"/dev/shm/{self.mark}.host").write_text("shared\n")

    def start_victim(self):
        """A process of the host that stands in the secret directory, and holds a secret open and in its environment."""
        with open(self.home / ".ssh/id_rsa", "rb") as secret:
            self.victim = subprocess.Popen(
                [f"{self.mark}-victim"],
                executable=self.tools / "victim",
                stdin=secret,
                cwd=self.home / ".ssh",
                env={"TOKEN": self.token},
                preexec_fn=lambda: os.setpgid(0, 0),
            )

    def environment(self) -> dict:
        """The caller's, with what callers have in theirs."""
        return {
            "HOME": str(self.home),
            "PATH": f"{self.home}/.cargo/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/no/such/folder",
            "USER": "someone",
            "LANG": "C.UTF-8",
            "AWS_SECRET_ACCESS_KEY": self.token,
            "GITHUB_TOKEN": self.token,
            "SSH_AUTH_SOCK": str(self.host_tmp / "agent"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.runtime}/bus",
            "DISPLAY": ":7",
            "GIT_DIR": "/nowhere",
            "http_proxy": f"http://user:{self.token}@127.0.0.1:1",
            **{name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ},
        }

    def values(self) -> dict:
        """What {NAME} in a case stands for. None: this machine lacks it; see `lacks`."""
        first = self.base.parts
        cgroups = ("", "unified/", "memory/", "pids/")
        procs = [f"/sys/fs/cgroup/{name}cgroup.procs" for name in cgroups]
        half = len(self.token) // 2
        return {
            "home": self.home,
            "ws": self.ws,
            "mark": self.mark,
            "token": self.token,
            "token_half": self.token[:half],
            "token_other_half": self.token[half:],
            "victim": self.victim.pid,
            "victim_half": self.mark[:8],
            "victim_other_half": self.mark[8:] + "-victim",
            "other_home": self.given.get("other_home"),
            "host_tmp": self.host_tmp,
            "host_var_tmp": self.host_var_tmp,
            "runtime": self.runtime,
            "run_socket": self.given.get("run_socket"),
            "setuid": self.given.get("setuid"),
            "disk": self.given.get("disk"),
            "cgroup_procs": next((path for path in procs if os.path.exists(path)), None),
            "ipc_key": self.ipc_key,
            "tcp_port": self.tcp_port,
            "tcp6_port": self.tcp6_port,
            "udp_port": self.udp_port,
            "first_of_home": first[1],
            "first_below_tmp": first[2] if first[1] == "tmp" else "",
            "first_below_home": first[2] if first[1] == "home" else "",
        }

    lacks = {
        "other_home": "needs root to make a second home",
        "run_socket": "needs root to make a socket in /run",
        "setuid": "needs root to make a setuid program",
        "disk": "there is no disk device on this machine",
        "cgroup_procs": "there are no control groups on this machine",
        "tcp6_port": "there is no IPv6 on this machine",
    }

    def fill(self, text: str) -> str:
        for name, value in self.values().items():
            if "{" + name + "}" in text:
                if value is None:
                    raise Lacking(self.lacks[name])
                text = text.replace("{" + name + "}", str(value))
        return text

    # --- what happened to it ----------------------------------------------------------------------------------------

    def new_files(self) -> list:
        folders = ["/usr", "/opt", "/etc", "/", "/dev", "/var", "/tmp", "/var/tmp", "/dev/shm"]
        folders += [self.home, self.ws / ".git/hooks"]
        return [path for path in (pathlib.Path(folder) / self.mark for folder in folders) if os.path.lexists(path)]

    def state_of_canaries(self) -> list:
        def one(path):
            try:
                return path.read_text(), stat.S_IMODE(path.lstat().st_mode)
            except OSError as error:
                return errno.errorcode[error.errno]

        return [str(path) for path, wanted in self.canaries.items() if one(path) != wanted]

    def state_of_workspace(self) -> str:
        total = hashlib.sha256()
        for folder, folders, files in os.walk(self.ws):
            folders.sort()
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                status = os.lstat(path)
                total.update(f"{path} {status.st_mode} {status.st_uid} {status.st_nlink}".encode())
                if stat.S_ISREG(status.st_mode):
                    with open(path, "rb") as file:
                        total.update(file.read())
        return total.hexdigest()

    def state_of_victim(self) -> str:
        if self.victim.poll() is not None:
            return "ended"
        status = read_or(f"/proc/{self.victim.pid}/stat").rpartition(")")[2].split()
        return "stopped" if status and status[0] in "Tt" else "alive"

    def heard(self) -> int:
        count = 0
        for listener in self.listeners:
            try:
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(64)
                else:
                    listener.accept()[0].close()
                count += 1
            except BlockingIOError:
                pass
        return count

    def attributes(self) -> list:
        try:
            return os.listxattr(self.home / "wide/file")
        except FileNotFoundError:
            return []

    def settings_of_victim(self) -> tuple:
        try:
            return resource.prlimit(self.victim.pid, resource.RLIMIT_FSIZE), os.getpriority(os.PRIO_PROCESS, self.victim.pid)
        except ProcessLookupError:  # it has just ended; its own sensor says so
            return None, None

    def state(self) -> dict:
        limits, nice = self.settings_of_victim()
        return {
            "canaries": self.state_of_canaries(),
            "workspace": self.state_of_workspace(),
            "new-files": [str(path) for path in self.new_files()],
            "victim": self.state_of_victim(),
            "victim-limits": limits,
            "victim-nice": nice,
            "attributes": self.attributes(),
            "listeners": self.heard(),
            "terminal": 0,
        }

    def changes(self, pending: int = 0) -> dict:
        """Sensors that show something else than at the start, and what."""
        now = self.state()
        now["terminal"] = pending
        return {name: value for name, value in now.items() if value != self.calm[name]}

    def repair(self, changed: dict):
        """After a control, or an attack that succeeded: everything as it was."""
        if not changed:
            return
        for path in self.new_files():
            path.unlink()
        moved = self.ws.with_name("project-old")
        if moved.exists():
            shutil.rmtree(moved)
        if "workspace" in changed or "canaries" in changed:
            for path, (text, mode) in list(self.canaries.items()):
                if self.ws not in path.parents:
                    self.file(path, text, mode)
            self.make_workspace()
            self.listen_in_workspace()
        for name in self.attributes():
            os.removexattr(self.home / "wide/file", name)
        if any(name.startswith("victim") for name in changed):
            self.stop_victim()
            self.start_victim()
        self.calm = self.state()

    def forget_home(self):
        shutil.rmtree(self.home / ".local/share/bawn", ignore_errors=True)

    def stop_victim(self):
        if self.victim.poll() is None:
            self.victim.kill()
        self.victim.wait()

    def close(self):
        if self.victim:
            self.stop_victim()
        for listener in self.listeners:
            listener.close()
        for name, number in self.ipc:
            arguments = (number, 0, IPC_RMID, None) if name == "semctl" else (number, IPC_RMID, None)
            getattr(LIBC, name)(*arguments)
        LIBC.mq_unlink(f"/{self.mark}".encode())
        for path in self.new_files() + [pathlib.Path(f"/dev/shm/{self.mark}.host")]:
            path.unlink(missing_ok=True)
        shutil.rmtree(self.host_var_tmp, ignore_errors=True)


# --- running something ----------------------------------------------------------------------------------------------


def pending_input(fd: int) -> int:
    try:
        return struct.unpack("i", fcntl.ioctl(fd, 0x541B, b"\0\0\0\0"))[0]  # FIONREAD
    except OSError:
        return 0


def run_in_terminal(command: list, world: World) -> tuple:
    """Runs it in a session with a terminal of its own. Returns what it printed, its status, and how many bytes lie in the
    terminal afterwards as if typed. A process of ours leads the session: when the leader ends, the kernel clears them."""
    master, slave = os.openpty()
    tty.setraw(slave)
    told, tell = os.pipe()
    leader = os.fork()
    if leader == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        run = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=world.ws, env=world.environment(),
            preexec_fn=lambda: signal.signal(signal.SIGTTOU, signal.SIG_DFL),
        )
        status = run.wait()
        os.write(tell, f"{status} {pending_input(slave)}".encode())
        os._exit(0)
    os.close(tell)
    os.close(slave)
    printed = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # every end of the other side is closed
            break
        if not part:
            break
        printed += part
    os.waitpid(leader, 0)
    status, pending = map(int, os.read(told, 64).split())
    os.close(master)
    os.close(told)
    return printed.decode(errors="replace"), status, pending


def run_plainly(command: list, world: World, options: dict) -> tuple:
    group = world.victim.pid if "in-group-of" in options else None
    fd = os.open(world.fill(options["fd"]), os.O_RDONLY) if "fd" in options else None
    stdin = os.open(world.fill(options["stdin"]), os.O_RDONLY) if "stdin" in options else os.open("/dev/null", os.O_RDONLY)

    def prepare():
        os.setpgid(0, group or 0)
        if fd is not None:
            os.dup2(fd, 9, inheritable=True)

    try:
        run = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=world.ws,
            env=world.environment(), preexec_fn=prepare, close_fds=fd is None,
        )
        try:
            printed = run.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            run.kill()
            printed = run.communicate()[0] + b"\nit took too long\n"
        return printed.decode(errors="replace"), run.returncode, 0
    finally:
        os.close(stdin)
        if fd is not None:
            os.close(fd)
