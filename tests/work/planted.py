"""Programs that commands inside plant where the PATH of a person may find them, and a program of the person's own: for the suites outside and vault.

Every program writes its directory and its environment to a file that nothing inside can reach, so each start outside is seen.

    plants = Plants(place, "name")        # its workspace is plants.work
    plants.script                         # plants; the first thing that a command inside runs
    plants.path()                         # every bad entry, and the trusted directory last
    plants.told()                         # the programs that were started: {"trusted"} is as it should be
"""
import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile

import scratch
from processes import children_of, name_of
from scratch import PATIENCE, until

# Every directory has all of them.
NAMES = ("helper", "gh", "ssh", "sbatch", "squeue", "scancel", "less")
VALUE = "4012345678"  # what each prints: a token, and the number of a job

CANARY = """#!/bin/sh
{ pwd -P; /usr/bin/env; } >@TOLD@/new.$$ && /bin/mv @TOLD@/new.$$ @TOLD@/@WHO@
case "$*" in *--noheader*) ;; *) echo @VALUE@ ;; esac  # no job is in the queue of squeue
"""
# Harmless here: each names nothing, or a file that writes its name where programs do.
NOT_PASSED = ("GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB",
              "PERL5OPT", "RUBYLIB", "RUBYOPT", "BASH_ENV", "ENV", "SHELLOPTS", "CDPATH", "GCONV_PATH", "GIT_EXEC_PATH", "MAKEFLAGS")
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What bawn starts and leaves alone falls to this process, so that its end can be waited for."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def await_orphans(known):
    """Waits for every child of this process but the known ones."""
    def left():
        return set(children_of(os.getpid())) - known

    def is_over():
        for child in left():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        return not left()
    try:
        until(is_over, "what was started outside has ended")
    except AssertionError:
        names = [name_of(child) for child in left()]
        for child in left():
            os.kill(child, signal.SIGKILL)  # the next test waits for its own
        raise AssertionError(f"still running: {names}") from None


class Plants:
    """A workspace, a tree that a run may write, programs that it plants, and what was started of them."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.folder = place.folder(f"plants-{name}")
        self.told_in, self.tree = place.folder(f"plants-{name}/told"), place.folder(f"plants-{name}/tree")
        self.work = place.folder(f"work/{name}")
        self.environment = {**place.environment}
        self.places = {}

    def __enter__(self):
        self.stack, self.known = contextlib.ExitStack(), set(children_of(os.getpid()))
        self.tools = self.stack.enter_context(scratch.tools(self.place))
        (self.tools / "bin").mkdir()
        for name in NAMES:
            self.write(self.tools / "bin" / name, "trusted")
        self.write_links()
        self.write_script()
        return self

    def __exit__(self, *ended):
        self.stack.close()

    def text(self, who):
        return CANARY.replace("@TOLD@", str(self.told_in)).replace("@WHO@", who).replace("@VALUE@", VALUE)

    def write(self, path, who, text=None):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or self.text(who))
        path.chmod(0o755)

    def write_links(self):
        """Directories of the person's own that lead into the workspace, and programs there that do."""
        for name in ("linked", "chain", "file", "interpreter"):
            (self.tools / name).mkdir()
        (self.tools / "linked/bin").symlink_to(self.work / "linked")
        (self.tools / "chain/first").symlink_to(self.tools / "chain/second")
        (self.tools / "chain/second").symlink_to(f"{self.work}/chain")
        for name in NAMES:
            (self.tools / "file" / name).symlink_to(self.work / "file")
            self.write(self.tools / "interpreter" / name, "", f"#!{self.work}/interpreter\n")

    def write_script(self):
        """What plants, as a command inside runs it. It must be able to write the workspace and the tree, and not where starts are told."""
        folders = {"workspace": ".venv/bin", "relative": "node_modules/.bin", "empty": ".", "dot": "bin/dot", "dots": "dots", "linked": "linked",
                   "chain": "chain", "tree": f"{self.tree}/bin"}
        lines = ["set -e"]
        for who, folder in folders.items():
            lines.append(f"mkdir -p {folder}; cat >{folder}/helper <<'END'\n{self.text(who)}END\nchmod 755 {folder}/helper")
            lines += [f"cp {folder}/helper {folder}/{name}" for name in NAMES[1:]]
        for who in ("file", "interpreter", "by-sh"):
            lines.append(f"cat >{who} <<'END'\n{self.text(who)}END\nchmod 755 {who}")
        told = self.told_in
        lines.append(f"printf 'all:\\n\\t@echo make >{told}/by-make\\n' >Makefile")
        lines.append(f"printf 'open(\"{told}/by-python\", \"w\").write(\"python\")\\n' | tee bawn_helper.py sitecustomize.py >/dev/null")
        lines.append(f"echo ': >{told}/by-env' >rc")
        lines.append(f"if echo inside >{told}/inside; then :; fi 2>/dev/null\ntrue")
        self.script = "\n".join(lines) + "\n"

    def before(self):
        """Runs that plant in another workspace, in a private home and in a branch; and somebody who plants where everybody can."""
        for who, flags in (("other", ()), ("branch", ("--branch", "planted"))):
            work = self.place.folder(f"work/{self.name}-{who}")
            if who == "branch":
                self.make_repository(work)
            self.plant(who, f"planted-{self.name}-{who}", work, flags)
        self.plant("home", f'"$HOME"/planted-{self.name}-home', self.work, ())
        for who, folder in (("tmp", "/tmp"), ("var-tmp", "/var/tmp"), ("shm", "/dev/shm")):
            self.places[who] = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="bawn-planted-", dir=folder)))
            self.places[who].chmod(0o755)
            for name in NAMES:
                self.write(self.places[who] / name, who)
        return self

    def make_repository(self, folder):
        scratch.need("git")
        subprocess.run("git init -q . && git -c user.name=a -c user.email=a@a.test commit -q --allow-empty -m one", cwd=folder, shell=True, check=True,
                       env=self.place.environment)

    def plant(self, who, folder, work, flags):
        script = f"set -e; mkdir -p {folder}; cd {folder}; cat >helper <<'END'\n{self.text(who)}END\nchmod 755 helper\n"
        self.place.out("sh", "-ec", script + "".join(f"cp helper {name}\n" for name in NAMES[1:]), cwd=work, flags=("--net", "off", *flags))
        found = [path for path in self.place.home.rglob(f"planted-{self.name}-{who}") if path.is_dir() and (path / "helper").exists()]
        assert found, f"where {who} planted is not found on the host"
        self.places[who] = found[0]

    def entries(self):
        """Each way to write what inside can write, by its name."""
        own = {"workspace": f"{self.work}/.venv/bin", "relative": "node_modules/.bin", "empty": "", "dot": "./bin/dot",
               "dots": f"{self.tools}/bin/..{'/..' * 40}{self.work}/dots", "linked": f"{self.tools}/linked/bin", "chain": f"{self.tools}/chain/first", "tree": f"{self.tree}/bin"}
        return {**own, **{who: str(path) for who, path in self.places.items()}}

    def path(self, *more, trusted=True):
        """PATH with all that is bad in front of the person's own programs."""
        return ":".join([*more, *self.entries().values(), *([f"{self.tools}/bin"] if trusted else []), self.place.environment["PATH"]])

    def variables(self, path, **more):
        """The caller's environment, with what makes programs load the files of a workspace."""
        planted = {name: str(self.work) for name in NOT_PASSED if not name.startswith("LD_")}
        planted.update({"BASH_ENV": f"{self.work}/rc", "ENV": f"{self.work}/rc", "NODE_OPTIONS": f"--require={self.work}/x.js", "SHELLOPTS": "braceexpand",
                        "GIT_SSH_COMMAND": f"{self.work}/helper", "MAKEFLAGS": "s", "LD_LIBRARY_PATH": "/usr/lib", "PERL5OPT": "-Mstrict", "RUBYOPT": "-w"})
        if not scratch.SANITIZED:
            planted["LD_PRELOAD"] = "libc.so.6"
        return {**planted, "PATH": path, **more}

    def clear(self):
        for path in self.told_in.iterdir():
            path.unlink()

    def told(self):
        await_orphans(self.known)
        return {path.name for path in self.told_in.iterdir() if not path.name.startswith("new.")}

    def problems_of_trusted(self):
        """What the person's own program got that it must not get, or did not get that it needs."""
        directory, *lines = (self.told_in / "trusted").read_text().splitlines()
        got = dict(line.split("=", 1) for line in lines if "=" in line)
        bad = [f"the directory {directory}"] * (directory != "/")
        bad += [name for name in NOT_PASSED if name in got]
        bad += [f"HOME={got.get('HOME')}"] * (got.get("HOME") != self.environment["HOME"])
        entries = got.get("PATH", "").split(":")
        bad += [f"PATH has {entry!r}" for entry in entries if not entry.startswith("/") or entry in self.entries().values()]
        return bad + [f"PATH lacks {self.tools}/bin"] * (f"{self.tools}/bin" not in entries)

    def controls(self):
        """The spellings that find nothing even for a shell with the caller's PATH and directory: then the attack shows nothing."""
        missed = []
        for who, entry in self.entries().items():
            self.clear()
            subprocess.run(["sh", "-c", "helper"], cwd=self.work, env={**self.place.environment, "PATH": f"{entry}:/usr/bin:/bin"}, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=PATIENCE)
            missed += [who] * ({path.name for path in self.told_in.iterdir()} != {who})
        return missed
