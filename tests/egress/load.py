"""Much at once, for long, and peers that do not answer."""
import os

from scratch import until
from session import HELPERS, Skip, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


# Reads what world.py's counting_block() is the pattern of, and compares every byte.
CHECKER = """
import struct, sys
expected, block = bytearray(struct.pack("<131072Q", *range(131072))), bytearray(1 << 20)
size = number = 0
while got := sys.stdin.buffer.readinto(block):
    expected[:8] = struct.pack("<Q", number)
    assert (block == expected) if got == len(block) else block[:got] == expected[:got], f"block {number} is another"
    size, number = size + got, number + 1
print(size)
"""


@test
@sanitized_too
def a_transfer_of_gigabytes_is_whole(session):
    """None of them is ever on a disk, and there are more than 32 bits count. With the sanitizers it is one gibibyte."""
    size = 1 << 30 if os.environ.get("BAWN_SANITIZED") else 10_000_000_000 if os.environ.get("BAWN_LAYER") == "all" else 4_400_000_000
    done = session.run(["connect allowed.test:80"], "sh", "-c", 'curl -sS "$1" | /usr/bin/python3 -c "$2"', "sh",
                       f"http://allowed.test/bytes/{size}", CHECKER, timeout=300)
    assert done.out == f"{size}\n", done
    (closed,) = session.events("closed")
    assert size < int(closed["received"]) < size + 1000, closed  # and the answer's head


@test
@sanitized_too
def a_thousand_connections_at_once(session):
    done = session.python(["connect allowed.test:9000"], """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.gethostbyname("allowed.test")
held = [socket.create_connection((address, 9000), 20) for i in range(1000)]
for s in held: s.sendall(b"ping")
answers = [s.recv(10) for s in held]
print(len(answers), set(answers))
held[0].sendall(b"again"); print(held[0].recv(10))""", timeout=60)
    assert done.out == "1000 {b'ping'}\nb'again'\n", done


@test
def a_port_is_used_again_a_moment_after_its_connection_ended(session):
    """Else 28,000 connections to one host and port in a minute are all that there can be. Four ports stand for them here."""
    done = session.python(["connect allowed.test:80"], """
IP_LOCAL_PORT_RANGE = 51
address = socket.gethostbyname("allowed.test")
count, ports = 0, set()
end = time.monotonic() + 40  # a port rests for a minute otherwise
while count < 12 and time.monotonic() < end:
    with socket.socket() as s:
        try:
            s.setsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE, struct.pack("=I", 40003 << 16 | 40000))
        except OSError:
            print("not known")
            break
        try:
            s.connect((address, 80))
            ports.add(s.getsockname()[1])
            s.sendall(b"GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n")
            count += s.recv(9) == b"HTTP/1.1 "
            s.shutdown(socket.SHUT_WR)  # who ends it first has to rest
            while s.recv(1000): pass
        except OSError as why:
            assert why.errno == errno.EADDRNOTAVAIL, why
            time.sleep(0.02)
print(count, ports <= {40000, 40001, 40002, 40003})""", timeout=60)
    if done.out.startswith("not known"):
        raise Skip("needs a socket's own range of ports: Linux 6.3")
    assert done.out == "12 True\n", done


@test
def a_slow_reader_holds_up_nobody_else(session):
    done = session.python(["connect allowed.test:80", "connect allowed.test:9000", "connect allowed.test:9001"], """
slow = dial("allowed.test", 80)
slow.sendall(b"GET /bytes/200000000 HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n")
silent = dial("allowed.test", 9001)
print(exchange("allowed.test", 9000, b"x"))   # before anything of the slow one is read
got = 0
slow.settimeout(PATIENCE)
while got < 200000000:
    got += len(slow.recv(1 << 20))
print(got >= 200000000)""", timeout=60)
    assert done.out == "b'xthe end'\nTrue\n", done


@test
def the_end_of_a_long_transfer_arrives_while_the_connection_stays_open(session):
    """However fast it came, nobody waits for more before its last bytes are handed on."""
    done = session.python(["connect allowed.test:80"], """
s = dial("allowed.test", 80)
for size in (150000007, 300000001, 20, 400000003):
    s.sendall(b"GET /bytes/%d HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n" % size)
    stream = s.makefile("rb")
    while stream.readline() != b"\\r\\n":
        pass
    left = size
    while left:
        left -= len(stream.read(min(left, 1 << 20)))
    print(size)""", timeout=60)
    assert done.out == "150000007\n300000001\n20\n400000003\n", done


@test
def a_dead_peer_is_reported_and_holds_up_nobody_else(session):
    done = session.python(["connect nobody.test:9000", "connect allowed.test:9000"], """
import threading
def is_first():
    result = []
    thread = threading.Thread(target=lambda: result.append(attempt(lambda: dial("nobody.test", 9000, 100).recv(1))))
    thread.start()
    answer, is_before = exchange("allowed.test", 9000, b"x"), not result
    thread.join()
    assert (answer, result) == (b"xthe end", ["ECONNRESET"]), (answer, result)
    return is_before
print(any(is_first() for i in range(5)))   # on a busy machine a try may take the three seconds after which the dead one is given up""", timeout=60)
    assert done.out == "True\n", done
    assert {(event["host"], event["why"]) for event in session.events("unreachable")} == {("nobody.test", "No route to host")}


@test
def a_client_that_says_nothing_is_given_up_and_no_host_is_said_to_have_failed(session):
    """Some connect in advance, for what they might want later."""
    done = session.python(["connect allowed.test"], """
with dial("allowed.test", 443, 100) as s:
    print(attempt(lambda: s.recv(1)))""", timeout=120)
    assert done.out == "ECONNRESET\n", done
    assert session.events("unreachable") == session.events("refused") == [] and session.lab.take() == []


@test
@sanitized_too
def a_client_that_vanishes_ends_the_connection_outside(session):
    process = session.start(["connect allowed.test:9000"], "/usr/bin/python3", "-u", "-c", HELPERS + """
s = dial("allowed.test", 9000)
s.sendall(b"x" * 100000)
s.recv(1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))   # a reset, with answers unread
s.close()
print("gone")
sys.stdin.readline()""")
    assert process.stdout.readline() == "gone\n"
    until(lambda: [event for event in session.lab.ask() if event[0] == "broke"], "the connection outside breaks")
    assert ("broke", 104) in session.lab.ask() and process.poll() is None
    process.stdin.close()
    process.wait(timeout=60)
