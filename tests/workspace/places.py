"""Where verbs are typed, and how many trees a session keeps: home directories, several workspaces, linked worktrees."""
import shutil
import subprocess

import scratch
from scratch import PATIENCE, Project, same

claim = scratch.Claims()


def there(place, folder, *words, status=0):
    """What a verb of bawn prints that is typed in that folder."""
    done = subprocess.run([place.bawn, *words], cwd=folder, env=place.environment, check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == status, (words, done)
    return done.stdout + done.stderr


@claim("in the home directory: verbs that need no workspace work, and those that name a session, with its policy")
def test_home(place):
    project = Project(place, "from-home")
    project.write(".bawn", "flag special\n")
    project.inside("echo x >>a; echo x >special", "--review")
    assert "from-home-1" in there(place, place.home, "sessions", "--all")
    same(there(place, place.home, "sessions"), "No session has run here.\n")
    same(there(place, place.home, "undo", "--list"), "Nothing can be undone here.\n")
    assert "freed." in there(place, place.home, "undo", "--prune")
    same(there(place, place.home, "home", "list"), "No command has run here yet.\n")
    said = there(place, place.home, "diff", "from-home-1")
    assert "risky: flag special" in said, said
    same(there(place, place.home, "diff", "from-home-1", "--name-only", "work/from-home/a"), "a\n")
    said = there(place, place.home, "apply", "from-home-1", status=1)
    assert "special: could run on your machine: flag special" in said, said
    same([project.read("a"), (project.path / "special").exists()], ["one\nx\n", False])
    there(place, place.home, "undo", "from-home-2")
    same(project.read("a"), "one\n")
    said = there(place, place.home, "discard", "--yes", "from-home-1", "work/from-home/a")
    assert "1 file of from-home-1 discarded" in said, said
    for verb in ("diff", "apply", "undo"):
        said = there(place, place.home, verb, status=2)
        assert "it is your home directory" in said, said


@claim("in another workspace: a session is judged by the policy of its own, not of that")
def test_another_workspace(place):
    project, other = Project(place, "judged"), Project(place, "judging")
    project.write(".bawn", "flag special\n")
    project.inside("echo x >>a; echo x >special", "--review")
    assert "special: could run on your machine" in there(place, other.path, "apply", "judged-1", status=1)
    same([project.read("a"), (project.path / "special").exists()], ["one\nx\n", False])
    shutil.rmtree(project.path)
    said = there(place, other.path, "diff", "judged-1", status=2)
    assert "no longer exists" in said and "bawn discard judged-1" in said, said
    assert "discarded" in there(place, other.path, "discard", "--yes", "judged-1")


@claim("--workspace from elsewhere: the command starts in the workspace; from inside it, where the caller stands; with several, in the first")
def test_start(place):
    project, other = Project(place, "started"), Project(place, "started-too")
    for folder in (place.home, place.folder("work/elsewhere"), "/", "/tmp", "/usr/share", other.path):
        same((folder, place.out("pwd", cwd=folder, flags=("--net", "off", "--workspace", str(project.path)))), (folder, f"{project.path}\n"))
    flags = ("--net", "off", "--workspace", str(project.path), "--workspace", str(other.path))
    same(place.out("pwd", cwd=project.path / "b", flags=flags), f"{project.path}/b\n")
    same(place.out("pwd", cwd=other.path, flags=flags), f"{other.path}\n")
    same(place.out("pwd", cwd="/", flags=flags), f"{project.path}\n")
    same(place.out("./tool", cwd=place.folder("work"), flags=("--net", "off", "--workspace", str(tool_in(project)))), "of the workspace\n")


def tool_in(project):
    """A program in the workspace; another of that name lies around it."""
    (project.path.parent / "tool").write_text("#!/bin/sh\necho elsewhere\n")
    project.write("tool", "#!/bin/sh\necho of the workspace\n", 0o755)
    return project.path


@claim("several workspaces: each has a session of its own, with undo and with review")
def test_several(place):
    one, two = Project(place, "several"), Project(place, "further")
    flags = ("--workspace", str(one.path), "--workspace", str(two.path))
    before = one.looks(), two.looks()
    script = f"echo x >>{one.path}/a; rm {two.path}/b/c"
    one.inside(script, *flags)
    one.bawn("undo")
    same((one.looks(), (two.path / "b/c").exists()), (before[0], False))
    two.bawn("undo")
    same((one.looks(), two.looks()), before)
    one.inside(script, "--review", *flags)
    same((one.looks(), two.looks()), before)
    two.bawn("apply")
    same((one.looks(), (two.path / "b/c").exists()), (before[0], False))


@claim("--review keeps aside what is committed in a linked worktree, too")
def test_linked_worktree(place):
    scratch.need("git")
    main = Project(place, "linkedmain")
    main.git("init", "-q", "-b", "main")
    main.git("add", ".")
    main.git("commit", "-qm", "one")
    linked = Project.__new__(Project)
    linked.place, linked.path = place, place.home / "work" / "linked"
    main.git("worktree", "add", "-q", str(linked.path), "-b", "side")
    def contents():  # stubs of control files come and go in .git: its time says nothing
        return {name: (mode, content) for name, (mode, _, content) in main.looks().items()}
    before = contents()
    commit = "echo x >>a; git -c user.name=t -c user.email=t@x commit -qam two"
    linked.inside(commit, "--review")
    same(contents(), before)
    main.bawn("apply", "linkedmain-1")
    linked.bawn("apply")
    same(linked.git("log", "--format=%s"), "two\none\n")
    same(linked.git("status", "--porcelain"), "")
    main.git("fsck", "--strict")


@claim("--review=all keeps aside what is written anywhere, each tree by itself; a single file is refused")
def test_review_all(place):
    project = Project(place, "all")
    state = place.folder("agent-state")
    (state / "f").write_text("old\n")
    script = f"echo new >{state}/f; echo x >>a"
    project.inside(script, "--review=all", "--write", str(state))
    same([(state / "f").read_text(), project.read("a")], ["old\n", "one\n"])
    project.bawn("apply", "agent-state-1")
    same([(state / "f").read_text(), project.read("a")], ["new\n", "one\n"])
    project.inside(script, "--review", "--write", str(state))  # the control: without `all` it is written at once
    same([(state / "f").read_text(), project.read("a")], ["new\n", "one\n"])
    done = place.run("true", cwd=project.path, flags=("--review=all", "--write", str(state / "f")))
    same(done.returncode, 125)
    assert b"because it is a single file" in done.stderr, done.stderr
    done = place.run("true", cwd=project.path, flags=("--review=some",))
    same(done.returncode, 2)


@claim("--nested implies --review=all: namespaces work inside, and nothing reaches the host, frozen or not")
def test_nested(place):
    scratch.need("git", "unshare")
    project = Project(place, "nested")
    project.git("init", "-q")
    state = place.folder("nested-state")
    attack = (f"echo x >>a; echo y >{state}/f; "
              "unshare -Urm sh -c 'umount -l .git/config .git/hooks; cp a .git/config; mkdir -p .git/hooks; "
              "cp a .git/hooks/pre-commit'; id -u >/dev/null")
    done = place.run("sh", "-c", attack, cwd=project.path,
                     flags=("--net", "off", "--nested", "--write", str(state)))
    same(done.returncode, 0)
    same([project.read("a"), (state / "f").exists(), (project.path / ".git/hooks/pre-commit").exists(),
          "one" in project.read(".git/config")], ["one\n", False, False, False])
    same(place.run("unshare", "-Ur", "true", cwd=project.path, flags=("--nested",)).returncode, 0)
    assert place.run("unshare", "-Ur", "true", cwd=project.path, flags=()).returncode != 0
    assert "nested-1" in project.bawn("sessions"), project.bawn("sessions")
    same(place.run("sh", "-c", "echo x >>a", cwd=project.path, flags=("--nested", "--read-only")).returncode, 2)


@claim("--nested: nothing reaches the host where there is no repository, and no file that bawn would have to make first")
def test_nested_without_git(place):
    project = Project(place, "nested-plain")
    script = "echo x >>a; echo made >made"
    for flags in (("--nested",), ("--nested", "--net", "off"), ("--nested", "--net", "off", "--fresh-home")):
        same(place.run("sh", "-c", script, cwd=project.path, flags=flags).returncode, 0)
        same([project.read("a"), (project.path / "made").exists()], ["one\n", False])
    assert project.bawn("sessions").count("waiting") == 3, project.bawn("sessions")
    same(place.run("sh", "-c", script, cwd=project.path, flags=("--net", "off")).returncode, 0)  # the control: a live run
    same([project.read("a"), (project.path / "made").exists()], ["one\nx\n", True])
