"""Hooks: every way that leads from a git directory to a file of the tree, and every way to change that file.

A layout makes the way on the host, and says which path the command attacks and what the user types afterwards. The control does the same
without bawn, and the hook runs.
"""
import dataclasses
import functools

import scratch
from ground import REFUSED, TRACK, Claims, Ground, must
from scratch import same

control, claim = Claims(), Claims()
COMMIT = "git commit -q --allow-empty -m x"
HOOK = "hook() { mkdir -p \"$(dirname \"$1\")\"; printf '#!/bin/sh\\n:\\n' >\"$1\"; chmod +x \"$1\"; }\n"
TO = "ln -s ../../scripts/pc .git/hooks/pre-commit; "
AGAIN = "rm -rf .git/hooks; "


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str
    make: str  # a script for sh at the top; `hook PATH` writes a hook that does nothing
    path: str  # what the command attacks
    acts: tuple = ("every",)
    host: str = COMMIT
    cwd: str = "."  # where the run is started
    user: str = ""  # what is in ~/.gitconfig
    only_live: bool = False
    flags: tuple = ()
    is_refused: bool = False  # bawn does not run where a frozen file has a second name


def of_link(act, **more):
    return Layout(f"a link to a script, {act}", "hook scripts/pc; " + TO, "scripts/pc", (act,), **more)


MERGE = "git reset -q --hard; git merge -q --no-ff --no-edit -s ours side"
PUSH = 'git push -q "file://$TOP" HEAD:refs/heads/z'
MAIL = 'git format-patch -q -1 --stdout HEAD >"$OUT/p"; git reset -q --hard HEAD~1; git am -q "$OUT/p"'
# What runs the other hooks of git.
HOSTS = [
    *((hook, COMMIT) for hook in ("prepare-commit-msg", "commit-msg", "post-commit")),
    *((hook, MERGE) for hook in ("pre-merge-commit", "post-merge")),
    *((hook, PUSH) for hook in ("pre-receive", "update", "post-receive", "post-update")),
    *((hook, MAIL) for hook in ("applypatch-msg", "pre-applypatch", "post-applypatch")),
    ("post-checkout", "git checkout -q -b new"),
    ("reference-transaction", "git branch new"),
    ("post-index-change", "git add a"),
    ("pre-rebase", "git reset -q --hard; git rebase -q side"),
    ("post-rewrite", "git commit -q --allow-empty --amend -m y"),
    ("pre-push", 'git init -q --bare "$OUT/b"; git push -q "$OUT/b" HEAD:refs/heads/x'),
    ("pre-auto-gc", f"git repack -q; {COMMIT}; git repack -q; git -c gc.autoPackLimit=1 gc --auto"),
    ("push-to-checkout", 'git config receive.denyCurrentBranch updateInstead; git -C . push -q "file://$TOP" +side:main'),
]
FOLDER = ("folder", "folder_linked")
UPPER = (*FOLDER, "upper_folder")
LAYOUTS = [
    *(of_link(act) for act in ("fill", "append", "put", "replace", "anew", "exchange", "link", "second_name", "opened_again", "make", *FOLDER)),
    Layout("a link to a script that nobody may run yet", "hook scripts/pc; chmod -x scripts/pc; " + TO, "scripts/pc", ("fill", "put", "runnable")),
    Layout("a link to a script that nobody may run yet, and then may", "mkdir scripts; printf '#!/bin/sh\\n: >\"%s/ran\"\\n' \"$MARKS\" >scripts/pc; " + TO,
           "scripts/pc", ("runnable",)),
    Layout("a link to a script that has a second name", "hook scripts/pc; ln scripts/pc second; " + TO, "second", ("fill",), is_refused=True),
    Layout("a chain of links, its last link", "hook scripts/pc; ln -s two one; ln -s scripts/pc two; ln -s ../../one .git/hooks/pre-commit", "two"),
    Layout("a chain of links, its first link", "hook scripts/pc; ln -s two one; ln -s scripts/pc two; ln -s ../../one .git/hooks/pre-commit", "one",
           ("replace", "anew")),
    Layout("a chain of links, its script", "hook scripts/pc; ln -s two one; ln -s scripts/pc two; ln -s ../../one .git/hooks/pre-commit", "scripts/pc"),
    Layout("an absolute link", 'hook scripts/pc; ln -s "$TOP/scripts/pc" .git/hooks/pre-commit', "scripts/pc"),
    Layout("a link through a linked folder, the script", "hook scripts/pc; ln -s scripts lane; ln -s ../../lane/pc .git/hooks/pre-commit", "lane/pc"),
    *(Layout(f"a link through a linked folder, {act}", "hook scripts/pc; ln -s scripts lane; ln -s ../../lane/pc .git/hooks/pre-commit", "lane/pc",
             (act,)) for act in FOLDER),
    *(Layout(f"a link through folders, {act}", "hook deep/er/pc; ln -s ../../deep/er/pc .git/hooks/pre-commit", "deep/er/pc", (act,)) for act in UPPER),
    Layout("a link with dots in its way", "hook scripts/pc; mkdir x; ln -s ../../x/.././scripts//pc .git/hooks/pre-commit", "scripts/pc"),
    Layout("a link with a strange name", "hook 'a b/p\tc*'; ln -s '../../a b/p\tc*' .git/hooks/pre-commit", "a b/p\tc*"),
    Layout("a dangling link", "mkdir scripts; " + TO, "scripts/pc", ("make",)),
    Layout("a dangling link into a missing folder", TO, "scripts/pc", ("make",)),
    Layout("a dangling chain of links", "ln -s two one; ln -s far/er/three two; ln -s ../../one .git/hooks/pre-commit", "far/er/three", ("make",)),
    Layout("a dangling chain of links, its link", "ln -s two one; ln -s ../../one .git/hooks/pre-commit", "one", ("replace", "anew")),
    Layout("a dangling link through a dangling folder", "ln -s far lane; ln -s ../../lane/pc .git/hooks/pre-commit", "far/pc", ("make",)),
    Layout("a dangling link through a dangling folder, its link", "ln -s far lane; ln -s ../../lane/pc .git/hooks/pre-commit", "lane/pc", ("folder",)),
    Layout("a link into a loop of links", "ln -s two one; ln -s one two; ln -s ../../one .git/hooks/pre-commit", "one", ("replace",)),
    Layout("a link into another folder that may be written", 'hook "$OUT/tools/pc"; ln -s "$OUT/tools/pc" .git/hooks/pre-commit', "../out/tools/pc",
           flags=("--write", "../out/tools")),
    Layout("a dangling link into another folder that may be written", 'mkdir "$OUT/tools"; ln -s "$OUT/tools/pc" .git/hooks/pre-commit',
           "../out/tools/pc", ("make",), flags=("--write", "../out/tools")),
    Layout(".git is a link", "mv .git sep; ln -s sep .git; hook scripts/pc; ln -s ../../scripts/pc sep/hooks/pre-commit", "scripts/pc"),
    Layout(".git is a file", "rm -rf sub; git rm -q --cached sub; git init -q --separate-git-dir=sep .; hook scripts/pc; "
           "ln -s ../../scripts/pc sep/hooks/pre-commit", "scripts/pc"),
    Layout(".git/hooks leads to ..", AGAIN + "ln -s .. .git/hooks; hook pre-commit", "pre-commit"),
    Layout(".git/hooks leads to .., no such hook", AGAIN + "ln -s .. .git/hooks", "pre-commit", ("make",)),
    Layout(".git/hooks leads to a folder", AGAIN + "ln -s ../githooks .git/hooks; hook githooks/pre-commit", "githooks/pre-commit"),
    Layout(".git/hooks leads to a folder, no such hook", AGAIN + "ln -s ../githooks .git/hooks; hook githooks/pre-push", "githooks/pre-commit", ("make",)),
    *(Layout(f".git/hooks leads to a folder, {act}", AGAIN + "ln -s ../githooks .git/hooks; hook githooks/pre-commit", "githooks/pre-commit", (act,))
      for act in FOLDER),
    Layout(".git/hooks leads to a missing folder", AGAIN + "ln -s ../githooks .git/hooks", "githooks/pre-commit", ("make",)),
    Layout(".git/hooks leads to a link to a folder", AGAIN + "ln -s ../lane .git/hooks; ln -s githooks lane; hook githooks/pre-commit",
           "lane/pre-commit", ("every", "folder")),
    Layout(".git/hooks leads to a folder with links", AGAIN + "ln -s ../githooks .git/hooks; hook scripts/pc; mkdir githooks; "
           "ln -s ../scripts/pc githooks/pre-commit", "scripts/pc"),
    *(Layout(f"core.hooksPath {value}, {act}", f'mkdir -p scripts; hook {path}; git config core.hooksPath "{value}"', path, (act,))
      for value, path in (("$TOP", "pre-commit"), ("scripts/..", "pre-commit"), ("scripts", "scripts/pre-commit"),
                          ("scripts/../scripts", "scripts/pre-commit"), ("~/${TOP#$HOME/}/scripts", "scripts/pre-commit"))
      for act in ("every", "replace")),
    *(Layout(f"core.hooksPath {value}, no such hook", f'mkdir scripts; git config core.hooksPath "{value}"', path, ("make",))
      for value, path in (("$TOP", "pre-commit"), ("scripts/..", "pre-commit"),
                          ("scripts", "scripts/pre-commit"), ("missing", "missing/pre-commit"))),
    *(Layout(f"core.hooksPath $TOP, {hook}", f'hook {hook}; git config core.hooksPath "$TOP"', hook, ("every",), host)
      for hook, host in HOSTS),
    *(Layout(f"core.hooksPath by ~NAME, {act}", 'mkdir scripts; [ $0 = make ] || hook scripts/pre-commit; '.replace("$0", act) +
             'git config core.hooksPath "~$(id -un)/../../../../../..$TOP/scripts"', "scripts/pre-commit", (act,)) for act in ("every", "make")),
    *(Layout(f"core.hooksPath in an alias, {name}, {act}", f"{'' if act == 'make' else 'hook .gh/pre-commit; '}git config alias.mark \"{value}\"",
             ".gh/pre-commit", (act,), "git mark -q --allow-empty -m x")
      for name, value in (("-c", "-c core.hooksPath=.gh commit"), ("git -c", "!git -c core.hooksPath=.gh commit"), ("git -c $PWD", "!git -c core.hooksPath=\\$PWD/.gh commit"),
                          ("--config-env", "!V=.gh git --config-env=core.hooksPath=V commit"))
      for act in ("every", "make")),
    *(Layout(f"a program that is glued to an option, {act}", f"{'' if act == 'make' else 'hook scripts/pc; '}git config alias.mark '!tar -Iscripts/pc -cf'",
             "scripts/pc", (act,), 'git mark "$OUT/t" a') for act in ("every", "make")),
    Layout("core.hooksPath is a link", "hook scripts/pre-commit; ln -s scripts lane; git config core.hooksPath lane", "lane/pre-commit",
           ("every", "folder")),
    Layout("core.hooksPath of the user, absolute", "hook scripts/pre-commit", "scripts/pre-commit", user="[core]\n\thooksPath = {top}/scripts\n"),
    Layout("core.hooksPath of the user, relative", "hook githooks/pre-commit", "githooks/pre-commit", user="[core]\n\thooksPath = githooks\n"),
    Layout("core.hooksPath of the user, relative, no such hook", "mkdir githooks", "githooks/pre-commit", ("make",),
           user="[core]\n\thooksPath = githooks\n"),
    Layout("core.hooksPath in an included file", 'hook scripts/pre-commit; printf "[core]\\n\\thooksPath = scripts\\n" >"$OUT/more"; '
           'git config include.path "$OUT/more"', "scripts/pre-commit"),
    Layout("core.hooksPath in config.worktree", "hook scripts/pre-commit; git config extensions.worktreeConfig true; "
           "git config --worktree core.hooksPath scripts", "scripts/pre-commit"),
    Layout("a hook of a nested repository", "git init -q in; hook in/scripts/pc; ln -s ../../scripts/pc in/.git/hooks/pre-commit", "in/scripts/pc",
           host=f"cd in; {COMMIT}"),
    Layout("a hook of a nested repository, in the outer tree", "git init -q in; hook scripts/pc; ln -s ../../../scripts/pc in/.git/hooks/pre-commit",
           "scripts/pc", host=f"cd in; {COMMIT}"),
    Layout("a dangling hook of a nested repository", "git init -q in; ln -s ../../scripts/pc in/.git/hooks/pre-commit", "in/scripts/pc", ("make",),
           host=f"cd in; {COMMIT}"),
    Layout("core.hooksPath of a nested repository", "git init -q in; hook in/pre-commit; git -C in config core.hooksPath \"$TOP/in\"", "in/pre-commit",
           host=f"cd in; {COMMIT}"),
    Layout("core.hooksPath of a nested repository, no such hook", "git init -q in; git -C in config core.hooksPath ..", "pre-commit", ("make",),
           host=f"cd in; {COMMIT}"),
    Layout("a hook of a submodule", "hook scripts/pc; ln -s ../../../../scripts/pc .git/modules/sub/hooks/pre-commit", "scripts/pc",
           host=f"cd sub; {COMMIT}"),
    Layout("a hook of a submodule, in its own tree", "hook sub/pc; ln -s ../../../../sub/pc .git/modules/sub/hooks/pre-commit", "sub/pc",
           host=f"cd sub; {COMMIT}"),
    Layout("a dangling hook of a submodule", "ln -s ../../../../scripts/pc .git/modules/sub/hooks/pre-commit", "scripts/pc", ("make",),
           host=f"cd sub; {COMMIT}"),
    Layout("core.hooksPath of a submodule", "hook sub/pre-commit; git -C sub config core.hooksPath \"$TOP/sub\"", "sub/pre-commit", host=f"cd sub; {COMMIT}"),
    Layout("a linked worktree in the tree", 'git worktree add -q wt side; hook scripts/pc; ln -s ../../scripts/pc .git/hooks/pre-commit', "scripts/pc",
           host=f"cd wt; {COMMIT}"),
    Layout("core.hooksPath in a linked worktree in the tree", "git worktree add -q wt side; hook wt/githooks/pre-commit; git config core.hooksPath githooks",
           "wt/githooks/pre-commit", host=f"cd wt; {COMMIT}"),
    Layout("the run is in a linked worktree", 'git worktree add -q "$OUT/wt" side; hook "$OUT/wt/scripts/pc"; '
           'ln -s "$OUT/wt/scripts/pc" .git/hooks/pre-commit', "scripts/pc", host=f'cd "$OUT/wt"; {COMMIT}', cwd="../out/wt", only_live=True),
    Layout("the run is in a linked worktree, core.hooksPath", 'git worktree add -q "$OUT/wt" side; hook "$OUT/wt/scripts/pre-commit"; '
           'git config core.hooksPath scripts', "scripts/pre-commit", host=f'cd "$OUT/wt"; {COMMIT}', cwd="../out/wt", only_live=True),
    Layout("the run is in a folder of the repository", "hook scripts/pc; mkdir deep; " + TO, "../scripts/pc", cwd="deep"),
]
# bawn names the commit; a user who then checks it out gets its files.
COMMITTED = [each for each in LAYOUTS if "reset" not in each.host]
# --branch starts in the main checkout of an ordinary repository, and grants nothing beside it.
BY_BRANCH = [each for each in LAYOUTS if not each.only_live and not each.flags and each.cwd == "." and not each.name.startswith(".git is")]


class Hook(Ground):
    def __init__(self, place, kind, number, layout, is_tracked=False):
        super().__init__(place, f"{kind}-{number}")
        self.layout = layout
        must(self.place, HOOK + layout.make, self.top, OUT=str(self.out), TOP=str(self.top), MARKS=str(self.marks))
        if is_tracked:
            must(self.place, TRACK, self.top)
        if layout.user:
            (self.home / ".gitconfig").write_text(layout.user.format(top=self.top))

    def acts(self, prefix=""):
        return [(act, prefix + self.layout.path, self.evil("ran").replace("exit 1", "exit 0")) for act in self.layout.acts]

    def strike_here(self, *flags, **options):
        return self.strike(self.acts(), *flags, *self.layout.flags, cwd=self.top / self.layout.cwd, **options)

    def ran(self):
        """Has the host run what the command wrote, now that the user works?"""
        self.host(self.layout.host)
        return self.marked()


def test_control(number, layout, place):
    ground = Hook(place, "hook-control", number, layout)
    ended, _ = ground.strike_here(control=True)
    same((ended, ground.ran()), (["done"] * len(ended), ["ran"]))


def did_not_run(ground, ended, said):
    if ended is None and not ground.layout.is_refused:
        raise AssertionError(f"the run is refused: {said[-300:]}")
    if ground.ran():
        raise AssertionError(f"the hook ran; the acts ended with {ended}; bawn said: {said[-300:]}")


def test_live(number, layout, place):
    ground = Hook(place, "hook-live", number, layout)
    ended, said = ground.strike_here()
    did_not_run(ground, ended, said)
    if ended and set(layout.acts) & {"fill", "append", "put"}:
        same((ended[0] in REFUSED, ended), (True, ended))


def test_review(number, layout, place):
    ground = Hook(place, "hook-review", number, layout)
    ended, _ = ground.strike_here("--review")
    said = ground.bawn("apply", "--yes")
    did_not_run(ground, ended, said.stdout + said.stderr)


def test_branch(number, layout, place):
    ground = Hook(place, "hook-branch", number, layout)
    ended, said = ground.strike(ground.acts() + ground.acts(f"{ground.top}/"), "--branch", "agent")
    did_not_run(ground, ended, said)
    if ended:
        tree = ground.worktree()
        ground.host(layout.host.replace("$TOP", str(tree)), cwd=tree)
        same(("in the worktree", ground.marked(), ended), ("in the worktree", [], ended))


def test_tracked(number, layout, place):
    ground = Hook(place, "hook-tracked", number, layout, True)
    did_not_run(ground, *ground.strike_here())


def test_committed(number, layout, place):
    ground = Hook(place, "hook-committed", number, layout, True)
    did_not_run(ground, *ground.strike([*ground.acts(), ("commit", "", "")], *layout.flags, cwd=ground.top / layout.cwd))


def each(test, layouts):
    """One claim of many layouts would hide which of them failed."""
    def run_all(place):
        wrong = []
        for number, layout in enumerate(layouts):
            try:
                test(number, layout, place)
            except AssertionError as why:
                wrong.append(f"{layout.name}: {why}")
        assert not wrong, f"{len(wrong)} of {len(layouts)}: " + "\n".join(wrong)
    return run_all


for of_number, of_layout in enumerate(LAYOUTS):
    control(f"hooks: {of_layout.name}: the control, the hook runs")(functools.partial(test_control, of_number, of_layout))
    # What bawn finds is the same for both kinds of walls, and tests/freeze shows how each holds it: without namespaces a sample.
    claim(f"hooks: {of_layout.name}: the hook does not run", once=of_number % 3 != 0)(functools.partial(test_live, of_number, of_layout))


def some(layouts):
    """Every third: what the end of a run does with each is the same. `make test-all` takes them all."""
    return layouts if scratch.EVERYTHING else layouts[::3]


REVIEWED, TRACKED, LATE, BRANCHED = some([one for one in LAYOUTS if not one.only_live]), some(LAYOUTS), some(COMMITTED), some(BY_BRANCH)
claim(f"hooks, --review: no hook runs after an apply ({len(REVIEWED)} ways)", once=True)(each(test_review, REVIEWED))
claim(f"hooks in files that git tracks: no hook runs ({len(TRACKED)} ways)", once=True)(each(test_tracked, TRACKED))
claim(f"hooks in files that git tracks, and that the command commits: no hook runs ({len(LATE)} ways)", once=True)(each(test_committed, LATE))
claim(f"hooks, --branch: no hook runs ({len(BRANCHED)} ways)")(each(test_branch, BRANCHED))
