"""Pseudo terminals and shared memory, as programs use them; prints one word a line. Runs inside.

    python3 terminals.py WAY      own: a terminal of one's own; race SECONDS MOST LEAST: attacks on those of others; shared: /dev/shm
"""
import ctypes
import fcntl
import itertools
import os
import pty
import sys
import threading
import time

GET_NUMBER, UNLOCK, GET_PEER = 0x80045430, 0x40045431, 0x5441  # TIOCGPTN, TIOCSPTLCK, TIOCGPTPEER


def passes(master, slave):
    """What is written at the other end arrives here."""
    os.write(slave, b"word\n")
    return os.read(master, 20).replace(b"\r", b"") == b"word\n"


def open_master():
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(master, UNLOCK, (ctypes.c_int * 1)(0))
    return master, int.from_bytes(fcntl.ioctl(master, GET_NUMBER, bytes(4)), "little")


def own():
    master, slave = os.openpty()
    print("openpty", passes(master, slave), os.ttyname(slave).startswith("/dev/pts/"), os.get_inheritable(slave))
    master, number = open_master()
    print("by-name", passes(master, os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)))
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "stty size; echo typed >/dev/tty; tty >/dev/null && echo terminal"])
    got = b""
    try:
        while part := os.read(master, 100):
            got += part
    except OSError:  # the other end is closed
        pass
    print("fork", got.split())


def race(seconds, most, least):
    """Masters come and go while other threads ask for their other ends. Whatever is given gets a word: none may arrive at others' terminals.
    It takes longer than these seconds on a slow machine, until the least was given."""
    began, found = time.monotonic(), [0]
    masters = [os.open("/dev/null", os.O_RDWR) for _ in range(4)]

    def is_over():
        return time.monotonic() - began > (seconds if found[0] > least else most)

    def exchange(fd):
        for turn in itertools.count():
            if is_over():
                break
            try:
                master, _ = open_master()
                os.dup2(master, fd)
                os.close(master)
                time.sleep(0.0005 * 2 ** (turn % 8))  # a slow machine needs some of the longer ones to judge an open
                os.dup2(masters[0], fd)
            except OSError:
                pass

    def take(fd):
        while not is_over():
            for way in (lambda: fcntl.ioctl(fd, GET_PEER, os.O_RDWR | os.O_NOCTTY),
                        lambda: os.open(f"/dev/pts/{found[0] % 64}", os.O_RDWR | os.O_NOCTTY)):
                try:
                    slave = way()
                    os.set_blocking(slave, False)
                    os.write(slave, b"attack")
                    os.close(slave)
                    found[0] += 1
                except OSError:
                    pass
    threads = [threading.Thread(target=work, args=(fd,)) for fd in masters[1:] for work in (exchange, take)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("tried", "enough" if found[0] > least else found[0])


def double(number):
    return number * 2


def shared():
    import multiprocessing
    from multiprocessing import shared_memory
    with multiprocessing.Pool(2) as pool:
        print("pool", pool.map(double, [1, 2, 3]))
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.buf[0] = 7
    again = shared_memory.SharedMemory(name=memory.name)
    print("memory", again.buf[0])
    again.close()
    memory.close()
    memory.unlink()
    lock = multiprocessing.Lock()
    with lock:
        print("lock", lock.acquire(timeout=0.01))


if __name__ == "__main__":
    {"own": own, "shared": shared, "race": lambda: race(*map(float, sys.argv[2:]))}[sys.argv[1]]()
