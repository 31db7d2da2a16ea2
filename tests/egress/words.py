"""What is said on the wire: by who asks for names, by who begins TLS or HTTP, and by a proxy. What could be read in two ways
is not passed on, and what is fine is not held up."""
import socket
import threading

import lab as labs
from session import sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


NAMES = """
def question(name, number=1, kind=1, more=b""):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", number, 0x100, 1, 0, 0, bool(more)) + labels + b"\\0" + struct.pack("!HH", kind, 1) + more
def options(data):
    return b"\\0" + struct.pack("!HHIH", 41, 1232, 0, len(data)) + data
def framed(*questions):
    return b"".join(struct.pack("!H", len(each)) + each for each in questions)
def hear(s):
    size = struct.unpack("!H", s.recv(2, socket.MSG_WAITALL))[0]
    return s.recv(size, socket.MSG_WAITALL)
"""


@test
@sanitized_too
def questions_that_come_together_over_TCP_are_all_answered(session):
    """As libc asks with `options use-vc`: for both families at once. The first of them waits for sockets, or for bawn."""
    done = session.python(["connect allowed.test:9000"], NAMES + """
with dial("198.18.0.1", 53) as s:
    s.sendall(framed(*(question("allowed.test", i, kind) for i, kind in enumerate((1, 28) * 20))))
    print([struct.unpack("!H", hear(s)[:2])[0] for i in range(40)] == list(range(40)))
    s.sendall(framed(*(question(f"n{i}.test", i) for i in range(40))))
    print([struct.unpack("!H", hear(s)[:2])[0] for i in range(40)] == list(range(40)))
    last = framed(question("allowed.test", 7))
    s.sendall(framed(question("new.test", 6)) + last[:9])
    print(hear(s)[1])
    s.sendall(last[9:])
    print(hear(s)[1])""")
    assert done.out == "True\nTrue\n6\n7\n", done


TLS = """
import ssl
def hello(name, pieces=0, **more):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try: tls.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()
def oldest(version):
    ciphers = b"\\0\\0\\x2f\\0\\0\\x35"
    body = b"\\x01" + version + struct.pack("!HHH", len(ciphers), 0, 16) + ciphers + b"challenge-16-byt"
    return struct.pack("!H", 0x8000 | len(body)) + body
"""


@test
@sanitized_too
def TLS_in_the_oldest_clothes_is_TLS_without_a_name(session):
    """A hello in the form of SSL 2, which OpenSSL still takes for the beginning of any later version, has no place for a name."""
    code = TLS + """
for version in (b"\\3\\1", b"\\3\\3", b"\\0\\2"):
    print(attempt(lambda: exchange("allowed.test", 9000, oldest(version)))[-7:])
def slowly():
    with dial("allowed.test", 9000) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in oldest(b"\\3\\3"):
            s.send(bytes([byte])); time.sleep(0.002)
        return s.recv(1)
print(attempt(slowly) == b"\\x80")"""
    assert session.outside(code).out == "b'the end'\n" * 3 + "True\n"
    done = session.python(["connect allowed.test:9000"], code)
    assert done.out == "NNRESET\n" * 3 + "False\n", done
    assert "+unnamed" in session.events("refused")[0]["why"]
    assert session.python(["connect allowed.test:9000+unnamed"], code).out == "b'the end'\n" * 3 + "True\n"
    # Others begin with such a byte as well.
    others = [b"\x80\x01\0\1\0\0\0\4ping", b"\x82\x21\1\4ping", b"\x80", b"\x80\x2e", b"\x80\x2e\1\3", b"\x80\x2e\1\5\0"]
    code = f"print([attempt(lambda: exchange('allowed.test', 9000, each)) for each in {others}])"
    assert session.python(["connect allowed.test:9000"], code).out == f"{[each + b'the end' for each in others]}\n"


@test
@sanitized_too
def a_hello_that_ends_in_its_middle_is_not_waited_for(session):
    done = session.python(["connect allowed.test", "connect allowed.test:9000"], TLS + """
whole = hello("allowed.test")
for port in (443, 9000):
    for size in (1, 5, len(whole) - 1):
        print(attempt(lambda: exchange("allowed.test", port, whole[:size])))
print(attempt(lambda: exchange("allowed.test", 9000, whole))[-7:])""")
    assert done.out == "ECONNRESET\n" * 6 + "b'the end'\n", done
    assert {event["why"] for event in session.events("refused")} == {"its first bytes do not name a host"}


@test
@sanitized_too
def a_hello_means_just_the_name_it_was_asked_for(session):
    """Other spellings of it, its address, and a hello that is cut so small that it never becomes whole."""
    spellings = ["allowed.test.", "ALLOWED.test", labs.PUBLIC, "allowed.test\0", "allowed.test\0.other.test", "x.allowed.test", " allowed.test"]
    code = TLS + f"""
def begin(data):
    with dial("allowed.test", 443) as s:
        s.sendall(data)
        return s.recv(1)
for name in {spellings}:
    place = "x" * len(name)
    print(attempt(lambda: begin(hello(place).replace(place.encode(), name.encode()))))
whole = hello("allowed.test")[5:]
large = whole[:1] + (len(whole) + 8000 - 4).to_bytes(3, "big") + whole[4:]
print(attempt(lambda: begin(b"".join(b"\\x16\\3\\1\\0\\1" + bytes([byte]) for byte in large + b"x" * 8000))))"""
    control = session.outside(code).out.splitlines()
    assert control[:2] == ["b'\\x16'"] * 2 and len(control) == len(spellings) + 1, control
    session.lab.take()
    done = session.python(["connect allowed.test"], code)
    assert done.out.splitlines() == ["ECONNRESET", "b'\\x16'"] + ["ECONNRESET"] * (len(spellings) - 1), done
    assert [event for event in session.lab.take() if event[0] == "sni"] == [("sni", "ALLOWED.test")]
    assert all(event["why"].startswith(("its ", "it ")) for event in session.events("refused"))


@test
def HTTP_2_without_TLS_is_refused_and_the_wish_for_it_is_harmless(session):
    fetch = lambda *words: session.run(["connect allowed.test:80"], "curl", "-sS", "-m", "60", *words, "http://allowed.test/x")
    assert "hello from" in fetch("--http2").out  # the server may stay with what it is asked in
    session.lab.take()
    done = fetch("--http2-prior-knowledge")
    assert done.status != 0 and session.events("refused")[-1]["why"] == "the request is not HTTP/1.1", done
    assert not [event for event in session.lab.take() if event[0] == "http"]


@test
@sanitized_too
def a_question_for_a_name_is_read_strictly(session):
    """What points at itself, is too long, or has bytes left over is no question; cookies and other options do no harm."""
    done = session.python(["connect allowed.test:9000"], NAMES + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("198.18.0.1", 53)); s.settimeout(PATIENCE)
def ask(data):
    s.send(data)
    return s.recv(2000)[3] & 15
head, tail = question("x")[:12], b"\\0\\1\\0\\1"
cookie = options(struct.pack("!HH", 10, 8) + b"\\0" * 8)
print(ask(question("allowed.test")), ask(question("allowed.test", more=cookie)), ask(question("allowed.test", more=options(b"\\xff" * 1100))))
print([ask(data) for data in (head + b"\\xc0\\x0c" + tail, head + b"\\1x\\xc0\\x0c" + tail, head + b"\\x40x" + tail, question("allowed.test") + b"x",
       question("allowed.test", more=cookie) + cookie, question("allowed.test", more=b"\\1x" + cookie), head + b"\\7allowed\\4test\\0\\0\\1\\0\\3")])
padded = question("allowed.test", more=options(b"x" * (1232 - 41)))
print(len(padded), ask(padded), end=" ")
s.settimeout(1)
print(attempt(lambda: ask(padded + b"x" * 8000)))
s.settimeout(PATIENCE)
print(ask(question("allowed.test")))""")
    assert done.out == "0 0 0\n[1, 1, 1, 1, 1, 1, 1]\n1232 0 timed out\n0\n", done
    assert session.lab.take() == []
