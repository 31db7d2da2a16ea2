"""The bytes that were judged are the bytes that are sent. sendfile and vmsplice queue pages by reference: whoever wrote them can
still change them while they wait in a queue, after somebody has looked at them there."""
import lab as labs
from bounds import proxy
from session import HELPERS, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


# A page that is queued by reference, in two ways, and what may lie in it.
PAGES = """
import ctypes, mmap, os, ssl
def hello(name):
    context, incoming, outgoing = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    attempt_tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try: attempt_tls.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()
class Page:
    def __init__(self, data):
        self.size, self.file = len(data), os.memfd_create("page")
        os.ftruncate(self.file, 4096)
        self.memory = mmap.mmap(self.file, 4096)
        self.memory[:self.size] = data
    def sendfile(self, to):
        os.sendfile(to.fileno(), self.file, 0, self.size)
    def vmsplice(self, to):
        class Part(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        source, sink = os.pipe()
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        assert ctypes.CDLL(None).vmsplice(sink, ctypes.byref(Part(base, self.size)), 1, 0) == self.size
        os.splice(source, to.fileno(), self.size)
    def rewrite(self, data):
        self.memory[:len(data)] = data
"""

# The control: a server on this machine that looks, and then reads what it has looked at.
LOOKS_TWICE = PAGES + """
with socket.create_server(("127.0.0.1", 0)) as server:
    for way in ("sendfile", "vmsplice"):
        other = 0
        for i in range(40):
            page = Page(b"first")
            with dial("127.0.0.1", server.getsockname()[1]) as client, server.accept()[0] as there:
                getattr(page, way)(client)
                looked = there.recv(5, socket.MSG_PEEK)
                page.rewrite(b"later")
                other += (looked, there.recv(5)) == (b"first", b"later")
        print(way, other)
"""

# Forty names, so that each is looked up anew. The page is rewritten once the helper asks for the name's addresses.
REWRITE = PAGES + """
way, other, seconds = sys.argv[1:]
addresses = [socket.gethostbyname(f"n{i:02}.example.test") for i in range(40)]
for i, address in enumerate(addresses):
    said = hello(f"n{i:02}.example.test")
    page = Page(said)
    with dial(address, 443) as s:
        getattr(page, way)(s)
        time.sleep(float(seconds))
        page.rewrite(said.replace(b".example.test", b".fronted.test") if other == "name" else b"GET /hidden HTTP/1.1\\r\\n\\r\\n")
        s.settimeout(PATIENCE)
        attempt(lambda: s.recv(1))
"""


@test
@sanitized_too
def a_change_of_protocol_is_agreed_to_in_as_many_pieces_as_the_server_likes(session):
    done = session.python(["connect allowed.test:80"], """
with dial("allowed.test", 80) as s:
    s.sendall(b"GET /pieces HTTP/1.1\\r\\nHost: allowed.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n")
    got = b""
    while b"\\r\\n\\r\\n" not in got:
        got += s.recv(4096)
    print(got[:34])
    s.sendall(b"raw bytes")
    print(s.recv(100))""")
    assert done.out == "b'HTTP/1.1 101 Switching Protocols\\r\\n'\nb'raw bytes'\n", done


@test
@sanitized_too
def content_that_the_server_leaves_unread_is_no_request(session):
    """Python's http.server, as the lab's servers are made of, ignores the content of a GET, and reads it as what comes next."""
    hidden = "GET /hidden HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"
    chunk = f"{len(hidden.encode().decode('unicode_escape')):x}\\r\\n{hidden}\\r\\n0\\r\\n\\r\\n"
    kinds = (f"Content-Length: {len(hidden.encode().decode('unicode_escape'))}\\r\\n\\r\\n{hidden}",
             f"Connection: keep-alive\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n{chunk}")
    for content in kinds:
        send = f'print(exchange("allowed.test", 80, b"GET /bytes/3 HTTP/1.1\\r\\nHost: allowed.test\\r\\n{content}").count(b"HTTP/1.1 200"))'
        done = session.python(["connect allowed.test:80"], send)
        paths = [event[3] for event in session.lab.take() if event[0] == "http"]
        # A server that closes without reading resets the connection, and with it an answer that is still under way.
        assert done.out in ("0\n", "1\n") and paths == ["/bytes/3"], (done, paths)
    control = session.outside(send.replace("chunked", "identity").replace(chunk, hidden))
    paths = [event[2:] for event in session.lab.take() if event[0] == "http"]
    assert control.out == "2\n" and paths == [("allowed.test", "/bytes/3"), ("evil.test", "/hidden")], (control, paths)


@test
@sanitized_too
def what_a_proxy_sends_with_its_answer_comes_from_the_host(session):
    """However much of it comes with the answer, and however large the answer is."""
    words = [b"220 welcome\r\n", b"w" * 20000]
    heads = [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 8000 + b"\r\n\r\n"]
    with proxy([head + word for head in heads for word in words]) as port:
        done = session.python(["connect allowed.test:9000"], """
for i in range(4):
    got = exchange("allowed.test", 9000, b"x")
    print(len(got), set(got[:-1]) <= set(b"220 welcome\\r\\n"), got[-1:])""", env={"HTTPS_PROXY": f"http://127.0.0.1:{port}"})
    assert done.out == "14 True b'x'\n20001 True b'x'\n" * 2, done


@test
def a_hello_that_is_rewritten_after_the_look_arrives_as_it_was_judged(session):
    """While the name is looked up, which takes 20 milliseconds or more, the page holds another name, or a request of plain HTTP."""
    control = session.outside(LOOKS_TWICE)
    assert control.out == "sendfile 40\nvmsplice 40\n", control
    names = {f"n{i:02}.example.test" for i in range(40)}
    for way in ("sendfile", "vmsplice"):
        for other in ("name", "plain"):
            # On a busy machine a page may be rewritten before the helper has read it: then it is refused for what it holds, and all takes longer.
            for delay in (0.02, 0.1, 0.5):
                session.lab.ask(take=True, names={**labs.NAMES, **{name: [labs.PUBLIC] for name in names}}, delay=delay)
                refused_before = len(session.events("refused"))
                done = session.run(["connect *.example.test"], "/usr/bin/python3", "-c", HELPERS + REWRITE, way, other, str(delay * 0.6), timeout=120)
                assert done.status == 0, done
                seen = session.lab.take()
                arrived = {event[1] for event in seen if event[0] == "sni"}
                rewritten = len(arrived - names) + seen.count(("not-tls", "HTTP_REQUEST"))
                refused = len(session.events("refused")) - refused_before
                assert rewritten == 0 and len(arrived) + refused == 40, (way, other, rewritten, len(arrived), refused)
                if refused < 20:
                    break
            assert refused < 20, (way, other, refused)
