"""What a command uses up of what its user has, and what watches all the same."""
import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import scratch
from ground import FILL
from processes import children_of
from scratch import SANITIZED, same, until

claim = scratch.Claims()

# Passes descriptors to nobody until the kernel lets this user pass no more.
FILL_RIGHTS = r"""
import array, errno, os, socket
pairs, rights = [], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))]
def fill():
    while True:
        pairs.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
        pairs[-1][0].setblocking(False)
        try:
            while True:
                pairs[-1][0].sendmsg([b"x"], rights)
        except OSError as why:
            if why.errno != errno.EAGAIN:
                return errno.errorcode[why.errno]
"""

# Makes inotify instances until there are no more, and says how many.
FILL_INOTIFY = r"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def fill():
    made = 0
    while libc.inotify_init() >= 0:
        made += 1
    return made, errno.errorcode[ctypes.get_errno()]
"""

# Starts processes until there are no more.
FILL_PROCESSES = r"""
import errno, os, time
def fill():
    made = 0
    while True:
        try:
            if os.fork() == 0:
                time.sleep(600)
        except OSError as why:
            return made, errno.errorcode[why.errno]
        made += 1
"""

# Queues signals for itself, opens message queues and pipes until there are no more: what it made, and how it ended.
FILL_REST = r"""
import ctypes, errno, os, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
def until_refused(act):
    made = 0
    while act(made) >= 0:
        made += 1
    return made, errno.errorcode[ctypes.get_errno()]
def small_pipe(_):
    # The kernel refuses no pipe as a rule: once this user has many, new ones are small.
    read, write = os.pipe()
    return -1 if fcntl_size(write) <= 8192 else 0
def fcntl_size(fd):
    import fcntl
    return fcntl.fcntl(fd, 1032)
def fill():
    signals = until_refused(lambda _: libc.sigqueue(os.getpid(), signal.SIGRTMIN, ctypes.c_void_p(0)))
    queues = until_refused(lambda made: libc.mq_open(f"/bawn-{os.getpid()}-{made}".encode(), os.O_CREAT | os.O_RDWR, 0o600, None))
    pipes = until_refused(small_pipe)[0]
    return signals, queues, pipes
"""


def filled(place, work, fill, then="", flags=(), before=()):
    """A run whose command has used up a budget: what it says of that, and the run."""
    script = f"{fill}\nprint(fill(), flush=True)\n{then or 'input()'}"
    child = subprocess.Popen([*before, place.bawn, "--net", "off", *flags, "--", "python3", "-S", "-c", script], cwd=work,
                             env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return child.stdout.readline().decode().strip(), child


def pinned_again(place, work, child):
    """The host replaces a frozen file: it is pinned again. If that takes longer than a second, bawn ends the run."""
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    place.host("git", "config", "core.harmless", "1", cwd=work)
    until(lambda: "pinned-again" in place.journal(work), "it is pinned again")


WRITER = """
import os, sys
while not os.path.exists("stop"):
    try:
        with open(".git/config", "a") as file: file.write("[core]\\n\\tfsmonitor = evil\\n")
    except OSError: pass
"""


@claim("budgets: a command that passes all descriptors its user may does not keep a fallen pin down")
def test_descriptors_in_flight(place):
    work = place.repository("in-flight")
    same(subprocess.run(["python3", "-S", "-c", FILL_RIGHTS + "print(fill())"], env=place.environment, capture_output=True, text=True,
                        timeout=60, check=True).stdout, "ETOOMANYREFS\n")  # the control
    said, child = filled(place, work, FILL_RIGHTS, WRITER)
    same(said, "ETOOMANYREFS")
    pinned_again(place, work, child)
    (work / "stop").write_text("")
    child.communicate(timeout=scratch.PATIENCE)
    same("evil" in (work / ".git/config").read_text(), False)


@claim("budgets: a command that passes all descriptors its user may does not keep another run from its start")
def test_descriptors_in_flight_of_another(place):
    work, other = place.repository("in-flight-1"), place.repository("in-flight-2")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 4096:
        raise scratch.Skip("needs a limit of 4096 descriptors or more")
    raised = "import resource\nmost = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\nresource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n"
    said, child = filled(place, work, raised + FILL_RIGHTS)
    same(said, "ETOOMANYREFS")
    done = place.inside(other, "sh", "-c", "echo runs", flags=("--log-exec",))
    same((done.returncode, done.stdout, done.stderr), (0, b"runs\n", b""))
    child.communicate(b"\n", timeout=scratch.PATIENCE)


@claim("budgets: a command that starts all processes its user may does not keep a fallen pin down")
def test_processes(place):
    work = place.repository("processes")
    running = int(subprocess.run(["ps", "-L", "--no-headers", "-u", str(os.getuid())], capture_output=True, text=True, check=True).stdout.count("\n"))
    said, child = filled(place, work, FILL_PROCESSES, before=("prlimit", f"--nproc={running + 400}:{running + 400}"))
    made, why = eval(said)
    same((why, made > 100), ("EAGAIN", True))
    pinned_again(place, work, child)
    same(child.poll(), None)
    child.communicate(b"\n", timeout=scratch.PATIENCE)


@claim("budgets: a command that queues all signals and makes all pipes it may blinds no watch, and leaves the host some")
def test_signals_queues_pipes(place):
    work = place.repository("signals")
    few = ("prlimit", "--sigpending=4096:4096")
    tries = FILL_REST + "print(fill(), flush=True)"
    def outside():
        script = FILL_REST + "print(libc.sigqueue(os.getpid(), signal.SIGRTMIN, ctypes.c_void_p(0)))"
        return subprocess.run([*few, "python3", "-S", "-c", script], capture_output=True, text=True, timeout=60, check=True).stdout
    control = eval(place.host(*few, "python3", "-S", "-c", tries + "\nfor i in range(300): libc.mq_unlink(f'/bawn-{os.getpid()}-{i}'.encode())",
                              cwd=work))
    said, child = filled(place, work, FILL_REST, "import time\nopen('.bawn', 'w').write('write /')\nprint('made', flush=True)\ninput()", before=few)
    inside = eval(said)
    same([control[0][1], control[1][1], control[1][0] > 1], ["EAGAIN", "EMFILE", True])
    same([inside[0][1], inside[0][0] < control[0][0]], ["EAGAIN", True])
    same(inside[1], (0, "EACCES"))  # Landlock: no queue of messages has a name inside
    same(child.stdout.readline(), b"made\n")
    until(lambda: not (work / ".bawn").exists(), "it is set aside while the command runs")
    pinned_again(place, work, child)
    same(outside(), "0\n")
    child.communicate(b"\n", timeout=scratch.PATIENCE)


@claim("budgets: a command that makes all inotify instances it may blinds no watch, and leaves the host some")
def test_inotify(place):
    work = place.repository("instances")
    most = int(pathlib.Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    control = eval(subprocess.run(["python3", "-S", "-c", FILL_INOTIFY + "print(fill())"], env=place.environment, capture_output=True,
                                  text=True, timeout=60, check=True).stdout)
    same((control[1], control[0] > most // 2), ("EMFILE", True))
    said, child = filled(place, work, FILL_INOTIFY, "open('.bawn', 'w').write('write /')\nprint('made', flush=True)\ninput()")
    made, why = eval(said)
    same((why, made <= most // 2), ("EMFILE", True))
    same(child.stdout.readline(), b"made\n")
    until(lambda: not (work / ".bawn").exists(), "it is set aside while the command runs")
    os.close(inotify_init())
    child.communicate(b"\n", timeout=scratch.PATIENCE)
    same(place.held(work), {".bawn": "write /"})


def inotify_init():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init()
    if fd < 0:
        raise OSError(ctypes.get_errno(), "inotify_init")
    return fd


def rounds(process):
    """How often it has gone to sleep."""
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", pathlib.Path(f"/proc/{process}/status").read_text(), re.M)[1])


@claim("budgets: where the host itself has no inotify instance left, what must not appear is still moved aside, and bawn sleeps")
def test_inotify_of_host(place):
    work = place.repository("no-instances")
    made = []
    try:
        with contextlib.suppress(OSError):
            while True:
                made.append(inotify_init())
        child = place.start(work, "sh", "-c", "echo 'write /' >.bawn; echo made; read line")
        same(child.stdout.readline(), b"made\n")
        until(lambda: not (work / ".bawn").exists(), "it is set aside while the command runs")
        place.host("git", "config", "core.harmless", "1", cwd=work)
        until(lambda: "pinned-again" in place.journal(work), "the mounts are watched all the same")

        def sleeps():
            before, began = rounds(child.pid), time.monotonic()
            time.sleep(1)  # how often is it woken in this time?
            return rounds(child.pid) - before < 10 + 10 * (time.monotonic() - began)  # it looks for sockets twice a second
        until(sleeps, "it sleeps, when what was pinned again is done")
        (work / ".bawn").write_text("write /")  # a second time, after it has slept
        until(lambda: not (work / ".bawn").exists(), "it is set aside again")
        child.communicate(b"\n", timeout=scratch.PATIENCE)
        same(child.returncode, 0)
    finally:
        for fd in made:
            os.close(fd)


MAKE_POLICY = "open('.bawn', 'w').write('write /')\nprint('made', flush=True)\ninput()"


def outside(place, fill, *before, most=1 << 30):
    """How much of it a program of the host gets now."""
    script = f"{fill}\n_most = {most}\nfull = until_refused\nuntil_refused = lambda act, most=_most: full(act, min(most, _most))\n" \
             "print(fill())\nfor one in segments: libc.shmctl(one, 0, None)"
    return eval(place.host(*before, "python3", "-S", "-c", script, cwd=place.home))


def all_is_watched(place, work, child):
    """A run whose command has used something up: what must not appear goes, a pin is made again, and the run ends as any other."""
    same(child.stdout.readline(), b"made\n")
    until(lambda: not (work / ".bawn").exists(), "it is set aside while the command runs")
    pinned_again(place, work, child)


def ends(place, work, child):
    child.communicate(b"\n", timeout=scratch.PATIENCE)
    same((child.returncode, place.held(work)), (0, {".bawn": "write /"}))


@claim("budgets: a command that locks all memory it may blinds no watch, and leaves the host some")
def test_locked_memory(place):
    work, few = place.repository("locked"), ("prlimit", "--memlock=1048576:1048576")
    same(outside(place, FILL["locked"], *few), (16, "ENOMEM"))  # the control
    said, child = filled(place, work, FILL["locked"], MAKE_POLICY, before=few)
    same(eval(said), (14, "ENOMEM"))
    all_is_watched(place, work, child)
    same(outside(place, FILL["locked"], *few), (2, "ENOMEM"))
    ends(place, work, child)


@claim("budgets: a command that pins all pages it may with MSG_ZEROCOPY blinds no watch, and leaves the host some")
def test_zero_copy(place):
    work, few = place.repository("zero-copy"), ("prlimit", "--memlock=1048576:1048576")
    same(outside(place, FILL["zero copy"], *few)[1], "ENOBUFS")  # the control
    said, child = filled(place, work, FILL["zero copy"], MAKE_POLICY, before=few)
    made, why = eval(said)
    same((why, made > 0), ("ENOBUFS", True))
    all_is_watched(place, work, child)
    same(outside(place, FILL["zero copy"] + "page = bytes(65536)\n", *few, most=1), (1, "enough"))
    ends(place, work, child)


@claim("budgets: a command that makes all contexts of asynchronous I/O there are blinds no watch, and gives them back at its end")
def test_asynchronous_io(place):
    work = place.repository("aio")
    same(outside(place, FILL["aio"])[1], "EAGAIN")  # the control
    said, child = filled(place, work, FILL["aio"], MAKE_POLICY)
    same(eval(said)[1], "EAGAIN")
    all_is_watched(place, work, child)
    same(outside(place, FILL["aio"]), (0, "EAGAIN"))
    ends(place, work, child)
    until(lambda: outside(place, FILL["aio"], most=1) == (1, "enough"), "the host has it back")


@claim("budgets: a command that makes all terminals it may blinds no watch, and leaves the host some, for a run on one too")
def test_terminals(place):
    work, other = place.repository("ptys"), place.repository("ptys-other")
    most, kept = (int(pathlib.Path(f"/proc/sys/kernel/pty/{name}").read_text()) for name in ("max", "reserve"))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < most + 2048:
        raise scratch.Skip(f"needs a limit of {most + 2048} descriptors or more")
    more = most - kept + 16
    same(outside(place, FILL["terminals"], most=more), (more, "enough"))  # the control
    said, child = filled(place, work, FILL["terminals"], MAKE_POLICY)
    made, why = eval(said)
    same((why, 0 < made <= most - kept), ("ENOSPC", True))
    all_is_watched(place, work, child)
    same(outside(place, FILL["terminals"], most=16), (16, "enough"))
    said, status = place.terminal(other, ["--net", "off", "--", "echo", "runs"])
    same(("runs" in said.splitlines(), status), (True, 0))
    ends(place, work, child)


@claim("budgets: a port that a command listens on is not taken on the host, nor the other way round")
def test_ports(place):
    work = place.repository("ports")
    take = "import errno, socket, sys\ntry: socket.create_server(('0.0.0.0', int(sys.argv[1])))\n" \
           "except OSError as why: print(errno.errorcode[why.errno])\nelse: print('taken')\n"
    with socket.create_server(("0.0.0.0", 0)) as service:
        port = str(service.getsockname()[1])
        same(place.host("python3", "-S", "-c", take, port, cwd=work), "EADDRINUSE\n")  # the control
        same(place.inside(work, "python3", "-S", "-c", take, port).stdout, b"taken\n")
        same(place.run("python3", "-S", "-c", take, port, cwd=work, flags=("--net", "open")).stdout, b"EADDRINUSE\n")


COUNTER = "i=0; echo up; while :; do i=$((i+1)); echo $i >count; done"


def pin_down(place, name):
    """A run whose fallen pin cannot be made again, since bawn cannot start a process."""
    work = place.repository(name)
    child = place.start(work, "sh", "-c", COUNTER)
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    until((work / "count").exists, "it counts")
    before = resource.prlimit(child.pid, resource.RLIMIT_NPROC)
    resource.prlimit(child.pid, resource.RLIMIT_NPROC, (0, before[1]))
    return work, child, before


def stands_still(place, work, child):
    """Is the command stopped, and does it change nothing?"""
    first = children_of(child.pid)[0]
    states = [state_of(pid) for pid in [first, *children_of(first)]]
    count = (work / "count").read_text()
    time.sleep(0.1)  # does it count in this time?
    return set(states) == {"T"} and (work / "count").read_text() == count


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@claim("while a pin is down nothing runs inside, and when it is made again all goes on")
def test_stands_still(place):
    for attempt in range(5):  # after a second bawn ends the run: if it could not be looked at before, then once more
        work, child, before = pin_down(place, f"stands-still-{attempt}")
        same(stands_still(place, work, child), False)
        place.host("git", "config", "core.harmless", "1", cwd=work)
        with contextlib.suppress(AssertionError, IndexError, OSError):  # the last two: it is over
            until(lambda: stands_still(place, work, child), "nothing runs inside", 0.8)
            same("pinned-again" in place.journal(work), False)
            resource.prlimit(child.pid, resource.RLIMIT_NPROC, before)
            until(lambda: "pinned-again" in place.journal(work) or child.poll() is not None, "it is pinned again")
        if "pinned-again" in place.journal(work):
            break
        child.communicate(timeout=scratch.PATIENCE)
        same('"event":"pin-lost"' in place.journal(work), True)
    count = (work / "count").read_text()
    until(lambda: (work / "count").read_text() not in ("", count), "it goes on")
    same(child.poll(), None)
    child.terminate()
    child.communicate(timeout=scratch.PATIENCE)


@claim("a pin that cannot be made again within a second: it is said, and the run is ended")
def test_ended(place):
    for attempt in range(5):  # a machine that stands still for a moment gets another attempt
        work, child, _ = pin_down(place, f"pin-ended-{attempt}")
        first = children_of(child.pid)[0]
        place.host("git", "config", "core.harmless", "1", cwd=work)
        began = time.monotonic()
        until(lambda: '"event":"pin-lost"' in place.journal(work), "it is said")
        took = time.monotonic() - began
        said = child.communicate(timeout=scratch.PATIENCE)[1].decode()
        statuses = (1, 125) if SANITIZED else (125,)  # 1: the leak sanitizer could not start a process either
        same((child.returncode in statuses, os.path.exists(f"/proc/{first}")), (True, False))
        assert "could not be protected again" in said, said
        same(place.journal(work).count('"event":"pin-lost"'), 1)
        if took < 2:
            return
    raise AssertionError(f"{took} s")


@claim("kill -9 of bawn while a pin is down and all stands still leaves no process")
def test_killed_while_down(place):
    for attempt in range(5):  # after a second bawn ends the run: if it was not killed before, then once more
        work, child, _ = pin_down(place, f"killed-while-down-{attempt}")
        first = children_of(child.pid)[0]
        inside, stood_still = [first, *children_of(first)], False
        place.host("git", "config", "core.harmless", "1", cwd=work)
        with contextlib.suppress(AssertionError, OSError):
            until(lambda: state_of(first) == "T", "it stands still", 0.8)
            stood_still = child.poll() is None
        child.kill()
        child.communicate(timeout=scratch.PATIENCE)
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inside), "nothing is left", 15)
        if stood_still and child.returncode == -signal.SIGKILL:
            return
    raise AssertionError("it never stood still")
