"""Ways around the flags, and what a git directory may hold."""
import subprocess

import judged
import scratch
from ground import GIT
from scratch import same

claim = scratch.Claims()

# Name: what lies there before, what an earlier run does (nothing of it is flagged), what the run does, and what a
# program on the host then does, which prints "evil" or leaves `pwned` where it is led astray.
GIT_DIR = "git init -q t; mv t/.git {0}; rm -r t; printf '[core]\\n\\tfsmonitor = touch pwned; false\\n" \
          "\\trepositoryformatversion = 0\\n\\tbare = false\\n' >{0}/config; "


AROUND = {
    "a folder that can be searched but not listed": (
        "", "", "mkdir .claude; echo evil >.claude/settings.json; chmod 0111 .claude", "cat .claude/settings.json"),
    "one above it that cannot be listed": (
        "", "", "mkdir -p d/.claude; echo evil >d/.claude/settings.json; chmod 0111 d", "cat d/.claude/settings.json"),
    "one above it that can be listed and not be searched": (
        "", "", "mkdir -p d/.claude; echo evil >d/.claude/settings.json; chmod 0444 d",
        "chmod u+x d; cat d/.claude/settings.json"),
    "a workspace that cannot be listed": ("", "", "echo evil >CLAUDE.md; chmod 0111 .", "cat CLAUDE.md"),
    "a repository that cannot be searched": (
        "", "", GIT_DIR.format("g") + "mkdir lib; mv g lib/.git; chmod 0444 lib/.git", "chmod u+x lib/.git; cd lib; git status"),
    "a folder from which nothing can be taken": (
        "", "", "mkdir .claude; echo evil >.claude/settings.json; chmod 0555 .claude", "cat .claude/settings.json"),
    "far down in a flagged folder": (
        "", "", "mkdir -p .claude/1/2/3/4/5/6/7/8/9/10/11/12; echo evil >.claude/1/2/3/4/5/6/7/8/9/10/11/12/x",
        "cat .claude/1/2/3/4/5/6/7/8/9/10/11/12/x"),
    "among thousands of files": (
        "", "", "mkdir .claude; cd .claude; seq 5000 | xargs touch; for i in 1 2 3 4 5 6 7 8 9; do echo evil >s$i; done",
        "cat .claude/s*"),
    "an old folder under a new name": ("", "mkdir x; echo evil >x/settings.json", "mv x .claude", "cat .claude/settings.json"),
    "a chain of links": (
        "mkdir -p c/d; ln -s c b; ln -s b/d .claude", "", "echo evil >c/d/settings.json", "cat .claude/settings.json"),
    "a link in a flagged folder": (
        "mkdir .claude; echo mine >conf; ln -s ../conf .claude/settings.json", "", "echo evil >conf",
        "cat .claude/settings.json"),
    "a hook that was there and did not run": (
        "mkdir .githooks; echo echo evil >.githooks/x; git add .; git commit -qm x", "", "chmod +x .githooks/x",
        "test -x .githooks/x && .githooks/x"),
    "content that an earlier run put into the store": (
        "", "echo evil | git hash-object -w --stdin", "echo evil >CLAUDE.md", "cat CLAUDE.md"),
    "content of another file of the repository": (
        "echo evil >notes; git add notes; git commit -qm notes", "", "cp notes CLAUDE.md", "cat CLAUDE.md"),
    "a commit that no branch has": (
        "", "echo evil >x; t=$(git hash-object -w x); rm x; t=$(printf '100644 blob %s\\tCLAUDE.md\\n' $t | git mktree); "
        "git commit-tree -m x $t >c", "git checkout -q $(cat c) -- CLAUDE.md", "cat CLAUDE.md"),
    "a history that is made up": (
        "", "", "echo evil >CLAUDE.md; git add .; git commit -qm x; mkdir -p .git/info; "
        "echo $(git rev-parse HEAD~1 HEAD) >.git/info/grafts; git reset -q HEAD~1", "cat CLAUDE.md"),
    "a history that is replaced": (
        "", "", "echo evil >CLAUDE.md; git add .; git commit -qm x; git replace HEAD~1 HEAD; git reset -q HEAD~1 || true",
        "cat CLAUDE.md"),
    "a repository whose parts lie elsewhere": (
        "", "", GIT_DIR.format("g") + "mkdir -p lib/.git; mv g/HEAD lib/.git; echo ../../g >lib/.git/commondir",
        "cd lib; git status"),
    "a repository that an earlier run prepared": (
        "", GIT_DIR.format("g") + "rm g/HEAD", "mkdir lib; mv g lib/.git; echo ref: refs/heads/main >lib/.git/HEAD",
        "cd lib; git status"),
    "a new submodule": (
        "", "", "mkdir -p .git/modules sub; " + GIT_DIR.format(".git/modules/sub") +
        "echo gitdir: ../.git/modules/sub >sub/.git", "cd sub; git status"),
    "a repository in a folder of git's own": (
        "", "", GIT_DIR.format(".git/g") + "mkdir lib; echo gitdir: ../.git/g >lib/.git", "cd lib; git status"),
    "one that an earlier run has made the way to": (
        "", "mkdir lib; echo gitdir: ../.git/g >lib/.git", GIT_DIR.format(".git/g"), "cd lib; git status"),
    "a folder on the way that is a link": (
        "", "", "mkdir c; echo evil >c/config.toml; ln -s c .cargo", "cat .cargo/config.toml"),
    "settings of Mercurial, whose hooks they name": ("mkdir .hg", "", "echo evil >.hg/hgrc", "cat .hg/hgrc"),
    "a toolchain of its own": ("", "", "printf '[toolchain]\\npath = \"evil\"\\n' >rust-toolchain.toml", "cat rust-toolchain.toml"),
    "settings of jj": ("mkdir -p .jj/repo", "", "echo evil >.jj/repo/config.toml", "cat .jj/repo/config.toml"),
    "a large file": (
        "", "", "head -c 3000000 /dev/zero >CLAUDE.md; echo evil >>CLAUDE.md", "tail -c 5 CLAUDE.md"),
    "a rebase that waits to go on": (
        "", "", "mkdir .git/rebase-merge; cd .git/rebase-merge; echo exec touch pwned >git-rebase-todo; echo refs/heads/main "
        ">head-name; git rev-parse HEAD | tee onto >orig-head; : >interactive; echo 1 | tee msgnum >end; : >done",
        "git rebase --continue"),
}


def led_astray(place, work, words):
    done = subprocess.run(["sh", "-c", words], cwd=work, env=place.environment, check=False, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    return b"evil" in done.stdout or bool(list(work.rglob("pwned")))


def around(place, number, before, earlier, act, use):
    outside, inside = (place.repository(f"around-{number}-{way}") for way in ("outside", "inside"))
    for work in (outside, inside):
        place.host("sh", "-euc", before, cwd=work)
    place.host("sh", "-euc", f"{earlier}\n{act}", cwd=outside)
    same(led_astray(place, outside, use), True)  # the control
    if earlier:
        same((place.sh(inside, earlier).returncode, place.held(inside)), (0, {}))
    done = place.sh(inside, act)
    same((done.returncode, b"set aside" in done.stderr), (0, True))
    same(led_astray(place, inside, use), False)
    for work in (outside, inside):
        place.host("chmod", "-R", "u+rwx", ".", cwd=work)


for number, (name, ways) in enumerate(AROUND.items()):
    claim(f"flags: no way around them by {name}")(lambda place, number=number, ways=ways: around(place, number, *ways))
for number, (name, ways) in enumerate(judged.ATTACKS.items()):
    claim(f"git directories: held is {name}")(lambda place, number=number, ways=ways: around(place, f"judged-{number}", *ways))


def everyday(place, number, before, act, use):
    work = place.repository(f"everyday-{number}")
    place.host("sh", "-euc", before, cwd=work)
    done = place.sh(work, f"({act}) >&2\n({use}) 2>/dev/null")
    told = [line for line in done.stderr.decode().splitlines() if "held" in line or "lock" in line]
    same((done.returncode, told, place.held(work)), (0, [], {}))
    same(place.host("sh", "-euc", use, cwd=work), done.stdout.decode())


for number, (name, ways) in enumerate(judged.EVERYDAY.items()):
    claim(f"git directories: not held is {name}")(lambda place, number=number, ways=ways: everyday(place, number, *ways))


@claim("git directories: what was there before is back, and HEAD leads to a branch; what is held can be brought back after a look")
def test_judged_restored(place):
    work = place.repository("judged-restored")
    head = place.host("git", "rev-parse", "HEAD", cwd=work)
    place.sh(work, "git switch -qc side; rm .git/refs/heads/side; ln -s ../../../evil .git/refs/heads/side; echo x >.git/refs/heads/main; echo x >.git/index")
    same((place.host("git", "rev-parse", "HEAD", cwd=work), place.host("git", "status", "--porcelain", "-b", cwd=work)), (head, "## main\n"))
    done = place.sh(work, "git rebase -q -x 'touch evil; false' --root || true")
    want = f"`bawn held --keep {work.name}-2 {work}/.git/rebase-merge` brings it back after a look"
    same((want in done.stderr.decode(), (work / ".git/rebase-merge").exists()), (True, False))
    place.host(place.bawn, "held", "--keep", f"{work.name}-2", f"{work}/.git/rebase-merge", cwd=work)
    same((work / ".git/rebase-merge/git-rebase-todo").exists(), True)
    same(place.sh(work, "true").stderr, b"")  # it was there before, byte for byte


@claim("git directories: an unfinished rebase that is held counts as one folder, with the number of its files")
def test_judged_counted(place):
    work = place.repository("judged-counted", {"CLAUDE.md": "one\n"})
    done = place.sh(work, "git rebase -q -x 'touch evil; false' --root || true; echo more >>CLAUDE.md")
    files = [name for name in place.held(work) if name.startswith(".git/rebase-merge/")]
    counts = [line for line in done.stderr.decode().splitlines() if "set aside. `bawn held" in line]
    same((len(files) > 5, counts), (True, [f"bawn: 1 file and 1 folder ({len(files)} files) are set aside. `bawn held {work.name}-1` lists them, "
                                           f"`bawn held --keep {work.name}-1` puts them back."]))


@claim("git directories: a HEAD that was moved away is back at the end")
def test_judged_head(place):
    work = place.repository("judged-head")
    done = place.sh(work, "rm .git/HEAD")
    same(("HEAD is back as it was at the start" in done.stderr.decode(), place.host("git", "status", "--porcelain", "-b", cwd=work)), (True, "## main\n"))


@claim("git directories: a linked worktree's, and that of its repository outside the workspace, are judged too, and are brought back")
def test_judged_linked(place):
    main = place.repository("judged-main")
    linked = main.parent / "judged-linked"
    place.host(*GIT, "worktree", "add", "-q", "-b", "side", str(linked), cwd=main)
    head = place.host("git", "rev-parse", "HEAD", cwd=main)
    place.sh(linked, f"echo x >a; git commit -qam x; cd {main}/.git; echo evil >refs/heads/main; rm -f packed-refs; mkfifo packed-refs; "
             f"ln -sf ../../config worktrees/{linked.name}/COMMIT_EDITMSG; echo /tmp/evil/.git >worktrees/{linked.name}/gitdir")
    same((place.host("git", "rev-parse", "main", cwd=main), (main / ".git/packed-refs").exists()), (head, False))
    same((place.host("git", "log", "-1", "--format=%s", cwd=linked), place.host("git", "status", "--porcelain", cwd=linked)), ("x\n", ""))
    same((main / f".git/worktrees/{linked.name}/gitdir").read_text(), f"{linked}/.git\n")
    same((main / f".git/worktrees/{linked.name}/COMMIT_EDITMSG").is_symlink(), False)


@claim("git directories: a repository in a tree that a `write` rule opens in a closed workspace is found")
def test_judged_in_write_trees(place):
    script = "mkdir -p d/lib; " + GIT_DIR.format("d/g") + "mv d/g d/lib/.git"
    outside, work = place.repository("judged-open-control"), place.repository("judged-open")
    (work / "d").mkdir()
    place.host("sh", "-euc", script, cwd=outside)
    same(led_astray(place, outside, "cd d/lib; git status"), True)  # the control
    done = place.sh(work, script.replace(" t;", " d/t;").replace(" t/", " d/t/").replace("rm -r t", "rm -r d/t"),
                    flags=("--read", str(work), "--write", str(work / "d")))
    same((done.returncode, b"set aside" in done.stderr), (0, True))
    same(led_astray(place, work, "cd d/lib; git status"), False)


@claim("links in the work tree that lead into a git directory or to a frozen path are named, in a pipe too; others are not")
def test_judged_links(place):
    work = place.repository("judged-links", {"src/x": "x\n"})
    done = place.sh(work, "ln -s .git/config one; ln -s .git two; ln -s src three; ln -s ../.git/hooks src/four")
    told = sorted(line.split(": ")[2].split(".")[0] for line in done.stderr.decode().splitlines() if "a link to a frozen file or a file of git" in line)
    same(told, [f"{work}/{name}" for name in ("one", "src/four", "two")])


@claim("a git lock file that is left behind is named, and stays")
def test_judged_locks(place):
    work = place.repository("judged-locks")
    done = place.sh(work, ": >.git/index.lock")
    same(("a git lock file" in done.stderr.decode(), (work / ".git/index.lock").exists()), (True, True))
