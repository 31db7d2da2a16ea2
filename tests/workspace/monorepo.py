"""A subfolder of a repository as the workspace: it is writable, the rest is readable, git works, and the verbs find the run."""
import subprocess

import scratch
from lab import repository
from scratch import same

claim = scratch.Claims()
COMMIT = "git -c user.name=t -c user.email=t@example.com commit -q"


def monorepo(place, name):
    """A repository with two packages, on the branch main. Returns it, and the folder of one package."""
    project = repository(place, name)
    project.write("packages/one/file", "one\n")
    project.write("packages/two/file", "two\n")
    project.write("packages/two/.env", "SECRET\n")
    project.git("add", ".")
    project.git("commit", "-qm", "packages")
    return project, project.path / "packages/one"


def inside(place, cwd, script, *flags):
    done = place.run("sh", "-c", script, cwd=cwd, flags=("--net", "off", "--workspace", ".", *flags))
    same((done.returncode, done.stderr.decode() if "--review" not in flags else ""), (0, ""))  # a review says that it waits
    return done.stdout.decode()


def verb(place, cwd, *words):
    done = subprocess.run([place.bawn, *words], cwd=cwd, env=place.environment, check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    same((words, done.returncode, done.stderr), (words, 0, ""))
    return done.stdout


@claim("--workspace . in a subfolder: it is writable, the rest of the repository can be read and not written (EROFS)")
def test_rest(place):
    project, package = monorepo(place, "mono-rest")
    script = ("pwd; echo new >made; cat ../two/file; for path in ../two/file ../../a ../new; do "
              "sh -c \"echo x >$path\" 2>&1 | grep -o 'Read-only file system' || echo written; done")
    done = place.run("sh", "-c", script, cwd=package, flags=("--net", "off", "--workspace", "."))
    same(done.stdout.decode(), f"{package}\ntwo\n" + 3 * "Read-only file system\n")
    same((package / "made").read_text(), "new\n")
    control = place.run("sh", "-c", script, cwd=package)
    same(control.stdout.decode(), f"{package}\ntwo\n" + 3 * "written\n")
    same(project.read("packages/two/file"), "x\n")


@claim("--workspace . in a subfolder: git works, a commit of the subfolder arrives, and hooks and configuration stay frozen")
def test_git(place):
    project, package = monorepo(place, "mono-git")
    same(inside(place, package, f"echo more >>file; git status --short; git add .; {COMMIT} -m inside; git status --short"), " M file\n")
    same(project.git("log", "-1", "--format=%s", "--name-only"), "inside\n\npackages/one/file\n")
    same(project.git("status", "--short"), "")
    said = inside(place, package, "git config a.b c 2>/dev/null || echo refused; touch ../../.git/hooks/x 2>/dev/null || echo refused")
    same(said, "refused\nrefused\n")
    project.git("config", "a.b", "c")  # the control


@claim("--workspace . in a subfolder: sessions, diff, log and undo find the run there and at the top, and undo takes the commit back")
def test_verbs(place):
    project, package = monorepo(place, "mono-verbs")
    before = project.git("rev-parse", "HEAD")
    inside(place, package, f"echo more >>file; git add .; {COMMIT} -m inside")
    for folder in (package, project.path):
        assert "mono-verbs-1" in verb(place, folder, "sessions"), folder
        assert "+more" in verb(place, folder, "diff"), folder
        assert "echo more" in verb(place, folder, "log"), folder
    verb(place, package, "undo", "--yes")
    same([(package / "file").read_text(), project.git("rev-parse", "HEAD"), project.git("status", "--short")], ["one\n", before, ""])


@claim("--workspace . in a subfolder with --review: nothing reaches the repository until both the files and the commit are applied")
def test_review(place):
    project, package = monorepo(place, "mono-review")
    def content():  # times of .git are not compared: stubs come and go there
        return {name: content for name, (_, _, content) in project.looks().items()}
    before = content()
    inside(place, package, f"echo more >>file; echo new >made; git add .; {COMMIT} -m inside", "--review")
    same(content(), before)
    said = verb(place, package, "diff")  # the commit, which nobody named; and how to see the rest
    assert said.endswith("of the repository in .git; `bawn diff .git` shows them\n# mono-review-1 waits, too; `bawn diff mono-review-1` shows it\n"), said
    same(["waits, too" in verb(place, package, "diff", *words) for words in (("mono-review-1",), ("--name-only",), ("--json",))], [False] * 3)
    assert "+more" in verb(place, package, "diff", "mono-review-1")
    for session in ("mono-review-1", "mono-review-2"):
        verb(place, package, "apply", "--yes", session)
    same([(package / "file").read_text(), (package / "made").read_text(), project.git("log", "-1", "--format=%s")],
         ["one\nmore\n", "new\n", "inside\n"])
    same(project.git("status", "--short"), "")


@claim("--workspace of two subfolders: both are writable, a third is not; a .bawn in a subfolder tightens")
def test_two(place):
    project, package = monorepo(place, "mono-two")
    project.write("packages/three/file", "three\n")
    project.write("packages/two/.bawn", "hide file\n")
    flags = ("--net", "off", "--workspace", "packages/one", "--workspace", "packages/two")
    script = "pwd; touch ../one/x ../two/x && echo written; touch ../three/x || echo refused; test -s ../two/file || echo hidden"
    same(place.run("sh", "-c", script, cwd=project.path, flags=flags).stdout.decode(), f"{package}\nwritten\nrefused\nhidden\n")
    project.bawn("undo", "--yes")
    same([(package / "x").exists(), (project.path / "packages/two/x").exists()], [False, False])


@claim("without --workspace in a subfolder, show says that the whole repository is writable")
def test_whole(place):
    project, package = monorepo(place, "mono-whole")
    shown = verb(place, package, "show", "--plan", "--", "true")
    line = next(line for line in shown.splitlines() if line.startswith("write ") and f"{project.path}/ " in line)
    assert line.endswith("whole repository"), line
