"""What the suites that run bawn for real have in common: TAP, and a user with a home that is thrown away.

As root a suite makes an ordinary user, runs itself once more as that user, and removes the user; what it can only see
as root it tests afterwards. As anybody else it runs as it is, with a home of its own in a temporary folder, in /home
where that is its world's: the caller's home is never touched.

    def as_user(tap, place): ...      # place.bawn, place.home, place.folder("name")
    def as_root(tap, place): ...      # optional
    scratch.main(__file__, as_user, as_root)
"""
import contextlib
import ctypes
import hashlib
import os
import pathlib
import pty
import pwd
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import screens

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SANITIZED = os.environ.get("BAWN_SANITIZED") == "1"
# Flags for a run that has bawn inside: without its options a sanitizer build searches for leaks at its end, for four seconds.
BAWN_INSIDE = ("--env", "ASAN_OPTIONS") if SANITIZED else ()
IN_CONTAINER = bool(os.environ.get("BAWN_BARE_CHOSEN"))
PATIENCE = int(os.environ.get("BAWN_PATIENCE") or (60 if SANITIZED else 20))  # seconds, for what should take milliseconds
RACES = int(os.environ.get("BAWN_RACES") or 20000)  # rounds
EVERYTHING = os.environ.get("BAWN_LAYER") == "all"  # `make test-all`


class Tap:
    """Results go out at once; the plan comes last, from whoever runs the show."""

    def __init__(self):
        self.failed = 0

    def shown(self, name):
        """The name of a test as it stands in the output."""
        return name

    def ok(self, good, name, *diagnostics):
        print(("ok - " if good else "not ok - ") + name, flush=True)
        if not good:
            self.failed += 1
            for text in diagnostics:
                for line in str(text).splitlines() or [""]:
                    print("# " + line[:1200], flush=True)
        return bool(good)

    def equal(self, got, want, name, *diagnostics):
        return self.ok(got == want, name, f"got {got!r}", f"want {want!r}", *diagnostics)

    def skip(self, name, reason):
        print(f"ok - {name} # SKIP {reason}", flush=True)

    @contextlib.contextmanager
    def test(self, name):
        """A test that fails by raising, AssertionError or any other. tests/run reads the line with its times."""
        STARTED.clear()
        started, used = time.monotonic(), processor_time()
        try:
            yield
        except Skip as why:
            self.skip(name, str(why))
        except Exception as why:  # a test that breaks is a test that failed, and the next one still runs
            self.ok(False, name, f"{type(why).__name__}: {why}", last_line(why))
            end_what_is_left()
        else:
            self.ok(True, name)
        print(f"# took {time.monotonic() - started:.2f} s, {processor_time() - used:.2f} s of a processor", flush=True)


STARTED = []  # runs of the claim at hand


def end_what_is_left():
    """What a claim that failed has left running would be in the way of the next ones."""
    for child in STARTED:
        if child.poll() is None:
            child.kill()
            child.wait()


def processor_time():
    """Seconds that this process and those that it has waited for have used."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Skip(Exception):
    pass


def last_line(why):
    every = traceback.extract_tb(why.__traceback__)
    frames = [f for f in every if not f.filename.endswith(("contextlib.py", "scratch.py"))] or every
    at = ([f for f in frames if f.name.startswith("test_")] or frames)[0]
    return f"at line {at.lineno}: {at.line}"


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"needs {program}")


def landlock_version():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)  # landlock_create_ruleset


def same(got, want):
    if got != want:
        raise AssertionError(f"got {shorten(got)}, not {shorten(want)}")


def shorten(value):
    text = repr(value)
    return text if len(text) <= 700 else f"{text[:400]} ... {text[-250:]}"


def until(condition, what, seconds=PATIENCE):
    """Waits for something that happens by itself, without guessing how long it takes."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.005)


def free_ports(count):
    """Ports of the loopback for those who bind them later: the kernel gives these to nobody who does not ask for them by number."""
    least = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    numbers = range(10000, least) if least > 12000 else range(61001, 65536)
    found = []
    while len(found) < count:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", random.choice(numbers))) as one:
            found += [one.getsockname()[1]] * (one.getsockname()[1] not in found)
    return found


def sshd(config):
    """The words that start it in the foreground. As root it needs an empty directory in /run: it sees a /run of its own, so that two suites do not
    remove each other's."""
    words = ["/usr/sbin/sshd", "-D", "-e", "-f", str(config)]
    own = ["unshare", "--mount", "sh", "-ec", 'mount -t tmpfs -o mode=755 own-run /run; mkdir /run/sshd; exec "$@"', "-"]
    return [*own, *words] if os.getuid() == 0 else words


class Place:
    """Where a suite works: a home, folders in it, a copy of bawn that any user may run."""
    walls = ()  # flags that choose them

    def __init__(self, home, bawn):
        self.home = pathlib.Path(home)
        self.bawn = str(bawn)
        self.environment = {
            "HOME": str(self.home),
            "USER": pwd.getpwuid(os.getuid()).pw_name,
            "LOGNAME": pwd.getpwuid(os.getuid()).pw_name,
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "SHELL": "/bin/sh",
            "TERM": "xterm",
            "LANG": "C.UTF-8",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def folder(self, name):
        path = self.home / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def run(self, *words, cwd, flags=("--net", "off"), seconds=PATIENCE, environment=None, **options):
        """Runs a command in bawn; a hanging one is ended and fails."""
        options.setdefault("stdin", subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            [self.bawn, *flags, "--", *map(str, words)],
            cwd=cwd,
            env={**self.environment, **(environment or {})},
            capture_output=True,
            timeout=seconds,
            check=False,
            **options,
        )

    def out(self, *words, cwd, **options):
        """What a command prints that must succeed in bawn."""
        done = self.run(*words, cwd=cwd, **options)
        text = done.stdout.decode("utf-8", "backslashreplace")
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "backslashreplace")
            raise AssertionError(f"{' '.join(map(str, words))[:200]}: status {done.returncode}: {said[-600:]}{text[-300:]}")
        return text


    def terminal(self, cwd, words, *answers, kind="xterm", environment=None):
        """What bawn prints on a terminal that says where its cursor is, with its status. An answer is a text to wait for, what is typed then,
        and what is done afterwards."""
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(cwd)
            os.execve(self.bawn, [self.bawn, *map(str, words)], {**self.environment, "TERM": kind, "NO_COLOR": "1", **(environment or {})})
        printed, seen, answers, end = b"", 0, list(answers), screens.Answering(())
        with contextlib.suppress(OSError):
            while True:
                while answers and answers[0][0].encode() in printed[seen:]:
                    wanted, typed, *then = answers.pop(0)
                    seen = printed.index(wanted.encode(), seen) + len(wanted)
                    os.write(master, typed)
                    for act in then:
                        act()
                if not select.select([master], [], [], PATIENCE)[0]:
                    os.kill(pid, signal.SIGKILL)
                part = os.read(master, 65536)
                if not part:
                    break
                printed += part
                os.write(master, end.feed(part))
        os.close(master)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return screens.BAWNS_OWN.sub(b"", printed).decode(errors="replace").replace("\r\n", "\n"), status


def unwritten_folder(home=None):
    """A directory in which bawn starts programs outside, and reads secrets: no sandbox can write there, and not everybody can, as in /tmp, where most
    suites have their files. None: there is none."""
    own = os.environ.get("HOME", "")  # in a user namespace the number of the user is that of root
    build = pathlib.Path(os.environ.get("BAWN_BUILD") or TOP / "build")
    wanted = [home, own if own.startswith("/home/bawn-test-") else None, "/home", build]
    for path in (pathlib.Path(each).resolve() for each in wanted if each):
        if not f"{path}/".startswith(("/tmp/", "/var/tmp/", "/dev/shm/")) and os.access(path, os.W_OK) and path.stat().st_uid == os.getuid():
            return path
    return None


@contextlib.contextmanager
def tools(place):
    """An empty directory of that kind, for programs of the person's own. It is removed."""
    folder = unwritten_folder(place.home)
    if not folder:
        raise Skip("needs a directory of its own outside /tmp, /var/tmp and /dev/shm")
    with tempfile.TemporaryDirectory(prefix="tools-", dir=folder) as made:
        os.chmod(made, 0o755)
        yield pathlib.Path(made)


def own_folder(place, out):
    """Where bawn keeps what it obeys of the fleet whose results lie there."""
    return place.home / ".local/state/bawn/fleets" / ("@" + hashlib.sha256(str(out).encode()).hexdigest())


class Project:
    """A workspace of its own, and bawn's verbs in it."""

    def __init__(self, place, name):
        self.place = place
        self.path = place.folder(f"work/{name}")
        self.write("a", "one\n")
        self.write("b/c", "two\n")
        self.write("b/d", "three\n")

    def write(self, name, text, mode=None):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if mode is not None:
            path.chmod(mode)

    def read(self, name):
        return (self.path / name).read_text()

    def inside(self, script, *flags):
        """Runs a script in bawn that must succeed."""
        return self.place.out("sh", "-ec", script, cwd=self.path, flags=("--net", "off", *flags))

    def bawn(self, *words, status=0, seconds=PATIENCE):
        done = subprocess.run([self.place.bawn, *words], cwd=self.path, env=self.place.environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
        text = done.stdout.decode() + done.stderr.decode()
        if done.returncode != status:
            raise AssertionError(f"bawn {' '.join(words)}: status {done.returncode}: {text[-600:]}")
        return text

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words], cwd=self.path,
                              env={**self.place.environment, "GIT_CONFIG_NOSYSTEM": "1"}, check=True,
                              capture_output=True, text=True)
        return done.stdout

    def looks(self):
        """Everything below the workspace: kind, mode, time and content."""
        found = {}
        for folder, folders, files in os.walk(self.path):
            for name in folders + files:
                path = pathlib.Path(folder) / name
                status = path.lstat()
                content = os.readlink(path) if path.is_symlink() else None if path.is_dir() else path.read_bytes()
                found[str(path.relative_to(self.path))] = (status.st_mode, status.st_mtime_ns, content)
        return found


def sweep():
    """Users of runs that were killed with -9, and could not tidy up."""
    for user in pwd.getpwall():
        name, _, pid = user.pw_name.rpartition("-")
        if name == "bawn-test" and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            remove_user(user)


@contextlib.contextmanager
def scratch_user():
    sweep()
    name = f"bawn-test-{os.getpid()}"
    home = f"/home/{name}"
    for _ in range(5):  # another suite may hold the lock of /etc/passwd for longer than useradd waits, or have the number
        number = random.randrange(20000, 60000)  # limits and signals to all processes of a user do not end at a world
        if subprocess.run(["useradd", "--create-home", "--home-dir", home, "--shell", "/bin/sh", "--uid", str(number), name], check=False,
                          stdout=subprocess.DEVNULL).returncode == 0:
            break
    user = pwd.getpwnam(name)
    try:
        yield user
    finally:
        remove_user(user)


def remove_user(user):
    for entry in pathlib.Path("/proc").iterdir():  # whatever a failed test left running
        with contextlib.suppress(OSError, ValueError):
            if entry.stat().st_uid == user.pw_uid:
                os.kill(int(entry.name), signal.SIGKILL)
    for _ in range(100):  # userdel refuses while one of them is still there; 6: another suite has removed the user
        if subprocess.run(["userdel", user.pw_name], check=False, capture_output=True).returncode in (0, 6):
            break
        time.sleep(0.05)  # the kernel takes a process away after it ended
    shutil.rmtree(user.pw_dir, ignore_errors=True)


def copy_bawn(folder):
    """The build folder may lie where an ordinary user cannot look."""
    source = os.environ.get("BAWN", TOP / "build" / "bawn")
    target = pathlib.Path(folder) / "bawn"
    shutil.copy(source, target)
    target.chmod(0o755)
    for helper in ("bawn-egress", "bawn-vault", "bawn-forge", "bawn-prove", "bawn-web", "tests/bawn-weakened", "tests/faults-inject", "tests/faults-probe",
                   "tests/bawn-breaking-repair"):  # found beside it
        path = pathlib.Path(source).parent / helper
        if path.exists():
            shutil.copy(path, target.with_name(path.name))
            target.with_name(path.name).chmod(0o755)
    return target


def copy_suite(script, folder, others):
    """The folder of the tests may lie where an ordinary user cannot look. Returns where the suite's script now is."""
    suite = pathlib.Path(script).resolve().parent
    tests = pathlib.Path(folder) / "tests"
    for source in {suite, suite.parent / "work", *(suite.parent / name for name in others)}:
        shutil.copytree(source, tests / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["chmod", "-R", "a+rX", tests], check=True)
    return tests / suite.name / pathlib.Path(script).name


def become(user, own_etc=False):
    """The words before a command of this user. Behind walls without namespaces a file of /etc that the host replaces is closed from then on, and
    other suites make and remove users all the time: with own_etc the command sees a copy of /etc that nobody changes."""
    words = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
    return [str(TOP / "tests/work/own-etc"), *words] if own_etc else words


def run_as(user, script, bawn, others=(), own_etc=False):
    """Runs the suite's first half as an ordinary user; its results are ours. Returns how many there were."""
    keep = {name: os.environ[name] for name in os.environ if name.startswith(("BAWN_", "ASAN_", "UBSAN_"))}
    environment = {**keep, "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name, "BAWN": str(bawn),
                   "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "BAWN_TEST_HOME": user.pw_dir}
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    command = [*become(user, own_etc), python, "-B", str(copy_suite(script, bawn.parent, others)), *sys.argv[1:]]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment, cwd=user.pw_dir,
                             text=True, errors="replace")
    count, failed = 0, False
    for line in child.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        count += line.startswith(("ok ", "not ok "))
        failed |= line.startswith("not ok ")
    if child.wait() not in (0, 1) or (child.returncode == 1 and not failed):
        print(f"not ok - the suite as an ordinary user ended with {child.returncode}")
        count, failed = count + 1, True
    return count, failed


class Claims:
    """The tests of one file, in the order in which they stand there. Each is a function that gets a Place; the decorator
    says what it proves, and that is the line which TAP shows:

        claim = scratch.Claims()

        @claim("undo PATH takes back just that")
        def test_path(place): ...

    rare=True: only `make test-all` runs it, because other claims show the same with less. once=True: what it shows has nothing to do with the kind of
    walls or with who runs it: a second pass, without namespaces or as root, leaves it to `make test-all`.

    An argument of the suite, or BAWN_PART, is part of the names of the tests that are run. BAWN_CLAIM is the whole name of one, as TAP shows it.
    """

    def __init__(self):
        self.tests = []

    def __call__(self, name, rare=False, once=False):
        def keep(test):
            self.tests.append((name, test, rare, once))
            return test
        return keep

    def again(self, before, *tests):
        """Some of these claims once more, with words before their names."""
        again = Claims()
        again.tests = [(before + name, test, rare, once) for name, test, rare, once in self.tests if test in tests]
        return again

    def wanted(self, tap, place):
        """The names and functions of those that are to be run now."""
        part, alone = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("BAWN_PART", ""), os.environ.get("BAWN_CLAIM")
        is_second = getattr(place, "is_second", False)
        chosen, left = [], 0
        for name, test, rare, once in self.tests:
            if part not in name or alone not in (None, tap.shown(name)):
                continue
            if (rare or (once and is_second)) and not EVERYTHING and alone is None:
                left += 1
            else:
                chosen.append((name, test))
        if left:
            print(f"# left to make test-all: {left}", flush=True)
        return chosen

    def run(self, tap, place):
        for name, test in self.wanted(tap, place):
            with tap.test(name):
                test(place)


class Ground(Place):
    """For a suite that adds what its claims have in common."""

    def __init__(self, place):
        super().__init__(place.home, place.bawn)


class Walled(Place):
    """Where one pass of the claims works, with the flags that choose its walls. In a container bawn chooses them by itself (tests/container)."""

    def __init__(self, place, is_bare, is_second=False):
        super().__init__(place.folder("bare" if is_bare else "full"), place.bawn)
        self.is_bare = is_bare
        self.is_second = is_bare or is_second
        self.walls = ("--walls", "landlock") if is_bare and not IN_CONTAINER else ()

    def run(self, *words, flags=("--net", "off"), **options):
        return super().run(*words, flags=(*self.walls, *flags), **options)


class BareTap(Tap):
    """Names the claims of the second pass."""

    def __init__(self, tap):
        super().__init__()
        self.tap = tap

    def shown(self, name):
        return self.tap.shown(f"without namespaces: {name}")

    def ok(self, good, name, *diagnostics):
        return self.tap.ok(good, f"without namespaces: {name}", *diagnostics)

    def skip(self, name, reason):
        self.tap.skip(f"without namespaces: {name}", reason)


def in_both(claims, *claims_bare):
    """For main(): makes the claims with namespaces and then without; after those, claims of walls without namespaces alone.

    With sanitizers the claims are made once: the second pass judges other walls, by the same code.
    """
    once = SANITIZED and not EVERYTHING and not IN_CONTAINER

    def run(tap, place):
        if not IN_CONTAINER:
            claims.run(tap, Walled(place, False))
        if once:
            print(f"# left to make test-all: {len(claims.tests)}", flush=True)
        for each in claims_bare if once else (claims, *claims_bare):
            each.run(BareTap(tap), Walled(place, True))
    return run


class Counted(Tap):
    def __init__(self):
        super().__init__()
        self.count = self.skipped = 0

    def ok(self, good, name, *diagnostics):
        self.count += 1
        return super().ok(good, name, *diagnostics)

    def skip(self, name, reason):
        self.count += 1
        self.skipped += 1
        super().skip(name, reason)

    def finish(self):
        """Prints the plan. Returns the exit status: a choice that fits no test has shown nothing."""
        print(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0


def main(script, as_user, as_root=None, others=(), own_etc=False):
    """`others` are the suites that this one borrows from; `own_etc`: see become."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that what was made is removed
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    home = os.environ.get("BAWN_TEST_HOME")
    if home:  # the inner half: no plan
        tap = Tap()
        as_user(tap, Place(home, os.environ["BAWN"]))
        sys.exit(1 if tap.failed else 0)
    tap = Counted()
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as folder:
        os.chmod(folder, 0o755)
        bawn = copy_bawn(folder)
        if os.getuid() == 0:
            with scratch_user() as user:
                count, failed = run_as(user, script, bawn, others, own_etc)
            tap.count += count
            tap.failed += failed
            if as_root:
                as_root(tap, Place(pathlib.Path(folder) / "root", bawn))
        else:  # in a world /home is the user's, and nothing that everybody can write is above it
            with tempfile.TemporaryDirectory(prefix="bawn-test-", dir="/home" if os.access("/home", os.W_OK) else None) as home:
                as_user(tap, Place(home, bawn))
    sys.exit(tap.finish())
