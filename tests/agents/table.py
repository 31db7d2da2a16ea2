"""Writes what the suite saw into docs/agents.md, between two marks."""
import datetime
import pathlib
import platform
import re

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "docs" / "agents.md"
BEGIN, END = "<!-- written by tests/agents/run --write-docs -->", "<!-- until here -->"
COLUMNS = ("works", "refused", "no hook", "instructions", "told", "host untouched", "terminal")


def rule_words(profile, verb):
    """The objects of a verb in a profile's own lines."""
    text = (TOP / "profiles" / f"{profile}.bawn").read_text()
    lines = re.findall(rf"^{verb}\s+([^#\n]*)", text, re.M)
    return [word for line in lines for word in line.split()]


def grants(name):
    live = [f"`{path}`" for path in rule_words(f"agent/{name}", "write")]
    login = [f"`{path}`" for path in rule_words(f"agent/{name}", "sync")]
    hosts = rule_words(f"agent/{name}", "connect")
    nets = [word for word in rule_words(f"agent/{name}", "use") if word.startswith("net/")]
    return f"| {name} | {' '.join(live) or 'in the private home'} | {' '.join(login) or 'copied, or a key'} | {' '.join(nets + hosts)} |"


def write(seen, untried):
    """`seen`: agent's name → (version, {column: True, False or None})."""
    mark = {True: "yes", False: "**no**", None: "–"}
    lines = [BEGIN, "",
             f"Seen on Linux {platform.release().split('-')[0]}, {platform.machine()}, on {datetime.date.today()}, as an ordinary user:", "",
             "| agent | version | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
    for name, (version, results) in seen.items():
        lines.append(f"| {name} | {version} | " + " | ".join(mark.get(results.get(column), results.get(column)) for column in COLUMNS) + " |")
    lines += ["", "Not tried, their profiles are written from documentation and code: "
              + ", ".join(f"{name} ({why})" for name, why in sorted(untried.items())) + ".", "",
              "What each profile lets through, beside settings, instructions and skills, which are copied in:", "",
              "| agent | history that is the host's own | login kept the same | hosts |", "|---|---|---|---|"]
    lines += [grants(path.stem) for path in sorted((TOP / "profiles/agent").glob("*.bawn"))]
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(before + "\n".join([*lines, "", END]) + after)
