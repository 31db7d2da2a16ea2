"""What only root can set up: owners, mounts, other file systems, a workspace that is partly another's."""
import contextlib
import os
import pathlib
import subprocess
import tempfile

import scratch
import undo_git
from lab import MAPPED
from stranded import change_about
from scratch import PATIENCE, Project, same

claim = scratch.Claims()

# Exchanges what two files of XFS hold, as defragmenting does it.
EXCHANGE = """
import fcntl, os, struct, sys
target, other = os.open(sys.argv[1], os.O_RDWR), os.open(sys.argv[2], os.O_RDWR | os.O_DIRECT)
status, request = os.fstat(target), bytearray(192)
struct.pack_into("=5q", request, 0, 0, target, other, 0, status.st_size)
for at, moment in ((112, status.st_mtime_ns), (128, status.st_ctime_ns)):
    struct.pack_into("=qi", request, at, moment // 10**9, moment % 10**9)
fcntl.ioctl(target, 0xc0c0586d, request)
"""


@claim("as root: review, apply and undo, and owners stay as they are")
def test_owners(place):
    project = Project(place, "root")
    os.chown(project.path / "a", 12345, 12345)
    os.chmod(project.path / "a", 0o666)
    project.inside("echo x >>a; echo new >n", "--review")
    project.bawn("apply")
    same([project.read("a"), (project.path / "a").stat().st_uid, (project.path / "n").stat().st_uid],
         ["one\nx\n", 12345, 0])
    project.bawn("undo")
    same([project.read("a"), (project.path / "a").stat().st_uid], ["one\n", 12345])


@claim("as root: undo brings a repository back that was removed, and a packed branch that was moved or deleted")
def test_repository(place):
    for act in ("rm -rf .git", "rm -rf .git, of packed branches", "a commit on a packed branch",
                "git branch -D of a packed branch", "git checkout -b and a commit there, and git gc"):
        undo_git.undone(act)(place)


@claim("as root: a review whose layer lies in memory")
def test_memory(place):
    project = Project(scratch.Place(place.home, place.bawn), "root-memory")
    with tempfile.TemporaryDirectory(prefix="bawn-test-", dir="/dev/shm") as folder:
        project.place.environment.update(XDG_STATE_HOME=f"{folder}/state", XDG_DATA_HOME=f"{folder}/data")
        project.inside("echo x >>a; echo new >n; rm b/c", "--review")
        same(project.read("a"), "one\n")
        project.bawn("apply")
        same([project.read("a"), project.read("n"), (project.path / "n").stat().st_uid], ["one\nx\n", "new\n", 0])


@claim("a disk that stays full in the middle of an apply: files are old or new, that is said once, other commands go on; with room it is finished")
def test_stays_full(place):
    folder = place.folder("work/stays-full")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    try:
        project = Project(place, "stays-full")
        old, new = "old\n" * 50000, "new\n" * 50000
        project.write("a", old)
        project.inside(f"echo small >a; yes new | head -n 50000 >x", "--review")
        project.bawn("apply", "--yes")
        # As if it had been killed when one file was done, and others had taken the room: neither way can be gone to its end.
        (folder / "x").unlink()
        change_about(project, "stays-full-2", state="replacing")
        with open(folder / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))
        first = project.bawn("sessions", "--repair", status=125)
        assert "No space left on device. Some files are done and others not: make room" in first, first
        for words in (("sessions",), ("log", "stays-full-1"), ("diff", "stays-full-1"), ("sessions",)):
            said = project.bawn(*words)
            same((words, "No space left" in said, words[0] != "sessions" or "replacing" in said), (words, False, True))
        same((project.read("a"), (folder / "x").exists()), ("small\n", False))
        other = Project(place, "not-full")  # another workspace
        same(other.inside("echo changed >a; cat a"), "changed\n")
        (folder / "filler").unlink()
        said = project.bawn("sessions")
        assert "its apply is finished now" in said, said
        same((project.read("a"), project.read("x")), ("small\n", new))
        project.bawn("undo", "--yes")
        same((project.read("a"), (folder / "x").exists()), (old, False))
    finally:
        subprocess.run(["umount", folder], check=True)


@claim("a mount inside the workspace, which an overlay would show empty, is refused under review")
def test_mount_inside(place):
    for name in ("mounted", "mounted, with a space"):
        project = Project(place, name)
        script = 'mount -t tmpfs none b && "$0" --net off -- true && exec "$0" --net off --review -- true'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, place.bawn], cwd=project.path,
                              env=place.environment, capture_output=True, text=True, check=False)
        same((name, done.returncode), (name, 125))
        assert f"{project.path}/b is a mount in the workspace" in done.stderr, done.stderr


@claim("where bawn's folder lies on an overlay, what is written goes elsewhere, is said to, and is applied")
def test_state_on_overlay(place):
    project = Project(place, "contained")
    folder = place.folder("contained-state")
    script = f"""
        mount -t tmpfs none /var/tmp  # other suites have layers there
        mount -t tmpfs none {folder} && mkdir {folder}/l {folder}/u {folder}/w {folder}/m
        mount -t overlay overlay -o lowerdir={folder}/l,upperdir={folder}/u,workdir={folder}/w {folder}/m
        export XDG_STATE_HOME={folder}/m
        {place.bawn} --net off --review -- sh -c 'echo x >>a' && cat a && {place.bawn} apply && cat a
        find {folder}/m -name elsewhere; ls -d /var/tmp/bawn-layer-* 2>/dev/null"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=project.path, env=place.environment, check=False,
                          capture_output=True, text=True, timeout=PATIENCE)
    assert "does not support overlays" in done.stderr and "bawn-layer-" in done.stderr, done.stderr
    same([line for line in done.stdout.splitlines() if line in ("one", "x") or "elsewhere" in line or "layer" in line],
         ["one", "one", "x"])


def as_nobody(place, folder, *words, **environment):
    """bawn as another user, with a home in that folder and a workspace in it."""
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", place.bawn, *words],
                          cwd=folder / "home/app", check=False, capture_output=True, text=True, timeout=PATIENCE,
                          env={**place.environment, "HOME": str(folder / "home"), **environment})


def give_away(folder):
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)


def make_app(folder):
    work = folder / "home/app"
    (work / "b").mkdir(parents=True)
    (work / "a").write_text("one\n")
    (work / "b/c").write_text("two\n")
    (work / "b/000").write_text("three\n")
    (work / "b/000").chmod(0)
    (work / "link").symlink_to("a")
    os.link(work / "a", work / "second")
    return work


def looks(work):
    return {str(path.relative_to(work)): (path.lstat().st_mode, path.lstat().st_mtime_ns,
                                         path.is_file() and path.read_text()) for path in work.rglob("*")}


@claim("where the file system shares blocks, a large file costs none: kept, undone, reviewed, pruned")
def test_shared_blocks(place):
    scratch.need("mkfs.xfs", "losetup")
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        script = f"""cd {name} && truncate -s 400M image && mkfs.xfs -q image && mkdir disk && mount -o loop image disk || exit 9
            export HOME={name}/disk; mkdir disk/app && cd disk/app && head -c 50000000 /dev/urandom >big || exit 1
            cp big ../expected; sync; used() {{ sync; df -k --output=used . | tail -1; }}; before=$(used)
            bawn() {{ {place.bawn} "$@" 2>&1; }}
            bawn --net off -- sh -c 'echo x >>big' && echo small >note || exit 1
            test "$(ls ../.local/share/bawn/snapshots/clone-* | wc -l)" = 2 || exit 2
            test $(($(used) - before)) -lt 20000 || exit 3
            bawn undo && cmp big ../expected || exit 4
            bawn --net off --review -- sh -c 'echo y >>big' && bawn apply || exit 5
            test "$(tail -c 2 big)" = y && bawn undo && cmp big ../expected || exit 6
            test $(($(used) - before)) -lt 40000 || exit 7
            mkdir -p ../.config/bawn && printf 'age 0s\n' >../.config/bawn/snapshot-keep
            bawn discard --yes && sleep 1.1 && bawn undo --prune && ls ../.local/share/bawn/snapshots
            test ! -e ../.local/share/bawn/snapshots/clone-*"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], check=False, capture_output=True, text=True,
                              env=place.environment, timeout=PATIENCE * 3)
        if done.returncode == 9:
            raise scratch.Skip("needs a loop device with xfs")
        same((done.returncode, done.stderr), (0, ""))


@claim("attack: in memory, where no time tells of it, what is written through a mapping is seen, flagged and undone")
def test_mapped_in_memory(place):
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        script = f"""mount -t tmpfs none {name} && mkdir -p {name}/home/app/sub && cd {name}/home/app && export HOME={name}/home
            echo one >a; echo two >b; echo one >plain; echo one >sub/CLAUDE.md; chown -R 65534:65534 {name}
            exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -ec 'sleep 0.05; times=$(stat -c %z a b sub/CLAUDE.md)
            echo 2 | {place.bawn} --net off -- python3 -c "$0" a sub/CLAUDE.md >/dev/null; test "$(cat a)" = 222
            {place.bawn} diff --name-only; cat sub/CLAUDE.md; {place.bawn} undo >/dev/null; cat a
            echo 3 | {place.bawn} --net off --review -- python3 -c "$0" b >/dev/null; cat b; {place.bawn} apply >/dev/null; cat b' "$0" """
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, MAPPED], check=False, capture_output=True, text=True,
                              env=place.environment, timeout=PATIENCE)
        same((done.returncode, done.stdout), (0, "a\none\none\ntwo\n333\n"))
        assert "sub/CLAUDE.md is changed" in done.stderr, done.stderr


@claim("a full XFS: an apply that finds no room says so; with room the next command finishes it, and undo takes it back")
def test_full_xfs(place):
    scratch.need("mkfs.xfs", "losetup")
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        script = f"""cd {name} && truncate -s 400M image && mkfs.xfs -q image && mkdir disk home && mount -o loop image disk || exit 9
            export HOME={name}/home; mkdir disk/app && cd disk/app || exit 1; bawn() {{ {place.bawn} "$@" 2>&1; }}
            for i in $(seq 100); do mkdir d$i; echo old >d$i/f; done
            looks() {{ find . -type f | sort | xargs sha1sum | sha1sum; }}; before=$(looks)
            bawn --net off --review -- sh -c 'for d in d*; do echo new >$d/f; for k in $(seq 9); do echo n >$d/a-long-name-that-fills-the-directory-$k; done; done'
            for size in 30M 1M 64k 4k 512; do dd if=/dev/zero bs=$size of=../filler-$size 2>/dev/null; done
            {place.bawn} apply --yes 2>&1 >/dev/null | tail -n 1; test "$before" = "$(looks)" && echo old || echo mixed
            rm ../filler-*; bawn sessions >/dev/null
            bawn apply --yes >/dev/null; find . -name 'a-long-*' | wc -l; cat d1/f d100/f
            while test "$before" != "$(looks)" && bawn undo --yes >/dev/null; do :; done; test "$before" = "$(looks)" && echo back"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], check=False, capture_output=True, text=True,
                              env=place.environment, timeout=PATIENCE * 3)
        if done.returncode == 9:
            raise scratch.Skip("needs a loop device with xfs")
        said, state, *rest = done.stdout.splitlines()[-6:]
        taken_back, goes_on = "Nothing was changed: what was done has been taken back.", "the next bawn command finishes the rest."
        assert "No space left on device" in said and said.endswith((taken_back, goes_on)), done.stdout[-900:]
        same((state, rest), ("old" if said.endswith(taken_back) else "mixed", ["900", "new", "new", "back"]))


@claim("attack: on XFS no file gets the blocks of another behind its times")
def test_exchanged_blocks(place):
    scratch.need("mkfs.xfs", "losetup", "python3")
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        pathlib.Path(name, "exchange").write_text(EXCHANGE)
        script = f"""cd {name} && truncate -s 400M image && mkfs.xfs -q image && mkdir disk && mount -o loop image disk || exit 9
            mkdir disk/app home && export HOME={name}/home && cd disk/app && cp ../../exchange . && echo one >a && echo two >d && sync
            python3 exchange a d && test "$(cat a d)" = "$(printf 'two\\none')" || exit 8
            python3 exchange a d && sleep 0.1 && sync || exit 1
            {place.bawn} --net off -- python3 exchange a d 2>/dev/null; cat a d"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], check=False, capture_output=True, text=True,
                              env=place.environment, timeout=PATIENCE * 3)
        if done.returncode in (8, 9):
            raise scratch.Skip("needs a loop device with xfs" if done.returncode == 9 else "the kernel does not exchange")
        same((done.returncode, done.stdout), (0, "one\ntwo\n"))


@claim("what belongs to somebody else: the command works in a copy, is said to, and apply and undo are as ever")
def test_copy(place):
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        folder = pathlib.Path(name)
        work = make_app(folder)
        give_away(folder)
        (work / "strange").write_text("root's\n")
        (work / "strange").chmod(0o666)
        before = looks(work)
        script = "echo x >>strange; echo new >n; rm b/c; mv b e; echo y >>second; test $(stat -c %h a) = 2"
        done = as_nobody(place, folder, "--net", "off", "--review", "--", "sh", "-ec", script)
        same(done.returncode, 0)
        assert "works in a copy of" in done.stderr and "strange belongs to another user or group" in done.stderr, done
        same(looks(work), before)
        diff = as_nobody(place, folder, "diff", "--name-only").stdout.split()
        same(sorted(diff), ["a", "b", "b/000", "b/c", "e", "e/000", "n", "second", "strange"])
        same(as_nobody(place, folder, "apply").returncode, 0)
        same([(work / "strange").read_text(), (work / "n").read_text(), (work / "a").read_text(), (work / "b").exists(),
              (work / "a").stat().st_ino == (work / "second").stat().st_ino],
             ["root's\nx\n", "new\n", "one\ny\n", False, True])
        same(as_nobody(place, folder, "undo").returncode, 0)
        same(looks(work), before)
        done = as_nobody(place, folder, "--net", "off", "--discard", "--", "sh", "-ec", "rm -r b strange")
        same([done.returncode, looks(work) == before], [0, True])
        same(list((folder / "home/.local/state/bawn/sessions").glob("*/copy")), [])


@claim("a copy: git's control files stay frozen, and what a killed run wrote in it waits")
def test_copy_frozen(place):
    scratch.need("git")
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        folder = pathlib.Path(name)
        work = make_app(folder)
        subprocess.run(["git", "init", "-q", work], check=True)
        give_away(folder)
        (work / "strange").write_text("root's\n")
        before = {path: look[2] for path, look in looks(work).items()}
        script = ("echo evil >.git/hooks/pre-commit && exit 3; echo evil >>.git/config && exit 3; mv .git .git2 && exit 3; "
                  "echo x >>a; echo up; read line")
        run = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", place.bawn, "--net",
                                "off", "--review", "--", "sh", "-c", script], cwd=work, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**place.environment, "HOME": str(folder / "home")})
        same(run.stdout.readline(), b"up\n")
        run.kill()
        run.communicate(timeout=PATIENCE)
        text = as_nobody(place, folder, "diff", "--name-only")
        assert text.stdout.split() == ["a", "second"] and "was killed in the session app-1" in text.stderr, text
        same({path: look[2] for path, look in looks(work).items()}, before)
        same(as_nobody(place, folder, "discard", "--yes").returncode, 0)
        same(list((folder / "home/.local/state/bawn/sessions").glob("*/copy*")), [])


@claim("what belongs to somebody else and is too large for a copy: an overlay, of which it is said what it cannot do")
def test_too_large_for_copy(place):
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        folder = pathlib.Path(name)
        work = make_app(folder)
        give_away(folder)
        (work / "strange").write_text("root's\n" * 20000)
        (work / "strange").chmod(0o666)
        done = as_nobody(place, folder, "--net", "off", "--limit", "snapshot=64K", "--review", "--", "sh", "-c", "echo x >>strange")
        assert "strange belongs to another user or group" in done.stderr, done.stderr
        assert done.returncode == 2 and "too large for defined data type" in done.stderr, done.stderr
        same((work / "strange").read_text(), "root's\n" * 20000)


@claim("a workspace on an overlay above an overlay: the command works in a copy")
def test_overlay_on_overlay(place):
    with tempfile.TemporaryDirectory(prefix="bawn-test-") as name:
        folder = pathlib.Path(name)
        make_app(folder)
        give_away(folder)
        over = " && ".join(f"mkdir -p {folder}/u{n} {folder}/w{n} && mount -t overlay overlay -o "
                           f"lowerdir={folder}/home/app,upperdir={folder}/u{n},workdir={folder}/w{n} {folder}/home/app && "
                           f"chown 65534:65534 {folder}/home/app {folder}/u{n}" for n in (1, 2))
        script = f"""{over} && cd {folder}/home/app || exit 9
            run() {{ setpriv --reuid=65534 --regid=65534 --clear-groups -- {place.bawn} "$@"; }}
            run --net off --review -- sh -c 'echo x >>a; rm b/c' && cat a && run apply && cat a b/c"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], check=False, capture_output=True, text=True,
                              env={**place.environment, "HOME": str(folder / "home")}, timeout=PATIENCE)
        if done.returncode == 9:
            raise scratch.Skip("needs an overlay above an overlay")
        assert "works in a copy of" in done.stderr and "cannot be a layer of another" in done.stderr, done
        assert done.stdout.startswith("one\n") and done.stdout.endswith("one\nx\n"), done


@claim("a ~/.local that is a link of another user is not followed to the state folder")
def test_foreign_link(place):
    other = 12345  # an id that is neither root's nor this user's
    project = Project(place, "foreign-link")
    home = place.folder("foreign-home")
    (home / "real").mkdir()
    (home / ".local").symlink_to(home / "real")
    flags, environment = ("--net", "off", "--discard"), {"HOME": str(home)}
    done = place.run("true", cwd=project.path, flags=flags, environment=environment)
    same((done.returncode, done.stderr), (0, b""))  # the control: root's own link
    os.lchown(home / ".local", other, other)
    done = place.run("true", cwd=project.path, flags=flags, environment=environment)
    assert b"lies behind a symbolic link of another user" in done.stderr, done.stderr
    same(done.returncode, 125)


@claim("a state folder that is out of inodes refuses a review, and never makes it read-only without a word")
def test_out_of_inodes(place):
    project = Project(place, "inodes")
    layers = set(pathlib.Path("/var/tmp").glob("bawn-layer-*"))
    state = place.folder("inodes-state")
    seen = set()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=200", "none", state], check=True)
    try:
        environment = {"XDG_STATE_HOME": str(state)}
        place.out("true", cwd=project.path, flags=("--net", "off"), environment=environment)
        for free in (*range(2, 14), 60):
            room = [state / f"filler-{number}" for number in range(os.statvfs(state).f_ffree - free)]
            for path in room:
                path.touch()
            done = place.run("sh", "-c", "echo x >new", cwd=project.path, flags=("--net", "off", "--review"),
                             environment=environment)
            seen.add(done.returncode)
            assert b"Read-only file system" not in done.stderr, (free, done.stderr)
            is_told = b"bawn: " in done.stderr if done.returncode == 125 else b"No space left on device" in done.stderr
            assert done.returncode == 0 or is_told, (free, done)
            for path in room:
                path.unlink()
            subprocess.run([place.bawn, "discard", "--yes"], cwd=project.path, env={**place.environment, **environment},
                           capture_output=True, check=False)
    finally:
        subprocess.run(["umount", "-l", state], check=True)
    assert {0, 125} <= seen, seen
    same(set(pathlib.Path("/var/tmp").glob("bawn-layer-*")) - layers, set())
