"""apply of what a run did to a git repository: no branch, index or object is broken by it, and what git writes arrives."""
import re
import subprocess

import scratch
from lab import repository
from scratch import Project, same

claim = scratch.Claims()
ME = "git -c user.name=t -c user.email=t@x"
COMMIT = f"{ME} commit -qam two"
REMOVE = "f=$(git rev-parse HEAD | sed 's,..,&/,'); rm -f .git/objects/$f"  # the commit, of which $f is the file
GONE = "it would stand at a commit that is not in the repository"
JUNK = "git could not read it"
# Writes an index with one entry of any name for the object in $o, as no git would.
FORGED_INDEX = ("python3 - $o <<'END'\nimport hashlib, struct, sys\nname = b'{}'\n"
                "entry = struct.pack('>10L', 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 5) + bytes.fromhex(sys.argv[1]) + struct.pack('>H', len(name)) + name\n"
                "entry += bytes(8 - len(entry) % 8)\ntext = b'DIRC' + struct.pack('>2L', 2, 1) + entry\n"
                "open('.git/index', 'wb').write(text + hashlib.sha1(text).digest())\nEND\n:")


def is_held_back(project, *wanted):
    """An apply keeps each of these out and says why; the repository is as it was, and sound."""
    said = project.bawn("apply", "--allow-risky", status=1)
    for path, why in wanted:
        assert f"kept  .git/{path}: {why}" in said, said
    same(project.git("log", "--format=%s"), "one\n")
    same(subprocess.run(["git", "fsck", "--strict"], cwd=project.path, env=project.place.environment, check=False,
                        capture_output=True, text=True).stderr, "")


def commits_that_are_not_there(place):
    project = repository(place, "removed")
    project.inside(f"echo x >>a; {COMMIT}; {REMOVE}", "--review")
    is_held_back(project, ("refs/heads/main", GONE))
    same(project.read("a"), "one\nx\n")
    project = repository(place, "emptied")
    project.inside(f"echo x >>a; {COMMIT}; {REMOVE}; : >.git/objects/$f", "--review")
    is_held_back(project, ("refs/heads/main", GONE))
    project = repository(place, "checked-out")
    project.inside(f"echo x >>a; git checkout -qb work; {COMMIT}; {REMOVE}", "--review")
    is_held_back(project, ("refs/heads/work", GONE), ("HEAD", "the branch that it names is not there"))
    same(project.git("symbolic-ref", "HEAD"), "refs/heads/main\n")
    project = repository(place, "detached")
    project.inside(f"echo x >>a; git checkout -q --detach; {COMMIT}; {REMOVE}", "--review")
    is_held_back(project, ("HEAD", GONE))


def junk_in_the_place_of_refs(place):
    project = repository(place, "junk")
    project.inside("echo junk >.git/HEAD; echo junk >.git/refs/heads/work; echo junk >.git/packed-refs; "
                   "cp .git/refs/heads/main .git/refs/heads/x.lock; ln -s main .git/refs/heads/linked; "
                   "echo 'ref: refs/heads/none' >.git/refs/heads/led", "--review")
    is_held_back(project, ("HEAD", JUNK), ("refs/heads/work", JUNK), ("packed-refs", JUNK), ("refs/heads/linked", JUNK),
                 ("refs/heads/led", "the branch that it names is not there"),
                 ("refs/heads/x.lock", "this is not a valid branch name"))
    project = repository(place, "no-repository")
    project.inside("rm .git/HEAD; rm -r .git/refs", "--review")
    is_held_back(project, ("HEAD", "without it there would be no repository"))


@claim("apply: a branch does not go to a commit that is not there, HEAD takes no junk, and no object is overwritten")
def test_broken_refs(place):
    scratch.need("git")
    commits_that_are_not_there(place)
    junk_in_the_place_of_refs(place)
    project = repository(place, "overwritten")
    project.inside("f=.git/objects/$(git rev-parse HEAD | sed 's,..,&/,'); chmod 644 $f; echo junk >$f", "--review")
    same(project.bawn("apply", "--allow-risky", status=1).count("git never changes an object"), 1)
    project.git("fsck", "--strict")
    project = repository(place, "one-path")
    project.inside(f"echo x >>a; {COMMIT}", "--review")
    assert GONE in project.bawn("apply", ".git/refs", status=1)
    same(project.git("log", "--format=%s"), "one\n")
    project.bawn("apply")  # with its objects it goes
    same(project.git("log", "--format=%s"), "two\none\n")


@claim("apply: what git writes of branches arrives: packed, tagged, detached, symbolic, without a commit, shared")
def test_written_refs(place):
    scratch.need("git")
    project = repository(place, "written")
    project.git("clone", "-q", "--shared", str(project.path), "../sharing")
    sharing = Project(place, "sharing")
    sharing.inside("git branch old; git tag t; git update-ref refs/heads/again HEAD", "--review", "--read", project.path)
    sharing.bawn("apply")
    same(sharing.git("rev-parse", "old", "again"), project.git("rev-parse", "main", "main"))
    project.inside(f"echo x >>a; {COMMIT}; {ME} tag -am t t; git branch b; git gc -q; git update-ref refs/heads/c HEAD; "
                   "git update-ref refs/remotes/origin/main HEAD; git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main; "
                   "git checkout -q --detach", "--review")
    project.bawn("apply")
    project.git("fsck", "--strict")
    same([len(set(project.git("rev-parse", "main", "b", "c", "HEAD", "t^{commit}").split())), project.git("status", "--short")],
         [1, ""])
    project.inside("git checkout -q --orphan fresh", "--review")
    project.bawn("apply")
    same(project.git("symbolic-ref", "HEAD"), "refs/heads/fresh\n")


@claim("apply: a commit-graph does not arrive, and one that was there stays as it is; the commit beside it arrives")
def test_commit_graph(place):
    project = repository(place, "graph")
    graph = project.path / ".git/objects/info/commit-graph"
    script = f"echo x >>a; {COMMIT}; git commit-graph write --reachable; test -f .git/objects/info/commit-graph"
    project.inside(script, "--review")
    project.bawn("apply")
    same([graph.exists(), project.git("log", "--format=%s")], [False, "two\none\n"])
    project.git("commit-graph", "write", "--reachable")
    was = graph.read_bytes()
    project.inside(script, "--review")
    project.bawn("apply")
    same([graph.read_bytes() == was, project.git("log", "--format=%s")], [True, "two\ntwo\none\n"])
    same("waiting" in project.bawn("sessions"), False)


# A pack, and an index that gives its only object, "evil", the name of the blob `a` of the first commit.
LYING_PACK = """python3 - $(git rev-parse HEAD:a) <<'END'
import hashlib, os, struct, sys, time, zlib
name, data = bytes.fromhex(sys.argv[1]), b"evil\\n"
pack = b"PACK" + struct.pack(">2L", 2, 1)
at, body = len(pack), bytes([0x30 | len(data)]) + zlib.compress(data)
pack += body
end = hashlib.sha1(pack).digest()
fan = b"".join(struct.pack(">L", number >= name[0]) for number in range(256))
index = b"\\xfftOc" + struct.pack(">L", 2) + fan + name + struct.pack(">2L", zlib.crc32(body), at) + end
for ending, text in ((".pack", pack + end), (".idx", index + hashlib.sha1(index).digest())):
    path = f".git/objects/pack/pack-{end.hex()}{ending}"
    with open(path, "wb") as file:
        file.write(text)
    os.utime(path, (time.time() + 3600,) * 2)  # git asks the newest pack first
END
"""


def blob_a(project):
    return project.git("cat-file", "blob", project.git("rev-parse", "HEAD:a").strip())


@claim("apply: a pack that gives an older object other content is kept out, whether a ref moves or not; a sound one arrives, and no index of several packs")
def test_lying_pack(place):
    scratch.need("git")
    for name, script in (("lying", f"echo x >new; {LYING_PACK}"), ("lying-beside", f"{LYING_PACK}echo x >>a; {COMMIT}")):
        project = repository(place, name)
        project.git("gc", "-q")
        project.inside(script, "--review")
        said = project.bawn("apply", "--allow-risky", status=1)
        same((name, len(re.findall(r"kept  \.git/objects/pack/pack-\w+\.(?:pack|idx): it is damaged", said))), (name, 2))
        same((blob_a(project), project.git("log", "--format=%s")), ("one\n", "one\n"))
        same(len(list((project.path / ".git/objects/pack").glob("*.pack"))), 1)
    same("refs/heads/main: it leads to an object that is missing or damaged" in said, True)
    control = repository(place, "lying-control")  # outside a sandbox: git believes such a pack
    control.git("gc", "-q")
    subprocess.run(["sh", "-ec", LYING_PACK], cwd=control.path, env=control.place.environment, check=True)
    same(blob_a(control), "evil\n")
    project = repository(place, "packed-honestly")
    project.inside(f"echo x >>a; {COMMIT}; git repack -qad --write-midx; test -f .git/objects/pack/multi-pack-index", "--review")
    project.bawn("apply")
    same((project.git("log", "--format=%s"), project.git("fsck", "--strict")), ("two\none\n", ""))
    packs = sorted(path.suffix for path in (project.path / ".git/objects/pack").iterdir())
    assert ".pack" in packs and not (project.path / ".git/objects/pack/multi-pack-index").exists(), packs


@claim("apply: an index that git could not read, or that names what is not there, is kept out; so is a list of shallow commits")
def test_broken_index(place):
    scratch.need("git")
    foreign = repository(place, "foreign")
    foreign.write("other", "not known elsewhere\n")
    foreign.git("add", ".")
    index = foreign.path / ".git/index"
    named = "it names files that are not in the repository"
    for number, (script, path, why) in enumerate((
            ("echo junk >.git/index", "index", JUNK), ("truncate -s -1 .git/index", "index", JUNK),
            ("truncate -s 0 .git/index", "index", JUNK), ("printf x | dd of=.git/index bs=1 seek=60 conv=notrunc 2>&1", "index", JUNK),
            ("rm .git/index; ln -s HEAD .git/index", "index", JUNK), ("rm .git/index; mkdir .git/index", "index", JUNK),
            (f"cat {index} >.git/index", "index", named),
            ("git update-index --split-index; rm .git/sharedindex.*", "index", "the index that it adds to is not there"),
            ("git update-index --split-index; for f in .git/sharedindex.*; do echo junk >$f; done", "sharedindex.", JUNK),
            ("echo junk >.git/shallow", "shallow", JUNK),
            ("git hash-object -t commit --stdin </dev/null >.git/shallow || echo 8aff >.git/shallow", "shallow", JUNK),
            ("printf '%040d\\n' 7 >.git/shallow", "shallow", "it names a commit that is not in the repository"))):
        project = repository(place, f"unread-{number}")
        project.inside(script, "--review", "--read", index)
        said = project.bawn("apply", "--allow-risky", status=1)
        assert re.search(f"kept  [.]git/{path}.*: {why}", said), (script, said)
        same((script, project.git("status", "--short"), project.git("log", "--format=%s")), (script, "", "one\n"))
    project = repository(place, "cut-off")
    project.write("a", "two\n")
    project.git("commit", "-qam", "two")
    project.git("clone", "-q", "--depth=1", f"file://{project.path}", "../shallow")
    shallow = Project(place, "shallow")
    shallow.inside("rm .git/shallow", "--review")
    assert "without it git would look for commits that are not there" in shallow.bawn("apply", "--allow-risky", status=1)
    same(shallow.git("log", "--format=%s"), "two\n")
    shallow.bawn("discard", "--yes")
    shallow.inside(f"git -c protocol.file.allow=always fetch -q --unshallow {project.path}", "--review", "--read", project.path)
    shallow.bawn("apply", "--allow-risky")
    same(shallow.git("log", "--format=%s"), "two\none\n")
    shallow.git("fsck", "--strict")


@claim("apply: what git writes as an index arrives: of every version, split, sparse, of conflicts, submodules and either hash")
def test_written_index(place):
    scratch.need("git")
    for number, script in enumerate((
            "echo x >n; git add n; git update-index --index-version 4", "echo x >n; git add -N n", "git rm -q --cached a",
            "git update-index --split-index; echo x >n; git add n", "git update-index --skip-worktree a; git update-index --assume-unchanged b/c",
            "git update-index --add --cacheinfo 160000,1234567890123456789012345678901234567890,sub; : >empty; git add empty",
            "git update-index --untracked-cache; git status -s; for i in $(seq 300); do echo $i >f$i; done; git add .",
            f"git checkout -qb side; echo x >a; {ME} commit -qam side; git checkout -q main; echo y >a; {ME} commit -qam main; "
            f"{ME} merge -q side || true; git status -s | grep -q UU")):
        project = repository(place, f"indexed-{number}")
        before = project.git("ls-files", "--stage", "-v")
        project.inside(script, "--review")
        project.bawn("apply", "--allow-risky")
        assert project.git("ls-files", "--stage", "-v") != before, script
        project.git("status", "--short")
    project = repository(place, "sparse")
    project.git("sparse-checkout", "set", "--cone", "--sparse-index", "none")
    project.inside("mkdir none; echo x >none/n; git add none/n", "--review")
    project.bawn("apply")
    same((project.git("status", "--short"), b"sdir" in (project.path / ".git/index").read_bytes()), ("A  none/n\n", True))
    project = Project(place, "sha256")
    project.git("init", "-q", "-b", "main", "--object-format=sha256")
    project.git("add", ".")
    project.git("commit", "-qm", "one")
    project.inside(f"echo x >n; git add n; {ME} commit -qm two; echo y >m; git add m", "--review")
    project.bawn("apply")
    same((project.git("log", "--format=%s"), project.git("status", "--short")), ("two\none\n", "A  m\n"))
    project.inside("printf x | dd of=.git/index bs=1 seek=60 conv=notrunc 2>&1", "--review")
    assert JUNK in project.bawn("apply", "--allow-risky", status=1)
    project.git("status", "--short")


@claim("apply: what is no inert data in a git directory waits or is kept out, with its reason; what git writes arrives")
def test_inert(place):
    scratch.need("git")
    for number, (script, path, why, is_allowed) in enumerate((
            ("ln -sf config .git/COMMIT_EDITMSG", "COMMIT_EDITMSG", "is a symbolic link", False),
            ("rm -f .git/packed-refs; mkfifo .git/packed-refs", "packed-refs", "", False),
            ("echo git >.git/unheard-of", "unheard-of", "", True),
            ("mkdir -p .git/objects/info; echo /elsewhere >.git/objects/info/alternates", "objects/info/alternates", "", True),
            ("mkdir -p .git/info; echo '* filter=x' >.git/info/attributes", "info/attributes", "", True),
            ("mkdir .git/rebase-merge; echo pick >.git/rebase-merge/git-rebase-todo", "rebase-merge/git-rebase-todo", "", True),
            ("o=$(echo evil | git hash-object -w --stdin); " + FORGED_INDEX.format("../outside"), "index", "", False),
            ("o=$(echo evil | git hash-object -w --stdin); " + FORGED_INDEX.format(".git/hooks/post-checkout"), "index", "", False))):
        project = repository(place, f"inert-{number}")
        project.inside(f"{script}; echo more >>a", "--review")
        said = project.bawn("apply", status=1)
        assert re.search(f"kept  [.]git/{path}: .*{why}", said), (script, said)
        same((script, project.read("a"), project.git("status", "--short")), (script, "one\nmore\n", " M a\n"))
        said = project.bawn("apply", "--allow-risky", status=0 if is_allowed else 1)
        same((script, f"kept  .git/{path}: " in said), (script, not is_allowed))
    project = repository(place, "inert-control")
    project.inside(f"echo more >>a; {ME} commit -qam two; {ME} tag -am t t; git branch b; git stash -q || true; git gc -q; "
                   f"echo again >>a; {ME} commit -qam three; git reset -q --hard HEAD~1; git notes list; echo x >>.git/info/exclude", "--review")
    project.bawn("apply")
    same(project.git("log", "--format=%s"), "two\none\n")
    project.git("fsck", "--strict")
