"""What is made inside while nothing can pin it is moved aside at once."""
import contextlib
import errno
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import scratch
from ground import ACT
from processes import children_of
from scratch import SANITIZED, need, same, until

claim = scratch.Claims()


@claim("watch: a policy that is made inside is set aside at once, soon after the start and later, and nothing of it is lost")
def test_watch_moves(place):
    same(place.host("python3", "-c", ACT, "make", ".bawn", cwd=place.folder("control")), "done\n")
    for pause in (0, 0.3, 1.5):  # before anything is watched, by notices, by inotify
        work = place.repository(f"watched-{pause}")
        done = place.inside(work, "python3", "-c", f"import os, time\ntime.sleep({pause})\nopen('.bawn', 'w').write('write /')\n"
                            "end = time.monotonic() + 10\n"
                            "while os.path.exists('.bawn') and time.monotonic() < end: pass\n"
                            "print(os.path.exists('.bawn'))\n")
        same(done.stdout, b"False\n")
        same(f"{work}/.bawn was created during the run, where none may be" in done.stderr.decode(), True)
        same(place.held(work), {".bawn": "write /"})
        same((work / ".bawn").exists(), False)


@claim("watch: more events than the queue holds, and what came among them is found all the same")
def test_watch_overflow(place):
    work = place.repository("overflow")
    most = int(pathlib.Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    child = place.start(work, "python3", "-c", "import os, time\nos.mkdir('f')\nprint('up', flush=True)\ninput()\n"
                        f"for i in range({max(most, 20000)} + 1000): os.link('a', 'l'); os.rename('l', 'f/%d' % i)\n"
                        "open('.bawn', 'w').close()\nprint('made', flush=True)\nend = time.monotonic() + 20\n"
                        "while os.path.exists('.bawn') and time.monotonic() < end: time.sleep(0.001)\n"
                        "print(os.path.exists('.bawn'))\n")
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work), "the workspace is watched")
    child.send_signal(signal.SIGSTOP)  # it reads nothing meanwhile
    child.stdin.write(b"\n")
    child.stdin.flush()
    same(child.stdout.readline(), b"made\n")
    child.send_signal(signal.SIGCONT)
    same(child.communicate(timeout=120)[0], b"False\n")
    same(place.held(work), {".bawn": ""})


@claim("watch: what must not appear is moved while thousands of other files are made beside it, and after that")
def test_watch_flood(place):
    work = place.repository("flood")
    done = place.inside(work, "python3", "-c", "import os, time\n"
                        "def appears(meanwhile):\n"
                        "    open('.bawn', 'w').close()\n"
                        "    end = time.monotonic() + 20\n"
                        "    while os.path.exists('.bawn') and time.monotonic() < end: meanwhile()\n"
                        "    return os.path.exists('.bawn')\n"
                        "def make():\n"
                        "    for i in range(200): open('f%d' % i, 'w').close()\n"
                        "    for i in range(200): os.unlink('f%d' % i)\n"
                        "for i in range(100): make()\n"
                        "print(sum(appears(make) for i in range(20)), appears(lambda: time.sleep(0.001)))\n", seconds=120)
    same(done.stdout, b"0 False\n")
    same(place.held(work), {".bawn": ""})
    same((work / ".bawn").exists(), False)


@claim("flags: a sandbox that is ended from outside is waited for before its end is looked at")
def test_ended_from_outside(place):
    need("strace")
    if SANITIZED:
        raise scratch.Skip("the search for leaks cannot be traced")
    work = place.repository("ended", {"CLAUDE.md": "one\n"})
    log = place.home / "ended.calls"
    tracer = subprocess.Popen(
        ["strace", "-qq", "-e", "trace=kill,wait4", "-e", "signal=none", "-o", str(log), place.bawn, "--net", "off", "--", "sh", "-c",
         "echo evil >CLAUDE.md; (while :; do echo evil >>CLAUDE.md; done) & echo up; read x"],
        cwd=work, env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    same(tracer.stdout.readline(), b"up\n")
    bawn, = children_of(tracer.pid)
    sandbox, = until(lambda: len(found := children_of(bawn)) == 1 and found, "bawn has no child but the sandbox")
    os.kill(int(sandbox), signal.SIGKILL)
    _, said = tracer.communicate(timeout=scratch.PATIENCE)
    same((tracer.returncode, "was ended from outside" in said.decode()), (125, True))
    killed, waited = log.read_text().splitlines()[:2]
    same((killed.startswith(f"kill({sandbox}, SIGKILL)"), waited.startswith(f"wait4({sandbox}, "), waited.endswith(f"= {sandbox}")),
         (True, True, True))
    same(((work / "CLAUDE.md").read_text(), "evil" in place.held(work)["CLAUDE.md"]), ("one\n", True))


@claim("watch: a path whose directories are made only then")
def test_watch_deep(place):
    work = place.repository("deep-watch")
    done = place.inside(work, "python3", "-c", "import os, time\nos.makedirs('x/y')\nopen('x/y/z', 'w').close()\n"
                        "end = time.monotonic() + 10\n"
                        "while os.path.exists('x/y/z') and time.monotonic() < end: pass\n"
                        "print(os.path.exists('x/y/z'))\n", flags=("--freeze", str(work / "x/y/z")))
    same(done.stdout, b"False\n")
    same(place.held(work), {"x/y/z": ""})


@claim("watch: a command that closes its workspace goes on, and a policy that it makes later is set aside all the same")
def test_watch_closed(place):
    work = place.repository("closed-watch")
    done = place.inside(work, "python3", "-c", "import os, time\nhere = os.open('.', os.O_RDONLY)\nos.fchmod(here, 0)\ntime.sleep(0.6)\nos.fchmod(here, 0o755)\n"
                        "open('.bawn', 'w').close()\nend = time.monotonic() + 10\n"
                        "while os.path.exists('.bawn') and time.monotonic() < end: pass\nprint(os.path.exists('.bawn'))\n")
    same((done.returncode, done.stdout, list(place.held(work))), (0, b"False\n", [".bawn"]))
    same(place.sh(work, "chmod 0 .; sleep 0.6").returncode, 0)
    # Without the right to read, a directory cannot be watched and can still be written.
    done = place.inside(work, "python3", "-c", "import os, time\nos.chmod('.', 0o300)\ntime.sleep(0.6)\nopen('.bawn', 'w').close()\n"
                        "end = time.monotonic() + 10\n"
                        "while os.path.exists('.bawn') and time.monotonic() < end: pass\nprint(os.path.exists('.bawn'))\n")
    same((done.returncode, done.stdout, list(place.held(work))), (0, b"False\n", [".bawn"]))


@claim("watch: a policy that nobody may read is set aside all the same, where the session's folder is on another file system")
def test_watch_other_file_system(place):
    work = place.repository("unmovable")
    script = ("import os, time\nos.close(os.open('.bawn', os.O_CREAT, 0))\nend = time.monotonic() + 10\n"
              "while os.path.exists('.bawn') and time.monotonic() < end: time.sleep(0.01)\nprint(os.path.exists('.bawn'))\n")
    with other_file_system(place, work) as state:
        done = place.inside(work, "python3", "-c", script, environment={"XDG_STATE_HOME": state})
        same((done.returncode, done.stdout, held_in(place, state, work)), (0, b"False\n", {".bawn": ""}))


@contextlib.contextmanager
def other_file_system(place, work):
    """A state folder from which nothing can be renamed into the workspace, nor the other way round."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as state:
        (work / "control").write_text("")
        try:
            os.rename(work / "control", pathlib.Path(state) / "control")
            raise scratch.Skip("needs another file system at /dev/shm")
        except OSError as why:
            same(why.errno, errno.EXDEV)
        (work / "control").unlink()
        yield state


def held_in(place, state, work):
    tops = [pathlib.Path(f"{folder}{work}") for folder in sorted(pathlib.Path(state).glob("bawn/sessions/*/held*"))]
    return {str(p.relative_to(top)): p.read_text() for top in tops for p in sorted(top.rglob("*")) if p.is_file() and not p.chmod(0o600)}


@claim("flags: closed directories and files that nobody may read are set aside where the session's folder is on another file system, too")
def test_flag_other_file_system(place):
    ways = {"closed": "echo evil >.vscode/tasks.json; chmod 0555 .vscode", "unreadable": "echo evil >.vscode/tasks.json; chmod 0 .vscode/tasks.json",
            "gone": "rm .vscode/tasks.json; chmod 0555 .vscode", "unfinished": "mkdir -p .git/rebase-merge/in; echo evil >.git/rebase-merge/git-rebase-todo\n"
            "echo >.git/rebase-merge/in/x; chmod 0 .git/rebase-merge/in/x; chmod 0555 .git/rebase-merge/in .git/rebase-merge"}
    for name, way in ways.items():
        work = place.repository(f"other-{name}", {".vscode/tasks.json": "mine\n"})
        (work / ".git/hooks").mkdir(exist_ok=True)
        with other_file_system(place, work) as state:
            done = place.sh(work, way, environment={"XDG_STATE_HOME": state})
            same((name, done.returncode, b"cannot" in done.stderr), (name, 0, False))
            held = {} if name == "gone" else {".git/rebase-merge/git-rebase-todo": "evil\n", ".git/rebase-merge/in/x": "\n"} \
                if name == "unfinished" else {".vscode/tasks.json": "evil\n"}
            same((name, held_in(place, state, work), (work / ".git/rebase-merge").exists()), (name, held, False))
        same((name, os.listdir(work / ".vscode"), (work / ".vscode/tasks.json").read_text()), (name, ["tasks.json"], "mine\n"))


# Links as costly as can be, in a path of 1,900 names: each leads up and down 800 times.
COSTLY = r"""
import os, sys
at = os.open(".", os.O_RDONLY)
for _ in range(1900):
    os.mkdir("n", dir_fd=at)
    last, at = at, os.open("n", os.O_RDONLY, dir_fd=at)
    os.close(last)
for i in range(int(sys.argv[1])):
    os.mkdir(f"d{i}", dir_fd=at)
    os.symlink("../../n/" + "../n/" * 800, f"d{i}/{sys.argv[2]}", dir_fd=at)
"""


@claim("flags: links that take too long to follow keep nothing else from being held; those that may lead to flagged files are held too")
def test_flag_many_links(place):
    for name, held in (("link", {"CLAUDE.md", "d/config.toml"}), (".cargo", {"CLAUDE.md", "d/config.toml", ".cargo"})):
        work = place.repository(f"many-{name}")
        script = f"mkdir d; echo evil >CLAUDE.md; echo evil >d/config.toml; ln -s d .cargo; exec python3 -c '{COSTLY}' 400 {name}"
        try:
            done = place.sh(work, script)
            same((name, done.returncode, b"more links than can be followed" in done.stderr), (name, 0, name == "link"))
            names = {path if path in held else path.rpartition("/")[2] for path in held_names(place, work)}
            same((name, names), (name, held))
        finally:
            place.host("rm", "-rf", str(work), *map(str, place.state("sessions").glob("many-*")), cwd=place.home)


def held_names(place, work):
    """The paths of all that is held, links among it."""
    return set(re.findall(r'"event":"held","path":"' + re.escape(str(work)) + r'/([^"]+)"', place.journal(work)))


@claim("flags: what cannot be copied to another file system is renamed where it stands, and the end says so")
def test_flag_cannot_leave(place):
    work = place.repository("cannot-leave")
    deep = ".git/rebase-merge/" + "d/" * 80
    with other_file_system(place, work) as state:
        done = place.sh(work, f"mkdir -p {deep}; echo evil >.git/rebase-merge/git-rebase-todo", environment={"XDG_STATE_HOME": state})
        said = done.stderr.decode()
        new = re.search(r"cannot set \S+/\.git/rebase-merge aside, so it was renamed to (rebase-merge\.bawn-held-\w+)", said)
        assert new, said
        same((held_in(place, state, work), (work / ".git/rebase-merge").exists()), ({}, False))
        same((work / ".git" / new[1] / "git-rebase-todo").read_text(), "evil\n")


@claim("a seal that is missing in a writable tree is still refused: a watch would be weaker")
def test_watch_seal(place):
    work = place.repository("seal")
    done = place.inside(work, "true", flags=("--seal", str(work / "secret")))
    same((done.returncode, b"is sealed but does not exist" in done.stderr), (125, True))
