"""What git would obey and is not there cannot be made, and what is frozen is not carried away."""
import os
import random
import shutil
import subprocess
import time

import scratch
from ground import GIT, ACT
from scratch import SANITIZED, same, until

claim = scratch.Claims()
KILLS = 10 if SANITIZED else 40


@claim("stubs: missing control files of git cannot be made, replaced or moved; nothing is left of them")
def test_stub_attacks(place):
    work = place.repository("stubs")
    shutil.rmtree(work / ".git/hooks")
    place.attack(work, "EEXIST", "make", ".git/config.worktree")
    place.attack(work, "EROFS", "write", ".git/config.worktree")
    place.attack(work, "EROFS", "write", ".git/commondir")
    place.attack(work, "EEXIST", "mkdir", ".git/hooks")
    place.attack(work, "EBUSY", "replace", ".git/commondir")
    for path in (".git/commondir", ".git/config.worktree"):
        same(place.inside(work, "python3", "-c", ACT, "unlink", path).stdout, b"EBUSY\n")
    same(place.inside(work, "python3", "-c", ACT, "make", ".git/hooks/pre-commit").stdout, b"EROFS\n")
    same(place.inside(work, "python3", "-c", ACT, "rename", ".git/hooks", ".git/h").stdout, b"EBUSY\n")
    place.no_stub(work)
    same((work / ".git/hooks").exists(), False)


@claim("pins: frozen paths cannot be carried away by renaming what is above them")
def test_stub_ancestors(place):
    work = place.repository("ancestors/deep")
    place.attack(work, "EBUSY", "rename", ".git", ".git-old")
    place.attack(work, "EROFS", "write", ".git/config")
    place.attack(work, "EBUSY", "replace", ".git/config")
    place.attack(work, "EROFS", "make", ".git/hooks/pre-commit")


@claim("pins: a workspace in a larger tree that may be written is not carried away by renaming what is between them")
def test_stub_ancestors_in_tree(place):
    work = place.repository("trees/between/deep/project")
    top = work.parents[2]

    def inside(*words):
        return place.inside(work, "python3", "-c", ACT, *words, flags=("--write", str(top))).stdout
    for folder in ("between", "between/deep", "between/deep/project"):
        same((folder, inside("rename", str(top / folder), str(top / folder) + "-away")), (folder, b"EBUSY\n"))
    same(inside("mkdir", str(top / "between/new")), b"done\n")
    same((sorted(os.listdir(top)), sorted(os.listdir(top / "between"))), (["between"], ["deep", "new"]))
    place.host("python3", "-c", ACT, "rename", str(top / "between"), str(top / "between-away"), cwd=work)  # the control
    same((top / "between-away/deep/project/.git/config").exists(), True)


@claim("pins: what is hidden or read-only in a tree that may be written is not replaced by renaming what is above it")
def test_stub_ancestors_covered(place):
    work = place.repository("ancestors-covered", {"set/tings/f": "one\n", "deep/er/hidden/x": "one\n", "shal/low/read/x": "one\n", "c/d": "one\n"})
    flags = ("--hide", str(work / "deep/er/hidden"), "--read", str(work / "shal/low/read"), "--copy", str(work / "set/tings/f"))

    def inside(*words):
        return place.inside(work, "python3", "-c", ACT, *words, flags=flags).stdout
    for folder in ("deep", "deep/er", "deep/er/hidden", "shal", "shal/low", "shal/low/read", "set", "set/tings"):
        same((folder, inside("rename", folder, folder + "-away")), (folder, b"EBUSY\n"))
    same((inside("make", "deep/er/new"), inside("make", "shal/low/new")), (b"done\n", b"done\n"))
    same((inside("rename", "c", "e"), inside("write", "shal/low/read/x")), (b"done\n", b"EROFS\n"))
    same(((work / "deep/er/hidden/x").read_text(), (work / "shal/low/read/x").read_text()), ("one\n", "one\n"))
    for folder in ("deep", "shal"):
        same(place.host("python3", "-c", ACT, "rename", folder, folder + "-away", cwd=work), "done\n")  # the control


@claim("pins: a hook cannot be planted through a submodule")
def test_stub_submodule(place):
    inner = place.repository("inner")
    work = place.repository("outer")
    place.host(*GIT, "submodule", "--quiet", "add", str(inner), "sub", cwd=work)
    place.host(*GIT, "commit", "-qm", "sub", cwd=work)
    shutil.rmtree(work / ".git/modules/sub/hooks")
    place.attack(work, "EEXIST", "mkdir", ".git/modules/sub/hooks")
    place.attack(work, "EROFS", "write", ".git/modules/sub/config")
    place.attack(work, "EBUSY", "rename", ".git/modules/sub", ".git/modules/x")
    place.attack(work, "EROFS", "write", "sub/.git")
    same((work / ".git/modules/sub/hooks").exists(), False)


@claim("stubs: two sessions share them, and the last one removes them")
def test_stub_shared(place):
    work = place.repository("shared")
    first = place.start(work, "sh", "-c", "echo up; read x")
    same(first.stdout.readline(), b"up\n")
    second = place.start(work, "sh", "-c", "echo up; read x; touch .git/config.worktree; echo $?; cat .git/commondir")
    same(second.stdout.readline(), b"up\n")
    first.communicate(b"\n", timeout=scratch.PATIENCE)
    same((work / ".git/commondir").read_text(), "./\n")
    out, _ = second.communicate(b"\n", timeout=scratch.PATIENCE)
    same(out, b"1\n./\n")
    place.no_stub(work)


@claim("stubs: a program of the host that uses libgit2 finds the same repository while a command runs, in a submodule and a worktree too")
def test_stub_libgit2(place):
    look = ("import pygit2, sys\n"
            "for path in sys.argv[1:]:\n"
            "  r = pygit2.Repository(path)\n"
            "  print(r.path, r.workdir, r.head.target, r.status(), sorted(r.references), r.config['core.bare'])\n")
    place.need_libgit2()
    inner, work = place.repository("libgit2-inner"), place.repository("libgit2")
    place.host(*GIT, "submodule", "--quiet", "add", str(inner), "sub", cwd=work)
    place.host(*GIT, "worktree", "add", "-q", "--detach", "linked", cwd=work)
    (work / "a").write_text("changed\n")
    words = ("/usr/bin/python3", "-c", look, ".", "sub", "linked")
    before = place.host(*words, cwd=work)
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    same(((work / ".git/commondir").exists(), place.host(*words, cwd=work)), (True, before))
    child.communicate(b"\n", timeout=scratch.PATIENCE)


@claim("stubs: what the host put in their place is never removed")
def test_stub_of_the_host(place):
    work = place.repository("hosts-own")
    shutil.rmtree(work / ".git/hooks")
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    (work / ".git/hooks/pre-push").write_text("#!/bin/sh\n")
    (work / ".git/new").write_text("[a]\n\tb = 1\n")
    os.rename(work / ".git/new", work / ".git/config.worktree")
    child.communicate(b"\n", timeout=scratch.PATIENCE)
    same((work / ".git/hooks/pre-push").read_text(), "#!/bin/sh\n")
    same((work / ".git/config.worktree").read_text(), "[a]\n\tb = 1\n")
    same((work / ".git/commondir").exists(), False)


@claim("kill -9 at any moment: no stub is left once the next bawn command has said so")
def test_stub_killed(place):
    work = place.repository("killed")
    shutil.rmtree(work / ".git/hooks")
    left = 0
    for number in range(KILLS):
        child = place.start(work, "sh", "-c", "echo up; read x")
        if number % 2:
            same(child.stdout.readline(), b"up\n")
        else:
            time.sleep(random.Random(number).uniform(0, 0.02))  # the moment is what is being varied
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            stream.close()

        def tidied():
            done = subprocess.run([place.bawn, "sessions"], env=place.environment, capture_output=True, check=True, cwd=work)
            return done.stderr.decode() if not list(place.state("stubs").glob("*")) else None
        before = {"commondir", "config.worktree", "hooks"} & set(os.listdir(work / ".git"))
        said = [""]
        until(lambda: (said.append(tidied()), said[-1] is not None)[1], "the stubs are gone")
        left += len(before)
        place.no_stub(work)
        if number % 2:
            same(before, {"commondir", "config.worktree", "hooks"})
    same(left >= 3 * (KILLS // 2), True)


@claim("kill -9: the next bawn command names each stub that it removes")
def test_stub_says(place):
    work = place.repository("says")
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    child.kill()
    child.communicate()
    said = []

    def tidied():
        done = subprocess.run([place.bawn, "sessions"], env=place.environment, capture_output=True, check=True, cwd=work)
        said.extend(done.stderr.decode().splitlines())
        return not list(place.state("stubs").glob("*"))
    until(tidied, "the stubs are gone")
    same(sorted(said), [f"bawn: removed {work}/.git/{name}, which an earlier bawn left when it was killed."
                        for name in ("commondir", "config.worktree")])
