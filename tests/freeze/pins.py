"""The host replaces what is frozen: it is pinned again, compared and told of."""
import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess

import scratch
from ground import GIT, ACT
from processes import children_of
from scratch import need, same, until

claim = scratch.Claims()


@claim("pins: a file that the host replaces is frozen again; what git does not run is kept")
def test_pin_again(place):
    work = place.repository("replaced")
    child = place.start(work, "python3", "-c", "import sys\nprint('up', flush=True)\n"
                        "for line in sys.stdin:\n"
                        "  try: open('.git/config', 'a').close(); print('open', flush=True)\n"
                        "  except OSError as why: print(why.errno, flush=True)\n")
    same(child.stdout.readline(), b"up\n")

    def tries():
        child.stdin.write(b"\n")
        child.stdin.flush()
        return child.stdout.readline().strip().decode()
    same(tries(), str(errno.EROFS))
    for number in range(5):
        place.host("git", "config", f"a.b{number}", "1", cwd=work)
        until(lambda: tries() == str(errno.EROFS), "it is frozen again")
    until(lambda: not zombies(place, child.pid), "those who pinned it again are gone")
    _, said = child.communicate(timeout=scratch.PATIENCE)
    same(said.decode(), f"bawn: {work}/.git/config was changed from outside while it was frozen inside: the change is kept, "
         "because git runs nothing new in it.\n")
    same(place.host("git", "config", "a.b4", cwd=work), "1\n")


def zombies(place, pid):
    """Children of a process that have ended, and that it has not asked after."""
    found = []
    for child in children_of(pid):
        with contextlib.suppress(OSError):  # it is gone by now
            found += [child] if pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z" else []
    return found


@claim("pins: what came into a file whose pin had fallen, and git would run, is set aside and the file restored")
def test_pin_settled(place):
    work = place.repository("settled")
    before = (work / ".git/config").read_text()
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    place.host("git", "config", "core.fsmonitor", "touch pwned", cwd=work)
    _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
    same((work / ".git/config").read_text(), before)
    same("and sets core.fsmonitor: bawn took that out and kept the rest" in said.decode(), True)
    same("fsmonitor" in place.held(work)[".git/config"], True)
    same((work / "pwned").exists(), False)


@claim("pins: whatever a busy writer gets into the moment of a fall, nothing that git runs stays")
def test_pin_race(place):
    work = place.repository("race")
    child = place.start(work, "python3", "-c", "print('up', flush=True)\nn = 0\nimport os\n"
                        "while not os.path.exists('stop'):\n"
                        "  try:\n"
                        "    with open('.git/config', 'a') as f: n += 1; f.write('[core]\\n\\tfsmonitor = evil\\n')\n"
                        "  except OSError: pass\nprint(n)\n")
    same(child.stdout.readline(), b"up\n")
    for number in range(20):
        place.host("git", "config", f"a.b{number}", "1", cwd=work, check=False)
    (work / "stop").write_text("")
    out, _ = child.communicate(timeout=scratch.PATIENCE)
    print(f"# the writer came through {out.decode().strip()} times in 20")
    same("evil" in (work / ".git/config").read_text(), False)


def held_texts(place, work):
    """All that is held for the configuration: each of them, and not the newest alone."""
    return [path.read_text() for top in place.state("sessions").glob(f"{work.name}-*/held*") for path in top.rglob("config")]


@claim("pins: a later change by which git would run something does not take the user's earlier ones back, and bawn says of nothing \"kept\" that is gone")
def test_pin_own_change(place):
    work = place.repository("own-change")
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    place.host("git", "remote", "add", "origin", "https://example.com/x.git", cwd=work)
    until(lambda: '"replaced"' in place.journal(work), "the remote has been judged")
    place.host("sh", "-euc", "git config user.name 'the user'; git config core.hooksPath .husky/_; git config user.email u@example.com", cwd=work)
    until(lambda: "hooksPath" not in (work / ".git/config").read_text(), "the hooks are taken out")
    place.host("git", "config", "alias.st", "status", cwd=work)
    until(lambda: "alias" not in place.host("git", "config", "--list", "--local", cwd=work), "the alias is taken out")
    _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
    now = {key: place.host("git", "config", "--local", "--default", "none", key, cwd=work).strip()
           for key in ("remote.origin.url", "user.name", "user.email", "core.hooksPath", "alias.st", "core.bare")}
    same(now, {"remote.origin.url": "https://example.com/x.git", "user.name": "the user", "user.email": "u@example.com",
               "core.hooksPath": "none", "alias.st": "none", "core.bare": "false"})
    said = said.decode()
    same(("the change is kept" in said, "sets core.hookspath: bawn took that out" in said, "sets alias.st: bawn took that out" in said,
          "restored" in said), (True, True, True, False))
    same(any("hooksPath = .husky/_" in text for text in held_texts(place, work)), True)


ASK_ITSELF = """
import socket, sys
print("up", flush=True)
sys.stdin.readline()
way = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
way.settimeout(15)
way.connect("/run/bawn/ask")
way.send(b"settings\\t" + sys.argv[1].encode() + b"\\tplease")
print(way.recv(4096).decode(), flush=True)
try: open(".git/config", "a").close()
except OSError as why: print(why.errno, flush=True)
sys.stdin.readline()
"""


def questions(place, work):
    return json.loads(place.host(place.bawn, "requests", "--json", cwd=work))


@claim("pins: settings that were taken out are asked about at once: a yes puts them in the place of earlier ones, a no does not, and nothing inside can ask")
def test_pin_asked(place):
    for number, (word, earlier, stays) in enumerate((("session", ["tools"], ".husky/_"), ("no", ["tools"], "tools"), ("no", [], "none"))):
        work = place.repository(f"asked-settings-{number}")
        for value in earlier:
            place.host("git", "config", "core.hooksPath", value, cwd=work)
        child = place.start(work, "python3", "-c", ASK_ITSELF, str(work / ".git/config"))
        same(child.stdout.readline(), b"up\n")
        until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
        place.host("git", "config", "core.hooksPath", ".husky/_", cwd=work)
        until(lambda: questions(place, work), "the user is asked")
        (asked,) = questions(place, work)
        same((asked["kind"], asked["object"], asked["says"].partition(";")[0]), ("settings", str(work / ".git/config"), "core.hookspath = .husky/_"))
        same(place.host("git", "config", "--default", "none", "core.hooksPath", cwd=work).split(), earlier or ["none"])
        place.host("git", "config", "user.name", "the user", cwd=work)  # what comes meanwhile stays as well
        place.host(place.bawn, "answer", f"{asked['session']}/{asked['id']}", word, cwd=work)
        until(lambda: place.host("git", "config", "--default", "none", "core.hooksPath", cwd=work).strip() == stays, "it is carried out")
        child.stdin.write(b"\n")
        child.stdin.flush()
        same((b"cannot be asked for" in child.stdout.readline(), child.stdout.readline()), (True, f"{errno.EROFS}\n".encode()))
        _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
        same([place.host("git", "config", "--default", "none", key, cwd=work).strip() for key in ("core.hooksPath", "user.name")], [stays, "the user"])
        same((work / ".git/config").read_text().count("hooksPath"), stays != "none")
        same(("and you kept it: core.hookspath = .husky/_" in said.decode(), "took that out" in said.decode()), (word == "session", word == "no"))


@claim("pins: on a terminal one line says at once what became of a change outside")
def test_pin_told(place):
    work = place.repository("told")
    printed, status = place.terminal(work, ("--net", "off", "--", "sh", "-c", "echo up; read x"),
                                     ("up", b"", lambda: place.host("git", "config", "user.name", "x", cwd=work)),
                                     ("the change is kept, because git runs nothing new in it (user.name)", b"\n"))
    same((status, printed.count("the change is kept")), (0, 2))  # once more at the end
    printed, status = place.terminal(work, ("--net", "off", "--", "sh", "-c", "echo up; until [ -e over ]; do sleep 0.1; done"),
                                     ("up", b"", lambda: place.host("git", "config", "alias.st", "x", cwd=work)),
                                     ("alias.st = x", b"", lambda: (place.host(place.bawn, "answer", "1", "no", cwd=work),
                                                                    (work / "over").touch())))
    same((status, "took that out" in printed), (0, True))


@claim("pins: a link that is put in the place of a frozen file is no configuration without settings")
def test_pin_link(place):
    for number, target in enumerate((";evil", "#evil", "[x]")):
        work = place.repository(f"link-{number}")
        before = (work / ".git/config").read_text()
        (work / ".git" / target).write_text(before + "[core]\n\tfsmonitor = evil\n")
        child = place.start(work, "sh", "-c", "echo up; read x")
        same(child.stdout.readline(), b"up\n")
        until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
        os.symlink(target, work / ".git/new")
        same(place.host("git", "config", "--file", ".git/new", "core.fsmonitor", cwd=work), "evil\n")  # the control: git follows it
        os.rename(work / ".git/new", work / ".git/config")
        until(lambda: not (work / ".git/config").is_symlink(), "it is taken away, while the command runs")
        _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
        same((target, (work / ".git/config").is_symlink(), (work / ".git/config").read_text()), (target, False, before))
        assert "bawn restored the earlier file" in said.decode(), said


@claim("pins: a process that opened the new file in the moment of the fall, or gave it another name, does not write what stays")
def test_pin_descriptor(place):
    work = place.repository("descriptor")
    holder = "import os, sys, time\nprint('up', flush=True)\nfile = None\n" \
             "while file is None:\n" \
             "  try:\n" \
             "    file = open('.git/config.lock', 'r+')\n" \
             "    os.link('.git/config.lock', '.git/objects/other')\n" \
             "  except OSError: pass\n" \
             "print('open', flush=True)\n" \
             "sys.stdin.readline()\n" \
             "evil = '[core]\\n\\tfsmonitor = evil\\n'\n" \
             "file.seek(0, 2); file.write(evil); file.flush()\n" \
             "try:\n" \
             "  with open('.git/objects/other', 'a') as other: other.write(evil)\n" \
             "except OSError: pass\n" \
             "print('written', flush=True)\nsys.stdin.readline()\n"
    child = place.start(work, "python3", "-c", holder)
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    lock = work / ".git/config.lock"
    lock.write_text((work / ".git/config").read_text() + "[a]\n\tb = 1\n")  # as git does it, but slowly: inside wins every race
    same(child.stdout.readline(), b"open\n")
    os.rename(lock, work / ".git/config")
    until(lambda: '"replaced"' in place.journal(work), "it has been judged")
    wanted = (work / ".git/config").read_text()
    child.stdin.write(b"\n")
    child.stdin.flush()
    same(child.stdout.readline(), b"written\n")
    same((place.host("git", "config", "--default", "none", "core.fsmonitor", cwd=work), (work / ".git/config").read_text()), ("none\n", wanted))
    same("fsmonitor" in place.held(work).get(".git/config", ""), False)
    child.communicate(b"\n", timeout=scratch.PATIENCE)
    same(place.host("git", "config", "a.b", cwd=work), "1\n")


GAPS = 1000 if scratch.EVERYTHING else 20

MANY = """
import os, sys
print("up", flush=True)
came, evil = 0, b"[core]\\n\\tfsmonitor = evil\\n"
while not os.path.exists("stop"):
    for name in sys.argv[1:]:
        try:
            file = os.open(name, os.O_WRONLY | os.O_APPEND)
            os.write(file, evil)
            os.close(file)
            came += 1
        except OSError:
            pass
print(came)
"""

# How a user changes the configuration outside, by the program that does it: words with the number of the change, and the setting that is there then.
LIBGIT2 = ("import pygit2, sys\n"
           "for number in sys.stdin:\n"
           "  try: pygit2.Repository('.').config['a.b' + number.strip()] = '1'; print('made', flush=True)\n"
           "  except pygit2.GitError as why: print(why, flush=True)\n")


VIM = ("vim", "-es", "-u", "NONE", "-i", "NONE", "-n", "-c")

ADD = ("-c", "call append('$', ['[a]', '\tb{} = 1'])", "-c", "wq", ".git/config")

RENAME = "{{ cat .git/config; printf '[a]\\n\\tb{} = 1\\n'; }} >.git/new; mv .git/new .git/config"

WAYS = {"git config": (("git", "config", "a.b{}", "1"), "a.b{}"),
        "git remote": (("git", "remote", "add", "r{}", "https://example.com/{}"), "remote.r{}.url"),
        "a file renamed over it": (("sh", "-euc", RENAME), "a.b{}")}


EDITORS = {"vim, renaming": ((*VIM, "set backupcopy=no", *ADD), "a.b{}"), "vim, in place": ((*VIM, "set backupcopy=yes", *ADD), "a.b{}")}


class Library:
    """A program that stays, as an editor does, and changes a setting when it is told to."""

    def __init__(self, environment, text):
        self.environment, self.text, self.child = environment, text, None

    def change(self, work, number):
        if not self.child:
            self.child = subprocess.Popen(["/usr/bin/python3", "-c", self.text], cwd=work, env=self.environment, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE)
        self.child.stdin.write(f"{number}\n".encode())
        self.child.stdin.flush()
        return self.child.stdout.readline() == b"made\n"

    def close(self):
        if self.child:
            self.child.communicate(timeout=scratch.PATIENCE)


AT_ONCE = 50  # in one run, which bawn ends where the host changes a file for ten seconds on end


def by_words(place, words):
    """A change by a program, which says whether it was made."""
    return lambda work, number: subprocess.run([word.format(number, number) for word in words], cwd=work, env=place.environment, check=False,
                                               capture_output=True, stdin=subprocess.DEVNULL, timeout=120).returncode == 0


def burst(place, work, change, numbers, names):
    """Quick changes by the user, while a writer in a run puts a setting into each of these files. Returns which were made, and how often it came through."""
    child = place.start(work, "python3", "-c", MANY, *names)
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    done = [number for number in numbers if change(work, number)]
    (work / "stop").write_text("")
    out, said = child.communicate(timeout=scratch.PATIENCE)
    (work / "stop").unlink()
    same((child.returncode, said if child.returncode else b""), (0, b""))
    return done, int(out)


def many(place, way, change, key, *names, gaps=GAPS):
    """Many quick changes, in bursts. Returns those that are lost, and what is held."""
    work = place.repository(f"own-{len(names)}-{way.replace(' ', '-')}")
    done, came = [], 0
    for first in range(0, gaps, AT_ONCE):
        made, through = burst(place, work, change, range(first, min(first + AT_ONCE, gaps)), names)
        done, came = done + [key.format(number) for number in made], came + through
    there = set(place.host("git", "config", "--list", "--local", "--name-only", cwd=work).split())
    held = held_texts(place, work)
    away = [name for name in done if name not in there]
    print(f"# {way}: the writer came through {came} times; of {gaps} changes {len(done)} were made, {len(away)} are not there")
    same((way, len(done) > gaps / 10, "core.fsmonitor" in there, came > 0 or "fsmonitor" not in "".join(held)), (way, True, False, True))
    return away, held


MOST_JUDGED = 9000  # about: git/running.c reads 10,000 settings. A slow machine leaves the writer time for more


def not_in(texts, names):
    """Those of these settings that are in none of the texts."""
    text = "".join(texts)
    return [name for name in names if f"\t{name.split('.')[-1]} = 1\n" not in text and f'"{name.split(".")[1]}"' not in text]


def not_flooded(place, away, held):
    """Those that are neither there nor in a file that was held as a whole, because the writer had put too much into it."""
    return not_in([text for text in held if text.count("fsmonitor") > MOST_JUDGED], away)


@claim("pins: of many quick changes that return 0 all stay, by git and by a rename, and nothing that a busy writer puts into each new file does")
def test_pin_own_many(place):
    for way, (words, key) in WAYS.items():
        same((way, not_flooded(place, *many(place, way, by_words(place, words), key, ".git/config"))), (way, []))


# An editor writes its file piece by piece: a look between two pieces can put a copy of half of it in its place. So it is no claim of each landing yet.
@claim("pins: of many quick changes by an editor that knows no lock all stay, and nothing that a busy writer puts into the file does", rare=True)
def test_pin_own_editors(place):
    need("vim")
    for way, (words, key) in EDITORS.items():
        same((way, not_flooded(place, *many(place, way, by_words(place, words), key, ".git/config", gaps=20))), (way, []))


@claim("pins: of many quick changes by libgit2 all stay, and nothing that a busy writer puts into each new file does")
def test_pin_own_library(place):
    place.need_libgit2()
    with contextlib.closing(Library(place.environment, LIBGIT2)) as library:
        same(not_flooded(place, *many(place, "libgit2", library.change, "a.b{}", ".git/config")), [])


@claim("pins: of changes into which a busy writer writes while git makes them none is lost: those that it spoiled are held")
def test_pin_own_lock(place):
    for way, (words, key) in WAYS.items():
        away, held = many(place, way, by_words(place, words), key, ".git/config", ".git/config.lock", ".git/new", gaps=max(20, GAPS // 4))
        same((way, not_in(held, away)), (way, []))


# What came into the configuration, and the command of the user's that then runs what the command wrote.
LEADS = (({"remote.origin.url": "./evil"}, ("push", "-q", "origin", "main")),
         ({"remote.origin.url": "evil"}, ("push", "-q", "origin", "main")),
         ({"remote.origin.url": "{work}/evil"}, ("push", "-q", "origin", "main")),
         ({"remote.origin.url": "file://{work}/evil"}, ("push", "-q", "origin", "main")),
         ({"remote.origin.pushurl": "evil"}, ("push", "-q", "origin", "main")),
         ({"branch.main.remote": "evil", "branch.main.merge": "refs/heads/main"}, ("push", "-q")),
         ({"branch.main.pushRemote": "./evil"}, ("-c", "push.default=current", "push", "-q")),
         ({"remote.pushDefault": "evil"}, ("-c", "push.default=current", "push", "-q")),
         ({"rebase.instructionFormat": "%s%nexec touch pwned"}, ("rebase", "-q", "--force-rebase", "HEAD~1")))


def with_evil(place, name):
    """A repository in which a command has put another one, with a hook."""
    work = place.repository(name)
    place.host(*GIT, "commit", "-q", "--allow-empty", "-m", "second", cwd=work)
    place.host(*GIT, "remote", "add", "origin", "https://127.0.0.1:1/x.git", cwd=work)
    place.host(*GIT, "init", "-q", "--bare", "evil", cwd=work)
    (work / "evil/hooks/pre-receive").write_text(f"#!/bin/sh\ntouch {work}/pwned\n")
    (work / "evil/hooks/pre-receive").chmod(0o755)
    return work


def set_all(place, work, settings):
    for key, value in settings.items():
        place.host("git", "config", key, value.format(work=work), cwd=work)


@claim("pins: an address that leads a push to a repository in the tree, and a list of git's that would execute a line, are taken out")
def test_pin_leads_here(place):
    for number, (settings, act) in enumerate(LEADS):
        control, work = with_evil(place, f"leads-{number}-control"), with_evil(place, f"leads-{number}")
        set_all(place, control, settings)
        place.host(*GIT, *act, cwd=control, check=False)
        same((settings, (control / "pwned").exists()), (settings, True))
        child = place.start(work, "sh", "-c", "echo up; read x")
        same(child.stdout.readline(), b"up\n")
        until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
        set_all(place, work, settings)
        key = next(iter(settings))
        until(lambda: place.host("git", "config", "--default", "none", key, cwd=work) != settings[key].format(work=work) + "\n", "it is taken out")
        place.host(*GIT, *act, cwd=work, check=False)
        same((settings, (work / "pwned").exists()), (settings, False))
        _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
        same((settings, f"and sets {key.lower()}" in said.decode().lower(), "kept the rest" in said.decode()), (settings, True, True))
        same(place.host("git", "config", "remote.origin.url", cwd=work), "https://127.0.0.1:1/x.git\n")


@claim("pins: where the address of a remote goes, its name does not lead a push to a directory of that name")
def test_pin_address_gone(place):
    for work in (with_evil(place, "gone-control"), with_evil(place, "gone")):
        os.rename(work / "evil", work / "origin")
        set_all(place, work, {"branch.main.remote": "origin", "branch.main.merge": "refs/heads/main"})
        child = place.start(work, "sh", "-c", "echo up; read x") if work.name == "gone" else None
        if child:
            same(child.stdout.readline(), b"up\n")
            until(lambda child=child, work=work: place.watches(child.pid, work / ".git"), "the pins are watched")
        place.host("git", "config", "--unset", "remote.origin.url", cwd=work)
        if child:
            until(lambda: place.host("git", "config", "--default", "none", "branch.main.remote", cwd=work) == "none\n", "it is taken out")
        place.host(*GIT, "push", "-q", cwd=work, check=False)
        same((work.name, (work / "pwned").exists()), (work.name, not child))
        if child:
            child.communicate(b"\n", timeout=scratch.PATIENCE)


@claim("pins: a remote without an address does not lead a fetch of all remotes to a directory of that name")
def test_pin_remote_without_address(place):
    for name in ("nameless-control", "nameless"):
        work = with_evil(place, name)
        place.host(*GIT, "push", "-q", "./evil", "main", cwd=work)
        place.host(*GIT, "remote", "remove", "origin", cwd=work)
        child = place.start(work, "sh", "-c", "echo up; read x") if name == "nameless" else None
        if child:
            same(child.stdout.readline(), b"up\n")
            until(lambda child=child, work=work: place.watches(child.pid, work / ".git"), "the pins are watched")
        place.host("git", "config", "remote.evil.fetch", "+refs/heads/*:refs/remotes/evil/*", cwd=work)
        if child:
            until(lambda work=work: place.host("git", "config", "--default", "none", "remote.evil.fetch", cwd=work) == "none\n", "it is taken out")
        place.host(*GIT, "fetch", "-q", "--all", cwd=work, check=False)
        same((name, place.host("git", "for-each-ref", "--format=%(refname)", "refs/remotes", cwd=work)),
             (name, "" if child else "refs/remotes/evil/main\n"))
        if child:
            child.communicate(b"\n", timeout=scratch.PATIENCE)


@claim("pins: remotes on other machines, their branches and a branch's own repository stay, whoever set them")
def test_pin_own_addresses(place):
    work = place.repository("addresses")
    child = place.start(work, "sh", "-c", "echo up; read x")
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    for words in (("remote", "add", "origin", "git@example.com:acme/app.git"), ("remote", "add", "up", "https://example.com/app.git"),
                  ("branch", "topic"), ("branch", "-q", "--set-upstream-to", "main", "topic"), ("config", "branch.main.remote", "origin"),
                  ("config", "branch.main.merge", "refs/heads/main"), ("config", "branch.main.vscode-merge-base", "origin/main"),
                  ("remote", "rename", "up", "upstream"), ("remote", "set-url", "upstream", "ssh://git@example.com/app.git"),
                  ("config", "remote.pushDefault", "upstream"), ("branch", "-m", "topic", "subject")):
        until(lambda words=words: subprocess.run(("git", *words), cwd=work, env=place.environment, capture_output=True, check=False,
                                                 stdin=subprocess.DEVNULL, timeout=120).returncode == 0, f"git {words} is done")
    _, said = child.communicate(b"\n", timeout=scratch.PATIENCE)
    now = {key: place.host("git", "config", "--local", "--default", "none", key, cwd=work).strip()
           for key in ("remote.origin.url", "remote.upstream.url", "remote.pushDefault", "branch.main.remote", "branch.main.vscode-merge-base",
                       "branch.subject.remote")}
    same(now, {"remote.origin.url": "git@example.com:acme/app.git", "remote.upstream.url": "ssh://git@example.com/app.git",
               "remote.pushDefault": "upstream", "branch.main.remote": "origin", "branch.main.vscode-merge-base": "origin/main",
               "branch.subject.remote": "."})
    same("took that out" in said.decode(), False)


@claim("pins: a bawn that is killed while it has git's lock leaves it to the next one, which removes it and says so; a lock of git's stays")
def test_pin_lock_killed(place):
    inject = pathlib.Path(place.bawn).with_name("faults-inject")

    def change(name, *fault):
        work, report = place.repository(name), place.home / f"{name}-calls"
        child = subprocess.Popen([inject, report, *fault, "--", place.bawn, "--net", "off", "--", "sh", "-c", "echo up; read x"], cwd=work,
                                 env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        same(child.stdout.readline(), b"up\n")
        (work / ".git/new").write_text((work / ".git/config").read_text() + "[a]\n\tb = 1\n")
        os.rename(work / ".git/new", work / ".git/config")
        until(lambda: '"replaced"' in place.journal(work) or child.poll() is not None, "it has been judged, or bawn is killed")
        child.communicate(b"\n", timeout=scratch.PATIENCE)
        return work, report.read_text()
    work, calls = change("lock-control")
    same((work / ".git/config.lock").exists(), False)
    renamed = re.findall(r"(?m)^launcher renameat2 (\d+) (.*)", calls)
    exchange = next(nth for wanted in ("config.lock", "config.bawn-held-") for nth, name in renamed if name.startswith(wanted))
    work, _ = change("lock-killed", "launcher", "renameat2", exchange, "KILL")
    same(((work / ".git/config.lock").exists(), "File exists" in fails(place, work, "git", "config", "a.c", "1")), (True, True))
    lock = (work / ".git/config.lock").stat()
    said = place.next_command(work, "sessions")
    same((lock.st_size, said.count(f"bawn: removed {work}/.git/config.lock, which an earlier bawn left when it was killed."),
          (work / ".git/config.lock").exists()), (3, 1, False))
    place.host("git", "config", "a.c", "1", cwd=work)
    same([place.host("git", "config", f"a.{name}", cwd=work) for name in "bc"], ["1\n", "1\n"])
    work, _ = change("lock-of-git", "launcher", "renameat2", exchange, "KILL")
    os.unlink(work / ".git/config.lock")
    (work / ".git/config.lock").write_text("")  # git's own, since then
    same((f"removed {work}/.git/config.lock" in place.next_command(work, "sessions"), (work / ".git/config.lock").exists()), (False, True))


def fails(place, work, *words):
    done = subprocess.run(words, cwd=work, env=place.environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=120)
    same(done.returncode != 0, True)
    return done.stderr


@claim("pins: a directory that the host replaces is frozen again")
def test_pin_directory(place):
    work = place.repository("hooks-replaced")
    child = place.start(work, "sh", "-c", 'read go; exec "$@"', "-", "python3", "-c", ACT, "make", ".git/hooks/x")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    shutil.copytree(work / ".git/hooks", work / ".git/hooks-new")
    os.rename(work / ".git/hooks", work / ".git/hooks-old")
    os.rename(work / ".git/hooks-new", work / ".git/hooks")
    until(lambda: "pinned-again" in place.journal(work), "it is pinned again")
    out, _ = child.communicate(b"go\n", timeout=scratch.PATIENCE)
    same(out, b"EROFS\n")
    same((work / ".git/hooks/x").exists(), False)
