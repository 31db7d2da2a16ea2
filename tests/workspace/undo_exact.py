"""undo of a live run, name by name, mode by mode and byte by byte. What differs afterwards is named by undo's own words."""
import os
import random
import re
import subprocess

import scratch
from scratch import same
from undo_git import COMMIT, GIT, history

claim = scratch.Claims()
ROUNDS = int(os.environ.get("BAWN_UNDOS") or 12)
PACKED = "how git has packed objects and branches"


def kinds(before, after):
    """Yields each name that differs, with its kind: a name of undo's own words, or None for what may not differ."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old and new and (old[0], old[2]) == (new[0], new[2]):
            continue
        was, now = old[2] if old else None, new[2] if new else None
        if re.match(r"\.git/objects/(\w\w|pack|info)(/.*)?$", name) and name not in (".git/objects/pack", ".git/objects/info"):
            yield name, "new objects" if not old else PACKED
        elif name.startswith(".git/logs/") and (not old or (now and now.startswith(was))):
            yield name, "logs?"
        elif name in (".git/packed-refs", ".git/info/refs") or (name.startswith(".git/refs/") and not (old and new)):
            yield name, PACKED
        else:
            yield name, None


def named(text, name, kind):
    """Is it in the words of undo? A ref that is kept is named, with the folders and the log that belong to it."""
    kept = re.findall(r"kept  \.git/(\S+):", text)
    bare = name.removeprefix(".git/").removeprefix("logs/")
    return (kind and re.search(f"Not taken back in the repository: .*{kind}", text)) or any(f"{ref}/".startswith(f"{bare}/") for ref in kept)


def stands(project):
    refs = dict(line.split(" ", 1)[::-1] for line in project.git("for-each-ref", "--format=%(objectname) %(refname)").splitlines())
    return {**refs, "refs/stash": project.git("stash", "list"), "HEAD": project.read(".git/HEAD")}


def undone(project, script):
    """Returns what undo said, and what differs without being named."""
    before, refs = project.looks(), stands(project)
    objects = project.git("cat-file", "--batch-all-objects", "--batch-check")
    project.place.run("sh", "-c", script, cwd=project.path, flags=("--net", "off"))
    done = subprocess.run([project.place.bawn, "undo"], cwd=project.path, env=project.place.environment, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    text = done.stdout + done.stderr
    same((script, "kept" in text, text), (script, done.returncode == 1, text))
    found = [(name, kind) for name, kind in kinds(before, project.looks()) if not named(text, name, kind)]
    project.git("fsck", "--strict", "--no-dangling", "--no-progress")
    lost = set(objects.splitlines()) - set(project.git("cat-file", "--batch-all-objects", "--batch-check").splitlines())
    kept = re.findall(r"kept  \.git/(\S+):", text)
    now = stands(project)
    return text, [*found, *lost, *((ref, refs.get(ref), now.get(ref)) for ref in refs.keys() | now.keys() if ref not in kept and refs.get(ref) != now.get(ref))]


def made(place, name, kind):
    project = history(place, name, kind != "loose")
    if kind == "stashed":
        for text in ("x\n", "y\n"):
            project.write("a", text)
            project.git("stash", "-q")
    if kind == "of an older git":  # its packed-refs says nothing of peeled tags
        packed = project.path / ".git/packed-refs"
        project.git("tag", "-am", "m", "v2")
        packed.write_text("\n".join(line for line in packed.read_text().splitlines() if line[0] not in "#^") + "\n")
        project.write("a", "more\n")
        project.git("commit", "-qam", "more")
    (project.path / ".git/branches").mkdir(exist_ok=True)
    (project.path / "empty").mkdir()
    return project


KINDS = ("loose", "packed", "stashed", "of an older git")


@claim("undo of rm -rf .git: every file and folder is back, with its mode and its bytes, the empty ones too")
def test_removed(place):
    for kind in KINDS:
        project = made(place, f"exact-rm-{kind}", kind)
        before = project.looks()
        scripts = ("rm -rf .git || true", "rm -rf .git/objects", "rmdir .git/objects/info .git/objects/pack")
        for script in scripts[:3 if kind == "loose" else 2]:
            project.place.run("sh", "-c", script, cwd=project.path, flags=("--net", "off"))
            same((kind, script, [name for name in (".git/HEAD", ".git/objects/pack") if not (project.path / name).exists()] != []), (kind, script, True))
            text = project.bawn("undo")
            same((kind, script, list(kinds(before, project.looks())), "Not taken back" in text), (kind, script, [], False))


@claim("undo of git branch -D and git tag -d: packed-refs is as before, byte for byte, or is not there again")
def test_packed_refs(place):
    for kind in KINDS:
        for act in ("branch -qD side", "tag -d v1", "branch -qD main"):
            project = made(place, f"exact-d-{kind}-{act.split()[-1]}", kind)
            before = project.looks()
            project.inside(f"{GIT} checkout -q side; {GIT} {act} || true; {GIT} rev-parse -q --verify {act.split()[-1]} && false || true"
                           if "main" in act else f"{GIT} {act} || true; {GIT} rev-parse -q --verify {act.split()[-1]} && false || true")
            text = project.bawn("undo")
            found = dict(kinds(before, project.looks()))
            same((kind, act, {name for name, what in found.items() if what != "logs?"}), (kind, act, set()))
            same((kind, act, found != {}), (kind, act, "logs? (`git reflog` shows" in text.replace("logs (", "logs? (").replace("log (", "logs? (")))


@claim("undo: a stash whose file alone was removed comes back")
def test_stash_file(place):
    project = made(place, "exact-stash", "stashed")
    before = project.looks()
    project.inside("rm -rf .git/refs/stash; echo x >>a")
    project.bawn("undo")
    same(list(kinds(before, project.looks())), [])


@claim("undo: modes of files and folders of refs and logs go back, also where no ref has moved; a mode that the user has set since stays")
def test_modes(place):
    for kind in ("loose", "packed"):
        project = made(place, f"exact-modes-{kind}", kind)
        before = project.looks()
        folders = [".git/refs", ".git/refs/heads", ".git/logs"] + [".git/refs/heads/main"] * (kind == "loose")
        project.inside(f"chmod 0700 {' '.join(folders)}")
        text = project.bawn("undo")
        same((kind, list(kinds(before, project.looks())), "Not taken back" in text), (kind, [], False))
        project.inside(f"chmod 0700 {' '.join(folders)}; echo x >>a")
        (project.path / ".git/refs/heads").chmod(0o750)
        same((kind, "kept  .git/refs/heads: it was changed since" in project.bawn("undo", status=1)), (kind, True))
        same((kind, [name for name, _ in kinds(before, project.looks())]), (kind, [".git/refs/heads"]))


@claim("undo: a branch that the run made and packed is gone with its log: one of a name above it can be made")
def test_packed_branch(place):
    project = made(place, "exact-packed-new", "loose")
    project.inside(f"{GIT} checkout -qb f/new; {COMMIT}; {GIT} pack-refs --all; {GIT} checkout -q main")
    project.bawn("undo")
    same([str(path) for path in (project.path / ".git").rglob("f") if "objects" not in str(path)], [])
    project.git("branch", "f")


@claim("undo says that new objects, logs and what git has packed stay as they are; of a run without git it says nothing of them")
def test_says_what_stays(place):
    project = made(place, "exact-words", "loose")
    for script, words in (("echo x >>a", ""), (COMMIT, "new objects, 2 logs (`git reflog` shows their new lines)"),
                          (f"{GIT} gc -q; echo x >>a", f"new objects, {PACKED}")):
        project.inside(script)
        text = project.bawn("undo")
        same(re.findall("Not taken back in the repository: (.*)\\.\n", text), [words] if words else [])


ACTS = (COMMIT, f"{GIT} branch -qD side", f"{GIT} gc -q", f"{GIT} gc -q --prune=now", f"{GIT} pack-refs --all", f"{GIT} reset -q --hard HEAD~1", f"{GIT} tag -d v1",
        f"echo s >a; {GIT} stash -q", f"{GIT} stash drop -q", f"{GIT} stash pop -q", f"{GIT} checkout -q side", f"{GIT} checkout -q main",
        f"{GIT} checkout -qb f/new", f"{GIT} rebase -q main", f"{GIT} merge -q -m m side", f"{GIT} commit -q --amend -am other", f"{GIT} branch f2/new",
        f"{GIT} worktree add -q wt -b wtb", f"{GIT} worktree remove wt", f"{GIT} reflog expire --expire=now --all", f"{GIT} checkout -q --detach",
        f"{GIT} branch -m main other", f"{GIT} rm -q b/c", f"{GIT} cherry-pick side", f"{GIT} repack -qad", "rm -rf .git", "rm -rf .git/refs/heads/*", "rmdir empty",
        "chmod 700 b .git/refs/heads", "chmod 600 .git/refs/heads/main", "chmod 0755 .git/logs", "rm -rf .git/objects/[0-7]?")


@claim("undo of random acts of git: whatever is not as before, by name, mode or content, is named by undo's own words; no object is lost")
def test_random(place):
    seed = random.randrange(1 << 30)
    for number in range(ROUNDS):
        dice = random.Random(seed + number)
        kind, acts = dice.choice(KINDS), [dice.choice(ACTS) for _ in range(dice.randrange(1, 6))]
        project = made(place, f"exact-random-{number}", kind)
        text, found = undone(project, "; ".join([*acts, "echo x >zzz"]))
        assert not found, f"BAWN_UNDOS seed {seed + number}, {kind}: {acts}: {found} {text}"
