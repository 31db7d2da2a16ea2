"""What a command does to a program that git runs. It runs inside and outside alike, as a file of its own:

    python3 -I inside.py '[["write", "scripts/pc", TEXT], …]'     prints, as JSON, what each act ended with: "done" or an errno
"""
import ctypes
import errno
import json
import os
import shutil
import subprocess
import sys

RENAME_EXCHANGE, AT_FDCWD = 2, -100


def put(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


def fill(path, text):
    """Into the file that is there, and nothing else of it."""
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text.removeprefix("#!/bin/sh\n"))


def replace(path, text):
    put(path + ".evil", text)
    os.rename(path + ".evil", path)


def anew(path, text):
    os.unlink(path)
    put(path, text)


def make(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    put(path, text)


def make_plain(path, text):
    """For a program that an interpreter reads: nobody needs to be able to run it."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def exchange(path, text):
    put(path + ".evil", text)
    if ctypes.CDLL(None, use_errno=True).renameat2(AT_FDCWD, os.fsencode(path + ".evil"), AT_FDCWD, os.fsencode(path), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")


def link(path, text):
    put(path + ".evil", text)
    os.unlink(path)
    os.symlink(os.path.basename(path) + ".evil", path)


def second_name(path, text):
    os.link(path, path + ".second")
    fill(path + ".second", text)


def opened_again(path, text):
    """By a descriptor that was opened for reading, and is opened again for writing."""
    fd = os.open(path, os.O_RDONLY)
    fill(f"/proc/self/fd/{fd}", text)


def runnable(path, text):
    """What it has to say is there already; only nobody may run it."""
    os.chmod(path, 0o755)


def folder(path, text):
    """The folder of the file makes way for another, which holds this file alone."""
    there = os.path.dirname(path)
    os.rename(there, there + "-was")
    os.mkdir(there)
    put(path, text)


def commit(path, text):
    """What was done so far, as a version that the repository has."""
    subprocess.run("git -c user.name=t -c user.email=t@e add -A .; git -c core.hooksPath=/dev/null -c user.name=t -c user.email=t@e commit -qm x",
                   shell=True, check=False, capture_output=True)


def upper_folder(path, text):
    """The same one level higher."""
    above = os.path.dirname(os.path.dirname(path))
    os.rename(above, above + "-was")
    os.makedirs(os.path.dirname(path))
    put(path, text)


def folder_linked(path, text):
    there = os.path.dirname(path)
    shutil.copytree(there, there + "-new", symlinks=True)
    put(os.path.join(there + "-new", os.path.basename(path)), text)
    os.rename(there, there + "-was")
    os.symlink(os.path.basename(there) + "-new", there)


EVERY = (fill, append, put, replace, anew, exchange, link, second_name, opened_again, make)


def every(path, text):
    """All of them, whatever becomes of one; an error only where all fail."""
    done, last = False, None
    for act in EVERY:
        try:
            act(path, text)
            done = True
        except OSError as why:
            last = last or why
    if not done:
        raise last


def attempt(what, path, text):
    try:
        globals()[what](path, text)
        return "done"
    except OSError as why:
        return errno.errorcode.get(why.errno, str(why))
    except shutil.Error:
        return "EACCES"


if __name__ == "__main__":
    print(json.dumps([attempt(*act) for act in json.loads(sys.argv[1])]))
