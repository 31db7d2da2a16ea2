"""A repository hides and pins what it wants, and what is hidden stays so."""
import os
import pathlib
import resource
import shutil
import subprocess

import scratch
from processes import children_of
from scratch import same, until

claim = scratch.Claims()


@claim("covers: what is hidden, by name or by pattern, or read-only, is so again when the host replaces it")
def test_covers_again(place):
    work, beside = place.repository("covers"), place.folder("covers beside")
    shown = place.folder("covers beside/sub")
    hidden = [work / "by-name", work / "by-pattern", shown / ".env", shown / ".env.d/key"]
    (shown / ".env.d").mkdir()
    for path in [*hidden, work / "narrow"]:
        path.write_text("old\n")
    script = ("import os, sys\nprint('up', flush=True)\ninput()\nfor path in sys.argv[1:]:\n"
              "    try: print(open(path, 'r+' if path.endswith('narrow') else 'r').read())\n"
              "    except OSError as why: print(type(why).__name__)\n")
    child = place.start(work, "python3", "-c", script, *map(str, hidden), str(work / "narrow"),
                        flags=("--hide", "by-name", "--hide", "by-pat*", "--read", "narrow", "--read", str(beside)))
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work), "the pins are watched")
    os.rename(shown / ".env.d", shown / "was")
    (shown / ".env.d").mkdir()
    hidden[0].unlink()  # and made anew a moment later
    for path in [*hidden, work / "narrow"]:
        (path.parent / "new").write_text("secret\n")
        os.rename(path.parent / "new", path)
    until(lambda: place.journal(work).count("pinned-again") >= 5, "all are covered again")
    out, err = child.communicate(b"\n", timeout=scratch.PATIENCE)
    same(out.split(), [b"PermissionError"] * 3 + [b"FileNotFoundError", b"OSError"])
    assert f"{work}/by-name was replaced from outside while it was hidden inside" in err.decode(), err
    same([path.read_text() for path in [*hidden, work / "narrow"]], ["secret\n"] * 5)


@claim("repository's policy: what it hides or makes read-only is still pinned again when the host replaces it, and compared")
def test_repository_hides_pins(place):
    for number, rule in enumerate(("hide .git/config", "read .git/config", "seal .git/con*", "hide .git/*")):
        work = place.repository(f"hides-pins-{number}")
        (work / ".bawn").write_text(rule + "\n")
        child = place.start(work, "sh", "-c", "echo up; read line; echo '[core] fsmonitor = evil' >>.git/config; cat .git/config")
        same(child.stdout.readline(), b"up\n")
        until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
        place.host("git", "config", "core.harmless", "1", cwd=work)
        until(lambda: "pinned-again" in place.journal(work), "it is pinned again")
        printed = child.communicate(b"\n", timeout=60)[0]
        assert b"harmless" in printed and b"evil" not in printed, (rule, printed)
        assert "evil" not in (work / ".git/config").read_text(), rule


@claim("repository's policy: what it hides or makes read-only is still flagged, live and at apply")
def test_repository_hides_flags(place):
    names = (".envrc", ".vscode/tasks.json", "sub/CLAUDE.md")
    # bawn may take a new folder away before the file is written: then there is no file to flag, and the shell says so.
    script = "".join(f"mkdir -p $(dirname {name}); if echo evil >{name}; then echo {name}; fi;" for name in names)
    for number, rule in enumerate(("hide **", "hide **/.envrc **/tasks.json **/CLAUDE.md", "read .envrc .vscode sub/CLAUDE.md",
                                   "seal .env* .vscode/* **/CLAUDE.md")):
        work = place.repository(f"hides-flags-{number}", {".bawn": rule + "\n"})
        written = place.sh(work, script).stdout.decode().split()
        same((rule, [name for name in names if (work / name).exists()]), (rule, []))
        same((rule, sorted(place.held(work))), (rule, sorted(written)))
        assert ".envrc" in written, written
        place.sh(work, script, flags=("--review",))
        place.host(place.bawn, "apply", cwd=work, check=False)
        same((rule, [name for name in names if (work / name).exists()]), (rule, []))


@claim("patterns: what they hide is found however deep it lies, also with few descriptors, or the run is refused")
def test_patterns_deep(place):
    work, shown = place.repository("above-deep"), place.folder("deep")
    folder = shown / "/".join(["d"] * 200)
    folder.mkdir(parents=True)
    for where in (shown / "d", folder):
        (where / ".env").write_text("secret\n")
    (folder / "plain").write_text("plain\n")
    script = f"find {shown} -name .env -size +0; cat {folder}/plain"
    # A run holds a descriptor for each thing that it shows, and how many those are depends on the machine.
    few = next(number for number in range(60, 1000, 4)
               if place.host("sh", "-c", f'ulimit -n {number}; exec "$@"', "sh", place.bawn, "--net", "off", "--", "echo", "on",
                             cwd=work, check=False) == "on\n")
    for limit in ("", f"ulimit -n {few + 8}; "):
        done = subprocess.run(["sh", "-c", f'{limit}exec "$@"', "sh", place.bawn, "--net", "off", "--read", str(shown), "--",
                               "sh", "-c", script], cwd=work, env=place.environment, capture_output=True, timeout=60, check=False)
        same((limit, done.stdout, done.stderr), (limit, b"plain\n", b""))
    os.chdir(folder)
    for _ in range(20):
        os.mkdir("e" * 250)
        os.chdir("e" * 250)
    os.chdir("/")
    done = place.inside(work, "true", flags=("--read", str(shown)))
    assert done.returncode == 125 and b"/deep has directories that are nested too deep to be searched for" in done.stderr, done
    shutil.rmtree(shown)


@claim("pins that the host made fall are made again also where bawn has no descriptor left")
def test_pins_without_descriptors(place):
    work = place.repository("no-descriptor")
    child = place.start(work, "sh", "-c", "echo up; read line")
    same(child.stdout.readline(), b"up\n")
    until(lambda: place.watches(child.pid, work / ".git"), "the pins are watched")
    before = resource.prlimit(child.pid, resource.RLIMIT_NOFILE)
    used = {int(name) for name in os.listdir(f"/proc/{child.pid}/fd")}
    free = min(set(range(len(used) + 1)) - used)
    resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (free, before[1]))
    place.host("git", "config", "core.harmless", "1", cwd=work)
    until(lambda: standing_mounts(place, child.pid, work / ".git/config"), "it is pinned again")
    resource.prlimit(child.pid, resource.RLIMIT_NOFILE, before)
    child.communicate(b"\n", timeout=60)
    same('"event":"pin-lost"' in place.journal(work), False)


def standing_mounts(place, supervisor, path):
    """Is something mounted at this path inside?"""
    first = children_of(supervisor)[0]
    return any(line.split()[4] == str(path) for line in pathlib.Path(f"/proc/{first}/mountinfo").read_text().splitlines())


@claim("the user's own hide: what is new at a flagged name is flagged all the same, by the rule that flags it")
def test_user_hides_flags(place):
    names = (".envrc", "sub/CLAUDE.md")
    script = "".join(f"mkdir -p $(dirname {name}); if echo evil >{name}; then echo {name}; fi;" for name in names)  # see above
    policy = place.home / ".config/bawn/policy.bawn"
    policy.parent.mkdir(parents=True, exist_ok=True)
    try:
        for number, rule in enumerate(("hide **/.envrc **/CLAUDE.md", "seal **/.env* sub/*")):
            policy.write_text(rule + "\n")
            work = place.repository(f"own-hides-{number}", {"mine/.envrc": "mine\n"})
            written = place.sh(work, script + "cat mine/.envrc && exit 1 || :").stdout.decode().split()
            same((rule, sorted(place.held(work)), ".envrc" in written), (rule, sorted(written), True))
            same((rule, (work / "mine/.envrc").read_text()), (rule, "mine\n"))
            place.sh(work, script, flags=("--review",))
            said = place.host(place.bawn, "apply", cwd=work, check=False)
            same((rule, [name for name in names if (work / name).exists()]), (rule, []))
            assert ".envrc: could run on your machine: shell file" in said, said
    finally:
        policy.unlink()
