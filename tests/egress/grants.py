"""Grants by address, ports of the host and of the sandbox, the caller's proxy, and what is given while a command runs."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import attacks
import lab as labs
from scratch import PATIENCE, until
from session import BAWN, HELPERS, Host, Skip, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def ask(port, address="127.0.0.1") -> bytes:
    with socket.create_connection((address, port), PATIENCE) as client:
        client.sendall(b"hi")
        with contextlib.suppress(OSError):  # it was reset meanwhile, and reading tells
            client.shutdown(socket.SHUT_WR)
        return client.recv(100)


@test
def an_address_in_a_rule_is_reached_and_no_other_port_of_it(session):
    done = session.python([f"connect {labs.PRIVATE}:9000", f"connect [{labs.PUBLIC6}]:9000"], f"""
print(exchange("{labs.PRIVATE}", 9000, b"x"), attempt(lambda: dial("{labs.PRIVATE}", 5432)), exchange("{labs.PUBLIC6}", 9000, b"x"),
      attempt(lambda: dial("{labs.PUBLIC}", 9000)))""")
    assert done.out == "b'xthe end' ECONNREFUSED b'xthe end' ECONNREFUSED\n", done


@test
def a_network_in_a_rule_is_reached_and_what_is_special_in_it_is_not(session):
    done = session.python(["connect 10.9.0.0/16:9000", "connect 0.0.0.0/0:5432", "refuse 10.9.0.5:5432"], f"""
print(exchange("{labs.PRIVATE}", 9000, b"x"), attempt(lambda: exchange("{labs.PUBLIC}", 9000, b"x")), exchange("{labs.PUBLIC}", 5432, b"x"))
print([attempt(lambda: exchange(a, 5432, b"x")) for a in ("{labs.METADATA}", "127.0.0.1", "{labs.HOST}", "{labs.PRIVATE}")])""")
    assert done.out == "b'xthe end' ECONNRESET b'xthe end'\n['ECONNRESET', 'ECONNRESET', 'ECONNRESET', 'ECONNRESET']\n", done


@test
def an_address_of_ipv6_in_a_rule_is_reached_by_clients_as_they_are(session):
    rules = [f"connect [{address}]:{port}" for address in (labs.PUBLIC6, labs.PRIVATE6, labs.METADATA6) for port in (80, 443, 9000)]
    words = ["curl", "-sS", "-m", str(PATIENCE)]
    for address in (labs.PUBLIC6, labs.PRIVATE6, labs.METADATA6):
        assert session.run(rules, *words, f"http://[{address}]/").out == f"hello from {address} for [{address}]\n"
    done = session.run(rules, *words, "--cacert", "cert.pem", "--connect-to", f"allowed.test:443:[{labs.PUBLIC6}]:443", "https://allowed.test/")
    assert done.out == f"hello from {labs.PUBLIC6} for allowed.test\n", done
    done = session.run(rules, "git", "ls-remote", f"http://[{labs.PUBLIC6}]/x.git")
    assert ("http", labs.PUBLIC6, f"[{labs.PUBLIC6}]", "/x.git/info/refs?service=git-upload-pack") in session.lab.take(), done
    done = session.python(rules, f"""
print([attempt(lambda: exchange(a, p, b"x")) for a, p in (("{labs.PUBLIC6}", 9000), ("2001:0DB8:0001:0:0:0:0:0005", 9000), ("{labs.PRIVATE6}", 9000))])
print([attempt(lambda: exchange(a, p, b"x")) for a, p in (("{labs.PUBLIC6}", 5432), ("2001:db8:1::6", 9000), ("{labs.HOST6}", 9000), ("::1", 9000))])""")
    assert done.out == f"{[b'xthe end'] * 3}\n{['ECONNREFUSED'] * 4}\n", done
    assert session.outside(f'print(exchange("{labs.PUBLIC6}", 5432, b"x"))').out == "b'xthe end'\n"


@test
def a_network_of_ipv6_in_a_rule_is_reached_and_what_is_special_in_it_is_not(session):
    host, own = Host("::1", 5432), Host(labs.HOST6, 5432)
    rules = ["connect [2001:db8:1::/48]:9000", "connect [fd09::/16]:9000", "connect [::/0]:5432", "refuse [fd09::/64]:5432"]
    special = ("::1", labs.HOST6, labs.METADATA6, "fe80::1%lo", "64:ff9b::7f00:1", "2002:7f00:1::1", labs.PRIVATE6)
    with host, own:
        done = session.python(rules, f"""
print([attempt(lambda: exchange(a, 9000, b"x")) for a in ("{labs.PUBLIC6}", "{labs.PRIVATE6}")], exchange("{labs.PUBLIC6}", 5432, b"x"))
print([attempt(lambda: exchange(a, 9000, b"x")) for a in ("2001:db8:2::5", "{labs.METADATA6}", "::1")])
print([attempt(lambda: exchange(a, 5432, b"x")) for a in {special}])
# Of IPv4 it means nothing, whatever it is written as, and takes nothing from it.
print([attempt(lambda: exchange(a, 5432, b"x")) for a in ("{labs.PUBLIC}", "::ffff:{labs.PUBLIC}")])
print(type(socket.create_server(("127.0.0.1", 5432))).__name__)""")
    assert done.out == (f"{[b'xthe end'] * 2} b'xthe end'\n{['ECONNRESET'] * 3}\n{['ECONNRESET'] * len(special)}\n"
                        f"{['ECONNREFUSED'] * 2}\nsocket\n"), done
    assert host.came == own.came == 0
    whys = {(event["host"], event["why"]) for event in session.events("refused")}
    assert (labs.METADATA6, "a rule for a network does not cover special addresses in it; name the address") in whys, whys
    assert ("2001:db8:2::5", "is not on the list of hosts") in whys, whys


@test
def networks_of_ipv6_are_allowed_while_the_command_runs(session):
    process, say = waiting(session, [])
    assert say(f'exchange("{labs.PUBLIC6}", 9000, b"x")') == "ECONNREFUSED"
    assert bawn(session, "allow", f"[{labs.PUBLIC6}]:9000", "[fd09::/64]:9000").returncode == 0
    assert say(f'exchange("{labs.PUBLIC6}", 9000, b"x")') == "b'xthe end'"
    assert say(f'exchange("{labs.PRIVATE6}", 9000, b"x")') == "b'xthe end'"
    assert say(f'exchange("{labs.METADATA6}", 9000, b"x")') == "ECONNRESET"
    process.stdin.close()
    process.wait()


@test
def a_proxy_is_asked_for_an_address_of_ipv6_and_reached_by_one(session):
    done = session.python([f"connect [{labs.PUBLIC6}]:9000", f"connect [{labs.PRIVATE6}]:9000"],
                          f'print(exchange("{labs.PUBLIC6}", 9000, b"x"), exchange("{labs.PRIVATE6}", 9000, b"x"))',
                          env={"HTTPS_PROXY": f"http://[{labs.PUBLIC6}]:3128"})
    assert done.out == "b'xthe end' b'xthe end'\n", done
    assert [event[1] for event in session.lab.take() if event[0] == "proxy"] == [f"CONNECT [{labs.PUBLIC6}]:9000 HTTP/1.1"]


@test
def this_machine_is_reached_by_its_address_in_a_rule(session):
    for addresses in (("127.0.0.5", labs.HOST), ("::1", labs.HOST6)):
        with Host(addresses[0]) as host, Host(addresses[1]) as own:
            written = [f"[{address}]" if ":" in address else address for address in addresses]
            done = session.python([f"connect {written[0]}:{host.port}", f"connect {written[1]}:{own.port}"], f"""
print(exchange("{addresses[0]}", {host.port}, b"x"), exchange("{addresses[1]}", {own.port}, b"x"))""")
        assert done.out == "b'the host: x' b'the host: x'\n", done


@test
def a_port_of_the_host_is_seen_at_localhost_and_by_its_name(session):
    host = Host()
    for rules in ([f"host-port {host.port}"], [f"host-port {host.port}", "net off"]):
        done = session.python(rules, f"""
print(exchange("127.0.0.1", {host.port}, b"x"), exchange("host.bawn.internal", {host.port}, b"y"), exchange("::1", {host.port}, b"z"),
      attempt(lambda: dial("127.0.0.1", {host.port} + 1)))""")
        assert done.out == "b'the host: x' b'the host: y' b'the host: z' ECONNREFUSED\n", done
    host.close()


@test
def nobody_inside_shares_a_port_of_the_hosts_and_everybody_may_have_those_of_names(session):
    with Host() as host:
        done = session.python([f"host-port {host.port}", "connect allowed.test:9000", "connect 203.0.113.0/24:5432"], f"""
def serve(address, port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind((address, port))
    s.listen()
    return s
print([type(attempt(lambda: serve("127.0.0.1", port))).__name__ for port in (9000, 5432)], attempt(lambda: serve("127.0.0.1", {host.port})))
everywhere = serve("0.0.0.0", 9000)
print(exchange("allowed.test", 9000, b"x"), exchange("{labs.PUBLIC}", 5432, b"x"), exchange("127.0.0.1", {host.port}, b"x"))""")
    assert done.out == "['socket', 'socket'] EADDRINUSE\nb'xthe end' b'xthe end' b'the host: x'\n", done


SERVER = """
server = socket.create_server(("{address}", 3000), family=socket.AF_INET6 if ":" in "{address}" else socket.AF_INET)
print("listening", flush=True)
while True:
    client, _ = server.accept()
    client.sendall(b"inside: " + client.recv(100))
    client.close()
"""


@test
def a_published_port_is_seen_on_the_hosts_loopback_only(session):
    for address, port in (("127.0.0.1", 8123), ("::1", 8126)):
        process = session.start([f"publish {port}:3000"], "/usr/bin/python3", "-u", "-c", HELPERS + SERVER.format(address=address))
        assert process.stdout.readline() == "listening\n"
        assert ask(port) == b"inside: hi"
        try:
            ask(port, labs.HOST)
            raise AssertionError("it is seen elsewhere")
        except ConnectionRefusedError:
            pass
        process.kill()
        process.wait()


@test
def a_published_port_nobody_listens_at_is_reset(session):
    process = session.start(["publish 8124:3001"], "sh", "-c", "echo up; exec sleep 60")
    process.stdout.readline()
    try:
        assert ask(8124) == b""
        raise AssertionError("somebody answered")
    except ConnectionResetError:
        pass
    process.kill()


@test
def a_port_that_is_taken_is_an_error_before_anything_runs(session):
    host = Host()
    done = session.run([f"publish {host.port}:3000"], "touch", "ran")
    host.close()
    assert done.status == 125 and f"127.0.0.1:{host.port}" in done.err and "publish OTHER:3000" in done.err, done
    process = session.start(["publish 81:3000"], "touch", "ran", prefix=["setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service"])
    assert "127.0.0.1:81: Permission denied. Choose a port from 1024 on: publish 8080:3000." in process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 125 and not (session.work / "ran").exists()


LISTENING = """
servers = [socket.create_server(("{address}", port), family=socket.AF_INET6 if ":" in "{address}" else socket.AF_INET) for port in {ports}]
print("listening", flush=True)
sys.stdin.readline()
"""


def noticed(session):
    return sorted(int(event["port"]) for event in session.events("serves"))


@test
def a_server_inside_that_nobody_published_is_named_with_what_publishes_it(session):
    for address in ("127.0.0.1", "::", "::1"):
        server = LISTENING.format(address=address, ports=[5173])
        words = ["/usr/bin/python3", "-u", "-c", HELPERS + server]
        before = len(noticed(session))
        process = session.start([], *words)
        until(lambda: len(noticed(session)) > before, "the server is noticed")  # noqa: B023
        process.communicate("\n", timeout=PATIENCE)
        assert noticed(session)[before:] == [5173], (address, noticed(session))
    # The control: a port that the host sees is not named, at whichever number; nor is one that the kernel chose, nor an address that is not localhost.
    before = len(noticed(session))
    process = session.start(["publish 8131:5174"], "/usr/bin/python3", "-u", "-c", HELPERS + f"""
more = [socket.create_server((address, port)) for address, port in (("127.0.0.1", 5174), ("127.0.0.1", 0), ("127.0.0.1", 5175))]
print("listening", flush=True)
sys.stdin.readline()""")
    until(lambda: len(noticed(session)) > before, "the third server is noticed")
    process.communicate("\n", timeout=PATIENCE)
    assert 5174 not in noticed(session) and len(noticed(session)) == before + 1, noticed(session)


@test
def a_server_inside_is_in_the_summary_unless_it_was_published_meanwhile(session):
    for is_published in (False, True):
        before = len(noticed(session))
        words = session.command([], ["/usr/bin/python3", "-u", "-c", HELPERS + LISTENING.format(address="127.0.0.1", ports=[5176])])
        process = subprocess.Popen([words[0], "--json", *words[1:]], cwd=session.work, env=session.environment(), text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        session.started.append(process)
        until(lambda: len(noticed(session)) > before, "the server is noticed")  # noqa: B023
        if is_published:
            assert bawn(session, "publish", "8132:5176").returncode == 0
        said = process.communicate("\n", timeout=PATIENCE)[1]
        assert json.loads(said).get("unpublished") == (None if is_published else [5176]), said


@test
def a_port_of_the_host_that_is_refused_inside_is_named_with_the_flag_that_leads_there(session):
    """Controls: with the flag, and at a port where nobody listens on the host, or somebody inside does, nothing is named."""
    with Host() as host:
        try_it = f"""
def word(tried):
    return tried if isinstance(tried, str) else type(tried).__name__
def plain(port):  # a connect() that blocks; that of dial() does not
    client = socket.socket()
    client.connect(("127.0.0.1", port))
    return client
print(*(word(attempt(lambda: way(port))) for way, port in ((lambda p: dial("127.0.0.1", p), {host.port}), (plain, {host.port}), (plain, 5999))))"""
        done = session.python([], try_it)
        assert done.out == "ECONNREFUSED ECONNREFUSED ECONNREFUSED\n", done
        why = f"localhost inside is the sandbox's own; --host-port {host.port} leads to this machine's port"
        assert [(event["host"], event["port"], event["why"]) for event in session.events("unreachable")] == [("localhost", str(host.port), why)]
        said = session.on_terminal([], "/usr/bin/python3", "-c", HELPERS + f'attempt(lambda: dial("127.0.0.1", {host.port}))')
        assert f"localhost:{host.port} {why}" in re.sub("\x1b\\[[0-9;]*m", "", said), said
        before = len(session.events("unreachable"))
        done = session.python([f"host-port {host.port}"], try_it)
        assert done.out == "socket socket ECONNREFUSED\n", done
        done = session.python([], f"""
server = socket.create_server(("127.0.0.1", {host.port}))
print(type(attempt(lambda: dial("127.0.0.1", {host.port}))).__name__)""")
        assert done.out == "socket\n" and len(session.events("unreachable")) == before, (done, session.events("unreachable"))


@test
def refusals_without_end_make_no_more_than_four_words_and_nobody_inside_is_told_of_the_hosts_ports(session):
    """An attack: whoever searches the host's localhost by what bawn says finds nothing, in any file inside or from the socket for questions."""
    hosts = [Host() for _ in range(6)]
    try:
        ports = [host.port for host in hosts]
        done = session.python([], f"""
def status():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("/run/bawn/ask")
    s.send(b"status")
    return s.recv(65536)
before = status()
tries = [attempt(lambda: dial("127.0.0.1", port)) for port in {ports} * 2 + [5990] * 3000]
print(set(tries), status() == before)""")
        assert done.out == "{'ECONNREFUSED'} True\n", done
        told = [int(event["port"]) for event in session.events("unreachable")]
        assert 1 <= len(told) <= 4 and set(told) <= set(ports), (told, ports)
        done = session.python([], f'print({{attempt(lambda: dial("127.0.0.1", port)) for port in [5990] * 200 + {ports}}})')  # bawn hears no more than 64 of a run
        assert done.out == "{'ECONNREFUSED'}\n" and len(session.events("unreachable")) == len(told), (done, session.events("unreachable"))
    finally:
        for host in hosts:
            host.close()


@test
def a_socket_in_a_rule_is_reached_and_no_other_beside_it(session):
    folder = session.home / "run"
    folder.mkdir()
    servers = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for server, name in zip(servers, ("one", "two")):
        server.bind(str(folder / name))
        (folder / name).chmod(0o777)
        server.listen(4)
    code = f"""
for name in ("one", "two"):
    s = socket.socket(socket.AF_UNIX)
    print(attempt(lambda: s.connect("{folder}/" + name)))"""
    assert session.outside(code).out == "None\nNone\n"
    assert session.python([f"socket {folder}/one"], code).out == "None\nENOENT\n"


@test
def what_ssh_was_refused_is_offered_with_its_port(session):
    """A question for a name has no port in it; the program that asked says which is meant. With 443 alone ssh would fail again."""
    if not shutil.which("ssh"):
        raise Skip("needs ssh")
    ssh = ["ssh", "-o", "BatchMode=yes", "other.test"]
    said = session.on_terminal([], *ssh)
    assert re.search(r"bawn --connect other\.test:22 CMD\b", said), said
    assert "bawn --forge 'other.test/OWNER/REPO fetch' CMD  if git asked: your keys stay outside" in said, said  # git by ssh has no key inside
    said = session.on_terminal(["connect other.test:22"], *ssh)  # the advice helps: ssh finds the name, and nobody who listens
    assert "not on the list" not in said and "other.test:22" in said, said
    said = session.on_terminal([], "getent", "hosts", "other.test")  # the control: another program
    assert re.search(r"bawn --connect other\.test CMD\b", said), said


@test
def what_is_offered_to_be_typed_holds_no_word_that_is_no_host(session):
    """A question may hold any label, one that bawn would take for an option too."""
    code = HELPERS + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)
for name in (b"--help", b"-x", b"evil"):
    s.sendto(b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + bytes([len(name)]) + name + b"\\0\\0\\1\\0\\1", ("198.18.0.1", 53)); s.recv(512)"""
    said = session.on_terminal(["connect allowed.test"], "/usr/bin/python3", "-c", code)
    assert "refused   --help is not on the list" in said and "bawn --connect evil CMD  for one run\n" in said, said


@test
def the_end_tells_what_was_not_reached_and_offers_each_host_by_itself(session):
    names = " ".join(f"host{i}.test" for i in range(14))
    said = session.on_terminal(["connect allowed.test:1", "connect corp.test", "connect *.test:9000"], "sh", "-c",
                               f"for name in {names}; do curl -s -m {PATIENCE} https://$name.example/; done; curl -s http://allowed.test:1/; curl -s corp.test:9000")
    assert "refused   host0.test.example is not on the list of hosts\n" in said and "and 7 more\n" in said, said
    offered = [line.strip() for line in said.splitlines() if "--connect" in line]
    assert offered == [("next      " if i == 0 else "") + f"bawn --connect host{i}.test.example CMD  for one run" for i in range(4)], said
    assert "failed    allowed.test:1 Connection refused\n" in said, said
    assert session.run(["connect allowed.test"], "curl", "-s", "https://other.test/").err == ""  # in a pipe bawn adds no byte


@test
@sanitized_too
def the_callers_proxy_is_used_by_the_helper(session):
    rules = ["connect allowed.test:9000", "connect from-hosts-file.test:9000", "connect forbidden.test:9000"]
    env = {"HTTPS_PROXY": f"http://me:secret@{labs.PUBLIC}:3128", "NO_PROXY": "from-hosts-file.test"}
    done = session.python(rules, """
import os
print(exchange("allowed.test", 9000, b"x"), exchange("from-hosts-file.test", 9000, b"x"), attempt(lambda: exchange("forbidden.test", 9000, b"x")),
      [name for name in os.environ if "PROXY" in name.upper()])""", env=env)
    assert done.out == "b'xthe end' b'xthe end' ECONNRESET []\n", done
    proxied = [event for event in session.lab.take() if event[0] == "proxy"]
    assert [event[1] for event in proxied] == ["CONNECT allowed.test:9000 HTTP/1.1", "CONNECT forbidden.test:9000 HTTP/1.1"]
    assert proxied[0][2] == "Proxy-Authorization: Basic bWU6c2VjcmV0"
    assert [(event["host"], event["address"]) for event in session.events("connected")] == [("allowed.test", labs.PUBLIC), ("from-hosts-file.test", labs.PUBLIC)]
    assert [event["host"] for event in session.events("unreachable")] == ["forbidden.test"]


@test
def a_proxy_that_speaks_nonsense_is_not_believed(session):
    for port in (2525, 9002):  # a mail server, and one that breaks the connection
        done = session.python(["connect allowed.test:9000"], 'print(attempt(lambda: exchange("allowed.test", 9000, b"x")))',
                              env={"HTTPS_PROXY": f"http://{labs.PUBLIC}:{port}"})
        assert done.out == "ECONNRESET\n", done
    assert {event["why"] for event in session.events("unreachable")} == {"the proxy does not connect to it"}


WAITER = """
print("up", flush=True)
for line in sys.stdin:
    print(attempt(lambda: eval(line)), flush=True)
"""


def waiting(session, rules, prefix=()):
    process = session.start(rules, "/usr/bin/python3", "-u", "-c", HELPERS + WAITER, prefix=prefix)
    assert process.stdout.readline() == "up\n"

    def say(line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    return process, say


def bawn(session, *words):
    return subprocess.run([BAWN, *words], cwd=session.work, env=session.environment(), text=True, capture_output=True, timeout=PATIENCE)


@test
def a_host_is_allowed_for_one_connection(session):
    process, say = waiting(session, ["connect allowed.test:9000"])
    assert say('exchange("other.test", 9000, b"x")') == "EAI-2"
    done = bawn(session, "allow", "--once", "other.test:9000")
    assert (done.returncode, done.stdout) == (0, f"Allowed other.test:9000 for one connection of {session.work.name}-1.\n"), done
    assert say('exchange("other.test", 9000, b"x")') == "b'xthe end'"
    assert say('exchange("other.test", 9000, b"x")') in ("ECONNRESET", "EAI-2", "ECONNREFUSED")
    wrong = bawn(session, "allow", "--once", "--always", "other.test:9000")
    assert wrong.returncode == 2 and "once, for a session or always" in wrong.stderr, wrong
    process.stdin.close()
    process.wait()


@test
@sanitized_too
def a_host_is_allowed_while_the_command_runs(session):
    process, say = waiting(session, ["connect allowed.test:9000"])
    assert say('exchange("other.test", 9000, b"x")') == "EAI-2"
    done = bawn(session, "allow", "other.test:9000", "allowed.test:5432", f"{labs.PRIVATE}:9000")
    assert done.returncode == 0, done
    name = session.work.name + "-1"
    assert done.stdout == f"Allowed other.test:9000 for {name}.\nAllowed allowed.test:5432 for {name}.\nAllowed {labs.PRIVATE}:9000 for {name}.\n", done
    assert say('exchange("other.test", 9000, b"x")') == "b'xthe end'"
    assert say('exchange("allowed.test", 5432, b"x")') == "b'xthe end'"
    assert say(f'exchange("{labs.PRIVATE}", 9000, b"x")') == "b'xthe end'"
    assert [event["host"] for event in session.events("allowed")] == ["other.test:9000", "allowed.test:5432", f"{labs.PRIVATE}:9000"]
    assert bawn(session, "allow", "not a host").returncode == 2
    assert not (session.home / ".config/bawn/policy.bawn").exists()
    process.stdin.close()
    process.wait()
    gone = bawn(session, "allow", "other.test")
    assert gone.returncode == 2 and "no session is running" in gone.stderr, gone


@test
def in_a_workspace_with_one_session_nobody_is_asked_which(session):
    """Two sessions run; one of them in this workspace. Elsewhere a name is still needed."""
    process, say = waiting(session, ["connect allowed.test:9000"])
    other = session.home / "other-project"
    other.mkdir()
    second = subprocess.Popen([BAWN, "--", "sh", "-c", "echo up; read line"], cwd=other, env=session.environment(), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert second.stdout.readline() == "up\n"
    done = bawn(session, "allow", "other.test:9000")
    assert (done.returncode, done.stdout) == (0, f"Allowed other.test:9000 for {session.work.name}-1.\n"), done
    assert say('exchange("other.test", 9000, b"x")') == "b'xthe end'"
    elsewhere = subprocess.run([BAWN, "allow", "other.test"], cwd="/", env=session.environment(), text=True, capture_output=True, timeout=PATIENCE)
    assert elsewhere.returncode == 2 and "several sessions are running" in elsewhere.stderr, elsewhere
    second.communicate("\n", timeout=PATIENCE)
    process.stdin.close()
    process.wait()


@test
def what_is_allowed_holds_when_the_answer_comes(session):
    """A new name, a new port of a known one and a new address, each used at once and never in vain."""
    session.lab.ask(names={**labs.NAMES, **{f"h{i}.test": [labs.PUBLIC] for i in range(200)}})
    process, say = waiting(session, ["connect allowed.test:9000"])
    assert say('exchange("allowed.test", 9000, b"x")') == "b'xthe end'"
    wanted = ("h{i}.test:9000", "allowed.test:{port}", f"{labs.PRIVATE}:{{port}}", f"[{labs.PUBLIC6}]:{{port}}")
    for i in range(200):
        host, _, port = wanted[i % len(wanted)].format(i=i, port=10000 + i).rpartition(":")
        assert bawn(session, "allow", f"{host}:{port}").returncode == 0
        # Outside nobody is there at most of these ports, which is a reset; without a socket inside it is ECONNREFUSED.
        result = say(f"type(dial('{host.strip('[]')}', {port})).__name__")
        assert result in ("socket", "ECONNRESET"), (host, port, result)
    assert session.events("helper-died") == []
    process.stdin.close()
    process.wait()


@test
def an_address_is_allowed_before_anything_was_reached_and_after_the_helper_died(session):
    process, say = waiting(session, [])
    assert bawn(session, "allow", "other.test:9000").returncode == 0
    assert session.events("helper-started") == []  # the rule is there, and nobody needs it yet
    assert bawn(session, "allow", f"{labs.PRIVATE}:9000").returncode == 0
    assert say(f'exchange("{labs.PRIVATE}", 9000, b"x")') == "b'xthe end'"
    (helper,) = attacks.helpers_of(process.pid)
    os.kill(helper, signal.SIGKILL)
    until(lambda: say(f'exchange("{labs.PRIVATE}", 9000, b"x")') == "b'xthe end'", "the next helper serves it")
    assert say('exchange("other.test", 9000, b"x")') == "b'xthe end'"
    assert len(session.events("helper-died")) == 1
    process.stdin.close()
    process.wait()


@test
def a_session_that_does_not_answer_is_not_waited_for(session):
    process, say = waiting(session, ["connect allowed.test:9000"])
    assert say('exchange("allowed.test", 9000, b"x")') == "b'xthe end'"
    (helper,) = attacks.helpers_of(process.pid)
    os.kill(helper, signal.SIGSTOP)
    done = bawn(session, "allow", "other.test:9000")
    assert done.returncode == 2 and "has not answered for 5 seconds" in done.stderr, done
    os.kill(helper, signal.SIGCONT)
    assert bawn(session, "allow", "other.test:5432").returncode == 0  # it answers in turn: the first is taken by now, too
    assert say('exchange("other.test", 9000, b"x")') == "b'xthe end'"
    process.stdin.close()
    process.wait()


@test
def what_cannot_be_had_inside_is_said_to_who_allows_it(session):
    process, say = waiting(session, [])
    assert say("globals().update(mine=socket.create_server(('0.0.0.0', 7000)))") == "None"
    done = bawn(session, "allow", f"{labs.PRIVATE}:7000")
    assert done.returncode == 2 and "port 7000 is taken inside" in done.stderr, done
    process.stdin.close()
    process.wait()


@test
def a_network_is_allowed_beside_addresses_and_names_at_the_same_port(session):
    process, say = waiting(session, ["connect allowed.test:9000", f"connect {labs.PUBLIC}:9000"])
    assert say('exchange("allowed.test", 9000, b"x")') == "b'xthe end'"
    assert bawn(session, "allow", "10.9.0.0/16:9000").returncode == 0
    for host in (labs.PRIVATE, labs.PUBLIC, "allowed.test"):
        assert say(f'exchange("{host}", 9000, b"x")') == "b'xthe end'"
    assert bawn(session, "allow", f"{labs.PRIVATE}:9000").returncode == 0
    assert session.events("network-trouble") == []
    process.stdin.close()
    process.wait()


@test
def a_word_that_is_wrong_allows_none_of_them(session):
    process, say = waiting(session, [])
    done = bawn(session, "allow", "--always", "other.test:9000", "not a host")
    assert done.returncode == 2 and "not a host" in done.stderr, done
    assert say('exchange("other.test", 9000, b"x")') == "EAI-2"
    assert not (session.home / ".config/bawn/policy.bawn").exists()
    process.stdin.close()
    process.wait()


@test
def what_is_refused_within_a_later_grant_stays_refused(session):
    process, say = waiting(session, ["refuse secret.example.test"])
    assert bawn(session, "allow", "*.example.test:9000").returncode == 0
    assert say('exchange("wild.example.test", 9000, b"x")') == "b'xthe end'"
    assert say('exchange("secret.example.test", 9000, b"x")') == "EAI-2"
    assert bawn(session, "allow", "secret.example.test:9000").returncode == 0  # a person's later and more exact word
    assert say("socket.gethostbyname('secret.example.test')").startswith("198.18.")
    process.stdin.close()
    process.wait()


@test
def what_is_refused_within_a_later_grant_for_one_connection_stays_refused(session):
    process, say = waiting(session, ["refuse secret.example.test", f"refuse {labs.PRIVATE}"])
    assert bawn(session, "allow", "--once", "*.example.test:9000").returncode == 0
    assert say('exchange("secret.example.test", 9000, b"x")') == "EAI-2"
    assert say('exchange("wild.example.test", 9000, b"x")') == "b'xthe end'"  # the control: another name uses it up
    assert say('exchange("wild.example.test", 9000, b"x")') != "b'xthe end'"
    for host in ("10.9.0.0/16", "corp.test"):  # a name that leads there, too
        assert bawn(session, "allow", "--once", f"{host}:9000").returncode == 0
        asked = host if host == "corp.test" else labs.PRIVATE
        assert say(f'exchange("{asked}", 9000, b"x")') in ("ECONNRESET", "ECONNREFUSED"), host
    process.stdin.close()
    process.wait()  # by then all is in the journal
    assert session.events("refused")[-1]["why"] == f"its name resolves to {labs.PRIVATE}, which a rule refuses", session.events("refused")
    process, say = waiting(session, [])  # the control: without the rule it is reached
    assert bawn(session, "allow", "--once", "corp.test:9000").returncode == 0
    assert say('exchange("corp.test", 9000, b"x")') == "b'xthe end'"
    process.stdin.close()
    process.wait()


@test
def the_administrators_lock_is_not_opened_while_a_command_runs(session):
    etc = session.home / "etc"
    subprocess.run(["cp", "-a", "/etc/.", str(etc)], stderr=subprocess.DEVNULL)
    (etc / "bawn").mkdir(exist_ok=True)
    (etc / "bawn/policy.bawn").write_text("lock refuse other.test\n")
    process, say = waiting(session, [], ["unshare", "--mount", "sh", "-c", f'mount --bind {etc} /etc && exec "$@"', "sh"])
    done = bawn(session, "allow", "other.test:9000")
    assert done.returncode == 2 and "the administrator refuses other.test:9000" in done.stderr, done
    assert say('exchange("other.test", 9000, b"x")') == "EAI-2"
    assert bawn(session, "allow", "allowed.test:9000").returncode == 0
    assert say('exchange("allowed.test", 9000, b"x")') == "b'xthe end'"
    process.stdin.close()
    process.wait()


@test
def a_session_without_a_list_is_not_given_a_host(session):
    for mode in ("off", "open"):
        process, say = waiting(session, [f"net {mode}"])
        done = bawn(session, "allow", "other.test")
        assert done.returncode == 2 and f"ts network is {mode}" in done.stderr, done
        assert session.events("helper-started") == []
        process.stdin.close()
        process.wait()


@test
def a_host_is_allowed_for_good_and_the_policy_is_otherwise_as_it_was(session):
    policy = session.home / ".config/bawn/policy.bawn"
    policy.parent.mkdir(parents=True)
    policy.write_bytes(b"# mine \xff\nread   /opt\n\n# end without newline")
    done = bawn(session, "allow", "--always", "other.test:9000")
    assert done.returncode == 0, done
    assert done.stdout == "Allowed other.test:9000 from now on: added `connect other.test:9000` to ~/.config/bawn/policy.bawn.\n", done
    assert policy.read_bytes() == b"# mine \xff\nread   /opt\n\n# end without newline\nconnect other.test:9000\n"
    again = bawn(session, "allow", "--always", "other.test:9000")
    assert (again.returncode, again.stdout) == (0, "other.test:9000 was allowed already by `connect other.test:9000` in ~/.config/bawn/policy.bawn.\n"), again
    assert policy.read_bytes().count(b"connect") == 1
    assert session.python([], 'print(exchange("other.test", 9000, b"x"))').out == "b'xthe end'\n"


@test
def a_port_is_published_while_the_command_runs(session):
    process = session.start([], "/usr/bin/python3", "-u", "-c", HELPERS + SERVER.format(address="127.0.0.1"))
    assert process.stdout.readline() == "listening\n"
    done = bawn(session, "publish", "8125:3000")
    assert done.returncode == 0, done
    assert done.stdout == f"Published port 3000 of {session.work.name}-1 at 127.0.0.1:8125.\n", done
    assert ask(8125) == b"inside: hi"
    taken = bawn(session, "publish", "8125:3000")
    assert (taken.returncode, taken.stderr) == (2, "bawn: port 3000 of the sandbox is published at 127.0.0.1:8125 already.\n"), taken
    taken = bawn(session, "publish", "8125:3001")  # the control: another port inside has no such place
    assert taken.returncode == 2 and "Address already in use" in taken.stderr, taken
    process.kill()


@test
def what_one_session_is_given_no_other_has(session):
    """Neither the word nor the socket by which it is said, nor a port that another session published."""
    other = session.home / "other"
    other.mkdir()
    process, say = waiting(session, ["publish 8127:3000"])
    second = subprocess.Popen([BAWN, "--connect", "allowed.test:9000", "--", "/usr/bin/python3", "-u", "-c", HELPERS + WAITER], cwd=other, env=session.environment(),
                              text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    session.started.append(second)
    assert second.stdout.readline() == "up\n"

    def say_there(line):
        second.stdin.write(line + "\n")
        second.stdin.flush()
        return second.stdout.readline().strip()

    done = subprocess.run([BAWN, "allow", "other.test:9000"], cwd=session.home, env=session.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "several sessions are running" in done.stderr, done
    assert bawn(session, "allow", "@work-1", "other.test:9000").returncode == 0
    assert say('exchange("other.test", 9000, b"x")') == "b'xthe end'"
    assert say_there('exchange("other.test", 9000, b"x")') == "EAI-2"
    assert say_there('exchange("198.18.0.2", 9000, b"x")') == "ECONNREFUSED"  # the first name of the other, none here yet
    assert say("globals().update(server=socket.create_server(('127.0.0.1', 3000)))") == "None"
    assert socket.create_connection(("127.0.0.1", 8127), PATIENCE)
    assert say_there("dial('127.0.0.1', 8127)") == say_there("dial('127.0.0.1', 3000)") == "ECONNREFUSED"
    controls = sorted((session.home / ".local/state/bawn/sessions").glob("*/control"))
    assert len(controls) == 2
    reach = "[attempt(lambda: (__import__('os').chdir(folder), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect('control'))[1]) for folder in %s]"
    folders = [str(control.parent) for control in controls]
    assert session.outside(f"print({reach % folders})").out == "[None, None]\n"
    assert say(reach % folders) == say_there(reach % folders) == "['ENOENT', 'ENOENT']"
    for each in (process, second):
        each.stdin.close()
        each.wait()
