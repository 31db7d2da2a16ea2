"""Git directories, second workspaces and sockets, wherever they lie."""
import contextlib
import os
import shutil
import socket
import subprocess
import time

import scratch
from ground import GIT, ACT
from scratch import same, until

claim = scratch.Claims()
REALTIME_COARSE = 5  # CLOCK_REALTIME_COARSE, by which the kernel dates files; Python has no name for it


def acts(place, work, flags, *acts):
    """How each act ends inside. Outside it succeeds, on the real thing; what that made is removed again."""
    for what, path in acts:
        same((path, place.host("python3", "-c", ACT, what, path, cwd=work)), (path, "done\n"))
        if what == "make":
            os.unlink(path)
    return [place.inside(work, "python3", "-c", ACT, what, path, flags=flags).stdout.decode().strip() for what, path in acts]


@claim("git's control files are frozen wherever they lie: of a linked worktree, of a second workspace, in a `write` tree")
def test_git_elsewhere(place):
    main = place.repository("elsewhere/main")
    place.host(*GIT, "worktree", "add", "-q", "--detach", str(main.parent / "linked"), cwd=main)
    linked, second = main.parent / "linked", place.repository("elsewhere/second")
    granted, plain = place.repository("elsewhere/granted"), place.folder("elsewhere/plain")
    for work, flags, git in ((linked, (), main / ".git"), (plain, ("--workspace", ".", "--workspace", str(second)), second / ".git"),
                             (plain, ("--write", str(granted)), granted / ".git")):
        got = acts(place, work, flags, ("write", str(git / "config")), ("replace", str(git / "config")),
                   ("make", str(git / "hooks/pre-commit")))
        same((work.name, flags, got), (work.name, flags, ["EROFS", "EBUSY", "EROFS"]))
        same("evil" in (git / "config").read_text(), True)  # the control's
    same(place.inside(linked, "python3", "-c", ACT, "write", ".git").stdout, b"EROFS\n")
    same(place.inside(linked, "python3", "-c", ACT, "write", str(main / ".git/worktrees/linked/commondir")).stdout, b"EROFS\n")


@claim("flags hold in further workspaces as in the first: what is new is held, what was there before comes back")
def test_second_workspace_flags(place):
    first, second = place.repository("two/first"), place.repository("two/second", {"CLAUDE.md": "one\n", "prepared/tasks.json": "run\n"})
    (second / "sub/deep").mkdir(parents=True)
    (second / "sub/deep/.envrc").write_text("mine\n")  # not tracked, and not at the top: only a snapshot knows it
    script = (f"cd {second}; echo evil >CLAUDE.md; mkdir sub/.vscode; echo run >sub/.vscode/tasks.json; echo evil >sub/deep/.envrc\n"
              "mv prepared .idea; echo fine >a; printf '#!/bin/sh\\n' >run; chmod +x run")
    flags = ("--net", "off", "--workspace", str(first), "--workspace", str(second))
    printed, status = place.terminal(first, (*flags, "--", "sh", "-euc", script), (place.QUESTION, b"s\n"))
    same((status, (second / "CLAUDE.md").read_text(), (second / "sub/deep/.envrc").read_text(), (second / "a").read_text()),
         (0, "one\n", "mine\n", "fine\n"))
    same([(second / name).exists() for name in ("sub/.vscode/tasks.json", ".idea/tasks.json")], [False, False])
    same([line for line in printed.splitlines() if "new program" in line], [f"bawn: the command left a new program: {second}/run."])
    held = place.state("sessions") / "first-1"
    same(sorted(p.name for p in held.glob("held/**/*") if p.is_file()), [".envrc", "CLAUDE.md", "tasks.json", "tasks.json"])
    # Each has its own changes, and its own undo.
    place.host(place.bawn, "undo", cwd=second)
    same(((second / "a").read_text(), (second / "prepared/tasks.json").read_text(), (second / "run").exists()), ("one\n", "run\n", False))
    # A killed run too: whatever its further workspaces are, the next bawn sees to each.
    child = place.start(first, "sh", "-euc", f"cd {second}; echo evil >sub/deep/.envrc; echo up; sleep 100", flags=flags[2:])
    same(child.stdout.readline(), b"up\n")
    child.kill()
    child.communicate()
    said = subprocess.run([place.bawn, "sessions"], cwd=second, env=place.environment, capture_output=True, text=True,
                          check=True, stdin=subprocess.DEVNULL).stderr
    same(("was killed in the session second-" in said, (second / "sub/deep/.envrc").read_text()), (True, "mine\n"))


@claim("a daemon's socket in the workspace does not answer, by whatever path it was bound (control: outside it does)")
def test_socket_masked(place):
    plain = place.repository("socket-plain", {"src/x.c": "x\n"})
    shutil.rmtree(plain / ".git")
    # Without stubs to be made, the snapshot that finds sockets is taken while the sandbox is already being made.
    mask_sockets(place, plain, ("--workspace", str(plain)))
    mask_sockets(place, place.repository("socket", {"src/x.c": "x\n"}), ())


def mask_sockets(place, work, flags):
    (work / "src/deep").mkdir()
    os.symlink("src", work / "link")
    ways = {"whole": (str(work / "src/whole.sock"), work), "relative": ("src/relative.sock", work),
            "beside": ("beside.sock", work / "src/deep"), "dots": ("../dots.sock", work / "src/deep")}
    listeners = []
    for bound, folder in ways.values():
        listeners.append(socket.socket(socket.AF_UNIX))
        os.chdir(folder)
        listeners[-1].bind(bound)
        os.chdir("/")
        listeners[-1].listen()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(work / "src/stale.sock"))
    stale.close()
    connect = ("python3", "-c", "import errno, os, socket\n"
               "for name in ('src/whole', 'src/relative', 'src/deep/beside', 'src/dots', 'src/stale'):\n"
               "  try: socket.socket(socket.AF_UNIX).connect(name + '.sock'); print('connected')\n"
               "  except OSError as why: print(errno.errorcode[why.errno])\n"
               "os.unlink('src/stale.sock')\n"
               "socket.socket(socket.AF_UNIX).bind('src/stale.sock')\n")
    done = place.inside(work, *connect, flags=flags)
    same((done.stderr, done.stdout.split()), (b"", [b"EACCES"] * 4 + [b"ECONNREFUSED"]))
    same(place.host(*connect, cwd=work).split(), ["connected"] * 4 + ["ECONNREFUSED"])
    for listener in listeners:
        listener.close()


CONNECT = ("import errno, socket, sys\n"
           "own = socket.socket(socket.AF_UNIX); own.bind('src/own.sock'); own.listen()\n"
           "print('up', flush=True)\n"
           "for line in sys.stdin:\n"
           "  try: socket.socket(socket.AF_UNIX).connect(line.strip()); print('connected', flush=True)\n"
           "  except OSError as why: print(errno.errorcode[why.errno], flush=True)\n")


def connects(place, child, path):
    """How a connection ends that the command makes."""
    child.stdin.write(path.encode() + b"\n")
    child.stdin.flush()
    return child.stdout.readline().decode().strip()


@claim("a socket that a program outside opens in the workspace during a run is hidden while it runs, and named (control: outside it answers)")
def test_socket_opened_meanwhile(place):
    work = place.repository("socket-late", {"src/x.c": "x\n"})
    path = work / "src/late.sock"
    before, late = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    with before, late:
        before.bind(str(work / "src/before.sock"))
        before.listen()
        made = (work / "src/before.sock").stat().st_ctime_ns  # in the same tick of the kernel's clock as the start it could be new
        until(lambda: time.clock_gettime_ns(REALTIME_COARSE) > made, "a tick has passed")
        with place.start(work, "python3", "-c", CONNECT) as child:
            same(child.stdout.readline(), b"up\n")
            same(connects(place, child, "src/late.sock"), "ENOENT")
            late.bind(str(path))
            late.listen(4096)  # nobody accepts
            until(lambda: connects(place, child, "src/late.sock") == "EACCES", "the socket does not answer inside")
            until(lambda: f'"event":"opened-socket","path":"{path}"' in place.journals(work), "it is recorded")
            same((connects(place, child, "src/own.sock"), connects(place, child, "src/before.sock")), ("connected", "EACCES"))
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
            _, said = child.communicate(timeout=scratch.PATIENCE)
    same([line for line in said.decode().splitlines() if "socket" in line],
         [f"bawn: a program outside opened the socket {path} during the run: it was hidden within a second, and the "
          "command could connect to it until then."])


@claim("a socket that a program outside binds by a relative path during a run is hidden too (control: outside it answers)")
def test_socket_opened_relative(place):
    work = place.repository("socket-relative", {"src/deep/x.c": "x\n"})
    serve = ("import socket, sys\n"
             "server = socket.socket(socket.AF_UNIX); server.bind('late.sock'); server.listen(4096); print('up', flush=True)\n"
             "sys.stdin.read()\n")
    for folder in (work, work / "src/deep"):
        name = str((folder / "late.sock").relative_to(work))
        with place.start(work, "python3", "-c", CONNECT) as child:
            same(child.stdout.readline(), b"up\n")
            same(connects(place, child, name), "ENOENT")
            with subprocess.Popen(["python3", "-c", serve], cwd=folder, env=place.environment, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as server:
                same(server.stdout.readline(), b"up\n")
                until(lambda: connects(place, child, name) == "EACCES", "the socket does not answer inside")
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(str(folder / "late.sock"))
                server.communicate(timeout=scratch.PATIENCE)
            child.communicate(timeout=scratch.PATIENCE)
        (folder / "late.sock").unlink()
        (work / "src/own.sock").unlink()
        same(f'"event":"opened-socket","path":"{folder / "late.sock"}"' in place.journals(work), True)


@claim("a daemon that is started again during a run does not answer inside, whether it stood there at the start or not (control: outside it does)")
def test_socket_opened_again(place):
    work = place.repository("socket-again", {"src/x.c": "x\n"})
    first, second = work / "src/first.sock", work / "src/second.sock"
    with contextlib.ExitStack() as open_now:
        def serve(path):
            path.unlink(missing_ok=True)
            daemon = open_now.enter_context(socket.socket(socket.AF_UNIX))
            daemon.bind(str(path))
            daemon.listen(4096)  # nobody accepts
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
        serve(first)
        child = open_now.enter_context(place.start(work, "python3", "-c", CONNECT))
        same(child.stdout.readline(), b"up\n")
        same(connects(place, child, "src/first.sock"), "EACCES")
        for path in (first, second, second, first):
            serve(path)
            until(lambda name=path.name: connects(place, child, f"src/{name}") == "EACCES", f"{path.name} does not answer inside")
        child.communicate(timeout=scratch.PATIENCE)
        same(child.returncode, 0)
