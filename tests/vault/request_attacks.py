"""Attacks from inside on rules on requests. Each has a control: the same request without the rule, or to a path that is allowed."""
from request_rules import OPEN, RULES, ask_line, asked, curl, raw
from secret_attacks import MALFORMED, RAW
from secrets_outside import requests
from session import sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def raw_without_rules(session, code):
    """The control: TLS does not end at the vault, and the machine's own certificates count."""
    code = RAW.replace("ssl.create_default_context()", 'ssl.create_default_context(cafile="cert.pem")') + code
    return session.run(OPEN, "/usr/bin/python3", "-c", code, env={}, timeout=60)


@test
@sanitized_too
def pipelined_requests_are_judged_one_by_one(session):
    data = (ask_line("/repos/acme/app/1") + ask_line("/no", "POST", "Content-Length: 5\\r\\n") + "GET /"
            + ask_line("/repos/acme/app/2") + ask_line("/no/2") + ask_line("/repos/acme/app/3", more="Connection: close\\r\\n"))
    done = raw(session, f'import re; print([int(x) for x in re.findall(rb"HTTP/1.1 (\\d+)", ask(b"{data}"))])')
    assert done.out == "[200, 403, 200, 403, 200]\n", done
    assert asked(session) == [("GET", f"/repos/acme/app/{number}") for number in (1, 2, 3)]


@test
def content_of_a_refused_request_goes_nowhere(session):
    (session.work / "large").write_bytes(b"GET /smuggled HTTP/1.1\r\n" * 40000)
    for words in ("--data-binary @large", "-H 'Transfer-Encoding: chunked' --data-binary @large", "-H 'Expect: 100-continue' -d x",
                  "-H 'Connection: close' -d x"):
        done = curl(session, "-o /dev/null -w '%{http_code}'", words, "https://allowed.test/no")
        assert done.out == "403", (words, done)
    assert requests(session) == []


@test
@sanitized_too
def content_that_the_server_leaves_unread_is_no_request(session):
    """Python's http.server, of which the lab's is made, ignores the content of some requests, and reads it as the next one."""
    hidden = ask_line("/admin", "DELETE")
    size = len(hidden.replace("\\r\\n", "  "))
    send = f'print(ask(b"' + ask_line("/bytes/3", more=f"Content-Length: {size}\\r\\n") + hidden + '").count(b"HTTP/1.1 200"))'
    done = raw(session, send, ["connect allowed.test/bytes/** GET"])
    # A server that closes without reading resets the connection, and with it an answer that is still under way.
    assert done.out in ("0\n", "1\n") and asked(session) == [("GET", "/bytes/3")], done
    raw_without_rules(session, send)
    assert asked(session) == [("GET", "/bytes/3"), ("DELETE", "/admin")]


TRICKS = ("/repos/acme/app/../../../user", "/repos/acme/app/%2e%2e/x", "/repos/acme/app/%2E%2e/x", "/repos/acme/app/..%2fx", "/repos/acme/app/..;/x",
          "/repos/acme/app//x", "//repos/acme/app", "/repos/acme/app/a%2fb", "/repos/acme/app/a%5cb", "/repos/acme/app/a\\\\b", "/repos/acme/app/./x",
          "/repos/acme/app/actions;x/secrets", "/repos/acme/app/%252e%252e/x", "/repos/acme/app/%c0%ae%c0%ae/x", "/repos/acme/app/%00",
          "/repos/acme/app/%zz", "/repos/acme/app/x#y")


@test
@sanitized_too
def a_path_with_two_readings_is_refused(session):
    lines = [ask_line(target, more="Connection: close\\r\\n") for target in TRICKS]
    code = "print([ask(data)[:12].decode() for data in (%s)])" % ", ".join(f'b"{line}"' for line in lines)
    done = raw(session, code)
    assert done.out == str(["HTTP/1.1 400"] * len(TRICKS)) + "\n" and requests(session) == [], done
    control = raw_without_rules(session, code)
    assert control.out.count("HTTP/1.1 200") >= len(TRICKS) - 2, control
    assert len(asked(session)) >= len(TRICKS) - 2


@test
def an_encoded_letter_is_the_letter(session):
    done = curl(session, "-o /dev/null -w '%{http_code} '", "https://allowed.test/repos/acme/app/%61ctions/secret%73", "https://allowed.test/%72epos/acme/app")
    assert done.out.split()[0] == "403" and asked(session) == [("GET", "/%72epos/acme/app")], done


@test
@sanitized_too
def requests_that_smuggle_another_are_refused(session):
    lines = ", ".join(f'b"{request}".replace(b" /", b" /repos/acme/app/", 1)' for request in MALFORMED.values())
    done = raw(session, f'for data in ({lines}): print(repr(ask(data)))')
    for problem, answer in zip(MALFORMED, done.out.splitlines(), strict=True):
        assert answer.startswith("b'HTTP/1.1 400 Bad Request") and problem in answer, (problem, answer)
    assert not [path for _, path in asked(session) if "smuggled" in path or not path.startswith("/repos/acme/app")], done


@test
def a_header_that_names_another_method_is_not_judged(session):
    """Documented: whether a server obeys it is the server's affair."""
    done = curl(session, "-H 'X-HTTP-Method-Override: DELETE' -d x https://allowed.test/repos/acme/app")
    assert done.status == 0 and asked(session) == [("POST", "/repos/acme/app")], done


@test
def a_redirect_is_judged_like_any_request(session):
    rules = ["connect allowed.test/redirect", "connect other.test/fine"]
    done = curl(session, "-L -o /dev/null -w '%{http_code} %{url_effective}' https://allowed.test/redirect", rules=rules)
    assert done.out == "403 https://other.test/stolen" and asked(session) == [("GET", "/redirect")], done
    done = curl(session, "-L -o /dev/null -w '%{http_code}' https://allowed.test/redirect", rules=[rules[0], "connect other.test/stolen"])
    assert done.out == "200" and asked(session) == [("GET", "/redirect"), ("GET", "/stolen")], done  # the control


@test
def a_websocket_counts_as_its_get(session):
    upgrade = "Upgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n"
    done = raw(session, f'print([ask(b"{ask_line("/ws", more=upgrade)}", )[:12], ask(b"{ask_line("/repos/acme/app/ws", more=upgrade)}")[:12]])')
    assert done.out == "[b'HTTP/1.1 403', b'HTTP/1.1 101']\n", done
    post = raw(session, f'print(ask(b"{ask_line("/repos/acme/app/ws", more=upgrade)}")[:12])', rules=["connect allowed.test/repos/** POST"])
    assert post.out == "b'HTTP/1.1 403'\n", post


@test
def only_http_1_is_spoken(session):
    code = r"""
context = ssl.create_default_context()
context.set_alpn_protocols(["h2", "http/1.1"])
s = context.wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test")
print(s.selected_alpn_protocol())
s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9)
print(s.recv(12))
"""
    done = raw(session, code)
    assert done.out == "http/1.1\nb'HTTP/1.1 400'\n" and requests(session) == [], done


@test
def the_same_paths_without_tls_are_refused(session):
    rules = ["connect allowed.test:80", "connect allowed.test", "refuse allowed.test/secret"]
    done = curl(session, "-w '%{http_code}' http://allowed.test/secret", rules=rules)
    assert "rules judge its requests, and only TLS may be spoken with it" in done.out, done
    assert "rules judge its requests" in session.events("refused")[0]["why"]
    control = session.run(rules[:2], "sh", "-c", "curl -sS -m 20 http://allowed.test/secret", env={})
    assert control.status == 0 and "hello" in control.out, control


@test
@sanitized_too
def many_refused_requests_harm_nothing(session):
    done = raw(session, r"""
s = ssl.create_default_context().wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test")
got = b""
for start in range(0, 4200, 20):
    s.sendall(b"".join(b"GET /no/%d HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % number for number in range(start, start + 20)))
    while got.count(b"HTTP/1.1 403") < start + 20: got += s.recv(1 << 20)
print(got.count(b"HTTP/1.1 403"))
print(ask(b"GET /repos/acme/app HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n")[:12])
""")
    assert done.out == "4200\nb'HTTP/1.1 200'\n", done
    assert not session.events("vault-died") and len(session.events("refused")) <= 4096
    assert [event for event in session.events("network-trouble") if "not all are recorded" in event["why"]], session.events("network-trouble")


@test
def a_client_that_reads_no_answers_is_not_read(session):
    """Refusals are made here: those that nobody takes must not pile up. The kernel's own queues take less than the limit."""
    done = raw(session, r"""
s = ssl.create_default_context().wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test")
s.settimeout(3)
sent = 0
try:
    while sent < 256 << 20: sent += s.send(b"GET /no HTTP/1.1\r\nHost: allowed.test\r\n\r\n" * 400)
except TimeoutError: pass
print(sent < 256 << 20)
""")
    assert done.out == "True\n" and not session.events("vault-died"), done
