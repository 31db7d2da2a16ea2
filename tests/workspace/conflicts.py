"""What both the host and the session have changed."""
import scratch
from scratch import Project, same

claim = scratch.Claims()
LINES = [f"line {number}\n" for number in range(20)]


def text(**changed):
    """Twenty lines, of which some are others: text(l3="x")."""
    return "".join(changed.get(f"l{number}", line.rstrip("\n")) + "\n" for number, line in enumerate(LINES))


def project_with(place, name, theirs, ours):
    """A workspace whose file t a session has changed, and then the user."""
    project = Project(place, name)
    project.write("t", text())
    project.inside(f"cat >t <<'END'\n{theirs}END\n", "--review")
    project.write("t", ours)
    return project


@claim("conflict: changes of other lines are kept, and joined with --merge; an undo brings mine back")
def test_other_lines(place):
    project = project_with(place, "merge", text(l2="theirs"), text(l15="mine"))
    said = project.bawn("apply", status=1)
    assert "t: it was changed since, in other lines (--merge merges both)" in said, said
    same(project.read("t"), text(l15="mine"))
    project.bawn("apply", "--merge")
    same(project.read("t"), text(l2="theirs", l15="mine"))
    assert "done" in project.bawn("sessions"), project.bawn("sessions")
    project.bawn("undo")
    same(project.read("t"), text(l15="mine"))
    project.bawn("apply", "--merge")
    same(project.read("t"), text(l2="theirs", l15="mine"))


@claim("conflict: a merged text outlasts a prune between the question and its answer")
def test_prune_in_between(place):
    project = project_with(place, "merge-prune", text(l2="theirs"), text(l15="mine"))
    said, status = place.terminal(project.path, ["apply", "--merge"], ("[y/N] ", b"", lambda: project.bawn("undo", "--prune")), ("", b"y\n"))
    same((status, project.read("t")), (0, text(l2="theirs", l15="mine")))
    assert "1 file applied" in said, said


@claim("conflict: the same lines are shown three ways, refused by --merge, and written with marks on request")
def test_same_lines(place):
    project = project_with(place, "clash", text(l2="theirs"), text(l2="mine"))
    for flags in ((), ("--merge",)):
        said = project.bawn("apply", *flags, status=1)
        assert "it was changed since, in the same lines" in said, said
        shown = [line.strip() for line in said.splitlines()]
        at = shown.index("<<<<<<< yours")
        same(shown[at:at + 7], ["<<<<<<< yours", "mine", "||||||| before", "line 2", "=======", "theirs",
                                ">>>>>>> clash-1"])
        same(project.read("t"), text(l2="mine"))
    project.bawn("apply", "--markers")
    marked = "<<<<<<< yours\nmine\n||||||| before\nline 2\n=======\ntheirs\n>>>>>>> clash-1"
    same(project.read("t"), text(l2=marked))


@claim("conflict: --ours gives the session's change up, --theirs overwrites mine, both at once are refused")
def test_ours_or_theirs(place):
    project = project_with(place, "ours", text(l2="theirs"), text(l2="mine"))
    assert "exclude each other" in project.bawn("apply", "--ours", "--theirs", status=2)
    project.bawn("apply", "--ours")
    same(project.read("t"), text(l2="mine"))
    assert "discarded" in project.bawn("sessions"), project.bawn("sessions")
    project = project_with(place, "theirs", text(l2="theirs"), text(l2="mine"))
    project.bawn("apply", "--theirs")
    same(project.read("t"), text(l2="theirs"))


@claim("conflict: what is no text is never merged, and control characters of a clash are not printed")
def test_no_text(place):
    project = Project(place, "binary")
    project.write("t", "x\0one\n")
    project.write("e", "before\n")
    project.inside("printf 'x\\0two\\n' >t; printf 'theirs\\033[2J\\n' >e", "--review")
    project.write("t", "x\0three\n")
    project.write("e", "mine\n")
    said = project.bawn("apply", "--merge", status=1)
    assert "t: it was changed since" in said and "theirs\\x1b[2J" in said and "\033" not in said, said
    same(project.read("t"), "x\0three\n")


@claim("conflict: undo --merge takes back the run's lines, and keeps mine")
def test_undo_merge(place):
    project = Project(place, "undomerge")
    project.write("t", text())
    project.inside("sed -i 's/line 2$/theirs/' t")
    project.write("t", text(l2="theirs", l15="mine"))
    project.bawn("undo", status=1)
    project.bawn("undo", "--merge")
    same(project.read("t"), text(l15="mine"))
