"""Commits, and a git directory that was damaged."""
import re
import subprocess

import scratch
from ground import GIT
from scratch import same

claim = scratch.Claims()


@claim("flags: what a branch had long ago is no new content, also after gc; nor what a tag has that names no branch")
def test_flag_history(place):
    work = place.repository("history", place.FLAGGED)
    for number in range(5):
        for file in place.FLAGGED:
            (work / file).write_text(f"{number}\n")
        place.host(*GIT, "commit", "-qam", str(number), cwd=work)
    place.host(*GIT, "tag", "-m", "t", "old", "HEAD~1", cwd=work)
    place.host(*GIT, "reset", "-q", "--hard", "HEAD~2", cwd=work)
    (work / ".git/ORIG_HEAD").unlink()
    place.host("git", "reflog", "expire", "--expire=now", "--all", cwd=work)
    for act, want in (("git checkout -q HEAD~2", "0\n"), ("git checkout -q main; git gc -q; git checkout -q main~3", "one\n"),
                      ("git checkout -q old", "3\n"), ("git checkout -q main; git checkout -q HEAD~1 -- CLAUDE.md", "1\n")):
        same((act, place.sh(work, act, flags=()).returncode, place.held(work)), (act, 0, {}))
        same((act, (work / "CLAUDE.md").read_text()), (act, want))
    place.sh(work, "echo 4 >CLAUDE.md")  # which no branch and no tag had
    same(place.held(work), {"CLAUDE.md": "4\n"})


@claim("commits that change flagged files are told of, also in a pipe: on a branch, in the stash; others are not")
def test_commits(place):
    work = place.repository("commits", place.FLAGGED)
    done = place.sh(work, "echo x >>src/x.c; git commit -qam harmless; git switch -qc side; echo evil >CLAUDE.md; "
                    "echo evil >deep/er/AGENTS.md; git commit -qam 'not seen'; git switch -q main")
    commit = place.host("git", "rev-parse", "side", cwd=work)[:10]
    same(done.stderr.decode(), f"bawn: the command left a commit that changes flagged files: {commit} (CLAUDE.md, "
         "deep/er/AGENTS.md). Look at it before you push it or check it out.\n")
    done = place.sh(work, "echo evil >.github/workflows/'a\"b.yml'; git add .; git stash -q")
    same(done.stderr.decode().count("a commit that changes flagged files"), 1)
    same(place.sh(work, "git merge -q side --no-edit; git reset -q --hard HEAD~1").stderr, b"")
    same('"what":"a commit that changes flagged files"' in place.journals(work), True)


EVIL = "git switch -qc evil; echo evil >CLAUDE.md; git commit -qam evil; e=$(git rev-parse HEAD); git switch -q main"

HIDDEN = {
    "a broken ref beside it": f"{EVIL}; printf '%040d\\n' 7 >.git/refs/heads/broken",
    "a branch whose name is deep": f"{EVIL}; git branch 1/2/3/4/5/6/7/8/9/10/11/x evil; git branch -q -D evil",
    "hundreds of refs": f"{EVIL}; t=$(git rev-parse 'HEAD^{{tree}}'); for i in $(seq 600); do "
                        "echo create refs/tags/t$i $(echo $i | git commit-tree -p HEAD $t); done | git update-ref --stdin; "
                        "git update-ref refs/zzz $e; git branch -D -q evil; git pack-refs --all",
    "a thousand commits above it": f"{EVIL}; p=$e; t=$(git rev-parse 'HEAD^{{tree}}'); for i in $(seq 1100); do "
                                   "p=$(echo $i | GIT_COMMITTER_DATE=\"$((1800000000 + i)) +0000\" git commit-tree -p $p $t); done; git branch -f evil $p",
    "digits in upper case": f"{EVIL}; git rev-parse evil | tr a-f A-F >.git/refs/heads/up; git branch -D -q evil",
    "a graft": f"{EVIL}; git branch -f evil $(echo x | git commit-tree -p $e 'HEAD^{{tree}}'); mkdir -p .git/info; "
               "git rev-parse evil >.git/info/grafts",
}


def hidden(place, number, act):
    work = place.repository(f"hidden-{number}", place.FLAGGED)
    done = place.sh(work, f"{act}\necho $e")
    evil = done.stdout.decode().strip()
    same((done.returncode, f"a commit that changes flagged files: {evil[:10]} (CLAUDE.md)" in done.stderr.decode()), (0, True))


for number, (name, act) in enumerate(HIDDEN.items()):
    claim(f"commits that change flagged files are not hidden by {name}")(lambda place, number=number, act=act: hidden(place, number, act))


@claim("commits that change flagged files are told of, whatever else is done to the refs")
def test_commits_of_sha256(place):
    work = place.folder("hidden-256")
    place.host(*GIT, "init", "-q", "--object-format=sha256", ".", cwd=work)
    (work / "CLAUDE.md").write_text("one\n")
    place.host(*GIT, "add", ".", cwd=work)
    place.host(*GIT, "commit", "-qm", "first", cwd=work)
    done = place.sh(work, f"{EVIL}; echo $e")
    evil = done.stdout.decode().strip()
    assert f"a commit that changes flagged files: {evil[:10]} (CLAUDE.md)" in done.stderr.decode(), done.stderr


@claim("commits that no branch had at the start are told of when one gets them, also if ORIG_HEAD, FETCH_HEAD or a log had them")
def test_commits_earlier(place):
    work = place.repository("orphaned", place.FLAGGED)
    same(place.sh(work, "echo evil >CLAUDE.md; git commit -qam evil; git reset -q --hard HEAD~1; "
                  "printf \"%s\\t\\tbranch 'x' of .\\n\" $(cat .git/ORIG_HEAD) >.git/FETCH_HEAD").stderr, b"")
    evil = (work / ".git/ORIG_HEAD").read_text().strip()
    done = place.sh(work, "git branch evil ORIG_HEAD; git checkout -q ORIG_HEAD -- CLAUDE.md")
    assert f"a commit that changes flagged files: {evil[:10]} (CLAUDE.md)" in done.stderr.decode(), done.stderr
    same((place.held(work), (work / "CLAUDE.md").read_text()), ({"CLAUDE.md": "evil\n"}, "one\n"))


@claim("commits that could not be looked at are told of as not checked, and never pass for harmless")
def test_commits_unchecked(place):
    for number, (act, why) in enumerate((("echo junk >.git/shallow", "git failed"), ("ln -s evil .git/refs/heads/link", "refs/heads/link"),
                                         ("echo ref: ORIG_HEAD >.git/refs/heads/led", "refs/heads/led"))):
        work = place.repository(f"unchecked-{number}", place.FLAGGED)
        said = place.sh(work, f"{EVIL}; {act}").stderr.decode()
        assert re.search(f"commits that could not be checked for flagged files and damage: .*{why}", said), (act, said)
    work = place.repository("checked", place.FLAGGED)  # the control
    assert "not checked" not in place.sh(work, EVIL).stderr.decode()


@claim("commits in a submodule that change flagged files are told of, and damaged ones do not move its branch")
def test_commits_submodule(place):
    other, work = place.repository("lib-of", place.FLAGGED), place.repository("of-submodule")
    place.host(*GIT, "submodule", "--quiet", "add", str(other), "lib", cwd=work)
    place.host(*GIT, "commit", "-qm", "lib", cwd=work)
    done = place.sh(work, "cd lib; git switch -qc evil; echo evil >CLAUDE.md; git commit -qam evil; git rev-parse HEAD; git switch -q main")
    evil = done.stdout.decode().strip()
    assert f"a commit that changes flagged files: {evil[:10]} (CLAUDE.md)" in done.stderr.decode(), done.stderr
    at = place.host("git", "rev-parse", "main", cwd=work / "lib")
    done = place.sh(work, "cd lib; echo x >>a; git commit -qam x; c=$(git rev-parse --git-path objects)/$(git rev-parse HEAD:a | sed 's,..,&/,'); "
                    "chmod 644 $c; echo junk >$c")
    assert b"lib/refs/heads/main leads to an object that is missing or damaged: it is set aside" in done.stderr, done.stderr
    same((host_git(place, work / "lib"), place.host("git", "rev-parse", "main", cwd=work / "lib")), ([0, 0, 0, 0], at))


COMMITTED = "echo more >>a; git commit -qam more; git branch other; f() { echo .git/objects/$(git rev-parse $1 | sed 's,..,&/,'); }; "

FORGE = ("python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(b\"%s %d\" % (sys.argv[1].encode(), len(sys.argv[2])) + b\"\\0\" "
         "+ sys.argv[2].encode()))' ")


DAMAGE = {
    "a commit that is junk": "c=$(f HEAD); chmod 644 $c; echo junk >$c",
    "a file that is junk": "c=$(f HEAD:a); chmod 644 $c; echo junk >$c",
    "a tree that is missing": "rm -f $(f 'HEAD^{tree}')",
    "a file of another content than its name says": f"c=$(f HEAD:a); chmod 644 $c; {FORGE} blob other >$c",
    "a commit of another content than its name says": "c=$(f HEAD); chmod 644 $c; t=$(git rev-parse 'HEAD^{tree}'); "
                                                      f"{FORGE} commit \"$(git cat-file commit HEAD; echo more)\" >x; mv -f x $c",
    "a packed ref to junk": "git pack-refs --all; c=$(f HEAD); chmod 644 $c; echo junk >$c",
    "a pack that is cut off": "git rev-list --objects main ^main~1 | cut -d' ' -f1 | git pack-objects -q .git/objects/pack/pack; "
                              "git prune-packed -q; for p in .git/objects/pack/*.pack; do chmod 644 $p; truncate -s -25 $p; done",
}


def host_git(place, work):
    """How the host's git ends in there."""
    return [subprocess.run(words, cwd=work, env=place.environment, check=False, capture_output=True, timeout=60,
                           stdin=subprocess.DEVNULL).returncode
            for words in (["git", "for-each-ref"], ["git", "log", "--all", "--oneline"], ["git", "fsck", "--no-dangling"], ["git", "gc", "-q"])]


def damaged(place, number, act):
    """A ref that leads to something missing or damaged stands again where it stood, and git on the host works."""
    outside, work = (place.repository(f"damaged-{number}-{way}") for way in ("outside", "inside"))
    place.host("sh", "-euc", COMMITTED + act, cwd=outside)
    assert any(host_git(place, outside)), "the control"
    at = place.host("git", "rev-parse", "main", cwd=work)
    done = place.sh(work, COMMITTED + act)
    same((done.returncode, done.stderr.decode().count("leads to an object that is missing or damaged: it is set aside") > 0), (0, True))
    same((host_git(place, work), place.host("git", "rev-parse", "main", cwd=work)), ([0, 0, 0, 0], at))
    same(place.host("git", "for-each-ref", "--format=%(refname)", cwd=work), "refs/heads/main\n")


for number, (name, act) in enumerate(DAMAGE.items()):
    claim(f"refs: git on the host does not die of {name}")(lambda place, number=number, act=act: damaged(place, number, act))


@claim("the detached HEAD of a linked worktree that leads to something damaged stands again where it stood")
def test_damaged_worktree(place):
    work = place.repository("linked-head")
    place.host(*GIT, "worktree", "add", "-q", "--detach", "wt", cwd=work)
    at = place.host("git", "rev-parse", "HEAD", cwd=work / "wt")
    done = place.sh(work, "cd wt; echo more >>a; git commit -qam more; c=$(git rev-parse --git-path objects)/$(git rev-parse HEAD | sed 's,..,&/,'); "
                    "chmod 644 $c; echo junk >$c")
    assert b".git/worktrees/wt/HEAD leads to an object that is missing or damaged: it is set aside" in done.stderr, done.stderr
    same((host_git(place, work), place.host("git", "rev-parse", "HEAD", cwd=work / "wt")), ([0, 0, 0, 0], at))


@claim("a ref that is whole stays where the command put it, beside one that is set aside")
def test_damaged_beside(place):
    work = place.repository("beside", place.FLAGGED)
    done = place.sh(work, f"{EVIL}; echo good >good; git add good; git commit -qm good; git switch -qc bad; echo bad >bad; git add bad; "
                    "git commit -qm bad; c=.git/objects/$(git rev-parse HEAD:bad | sed 's,..,&/,'); git switch -q main; chmod 644 $c; echo junk >$c")
    same(sorted(place.host("git", "for-each-ref", "--format=%(refname:short)", cwd=work).split()), ["evil", "main"])
    same((host_git(place, work), place.host("git", "log", "-1", "--format=%s", "main", cwd=work)), ([0, 0, 0, 0], "good\n"))
    assert b"a commit that changes flagged files: " in done.stderr, done.stderr
