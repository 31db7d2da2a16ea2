"""What takes more than one attack and one run: what outlives a run, and what the launcher refuses."""
import contextlib
import errno
import functools
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import time

from world import LIBC, PATIENCE, Lacking, World, read_or, run_in_terminal

CLONE_NEWUSER = 0x10000000
STATUS_BAD_INPUT = 2
STATUS_REFUSED = 125
NAMESPACES = ["--walls", "namespaces"]  # and no weaker walls in their place


def beats(path: pathlib.Path) -> bool:
    """Does the heart still beat?"""
    before = path.stat().st_size if path.exists() else 0
    time.sleep(0.06)  # does it beat in this time?
    return path.exists() and path.stat().st_size > before


def wait_until(condition, seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def pids_of(path: pathlib.Path) -> list:
    """Processes of the host that hold this file open: by their numbers here, whatever they are called inside."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(fd) == str(path) for fd in (process / "fd").iterdir()):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def end_beating(path: pathlib.Path):
    for pid in pids_of(path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)


class Sessions:
    def __init__(self, world: World, bawn: list):
        self.world, self.bawn = world, bawn
        self.heartbeat = str(world.tools / "heartbeat")

    def all(self) -> list:
        """Name and function of each, and the reason where it is no promise of bawn's."""
        tests = [
            ("daemon-dies-with-the-run", self.daemon),
            ("killed-supervisor-takes-all-along", self.killed_supervisor),
            ("link-in-private-home", self.planted_link),
            ("grant-in-a-closed-directory", self.closed_directory),
            ("workspace-is-root", lambda: self.refuses(["--workspace", "/"], self.world.ws)),
            ("workspace-is-home", lambda: self.refuses(["--workspace", str(self.world.home)], self.world.ws)),
            ("workspace-is-above-home", lambda: self.refuses(["--workspace", str(self.world.base)], self.world.ws)),
            ("started-in-root", lambda: self.refuses([], pathlib.Path("/"))),
            ("started-in-home", lambda: self.refuses([], self.world.home)),
            ("grant-by-link-to-sealed", lambda: self.refuses(["--read", str(self.world.home / "keys")], self.world.ws)),
            ("no-user-namespaces", self.no_user_namespaces),
            ("degraded-landlock", lambda: self.degraded("landlock_create_ruleset", "landlock", "seccomp")),
            ("degraded-seccomp", lambda: self.degraded("seccomp", "seccomp", "landlock")),
            ("memory-hog", self.memory_hog),
            ("killed-supervisor-leaves-no-control-group", self.stale_control_group),
        ]
        if self.world.way != "root":
            tests.append(("no-more-processes", self.no_more_processes))
        if self.world.way == "user":
            tests.append(("as-root-of-a-user-namespace", self.root_of_namespace))
        # A kernel without the call; ENOSYS and what Docker's filter says.
        for call in ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "capset",
                     "close_range", "open_tree", "move_mount", "mount_setattr", "fsopen", "pivot_root", "umount2",
                     "clone3", "sethostname", "unshare", "setns"):
            for code in (errno.ENOSYS, errno.EPERM):
                if (call, code) == ("clone3", errno.ENOSYS):
                    continue  # bawn can do without it, see below
                name = f"without-{call}-{errno.errorcode[code]}".replace("_", "-").lower()
                tests.append((name, lambda call=call, code=code: self.missing_call(call, code)))
        # One that lies about having done it: what the check before the command is for.
        for call in ("landlock_restrict_self", "seccomp", "capset", "umount2", "mount_setattr", "close_range",
                     "setns"):
            tests.append((f"lie-{call}".replace("_", "-"), lambda call=call: self.missing_call(call, 0)))
        # One that bawn can do without: what it does at once is done in two steps.
        for code in (errno.ENOSYS, errno.EPERM):
            tests.append((f"without-open-tree-attr-{errno.errorcode[code]}".lower(),
                          lambda code=code: self.replaced_call("open_tree_attr", code)))
        tests.append(("without-clone3-enosys", lambda: self.replaced_call("clone3", errno.ENOSYS)))
        return tests

    def run(self, command: list, cwd=None, **more) -> subprocess.CompletedProcess:
        return subprocess.run(
            command, cwd=cwd or self.world.ws, env=self.world.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, **more,
        )

    # --- what outlives a run ------------------------------------------------------------------------------------------

    def daemon(self) -> list:
        file = self.world.ws / "beats"
        problems = []
        self.run([self.heartbeat, str(file), "daemon"])
        if not wait_until(lambda: beats(file)):
            problems.append("control: a daemon without bawn did not live on")
        end_beating(file)
        file.unlink(missing_ok=True)
        inside = self.run(self.bawn + ["--", self.heartbeat, str(file), "daemon"])
        if inside.returncode != 0 or not file.exists() or file.stat().st_size == 0:
            problems.append(f"the daemon did not start inside: {inside.stderr.strip()}")
        if beats(file) or pids_of(file):
            problems.append("a daemon outlived the run")
            end_beating(file)
        file.unlink(missing_ok=True)
        return problems

    def killed_supervisor(self) -> list:
        file = self.world.ws / "beats"
        problems = []
        for is_inside in (False, True):
            command = ["/bin/sh", "-c", '"$0" "$1" & "$0" "$1" daemon; wait', self.heartbeat, str(file)]
            run = subprocess.Popen(
                (self.bawn + ["--"] if is_inside else []) + command, cwd=self.world.ws,
                env=self.world.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            if not wait_until(lambda: beats(file)):
                problems.append("nothing was started")
            if not wait_until(lambda: len(pids_of(file)) >= 2):
                problems.append("the second was not started")
            run.kill()
            run.wait()
            if is_inside and not wait_until(lambda: not pids_of(file)):
                problems.append("processes outlived a supervisor that was killed")
            if not is_inside and not wait_until(lambda: beats(file)):
                problems.append("control: the children of a killed shell did not live on")
            end_beating(file)
            wait_until(lambda: not pids_of(file))
            file.unlink(missing_ok=True)
        return problems

    def planted_link(self) -> list:
        """The private home is hostile at the next launch: the way to the workspace is now a link to /etc."""
        script = 'cd "$HOME" && mv src src-old && ln -s /etc src && test -L src && echo planted'
        # A look at the frozen paths may fall into the moment of the move. It does not find them, and bawn ends that run.
        for _ in range(5):
            self.world.forget_home()
            planted = self.run(self.bawn + ["--", "/bin/sh", "-c", script])
            if "could not be protected again" not in planted.stderr:
                break
        problems = [] if planted.stdout == "planted\n" else [f"the link was not planted: {planted.stderr.strip()}"]
        after = self.run(self.bawn + ["--", "/bin/sh", "-c", f"cat '{self.world.ws}/work'; echo x > '{self.world.ws}/plain/x'"])
        if after.stdout != "work\n" or after.returncode != 0:
            problems.append(f"the next run did not find the workspace: {after.stdout}{after.stderr}".strip())
        if not (self.world.ws / "plain/x").exists():
            problems.append("the next run wrote elsewhere")
        else:
            (self.world.ws / "plain/x").unlink()
        self.world.forget_home()
        return problems

    def closed_directory(self) -> list:
        """What is hidden below a grant stays hidden where only its owner may look: real root is nobody inside. A server's
        path stands in the kernel's list once more for each client."""
        folder = self.world.home / "closed"
        folder.mkdir(mode=0o700)
        problems = []
        try:
            (folder / ".env").write_text(f"secret {self.world.token}\n")
            (folder / "plain").write_text("plain\n")
            with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
                server.bind(str(folder / "daemon"))
                server.listen(4)
                client.connect(str(folder / "daemon"))
                server.accept()[0].close()
                server.setblocking(False)
                bawn = self.bawn + ["--read", str(folder), "--"]
                run = self.run(bawn + ["/bin/cat", str(folder / ".env"), str(folder / "plain")])
                if run.stdout != "plain\n":
                    problems.append(f"a sealed file was read: {run.stdout!r} {run.stderr.strip()!r}")
                connect = [str(self.world.tools / "bawn-prove"), "connect_unix", str(folder / "daemon")]
                for command, wanted in ((connect, "done\n"), (bawn + connect, "EACCES connect\n")):
                    run = self.run(command)
                    if run.stdout != wanted:
                        problems.append(f"{command[0]}: {run.stdout!r} {run.stderr.strip()!r}, and not {wanted!r}")
        finally:
            shutil.rmtree(folder)
        return problems

    # --- what the launcher refuses --------------------------------------------------------------------------------------

    def refused(self, run: subprocess.CompletedProcess, status: int = STATUS_REFUSED) -> list:
        problems = []
        if run.returncode != status:
            problems.append(f"status {run.returncode}, and not {status}")
        if "ran" in run.stdout.split():
            problems.append("the command was run")
        if not run.stderr.startswith("bawn: "):
            problems.append(f"no sentence that says why: {run.stderr.strip()!r}")
        return problems

    @functools.cached_property
    def runs(self) -> list:
        """The control of every refusal: the same command, through a filter that takes nothing away."""
        run = self.run([str(self.world.tools / "without"), "none", "1"] + self.bawn + ["--", "/bin/echo", "ran"])
        return [] if run.stdout == "ran\n" and run.returncode == 0 else [f"control: it does not run: {run.stderr.strip()}"]

    def refuses(self, flags: list, cwd: pathlib.Path) -> list:
        return self.runs + self.refused(self.run(self.bawn + flags + ["--", "/bin/echo", "ran"], cwd=cwd), STATUS_BAD_INPUT)

    def no_user_namespaces(self) -> list:
        uid, gid = os.getuid(), os.getgid()

        def close_them():
            if LIBC.unshare(CLONE_NEWUSER) < 0:
                os._exit(99)
            pathlib.Path("/proc/self/setgroups").write_text("deny")
            pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
            pathlib.Path("/proc/sys/user/max_user_namespaces").write_text("0")

        run = self.run(self.bawn + NAMESPACES + ["--", "/bin/echo", "ran"], preexec_fn=close_them)
        weaker = self.run(self.bawn + ["--", "/bin/echo", "ran"], preexec_fn=close_them)
        problems = self.runs + self.refused(run)
        if (weaker.returncode, weaker.stdout) != (0, "ran\n") or "the walls are weaker" not in weaker.stderr:
            problems.append(f"on Landlock alone: {weaker}")
        return problems

    def no_more_processes(self) -> list:
        # The sanitizers' search for leaks starts a process of its own, and ends with 1 where it cannot.
        options = self.world.environment().get("ASAN_OPTIONS", "")
        run = self.run(
            ["/usr/bin/env", f"ASAN_OPTIONS={options}:detect_leaks=0"] + self.bawn + ["--", "/bin/echo", "ran"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)),
        )
        return self.runs + self.refused(run)

    def root_of_namespace(self) -> list:
        """Where uid 0 is an ordinary user outside, as in a rootless container: bawn holds there too."""
        uid, gid = os.getuid(), os.getgid()

        def become_root():
            if LIBC.unshare(CLONE_NEWUSER) < 0:
                os._exit(99)
            pathlib.Path("/proc/self/setgroups").write_text("deny")
            pathlib.Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
            pathlib.Path("/proc/self/gid_map").write_text(f"0 {gid} 1")

        run = self.run(self.bawn + ["--", "/bin/echo", "ran"], preexec_fn=become_root)
        if run.returncode == 0 and run.stdout == "ran\n":
            return []
        return [f"status {run.returncode}: {run.stderr.strip()}"]

    def degraded(self, call: str, wall: str, other: str) -> list:
        """Without a wall that was given up by name the command is run, behind the others; the note says so, where a person
        reads it. Another wall's name does not help, nor does a kernel that lies."""
        secret = self.world.home / ".ssh/id_work"
        command = ["--", "/bin/sh", "-c", f"cat '{secret}'; unshare -U true && echo namespace; echo ran"]
        without = [str(self.world.tools / "without"), call]
        lacks, lies = without + [str(errno.ENOSYS)], without + ["0"]
        run = self.run(lacks + self.bawn + [f"--degrade={wall}"] + command)
        problems = list(self.runs)
        if run.stdout != "ran\n":
            problems.append(f"with --degrade={wall} it printed {run.stdout!r}, {run.stderr.strip()!r}")
        if self.world.token in run.stdout:
            problems.append("the other walls fell as well")
        printed, _, _ = run_in_terminal(lacks + self.bawn + [f"--degrade={wall}"] + command, self.world)
        if f"note: --degrade={wall} gives up a wall: " not in printed:
            problems.append(f"no note on the terminal: {printed!r}")
        problems += self.refused(self.run(lacks + self.bawn + [f"--degrade={other}"] + command))
        if call != "landlock_create_ruleset":  # one that says 0 there hands out a descriptor, and fails later
            problems += self.refused(self.run(lies + self.bawn + [f"--degrade={wall}"] + command))
        run = self.run(lacks + self.bawn + command)
        if f"--degrade={wall} runs without this wall" not in run.stderr:
            problems.append(f"the refusal does not name the flag: {run.stderr.strip()!r}")
        return problems + self.refused(run)

    # --- limits -----------------------------------------------------------------------------------------------------------

    def control_groups(self) -> pathlib.Path:
        """Where bawn makes its control groups here."""
        run = self.run(self.bawn[:1] + ["show", "--json", "--limit", "memory=100M"])
        held = [one.get("held_by") for one in json.loads(run.stdout)["operations"] if one.get("name") == "memory"]
        if held != ["cgroup"]:
            raise Lacking("no control group with memory is this user's on this machine")
        own = next(line for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        own = pathlib.Path("/sys/fs/cgroup") / own[4:]
        return own if "memory" in (own / "cgroup.subtree_control").read_text() else own.parent

    def memory_hog(self) -> list:
        """It goes, and the sandbox and the machine do not."""
        self.control_groups()
        hog = "import sys; x = b'x' * (300 << 20); print('had it')"
        command = ["/bin/sh", "-c", f'python3 -c "{hog}"; echo "status $?"']
        control = self.run(command)
        if "had it" not in control.stdout:
            raise Lacking("needs 300 MiB of memory and python3")
        run = self.run(self.bawn + ["--limit", "memory=100M", "--"] + command)
        return [] if run.stdout == "status 137\n" else [f"with a limit of 100M: {run.stdout!r} {run.stderr.strip()!r}"]

    def stale_control_group(self) -> list:
        groups = self.control_groups()
        for _ in range(5):  # bawn of another suite may be the next, and remove it before it was seen here
            run = subprocess.Popen(self.bawn + ["--", "/bin/sleep", "600"], cwd=self.world.ws, env=self.world.environment(),
                                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            group = groups / f"bawn-{run.pid}"
            problems = [] if wait_until(group.exists) else ["no control group was made"]
            wait_until(lambda: "populated 1" in read_or(group / "cgroup.events"))
            run.kill()
            run.wait()
            wait_until(lambda: "populated 1" not in read_or(group / "cgroup.events"))
            if group.exists():
                break
        else:
            problems.append("control: the killed one left nothing behind")
        self.run(self.bawn + ["--", "/bin/true"])
        return problems + ([f"{group} is still there after the next run"] if group.exists() else [])

    def replaced_call(self, call: str, code: int) -> list:
        without = [str(self.world.tools / "without"), call, str(code)]
        run = self.run(without + self.bawn + ["--", "/bin/sh", "-c", "echo ran; echo x 2>&1 >/usr/x"])
        problems = list(self.runs)
        if not run.stdout.startswith("ran\n") or "Read-only file system" not in run.stderr + run.stdout:
            problems.append(f"it printed {run.stdout!r}, {run.stderr.strip()!r}")
        return problems

    def missing_call(self, call: str, code: int) -> list:
        without = [str(self.world.tools / "without"), call, str(code)]
        return self.runs + self.refused(self.run(without + self.bawn + NAMESPACES + ["--", "/bin/echo", "ran"]))
