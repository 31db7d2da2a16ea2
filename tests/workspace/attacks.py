"""Attacks on the side that is not sandboxed: on diff, apply and undo."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import scratch
from scratch import PATIENCE, Project, same

claim = scratch.Claims()
MANY = 20_000 if scratch.SANITIZED else 200_000

# Exchanges two names again and again.
SWAP = """
import ctypes, sys, time
libc, names = ctypes.CDLL(None), [name.encode() for name in sys.argv[1:]]
while libc.renameat2(-100, names[0], -100, names[1], 2) == 0:
    time.sleep(0.0001)
"""


class Outside:
    """A folder beside the workspaces, with a secret in it, to which attacks lead. It is the same one for all of them."""

    def __init__(self, place):
        self.path = place.folder("outside")
        self.secret = self.path / "secret"
        if not self.secret.exists():
            self.secret.write_text("secret\n")

    def is_unharmed(self):
        same([sorted(os.listdir(self.path)), self.secret.read_text()], [["secret"], "secret\n"])


@claim("attack: a link in the place of a folder does not lead an apply out of the workspace")
def test_link_for_folder(place):
    outside = Outside(place)
    project = Project(place, "link")
    project.inside("echo inside >b/c; echo inside >b/secret", "--review")
    shutil.rmtree(project.path / "b")
    (project.path / "b").symlink_to(outside.path)
    project.bawn("apply", "--allow-risky", status=1)
    outside.is_unharmed()
    same(os.readlink(project.path / "b"), str(outside.path))
    project.bawn("apply", "--allow-risky", "--theirs")
    outside.is_unharmed()
    same((project.path / "b").is_symlink(), False)


@claim("attack: a link that the session left in the place of a folder is not followed by an undo")
def test_planted_link(place):
    outside = Outside(place)
    project = Project(place, "planted")
    project.inside(f"rm -r b; ln -s {outside.path} b")
    project.bawn("undo")
    outside.is_unharmed()
    same(project.read("b/c"), "two\n")


@claim("attack: a folder swapped for a link again and again while an apply runs")
def test_swapped_folder(place):
    outside = Outside(place)
    project = Project(place, "swap")
    project.inside("mkdir s; for i in $(seq 300); do echo $i >s/$i; done; ln -s x t", "--review")
    (project.path / "aside").symlink_to(outside.path)
    stop = project.path / "stop"
    swapper = subprocess.Popen(
        ["sh", "-c", "while ! test -e stop; do mv -T s x 2>/dev/null && mv -T aside s && mv -T s aside; "
         "mv -T x s 2>/dev/null; done"], cwd=project.path)
    for _ in range(5):
        subprocess.run([place.bawn, "apply", "--theirs", "--yes"], cwd=project.path, env=place.environment,
                       stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE)
    stop.touch()
    swapper.wait(timeout=PATIENCE)
    outside.is_unharmed()


@claim("attack: a link that another run planted above the workspace leads neither an undo nor an apply elsewhere")
def test_link_above_workspace(place):
    for name, flags, verb in (("above-undo", (), "undo"), ("above-apply", ("--review",), "apply")):
        project, around = Project(place, f"{name}/parts/app"), place.folder(f"work/{name}")
        twin = Project(place, f"{name}-elsewhere/app")
        project.inside("echo inside >a; echo new >n", *flags)
        if verb == "undo":  # as the session left it: nothing that would be a conflict
            for file in ("a", "n"):
                shutil.copy2(project.path / file, twin.path / file)
        before = twin.looks()
        place.out("sh", "-ec", f"mv parts was; ln -s ../{name}-elsewhere parts", cwd=around)
        session = "app-1" if verb == "undo" else "app-3"  # its undo was a session too
        text = project.bawn(verb, session, status=125)
        assert "lies behind, a symbolic link" in text, text
        same(twin.looks(), before)
        os.unlink(around / "parts")
        os.rename(around / "was", around / "parts")
        project.bawn(verb, session)
        same((project.read("a"), (project.path / "n").exists()),
             ("one\n", False) if verb == "undo" else ("inside\n", True))


@claim("attack: a folder above a grant, swapped for a link while runs start, shows nothing else in its place")
def test_swapped_above_grant(place):
    around = place.folder("work/above-grant")
    for folder, text in (("work/above-grant/parts/app", "granted"), ("work/above-grant-elsewhere/app", "secret")):
        (place.folder(folder) / "file").write_text(text)
    (around / "aside").symlink_to("../above-grant-elsewhere")
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, "parts", "aside"], cwd=around)
    project = Project(place, "beside-grant")
    shown, seen = around / "parts/app/file", []
    try:
        for _ in range(60):
            done = place.run("sh", "-c", f"test -L '{around}/parts' || cat '{shown}'", cwd=project.path,
                             flags=("--net", "off", "--read", str(shown.parent)))
            seen.append(done.stdout)
    finally:
        swapper.kill()
        swapper.wait(timeout=PATIENCE)
    assert b"granted" in seen and b"secret" not in seen, (seen.count(b"granted"), seen.count(b"secret"))


@claim("attack: a hard link to a file outside cannot be made, and a link to it is not read")
def test_hard_link(place):
    outside = Outside(place)
    project = Project(place, "hard")
    done = place.run("sh", "-c", f"ln {outside.secret} stolen; ln -s {outside.secret} link", cwd=project.path,
                     flags=("--net", "off", "--review"))
    assert b"ln: " in done.stderr, done.stderr
    same(project.bawn("diff", "--name-only"), "link\n")
    assert "\n+secret" not in project.bawn("diff"), "the link was followed"


@claim("attack: a sparse file of a terabyte costs no disk, and its holes are not read")
def test_sparse(place):
    project = Project(place, "terabyte")
    project.inside("truncate -s 1T huge; printf end >>huge", "--review")
    project.bawn("apply")
    status = (project.path / "huge").stat()
    same((status.st_size, status.st_blocks < 10000), ((1 << 40) + 3, True))
    project.bawn("undo")  # a terabyte that is read is hours: the suite's own limit ends it


@claim("attack: what is another name of a file in the session does not become one of the user's that looks like it")
def test_another_name(place):
    for paths in (["z"], []):
        project = Project(place, f"alias-{len(paths)}")
        project.inside("touch -r a /tmp/a; echo ONE >a; touch -r /tmp/a a; ln a z", "--review")
        project.bawn("apply", *paths)
        linked = (project.path / "a").stat().st_ino == (project.path / "z").stat().st_ino
        same((project.read("a"), project.read("z"), linked), ("one\n" if paths else "ONE\n", "ONE\n", not paths))


@claim("attack: set-id bits do not come out of a review")
def test_set_id(place):
    project = Project(place, "setid")
    project.inside("echo x >tool; chmod 6755 tool", "--review")
    project.bawn("apply", "--allow-risky")
    same(oct((project.path / "tool").stat().st_mode & 0o7777), "0o755")
    for name in ("kept", "changed"):
        project.write(name, "x\n", 0o4755)
    project.inside("touch -d 2001-01-01 kept; echo evil >changed; chmod 4755 changed", "--review")
    project.bawn("apply", "--allow-risky")
    same([oct((project.path / name).stat().st_mode & 0o7777) for name in ("kept", "changed")], ["0o4755", "0o755"])
    same(project.read("changed"), "evil\n")


@claim("attack: names and contents do not steer the terminal of whoever looks at them")
def test_terminal(place):
    project = Project(place, "names")
    project.inside(r"""printf 'x\033]0;y\007' >"$(printf 'n\nn\033[2J')" """, "--review")
    for words in (["diff", "--stat"], ["diff", "--name-only"], ["apply", "--allow-risky"]):
        assert "\x1b" not in project.bawn(*words), words


@claim("attack: links to outside in what was written are applied as links, and nothing is written through them")
def test_links_out(place):
    outside = Outside(place)
    project = Project(place, "upper")
    project.inside(f"ln -s {outside.path} out; ln -s {outside.secret} b/c2; rm -r b/d; ln -s ../../../outside b/d; "
                   f"mkdir deep; ln -s / deep/root", "--review")
    shown = project.bawn("diff")
    assert "\n+secret\n" not in shown and shown.count("! risky") >= 4, shown
    project.bawn("apply", status=1)  # each waits for a person's word
    same([name for name in ("out", "b/c2", "deep") if os.path.lexists(project.path / name)], [])
    project.bawn("apply", "--allow-risky")
    same([os.readlink(project.path / name) for name in ("out", "b/c2", "b/d", "deep/root")],
         [str(outside.path), str(outside.secret), "../../../outside", "/"])
    project.bawn("undo")
    same(project.read("b/d"), "three\n")
    outside.is_unharmed()


@claim("attack: a link of the host's that the session made a folder is replaced, and not written through")
def test_link_to_folder(place):
    outside = Outside(place)
    project = Project(place, "tofolder")
    (project.path / "l").symlink_to(outside.path)
    project.inside("rm l; mkdir l; echo x >l/secret; echo y >l/new", "--review")
    outside.is_unharmed()
    project.bawn("apply")
    outside.is_unharmed()
    same([(project.path / "l").is_symlink(), project.read("l/secret")], [False, "x\n"])
    project.bawn("undo")
    outside.is_unharmed()
    same(os.readlink(project.path / "l"), str(outside.path))


@claim("attack: a file in the place of a folder and a folder in the place of a file, and back")
def test_file_and_folder(place):
    outside = Outside(place)
    project = Project(place, "exchange")
    before = project.looks()
    script = "rm -r b; echo file >b; rm a; mkdir -p a/x; echo deep >a/x/y"
    project.inside(script, "--review")
    project.bawn("apply")
    same([project.read("b"), project.read("a/x/y")], ["file\n", "deep\n"])
    project.bawn("undo")
    same(project.looks(), before)
    project.bawn("discard", "--yes")
    project.inside(script)
    project.bawn("undo")
    same(project.looks(), before)
    # The host has exchanged them as well, the other way: nothing of its own is overwritten.
    project.inside(script, "--review")
    shutil.rmtree(project.path / "b")
    (project.path / "b").symlink_to(outside.path)
    os.unlink(project.path / "a")
    (project.path / "a").symlink_to(outside.path)
    project.bawn("apply", "--allow-risky", status=1)
    outside.is_unharmed()
    same([os.readlink(project.path / name) for name in "ab"], [str(outside.path)] * 2)


@claim(f"attack: {MANY:,} files under review are listed and thrown away, and some thousand applied and undone")
def test_many_files(place):
    if not os.access("/dev/shm", os.W_OK):
        raise scratch.Skip("needs a tmpfs at /dev/shm")
    with tempfile.TemporaryDirectory(prefix="bawn-test-", dir="/dev/shm") as folder:
        project = Project(place, "many")
        project.place = scratch.Place(place.home, place.bawn)
        project.place.environment.update(XDG_STATE_HOME=f"{folder}/state", XDG_DATA_HOME=f"{folder}/data")
        before = project.looks()
        script = ("import os\nfor d in range(%d):\n os.mkdir(str(d))\n"
                  " for f in range(1000): os.close(os.open(f'{d}/{f}', os.O_CREAT | os.O_WRONLY, 0o644))")
        for count, verb in ((MANY // 1000, "discard"), (5, "apply")):
            project.place.out("python3", "-c", script % count, cwd=project.path,
                              flags=("--net", "off", "--review"), seconds=10 * PATIENCE)
            same(project.looks(), before)
            same(project.bawn("diff", "--name-only", seconds=5 * PATIENCE).count("\n"), count * 1001)
            project.bawn(verb, "--yes", seconds=5 * PATIENCE)
        same(sum(len(files) for _, _, files in os.walk(project.path)), 5003)
        project.bawn("undo", seconds=5 * PATIENCE)
        same(project.looks(), before)
