"""What a git directory may hold after a run: attacks with a control, and git's everyday work, which must not be held."""

# Writes an index with the entries that stand in its arguments (MODE PATH FILE …), as git itself would refuse to.
INDEX = r"""
import hashlib, struct, subprocess, sys
entries, words = [], sys.argv[1:]
while words:
    mode, path, file, words = int(words[0], 8), words[1].encode(), words[2], words[3:]
    entries.append((path, mode, subprocess.run(["git", "hash-object", "-w", file], capture_output=True, check=True).stdout.decode().strip()))
out = b"DIRC" + struct.pack(">LL", 2, len(entries))
for path, mode, name in sorted(entries):
    entry = bytes(24) + struct.pack(">L", mode) + bytes(12) + bytes.fromhex(name) + struct.pack(">H", min(len(path), 0xfff)) + path
    out += entry + bytes(8 - len(entry) % 8)
open(".git/index", "wb").write(out + hashlib.sha1(out).digest())
"""
MAKE_INDEX = f"cat >i.py <<'END'\n{INDEX}END\n"

CONFIG = r"printf '[core]\n\tfsmonitor = touch pwned; false\n\trepositoryformatversion = 0\n\tbare = false\n' >{0}/config; "
REBASE = ("mkdir .git/rebase-merge; cd .git/rebase-merge; echo refs/heads/main >head-name; git rev-parse HEAD | tee onto >orig-head; "
          ": >interactive; echo 1 | tee msgnum >end; : >done; ")

# The commit-graph gives the commit of the branch `side` another tree, in which `a` is evil.
GRAPH = """cat >g.py <<'END'
import glob, os, sys
for path in glob.glob(".git/objects/info/commit-graph") + glob.glob(".git/objects/info/commit-graphs/*.graph"):
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        text = file.read()
        file.seek(0)
        file.write(text.replace(*map(bytes.fromhex, sys.argv[1:])))
END
b=$(echo evil | git hash-object -w --stdin); t=$(printf '100644 blob %s\\ta\\n' $b | git mktree)
python3 g.py $(git rev-parse side^{tree}) $t"""

# Name: what lies there before, what an earlier run does, what the run does, what the user then does (see AROUND in `run`).
ATTACKS = {
    "a message file that is a link to the configuration": (
        "", "", "ln -sf config .git/COMMIT_EDITMSG", "git commit -q --allow-empty -m evil; cat .git/config"),
    "a message file that is a link out of the workspace": (
        "echo mine >../$(basename $PWD)-own", "", "ln -sf ../../$(basename $PWD)-own .git/COMMIT_EDITMSG",
        "git commit -q --allow-empty -m evil; cat ../$(basename $PWD)-own"),
    "a message file that is a hard link": (
        "", "", "mkdir -p .git/info; : >.git/info/exclude; ln -f .git/info/exclude .git/COMMIT_EDITMSG",
        "git commit -q --allow-empty -m evil; cat .git/info/exclude"),
    "the steps of a rebase behind a link": (
        "", "", REBASE + "echo exec touch pwned >../../steps; ln -s ../../steps git-rebase-todo", "git rebase --continue"),
    "a rebase whose directory is a link": (
        "", "", REBASE + "echo exec touch pwned >git-rebase-todo; cd ..; mv rebase-merge ../steps; ln -s ../steps rebase-merge",
        "git rebase --continue"),
    "a `git am` that waits to go on": (
        "mkdir -p p; git format-patch -q --root -o p HEAD", "",
        "echo two >a; git commit -qam two; (git am p/*.patch || true) >&2; test -d .git/rebase-apply; cp p/*.patch .git/rebase-apply/0001; "
        "sed -i s/one/evil/ .git/rebase-apply/0001",
        "cat .git/rebase-apply/0001"),
    "a commit-graph that lies about a commit": ("git branch side", "", "git commit-graph write --reachable; " + GRAPH, "git log -p side"),
    "a commit-graph that was there before, and lies now": ("git branch side; git commit-graph write --reachable", "", GRAPH, "git log -p side"),
    "a chain of commit-graphs that lies, beside one that does not": (
        "git branch side; git commit-graph write --reachable; cp .git/objects/info/commit-graph g", "",
        "rm -f .git/objects/info/commit-graph; git commit-graph write --split --reachable; " + GRAPH + "; cp g .git/objects/info/commit-graph",
        "rm -f .git/objects/info/commit-graph; git log -p side"),
    "packed refs that are a named pipe": (
        "", "", "rm -f .git/packed-refs; mkfifo .git/packed-refs", "timeout 2 git for-each-ref >/dev/null; test $? = 124 && echo evil"),
    "a ref that is a named pipe": (
        "", "", "mkfifo .git/refs/heads/x", "timeout 2 git for-each-ref >/dev/null; test $? = 124 && echo evil"),
    "an index with a hook in it": (
        "", "", MAKE_INDEX + "printf '#!/bin/sh\\ntouch pwned\\n' >h; python3 i.py 100755 .git/hooks/post-checkout h 100644 a a",
        "git checkout -q .; git checkout -q -b side"),
    "an index with a hook in it, in other letters of a file system that ignores them": (
        "", "", MAKE_INDEX + "printf '#!/bin/sh\\ntouch pwned\\n' >h; python3 i.py 100755 .gIt/hooks/post-checkout h 100644 a a",
        "git checkout -q .; test -e .gIt && echo evil"),
    "an index that leads out of the workspace": (
        "", "", MAKE_INDEX + "echo evil >h; python3 i.py 100644 ../$(basename $PWD)-out h 100644 a a",
        "git checkout -q .; cat ../$(basename $PWD)-out"),
    "objects that are borrowed from another project": (
        "git init -q ../$(basename $PWD)-other; cd ../$(basename $PWD)-other; echo evil >secret; git add .; git commit -qm secret; "
        "git rev-parse HEAD >\"$OLDPWD/h\"; echo $PWD/.git/objects >\"$OLDPWD/o\"", "",
        "mkdir -p .git/objects/info; cp o .git/objects/info/alternates; cp h .git/refs/heads/stolen",
        "git init -q --bare ../$(basename $PWD)-hub; git push -q ../$(basename $PWD)-hub stolen; "
        "git --git-dir=../$(basename $PWD)-hub show stolen:secret"),
    "attributes that no commit has": (
        "git config filter.f.clean 'touch pwned; cat'", "", "mkdir -p .git/info; echo '* filter=f' >.git/info/attributes",
        "touch a; git add a"),
    "patterns that leave files out": (
        "git config core.sparseCheckout true; mkdir -p .git/info; echo '/*' >.git/info/sparse-checkout", "",
        "echo '!/a' >>.git/info/sparse-checkout", "git read-tree -mu HEAD; test -e a || echo evil"),
    "a repository whose parts are files that may be executed": (
        "", "", "mkdir -p src/.git; cd src/.git; echo ref: refs/heads/main >HEAD; : >objects; : >refs; chmod 755 objects refs; " +
        CONFIG.format("."), "cd src; git status"),
    "the top of the workspace as a repository, HEAD of the real one being gone": (
        "", "", "mv .git/HEAD .git/h; echo ref: refs/heads/main >HEAD; : >objects; : >refs; chmod 755 objects refs; " +
        CONFIG.format(".") + "printf '\\tworktree = .\\n' >>config", "git status"),
    "a worktree whose commondir goes on in a second line": (
        "", "", "w=.git/worktrees; e=$(printf '..\\nx'); e=${e%x}; mkdir -p $w/w wt \"$w/$e/evil/objects\" \"$w/$e/evil/refs\"; " +
        CONFIG.format("\"$w/$e/evil\"") + "echo ref: refs/heads/main >$w/w/HEAD; printf '../..\\n/evil\\n' >$w/w/commondir; "
        "echo $PWD/wt/.git >$w/w/gitdir; echo gitdir: ../.git/worktrees/w >wt/.git", "cd wt; git status"),
    "a branch that is a link": (
        "", "", "git rev-parse HEAD >evil; ln -s ../../../evil .git/refs/heads/x", "readlink .git/refs/heads/x"),
    "packed refs that git cannot read": (
        "", "", "echo evil >>.git/packed-refs", "git for-each-ref 2>&1 | grep -q unexpected && echo evil"),
}

# Scripts that run inside, after what lies there before; nothing of theirs is held, and git on the host says the same as the last.
EVERYDAY = {
    "a worktree that stays": ("", "git worktree add -q -b wt wt; echo w >wt/w; git -C wt add w; git -C wt commit -qm w", "git -C wt status; git worktree list"),
    "a worktree that was there before": ("git worktree add -q -b wt wt", "cd wt; echo w >w; git add w; git commit -qm w", "git -C wt log --oneline"),
    "a submodule that was there before": (
        "git init -q ../$(basename $PWD)-sub; git -C ../$(basename $PWD)-sub commit -q --allow-empty -m s; "
        "git -c protocol.file.allow=always submodule --quiet add ../$(basename $PWD)-sub sub; git commit -qm sub",
        "cd sub; echo s >s; git add s; git commit -qm s; cd ..; git commit -qam bump", "git submodule status"),
    "a conflict that is left": ("git switch -qc two; echo 2 >a; git commit -qam 2; git switch -q main; echo 1 >a; git commit -qam 1; mkdir .git/rr-cache",
                                "git merge two || true", "git status; ls .git/MERGE_HEAD .git/MERGE_RR"),
    "a cherry-pick that is left": ("git switch -qc two; echo 2 >a; git commit -qam 2; git switch -q main; echo 1 >a; git commit -qam 1",
                                   "git cherry-pick two || true", "git status; ls .git/CHERRY_PICK_HEAD"),
    "stash, notes, tags and replaced objects": (
        "", "echo x >>a; git stash -q; git notes add -m n; git tag -am t t; git commit -q --allow-empty -m x; git replace HEAD HEAD~1", "git show-ref; git stash list"),
    "packs, bitmaps and graphs": (
        "", "echo x >>a; git commit -qam x; git repack -adbq; git commit-graph write --reachable; git multi-pack-index write; "
        "git update-server-info; git commit -q --allow-empty -m y; git commit-graph write --split --reachable; "
        "git maintenance run --task=loose-objects --quiet; git pack-refs --all", "git fsck; git log --oneline"),
    "a large index of version 4, split": (
        "", "mkdir d; cd d; seq 12000 | xargs touch; cd ..; git add d; git update-index --index-version 4; git update-index --split-index; "
        "echo x >a; git add a; git commit -qm x; git rm -q --cached d/7", "git status --short; git ls-files | wc -l"),
    "a sparse checkout that was there before": (
        "mkdir d e; echo d >d/x; echo e >e/x; git add .; git commit -qm d; git sparse-checkout init --cone --sparse-index; git sparse-checkout set d",
        "echo y >d/x; git commit -qam y; git status", "git status; git ls-files -t"),
    "files of git-lfs": (
        "", "o=$(printf %064d 7); mkdir -p .git/lfs/objects/00/00 .git/lfs/tmp; echo large >.git/lfs/objects/00/00/$o; "
        "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize 6\\n' $o >p; git add p; git commit -qm p", "ls -R .git/lfs"),
    "a clone beside it, with hard links": ("", "git clone -q . copy", "git -C copy log --oneline; git fsck"),
    "a fetch and a shallow clone": ("git clone -q --bare . hub", "git fetch -q ./hub main; git clone -q --depth 1 file://$PWD/hub s", "cat .git/FETCH_HEAD; git -C s log"),
    "a repository with longer hashes": ("git init -q --object-format=sha256 l; cd l; echo x >x; git add x; git commit -qm x",
                                        "cd l; echo y >x; git commit -qam y; git gc -q", "git -C l log --oneline"),
}
