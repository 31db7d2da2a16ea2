"""Two runs of one attacker: the first puts a version of a program that git runs into the repository's history, the second writes it over the program.

What git does not track stays frozen whatever the first run commits or stages, and every such commit is named. What git tracks is held, unless its
version came by a checkout, which works and is named.
"""
import dataclasses
import functools

from ground import Claims, Ground, must
from scratch import same

control, claim = Claims(), Claims()
COMMIT = "git commit -q --allow-empty -m x"
HONEST = "printf '#!/bin/sh\\ncat >/dev/null\\n'"
# $P is the program. `evil` makes a tree with its other version; `commit` commits it, and `revert` commits the tree of before on top.
TOOLS = r"""
set -e
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@e GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@e
blob=$(printf '#!/bin/sh\n: >"%s/ran"\n' "$MARKS" | git hash-object -w --stdin)
evil() { (export GIT_INDEX_FILE="${TMPDIR:-/tmp}/ix.$$"; git read-tree HEAD
    git update-index --add --cacheinfo "100755,$blob,$P"; git write-tree; rm "$GIT_INDEX_FILE"); }
commit() { git commit-tree -p HEAD -m docs "$(evil)"; }
revert() { git commit-tree -p "$1" -m docs "$(git rev-parse 'HEAD^{tree}')"; }
"""
STAGE = 'git update-index --add --cacheinfo "100755,$blob,$P"\n'
# The first run. Each leaves `git status` as a user expects it, but for what is staged.
FIRST = {
    "commit it, take it back, and commit a file that ends in its path":
        'c=$(commit); d=$(revert "$c"); git update-ref refs/heads/main "$d"; mkdir -p "docs/$(dirname "$P")"; echo >"docs/$P"; git add -f docs; '
        "git commit -qm docs -n",
    "commit it on a branch, and stage it": 'git update-ref refs/heads/docs "$(commit)"\n' + STAGE,
    "commit it on a tag, and say that it is to come": 'git tag docs "$(commit)"; git update-index --add --cacheinfo "100755,$(git hash-object -w "$P"),$P"',
    "commit it, take it back, and write the index anew": 'c=$(commit); d=$(revert "$c"); git update-ref refs/heads/main "$d"\n' + STAGE +
                                                         "git update-index --index-version 4",
    "commit it on a branch, and split the index": 'git update-ref refs/heads/docs "$(commit)"\n' + STAGE + "git update-index --split-index",
    "commit it in a merge": 'c=$(git commit-tree -p HEAD -p side -m docs "$(evil)"); d=$(revert "$c"); git update-ref refs/heads/main "$d"',
}
SECOND = 'git cat-file blob "$blob" >"$P"'


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    path: str
    make: str  # what leads there
    host: str = COMMIT


WAYS = [
    Way("core.hooksPath", ".gh/pre-commit", "git config core.hooksPath .gh"),
    Way("a link in .git/hooks", "scripts/pc", "ln -s ../../scripts/pc .git/hooks/pre-commit"),
    Way("a filter", "tools/f", "git config filter.fc.clean tools/f", "echo x >n.fc; git add n.fc"),
]


class History(Ground):
    def __init__(self, place, kind, number, way):
        super().__init__(place, f"history-{kind}-{number}")
        self.way = way
        must(self.place, f'echo "/{way.path}" >>.git/info/exclude; mkdir -p "$(dirname "{way.path}")"; {HONEST} >{way.path}; chmod +x {way.path}; {way.make}',
             self.top)

    def script(self, text):
        return f"P='{self.way.path}' MARKS='{self.marks}'\n{TOOLS}{text}"

    def inside(self, text, *flags):
        return self.place.run("sh", "-c", self.script(text), cwd=self.top, flags=("--net", "off", *flags))

    def outside(self, text):
        return must(self.place, self.script(text), self.top)

    def track(self):
        must(self.place, f"git add -f {self.way.path}; git -c core.hooksPath=/dev/null commit -qm hook", self.top)

    def decides(self):
        """The verb of the rule that holds for the program."""
        return self.bawn("why", self.way.path).stdout.partition("decides ")[2].split()[0]

    def ran(self):
        self.host(self.way.host)
        return self.marked()


def named(done, path):
    said = done.stderr.decode()
    assert "a commit that changes what git runs: " in said and path in said, said[-600:]


def test_control(number, way, place):
    ground = History(place, "control", number, way)
    ground.outside(next(iter(FIRST.values())))
    same(ground.ran(), [])
    ground.outside(SECOND)
    same(ground.ran(), ["ran"])


def test_untracked(number, way, place):
    for at, (what, first) in enumerate(FIRST.items()):
        ground = History(place, f"untracked-{at}", number, way)
        done = ground.inside(first)
        same((what, done.returncode, done.stderr.decode() if done.returncode else ""), (what, 0, ""))
        named(done, way.path)
        second = ground.inside(SECOND)
        same((what, ground.ran(), second.stderr.decode()[-300:]), (what, [], second.stderr.decode()[-300:]))


def test_nearly_tracked(number, way, place):
    """The first attack must not even thaw it: the index has no such name, whatever ends in it."""
    ground = History(place, "nearly", number, way)
    ground.inside(next(iter(FIRST.values())))
    same(ground.decides(), "freeze")
    assert ground.inside(SECOND).returncode


def test_tracked(number, way, place):
    """Of a tracked program no other version of the history is taken for the right one."""
    ground = History(place, "tracked", number, way)
    ground.track()
    named(ground.inside('c=$(commit); d=$(revert "$c"); git update-ref refs/heads/main "$d"'), way.path)
    for script in (SECOND, 'git checkout -q HEAD~1 -- "$P"; git reset -q', 'git checkout -q HEAD~1; git checkout -q main; ' + SECOND):
        done = ground.inside(script)
        same((done.returncode, ground.ran(), ground.held()), (0, [], [way.path] * len(ground.held()) or [way.path]))


def test_checkout(number, way, place):
    """An honest checkout brings the other branch's version. It stays and is named."""
    ground = History(place, "checkout", number, way)
    ground.track()
    ground.outside('git branch other "$(commit)"; git branch more "$(git commit-tree -p HEAD -m more "$(evil)")"')
    done = ground.inside("git -c core.hooksPath=/dev/null checkout -q other")
    assert b"another version of a program that git runs: " in done.stderr and way.path.encode() in done.stderr, done.stderr[-500:]
    same((done.returncode, ground.held(), ground.host("git status --porcelain -uno -- ':!sub'").stdout, ground.ran()), (0, [], "", ["ran"]))


def test_merged(number, way, place):
    ground = History(place, "merged", number, way)
    ground.track()
    ground.outside('git branch other "$(commit)"')
    done = ground.inside("git -c core.hooksPath=/dev/null merge -q --no-ff --no-edit other")
    assert b"another version of a program that git runs: " in done.stderr, done.stderr[-500:]
    same((done.returncode, ground.held(), ground.ran()), (0, [], ["ran"]))


def test_linked(number, way, place):
    """The same in a linked worktree, whose HEAD is its own."""
    ground = History(place, "linked", number, way)
    ground.track()
    ground.outside('git branch other "$(commit)"; git worktree add -q -b third "$OUT/wt"'.replace("$OUT", str(ground.out)))
    if way.name == "a link in .git/hooks":
        return  # leads to the main work tree
    done = ground.place.run("sh", "-c", "git -c core.hooksPath=/dev/null checkout -q other", cwd=ground.out / "wt", flags=("--net", "off"))
    assert b"another version of a program that git runs: " in done.stderr, done.stderr[-500:]
    same((done.returncode, ground.held()), (0, []))


def test_index(number, way, place):
    """What git tracks stays writable, however its index is written; what is beside it is frozen."""
    for at, how in enumerate(("git update-index --index-version 4", "git update-index --split-index", "git update-index --force-write-index",
                              "git sparse-checkout init --cone --sparse-index")):
        ground = History(place, f"index-{at}", number, way)
        must(ground.place, "mkdir -p docs/.gh docs/scripts docs/tools a.gh; for f in .gh/pre-commit scripts/pc tools/f; do echo >docs/$f; done; git add -f docs",
             ground.top)
        must(ground.place, how, ground.top)
        same((how, ground.decides()), (how, "freeze"))
        must(ground.place, f"git sparse-checkout disable; git add -f {way.path}; {how if 'sparse' not in how else ':'}", ground.top)
        same((how, ground.decides()), (how, "flag"))


for of_number, of_way in enumerate(WAYS):
    bind = functools.partial
    control(f"history: {of_way.name}: the control, an old version runs")(bind(test_control, of_number, of_way))
    claim(f"history: {of_way.name}: an untracked program stays as it is, and each commit at it is named ({len(FIRST)} ways)")(
        bind(test_untracked, of_number, of_way))
    claim(f"history: {of_way.name}: a file whose path ends in the program's does not thaw it")(bind(test_nearly_tracked, of_number, of_way))
    claim(f"history: {of_way.name}: an old version of a tracked program is held")(bind(test_tracked, of_number, of_way))
    claim(f"history: {of_way.name}: a checkout brings the version of its branch, which is named")(bind(test_checkout, of_number, of_way))
    claim(f"history: {of_way.name}: so does a merge")(bind(test_merged, of_number, of_way))
    claim(f"history: {of_way.name}: so does a checkout in a linked worktree")(bind(test_linked, of_number, of_way))
    claim(f"history: {of_way.name}: an index of any form says what is tracked")(bind(test_index, of_number, of_way))
