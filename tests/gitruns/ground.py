"""A repository in which every setting of git that runs something names a program in the tree, and what becomes of these programs."""
import concurrent.futures
import copy
import json
import pathlib
import shutil
import subprocess

import scratch
import settings
from scratch import need

AT_ONCE = 4
HERE = pathlib.Path(__file__).resolve().parent
INSIDE = (HERE / "inside.py").read_text()
IDENTITY = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# By the attributes, each driver has files of its own: o.* are committed, n.* are new.
ATTRIBUTES = "".join(f"*.{name} {kind}={name}\n" for kind, names in (("filter", "fc fs fp"), ("diff", "dt dc"), ("merge", "md"))
                     for name in names.split())
TEMPLATE = f"""
git init -q -b main . && printf '{ATTRIBUTES}' >.gitattributes
for name in a o.dt o.dc o.fs o.at o.md m; do echo one >$name; done
git init -q -b main ../sub && git -C ../sub commit -q --allow-empty -m one && git -c protocol.file.allow=always submodule --quiet add ../sub sub
git -C sub commit -q --allow-empty -m two
git add . && git commit -qm first && git -C sub branch kept
git checkout -q -b side && echo side >o.md && echo side >m && git commit -qam side
git checkout -q main && echo main >o.md && echo main >m && git commit -qam main
git -C sub reset -q --hard HEAD~1
rm -f .git/hooks/* sub/../.git/modules/sub/hooks/*
"""
# What a user does who keeps all of it in the repository.
TRACK = "git add -f . ':!in' ':!sub' ':!sep' ':!wt' && git -c core.fsmonitor=false -c core.hooksPath=/dev/null commit -q --allow-empty -m all"
HONEST = "#!/bin/sh\nexit 1\n"
REFUSED = ("EROFS", "EACCES", "EPERM")


def is_early(way):
    """Does git read it before it has found config.worktree?"""
    return way.key.startswith("alias.") or "[alias]" in way.evil


def git_text(key, value):
    """A setting as it stands in a configuration."""
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    head = f'[{section} "{subsection}"]' if subsection else f"[{section}]"
    return head + f'\n\t{name} = "' + value.replace("\\", "\\\\").replace('"', '\\"') + '"\n'


def sh(place, script, cwd, **more):
    """What a user types on the host."""
    try:
        return subprocess.run(["sh", "-c", script], cwd=cwd, env={**place.environment, **IDENTITY, "GIT_TERMINAL_PROMPT": "0", **more}, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=scratch.PATIENCE,
                              start_new_session=True)
    except subprocess.TimeoutExpired:
        return None


def must(place, script, cwd, **more):
    done = sh(place, f"set -e\n{script}", cwd, **more)
    if not done or done.returncode:
        raise AssertionError(f"{script[:300]}: {done and done.stderr[-400:]}")
    return done.stdout


def template(place):
    """Made by git itself, once for each home."""
    top = place.home / "template/work"
    if not top.exists():
        top.mkdir(parents=True)
        must(place, TEMPLATE, top)
    return top


class Claims(scratch.Claims):
    """Their tests run side by side: each has a home of its own."""

    def run(self, tap, place):
        need("git", "python3")
        template(place)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            begun = [(name, pool.submit(test, place)) for name, test in self.wanted(tap, place)]
            for name, test in begun:
                with tap.test(name):
                    test.result()


class Ground:
    """A user whose home has the tree `work`, and beside it the marks that a changed program leaves, and OUT, a folder for all else."""

    def __init__(self, place, name, inner=""):
        self.name, self.home = name, place.home / name
        self.place = copy.copy(place)
        self.place.home = self.home
        self.place.environment = {**place.environment, "HOME": str(self.home)}
        self.work, self.marks, self.out = self.home / "work", self.home / "marks", self.home / "out"
        self.top = self.work / inner  # the repository that is attacked
        self.marks.mkdir(parents=True)
        self.out.mkdir()
        shutil.copytree(template(place), self.work, symlinks=True)
        if inner:
            shutil.copytree(template(place), self.top, symlinks=True)

    def host(self, script, cwd=None):
        return sh(self.place, script, cwd or self.top, OUT=str(self.out), TOP=str(self.top))

    def marked(self):
        return sorted(path.name for path in self.marks.iterdir())

    def evil(self, name):
        return f"#!/bin/sh\n: >{self.marks}/{name}\nexit 1\n"

    def held(self):
        """What bawn holds aside, as paths below the tree."""
        found = []
        for path in (self.home / ".local/state/bawn/sessions").glob("*/held*/**/*"):
            at = str(path).find(str(self.work) + "/")
            found += [str(path)[at + len(str(self.work)) + 1:]] if at >= 0 and not path.is_dir() else []
        return found

    def bawn(self, *words):
        return subprocess.run([self.place.bawn, *words], cwd=self.work, env=self.place.environment, check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=scratch.PATIENCE)

    def strike(self, acts, *flags, cwd=None, control=False):
        """Does this to the tree, in bawn or, as the control, without. Returns what each act ended with, and what bawn said."""
        words = ["python3", "-I", "-c", INSIDE, json.dumps(acts)]
        if control:
            done = subprocess.run(words, cwd=cwd or self.top, capture_output=True, check=True, timeout=scratch.PATIENCE)
        else:
            done = self.place.run(*words, cwd=cwd or self.top, flags=("--net", "off", *flags))
        said = done.stderr.decode("utf-8", "replace")
        if done.returncode == 0:
            return json.loads(done.stdout), said
        if done.returncode == 125 and "bawn: " in said:  # it refuses this run, which protects all
            return None, said
        raise AssertionError(f"the run ended with {done.returncode}: {said[-500:]}")

    def worktree(self):
        """Where --branch worked."""
        trees = must(self.place, "git worktree list --porcelain", self.top).split("worktree ")[1:]
        return pathlib.Path(trees[-1].split("\n")[0])


# With these spellings each setting is tried. The other ones are read by the same code for all settings: `make test` takes a third with each.
WHOLE = ("relative", "absolute", "interpreter", "linked")


class Settings(Ground):
    """A ground whose settings lie in one place, and name their programs in one way."""

    def __init__(self, place, name, where, spelling, is_there=True, is_tracked=False):
        super().__init__(place, name, "in" if where == "nested" else "")
        ways = [way for way in settings.ways() if spelling in way.spellings and (where in ("user", "xdg") or not way.only_user)]
        self.ways = ways if scratch.EVERYTHING or spelling in WHOLE else ways[len(spelling) % 3::3]
        self.where, self.is_read = where, spelling.startswith("interpreter")
        for way in self.ways:
            self.furnish(way, is_there)
        (self.top / "lane").symlink_to("scripts")
        if is_tracked:
            must(self.place, TRACK, self.top)
        must(self.place, f"git init -q --bare {self.out}/bare.git", self.top)
        own = [("diff.chosen.command", f"sh -c ': >{self.marks}/core.attributesFile'"), ("remote.up.url", "."), ("remote.down.url", "."),
               ("submodule.sub.url", str(self.top / "sub"))]
        with (self.top / ".git/config").open("a") as file:
            file.write("".join(git_text(*each) for each in own))
        self.configure("".join(git_text(way.key, self.value(way, way.spellings[spelling])) for way in self.ways))

    def furnish(self, way, is_there):
        path = self.top / way.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_there:
            path.write_text("" if way.evil else HONEST)
            path.chmod(0o644 if self.is_read else 0o755)
        (self.top / "links").mkdir(exist_ok=True)
        (self.top / "links" / way.name).symlink_to(f"../{way.path}")
        (self.top / way.short).symlink_to(way.path)

    def value(self, way, spelling):
        home = "~/" + str(self.top.relative_to(self.home))
        return spelling.format(path=way.path, file=pathlib.Path(way.path).name, link=f"links/{way.name}", short=way.short, lane=f"lane/{way.name}", top=self.top, home=home)

    def configure(self, text):
        """Into the file that is to hold the settings."""
        home = self.home
        config = {"repository": self.top / ".git/config", "nested": self.top / ".git/config", "worktree": self.top / ".git/config.worktree", "user": home / ".gitconfig",
                  "xdg": home / ".config/git/config", "included": home / "extra.gitconfig", "included-in-tree": self.top / "more/settings"}[self.where]
        config.parent.mkdir(parents=True, exist_ok=True)
        with config.open("a") as file:
            file.write(text)
        extra = {"worktree": git_text("extensions.worktreeConfig", "true"), "included": git_text("include.path", "~/extra.gitconfig"),
                 "included-in-tree": git_text("include.path", "../more/settings")}
        with (self.top / ".git/config").open("a") as file:
            file.write(extra.get(self.where, ""))

    def text_of(self, way):
        return way.evil.format(mark=f": >{self.marks}/{way.name}") if way.evil else self.evil(way.name)

    def acts(self, what="", prefix=""):
        """This against each program; without a word, it is written or made, as an interpreter or the system needs it."""
        return [(what or ("make_plain" if self.is_read else "make"), prefix + way.path, self.text_of(way)) for way in self.ways]

    def acts_on_links(self):
        return [("replace", path, self.text_of(way)) for way in self.ways for path in (f"links/{way.name}", way.short)]

    def acts_on_folders(self):
        """One program stands for all: the folder takes them along, and one of them is made anew."""
        first = self.ways[0]
        return [(act, path, self.text_of(first)) for act, path in (("folder", f"lane/{first.name}"), ("folder_linked", first.path))]

    def changed(self, spelling, top=None):
        """The settings whose program is now the command's."""
        found = []
        for way in self.ways:
            named = way.spellings[spelling]
            path = f"links/{way.name}" if "{link}" in named else way.short if "{short}" in named else f"lane/{way.name}" if "{lane}" in named else way.path
            path = (top or self.top) / path
            if path.is_file() and path.read_text(errors="replace") == self.text_of(way):
                found.append(way.name)
        return found

    def day(self):
        """The user's day: each command that runs a program because of a setting. Returns what git said where no program ran."""
        said = {}
        for way in self.ways:
            if way.host and (self.where != "worktree" or not is_early(way)):
                done = self.host(way.host)
                said[way.name] = done.stderr[-300:] if done else "hangs"
        marked = self.marked()
        return {name: text for name, text in said.items() if name not in marked}
