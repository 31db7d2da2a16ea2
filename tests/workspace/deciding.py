"""One process at a time decides about the changes of a session: two terminals, or a terminal and the page."""
import json
import os
import pathlib
import re
import signal
import subprocess

import scratch
from scratch import PATIENCE, Project, same

claim = scratch.Claims()


def second(project, *words, answers=None):
    """The status and the words of another `bawn` on the same session."""
    done = subprocess.run([project.place.bawn, *words], cwd=project.path, env=project.place.environment, check=False, timeout=PATIENCE,
                          capture_output=True, **({"input": answers} if answers else {"stdin": subprocess.DEVNULL}))
    return done.returncode, (done.stdout + done.stderr).decode()


def answer_all(project, session, answer):
    """What a program answers, for `review --from -`."""
    listed = json.loads(project.bawn("review", "--json", session))
    return json.dumps({"state": listed["state"], "answers": [{"id": item["id"], "answer": answer} for item in listed["items"]]}).encode()


def refused(project, session, holder, *words, **options):
    """It is refused with the name, the process and the age of the other one."""
    status, said = second(project, *words, **options)
    found = re.fullmatch(rf"bawn: {session} is in use: `bawn {holder}`, process (\d+), began (?:just now|\d+ seconds? ago)\. Finish or end that one, then try again\.\n", said)
    assert status == 125 and found, (words, status, said)
    same(pathlib.Path(f"/proc/{found[1]}/cmdline").read_bytes().split(b"\0")[1], holder.encode())
    return int(found[1])


def applies(project):
    """The sessions in which something was applied here."""
    listed = json.loads(project.bawn("sessions", "--json", "--all"))
    return [entry["name"] for entry in listed if entry["mode"] == "apply" and entry["name"].startswith(f"{project.path.name}-")]


@claim("two appliers: while one waits for its answer the other is told which verb, process and how long; then the first goes on, and nothing is applied twice")
def test_two(place):
    for holder, question, key in (("apply", "[y/N] ", b"y\n"), ("review", "Apply a", b"y")):
        project = Project(place, f"two-{holder}")
        session = f"two-{holder}-1"
        project.inside("echo inside >a", "--review")

        def others(project=project, session=session, holder=holder):
            answers = answer_all(project, session, "discard")
            for words, options in ((("apply", "--yes"), {}), (("apply", "--yes", "--theirs", session), {}), (("discard", "--yes"), {}), (("discard", "--yes", "a"), {}),
                                   (("review", "--from", "-", session), {"answers": answers})):
                refused(project, session, holder, *words, **options)
            assert "+inside" in project.bawn("diff", session)  # to look is always possible
            same(project.read("a"), "one\n")

        printed, status = place.terminal(project.path, (holder,), (question, b"", others), ("", key), *([("Continue?", b"y")] if holder == "review" else []))
        same((status, project.read("a")), (0, "inside\n"))
        assert "1 file applied" in printed, printed
        same(applies(project), [f"two-{holder}-2"])
        # The control: nobody is in the way now, and the second one is told what the first one did.
        status, said = second(project, "apply", "--yes", session)
        assert status == 2 and "has no waiting changes: it is done" in said, (status, said)


@claim("while somebody is asked whether to discard a session, it cannot be applied; afterwards it is gone. One that has gone on to another session is in nobody's way")
def test_discard(place):
    project = Project(place, "thrown")
    project.inside("echo inside >a", "--review")
    project.inside("echo inside >b/c", "--review")

    def others():
        refused(project, "thrown-1", "discard", "apply", "--yes", "thrown-1")
        project.bawn("apply", "--yes", "thrown-2")

    place.terminal(project.path, ("discard", "thrown-1"), ("[y/N] ", b"", others), ("", b"y\n"))
    same((project.read("a"), project.read("b/c")), ("one\n", "inside\n"))
    status, said = second(project, "apply", "--yes", "thrown-1")
    assert status == 2 and "has no waiting changes: it is discarded" in said, (status, said)


@claim("an undo of an apply, and a redo of that undo, keep others off the review that they give back; an undo of a live run keeps off a second one")
def test_undo(place):
    project = Project(place, "back")
    project.inside("echo inside >a; echo inside >b/c", "--review")
    project.bawn("apply", "--yes", "a")

    def others():
        refused(project, "back-1", "undo", "apply", "--yes", "back-1")
        refused(project, "back-1", "undo", "discard", "--yes", "back-1")
        refused(project, "back-1", "undo", "undo", "--yes", "back-2")

    place.terminal(project.path, ("undo", "back-2"), ("[y/N] ", b"", others), ("", b"y\n"))
    same((project.read("a"), project.read("b/c")), ("one\n", "two\n"))
    place.terminal(project.path, ("redo",), ("[y/N] ", b"", lambda: refused(project, "back-1", "redo", "apply", "--yes", "back-1")), ("", b"y\n"))
    project.bawn("apply", "--yes", "back-1")
    same((project.read("a"), project.read("b/c")), ("inside\n", "inside\n"))
    live = Project(place, "live")
    live.inside("echo inside >a")
    place.terminal(live.path, ("undo",), ("[y/N] ", b"", lambda: refused(live, "live-1", "undo", "undo", "--yes")), ("", b"y\n"))
    same(live.read("a"), "one\n")


@claim("an applier that is stopped keeps its place, and one that is killed leaves it: then the next one applies, once")
def test_killed(place):
    project = Project(place, "left")
    project.inside("echo inside >a", "--review")

    def others():
        process = refused(project, "left-1", "apply", "apply", "--yes")
        os.kill(process, signal.SIGSTOP)
        refused(project, "left-1", "apply", "apply", "--yes")
        os.kill(process, signal.SIGKILL)

    _, status = place.terminal(project.path, ("apply",), ("[y/N] ", b"", others))
    same((status, project.read("a")), (-signal.SIGKILL, "one\n"))
    project.bawn("apply", "--yes")
    same((project.read("a"), applies(project)), ("inside\n", ["left-2"]))


@claim("appliers that begin at the same moment: one of them applies, and the others say why not", rare=True)
def test_race(place):
    for number in range(12):
        project = Project(place, f"race-{number}")
        project.inside("echo inside >a; for i in $(seq 40); do echo $i >new$i; done", "--review")
        began = [subprocess.Popen([place.bawn, "apply", "--yes"], cwd=project.path, env=place.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(4)]
        ended = [(child.communicate(timeout=PATIENCE)[0].decode(), child.returncode) for child in began]
        won = [said for said, status in ended if status == 0]
        same((len(won), applies(project)), (1, [f"race-{number}-2"]))
        for said, status in ended:
            late = "no session has waiting changes" in said or "was changed meanwhile" in said
            assert status == 0 or (status == 125 and "is in use: " in said) or (status == 2 and late), (status, said)
