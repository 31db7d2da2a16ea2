"""undo of what a live run did to a git repository: branches by their value, objects only where one is missing."""
import json
import resource
import subprocess

import scratch
from lab import repository, started
from scratch import PATIENCE, Project, same

claim = scratch.Claims()

GIT = "git -c user.name=t -c user.email=t@x -c init.defaultBranch=main"


def history(place, name, packed=False):
    """A repository with two branches that have diverged, and a tag. `packed`: as `git gc` leaves it."""
    scratch.need("git")
    project = repository(place, name)
    for branch, file in (("side", "s"), ("main", "m")):
        project.git("checkout", "-q", "-B", branch, "main")
        project.write(file, file)
        project.git("add", file)
        project.git("commit", "-qm", file)
        project.git("checkout", "-q", "main")
    project.git("tag", "v1")
    if packed:
        project.git("gc", "-q")
        assert not (project.path / ".git/refs/heads/main").exists()
    return project


def stands(project):
    """All that a person sees of a repository. That git finds nothing wrong is part of it."""
    project.git("fsck", "--strict", "--no-dangling", "--no-progress")
    files = {name: seen[2] for name, seen in project.looks().items() if not f"{name}/".startswith(".git/")}
    return [project.git("symbolic-ref", "-q", "HEAD"), project.git("for-each-ref"), project.git("stash", "list"),
            project.git("status", "--porcelain"), files]


COMMIT = f"echo i >a; {GIT} commit -qam two"

# What a run does, and what is true of the repository before.
ACTS = {
    "rm -rf .git": ("rm -rf .git || true", "loose"),
    "rm -rf .git, of packed branches": ("rm -rf .git || true", "packed"),
    "rm -rf of the branches": ("rm -rf .git/refs/* .git/packed-refs", "loose"),
    "rm -rf of the objects": ("rm -rf .git/objects/*", "packed"),
    "rm -rf .git, and a new repository in its place": (f"rm -rf .git || true; mkdir -p .git/objects/info .git/refs; "
                                                       f"echo ref: refs/heads/main >.git/HEAD; {GIT} add .; "
                                                       f"{GIT} commit -qm fresh", "loose"),
    "a commit": (COMMIT, "loose"),
    "a commit on a packed branch": (COMMIT, "packed"),
    "git commit --amend of a packed branch": (f"echo i >a; {GIT} commit -q --amend -am other", "packed"),
    "git rebase": (f"{GIT} checkout -q side; {GIT} rebase -q main", "loose"),
    "git rebase of another branch, and back": (f"{GIT} checkout -q side; {GIT} rebase -q main; {GIT} checkout -q main", "packed"),
    "git merge": (f"{GIT} merge -q -m m side", "packed"),
    "git checkout -b and a commit there": (f"{GIT} checkout -qb new; {COMMIT}", "loose"),
    "git checkout -b and a commit there, and git gc": (f"{GIT} checkout -qb f/new; {COMMIT}; {GIT} gc -q", "packed"),
    "git checkout -b, a commit there, and back": (f"{GIT} checkout -qb new; {COMMIT}; {GIT} checkout -q main", "packed"),
    "git reset --hard": (f"{GIT} reset -q --hard HEAD~1", "packed"),
    "git stash drop": (f"{GIT} stash drop -q", "stashed"),
    "git branch -D": (f"{GIT} branch -qD side || true", "loose"),
    "git branch -D of a packed branch": (f"{GIT} branch -qD side || true", "packed"),
    "git tag -d of a packed tag": (f"{GIT} tag -d v1", "packed"),
    "git gc after a commit": (f"{COMMIT}; {GIT} gc -q --prune=now", "loose"),
    "a commit, and all logs expired": (f"{COMMIT}; {GIT} reflog expire --expire=now --all; {GIT} gc -q --prune=now", "packed"),
    "git pack-refs and a commit": (f"{GIT} pack-refs --all; {COMMIT}", "loose"),
    "HEAD without a branch": (f"{GIT} checkout -q --detach HEAD~1; {COMMIT}", "packed"),
}


def undone(act):
    script, kind = ACTS[act]

    def test(place):
        project = history(place, "act-" + "".join(c if c.isalnum() else "-" for c in act), kind == "packed")
        if kind == "stashed":
            for text in ("x\n", "y\n"):
                project.write("a", text)
                project.git("stash", "-q")
        project.write("u", "not tracked")
        project.write("m", "staged")
        if act.startswith(("rm", "a commit", "git stash", "git branch", "git tag", "git gc", "git pack")):
            project.git("add", "m")
        else:
            project.git("checkout", "-q", "m")
        before = stands(project)
        project.inside(script)
        text = project.bawn("undo")
        assert "kept" not in text, text
        same(stands(project), before)
    return test


for what in ACTS:
    claim(f"undo of {what}: HEAD, branches, index and files are as before, and git finds nothing wrong")(undone(what))


@claim("undo and diff: a `git gc` of the host during the run is none of its work")
def test_gc_of_host(place):
    project = history(place, "host-gc")
    for number in range(40):
        project.write("a", f"{number}\n")
        project.git("commit", "-qam", "more")
    before = stands(project)
    run = started(project, "echo up; read line; echo x >>b/c", stderr=subprocess.PIPE)
    project.git("gc", "-q", "--prune=now")
    run.communicate(b"\n", timeout=PATIENCE)
    same(project.bawn("diff", "--name-only"), "b/c\n")
    assert "objects" not in project.bawn("diff", ".git", "--name-only")
    text = project.bawn("undo")
    assert ".git/objects" not in text and "1 file taken back" in text, text
    same(stands(project), before)
    assert not list(project.path.glob(".git/objects/??")), "loose objects were brought back that are packed"


@claim("undo: a `git gc` alone changes nothing: there is no session, and nothing is said to have changed")
def test_gc_alone(place):
    project = history(place, "gc-alone")
    project.git("gc", "-q")
    project.write("a", "x")
    project.git("commit", "-qam", "x")
    project.inside("git gc -q; git repack -qadf")
    assert "Nothing can be undone" in project.bawn("undo", "--list")


@claim("undo: an object that is missing is brought back, from a pack of which others are there, too")
def test_missing_object(place):
    project = history(place, "missing", packed=True)
    before = stands(project)
    project.inside("rm -f .git/objects/pack/*.rev; mv .git/objects/pack/*.pack p; rm -f .git/objects/pack/*.idx; "
                   "git unpack-objects -q <p; rm -f p; rm -rf .git/objects/[0-7]?")
    project.bawn("undo")
    same(stands(project), before)


@claim("undo: an object that was written in its place is as before")
def test_overwritten_object(place):
    project = history(place, "junk-objects")
    before = stands(project)
    project.inside("for o in .git/objects/[0-9]?/*; do chmod u+w $o; echo junk >$o; done")
    project.bawn("undo")
    same(stands(project), before)


@claim("a ref that packed-refs names twice is set aside: a tag does not move without a word (control: git takes the other line)")
def test_named_twice(place):
    project = history(place, "twice", packed=True)
    old, new = project.git("rev-parse", "v1").strip(), project.git("rev-parse", "side").strip()
    packed = project.path / ".git/packed-refs"
    was = packed.read_text()
    lines = [line for line in was.splitlines() if not line.startswith("#") and not line.endswith("refs/tags/v1")]
    once = "\n".join(["# pack-refs with: peeled fully-peeled ", *lines, f"{new} refs/tags/v1", ""])
    twice = once + f"{new} refs/tags/v1\n" * 8 + f"{old} refs/tags/v1\n"
    packed.write_text(twice)
    same(project.git("rev-parse", "v1").strip(), new)
    packed.write_text(was)
    done = place.run("sh", "-c", f"cat >.git/packed-refs <<'END'\n{twice}END", cwd=project.path, flags=("--net", "off"))
    assert b"packed-refs is not in the form that git writes" in done.stderr, done.stderr
    same([packed.read_text(), project.git("rev-parse", "v1").strip()], [was, old])
    project.inside(f"cat >.git/packed-refs <<'END'\n{once}END")
    same([project.git("rev-parse", "v1").strip(), f"+{new} refs/tags/v1" in project.bawn("diff", ".git")], [new, True])
    project.bawn("undo", "--force", "--yes")
    same(project.git("rev-parse", "v1").strip(), old)


def seconds_of_many(place, count, attempt):
    """The processor's time for a run, and what it changed, in a workspace with so many git directories: only that of `r7` gets a ref."""
    project = Project(place, f"many-{count}-{attempt}")
    for number in range(count):
        (project.path / f"d/r{number}/.git/refs/heads").mkdir(parents=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    project.inside("for d in d/*/.git; do echo '# pack-refs with: peeled fully-peeled sorted ' >$d/packed-refs; done; "
                   f"echo {'1' * 40} >d/r7/.git/refs/heads/new")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return used, [item["path"] for item in json.loads(project.bawn("diff", "--json"))]


@claim("files of refs in four times as many git directories take four times as long, and not sixteen; a ref that moved is found")
def test_many_repositories(place):
    for attempt in range(3):  # the kernel counts this time in steps, and a busy machine takes longer now than a moment ago
        few, changed = seconds_of_many(place, 1500, attempt)
        same(changed, ["d/r7/.git/packed-refs", "d/r7/.git/refs/heads/new"])
        many, changed = seconds_of_many(place, 6000, attempt)
        same(changed, ["d/r7/.git/packed-refs", "d/r7/.git/refs/heads/new"])
        if many < 8 * few:
            return
    raise AssertionError((few, many))


@claim("undo --force brings back objects for which the run left a pack that only names them")
def test_forged_pack(place):
    project = history(place, "forged-pack", packed=True)
    before = stands(project)
    project.inside("cd .git/objects/pack; for f in pack-*.idx pack-*.pack; do "
                   "cp $f pack-0000000000000000000000000000000000000000.${f##*.}; rm -f $f; done; rm -f *.rev; "
                   "chmod u+w *.pack; printf junk | dd of=$(ls *.pack) bs=1 seek=40 conv=notrunc status=none; echo x >../../../a")
    project.bawn("undo", "--force", "forged-pack-1")
    for name in project.path.glob(".git/objects/pack/pack-0000*"):  # git takes any pack that has the object
        name.unlink()
    same(stands(project), before)


@claim("diff: objects are not listed one by one, also not of a review")
def test_diff_objects(place):
    project = history(place, "diff-objects")
    project.inside(COMMIT, "--review")
    assert "refs/heads/main" in project.bawn("diff", ".git", "--name-only")
    for flags in (("--name-only",), ("--stat",), ()):
        text = project.bawn("diff", ".git", *flags)
        assert ".git/objects" not in text, (flags, text)
    assert "objects" in project.bawn("diff", ".git")


@claim("undo: a branch that the host has packed since goes back, too")
def test_packed_since(place):
    project = history(place, "packed-since", packed=True)
    before = stands(project)
    project.inside(COMMIT)
    project.git("pack-refs", "--all")
    project.bawn("undo")
    same(stands(project), before)


@claim("undo: of packed branches those stay that the user moved, made or packed meanwhile, and are named")
def test_users_packed_branches(place):
    project = history(place, "meanwhile-packed", packed=True)
    first = project.git("rev-parse", "main").strip()
    run = started(project, f"echo up; read line; {COMMIT}", stderr=subprocess.PIPE)
    mine = project.git("commit-tree", "-p", "side", "-m", "mine", "side^{tree}").strip()
    project.git("update-ref", "refs/heads/side", mine)
    project.git("tag", "t", mine)
    project.git("pack-refs", "--all")
    run.communicate(b"\n", timeout=PATIENCE)
    text = project.bawn("undo", status=1)
    same([line.split(":")[0].split()[-1] for line in text.splitlines() if "perhaps by you" in line],
         [".git/refs/heads/side", ".git/refs/tags/t"])
    same([project.git("rev-parse", ref).strip() for ref in ("main", "side", "t")], [first, mine, mine])
    project.bawn("undo", "--force")
    same([project.git("rev-parse", "main").strip(), project.git("tag").split()], [first, ["v1"]])


@claim("undo: a stash that was made during the run stays, and is named")
def test_stash_stays(place):
    project = history(place, "stash")
    project.write("a", "mine\n")
    project.inside(f"{GIT} stash -q")
    text = project.bawn("undo", status=1)
    assert ".git/refs/stash: it was made during the run" in text, text
    same([project.read("a"), len(project.git("stash", "list").splitlines())], ["mine\n", 1])


@claim("undo: a worktree that lies elsewhere, and the user's work in it during the run, stay as they are")
def test_other_worktree(place):
    project = history(place, "trees")
    there = place.home / "work/elsewhere"
    project.git("worktree", "add", "-q", there, "side")
    run = started(project, f"echo up; read line; {COMMIT}; rm -f .git/worktrees/elsewhere/logs/HEAD", stderr=subprocess.PIPE)
    project.git("-C", there, "commit", "-q", "--allow-empty", "-m", "there")
    (there / "n").write_text("n")
    project.git("-C", there, "add", "n")
    project.git("worktree", "add", "-q", f"{there}-2", "-b", "second")
    run.communicate(b"\n", timeout=PATIENCE)
    project.bawn("undo", status=1)
    same([project.git("-C", there, "status", "--porcelain"), project.git("-C", f"{there}-2", "status", "--porcelain")],
         ["A  n\n", ""])
    same(project.git("-C", there, "log", "-1", "--format=%s"), "there\n")
    project.git("fsck", "--strict")


@claim("undo: a worktree that the run made inside is gone, with what git knows of it")
def test_own_worktree(place):
    project = history(place, "own-tree")
    before = stands(project)
    project.inside(f"{GIT} worktree add -q wt -b wtb; cd wt; {COMMIT}")
    project.bawn("undo")
    same(stands(project), before)
    same(len(project.git("worktree", "list").splitlines()), 1)


@claim("undo: the repository of a submodule goes back as its own")
def test_submodule(place):
    other = history(place, "library")
    project = history(place, "with-submodule")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.path, "lib")
    project.git("commit", "-qm", "lib")
    project.git("-C", "lib", "gc", "-q")
    before = stands(project), project.git("-C", "lib", "for-each-ref"), project.git("-C", "lib", "rev-parse", "HEAD")
    project.inside(f"cd lib; {COMMIT}; cd ..; {GIT} commit -qam lib; cd lib; {GIT} branch -qD main || true; {GIT} checkout -qb x")
    project.bawn("undo")
    same((stands(project), project.git("-C", "lib", "for-each-ref"), project.git("-C", "lib", "rev-parse", "HEAD")), before)
    project.git("-C", "lib", "fsck", "--strict")
    same(project.git("-C", "lib", "status", "--porcelain"), "")


@claim("undo: after a branch that the run made has gone, one of a name below it can be made")
def test_name_is_free(place):
    project = history(place, "free-name")
    project.inside(f"{GIT} checkout -qb new; {COMMIT}")
    made = project.git("rev-parse", "HEAD").strip()
    project.bawn("undo")
    project.git("branch", "new/er")
    assert made in project.git("reflog", "--no-abbrev", "HEAD"), "the commit cannot be found any more"


@claim("undo: what it took back of a repository comes again with a second undo")
def test_redo(place):
    for kind, act in (("loose", f"{GIT} checkout -qb new; {COMMIT}"), ("packed", f"{COMMIT}; {GIT} branch -qD side || true")):
        project = history(place, f"redo-{kind}", kind == "packed")
        project.inside(act)
        after = stands(project)
        project.bawn("undo")
        project.bawn("undo")
        same((kind, stands(project)), (kind, after))


@claim("undo: \"nothing was changed\" is not said where a branch, a log or a file differs")
def test_nothing_was_changed(place):
    project = history(place, "differs", packed=True)
    project.inside(f"{GIT} branch mine; {GIT} tag t")
    text = project.bawn("undo", status=1)
    assert "Nothing was changed" not in text and "2 " in text, text
    project.git("branch", "-qD", "mine")
    project.git("tag", "-d", "t")
    text = project.bawn("undo")
    assert "Nothing was changed" not in text, text


@claim("undo --force after an undo that left something finishes that one, and reverses nothing")
def test_force_after_partial(place):
    project = scratch.Project(place, "forced")
    project.inside("echo inside >a; echo inside >b/c")
    project.write("a", "the user's\n")
    project.bawn("undo", status=1)
    same([project.read("a"), project.read("b/c")], ["the user's\n", "two\n"])
    text = project.bawn("undo", status=2)
    assert "forced-1" in text and "forced-2" in text, text
    same([project.read("a"), project.read("b/c")], ["the user's\n", "two\n"])
    project.bawn("undo", "--force")
    same([project.read("a"), project.read("b/c")], ["one\n", "two\n"])


@claim("undo after a --branch or a --review names the session that it would take, and takes none unasked")
def test_undo_after_aside(place):
    project = repository(place, "after-aside")
    project.inside("echo inside >a")
    for flags, why in ((("--branch", "fix"), "worked on a branch"), (("--review",), "was a run with --review")):
        project.inside("echo more >b/c", *flags)
        text = project.bawn("undo", status=2)
        assert why in text and "`bawn undo after-aside-1`" in text, text
        same(project.read("a"), "inside\n")
    project.bawn("undo", "after-aside-1")
    same(project.read("a"), "one\n")


@claim("undo after a run that changed nothing names the session that it would take, and takes none unasked")
def test_after_nothing(place):
    project = scratch.Project(place, "after-nothing")
    project.inside("echo inside >a")
    project.inside("cat a")
    text = project.bawn("undo", status=2)
    assert "after-nothing-2 changed nothing" in text and "bawn undo after-nothing-1" in text, text
    text = project.bawn("undo", "a", status=2)  # the path is not what makes it clear which session is meant
    assert "after-nothing-2 changed nothing" in text, text
    same(project.bawn("undo", "nosuch", status=2),
         f"bawn: nosuch is neither a session nor a path in {project.path}. `bawn sessions` lists the sessions.\n")
    same(project.bawn("undo", "after-nothing-2", status=2),
         "bawn: there is no record of changes by after-nothing-2. `bawn sessions` lists the sessions.\n")
    project.bawn("undo", "after-nothing-1")
    same(project.read("a"), "one\n")
    project.inside("cat a")
    text = project.bawn("undo", status=2)
    assert "bawn undo after-nothing-3" in text, text
    same(project.read("a"), "one\n")
    text, status = place.terminal(project.path, ["undo"], ("[y/N]", b"n\n"))
    assert "after-nothing-3" in text and "after-nothing-1" in text, text
    same(project.read("a"), "one\n")


