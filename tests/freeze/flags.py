"""What would run on the host is held aside at the end, or asked about."""
import os
import re
import shutil
import time

import scratch
from ground import GIT
from scratch import same

claim = scratch.Claims()


@claim("flags: what is new is set aside where nobody is asked, and the rest is left alone")
def test_flag_held(place):
    work = place.repository("flags", place.FLAGGED)
    (work / ".claude").mkdir()
    (work / ".claude/settings.json").write_text("mine")
    done = place.sh(work, "for f in CLAUDE.md .github/workflows/ci.yml deep/er/AGENTS.md src/x.c .claude/settings.json; "
                    "do echo evil >>$f; done; echo new >GEMINI.md; mkdir .vscode; echo run >.vscode/tasks.json")
    same(done.returncode, 0)
    same(sorted(place.held(work)), [".claude/settings.json", ".github/workflows/ci.yml", ".vscode/tasks.json", "CLAUDE.md",
                                    "GEMINI.md", "deep/er/AGENTS.md"])
    same((work / ".claude/settings.json").read_text(), "mine")
    same(place.host("git", "status", "--short", cwd=work), " M src/x.c\n?? .claude/\n")


@claim("flags: --keep-flagged keeps them, and `bawn held --keep` brings back what was held")
def test_flag_kept(place):
    work = place.repository("kept", place.FLAGGED)
    same(place.sh(work, "echo evil >>CLAUDE.md", flags=("--keep-flagged",)).stderr, b"")
    same((work / "CLAUDE.md").read_text(), "one\nevil\n")
    place.sh(work, "echo more >>CLAUDE.md; echo new >GEMINI.md")
    same((work / "CLAUDE.md").read_text(), "one\nevil\n")
    session = place.host(place.bawn, "held", cwd=work).split("\n")
    name = [line.split()[0] for line in session if line.startswith("kept-")][-1]
    said = place.host(place.bawn, "held", "--keep", name, "CLAUDE.md", "GEMINI.md", cwd=work)
    same(said.splitlines()[:2], ["Put back ~/kept/CLAUDE.md.", "Put back ~/kept/GEMINI.md."])
    same((work / "CLAUDE.md").read_text(), "one\nevil\nmore\n")
    same((work / "GEMINI.md").read_text(), "new\n")
    same(place.held(work), {"CLAUDE.md": "one\nevil\n"})
    same(place.host(place.bawn, "held", name, cwd=work).split(), [name, f"~/kept/CLAUDE.md", "(held-2)"])
    place.host(place.bawn, "held", "--keep", name, cwd=work)  # all of it: once more the other way round
    same((work / "CLAUDE.md").read_text(), "one\nevil\n")
    same((place.held(work), sorted(os.listdir(work))), ({"CLAUDE.md": "one\nevil\nmore\n"}, sorted(
        [".git", ".github", "CLAUDE.md", "GEMINI.md", "a", "deep", "src"])))


@claim("deleted flags: where nobody is asked the file is brought back, with its folder, mode and content, and that is said")
def test_flag_removed(place):
    work = place.repository("removed", place.FLAGGED)
    (work / "untracked").mkdir()
    (work / "untracked/CLAUDE.md").write_text("mine\n")
    (work / "CLAUDE.md").chmod(0o600)
    files = ("CLAUDE.md", ".github/workflows/ci.yml", "deep/er/AGENTS.md", "untracked/CLAUDE.md")
    script = "rm -r .github deep untracked src; rm CLAUDE.md"
    copy = work.parent / "removed-copy"  # the control: without bawn they are gone
    shutil.copytree(work, copy)
    place.host("sh", "-c", script, cwd=copy)
    same([file for file in files if (copy / file).exists()], [])
    done = place.sh(work, script)
    same(done.returncode, 0)
    for file in files:
        same((file, f"{work / file}, a flagged file, was deleted: it is brought back" in done.stderr.decode()), (file, True))
    same([(work / file).read_text() for file in files], ["one\n", "ci\n", "deep\n", "mine\n"])
    same(oct((work / "CLAUDE.md").stat().st_mode & 0o777), "0o600")
    same(place.host("git", "status", "--short", cwd=work), " D src/x.c\n?? untracked/\n")
    same((place.held(work), '"restored"' in place.journals(work)), ({}, True))


@claim("deleted flags: a link or a file where the folder was is set aside, and the deleted file is back")
def test_flag_removed_in_the_way(place):
    for name, act in (("link", "mkdir -p new/workflows; mv .github old; ln -s new .github"), ("file", "mv .github old; echo >.github"),
                      ("dangling", "mv .github old; ln -s nowhere .github")):
        work = place.repository(f"in-the-way-{name}", place.FLAGGED)
        done = place.sh(work, act)
        same((name, (work / ".github").is_symlink(), (work / ".github/workflows/ci.yml").read_text()), (name, False, "ci\n"))
        said = f"bawn: {work}/.github was put where a directory with flagged files was: it is set aside."
        same((name, said in done.stderr.decode().splitlines(), "1 file is set aside" in done.stderr.decode()), (name, True, True))
    work = place.repository("in-the-way-before", place.FLAGGED)
    (work / ".github").rename(work / "old")
    os.symlink("old", work / ".github")
    place.sh(work, "rm .github/workflows/ci.yml")  # the control: a link that the user made stays
    same(((work / ".github").is_symlink(), place.held(work)), (True, {}))


@claim("deleted flags: a commit of the deletion does not make it one that the repository had; --keep-flagged leaves it")
def test_flag_removed_and_committed(place):
    work = place.repository("removed-commit", place.FLAGGED)
    done = place.sh(work, "git rm -q CLAUDE.md; git commit -qm gone")
    same(((work / "CLAUDE.md").read_text(), "was deleted: it is brought back" in done.stderr.decode()), ("one\n", True))
    place.sh(work, "rm CLAUDE.md", flags=("--keep-flagged",))
    same((work / "CLAUDE.md").exists(), False)


@claim("deleted flags: a checkout of a commit that has no such file, old or of another branch, is no deletion, nor a commit on top")
def test_flag_removed_by_checkout(place):
    work = place.repository("removed-checkout")
    for file, text in place.FLAGGED.items():
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        (work / file).write_text(text)
    place.host(*GIT, "branch", "old", cwd=work)
    place.host(*GIT, "add", ".", cwd=work)
    place.host(*GIT, "commit", "-qm", "second", cwd=work)
    for act in ("git checkout -q old", "git checkout -q main~1"):
        done = place.sh(work, act)
        same((act, done.stderr, (work / "CLAUDE.md").exists()), (act, b"", False))
        place.host("git", "checkout", "-q", "main", cwd=work)
    done = place.sh(work, "git checkout -q old; git commit -q --allow-empty -m new")
    same((done.stderr, (work / "CLAUDE.md").exists()), (b"", False))
    place.host("git", "checkout", "-q", "main", cwd=work)
    done = place.sh(work, "git checkout -q -b new main; git rm -q CLAUDE.md; git commit -q -m new")
    same(((work / "CLAUDE.md").exists(), "was deleted" in done.stderr.decode()), (True, True))  # the control


@claim("deleted flags: on a terminal it is shown and asked about; only a yes leaves it deleted")
def test_flag_removed_asked(place):
    for number, (answer, stays) in enumerate(((b"y\n", False), (b"\n", True))):
        work = place.repository(f"removed-asked-{number}", {"CLAUDE.md": "one\n"})
        printed, status = place.terminal(work, ("--net", "off", "--", "rm", "CLAUDE.md"), ("Leave it deleted?", answer))
        same((answer, status, (work / "CLAUDE.md").exists(), "  | one" in printed), (answer, 0, stays, True))


@claim("flags: a symbolic link at a flagged name does not hide what lies behind it")
def test_flag_link(place):
    work = place.repository("linked", {"conf/settings.json": "mine\n"})
    os.symlink("conf", work / ".claude")
    place.sh(work, "echo evil >.claude/settings.json")
    same(place.held(work), {"conf/settings.json": "evil\n"})
    same((work / "conf/settings.json").read_text(), "mine\n")


@claim("flags: committing new content does not make it one that the repository already had")
def test_flag_forged(place):
    work = place.repository("forged", place.FLAGGED)
    place.sh(work, "echo evil >CLAUDE.md; git -c user.name=t -c user.email=t@e commit -qam evil; "
             "o=$(git rev-parse HEAD:CLAUDE.md); touch -d 2001-01-01 .git/objects/$(echo $o | sed 's,..,&/,')")
    same(place.held(work), {"CLAUDE.md": "evil\n"})
    same((work / "CLAUDE.md").read_text(), "one\n")


@claim("nested repositories: named loudly, and what their configuration or hooks would run is set aside")
def test_flag_nested(place):
    work = place.repository("nested")
    done = place.sh(work, "git init -q lib/x; git -C lib/x config core.fsmonitor 'touch pwned'; "
                    "echo x >lib/x/.git/hooks/post-checkout; chmod +x lib/x/.git/hooks/post-checkout; "
                    "git init -q --bare some.git; git add lib 2>/dev/null || true")
    said = done.stderr.decode()
    same(f"the command left a new git repository: {work}/lib/x/.git." in said, True)
    same(f"the command left a new git repository: {work}/some.git." in said, True)
    same("git on your machine would run core.fsmonitor = touch pwned" in said, True)
    same(sorted(place.held(work)), ["lib/x/.git/config", "lib/x/.git/hooks/post-checkout"])
    place.host("git", "status", cwd=work)
    place.host("git", "-C", "lib/x", "status", cwd=work)
    same(list(work.rglob("pwned")), [])


@claim("frozen: a git directory of another name in the workspace, to which a .git file or link leads, and a worktree's in it")
def test_git_directory_of_another_name(place):
    for number, leads in enumerate(("echo gitdir: ./.bare >.git", "ln -s .bare .git",
                                    "mkdir -p .bare/worktrees/w; cp .bare/HEAD .bare/worktrees/w; "
                                    "echo ../.. >.bare/worktrees/w/commondir; echo gitdir: .bare/worktrees/w >.git")):
        work = place.repository(f"another-name-{number}")
        place.host("sh", "-euc", f"mv .git .bare; {leads}; git log", cwd=work)
        before = (work / ".bare/config").read_text()
        attack = "git config core.fsmonitor evil || true; echo evil >>.bare/config || true; echo x >.bare/hooks/x || true; " \
                 "mv .bare b || true; cat .bare/config || true; ls .bare/hooks || true"
        done = place.sh(work, attack)
        same((number, b"evil" in done.stdout, b"\nx\n" in done.stdout), (number, False, False))
        same((number, (work / ".bare/config").read_text()), (number, before))
        place.host("sh", "-c", attack, cwd=work)
        same((number, "evil" in "".join(p.read_text() for p in work.glob(".b*/config")) +
              "".join(p.read_text() for p in work.glob("b/config"))), (number, True))  # the control


@claim("hidden by a pattern: also in a folder that can be searched and not listed")
def test_hidden_in_what_cannot_be_listed(place):
    work = place.repository("unlisted")
    (work / "closed").mkdir()
    (work / "closed/x.secret").write_text("SECRET")
    # A group that is none inside: there modes count for the owner, too, whoever is root in a namespace of its own.
    groups = [54321] if os.geteuid() == 0 else [group for group in os.getgroups() if group != os.getgid()]
    os.chown(work / "closed", 54321 if os.geteuid() == 0 else -1, groups[0] if groups else -1)
    (work / "closed").chmod(0o711 if os.geteuid() == 0 else 0o311)
    same(place.inside(work, "cat", "closed/x.secret").stdout, b"SECRET")  # the control
    same(place.inside(work, "cat", "closed/x.secret", flags=("--hide", "**/*.secret")).stdout, b"")
    (work / "closed").chmod(0o755)


@claim("frozen: the configuration and hooks of a bare repository that is itself the workspace")
def test_bare_repository(place):
    work = place.folder("bare.git")
    place.host(*GIT, "init", "-q", "--bare", ".", cwd=work)
    attack = "git config core.fsmonitor evil || true; echo evil >>config || true; echo x >hooks/x || true; cat config; ls hooks"
    before = (work / "config").read_text()
    done = place.sh(work, attack + "; git rev-parse --git-dir; git hash-object -w --stdin </dev/null")
    same((done.returncode, b"evil" in done.stdout, b"x\n" in done.stdout.split()), (0, False, False))
    same(((work / "config").read_text(), (work / "hooks/x").exists(), (work / "commondir").exists()), (before, False, False))
    same("evil" in place.host("sh", "-c", attack, cwd=work), True)  # the control


@claim("nested repositories: a .git that leads out of the workspace goes, and what it leads to is not touched")
def test_flag_nested_elsewhere(place):
    other, work = place.repository("elsewhere-other"), place.repository("elsewhere")
    place.host("git", "config", "core.fsmonitor", f"touch {work}/pwned; false", cwd=other)
    (other / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    (other / ".git/hooks/pre-commit").chmod(0o755)
    (other / "config").write_text("Host *\n  not what git understands\n")
    ways = {"file": f"echo gitdir: {other}/.git >lib/.git", "link": f"ln -s {other}/.git lib/.git",
            "other": f"echo gitdir: {other} >lib/.git",
            "behind": f"ln -s {other}/.git .git/g; echo gitdir: ../.git/g >lib/.git"}
    for name, way in ways.items():
        place.host("sh", "-euc", f"mkdir -p lib; {way}; cd lib; git status || true", cwd=work)
        same((name, (work / "pwned").exists()), (name, name != "other"))  # the control
        place.host("rm", "-rf", "pwned", "lib", ".git/g", cwd=work)
        done = place.sh(work, f"mkdir -p lib; {way}")
        same((name, "what the configuration in" in done.stderr.decode()), (name, True))
        same((name, sorted(os.listdir(work / "lib"))), (name, []))
        same((name, sorted(p.name for p in other.glob(".git/hooks/pre-commit"))), (name, ["pre-commit"]))
        same((name, (other / ".git/config").exists(), (other / "config").exists()), (name, True, True))
        place.host("rm", "-rf", ".git/g", cwd=work)


@claim("nested repositories: a new link on the way from an old .git goes, too, if it leads out of the workspace")
def test_flag_nested_relinked(place):
    other, work = place.repository("relinked-other"), place.repository("relinked")
    place.host("git", "config", "core.fsmonitor", f"touch {work}/pwned; false", cwd=other)
    place.host("sh", "-euc", "git init -q .git/g; mkdir lib; echo gitdir: ../.git/g/.git >lib/.git", cwd=work)
    relink = f"rm -r .git/g; ln -s {other} .git/g"
    place.sh(work, relink)
    place.host("sh", "-c", "cd lib; git status || true", cwd=work)
    same(((work / "pwned").exists(), (work / ".git/g").is_symlink()), (False, False))
    place.host("sh", "-euc", f"ln -s {other} .git/g; cd lib; git status || true", cwd=work)
    same((work / "pwned").exists(), True)  # the control


THREE = "echo evil >>CLAUDE.md; echo new >GEMINI.md; mkdir .vscode; echo run >.vscode/tasks.json"


def asked(place, name, script, *answers):
    """What is printed, what is held, and what stays, of a run on a terminal that is answered so."""
    work = place.repository(name, {"CLAUDE.md": "one\n"})
    printed, status = place.terminal(work, ("--net", "off", "--", "sh", "-c", script), *answers)
    same((name, status), (name, 0))
    stays = [f for f in ("CLAUDE.md", "GEMINI.md", ".vscode/tasks.json") if (work / f).exists() and (work / f).read_text() != "one\n"]
    return printed, sorted(place.held(work)), stays


@claim("the question: each file is shown and asked about; only a yes keeps it")
def test_question_each(place):
    order = []
    printed, held, stays = asked(place, "asked-each", THREE, *[(place.QUESTION, answer) for answer in (b"y\n", b"\n", b"x\n")])
    for line in printed.splitlines():
        order += [name for name in ("CLAUDE.md", "GEMINI.md", ".vscode/tasks.json")
                  if f"/{name} is " in line and line.endswith("may run or obey it.")]
    same((sorted(order), stays, sorted(stays + held)), (sorted(order), order[:1], [".vscode/tasks.json", "CLAUDE.md", "GEMINI.md"]))
    for line in ("  | evil", "  | new", "  | run", "bawn: 2 files are set aside.", "bawn: 1 flagged file is kept."):
        same((line, line in printed), (line, True))


@claim("the question: one answer for all, to keep them or to hold them; the end of input and Ctrl-C hold them")
def test_question_all(place):
    every = [".vscode/tasks.json", "CLAUDE.md", "GEMINI.md"]
    for answer, kept in ((b"a\n", True), (b"s\n", False), (b"\x04", False), (b"\x03", False)):
        printed, held, stays = asked(place, f"asked-all-{answer[0]}", THREE, (place.QUESTION, answer))
        same((answer, printed.count("Keep it?"), sorted(held), sorted(stays)), (answer, 1, [] if kept else every, every if kept else []))


@claim("the question: each answer has a letter of its own, the first of its word, for a deleted file too")
def test_question_letters(place):
    gone = "Leave it deleted? [y]es, [a]ll, [N]o: bring it back, [b]ring all back: "
    for question in (place.QUESTION, gone):
        letters = re.findall(r"(\w*)\[(\w)\]", question)
        same((question, [before for before, _ in letters], len({letter.lower() for _, letter in letters})), (question, [""] * 4, 4))
    printed, held, stays = asked(place, "asked-letters", "rm CLAUDE.md", (gone, b"b\n"))
    same((printed.count("it is brought back"), held, stays), (1, [], []))


@claim("the question: what the terminal itself was made to answer, a colour, is no answer, whatever keys end a line by then")
def test_question_answered_by_terminal(place):
    script = "echo evil >CLAUDE.md; stty eol / kill :"
    colour = b"\033]11;rgb:aaaa/1111/2222\033\\"  # what many terminals answer to \033]11;?, and the command may set it
    printed, held, stays = asked(place, "asked-terminal", script, (place.QUESTION, colour + b"a\n", lambda: time.sleep(0.2)), ("", b"n\n"))  # this person is slow
    same(printed.count("Keep it?"), 1)
    same((held, stays), (["CLAUDE.md"], []))


@claim("the question: what was typed before it is no answer, and the terminal is one again, whatever the command did to it")
def test_question_typed_before(place):
    script = "echo evil >CLAUDE.md; stty raw -echo; printf 'ready\\033[8m'; while [ ! -e go ]; do sleep 0.01; done"
    work = place.repository("asked-before", {"CLAUDE.md": "one\n"})
    # Typed while the command runs, which does not read it; then the question, and a person's answer in a mode of lines.
    printed, status = place.terminal(work, ("--net", "off", "--", "sh", "-c", script),
                                     ("ready", b"y\ra\n", (work / "go").touch), (place.QUESTION, b"n\n"))
    same((status, (work / "CLAUDE.md").read_text()), (0, "one\n"))
    same((place.held(work), "is set aside" in printed), ({"CLAUDE.md": "evil\n"}, True))


@claim("the question: what is shown of a file cannot change the terminal, and is not more than a few lines")
def test_question_harmless(place):
    script = "{ printf '\\033[2J\\033]0;owned\\007\\342\\200\\256'; seq 100; } >GEMINI.md"
    printed, held, _ = asked(place, "asked-harmless", script, (place.QUESTION, b"n\n"))
    same(("\033" in printed, "\u202e" in printed, "\\x1b[2J" in printed, "  | 50" in printed, held),
         (False, False, True, False, ["GEMINI.md"]))
