"""Runs the tests of a suite in the lab (lab.py): as root once as an ordinary user who is made for it and once as root, else once. Each
suite has its own folder, its modules of tests and perhaps a world of its own."""
import contextlib
import importlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
import lab as labs


def is_bare() -> bool:
    return os.environ.get("BAWN_EGRESS_WALLS") == "landlock"


def tests_of_this_part(suite, wanted: str) -> list:
    is_root = os.environ.get("BAWN_EGRESS_PART") == "root" and not os.environ.get("BAWN_SANITIZED")
    names = suite.on_landlock if is_bare() else suite.as_root if is_root else suite.modules
    modules = [importlib.import_module(name) for name in names]
    tests = [test for module in modules for test in module.TESTS if wanted in test.__name__.replace("_", " ")]
    if os.environ.get("BAWN_SANITIZED"):
        tests = [test for test in tests if hasattr(test, "sanitized_too")]
    if os.environ.get("BAWN_LAYER") != "all":
        tests = [test for test in tests if not hasattr(test, "rare")]
    if is_bare():
        tests = [test for test in tests if test.__name__.replace("_", " ") not in suite.different]
    return tests


def run_tests(suite, wanted: str) -> int:
    """In the namespaces: one line a test, and no plan."""
    import scratch
    from session import Session, Skip

    lab = labs.Lab(suite.world)
    failed = 0
    for test in tests_of_this_part(suite, wanted):
        name = test.__name__.replace("_", " ")
        session = Session(lab)
        lab.ask(take=True, names=labs.NAMES)
        began, used = time.monotonic(), scratch.processor_time()
        try:
            test(session)
            print(f"ok - {name}", flush=True)
        except Skip as skip:
            print(f"ok - {name} # SKIP {skip}", flush=True)
        except Exception as error:  # noqa: BLE001
            failed += 1
            print(f"not ok - {name}", flush=True)
            text = "".join(traceback.format_exception(error)) + session.tell()
            print("\n".join("# " + line for line in text.splitlines()), flush=True)
        finally:
            session.close()
            lab.settle()
        print(f"# took {time.monotonic() - began:.2f} s, {scratch.processor_time() - used:.2f} s of a processor", flush=True)
    lab.close()
    return 1 if failed else 0


def folder_of_labs() -> str:
    """Not in /tmp, where bawn reads no secret and starts no program outside."""
    import scratch

    return str(scratch.unwritten_folder() or tempfile.gettempdir())


def sweep():
    """Folders of runs that were killed with -9, and could not tidy up."""
    for folder in pathlib.Path(folder_of_labs()).glob("bawn-egress-*-*"):
        pid = folder.name.split("-")[2]
        with contextlib.suppress(FileNotFoundError):  # another suite has just ended
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}") and folder.lstat().st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)


class Parts:
    """The suite in processes of its own, once or twice; their results are ours, and what they make lies in our folder."""

    def __init__(self, suite, folder: str):
        self.suite = suite
        self.folder, self.count, self.failed = folder, 0, False

    def make_folder(self, owner: int) -> str:
        folder = tempfile.mkdtemp(dir=self.folder)
        os.chmod(folder, 0o755)
        os.chown(folder, owner, -1)
        return folder

    def run(self, name: str, command: list, owner: int, **environment):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", stdin=subprocess.DEVNULL,
                                 env={**os.environ, "BAWN_LAB": "enter", "BAWN_EGRESS_PART": name,
                                      "BAWN_LAB_FOLDER": self.make_folder(owner), **environment})
        failed = False
        try:
            for line in child.stdout:
                is_result = line.startswith(("ok - ", "not ok - "))
                self.count += is_result
                failed |= line.startswith("not ok - ")
                sys.stdout.write(line.replace(" - ", f" - as {name}: ", 1) if is_result else line)
                sys.stdout.flush()
        except BaseException:
            child.kill()  # and with it all that is in its namespaces, of which the last closes the pipe
            child.stdout.read()
            raise
        if child.wait() != failed:
            print(f"not ok - the suite as {name} ended with {child.returncode}")
            self.count, failed = self.count + 1, True
        self.failed |= failed

    def run_as_user(self):
        """The build and the tests may lie where an ordinary user cannot look: they are copied."""
        import scratch

        with scratch.scratch_user() as user:
            folder = self.make_folder(os.geteuid())
            bawn = scratch.copy_bawn(folder)
            for program in ("bawn-egress", "bawn-vault"):
                if (pathlib.Path(os.environ["BAWN"]).parent / program).exists():
                    shutil.copy(pathlib.Path(os.environ["BAWN"]).parent / program, folder)
            for part in {HERE, HERE.parent / "work", self.suite.folder, *self.suite.also}:
                shutil.copytree(part, f"{folder}/{part.name}", ignore=shutil.ignore_patterns("__pycache__"))
            become = scratch.become(user, own_etc=is_bare())
            self.run("a user", [*become, "/usr/bin/python3", "-B", f"{folder}/{self.suite.folder.name}/run", *sys.argv[1:]], user.pw_uid,
                     BAWN=str(bawn), HOME=user.pw_dir, PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")


class Suite:
    """`modules` has the names of the modules of tests, `as_root` those that root runs as well, `on_landlock` those that are run behind walls
    without namespaces (BAWN_EGRESS_WALLS=landlock), but for the tests that `different` names; `world` is the program of the world outside;
    `also` has more folders that they need."""

    def __init__(self, folder, modules, as_root, world=HERE / "world.py", on_landlock=(), different=(), also=()):
        self.folder, self.modules, self.as_root, self.world = folder, modules, as_root, world
        self.on_landlock, self.different, self.also = on_landlock, different, also


def main(suite) -> int:
    if os.environ.get("BAWN_LAB"):
        labs.enter_namespaces()
        return run_tests(suite, sys.argv[1] if len(sys.argv) > 1 else os.environ.get("BAWN_PART", ""))
    lacking = labs.lacking()
    if lacking:
        print(f"1..0 # SKIP {lacking}")
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that what was made is removed
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    sweep()
    with tempfile.TemporaryDirectory(prefix=f"bawn-egress-{os.getpid()}-", dir=folder_of_labs(), ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        parts = Parts(suite, folder)
        if os.geteuid() == 0 and (is_bare() or not os.environ.get("BAWN_SANITIZED")):
            parts.run_as_user()
        if not is_bare() or os.geteuid() != 0:
            parts.run("root" if os.geteuid() == 0 else "a user", [sys.executable, "-B", str(suite.folder / "run"), *sys.argv[1:]], os.geteuid())
    print(f"1..{parts.count}")
    return 1 if parts.failed else 0

