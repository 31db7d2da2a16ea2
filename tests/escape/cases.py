"""The cases, as the attacks' own header comments state them. tests/escape/README.md describes the notation."""
import pathlib
import re

WAYS = ("root", "user", "userns")


class Case:
    """One line `case NAME: ARGUMENTS => RESULT | OPTION | ...`."""

    def __init__(self, program: pathlib.Path, line: str):
        match = re.fullmatch(r"case ([a-z0-9-]+):(.*?)=> (.*)", line)
        if not match:
            raise SystemExit(f"{program.name}: not a case: {line}")
        self.program = program
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
}


def load(folder: pathlib.Path) -> list:
    cases, names = [], set()
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".c", ".sh"):
            continue
        found = re.findall(r"^(?: \*|#) (case .*)$", path.read_text(), re.M)
        if not found:
            raise SystemExit(f"{path.name}: it states no case")
        for line in found:
            case = Case(path, line)
            if case.name in names:
                raise SystemExit(f"{path.name}: there are two cases {case.name}")
            names.add(case.name)
            cases.append(case)
    return cases
