"""What an apply holds back, since it could run on your machine."""
import json
import os
import shutil
import subprocess

import scratch
from scratch import Project, same

claim = scratch.Claims()
RISKY = {
    ".envrc": "echo x",
    ".github/workflows/ci.yml": "x",
    "CLAUDE.md": "x",
    "sub/ci.bawn": "read ~/.ssh/",
    ".vscode/tasks.json": "{}",
    "Makefile": "all:",
    "devenv.nix": "{}",
    "eslint.config.mjs": "x",
    "sub/.eslintrc.cjs": "x",
    "package.json": '{"scripts":{"postinstall":"x"}}',
    "sub/.git/config": "[core]",
    "bare/HEAD": "ref: refs/heads/main",
    "tool": "#!/bin/sh",
}


@claim("apply holds back what could run on your machine, and says why of each")
def test_risky(place):
    project = Project(place, "gate")
    script = "".join(f"mkdir -p $(dirname '{name}'); echo '{text}' >'{name}'\n" for name, text in RISKY.items())
    script += "chmod +x tool; ln -s ../../.. out; ln -s /etc/passwd absolute; ln -s a fine; mkfifo pipe; echo x >a; printf x >\"$(printf 'in\\033[2Jvisible')\""
    project.inside(script, "--review")
    reasons = {item["path"]: item["risky"] for item in json.loads(project.bawn("diff", "--json"))}
    held = {*RISKY, "out", "absolute", "in\x1b[2Jvisible"}
    same({path for path, why in reasons.items() if why}, held | {"pipe"})
    text = project.bawn("apply", status=1)
    assert "\x1b[2J" not in text, text
    same([name for name in held if os.path.lexists(project.path / name)], [])
    same([project.read("a"), os.readlink(project.path / "fine")], ["x\n", "a"])
    project.bawn("apply", "--allow-risky")
    same([name for name in held if not os.path.lexists(project.path / name)], [])


@claim("apply holds back the deletion of a flagged file, too, and says why (control: of another file it does not)")
def test_deleted(place):
    project = Project(place, "gate-deleted")
    project.write("CLAUDE.md", "mine\n")
    project.inside("rm CLAUDE.md b/c", "--review")
    text = project.bawn("apply", status=1)
    assert "CLAUDE.md: could run on your machine: agent file" in text, text
    same([project.read("CLAUDE.md"), (project.path / "b/c").exists()], ["mine\n", False])
    project.bawn("apply", "--allow-risky")
    same((project.path / "CLAUDE.md").exists(), False)


@claim("a package.json whose scripts stay the same passes")
def test_same_scripts(place):
    project = Project(place, "package")
    project.write("package.json", '{"version":"1","scripts":{"test":"x"}}')
    project.inside("""echo '{"version":"2","scripts":{"test":"x"}}' >package.json""", "--review")
    project.bawn("apply")
    assert '"2"' in project.read("package.json")


@claim("a package.json that says its scripts twice, or in other letters, waits")
def test_scripts_twice(place):
    project = Project(place, "package-twice")
    was = '{"scripts":{"test":"x"}}'
    for number, text in enumerate(('{"scripts":{"test":"x"},"scripts":{"test":"evil"}}',
                                   '{"scripts":{"test":"x"},"\\u0073cripts":{"test":"evil"}}',
                                   '{"scripts":{"test":"x"},"husky":{"hooks":{"pre-commit":"evil"}}}',
                                   '{"name":"scripts","a":{},"scripts":{"test":"evil"}}', "not json")):
        project.write("package.json", was)
        project.inside(f"cat >package.json <<'END'\n{text}\nEND", "--review")
        project.bawn("apply", status=1)
        same((number, project.read("package.json")), (number, was))
        project.bawn("discard", "--yes")
    project.write("package.json", twice := '{"scripts":{"test":"x"},"scripts":{"test":"y"}}')
    project.inside("sed -i s/x/evil/ package.json", "--review")
    project.bawn("apply", status=1)
    same(project.read("package.json"), twice)


@claim("what git would run because of a repository's configuration waits, whatever its folder is called")
def test_git_configuration(place):
    project = Project(place, "config")
    for name in ("store/HEAD", "store/config", "aws/config", "kube/config"):
        project.write(name, "ref: refs/heads/main\n" if name == "store/HEAD" else "")
    project.inside("printf '[core]\\n\\tfsmonitor = evil\\n' >store/config; printf '[default]\\nregion = x\\n' >aws/config; "
                   "echo 'clusters: {}' >kube/config", "--review")
    project.bawn("apply", status=1)
    same([bool(project.read(name)) for name in ("store/config", "aws/config", "kube/config")], [False, True, True])


@claim("a HEAD in any spelling that git reads waits, and so do the files that lead a bare repository to another configuration")
def test_bare_spellings(place):
    scratch.need("git")
    project = Project(place, "spellings")
    heads = {"near": "ref:refs/heads/main", "tab": "ref:\trefs/heads/main", "capitals": "CE013625030BA8DBA906F756967F9E9CA394464A"}
    risky = {f"{name}/HEAD": text for name, text in heads.items()}
    risky |= {"store/commondir": "../other", "store/config.worktree": "[core]\n\tfsmonitor = evil"}
    fine = {"prose/HEAD": "reference: main", "plain/config.worktree": "[core]\n\tbare = false"}
    script = "".join(f"mkdir -p $(dirname {name}); cat >{name} <<'END'\n{text}\nEND\n" for name, text in {**risky, **fine}.items())
    script += "".join(f"mkdir {name}/objects {name}/refs\n" for name in [*heads, "prose"])
    project.inside(script, "--review")
    project.bawn("apply", status=1)
    same([name for name in {**risky, **fine} if (project.path / name).exists()], [*fine])
    project.bawn("apply", "--allow-risky")
    taken = [name for name in [*heads, "prose"]  # the control: which of them git takes for a repository
             if subprocess.run(["git", "rev-parse", "--git-dir"], cwd=project.path / name, capture_output=True,
                               env=place.environment, check=False).stdout == b".\n"]
    same(taken, [*heads])


@claim("a link that leads out of the workspace by way of another one waits")
def test_link_by_link(place):
    project = Project(place, "links")
    project.inside("mkdir -p d/e; ln -s ../.. d/e/up; ln -s d/e/up/../secret out; ln -s ../e/x d/e/in", "--review")
    project.bawn("apply", status=1)
    same([os.path.lexists(project.path / name) for name in ("out", "d/e/up", "d/e/in")], [False, True, True])
    project.bawn("apply", "--allow-risky")
    same(os.path.realpath(project.path / "out"), str(project.path.parent / "secret"))  # the control


@claim("diff is a patch that git applies")
def test_patch(place):
    scratch.need("git")
    project = Project(place, "patch")
    project.write("lines", "".join(f"{i}\n" for i in range(100)))
    shutil.copytree(project.path, place.home / "work/patched")
    project.inside("sed -i 's/^50$/fifty/; 3d; 90a more' lines; echo x >>a; rm b/d; mv b/c b/moved; printf end >new",
                   "--review")
    patch = project.bawn("diff")
    subprocess.run(["git", "apply"], cwd=place.home / "work/patched", input=patch, text=True, check=True,
                   env=place.environment)
    project.bawn("apply")
    names = ["lines", "a", "b/moved", "new"]
    same([(place.home / "work/patched" / name).read_text() for name in names], [project.read(name) for name in names])
    same((place.home / "work/patched/b/d").exists(), False)
