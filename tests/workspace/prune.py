"""How long snapshots are kept, and how large one may be."""
import json
import os
import shutil

import scratch
from lab import Checkpointed, started
from scratch import PATIENCE, Project, same

claim = scratch.Claims()


@claim("undo --prune forgets contents that nothing needs, and keeps what the others do")
def test_prune_unneeded(place):
    project = Project(place, "pruned")
    project.inside("head -c 3000000 /dev/urandom >big", "--review")
    project.inside("echo waits >a", "--review")
    project.bawn("discard", "--yes", "pruned-1")
    about = place.home / ".local/state/bawn/sessions/pruned-1/about"
    fields = about.read_bytes().split(b"\0")
    fields[3] = b"1000000000.000000000"  # it ended long ago
    about.write_bytes(b"\0".join(fields))
    store = place.home / ".local/share/bawn/snapshots"
    before = sum(path.stat().st_size for path in store.glob("pack-*"))
    assert "1 session forgotten" in project.bawn("undo", "--prune")
    after = sum(path.stat().st_size for path in store.glob("pack-*"))
    assert before - after >= 3000000, (before, after)
    project.bawn("apply")
    same(project.read("a"), "waits\n")


@claim("sessions: a run whose snapshot was pruned is not one that changed nothing: it is counted as one that can no longer be undone")
def test_pruned_is_told(place):
    project = Project(place, "forgotten")
    project.inside("echo x >>a; echo y >>b/c")
    project.inside("true")
    assert "1 run changed nothing; --all lists it." in project.bawn("sessions"), project.bawn("sessions")
    about = place.home / ".local/state/bawn/sessions/forgotten-1/about"
    fields = about.read_bytes().split(b"\0")
    fields[3] = b"1000000000.000000000"  # it ended long ago
    about.write_bytes(b"\0".join(fields))
    assert "forgotten-1" in project.bawn("undo", "--prune")
    same(project.bawn("sessions").splitlines(),
         ["1 older run can no longer be undone; --all lists it.", "1 run changed nothing; --all lists it."])
    listed = {one["name"]: (one["state"], one["files"]) for one in json.loads(project.bawn("sessions", "--json"))}
    same(listed, {"forgotten-1": ("pruned", 2), "forgotten-2": ("ended", 0)})
    assert "pruned     live         2 files" in project.bawn("sessions", "--all"), project.bawn("sessions", "--all")
    for verb in ("undo", "diff"):
        said = project.bawn(verb, "forgotten-1", status=2)
        assert "the snapshot of forgotten-1 was removed, so it can no longer be undone. `bawn log forgotten-1`" in said, said


@claim("undo --prune lets the oldest go until the rest is within the size, and nothing that waits or runs")
def test_prune_by_size(place):
    project = Project(scratch.Place(place.home, place.bawn), "by-size")
    folder = place.folder("by-size")
    project.place.environment.update({f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "STATE", "DATA")})
    kept = folder / "CONFIG/bawn/snapshot-keep"
    kept.parent.mkdir(parents=True)
    store = folder / "DATA/bawn/snapshots"
    kept.write_text("age none\nsize none  # for the moment\n")
    project.inside("head -c 3000000 /dev/urandom >waits", "--review")
    for name in "xyz":
        project.inside(f"head -c 1000000 /dev/urandom >{name}")
        project.inside(f"rm {name}")
    project.inside("echo last >>a")
    run = started(project, "echo up; read line; echo x >>b/c")
    kept.write_text("age none\nsize 5M\n")
    text = project.bawn("undo", "--prune")
    assert "by-size-2" in text and "by-size-3" in text and "by-size-8" not in text, text
    left = sum(path.stat().st_size for path in store.glob("pack-*"))
    assert 3 << 20 <= left <= 5 << 20, left
    run.communicate(b"\n", timeout=PATIENCE)
    project.bawn("undo", "by-size-9")
    same(project.read("b/c"), "two\n")
    project.bawn("apply", "by-size-1", "--yes")
    same((project.path / "waits").stat().st_size, 3000000)
    kept.write_text("age none\nsize 1K\n")
    assert "more than the limit" not in project.bawn("undo", "--prune")
    project.inside("head -c 100000 /dev/urandom >more")  # the end of a run prunes by itself
    assert "by-size" in project.bawn("undo", "--list")
    project.bawn("undo")
    assert not (project.path / "more").exists()
    for wrong in ("age", "age 30", "size 10", "size 0", "size 1G 2G", "sizes 1G"):
        kept.write_text("# mine\n" + wrong + "\n")
        text = project.bawn("undo", "--prune", status=0 if wrong == "size 10" else 2)
        assert wrong == "size 10" or "snapshot-keep, line 2" in text, text


@claim("a run that prunes old snapshots at its end leaves an intact journal, which says so")
def test_prune_journal(place):
    project = Project(scratch.Place(place.home, place.bawn), "chained")
    folder = place.folder("chained")
    project.place.environment.update({f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "STATE", "DATA")})
    kept = folder / "CONFIG/bawn/snapshot-keep"
    kept.parent.mkdir(parents=True)
    kept.write_text("age none\nsize 1K\n")
    for number in range(1, 4):
        project.inside(f"head -c 100000 /dev/urandom >big; echo {number} >a")
        project.bawn("log", "--verify", f"chained-{number}")  # or it ends with another status
    assert "pruned" in project.bawn("log", "chained-3"), project.bawn("log", "chained-3")


@claim("undo --prune keeps what checkpoints need")
def test_prune_checkpoints(place):
    project = Project(place, "pruned-checkpoint")
    run = Checkpointed(project)
    looks = run.step("echo between >b/c; head -c 300000 /dev/urandom >big")
    run.run.stdin.write(b"rm big; echo last >b/c\n")
    run.end()
    project.bawn("undo", "--prune")
    project.bawn("undo", "--to", run.times()[0])
    same(project.looks(), looks)


@claim("a snapshot that is too large is said before the run starts, and what is left out is named")
def test_snapshot_too_large(place):
    project = Project(place, "large")
    project.write("big", "x" * 300000)
    done = place.run("sh", "-c", "echo ran", cwd=project.path, flags=("--net", "off", "--limit", "snapshot=64K"))
    same((done.returncode, done.stdout), (0, b"ran\n"))
    assert b"cannot restore the content" in done.stderr and b"big" in done.stderr, done.stderr


@claim("a file beyond the limit whose time was set back is a change all the same, also if only the end leaves it out")
def test_left_out_is_seen(place):
    project = Project(place, "left-out")
    project.write("big", "x" * 300000)
    project.write("medium", "y" * 20000)
    script = ("for name in big medium; do touch -r $name /tmp/time; printf EVIL | dd of=$name conv=notrunc status=none; "
              "touch -r /tmp/time $name; done; ")
    before = {name: os.stat(project.path / name).st_mtime_ns for name in ("big", "medium")}
    project.inside("echo x >>a", "--limit", "snapshot=64K")
    same(sorted(item["path"] for item in json.loads(project.bawn("diff", "--json"))), ["a"])  # the control
    project.inside(script + "for i in 1 2 3 4 5; do cp medium other-$i; done", "--limit", "snapshot=64K")
    same({name: os.stat(project.path / name).st_mtime_ns for name in before}, before)
    changed = {item["path"]: item["changed"] for item in json.loads(project.bawn("diff", "--json"))}
    same([changed.get("big"), changed.get("medium")], [["content"], ["content"]])
    text = project.bawn("undo", "--yes", "left-out-2", status=1)
    assert "big: its content is not in the snapshot" in text, text
    same(project.read("medium"), "y" * 20000)


@claim("undo: the limit of 50 sessions is counted a workspace, and a run that forgets some names them")
def test_limit_a_workspace(place):
    place = scratch.Place(place.home, place.bawn)
    state = place.folder("a-workspace-each")
    place.environment.update({f"XDG_{kind}_HOME": str(state / kind) for kind in ("CONFIG", "STATE", "DATA")})
    quiet, busy = Project(place, "quiet"), Project(place, "busy")
    quiet.inside("echo x >>a")
    busy.inside("echo x >>a")
    sessions = state / "STATE/bawn/sessions"
    for number in range(2, 60):  # as so many runs would leave them
        shutil.copytree(sessions / "busy-1", sessions / f"busy-{number}")
    (state / "STATE/bawn/numbers/busy").write_text("")  # the next run counts, and tidies up
    busy.inside("echo y >>a")
    text = busy.bawn("log")
    assert "busy-1, busy-2, busy-3, busy-4 and 6 more can no longer be undone" in text, text
    same(len([line for line in busy.bawn("undo", "--list").splitlines() if line.startswith("busy-")]), 50)
    quiet.bawn("undo")
    same(quiet.read("a"), "one\n")


@claim("undo: on a terminal, the end of a run says which sessions cannot be undone any more")
def test_limit_is_said(place):
    place = scratch.Place(place.home, place.bawn)
    state = place.folder("said")
    place.environment.update({f"XDG_{kind}_HOME": str(state / kind) for kind in ("CONFIG", "STATE", "DATA")})
    project = Project(place, "many")
    project.inside("echo x >>a")
    sessions = state / "STATE/bawn/sessions"
    for number in range(2, 60):
        shutil.copytree(sessions / "many-1", sessions / f"many-{number}")
    (state / "STATE/bawn/numbers/many").write_text("")
    text, status = place.terminal(project.path, ("--net", "off", "sh", "-c", "echo y >>a"))
    same(status, 0)
    assert "many-1, many-2, many-3, many-4 and 6 more can no longer be undone" in text and "The latest 50 sessions of a workspace are kept" in text, text
