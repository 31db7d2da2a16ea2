"""New programs, dependencies and what builds make."""
import os
import shutil

import scratch
from ground import GIT
from scratch import same

claim = scratch.Claims()

OBEYED = {".bsp/scala.json": "metals", "hie.yaml": "haskell-language-server", "rust-analyzer.toml": "rust-analyzer",
          "c/.octaverc": "octave", ".ocamlinit": "ocaml", ".Renviron": "R", ".Rprofile": "R", ".pylintrc": "pylint",
          "mypy.ini": "mypy", ".rubocop.yml": "rubocop", "b/.pnp.cjs": "yarn"}


@claim("flags: what interpreters, language servers and checkers obey is set aside, and `why` names the program")
def test_flagged_programs(place):
    work = place.repository("obeyed")
    names = list(OBEYED)
    done = place.sh(work, "mkdir -p c b .bsp; for f in " + " ".join(names) + " plain.yaml; do echo evil >$f; done")
    same(done.returncode, 0)
    same(sorted(place.held(work)), sorted(names))
    same((work / "plain.yaml").read_text(), "evil\n")  # the control: other names stay
    for name, program in OBEYED.items():
        said = place.host(place.bawn, "why", f"./{name}", cwd=work)
        same((name, f"({program} file" in said), (name, True))


@claim("flags: a flagged file that is granted by its name is seen where a pattern hides the others (control: those are empty)")
def test_flagged_among_hidden(place):
    work = place.repository("among")
    for name in ("one.md", "other.md"):
        (work / name).write_text(f"{name}\n")
    policy = work.parent / "among.bawn"
    policy.write_text(f"hide {work}/*.md\nwrite {work}/one.md\nflag {work}/one.md\n")
    same(place.sh(work, "cat one.md other.md", flags=("--policy", str(policy))).stdout, b"one.md\n")


@claim("programs and links that builds make are named unless an `artifacts` rule has their folder; a flag has the last word")
def test_artifacts(place):
    work = place.repository("artifacts")
    script = ("mkdir -p gen/x bin; for f in gen/x/tool bin/tool; do echo x >$f; chmod +x $f; done\n"
              "ln -s /usr gen/x/link; ln -s /usr result; ln -s /usr other; ln -s gen inner")

    def told(*flags, answers=()):
        shutil.rmtree(work)
        place.repository("artifacts")
        printed, status = place.terminal(work, ("--net", "off", *flags, "--", "sh", "-euc", script), *answers)
        return status, {line.removeprefix("bawn: the command left ").replace(f"{work}/", "") for line in printed.splitlines() if "left a" in line}
    out = "a link that leads out of the workspace: "
    same(told(), (0, {"a new program: gen/x/tool.", f"{out}gen/x/link.", f"{out}other."}))
    same(told("--artifacts", "g?n", "--artifacts", "other"), (0, set()))
    status, _ = told("--flag", str(work / "bin"), answers=((place.QUESTION, b"s\n"),))
    same((status, (work / "bin/tool").exists(), place.held(work)), (0, False, {"bin/tool": "x\n"}))


@claim("dependencies: flagged names in node_modules are told in one line for each folder, and stay (control: elsewhere they are held)")
def test_dependencies(place):
    work = place.repository("dependencies", {"package.json": "{}\n", ".gitignore": "node_modules\n"})
    names = ("node_modules/a/.gitattributes", "node_modules/a/node_modules/b/AGENTS.md", "node_modules/b/.vscode/tasks.json")
    fill = "".join(f"mkdir -p {os.path.dirname(name)}; echo new >{name}\n" for name in (*names, "sub/.gitattributes"))
    done = place.sh(work, fill)
    same([line for line in done.stderr.decode().splitlines() if "node_modules" in line],
         [f"bawn: the command left 3 files that programs on your machine may obey in a dependency directory: {work}/node_modules. "
          f"They stay there. Check {work}/node_modules/a/.gitattributes before you work in that directory."])
    same((place.held(work), [name for name in names if not (work / name).is_file()]), ({"sub/.gitattributes": "new\n"}, []))
    place.sh(work, "mkdir -p web/node_modules/c; echo '{}' >web/package.json; echo new >web/node_modules/c/.envrc")
    same((place.held(work), (work / "web/node_modules/c/.envrc").is_file()), ({}, True))


@claim("dependencies: a directory of an earlier run that is renamed there is new: a repository, and a flagged name; what stands beside it is not")
def test_dependencies_renamed(place):
    work = place.repository("renamed-there", {"package.json": "{}\n", ".gitignore": "node_modules\n"})
    place.sh(work, "mkdir -p node_modules/p/x node_modules/g/.old; echo new >node_modules/p/x/tasks.json; echo new >node_modules/.envrc\n"
                  "cd node_modules/g/.old; echo ref: refs/heads/main >HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' >config")
    same(place.held(work), {})
    done = place.sh(work, "cd node_modules; mv p/x p/.vscode; mkdir g/.old/objects g/.old/refs; mv g/.old g/.git; echo >new")
    said = done.stderr.decode()
    assert f"1 file that programs on your machine may obey in a dependency directory: {work}/node_modules." in said, said
    assert f"a new git repository: {work}/node_modules/g/.git" in said and f"Check {work}/node_modules/p/.vscode/tasks.json" in said, said
    same(("fsmonitor = evil" in place.held(work)["node_modules/g/.git/config"], (work / "node_modules/g/.git/config").exists()), (True, False))
    same(place.sh(work, "echo >node_modules/more").stderr, b"")


@claim("dependencies: a folder that merely has the name is none: no manifest beside it, or a link or a folder in its place")
def test_dependencies_by_name(place):
    for number, manifest in enumerate((":", "ln -s /etc/passwd package.json", "mkdir package.json", "echo '{}' >node_modules/package.json",
                                       "mkdir -p up; echo '{}' >up/package.json")):
        work = place.repository(f"by-name-{number}")
        place.sh(work, f"mkdir -p node_modules/x target/x; {manifest}; echo evil >node_modules/x/.envrc; echo evil >target/x/.envrc")
        same((manifest, place.held(work)), (manifest, {"node_modules/x/.envrc": "evil\n", "target/x/.envrc": "evil\n"}))


@claim("dependencies: a link into the folder, a repository, a tracked file and your own flag in it are settled as everywhere")
def test_dependencies_no_way_round(place):
    tracked = {"package.json": "{}\n", "node_modules/kept/AGENTS.md": "old\n", "node_modules/x/rules": "old\n", "node_modules/cargo/z": ""}
    work = place.repository("way-round", tracked)
    os.symlink("node_modules/x/rules", work / "CLAUDE.md")
    os.symlink("node_modules/cargo", work / ".cargo")
    place.host(*GIT, "add", ".", cwd=work)
    place.host(*GIT, "commit", "-qm", "links", cwd=work)
    place.sh(work, "echo evil >node_modules/x/rules; echo evil >node_modules/kept/AGENTS.md; echo evil >node_modules/cargo/config.toml")
    same(place.held(work), {"node_modules/x/rules": "evil\n", "node_modules/kept/AGENTS.md": "evil\n",
                            "node_modules/cargo/config.toml": "evil\n"})
    same(((work / "node_modules/x/rules").read_text(), (work / "node_modules/kept/AGENTS.md").read_text()), ("old\n", "old\n"))
    place.sh(work, "git init -q node_modules/g; git -C node_modules/g config core.fsmonitor 'touch evil'")
    same("node_modules/g/.git/config" in place.held(work), True)
    evil = "config core.fsmonitor 'touch evil'"
    done = place.sh(work, f"git init -q node_modules/q/.vscode/r; git -C node_modules/q/.vscode/r {evil}; echo >node_modules/q/.vscode/r/x; "
                         f"git init -q --bare node_modules/q/.github/b; git -C node_modules/q/.github/b {evil}")
    same(sorted(place.held(work)), ["node_modules/q/.github/b/config", "node_modules/q/.vscode/r/.git/config"])
    for repository in ("node_modules/q/.github/b", "node_modules/q/.vscode/r/.git"):
        same((repository, f"a new git repository: {work}/{repository}." in done.stderr.decode()), (repository, True))
    place.sh(work, "mkdir -p node_modules/mine; echo evil >node_modules/mine/.envrc", flags=("--flag", str(work / "node_modules/mine")))
    same(place.held(work), {"node_modules/mine/.envrc": "evil\n"})
    place.sh(work, "mkdir -p .claude/node_modules; echo '{}' >.claude/package.json; echo evil >.claude/node_modules/AGENTS.md")
    same(".claude/node_modules/AGENTS.md" in place.held(work), True)


@claim("new programs outside build folders are named on a terminal; those of builds and of the repository are not")
def test_programs(place):
    work = place.repository("programs", {"tool.sh": "#!/bin/sh\n"})
    (work / "run").write_text("mine")
    place.host(*GIT, "switch", "-qc", "side", cwd=work)
    (work / "tool.sh").chmod(0o755)
    place.host(*GIT, "commit", "-qam", "executable", cwd=work)
    place.host(*GIT, "switch", "-q", "main", cwd=work)
    script = ("mkdir -p build/x node_modules/.bin; for f in a.out build/x/test node_modules/.bin/n; do echo x >$f; chmod +x $f; "
              "done; chmod +x run; git switch -q side; echo plain >text")
    printed, status = place.terminal(work, ("--net", "off", "--", "sh", "-euc", script))
    same((status, [line for line in printed.splitlines() if "new program" in line]),
         (0, ["bawn: the command left new programs: a.out, run."]))
    same([p for p in ("a.out", "run") if not (work / p).exists()], [])
    same('"what":"new programs","path":"a.out, run"' in place.journal(work), True)
    done = place.sh(work, "for i in 1 2 3 4 5 6 7 8 9; do cp a.out p$i; done")
    same((done.stderr, '"path":"p1, p2, p3, p4, p5 and 4 more"' in place.journal(work)), (b"", True))


@claim("programs: a new one of any size is named, and no size ends bawn; the next command finds nothing to repair")
def test_programs_of_every_size(place):
    work = place.repository("program-sizes")
    limits = (1 << 20, 16 << 20)
    sizes = sorted({0, 1, *(limit + step for limit in limits for step in (-1, 0, 1))})
    script = "".join(f"head -c {size} /dev/zero >p{size}; chmod +x p{size}\n" for size in sizes)
    done = place.sh(work, script)
    same((done.returncode, done.stderr), (0, b""))
    named = sorted((f"p{size}" for size in sizes), key=lambda name: name.encode())
    said = f'"path":"{", ".join(named[:5])} and {len(named) - 5} more"'
    same(said in place.journal(work), True)
    same((place.next_command(work, "--version"), place.next_command(work, "sessions")), ("", ""))
    same(os.listdir(place.state("running")), [])


@claim("programs: more than git is asked about are all counted")
def test_programs_beyond_those_that_are_asked_about(place):
    work = place.repository("many-programs")
    done = place.sh(work, "i=0; while [ $i -lt 1003 ]; do echo x >p$i; i=$((i + 1)); done; chmod +x p*")
    same((done.returncode, " and 998 more" in place.journal(work)), (0, True))


@claim("flags: a new flagged file of any size is set aside, and one that was there is told from its change")
def test_flag_of_every_size(place):
    limits = (1 << 20, 16 << 20)
    sizes = sorted({0, 1, *(limit + step for limit in limits for step in (-1, 0, 1))})
    work = place.repository("flag-sizes")
    (work / ".vscode").mkdir()
    script = "".join(f"mkdir d{size}; head -c {size} /dev/zero >d{size}/.envrc\n" for size in sizes)
    done = place.sh(work, script)
    same((done.returncode, sorted(place.held(work))), (0, sorted(f"d{size}/.envrc" for size in sizes)))
    for size in sizes:
        (work / f"d{size}/.envrc").write_bytes(b"\0" * size)
    done = place.sh(work, "".join(f"printf x >>d{size}/.envrc\n" for size in sizes))
    changed = {name: len(text) for name, text in place.held(work).items()}
    same((done.returncode, changed), (0, {f"d{size}/.envrc": size + 1 for size in sizes}))
    # A file above 16 MiB is set aside and not brought back by itself: that is said, and undo brings it back.
    same(f"d{limits[1] + 1}/.envrc was too large to be kept as it was" in done.stderr.decode(), True)
    kept = {size: (work / f"d{size}/.envrc").stat().st_size for size in sizes if (work / f"d{size}/.envrc").exists()}
    same(kept, {size: size for size in sizes if size <= limits[1]})
    same((place.next_command(work, "undo", f"{work.name}-2"), (work / f"d{limits[1] + 1}/.envrc").stat().st_size), ("", limits[1] + 1))


@claim("programs: a new set-id bit is named wherever the file lies, also in a pipe; one that was there is not")
def test_set_id(place):
    work = place.repository("set-id")
    for name, mode in (("old", 0o4755), ("changed", 0o4755), ("plain", 0o755)):
        (work / name).write_text("x\n")
        (work / name).chmod(mode)
    (work / "build").mkdir()
    done = place.sh(work, "chmod 4755 plain; cp plain build/new; chmod 2755 build/new; echo y >changed; chmod 4755 changed; mkdir d; chmod 2755 d")
    same(done.stderr.decode(), "bawn: the command left files that run as their owner (set-id): build/new, changed, plain. "
         "`chmod ug-s` removes that.\n")
    same(place.sh(work, "echo x >a").stderr, b"")
    said = place.sh(work, "chmod 6755 a").stderr.decode()
    same(said.startswith("bawn: the command left a file that runs as its owner (set-id): a."), True)


@claim("flags: in a repository of dotfiles, what the host's own shell and git obey through a link")
def test_flag_dotfiles(place):
    work = place.repository("dotfiles", {"bashrc": "mine\n", "fish/config.fish": "mine\n", "gitconfig": "[a]\n\tb = 1\n", "other": "x\n"})
    links = {".bashrc": "bashrc", ".gitconfig": "gitconfig", ".config/fish": "fish"}
    (place.home / ".config").mkdir(exist_ok=True)
    (place.home / ".bashrc").unlink(missing_ok=True)
    for link, target in links.items():
        os.symlink(work / target, place.home / link)
    same(place.sh(work, "for f in bashrc fish/config.fish fish/new gitconfig other; do echo '#evil' >>$f; done").returncode, 0)
    for link in links:
        (place.home / link).unlink()
    same(sorted(place.held(work)), ["bashrc", "fish/config.fish", "fish/new", "gitconfig"])
    same(place.host("git", "status", "--short", cwd=work), " M other\n")


@claim("flags: a file of some mebibytes is brought back too, and one that a branch has is none that is new")
def test_flag_large(place):
    work = place.repository("large", {".yarn/releases/yarn.cjs": "a" * 3000000})
    place.host(*GIT, "switch", "-qc", "side", cwd=work)
    (work / ".yarn/releases/yarn.cjs").write_text("b" * 4000000)
    place.host(*GIT, "commit", "-qam", "side", cwd=work)
    place.host(*GIT, "switch", "-q", "main", cwd=work)
    same((place.sh(work, "git switch -q side").stderr, (work / ".yarn/releases/yarn.cjs").read_text()[:2]), (b"", "bb"))
    place.sh(work, "echo evil >.yarn/releases/yarn.cjs")
    same(((work / ".yarn/releases/yarn.cjs").read_text() == "b" * 4000000, list(place.held(work))), (True, [".yarn/releases/yarn.cjs"]))


@claim("flags: a file that two flagged names lead to is settled once")
def test_flag_two_names(place):
    work = place.repository("two-names", {"CLAUDE.md": "one\n"})
    os.symlink("CLAUDE.md", work / "AGENTS.md")
    place.sh(work, "echo evil >CLAUDE.md")
    same(((work / "CLAUDE.md").read_text(), place.held(work)), ("one\n", {"CLAUDE.md": "evil\n"}))
    same(len(list(place.state("sessions").glob("two-names-*/held-2"))), 0)


@claim("flags: an untracked file far down is as it was before")
def test_flag_deep_untracked(place):
    work = place.repository("deep-untracked", {"src/x.c": "x\n"})
    (work / "sub/dir/.claude").mkdir(parents=True)
    (work / "sub/dir/.claude/settings.json").write_text("mine")
    os.chmod(work / "sub/dir/.claude/settings.json", 0o640)
    (work / "sub/dir/.claude/other").write_text("other")
    place.sh(work, "echo evil >sub/dir/.claude/settings.json; touch sub/dir/.claude/other")
    same(place.held(work), {"sub/dir/.claude/settings.json": "evil\n"})
    same((work / "sub/dir/.claude/settings.json").read_text(), "mine")
    same((work / "sub/dir/.claude/settings.json").stat().st_mode & 0o777, 0o640)


@claim("flags: however deep folders lie they are searched, and those that were there are not spoken of")
def test_flag_deepest(place):
    work = place.repository("deepest")
    folder = "/".join(["d"] * 200)
    (work / folder).mkdir(parents=True)
    (work / folder / "CLAUDE.md").write_text("mine\n")
    same(place.sh(work, "true").stderr, b"")
    done = place.sh(work, f"echo evil >{folder}/CLAUDE.md; mkdir {folder}/e; echo evil >{folder}/e/CLAUDE.md")
    same((place.held(work), (work / folder / "CLAUDE.md").read_text()),
         ({f"{folder}/CLAUDE.md": "evil\n", f"{folder}/e/CLAUDE.md": "evil\n"}, "mine\n"))
    same(b"too deep" in done.stderr, False)
    script = "import os\nfor i in range(20):\n os.mkdir('e' * 250)\n os.chdir('e' * 250)"
    done = place.inside(work, "python3", "-c", script)
    same(b"a directory that is nested too deep to be searched" in done.stderr, True)
    shutil.rmtree(work)


@claim("flags: also in folders that the command closed to their owner in part or whole; others' closed ones are no news")
def test_flag_closed(place):
    work = place.repository("closed-in-part")
    for mode in ("000", "400", "300"):
        (work / f"before-{mode}").mkdir()
        (work / f"before-{mode}").chmod(int(mode, 8))
    same(place.sh(work, "true").stderr, b"")
    place.sh(work, "for m in 000 400 300; do mkdir $m; echo evil >$m/CLAUDE.md; chmod $m $m; done")
    same(place.held(work), {f"{mode}/CLAUDE.md": "evil\n" for mode in ("000", "400", "300")})
    for folder in work.iterdir():
        folder.chmod(0o755)


@claim("nested repositories: one that was there keeps its configuration, whatever runs in it")
def test_nested_known(place):
    work = place.repository("nested-known")
    place.repository("nested-known/vendor/lib")
    place.host("git", "config", "alias.x", "!true", cwd=work / "vendor/lib")
    before = (work / "vendor/lib/.git/config").read_text()
    same(place.sh(work, "git -C vendor/lib config user.name me").stderr, b"")
    same(place.host("git", "config", "user.name", cwd=work / "vendor/lib"), "me\n")
    place.sh(work, "git -C vendor/lib config core.fsmonitor evil")
    same("fsmonitor" in place.held(work)["vendor/lib/.git/config"], True)
    same(place.host("git", "config", "alias.x", cwd=work / "vendor/lib"), "!true\n")
    same((work / "vendor/lib/.git/config").read_text(), before + "[user]\n\tname = me\n")


@claim("nested repositories: what the configuration of one that was there leads to is settled, in it and elsewhere in the workspace")
def test_nested_indirection(place):
    work = place.repository("nested-leads", {"hooks/readme": "x\n"})
    lib = place.repository("nested-leads/vendor/lib", {"hooked": "x\n"})
    (work / "hooks/post-checkout").write_text("#!/bin/sh\n")
    (work / "hooks/post-checkout").chmod(0o755)
    (lib / "more.cfg").write_text("[user]\n\tname = me\n")
    place.host("git", "config", "core.hooksPath", "../../hooks", cwd=lib)
    place.host("git", "config", "include.path", "../more.cfg", cwd=lib)
    place.host("git", "config", "core.fsmonitor", "./watch", cwd=lib)
    (lib / "watch").write_text("#!/bin/sh\n")
    (lib / "watch").chmod(0o755)
    attack = "echo 'touch pwned' >>hooks/post-checkout; printf '[alias]\\n\\tst = !touch pwned\\n' >>vendor/lib/more.cfg; " \
             "echo 'touch pwned' >>vendor/lib/watch; echo plain >>vendor/lib/hooked"
    copy = place.folder("nested-leads-copy")
    shutil.copytree(work, copy, symlinks=True, dirs_exist_ok=True)
    place.host("sh", "-c", attack, cwd=copy)
    for words in (("checkout", "-q", "."), ("st",), ("status",)):
        place.host("git", *words, cwd=copy / "vendor/lib")
        same((words, [p.unlink() for p in copy.rglob("pwned")]), (words, [None]))  # the control: each runs what was written
    for script in (attack, f"{attack}; git -C vendor/lib config user.email me", f"{attack}; git -C vendor/lib config core.pager evil"):
        place.sh(work, script)
        same(sorted(name for name in place.held(work) if not name.endswith("config")),
             ["hooks/post-checkout", "vendor/lib/more.cfg", "vendor/lib/watch"])
        same(((lib / "more.cfg").read_text(), (lib / "watch").read_text()), ("[user]\n\tname = me\n", "#!/bin/sh\n"))
    same("plain" in (lib / "hooked").read_text(), True)
    (work / "hooks/post-checkout").unlink()
    same(place.sh(work, "echo x >hooks/readme2").stderr, b"")
