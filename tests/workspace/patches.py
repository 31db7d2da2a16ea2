"""What `bawn diff` prints is a patch for git, whatever a command does to the files."""
import os
import random
import shlex
import shutil
import stat
import subprocess

import scratch
from scratch import Project, same

claim = scratch.Claims()

# What a command does to a tree: so many changes, of every kind that git knows, and some that it does not. The tree is sparse, so that paths meet.
CHANGES = r"""
import os, random, shutil, stat, sys
chance = random.Random(int(sys.argv[1]))
NAMES = ["a", "b.txt", "c d", "tab\tname", 'quo"te', "back\\slash", "line\nname", "ümläut", "-dash", "new", "~", "e", "f", "bin\x01", "%s"]
def content():
    kind = chance.randrange(8)
    if kind == 0: return b""
    if kind == 1: return chance.randbytes(chance.choice((1, 3, 4, 51, 52, 53, 300, 70000)))
    if kind == 2: return "grüße\n".encode("latin-1") * 3
    lines = [b"line %d%s" % (chance.randrange(9), chance.choice((b"", b"\r", b"\t", b" "))) for _ in range(chance.randrange(1, 40))]
    return b"\n".join(lines) + (b"\n" if chance.randrange(3) else b"")
def where():
    return "/".join(chance.choice(NAMES) for _ in range(chance.choice((1, 1, 2, 2, 3))))
def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
def change():
    path, act = where(), chance.randrange(9)
    folder = os.path.dirname(path)
    here = folder
    while here and not os.path.lexists(here): here = os.path.dirname(here)
    if here and (os.path.islink(here) or not os.path.isdir(here)): remove(here)
    there = os.path.lexists(path)
    if act == 0 and there: return remove(path)
    if act == 1 and os.path.isfile(path) and not os.path.islink(path): return os.chmod(path, chance.choice((0o644, 0o755, 0o600, 0o775)))
    if act == 2 and os.path.isfile(path) and not os.path.islink(path):
        with open(path, "ab") as file: file.write(content())
        return
    if act == 3 and there and (to := where()) and not os.path.lexists(to) and not to.startswith(path + "/") and os.path.isdir(os.path.dirname(to) or "."):
        return os.rename(path, to)
    if folder: os.makedirs(folder, exist_ok=True)
    if there and (act == 4 or os.path.islink(path) or not os.path.isfile(path)): remove(path)
    if act == 5 and not os.path.lexists(path): return os.symlink(chance.choice(("no/where", "/nowhere", "gr\u00fc\u00dfe")), path)
    if act == 6 and not os.path.lexists(path): return os.mkdir(path)
    if act == 7 and not os.path.lexists(path): return os.mkfifo(path)
    with open(path, "wb") as file: file.write(content())
for _ in range(int(sys.argv[2])): change()
"""


def as_git_sees(top):
    """Each file and link with what git keeps of it."""
    seen = {}
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*files, *(name for name in folders if os.path.islink(os.path.join(folder, name)))]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                seen[os.path.relpath(path, top)] = ("link", os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    seen[os.path.relpath(path, top)] = (bool(status.st_mode & 0o100), file.read())
    return seen


def copied(place, project):
    """The project as it is before a run, in another folder."""
    copy = place.folder(f"{project.path.name}-copy")
    shutil.rmtree(copy)
    subprocess.run(["cp", "-a", project.path, copy], check=True)
    return copy


def applied(project, copy, patch):
    done = subprocess.run(["git", "apply", "--binary", "--whitespace=nowarn", "-"], input=patch, cwd=copy, env=project.place.environment, capture_output=True, check=False)
    same((done.returncode, done.stderr), (0, b""))
    same(as_git_sees(copy), as_git_sees(project.path))


def diff(project):
    done = subprocess.run([project.place.bawn, "diff"], cwd=project.path, env=project.place.environment, capture_output=True, check=False)
    same((done.returncode, done.stderr), (0, b""))
    return done.stdout


@claim("bawn diff is a patch that `git apply --binary` takes: 2,000 random changes of files, programs, links, kinds and odd names give the same tree")
def test_random(place):
    scratch.need("git")
    for number in range(10):
        project = Project(place, f"patched-{number}")
        subprocess.run(["python3", "-c", CHANGES, str(random.Random(number).random())[2:10], "120"], cwd=project.path, check=True)
        subprocess.run("find . -type p -delete; find . -depth -type d -empty -delete", shell=True, cwd=project.path, check=True)  # git knows none
        copy = copied(place, project)
        project.inside(f"python3 -c {shlex.quote(CHANGES)} {number} 200")
        applied(project, copy, diff(project))


@claim("a new directory, an empty file, a program, a binary file and a renamed one are in the patch as git knows them")
def test_kinds(place):
    scratch.need("git")
    project = Project(place, "kinds")
    project.write("old", "a name\n" * 20)
    (project.path / "image").write_bytes(bytes(range(256)))
    copy = copied(place, project)
    project.inside("mkdir -p d/empty; : >d/none; echo x >d/tool; chmod 755 d/tool; mv old new; printf '\\0\\1' >>image")
    patch = diff(project)
    for part in (b"040755", b"rename from", b"differ"):
        assert part not in patch, patch
    assert b"new file mode 100755\n" in patch and b"GIT binary patch\nliteral 258\n" in patch, patch
    applied(project, copy, patch)
    done = subprocess.run(["git", "apply", "-R", "--binary", "-"], input=patch, cwd=copy, env=place.environment, capture_output=True, check=False)
    same((done.returncode, done.stderr), (0, b""))  # and back
    same((copy / "image").read_bytes(), bytes(range(256)))


@claim("what git would not let into its own folder is named in the patch, and the rest applies")
def test_in_git(place):
    scratch.need("git")
    project = Project(place, "in-git")
    project.git("init", "-q")
    project.git("add", ".")
    project.git("commit", "-qm", "one")
    copy = copied(place, project)
    project.inside("echo new >file; git add file; git -c user.name=a -c user.email=a@b commit -qm two; git init -q nested; echo '[x]' >>nested/.git/config")
    applied(project, copy, diff(project))
