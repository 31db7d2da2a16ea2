"""Links, aliases and settings that lead git to programs."""
import os
import re

import scratch
from ground import GIT, ACT
from scratch import same

claim = scratch.Claims()


@claim("pins: a link in the place of a control file holds, stays what it is on the host, and survives kill -9")
def test_links_stay(place):
    ways = {"hooks": ("rm -r .git/hooks; mkdir hk; ln -s ../hk .git/hooks", ".git/hooks", "hk/pre-commit", "EROFS"),
            "config": ("mv .git/config conf; ln -s ../conf .git/config", ".git/config", "conf", "EROFS"),
            "git": ("mv .git .real; ln -s .real .git", ".git", ".real/config", "EROFS")}
    for name, (before, link, target, want) in ways.items():
        work = place.repository(f"links-{name}")
        place.host("sh", "-euc", before, cwd=work)
        leads = os.readlink(work / link)
        for end in ("end", "kill"):
            child = place.start(work, "sh", "-c", 'python3 -c "$0" write "$1"; echo up; read x', ACT, target)
            same((name, child.stdout.readline()), (name, want.encode() + b"\n"))
            same((name, child.stdout.readline(), os.readlink(work / link)), (name, b"up\n", leads))
            if end == "kill":
                child.kill()
            _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
            same((name, end, said, os.readlink(work / link)), (name, end, b"", leads))
        place.next_command(work, "sessions")
        same((name, os.readlink(work / link)), (name, leads))


@claim("aliases: a frozen file that has a second name in the workspace is no frozen file, and the run is refused")
def test_alias(place):
    work = place.repository("alias")
    os.link(work / ".git/config", work / "other")
    done = place.inside(work, "true")
    same((done.returncode, "is the same file (a hard link)" in done.stderr.decode()), (125, True))
    (work / "other").unlink()
    same(place.inside(work, "true").returncode, 0)


# Makes a second name of .git/config below as many directories, and writes by it.
DEEP = r"""
import os, sys
at, file = os.open(".", os.O_RDONLY), os.open(".git", os.O_RDONLY)
for _ in range(int(sys.argv[1])):
    try:
        os.mkdir("a", dir_fd=at)
    except FileExistsError:
        pass
    at = os.open("a", os.O_RDONLY, dir_fd=at)
try:
    os.link("config", "x", src_dir_fd=file, dst_dir_fd=at)
except FileExistsError:
    pass
with open(os.open("x", os.O_WRONLY | os.O_APPEND, dir_fd=at), "w") as x:
    x.write(sys.argv[2])
"""


@claim("aliases: a second name is found however deep an earlier run put it")
def test_alias_deep(place):
    for depth in (100, 135, 300):
        work = place.folder(f"alias-{depth}")
        try:
            alias_below(place, work, depth)
        finally:
            place.host("rm", "-rf", str(work), cwd=place.home)


def alias_below(place, work, depth):
    (work / "deep").write_text(DEEP)
    same(place.inside(work, "sh", "-euc", f"git init -q .; python3 deep {depth} ''").returncode, 0)
    setting = "[core]\n\tfsmonitor = true\n"
    same((depth, place.host("sh", "-euc", f"python3 deep {depth} '{setting}'; git config core.fsmonitor", cwd=work)), (depth, "true\n"))
    done = place.inside(work, "true")
    same((depth, done.returncode, f"it is the same file (a hard link) as {work}/a/a/" in done.stderr.decode()), (depth, 125, True))
    place.host("sh", "-euc", "cp -p .git/config x && mv x .git/config", cwd=work)
    same((depth, place.inside(work, "true").returncode), (depth, 0))


@claim("aliases: where a directory cannot be searched, a file with a second name is not frozen: the run is refused, and says what to do")
def test_alias_closed(place):
    work = place.repository("alias-closed")
    (work / "c/d").mkdir(parents=True)
    (work / "other").write_text("")
    for mode in (0, 0o100, 0o400):
        (work / "c/d").chmod(0o700)
        os.link(work / ".git/config", work / "c/d/x")
        (work / "c/d").chmod(mode)
        done = place.inside(work, "true")
        said = done.stderr.decode()
        same((mode, done.returncode, said.count("Permission denied"), "/c/d" in said), (mode, 125, 1, True))
        assert f"cannot look for hard links of {work}/.git/config, which is frozen" in said, said
        place.host("sh", "-euc", re.search(r"cp -p \S+ x && mv x \S+", said)[0].rstrip("."), cwd=work)
        after = place.inside(work, "true")
        same((mode, after.returncode, after.stderr), (mode, 0, b""))
        (work / "c/d").chmod(0o700)
        (work / "c/d/x").unlink()


@claim("aliases: a frozen file that has a second name elsewhere is compared at the end, though its pin held all the time")
def test_alias_elsewhere(place):
    work = place.repository("alias-elsewhere")
    before = (work / ".git/config").read_bytes()
    other = place.folder("elsewhere-of-alias") / "x"
    os.link(work / ".git/config", other)
    same(place.inside(work, "true").stderr, b"")
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    with other.open("a") as file:
        file.write("[core]\n\tfsmonitor = evil\n")
    same(place.host("git", "config", "core.fsmonitor", cwd=work), "evil\n")
    _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
    assert b"was changed by another of its names (a hard link)" in said and b"sets core.fsmonitor" in said, said
    same(((work / ".git/config").read_bytes(), b"evil" in other.read_bytes()), (before, True))


@claim("indirection: core.hooksPath and include.path that git does not track are frozen")
def test_indirection_untracked(place):
    work = place.repository("indirect")
    (work / "my-hooks").mkdir()
    (work / "more.conf").write_text("[a]\n\tb = 1\n[include]\n\tpath = third.conf\n")
    (work / "third.conf").write_text("[a]\n\tc = 1\n")
    place.attack(work, "done", "make", "my-hooks/pre-commit")  # nothing leads there yet
    (work / "my-hooks/pre-commit").unlink()
    place.host("git", "config", "core.hooksPath", "my-hooks", cwd=work)
    place.host("git", "config", "include.path", "../more.conf", cwd=work)
    place.attack(work, "EROFS", "make", "my-hooks/pre-commit")
    place.attack(work, "EBUSY", "rename", "my-hooks", "x")
    place.attack(work, "EROFS", "write", "more.conf")
    place.attack(work, "EROFS", "write", "third.conf")
    (work / "watch").write_text("#!/bin/sh\n")
    place.attack(work, "done", "write", "watch")
    for value, want in (("true", "done"), ("watch", "done"), ("./watch --now", "EROFS")):
        place.host("git", "config", "core.fsmonitor", value, cwd=work)
        place.attack(work, want, "write", "watch")


@claim("indirection: what the user's own configuration of git leads to in the workspace, through ~ and links too")
def test_indirection_user(place):
    work = place.repository("by-user", {"tracked.cfg": "[a]\n\tb = 1\n"})
    own = place.home / ".gitconfig"
    (work / "more.cfg").write_text("[a]\n\tb = 1\n")
    (work / "third.cfg").write_text("[a]\n\tb = 1\n")
    (work / "own-hooks").mkdir()
    place.attack(work, "done", "write", "more.cfg")
    (work / "dot-gitconfig").write_text(f"[core]\n\thooksPath = own-hooks\n[include]\n\tpath = ~/by-user/more.cfg\n"
                                        f"\tpath = by-user/third.cfg\n\tpath = {work}/tracked.cfg\n")
    own.unlink(missing_ok=True)
    own.symlink_to(work / "dot-gitconfig")
    try:
        place.attack(work, "EROFS", "write", "more.cfg")
        place.attack(work, "EROFS", "write", "third.cfg")
        place.attack(work, "EROFS", "make", "own-hooks/pre-commit")
        place.sh(work, "echo '#evil' >>tracked.cfg")
        same("tracked.cfg" in place.held(work), True)
    finally:
        own.unlink()
    place.host("git", "config", "include.path", "~/by-user/more.cfg", cwd=work)
    place.attack(work, "EROFS", "write", "more.cfg")


@claim("indirection: core.hooksPath of a submodule begins at its own work tree; what the repository around it tracks is not frozen")
def test_indirection_submodule(place):
    place.repository("sub-of", {"hooks/readme": "x\n"})
    work = place.repository("with-sub", {"shared/pre-commit": "#!/bin/sh\n"})
    place.host(*GIT, "submodule", "add", "-q", str(place.home / "sub-of"), "lib", cwd=work)
    (work / "lib/own").mkdir()
    (work / "own").mkdir()
    place.host("git", "config", "core.hooksPath", "own", cwd=work / "lib")
    place.attack(work, "EROFS", "make", "lib/own/pre-commit")
    place.attack(work, "done", "make", "own/pre-commit")
    place.host("git", "config", "core.hooksPath", "../shared", cwd=work / "lib")
    place.attack(work, "done", "write", "shared/pre-commit")
    same(place.held(work), {"shared/pre-commit": "#!/bin/sh\nevil"})


@claim("indirection: hooks that git tracks stay writable, and a new one is set aside at the end")
def test_indirection_tracked(place):
    work = place.repository("tracked", {"tools/hooks/pre-commit": "#!/bin/sh\n"})
    place.host("git", "config", "core.hooksPath", "tools/hooks", cwd=work)
    done = place.sh(work, "echo evil >>tools/hooks/pre-commit; echo evil >tools/hooks/pre-push")
    same(done.returncode, 0)
    same(place.held(work), {"tools/hooks/pre-commit": "#!/bin/sh\nevil\n", "tools/hooks/pre-push": "evil\n"})
    same(place.host("git", "status", "--short", cwd=work), "")


@claim("indirection: each link on the way to a frozen file is frozen")
def test_indirection_links(place):
    work = place.repository("by-links")
    (work / ".git/config").rename(work / "real.cfg")
    (work / "real.cfg").chmod(0o644)
    (work / "way").symlink_to("real.cfg")
    (work / ".git/config").symlink_to("../way")
    place.attack(work, "EBUSY", "rename", "way", "x")
    place.attack(work, "EBUSY", "replace", "way")
    place.attack(work, "EROFS", "write", "real.cfg")
    place.attack(work, "EBUSY", "unlink", ".git/config")


@claim("remotes: an address for git that is written beside its configuration is set aside, and waits at apply")
def test_old_remotes(place):
    script = ("mkdir -p .git/remotes .git/branches; echo 'URL: /evil' >.git/remotes/origin; echo /evil >.git/branches/up; "
              "git remote get-url origin || git fetch origin || :")
    work = place.repository("remotes")
    same(place.host("sh", "-c", script + "; git fetch origin 2>&1 || :", cwd=place.repository("remotes-control")).count("/evil") > 0, True)
    place.sh(work, script)
    same(place.held(work), {".git/remotes/origin": "URL: /evil\n", ".git/branches/up": "/evil\n"})
    place.sh(work, script, flags=("--review",))
    place.host(place.bawn, "apply", cwd=work, check=False)
    same([name for name in ("remotes/origin", "branches/up") if (work / ".git" / name).exists()], [])
