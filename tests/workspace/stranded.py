"""Nothing is stranded: layers that a kill left, sessions that nobody repairs, a clock that is set back, links on the way to the state."""
import contextlib
import json
import os
import resource
import shutil
import subprocess

import scratch
from lab import Checkpointed, killed, started
from scratch import PATIENCE, Project, same

claim = scratch.Claims()


def sessions(project):
    return {entry["name"]: entry for entry in json.loads(project.bawn("sessions", "--all", "--json"))}


def folder_of(project, name):
    state = project.place.environment.get("XDG_STATE_HOME", f"{project.place.home}/.local/state")
    return type(project.path)(state) / "bawn/sessions" / name


FIELDS = ("mode", "state", "began", "ended", "changes", "of", "workspace", "prefix", "boot", "up_began", "up_ended")


def change_about(project, name, **fields):
    """Sets fields of a session's record. `up_…`: how long the machine had been up at both ends."""
    about = folder_of(project, name) / "about"
    values = about.read_bytes().split(b"\0")
    for field, value in fields.items():
        values[FIELDS.index(field)] = value.encode()
    about.write_bytes(b"\0".join(values))


@claim("--review: 10,000 files are read with 14 MiB of memory, one by one")
def test_little_memory(place):
    if scratch.SANITIZED:
        raise scratch.Skip("the sanitizers need more memory")
    project = Project(place, "memory")
    # A store of its own: the index of one that other tests have filled takes memory, too.
    environment = {**place.environment, "XDG_STATE_HOME": str(place.folder("state-of-memory"))}
    script = "ulimit -v 14336; exec \"$0\" --net off --review sh -ec 'mkdir new; cd new; seq 10000 | split -a 4 -l 1'"
    done = subprocess.run(["sh", "-c", script, place.bawn], cwd=project.path, env=environment, capture_output=True, timeout=PATIENCE * 3, check=False)
    listed = subprocess.run([place.bawn, "sessions", "--json"], cwd=project.path, env=environment, capture_output=True, timeout=PATIENCE, check=True)
    session, = json.loads(listed.stdout)
    same((done.returncode, session["state"], session["files"]), (0, "waiting", 10000))


@claim("a review that an earlier bawn left as running, and that no mark names, is found by sessions --repair")
def test_unmarked(place):
    project = Project(place, "unmarked")
    killed(project, "echo new >x; echo changed >a; echo up; sleep 60", "--review")
    os.unlink(place.home / ".local/state/bawn/running/unmarked-1")
    same(sessions(project)["unmarked-1"]["state"], "killed")  # nobody holds its lock
    assert "Repaired 1 session." in project.bawn("sessions", "--repair")
    same(sessions(project)["unmarked-1"]["state"], "waiting")
    project.bawn("apply")
    same([project.read("x"), project.read("a")], ["new\n", "changed\n"])


@claim("a review that is left as running and cannot be repaired can be given up")
def test_give_up(place):
    project = Project(place, "given-up")
    killed(project, "echo new >x; echo up; sleep 60", "--review")
    os.unlink(place.home / ".local/state/bawn/running/given-up-1")
    assert "is discarded" in project.bawn("discard", "--yes", "given-up-1")
    same(sorted(path.name for path in folder_of(project, "given-up-1").iterdir() if path.is_dir()), [])


def leave_layer(project, name):
    """What a bawn leaves that is killed while it removes the layer: a part of it, closed to its owner."""
    upper = folder_of(project, name) / "upper/deep"
    upper.mkdir(parents=True)
    (upper / "big").write_bytes(b"x" * 3000000)
    work = folder_of(project, name) / "work/work"
    work.mkdir(parents=True)
    work.chmod(0)


@claim("a part of a layer that was left behind is shown by sessions --all, and goes with discard, repair and prune")
def test_left_layer(place):
    for number, words in enumerate((("discard", "--yes", "layered-1"), ("sessions", "--repair"), ("undo", "--prune")), 1):
        project = Project(place, "layered") if number == 1 else Project(place, f"layered{number}")
        name = f"{project.path.name}-1"
        project.inside("echo new >x", "--review")
        leave_layer(project, name)
        assert sessions(project)[name]["disk"] >= 3000000, sessions(project)[name]
        assert f" on disk  ~/work/{project.path.name}" in project.bawn("sessions", "--all")
        project.bawn(*words)
        same(sorted(path.name for path in folder_of(project, name).iterdir() if path.is_dir()), [])
        assert sessions(project)[name]["disk"] < 100000, sessions(project)[name]


@claim("the latest session is the one with the highest number, whatever the clock said")
def test_clock_back(place):
    project = Project(place, "clock")
    project.inside("echo first >a")
    project.inside("echo second >b/c")
    change_about(project, "clock-1", began="4000000000.0", ended="4000000001.0")  # the clock was ahead
    assert "b/c" in project.bawn("diff", "--name-only")
    same(project.bawn("sessions").splitlines()[0].split()[0], "clock-2")
    place.terminal(project.path, ("undo",), ("Take back what clock-2 changed", b"y\n"))
    same([project.read("a"), project.read("b/c")], ["first\n", "two\n"])


@claim("undo --to says when the clock was set back, and goes to the last checkpoint with such a time")
def test_clock_checkpoints(place):
    project = Project(place, "clock-to")
    run = Checkpointed(project)
    run.step("echo early >b/c")
    looks = run.step("echo middle >b/c")
    run.run.stdin.write(b"echo late >b/c\n")
    run.end()
    change_about(project, "clock-to-1", began="4000000000.0")
    times = run.times()
    text = project.bawn("undo", "--to", times[-1], "--yes")
    assert "the clock was set back during clock-to-1" in text, text
    same(project.looks(), looks)


def moved(project, name, fields, seconds):
    """Changes times in the record of a run, as if the clock had been stepped."""
    values = dict(zip(FIELDS, (folder_of(project, name) / "about").read_bytes().split(b"\0")))
    change_about(project, name, **{field: f"{int(values[field].split(b'.')[0]) + seconds}.{values[field].split(b'.')[1].decode()}" for field in fields})


@claim("undo --to says by how much the clock was set forward, during the run, and either way since it ended; else it says nothing")
def test_clock_forward(place):
    for name, fields, seconds, words in (
            ("steady", [], 0, []),
            ("forward", ["began"], -3600, ["the clock was set forward by 1 hour during forward-1"]),
            ("ahead", ["up_began", "up_ended"], 3600, ["the clock was set forward by 1 hour since ahead-1 ended"]),
            ("earlier", ["up_began", "up_ended"], -7200, ["the clock was set back by 2 hours since earlier-1 ended"])):
        project = Project(place, name)
        run = Checkpointed(project)
        run.step("echo early >b/c")
        looks = run.step("echo middle >b/c")
        run.run.stdin.write(b"echo late >b/c\n")
        run.end()
        moved(project, f"{name}-1", fields, seconds)
        text = project.bawn("undo", "--to", run.times()[-1], "--yes")
        same([text.count(line) for line in words] + [text.count("the clock was")], [1] * len(words) + [len(words)])
        same(project.looks(), looks)


@claim("undo after a run that changed nothing does not bring back what the last undo took away, unless that is named")
def test_no_redo(place):
    project = Project(place, "redo")
    project.inside("echo inside >a")
    project.bawn("undo")
    project.inside("true")
    text = project.bawn("undo", "--yes", status=2)
    assert "redo-3 changed nothing" in text and "`bawn undo redo-2`" in text, text
    same(project.read("a"), "one\n")
    text, status = place.terminal(project.path, ["undo"], ("Reverse redo-2, the undo of redo-1", b"n\n"))
    same((project.read("a"), status), ("one\n", 0))
    project.bawn("undo", "redo-2")
    same(project.read("a"), "inside\n")


@claim("~/.local or ~/.local/state may be a link of the user's: review, discard, branch and repair work through it")
def test_linked_state(place):
    scratch.need("git")
    for name, link, target in (("linked-local", ".local", "dots/local"), ("linked-state", ".local/state", "dots/state")):
        home = place.folder(name)
        (home / target).mkdir(parents=True)
        (home / link).parent.mkdir(exist_ok=True)
        (home / link).symlink_to(home / target)
        there = scratch.Place(home, place.bawn)
        project = Project(there, "app")
        project.git("init", "-q", "-b", "main")
        project.git("add", ".")
        project.git("commit", "-qm", "one")
        project.inside("echo thrown >a", "--discard")
        project.inside("echo reviewed >a", "--review")
        project.bawn("apply", "--yes")
        same(project.read("a"), "reviewed\n")
        killed(project, "echo repaired >a; echo up; sleep 60", "--review")
        project.bawn("apply", "--yes")
        same(project.read("a"), "repaired\n")
        project.inside("echo branch >a; git -c user.name=t -c user.email=t@example.com commit -qam two", "--branch", "topic")
        same(project.git("log", "--format=%s", "topic").split(), ["two", "one"])


@claim("apply: a folder that is closed on the host holds back what lies in it, and nothing else")
def test_closed_folder(place):
    project = Project(place, "closed")
    (project.path / "b").chmod(0)
    project.inside("chmod 755 b; echo new >b/new; echo changed >a", "--review")
    text = project.bawn("apply", "--yes", status=1)
    assert "b/new: you have no access to its directory" in text and "1 file and 1 directory applied" in text, text
    project.bawn("apply", "--yes")
    same([project.read("a"), project.read("b/new"), project.read("b/c")], ["changed\n", "new\n", "two\n"])


@claim("a review leaves alone what you do on the host meanwhile: a flagged file, a folder that you close")
def test_host_during_review(place):
    project = Project(place, "meanwhile")
    for modes, is_held in ((["--review"], False), (["--discard"], False), ([], True)):
        run = started(project, "echo up; read line", *modes, stderr=subprocess.DEVNULL)
        (project.path / ".vscode").mkdir()
        project.write(".vscode/tasks.json", "mine")
        (project.path / "b").chmod(0)
        run.communicate(b"go\n", timeout=PATIENCE)
        same([(project.path / ".vscode/tasks.json").exists(), (project.path / "b").stat().st_mode & 0o777],
             [not is_held, 0o700 if is_held else 0])
        shutil.rmtree(project.path / ".vscode")
        (project.path / "b").chmod(0o755)


@claim("in a container whose first process waits for nobody, a run leaves no zombie (control: a plain orphan is one)")
def test_no_reaper(place):
    project = Project(place, "no-reaper")
    script = """
import json, os, pathlib, subprocess, sys, time
def others():
    # The states of all processes but this one.
    states = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            states += [path.read_text().rsplit(")", 1)[1].split()[0]] if path.parent.name != str(os.getpid()) else []
        except OSError:
            pass  # it has ended, and somebody has waited for it
    return states
found = []
for words in json.loads(sys.argv[1]):
    subprocess.run(words, check=True)
    end = time.monotonic() + 20
    while set(others()) - {"Z"} and time.monotonic() < end:  # whatever still runs may wait for what has ended, or end itself
        time.sleep(0.01)
    found.append(len(others()))
print(found)"""
    bawn = [place.bawn, "--net", "off"]
    runs = [[*bawn, "true"], [*bawn, "--review", "sh", "-c", "echo x >x"], [*bawn, "--discard", "sh", "-c", "echo x >x"],
            ["sh", "-c", "(sleep 0.1 &)"]]
    done = subprocess.run(["unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc", "python3", "-c", script,
                           json.dumps(runs)], cwd=project.path, env=place.environment, check=True, stdout=subprocess.PIPE, text=True)
    same(done.stdout, "[0, 0, 0, 1]\n")


@claim("apply counts only what it applied: a file that changes while the person answers is left alone")
def test_counts(place):
    project = Project(place, "counts")
    project.inside("echo x >>a; echo y >>b/c", "--review")
    text, status = place.terminal(project.path, ["apply"],
                                  ("b/c", b"", lambda: project.write("a", "host\n")), ("[y/N]", b"y\n"))
    assert "1 file applied" in text, text
    same([status, project.read("a"), project.read("b/c")], [1, "host\n", "two\ny\n"])
    same(sessions(project)["counts-2"]["files"], 1)


@claim("diff shows contents where bawn's folders can only be read")
def test_read_only_store(place):
    project = Project(place, "read-only-store")
    folder = place.folder("read-only-data")
    project.place = scratch.Place(place.home, place.bawn)
    project.place.environment["XDG_DATA_HOME"] = str(folder)
    project.inside("echo shown >x", "--review")
    for path in (folder / "bawn/snapshots", *(folder / "bawn/snapshots").iterdir()):
        path.chmod(path.stat().st_mode & ~0o222)
    assert "+shown" in project.bawn("diff")
    shutil.rmtree(folder / "bawn/snapshots/trees", ignore_errors=True)
    (folder / "bawn/snapshots/index").chmod(0)
    assert "cannot be read from the snapshots" in project.bawn("diff")


def limited(place, project, which, soft, *words):
    """bawn with a limit of its own process, as a shell's ulimit sets it."""
    return subprocess.run([place.bawn, *words], cwd=project.path, env=place.environment, stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, timeout=PATIENCE, preexec_fn=lambda: resource.setrlimit(which, (soft, soft)))


@claim("a limit of the caller's that leaves bawn too little is named: file size, stack, processes")
def test_limits(place):
    if scratch.SANITIZED:
        raise scratch.Skip("the sanitizers need more than that themselves")
    project = Project(place, "limits")
    words = ("--net", "off", "--", "sh", "-c", "echo ran")
    for which, soft, said in ((resource.RLIMIT_FSIZE, 0, b"File too large"), (resource.RLIMIT_STACK, 65536, b"needs 512 KiB"),
                              (resource.RLIMIT_NPROC, 1, b"`ulimit -u`")):
        done = limited(place, project, which, soft, *words)
        same((done.returncode, said in done.stderr, b"max_user_namespaces" in done.stderr), (125, True, False))
    done = limited(place, project, resource.RLIMIT_STACK, 1 << 20, *words)
    same((done.returncode, done.stdout), (0, b"ran\n"))
    script = "exec 2>&-; head -c 100000 /dev/zero >big; echo $?"  # inside, the signal ends a program as ever
    done = limited(place, project, resource.RLIMIT_FSIZE, 60000, "--net", "off", "--discard", "--", "sh", "-c", script)
    same((done.returncode, done.stdout), (0, b"153\n"))


@claim("a umask that takes the caller's own rights is named, and nothing is made that nobody could open; the command has the caller's umask")
def test_umask(place):
    project = Project(place, "umask")
    words = [place.bawn, "--net", "off", "--", "sh", "-c", "umask"]

    def masked(mask):
        return subprocess.run(words, cwd=project.path, env=place.environment, stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, timeout=PATIENCE, umask=mask)
    for mask in (0o777, 0o700, 0o177, 0o477):
        done = masked(mask)
        same((mask, done.returncode, b"Run `umask 077` first" in done.stderr), (mask, 125, True))
    for mask in (0o077, 0o027, 0):
        same(masked(mask).stdout, b"%04o\n" % mask)


@claim("a standard error that nobody reads does not keep the end of a run from being written down")
def test_full_pipe(place):
    project = Project(place, "full-pipe")
    project.write(".git/HEAD", "ref: refs/heads/main\n")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    run = subprocess.Popen([place.bawn, "--net", "off", "--", "sh", "-c", "mkdir .vscode; echo '{}' >.vscode/tasks.json; echo x >a"],
                           cwd=project.path, env=place.environment, stdin=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    running = place.home / ".local/state/bawn/running/full-pipe-1"
    journal = folder_of(project, "full-pipe-1") / "journal.jsonl"
    scratch.until(lambda: journal.exists() and b'"event":"end"' in journal.read_bytes() and not running.exists(), "the end")
    same((sessions(project)["full-pipe-1"]["state"], run.poll()), ("done", None))  # it waits, with what it has to say
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().lstrip(b"x")
    same((run.wait(PATIENCE), b"set aside" in said), (0, True))
