"""The same walls with ids mapped."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import scratch
from ground import FILL_MORE, FILL
from scratch import need, same, until

claim = scratch.Claims()


@claim("as root: hidden by a pattern: refused where a folder of root's cannot be listed, and is itself shown or leads to what is")
def test_what_cannot_be_hidden_as_a_whole(place):
    need("setpriv")
    home = place.folder("of-nobody")
    (home / "app/closed/named").mkdir(parents=True)
    (home / "app/closed/x.secret").write_text("SECRET")
    for folder in (place.home, home, home / "app", home / "app/closed/named"):
        folder.chmod(0o755)
    for folder in (home, home / "app", home / "app/closed/named"):
        os.chown(folder, 65534, 65534)
    (home / "app/closed").chmod(0o711)

    def read(cwd, *flags):
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", place.bawn, "--net", "off",
                               *flags, "--", "cat", str(home / "app/closed/x.secret")], cwd=cwd, capture_output=True, timeout=60,
                              env={**place.environment, "HOME": str(home)}, stdin=subprocess.DEVNULL, check=False)
    for cwd, flags in ((home / "app", ("--freeze", "closed/named")), (home / "app/closed", ("--workspace", "."))):
        same(read(cwd, *flags).stdout, b"SECRET")  # the control
        done = read(cwd, "--hide", "**/*.secret", *flags)
        same((done.returncode, done.stdout), (125, b""))
        same(f"cannot search {home}/app/closed for" in done.stderr.decode(), True)
    same(read(home / "app", "--hide", "**/*.secret").returncode, 1)  # nothing is shown in it: it is hidden as a whole
    # Around it everything can only be read: it is an empty folder with what is shown in it.
    other = place.folder("not-of-the-home")
    shutil.copytree(home / "app/closed", other / "closed")  # with its modes
    os.chown(other / "closed/named", 65534, 65534)
    def beside(*flags):
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", place.bawn, "--net", "off", "--read",
                               str(other), *flags, "--", "sh", "-c", "touch new; cat ../x.secret"], cwd=other / "closed/named",
                              capture_output=True, timeout=60, env={**place.environment, "HOME": str(home)},
                              stdin=subprocess.DEVNULL, check=False)
        return done.stdout, b"No such file or directory" in done.stderr
    same(beside(), (b"SECRET", False))  # the control
    same(beside("--hide", f"{other}/*/*.secret"), (b"", True))
    same((other / "closed/named/new").exists(), True)


@claim("as root: budgets: a command that makes all epoll watches its user may: no watch is blind, and a connection is reset, and recorded")
def test_epoll_watches(place):
    need("setpriv")
    setting = pathlib.Path("/proc/sys/fs/epoll/max_user_watches")
    before, home = setting.read_text(), place.folder("of-nobody-too")
    work = place.repository("of-nobody-too/watches")
    place.host("chown", "-R", "65534:65534", home, cwd=home)
    place.home.chmod(0o755)
    service = socket.create_server(("127.0.0.1", 0))
    service.settimeout(scratch.PATIENCE)
    port = service.getsockname()[1]
    connect = f"try: print(socket.create_connection(('127.0.0.1', {port}), 20).recv(9), flush=True)\n" \
              "except OSError as why: print(errno.errorcode[why.errno], flush=True)\n"
    full = FILL["epoll"] + "print(fill(), flush=True)\n"

    def start(script, *words):
        return subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", *words, "python3", "-S", "-c",
                                 script], cwd=work, env={**place.environment, "HOME": str(home)}, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    bawn = (place.bawn, "--host-port", str(port), "--")
    try:
        setting.write_text("20000")
        child = start(full)
        same(child.communicate(timeout=scratch.PATIENCE)[0], "(20000, 'ENOSPC')\n")  # the controls
        child = start(FILL_MORE + connect, *bawn)
        service.accept()[0].send(b"answer")
        same(child.communicate(timeout=scratch.PATIENCE)[0], "b'answer'\n")
        child = start(full + connect + "open('.bawn', 'w').write('write /')\ninput()", *bawn)
        said = eval(child.stdout.readline())
        same((said[0] > 19000, said[1], child.stdout.readline()), (True, "ENOSPC", "ECONNRESET\n"))
        until(lambda: not (work / ".bawn").exists(), "it is set aside while the command runs")
        child.communicate("\n", timeout=scratch.PATIENCE)
    finally:
        setting.write_text(before)
        child.kill()
    journal = (home / ".local/state/bawn/sessions/watches-2/journal.jsonl").read_text()
    same((child.returncode, '"event":"network-trouble"' in journal), (0, True))


# Processes that continue each other as fast as somebody stops them.
FLOOD = "import os, signal\nfor _ in range(5): os.fork() or os.setsid()\nprint('up', flush=True)\n" \
        "for count in range(1 << 40):\n  os.kill(-1, signal.SIGCONT)\n  if count % 64 == 0: open('count', 'w').write(str(count))\n"


@contextlib.contextmanager
def control_group(place, user):
    """A control group (version 2) of this user's, with a group in it to start in."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    tops = [pathlib.Path(words[1]) for words in mounts if words[2] == "cgroup2"]
    if not tops:
        raise scratch.Skip("needs control groups of version 2")
    group = tops[0] / f"freeze-test-{os.urandom(6).hex()}"  # each world has the same numbers of processes
    try:
        (group / "own").mkdir(parents=True)
    except OSError as why:
        raise scratch.Skip(f"needs the right to make a control group: {why}") from why
    try:
        for path in (group, group / "cgroup.procs", group / "own", group / "own/cgroup.procs"):
            os.chown(path, user, user)
        yield group / "own"
    finally:
        def removed():
            with contextlib.suppress(OSError):
                for folder in [*(group / "own").glob("*/"), group / "own", group]:
                    folder.rmdir()
            return not group.exists()
        until(removed, "the control group is empty")


def flooded(place, name, group):
    """A run as nobody, in a control group, whose command resists being stopped."""
    home = place.folder(name)
    work = place.repository(f"{name}/work")
    place.host("chown", "-R", "65534:65534", home, cwd=home)
    place.home.chmod(0o755)
    child = subprocess.Popen(["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--",
                              place.bawn, "--net", "off", "--", "python3", "-S", "-c", FLOOD], cwd=work, text=True,
                             env={**place.environment, "HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    same(child.stdout.readline(), "up\n")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    return work, child


def limit_processes(place, pid, most):
    place.host("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "prlimit", "--pid", str(pid), f"--nproc={most}:", cwd="/")


def runs_on(place, work):
    """Is something inside running?"""
    if not (work / "count").exists():
        return False
    before = (work / "count").stat().st_mtime_ns
    time.sleep(0.2)  # does it count in this time?
    return (work / "count").stat().st_mtime_ns != before


@claim("as root: while a pin is down a sandbox's control group is frozen: nothing runs inside, whoever resists; then it goes on, and is removed")
def test_frozen_group(place):
    need("setpriv", "git")
    with control_group(place, 65534) as group:
        for attempt in range(5):  # after a second bawn ends the run: if it could not be looked at before, then once more
            went_on = False
            work, child = flooded(place, f"frozen-group-{attempt}", group)
            try:
                until(lambda: runs_on(place, work), "it runs")
                limit_processes(place, child.pid, "0")
                place.host("git", "-c", "safe.directory=*", "config", "core.harmless", "1", cwd=work)
                with contextlib.suppress(StopIteration, OSError, subprocess.CalledProcessError):  # it is over
                    sandbox = next(group.glob("bawn-*"))
                    until(lambda: "frozen 1" in (sandbox / "cgroup.events").read_text(), "the group is frozen")
                    same(runs_on(place, work), False)
                    limit_processes(place, child.pid, "1000")
                    went_on = until(lambda: runs_on(place, work) or child.poll() is not None, "it goes on") and child.poll() is None
                    same((sandbox / "cgroup.freeze").read_text(), "0\n")
            finally:
                child.terminate()
                said = child.communicate(timeout=scratch.PATIENCE)[1]
            same(list(group.glob("bawn-*")), [])
            if went_on:
                return
            assert "could not be protected again" in said, said
        raise AssertionError("it never went on")


@claim("as root: kill -9 of bawn while its control group is frozen leaves no process")
def test_killed_while_frozen(place):
    need("setpriv", "git")
    with control_group(place, 65534) as group:
        for attempt in range(5):  # after a second bawn ends the run: if it was not killed before, then once more
            was_frozen = False
            work, child = flooded(place, f"killed-frozen-{attempt}", group)
            sandbox = next(group.glob("bawn-*"))
            limit_processes(place, child.pid, "0")
            place.host("git", "-c", "safe.directory=*", "config", "core.harmless", "1", cwd=work)
            with contextlib.suppress(OSError):
                until(lambda: "frozen 1" in (sandbox / "cgroup.events").read_text(), "the group is frozen")
                was_frozen = True
            child.kill()
            child.communicate(timeout=scratch.PATIENCE)
            with contextlib.suppress(FileNotFoundError):
                until(lambda: (sandbox / "cgroup.procs").read_text() == "", "nothing is left")
                sandbox.rmdir()
            if was_frozen and child.returncode == -signal.SIGKILL:
                return
        raise AssertionError("it was never frozen")


@claim("as root: --nested: bubblewrap works inside, with an ordinary id, and nothing reaches the host (control: without --nested it cannot)")
def test_nested_bubblewrap(place):
    need("bwrap", "unshare")
    work = place.repository("nested-root")
    (work / "a").write_text("one\n")
    wrapped = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--", "sh", "-c"]
    done = place.inside(work, *wrapped, "echo two >a; cat a", flags=("--nested",))
    same((done.returncode, done.stdout, (work / "a").read_text()), (0, b"two\n", "one\n"))
    same(place.inside(work, *wrapped, "true").returncode, 1)
    done = place.inside(work, "sh", "-c", "id -u; stat -c %u a; touch new; unshare -Urm sh -c 'umount -l .git/config; "
                        "cp a .git/config; id -u'", flags=("--nested",))
    same((done.returncode, done.stdout), (0, b"1000\n1000\n0\n"))
    same(("one" in (work / ".git/config").read_text(), (work / "new").exists()), (False, False))
