"""Who asks for too much of something gets less of it, nobody else does, and what happened stays on record."""
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import threading

import attacks
import lab as labs
from grants import bawn, waiting
from scratch import until
from session import BAWN, HELPERS, SLOWER, Skip, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def many_descriptors() -> list:
    wanted = 20000
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < wanted:
        raise Skip(f"needs {wanted} descriptors")
    return ["prlimit", f"--nofile={wanted}:{wanted}"]


@test
def names_that_fail_by_the_thousand_hide_nothing_else(session):
    """Below a wildcard there are as many names as anybody likes, and each may fail in its own words."""
    code = """
names = [f"n{i}.example.test" for i in range(2100)]
found = {name: socket.gethostbyname(name) for name in names}
for name in names:
    for port in (9000, 5432):
        attempt(lambda: exchange(found[name], port, b"x"))
print(attempt(lambda: exchange("wild.example.test", 9000, b"x")), attempt(lambda: exchange("allowed.test", 9000, b"x")),
      attempt(lambda: exchange("allowed.test", 443, b"not TLS")), attempt(lambda: exchange("allowed.test", 1, b"x")))"""
    done = session.python(["connect *.example.test:9000", "connect *.example.test:5432", "connect allowed.test:9000", "connect allowed.test",
                           "connect allowed.test:1"], code, timeout=120)
    assert done.out == "b'xthe end' b'xthe end' ECONNRESET ECONNRESET\n", done
    assert {event["host"] for event in session.events("connected")} == {"wild.example.test", "allowed.test"}
    assert [(event["host"], event["why"]) for event in session.events("refused")] == [("allowed.test", "it does not begin with TLS")]
    assert ("allowed.test", "Connection refused") in {(event["host"], event["why"]) for event in session.events("unreachable")}
    assert [event["why"] for event in session.events("network-trouble")] == ["too many hosts could not be reached: further ones are not recorded"]


@test
@sanitized_too
def clients_that_say_nothing_keep_nobody_out(session):
    done = session.python(["connect allowed.test", "connect allowed.test:80", "connect allowed.test:9000"], """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.gethostbyname("allowed.test")
held = [socket.create_connection((address, port), 20) for i in range(700) for port in (443, 80)]
for s in held[::3]: s.sendall(b"\\x16\\3\\1")
for s in held[1::3]: s.sendall(b"GET / HTTP/1.1\\r\\nHost: allowed")
print(exchange("allowed.test", 9000, b"x"))
print(exchange("allowed.test", 80, b"GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n")[:15])""", timeout=60)
    assert done.out == "b'xthe end'\nb'HTTP/1.1 200 OK'\n", done


CROWD = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
def connecting(address, port):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((address, port))
    return s
def timed(action):
    began = time.monotonic()
    return attempt(action), time.monotonic() - began < PATIENCE / 2
allowed, other = socket.gethostbyname("allowed.test"), socket.gethostbyname("other.test")
GET = b"GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n"
"""


@test
def five_thousand_clients_that_say_nothing_delay_no_other(session):
    """They may take every place that there is, and lose it after a moment where somebody else wants it."""
    rules = ["connect allowed.test", "connect allowed.test:80", "connect allowed.test:9000", "connect other.test:9000"]
    process = session.start(rules, "/usr/bin/python3", "-c", HELPERS + CROWD + """
held = [connecting(allowed, 443) for i in range(5000)]
print(timed(lambda: exchange(allowed, 9000, b"x", 60)), timed(lambda: exchange(other, 9000, b"x", 60)), timed(lambda: exchange(allowed, 80, GET, 60)[:12]))""",
                            prefix=["prlimit", "--nofile=6200:6200"])
    out, err = process.communicate(timeout=120 * SLOWER)
    assert out == "(b'xthe end', True) (b'xthe end', True) (b'HTTP/1.1 200', True)\n", out + err
    assert [event["why"] for event in session.events("network-trouble")] == ["too many connections are open: silent ones are reset"]


@test
def unfinished_hellos_take_a_bounded_amount_of_memory(session):
    """A hello may be 16 KiB large. Thousands of such hellos are refused; ordinary clients are served all the while."""
    process = session.start(["connect allowed.test", "connect allowed.test:80", "connect other.test"], "/usr/bin/python3", "-u", "-c", HELPERS + CROWD + """
held = []
for i in range(3000):
    held.append(dial(allowed, 443))
    held[-1].sendall(b"\\x16\\3\\1\\x3f\\xff\\1\\0\\x3f\\xfb" + b"x" * 15900)
print(timed(lambda: exchange(allowed, 80, GET, 60)[:12]))
sys.stdin.readline()""", prefix=many_descriptors())
    assert process.stdout.readline() == "(b'HTTP/1.1 200', True)\n"
    (helper,) = attacks.helpers_of(process.pid)
    (peak,) = [int(line.split()[1]) for line in open(f"/proc/{helper}/status") if line.startswith("VmHWM")]
    process.stdin.close()
    process.wait(timeout=60)
    assert session.events("refused")[0]["why"] == "too many unfinished requests: no room for a large one"
    assert peak < 100 * 1024, peak  # KiB


@test
def a_host_with_every_place_gives_one_to_a_host_that_has_none(session):
    """Its newest connections lose theirs. The others go on, and the one that found no place gets the next that is free."""
    process = session.start(["connect allowed.test:9000", "connect other.test:9000"], "/usr/bin/python3", "-c", HELPERS + CROWD + """
def hear(s, timeout):
    s.settimeout(timeout)
    return attempt(lambda: s.recv(1))
held = []
while len(held) < 400:
    held.append(dial(allowed, 9000))
    held[-1].sendall(b"x")
    if hear(held[-1], PATIENCE / 4) != b"x":
        break
print(len(held) > 100, timed(lambda: exchange(other, 9000, b"x", 60)))
for s in held[:50]: s.sendall(b"y")
print({hear(s, PATIENCE) for s in held[:50]}, hear(held[-1], PATIENCE))""", prefix=["prlimit", "--nofile=420:420"])
    out, err = process.communicate(timeout=120 * SLOWER)
    assert out == "True (b'xthe end', True)\n{b'y'} b'x'\n", out + err
    assert [event["why"] for event in session.events("network-trouble")] == ["too many connections are open: a host with many loses some to others"]


@test
@sanitized_too
def when_descriptors_are_there_again_connections_are_made_again(session):
    process = session.start(["connect allowed.test:9000"], "/usr/bin/python3", "-u", "-c", HELPERS + """
print(exchange("allowed.test", 9000, b"x"))
held = []
while len(held) < 150:
    held.append(socket.create_connection(("198.18.0.2", 9000), PATIENCE))
    held[-1].settimeout(PATIENCE / 4)
    held[-1].sendall(b"x")
    if attempt(lambda: held[-1].recv(1)) != b"x":
        break
print(len(held) > 10, attempt(lambda: exchange("198.18.0.2", 9000, b"x", 0.3)))
while held:
    held.pop().close()
until = time.monotonic() + PATIENCE
while (got := attempt(lambda: exchange("198.18.0.2", 9000, b"x"))) != b"xthe end" and time.monotonic() < until:
    pass
print(got)""", prefix=["prlimit", "--nofile=120:120"])
    out, err = process.communicate(timeout=60 * SLOWER)
    lines = out.splitlines()
    assert lines[0] == lines[2] == "b'xthe end'" and lines[1] in ("True timed out", "True ECONNRESET"), out + err
    assert session.events("helper-died") == []


SLOW = """
def hear(s, timeout):
    s.settimeout(timeout)
    return attempt(lambda: s.recv(1))
addresses = [socket.gethostbyname(name) for name in sys.argv[1:]]
exchange("allowed.test", 9000, b"there is a thread that waits for work")
held = [socket.create_connection((address, 9000), PATIENCE) for address in addresses]
print(exchange("from-hosts-file.test", 9000, b"x"), {hear(s, 0) for s in held})
print({hear(s, 100) for s in held})
"""


@test
def names_that_are_slow_to_be_found_hold_up_nobody_else(session):
    """One of them alone, many that rules spell out, and any number of them below a wildcard."""
    exact, many = [f"slow{i}.test" for i in range(14)], [f"slow{i}.example.test" for i in range(20)]
    session.lab.ask(names={**labs.NAMES, **{name: ["never"] for name in exact + many}})
    fine = ["connect allowed.test:9000", "connect from-hosts-file.test:9000"]
    for rules, names in (([f"connect {name}:9000" for name in exact], exact[:1]), ([f"connect {name}:9000" for name in exact], exact), (["connect *.example.test:9000"], many)):
        done = session.run([*fine, *rules], "/usr/bin/python3", "-c", HELPERS + SLOW, *names, timeout=120)
        assert done.out == "b'xthe end' {'EAGAIN'}\n{'ECONNRESET'}\n", done
    assert {event["why"] for event in session.events("unreachable")} == {"Temporary failure in name resolution"}


@test
@sanitized_too
def a_name_with_a_thousand_addresses_leads_to_some_of_them(session):
    many = [labs.PUBLIC] * 1000
    session.lab.ask(names={**labs.NAMES, "many.test": many, "many-bad.test": ["10.9.0.5", "127.0.0.1"] * 500})
    done = session.python(["connect *.test:9000"], """
print([attempt(lambda: exchange(name, 9000, b"x")) for name in ("many.test", "many-bad.test", "allowed.test")])""")
    assert done.out == "[b'xthe end', 'ECONNRESET', b'xthe end']\n", done


@contextlib.contextmanager
def proxy(answers):
    """One answer for each connection. What comes after it is thrown back."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        for answer in answers:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                head = b""
                while b"\r\n\r\n" not in head and (part := client.recv(4096)):
                    head += part
                with contextlib.suppress(OSError):
                    client.sendall(answer)
                    while data := client.recv(4096):
                        client.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


@test
@sanitized_too
def a_proxy_is_believed_only_where_it_says_yes_in_one_way(session):
    fine = [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 Connection established\r\nX: a\r\n folded\r\n\r\n", b"HTTP/1.1 204 Yes\r\nContent-Length: 5\r\n\r\n"]
    wrong = [b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70000, b"HTTP/1.1 200 OK\n\n", b"HTTP/1.1 200 OK\r\nX: y\n\r\n\r\n", b"HTTP/1.1 301 Moved\r\nLocation: http://other.test/\r\n\r\n",
             b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 2\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"HTTP/1.1  200 OK\r\n\r\n", b"\r\n\r\n", b"\x16\x03\x01\0\2\1\0"]
    with proxy(fine + wrong) as port:
        done = session.python(["connect allowed.test:9000"], f"""
for i in range({len(fine + wrong)}):
    print(attempt(lambda: exchange("allowed.test", 9000, b"x")))""", env={"HTTPS_PROXY": f"http://127.0.0.1:{port}"}, timeout=120)
    assert done.out.splitlines() == ["b'x'"] * len(fine) + ["ECONNRESET"] * len(wrong), done
    assert {event["why"] for event in session.events("unreachable")} == {"the proxy does not connect to it"}


@test
def a_published_port_does_not_lead_back_to_the_host(session):
    """At the same port as a `host-port` whoever connects would be passed round until there is no descriptor left."""
    for rules in (["publish 8200", "host-port 8200"], ["publish 8201:8200", "host-port 8200"]):
        done = session.run(rules, "touch", "ran")
        assert done.status == 2 and "`host-port 8200`, so it cannot be published" in done.err, done
        assert not (session.work / "ran").exists()
    process, say = waiting(session, ["host-port 8200"])
    done = bawn(session, "publish", "8201:8200")
    assert done.returncode == 2 and "so it cannot be published" in done.stderr, done
    process.stdin.close()
    process.wait()
    assert session.run(["publish 8200:8201", "host-port 8200"], "true").status == 0  # inside they are two


LIAR = """#!/usr/bin/python3 -I
import array, os, socket, sys
link = socket.socket(fileno=int(sys.argv[2]))
link.setblocking(True)
pipe = array.array("i", os.pipe())
for junk in (b"", b" ", b"\\0", b"\\xff" * 1024, b"x" * 5000, b"taken", b"taken 1 no", b"closed", b"closed a b c d e f g", b"asked", b"asked ../../x tcp 1", b"name", b"name 1.2.3.4",
             b"name 198.18.0.2 a b\\nconnect evil.test:443", b"refused", b"connected " + b"h" * 900 + b" 99999 \\x1b[2J", b"published x -1 y", b"answer x"):
    if junk:
        link.sendmsg([junk], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, pipe)] if len(junk) % 2 else [])
for i in range(70000):
    link.send(b"failed host%d 443 no" % i)
open("DONE", "w")
os.read(pipe[0], 1)
"""


@test
def a_helper_that_is_taken_over_fills_no_disk_and_opens_nothing(session):
    """In its place a program that says whatever it likes. It is not believed, and what it says is bounded."""
    folder = session.home / "elsewhere"
    folder.mkdir()
    shutil.copy(BAWN, folder / "bawn")
    (folder / "bawn-egress").write_text(LIAR.replace("DONE", str(session.work / "done")))
    (folder / "bawn-egress").chmod(0o755)
    words = session.command(["connect allowed.test"], ["/usr/bin/python3", "-c", HELPERS + """
import os
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("198.18.0.1", 53))
while not os.path.exists("done"): time.sleep(0.05)
print(attempt(lambda: dial("198.18.0.2", 443)), attempt(lambda: dial("203.0.113.5", 443)))"""])
    done = subprocess.run([folder / "bawn", *words[1:]], cwd=session.work, env=session.environment(), text=True, capture_output=True, timeout=120 * SLOWER,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout == "ECONNREFUSED ECONNREFUSED\n", done
    events = session.journal()
    assert len(events) < 66000 and events[-1]["event"] == "end" and events[-1]["lost"] > 1000, (len(events), events[-1])
    assert not [event for event in events if "evil" in str(event) or "\n" in str(event)]


@test
def a_helper_that_is_taken_over_gives_nothing_to_the_next_one(session):
    """What it says of a name is kept for its successor: it must be a name, and not a line with rules behind it."""
    folder = session.home / "elsewhere"
    folder.mkdir()
    for name in ("bawn", "bawn-egress"):
        shutil.copy(pathlib.Path(BAWN).with_name(name), folder / name)
    (folder / "bawn-egress").rename(folder / "honest")
    (folder / "bawn-egress").write_text(f"""#!/bin/sh
test -e {folder}/lied && exec {folder}/honest "$@"
>{folder}/lied
exec /usr/bin/python3 -Ic 'import socket, sys
link = socket.socket(fileno=int(sys.argv[1]))
for line in (b"name 198.18.0.2 a.test\\nconnect other.test:9000", b"name 198.18.0.3\\nconnect other.test:9000", b"name 198.18.0.4 a.test connect", b"name 1.2.3.4 b.test",
             b"name 198.18.0.5 *.test", b"name 198.18.0.6 kept.test"):
    link.send(line)' "$2"
""")
    (folder / "bawn-egress").chmod(0o755)
    words = session.command(["connect allowed.test:9000", "connect kept.test:9000"], ["/usr/bin/python3", "-c", HELPERS + """
for name in ("allowed.test", "other.test", "kept.test"):
    print(attempt(lambda: socket.gethostbyname(name)))
print(exchange("allowed.test", 9000, b"x"))"""])
    done = subprocess.run([folder / "bawn", *words[1:]], cwd=session.work, env=session.environment(), text=True, capture_output=True, timeout=120 * SLOWER,
                          stdin=subprocess.DEVNULL)
    assert (folder / "lied").exists() and len(session.events("helper-started")) == 2
    assert done.stdout == "198.18.0.7\nEAI-2\n198.18.0.6\nb'xthe end'\n", done
    assert [event["host"] for event in session.events("name")] == ["kept.test", "allowed.test"]


@test
@sanitized_too
def however_many_names_are_known_each_is_reached_by_the_next_helper_and_at_new_ports(session):
    count = 1500
    session.lab.ask(names={**labs.NAMES, **{f"n{i}.example.test": [labs.PUBLIC] for i in range(count)}})
    process, say = waiting(session, ["connect *.example.test:9000"], many_descriptors())
    assert say(f"len(set(socket.gethostbyname(f'n{{i}}.example.test') for i in range({count})))") == str(count)

    def unreached(port):
        return say(f"[i for i in range({count}) if attempt(lambda: dial(f'n{{i}}.example.test', {port}).close())]")

    assert unreached(9000) == "[]"
    assert bawn(session, "allow", "*.example.test:5432").returncode == 0
    assert unreached(5432) == "[]"
    (helper,) = attacks.helpers_of(process.pid)
    os.kill(helper, signal.SIGKILL)
    until(lambda: say("socket.gethostbyname('n0.example.test')") == "198.18.0.2", "the next helper answers")
    assert (unreached(9000), unreached(5432)) == ("[]", "[]")
    assert not [event for event in session.events("network-trouble") if "socket" in event["why"]]
    process.stdin.close()
    process.wait()


@test
def who_fills_a_published_port_does_not_keep_the_sandbox_from_its_network(session):
    """Anybody on this machine may connect to it, and stay."""
    limit = many_descriptors()
    process, say = waiting(session, ["publish 8128:3000", "connect allowed.test:9000"], limit)
    assert say("globals().update(server=socket.create_server(('127.0.0.1', 3000), backlog=4096))") == "None"
    assert say('exchange("allowed.test", 9000, b"x")') == "b'xthe end'"
    crowd = subprocess.Popen([*limit, "/usr/bin/python3", "-c", """
import contextlib, socket, sys
held = []
for i in range(4300):
    with contextlib.suppress(ConnectionResetError):
        held.append(socket.create_connection(("127.0.0.1", 8128), 60))
print("held", flush=True)
sys.stdin.read()"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert say("len([server.accept() for i in range(1000)])") == "1000"
        assert crowd.stdout.readline() == "held\n"
        assert say('exchange("allowed.test", 9000, b"x")') == "b'xthe end'"
        until(lambda: session.events("network-trouble"), "too many connections are reported")  # the helper takes them one by one
        assert "further ones are refused" in session.events("network-trouble")[0]["why"]
    finally:
        crowd.stdin.close()
        crowd.wait()
        crowd.stdout.close()
    process.stdin.close()
    process.wait()
