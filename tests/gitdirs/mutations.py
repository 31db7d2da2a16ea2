"""Changes a git working tree as an attacker would who may write all of it: run in the sandbox and, as the control, outside.

    python3 mutations.py SEED OUTSIDE CANARY

OUTSIDE is a folder beside the working tree, CANARY a program that notes that it was run. Prints one line for each change: what it
was, and "done" or the errno that stopped it. The same seed makes the same changes in the same tree.
"""
import errno
import hashlib
import os
import random
import shutil
import stat
import struct
import subprocess
import sys

SEED, OUTSIDE, CANARY = sys.argv[1:4]
RANDOM = random.Random(SEED)
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.editor=true"]
CONFIG = f"""[core]
\trepositoryformatversion = 0
\tbare = false
\tfsmonitor = {CANARY} fsmonitor
\tsshCommand = {CANARY} ssh
\tpager = {CANARY} pager
\teditor = {CANARY} editor
[filter "mine"]
\tclean = {CANARY} clean
\tsmudge = {CANARY} smudge
[diff]
\texternal = {CANARY} diff
[gc]
\trecentObjectsHook = {CANARY} gc
"""
HOOK = f"#!/bin/sh\n{CANARY} hook\n"
HOOKS = ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "pre-push", "pre-auto-gc", "post-rewrite")


def git(*words, text=None, **environment):
    return subprocess.run([*GIT, *words], input=text, text=True, capture_output=True, check=False, timeout=120,
                          env={**os.environ, **environment}).stdout.strip()


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def repository(path, config=CONFIG, mode=0o755, head="ref: refs/heads/main\n"):
    """The least that git takes for a repository."""
    put(f"{path}/HEAD", head)
    for name in ("objects", "refs"):
        os.makedirs(f"{path}/{name}", exist_ok=True)
    put(f"{path}/config", config)
    put(f"{path}/hooks/{RANDOM.choice(HOOKS)}", HOOK, mode)


def git_files():
    found = [os.path.join(folder, name) for folder, _, names in os.walk(".git") for name in names]
    kept_out = ("/config", "/config.worktree", "/commondir")  # frozen, and there as stubs in a run
    return sorted(name for name in found if "/hooks/" not in name and not name.endswith(kept_out))


def swap_for_link():
    path = RANDOM.choice(git_files() + [f".git/{name}" for name in ("COMMIT_EDITMSG", "ORIG_HEAD", "packed-refs", "index", "MERGE_MSG",
                                                                    "FETCH_HEAD", "logs/HEAD", "info/exclude", "shallow")])
    to = RANDOM.choice([f"{OUTSIDE}/victim", f"{OUTSIDE}/new", "config", "../.git/config", "hooks/post-checkout", "../a", "/dev/null"])
    depth = path.count("/") - 1
    if not to.startswith(("/", "..")):
        to = "../" * depth + to
    if os.path.lexists(path):
        os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(to, path)
    return f"{path} -> {to}"


def swap_directory_for_link():
    path = RANDOM.choice([".git/refs/heads", ".git/logs", ".git/info", ".git/objects/pack", ".git/objects/info", ".git/refs/tags"])
    if os.path.isdir(path):
        os.rename(path, f".git/moved-{RANDOM.randrange(100)}")
    os.symlink(f"{OUTSIDE}/folder", path)
    return f"{path} -> outside"


def swap_for_fifo():
    path = RANDOM.choice(git_files() + [".git/packed-refs", ".git/shallow", ".git/info/attributes", ".git/FETCH_HEAD"])
    if os.path.lexists(path):
        os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mkfifo(path)
    return f"{path} a fifo"


def hard_link():
    path = RANDOM.choice([".git/COMMIT_EDITMSG", ".git/ORIG_HEAD", ".git/MERGE_MSG", ".git/description"])
    if os.path.lexists(path):
        os.unlink(path)
    os.link(RANDOM.choice([".git/config", ".git/HEAD", "a"]), path)
    return f"{path} a second name"


def index_of(entries, version, extension=b""):
    """An index of (path, mode, id). In version 4 a path is what differs from the one before; here, all of it."""
    new, before = b"DIRC" + struct.pack(">II", version, len(entries)), b""
    for path, mode, oid in sorted(entries):
        entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(oid)
        entry += struct.pack(">H", min(len(path), 0xfff))
        if version == 4:
            new += entry + bytes([len(before)]) + path + b"\0"
        else:
            entry += path
            new += entry + b"\0" * (8 - len(entry) % 8)
        before = path
    return new + extension


def write_index(entries):
    """Plain, or split: then all entries are in the shared part."""
    hashed = hashlib.sha1 if len(entries[0][2]) == 40 else hashlib.sha256
    whole = index_of(entries, RANDOM.choice([2, 2, 4]))
    if RANDOM.random() < 0.3:
        shared = hashed(whole).digest()
        with open(f".git/sharedindex.{shared.hex()}", "wb") as file:
            file.write(whole + shared)
        whole = index_of([], 2, b"link" + struct.pack(">I", len(shared)) + shared)
    with open(".git/index", "wb") as file:
        file.write(whole + hashed(whole).digest())


def entries_now():
    entries = []
    for line in git("ls-files", "-s").splitlines():
        info, _, path = line.partition("\t")
        mode, oid, step = info.split()
        if step == "0":
            entries.append((path.encode(), int(mode, 8), oid))
    return entries


def evil_index():
    blob = git("hash-object", "-w", "--stdin", text=HOOK)
    path = RANDOM.choice([".git/hooks/post-checkout", "../outside/evil", "src/../../outside/evil", ".git/hooks/post-index-change",
                          "/" + f"{OUTSIDE}/evil".lstrip("/"), ".GIT/hooks/post-checkout", "git~1/config", ".git\u200c/config", "src/.git/config",
                          "./x", "src//x", ".git", "..", "ok-name"])
    mode = RANDOM.choice([0o100755, 0o100755, 0o100644, 0o120000, 0o160000, 0o040000])
    write_index([*entries_now(), (path.encode(), mode, blob)])
    return f"index entry {path} {mode:o}"


def submodule_of_nobody():
    """A folder that the index calls a submodule: git asks the repository there."""
    place = RANDOM.choice(["new", "src/lib/new", "x y"])
    head = git("rev-parse", "HEAD")
    write_index([*entries_now(), (place.encode(), 0o160000, head)])
    repository(f"{place}/.git")
    return f"submodule {place}"


def alternates():
    name = RANDOM.choice(["alternates", "alternates", "http-alternates"])
    put(f".git/objects/info/{name}", f"{OUTSIDE}/other/.git/objects\n")
    put(".git/refs/heads/" + git("branch", "--show-current") if RANDOM.random() < 0.7 else ".git/refs/heads/taken",
        open_secret() + "\n")
    return name


def open_secret():
    """The commit of another project, whose id an attacker may know."""
    return os.environ.get("SECRET_COMMIT", "0" * 40)


def rebase_with_exec():
    way = RANDOM.choice(["exec", "exec", "link", "strategy"])
    editor = f"sh -c 'printf \"break\\nexec {CANARY} exec\\n\" >\"$1\"' -"
    if way == "link":
        put("notes.txt", f"exec {CANARY} exec\n")
        editor = "sh -c 'printf \"break\\nexec true\\n\" >\"$1\"' -"
    git("rebase", "-i", "HEAD~1", GIT_SEQUENCE_EDITOR=editor)
    state = git("rev-parse", "--git-path", "rebase-merge")
    if way == "link" and os.path.isdir(state):
        os.unlink(f"{state}/git-rebase-todo")
        os.symlink(os.path.relpath("notes.txt", state), f"{state}/git-rebase-todo")
    if way == "strategy" and os.path.isdir(state):
        put(f"{state}/strategy", f"../../../../../../{CANARY.lstrip('/')}\n")
    return f"rebase, {way}"


def state_files():
    name, text = RANDOM.choice([
        ("info/attributes", "* filter=mine diff=mine merge=mine\n"), ("info/sparse-checkout", "/src/\n"), ("info/grafts", "x\n"),
        ("shallow", git("rev-parse", "HEAD") + "\n"), ("commondir", "../evil.git\n"), ("gitdir", "../evil.git\n"),
        ("sequencer/todo", f"exec {CANARY} exec\n"), ("rebase-merge/git-rebase-todo", f"exec {CANARY} exec\n"),
        ("rebase-apply/next", "1\n"), ("BISECT_RUN", f"{CANARY}\n"), ("BISECT_START", "main\n"), ("MERGE_HEAD", git("rev-parse", "HEAD") + "\n"),
        ("remotes/origin", f"URL: ext::{CANARY} ext\n"), ("branches/origin", f"ext::{CANARY} ext\n"), ("unknown-file", "x\n"),
        ("config.worktree", CONFIG), ("hooks/post-checkout", HOOK), ("fsmonitor--daemon/cookies/x", ""), ("modules/x/config", CONFIG),
        ("gc.pid", "1 host\n"), ("rr-cache/" + "0" * 40 + "/postimage", "evil\n"), ("MERGE_RR", "x"), ("AUTO_MERGE", "junk\n"),
        ("NOTES_MERGE_REF", "ref: refs/heads/main\n"), ("MERGE_MODE", "no-ff"), ("SQUASH_MSG", "x\n"), ("lfs/tmp/x", "x"), ("annex/x", "x"),
        ("refs/replace/" + git("rev-parse", "HEAD~1"), git("rev-parse", "HEAD") + "\n"), ("objects/info/commit-graph", "CGPH junk"),
        ("objects/pack/multi-pack-index", "MIDX junk"), ("CHERRY_PICK_HEAD", git("rev-parse", "HEAD") + "\n"), ("refs/bisect/bad", git("rev-parse", "HEAD") + "\n"), ("worktrees/x/gitdir", f"{OUTSIDE}/wt/.git\n")])
    put(f".git/{name}", text, 0o755)
    return name


def odd_refs():
    head = git("rev-parse", "HEAD")
    name = RANDOM.choice(["refs/heads/x..y", "refs/heads/a/.lock", "refs/heads/-x", "refs/heads/\x01", "refs/x", "refs/heads/config",
                          "refs/remotes/origin/x", "ODD_HEAD", "refs/heads/deep/" + "/".join("abcdefghijkl"), "refs/heads/x.lock"])
    text = RANDOM.choice([head + "\n", "ref: ../../config\n", "ref:refs/heads/main\n", "ref: refs/heads/../../../a\n", "junk", "", head[:20] + "\n",
                          "0" * 40 + "\n", f"ref: {OUTSIDE}/victim\n"])
    put(f".git/{name}", text)
    if RANDOM.random() < 0.3:
        put(".git/packed-refs", RANDOM.choice([f"{head} refs/heads/packed\n", f"{head} ../../x\n", "junk\n", f"{head} refs/heads/../../x\n"]))
    return f"{name!r} = {text!r}"


def odd_head():
    text = RANDOM.choice(["ref:refs/heads/main\n", "ref: refs/heads/../../../a\n", "ref: /etc/passwd\n", "junk\n", "ref: refs/heads/none\n",
                          git("rev-parse", "HEAD") + "\n", f"ref: {OUTSIDE}/victim\n"])
    put(".git/HEAD", text)
    return f"HEAD = {text!r}"


def nested():
    way = RANDOM.choice(["plain", "plain", "files", "gitlink", "bare", "link", "commondir", "space"])
    place = RANDOM.choice(["src", "src/lib", "new", "new", "deep/" + "d/" * 30 + "e", "new\nline", ".hidden", "build/x"])
    if way == "files":  # git asks access(X_OK) of objects and refs
        for name in ("objects", "refs"):
            put(f"{place}/.git/{name}", "", 0o755)
        put(f"{place}/.git/HEAD", "ref: refs/heads/main\n")
        put(f"{place}/.git/config", CONFIG)
    elif way == "gitlink":
        repository("store")
        put(f"{place}/.git", "gitdir: " + os.path.relpath("store", place) + RANDOM.choice(["\n", "", "\n\n"]))
    elif way == "bare":
        repository(place, CONFIG.replace("bare = false", "bare = true"))
    elif way == "link":
        repository("store")
        os.makedirs(place, exist_ok=True)
        os.symlink(os.path.relpath("store", place), f"{place}/.git")
    elif way == "commondir":
        repository("store")
        put(f"{place}/.git/HEAD", "ref: refs/heads/main\n")
        put(f"{place}/.git/commondir", os.path.relpath("store", f"{place}/.git") + RANDOM.choice(["\n", "", "\n\n"]))
    else:
        repository(f"{place}/.git", head="ref:refs/heads/main\n" if way == "space" else "ref: refs/heads/main\n")
    return f"{way} at {place}"


def top_as_repository():
    if RANDOM.random() < 0.5:
        os.rename(".git/HEAD", ".git/HEAD-away")
    repository(".", CONFIG.replace("bare = false", f"worktree = {os.getcwd()}"))
    return "the top is a repository"


def broken_objects():
    paths = [path for path in git_files() if path.startswith(".git/objects/")]
    path = RANDOM.choice(paths or [".git/objects/aa/" + "b" * 38])
    if os.path.lexists(path):
        os.chmod(path, 0o644)
    put(path, RANDOM.choice(["", "junk", "x" * 5000]))
    return f"{path} is junk"


def tracked():
    name, text = RANDOM.choice([
        (".gitattributes", "* filter=mine diff=mine merge=mine\n"), ("src/.gitattributes", "* filter=mine\n"),
        (".gitmodules", f'[submodule "x"]\n\tpath = x\n\turl = ext::{CANARY} ext\n\tupdate = !{CANARY} update\n')])
    put(name, text)
    return name


def worktree():
    put(".git/worktrees/x/HEAD", git("rev-parse", "HEAD") + "\n")
    put(".git/worktrees/x/commondir", RANDOM.choice(["../..\n", "../../../store\n"]))
    put(".git/worktrees/x/gitdir", f"{os.getcwd()}/src/wt/.git\n")
    put("src/wt/.git", f"gitdir: {os.getcwd()}/.git/worktrees/x\n")
    repository("store")
    if RANDOM.random() < 0.5:
        put(".git/worktrees/x/config.worktree", CONFIG)
    return "worktree src/wt"


def garbage_bytes():
    path = RANDOM.choice(git_files())
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return f"{path} is no file"
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        for _ in range(RANDOM.randrange(1, 6)):
            if content:
                content[RANDOM.randrange(len(content))] = RANDOM.randrange(256)
        file.seek(0)
        file.write(content)
    return f"{path} has other bytes"


def whole_directory():
    shutil.copytree(".git", ".git-new", symlinks=True)
    put(".git-new/config", CONFIG)
    os.rename(".git", ".git-old")
    os.rename(".git-new", ".git")
    return ".git is another"


CHANGES = (swap_for_link, swap_for_link, swap_directory_for_link, swap_for_fifo, hard_link, evil_index, evil_index, submodule_of_nobody, alternates, rebase_with_exec,
           state_files, state_files, state_files, odd_refs, odd_head, nested, nested, nested, top_as_repository, broken_objects, tracked, worktree,
           garbage_bytes, whole_directory)

for change in RANDOM.choices(CHANGES, k=RANDOM.choice([1, 1, 1, 2, 3])):
    try:
        print(f"{change.__name__}: {change()}: done")
    except OSError as why:
        print(f"{change.__name__}: {errno.errorcode.get(why.errno, why.errno)} {why.filename}")
    except (subprocess.TimeoutExpired, ValueError, IndexError) as why:
        print(f"{change.__name__}: {type(why).__name__}")
