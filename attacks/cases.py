"""The cases, as the attacks' own header comments state them. README.md beside this file describes the notation."""
import pathlib
import re

WAYS = ("root", "user", "userns")
PROMISES = ("files", "processes", "network", "persistence", "terminal", "kernel", "resources")


class Case:
    """One line `case NAME: ARGUMENTS => RESULT | OPTION | ...`, and perhaps one `  PROMISE: SENTENCE` below it."""

    def __init__(self, program: pathlib.Path, line: str, promise: str = "", says: str = ""):
        match = re.fullmatch(r"case ([a-z0-9-]+):(.*?)=> (.*)", line)
        if not match:
            raise SystemExit(f"{program.name}: not a case: {line}")
        self.program, self.promise, self.says = program, promise, says
        self.name, arguments, rest = match.groups()
        self.arguments = arguments.split()
        results, *options = [part.strip() for part in rest.split(" | ")]
        self.results = [part.strip() for part in results.split(";")]
        self.options = {}
        for option in options:
            key, _, value = option.partition(" ")
            if key not in OPTIONS:
                raise SystemExit(f"{program.name}: {self.name}: no such option: {key}")
            if key == "control" and key in self.options:
                raise SystemExit(f"{program.name}: {self.name}: two controls")
            self.options[key] = value
        if promise and promise not in PROMISES:
            raise SystemExit(f"{program.name}: {self.name}: no such promise: {promise}")

    def expected(self, way: str) -> list:
        """What may come out inside; `root: RESULT` is for that way alone, and then the only one."""
        own = [text.split(": ", 1)[1] for text in self.results if text.startswith(way + ": ")]
        return own or [text for text in self.results if not text.startswith(tuple(name + ": " for name in WAYS))]

    def has_control(self, way: str) -> bool:
        who = self.options.get("control-by", " ".join(WAYS)).split(":")[0]
        return way in who.split()


OPTIONS = {
    "harms",  # a sensor of the world that the control trips, and the attack inside must not
    "reaches",  # a sensor that both must trip: what is granted works
    "differs",  # harmless as long as it prints something else than the control
    "control",  # what the control prints, where that is not `done`; `~TEXT`: its line holds TEXT; `A or B`
    "control-args",  # its arguments, where they differ: process 1 is ours only inside
    "control-by",  # the ways that have a control, or `nobody: REASON`
    "control-in",  # namespaces for the control (letters of unshare; U: a user namespace, but for root)
    "flags",  # for bawn, beside --net off
    "fd",  # a path that is open as descriptor 9 when bawn is started
    "stdin",  # a path that is open as descriptor 0
    "pty",  # in a terminal of its own
    "in-group-of",  # in the victim's process group
    "run",  # another copy of the program
    "if",  # a path without which this machine does not know the attack
    "only-by",  # the ways that have the attack at all
    "only-on",  # an architecture
    "fresh-home",  # forget the private home first
    "todo",  # no promise of bawn's: why the case is there all the same
    # For `bawn prove`, whose controls are run on a machine that is in use:
    "decoy-args",  # the control's arguments there: a decoy in place of the machine's own file
    "loads",  # a kernel module that the control would load: not tried where it is not there yet
    "prove-only",  # no case of the escape tests
}


def load(folder: pathlib.Path) -> list:
    cases, names = [], set()
    for path in sorted(folder.glob("*.c")):
        found = re.findall(r"^ \* (case .*)$(?:\n \*   ([a-z]+): (.*)$)?", path.read_text(), re.M)
        if not found and path.name != "main.c":
            raise SystemExit(f"{path.name}: it states no case")
        for line, promise, says in found:
            case = Case(path, line, promise, says)
            if case.name in names:
                raise SystemExit(f"{path.name}: there are two cases {case.name}")
            names.add(case.name)
            cases.append(case)
    return cases


def story(path: pathlib.Path) -> dict:
    """What a program tries, why, and where that was seen: the header's first three paragraphs."""
    comment = re.match(r"/\*\n(.*?)\n \*/", path.read_text(), re.S)[1]
    text = "\n".join(line[3:] for line in comment.split("\n"))
    what = text.split("\n\n")[0]
    why = re.search(r"^Why: (.*?)(?=^Seen: |\n\n)", text, re.M | re.S)
    seen = re.search(r"^Seen: (.*?)(?=\n\n|\Z)", text, re.M | re.S)
    if not why or not seen:
        raise SystemExit(f"{path.name}: its header does not say why, or where it was seen")
    return {name: " ".join(part.split()) for name, part in (("what", what), ("why", why[1]), ("seen", seen[1]))}
