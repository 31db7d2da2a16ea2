"""Secrets in other places of a request than the usual headers, where a rule says so; and values that expire."""
import hashlib
import json
import urllib.parse

from secrets_outside import OTHER, SECRET, caller, curl, requests
from session import SLOWER, sanitized_too

TESTS = []
TO = "connect allowed.test", "connect other.test"


def test(function):
    TESTS.append(function)
    return function


def rules(places, *more):
    return [*TO, f"secret API_KEY to allowed.test {places}", *more]


def ask(session, places, *words, value=SECRET, more=()):
    """One request of curl. Returns what curl printed, and what the server was asked."""
    done = curl(session, *words, rules=rules(places, *more), env=caller(session, API_KEY=value))
    return done, requests(session)


@test
@sanitized_too
def a_query_carries_it(session):
    done, [(_, path, _, _)] = ask(session, "in query key", '"https://allowed.test/q?a=1&key=$API_KEY&b=2"')
    assert done.status == 0 and path == f"/q?a=1&key={SECRET}&b=2", (path, done)


@test
@sanitized_too
def a_path_carries_it(session):
    done, [(_, path, _, _)] = ask(session, "in path", '"https://allowed.test/bot$API_KEY/send?x=$API_KEY"')
    assert done.status == 0 and path.startswith(f"/bot{SECRET}/send?x=sk-ant-api03-") and path.count(SECRET) == 1, (path, done)


@test
def a_header_carries_it(session):
    done, [(_, _, headers, _)] = ask(session, "in header X-Own-Key", '-H "X-Own-Key: $API_KEY" -H "x-api-key: $API_KEY" https://allowed.test/')
    assert done.status == 0 and headers["x-own-key"] == SECRET and headers["x-api-key"] != SECRET, (headers, done)


@test
@sanitized_too
def content_carries_it(session):
    for kind, content, wanted in (("application/json", r'{\"key\": \"$API_KEY\", \"n\": [\"x$API_KEY\"]}', f'{{"key": "{SECRET}", "n": ["x{SECRET}"]}}'),
                                  ("application/x-www-form-urlencoded", "a=1&key=$API_KEY", f"a=1&key={SECRET}"),
                                  ("text/xml", "<key>$API_KEY</key>", f"<key>{SECRET}</key>")):
        for way in ("", "-H 'Transfer-Encoding: chunked'"):
            done, [(_, _, headers, body)] = ask(session, "in body", f'{way} -H "Content-Type: {kind}" -d "{content}" https://allowed.test/post')
            assert done.status == 0 and body == wanted and headers["content-length"] == str(len(wanted)), (kind, way, headers, body, done)
            assert SECRET not in done.out and "sk-ant-api03-" in done.out, done  # the server sends it back, and it is cleaned


@test
@sanitized_too
def it_is_swapped_there_and_only_there(session):
    """The control is the request of all places: each rule swaps its own."""
    words = '-H "Authorization: Bearer $API_KEY" -H "X-Own: $API_KEY" -d "key=$API_KEY" "https://allowed.test/p/$API_KEY?key=$API_KEY&other=$API_KEY"'
    for places, wanted in (("", {"authorization"}), ("in headers", {"authorization"}), ("in header X-Own", {"own"}), ("in query key", {"query"}),
                           ("in path", {"path"}), ("in body", {"body"}), ("in headers in query key in body", {"authorization", "query", "body"})):
        done, [(_, target, headers, body)] = ask(session, places, words)
        path, _, query = target.partition("?")
        parameters = dict(urllib.parse.parse_qsl(query))
        swapped = {name for name, text in (("authorization", headers["authorization"]), ("own", headers["x-own"]), ("query", parameters["key"]),
                                           ("other", parameters["other"]), ("path", path), ("body", body)) if SECRET in text}
        assert done.status == 0 and swapped == wanted and SECRET not in done.out, (places, swapped, done)


@test
def a_placeholder_for_another_host_is_the_alarm_in_each_place(session):
    more = ["secret OTHER_KEY to other.test"]
    for places, words in (("in query key", '"https://other.test/?key=$API_KEY"'), ("in path", '"https://other.test/$API_KEY"'),
                          ("in body", '-d "key=$API_KEY" https://other.test/'), ("in header X-Own", '-H "X-Own: $API_KEY" https://other.test/')):
        done = curl(session, "-w '%{http_code}'", words, rules=rules(places, *more), env=caller(session, OTHER_KEY=OTHER))
        seen = [event for event in requests(session) if event[1:2] + event[3:] != ("/", "")]  # a head may have been sent, and nothing after it
        assert done.out.endswith("403") and seen == [], (places, seen, done)
        event = session.events("secret-misused")[-1]
        assert (event["name"], event["host"]) == ("API_KEY", "other.test"), event
    assert len(session.events("secret-misused")) == 4
    control = curl(session, "-w '%{http_code}' https://other.test/", rules=rules("in query key", *more), env=caller(session, OTHER_KEY=OTHER))
    assert control.out.endswith("200") and len(requests(session)) == 1, control


# --- values that would change the meaning of what is around them ---

INSIDE = ["secrets inside", "env API_KEY"]  # the control: the same request, made with the value itself


@test
@sanitized_too
def a_value_adds_no_parameter_to_a_query(session):
    value, words = "x1234567&admin=1#y?z/w", '-g "https://allowed.test/q?key=$API_KEY"'
    done, [(_, path, _, _)] = ask(session, "in query key", words, value=value)
    assert done.status == 0 and urllib.parse.parse_qsl(path.partition("?")[2]) == [("key", value)], (path, done)
    assert value not in done.out and urllib.parse.quote(value, safe="") not in done.out, done
    _, [(_, path, _, _)] = ask(session, "", words, value=value, more=INSIDE)
    assert ("admin", "1") in urllib.parse.parse_qsl(path.partition("?")[2]), path


@test
@sanitized_too
def a_value_is_no_more_than_one_segment_of_a_path(session):
    words = '-w "%{http_code}" --path-as-is -g "https://allowed.test/users/$API_KEY/keys"'
    for value in ("../../admin/x", "a?admin=1234", "abcdefg#1234", "..%2f..%2fadmin", "..\\\\..\\\\admin1", "abcd;admin=1"):
        done, seen = ask(session, "in path", words, value=value)
        assert "API_KEY has a character that cannot be put into this path safely" in done.out and done.out.endswith("502"), (value, done)
        assert seen == [] and "cannot be put there safely" in session.events("secret-trouble")[-1]["what"], (value, seen)
    _, [(_, path, _, _)] = ask(session, "", words, value="../../admin/x", more=INSIDE)
    assert path == "/users/../../admin/x/keys", path
    _, [(_, path, _, _)] = ask(session, "in path", words, value="12345:ab+c=d@e")
    assert path == "/users/12345:ab%2Bc%3Dd%40e/keys", path


@test
@sanitized_too
def a_value_adds_nothing_to_content(session):
    value = r'x1234567","admin":"1'
    words = r'''-H "Content-Type: application/json" -d "{\"key\":\"$API_KEY\"}" https://allowed.test/post'''
    done, [(_, _, _, body)] = ask(session, "in body", words, value=value)
    assert done.status == 0 and json.loads(body) == {"key": value}, (body, done)
    _, [(_, _, _, body)] = ask(session, "", words, value=value, more=INSIDE)
    assert json.loads(body) == {"key": "x1234567", "admin": "1"}, body
    form = '-d "key=$API_KEY" https://allowed.test/post'
    done, [(_, _, _, body)] = ask(session, "in body", form, value="x1234567&admin=1")
    assert done.status == 0 and body == "key=x1234567%26admin%3D1", (body, done)
    xml = '-w "%{http_code}" -H "Content-Type: text/xml" -d "<key>$API_KEY</key>" https://allowed.test/post'
    done, seen = ask(session, "in body", xml, value="x</key><admin/>")
    assert "cannot be put into this content safely" in done.out and done.out.endswith("502") and seen == [], (seen, done)


@test
def a_value_with_a_line_end_or_a_space_goes_nowhere(session):
    (session.home / "odd").write_bytes(b"x1234567\r\nX-Admin: 1")
    for places, words in (("in query key", '"https://allowed.test/?key=$API_KEY"'), ("in path", '"https://allowed.test/$API_KEY"'),
                          ("in body", '-d "$API_KEY" https://allowed.test/'), ("in header X-Own", '-H "X-Own: $API_KEY" https://allowed.test/')):
        for value in (b"x1234567\r\nX-Admin: 1", b"x1234567 y", b"x1234567\0y"):
            (session.home / "odd").write_bytes(value)
            done = curl(session, "-w '%{http_code}'", words, rules=[*TO, f"secret API_KEY from file ~/odd to allowed.test {places}"], env=caller(session))
            assert done.out.endswith("502") and requests(session) == [], (places, value, done)
            assert session.events("secret-trouble")[-1]["what"].startswith("cannot be sent"), session.events("secret-trouble")


# --- content of other sizes ---

PIECES = """
import hashlib, os, socket, ssl, sys
key, size, at, chunked, step = os.environ["API_KEY"].encode(), *map(int, sys.argv[1:])
body = bytearray(b"." * size)
body[at:at + len(key)] = key
s = ssl.create_default_context().wrap_socket(socket.create_connection(("allowed.test", 443), 20), server_hostname="allowed.test")
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
told = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
s.sendall(f"POST /hash HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n{told}\\r\\n\\r\\n".encode())
frame = (lambda piece: b"%x\\r\\n%s\\r\\n" % (len(piece), piece)) if chunked else bytes
try:
    near = [i for i in range(at, at + len(key), step)]   # around the placeholder in pieces, the rest at once
    cuts = [0, *near, at + len(key), len(body)]
    for begin, end in zip(cuts, cuts[1:]):
        if end > begin: s.sendall(frame(body[begin:end]))
    if chunked: s.sendall(b"0\\r\\n\\r\\n")
except OSError: pass
got = b""
try:
    while part := s.recv(65536): got += part
except OSError: pass
head, _, text = got.partition(b"\\r\\n\\r\\n")
print(head.split()[1].decode(), text.decode().strip())
"""


def pieces(session, size, at, chunked, step, source="", value=SECRET):
    """Content with the placeholder at one place, in pieces. Returns the answer, and what it is if the server got the value."""
    done = session.run([*TO, f"secret API_KEY {source} to allowed.test in body"], "/usr/bin/python3", "-c", PIECES, str(size), str(at),
                       str(int(chunked)), str(step), env=caller(session, API_KEY=value), timeout=60)
    # without a value at the start, a placeholder has 24 characters
    length = 24 if source else len(value)
    whole = b"." * at + value.encode() + b"." * (size - at - length)
    return done.out.strip(), f"200 {hashlib.sha256(whole).hexdigest()}"


@test
@sanitized_too
def content_of_every_size_is_swapped_however_it_is_cut(session):
    large = (1 << 20) + 70000
    for size, at in ((5000, 0), (5000, 4000), (large, 100), (large, (1 << 20) - 20), (large, large - len(SECRET))):
        for chunked in (False, True):
            got, wanted = pieces(session, size, at, chunked, 1 if size < 6000 else 7)
            assert got == wanted, (size, at, chunked, got)
            requests(session)


@test
@sanitized_too
def large_content_whose_length_would_change_must_be_chunked(session):
    source, large = f'from command "echo {OTHER}"', (1 << 20) + 70000
    for size, chunked in ((5000, False), (5000, True), (large, True)):
        got, wanted = pieces(session, size, 4000, chunked, 3, source, OTHER)
        assert got == wanted, (size, chunked, got)
    requests(session)
    for at in (4000, (1 << 20) - 10, large - 1000):  # before the head is sent, and afterwards
        got, _ = pieces(session, large, at, False, 3, source, OTHER)
        assert got.startswith("502 bawn: a secret in content above 1 MiB must have the length of its placeholder"), (at, got)
        seen = requests(session)
        assert (seen == [] or at > 1 << 20) and all(size < large for *_, size in seen), (at, seen)  # at most a part of it
    (session.work / "large").write_bytes(b"." * large)
    done = curl(session, "--data-binary @large https://allowed.test/hash", rules=[*TO, f"secret API_KEY {source} to allowed.test in body"], env=caller(session))
    assert done.status == 0 and len(done.out) == 64, done  # the control: without a placeholder it passes


@test
def compressed_content_is_refused_where_a_secret_may_be_in_it(session):
    words = '-w "%{http_code}" -H "Content-Encoding: gzip" -d "packed" https://allowed.test/post'
    done, seen = ask(session, "in body", words)
    assert "its content is compressed" in done.out and done.out.endswith("415") and seen == [], (seen, done)
    done, seen = ask(session, "in headers", words)
    assert done.out == "packed200" and len(seen) == 1, (seen, done)


@test
def a_grant_that_refreshes_no_login_carries_it(session):
    """At the host of a login, content that may be a refresh is gathered for that: what is none goes the same way as other content."""
    (session.home / "login.json").write_text('{"access_token": "%s", "refresh_token": "%s"}' % (OTHER, OTHER[::-1]))
    made = rules("in body", "sync ~/login.json", "secret login ~/login.json to allowed.test")
    done = curl(session, '-d "grant_type=client_credentials&client_secret=$API_KEY" https://allowed.test/oauth/token', rules=made, env=caller(session))
    [(_, _, headers, body)] = requests(session)
    assert body == f"grant_type=client_credentials&client_secret={SECRET}" and headers["content-length"] == str(len(body)), (headers, body, done)
    assert "invalid_grant" in done.out, done  # the server's answer


@test
def many_requests_on_one_connection_each_get_it(session):
    one = '-d "key=$API_KEY" https://allowed.test/post'
    done, seen = ask(session, "in body", " --next -sS -m 20 ".join([one] * 10))
    assert done.status == 0 and [body for *_, body in seen] == [f"key={SECRET}"] * 10, (seen, done)


# --- values that expire ---

LOOP = """
import os, sys, threading, time, urllib.error, urllib.request as u
def get():
    try:
        with u.urlopen(u.Request("https://allowed.test/t", headers={"x-api-key": os.environ["API_KEY"]}), timeout=30) as answer: return answer.status
    except urllib.error.HTTPError as error: return error.code
"""


def issuing(session, script):
    """A rule whose command runs the script, with the number of its runs in $n."""
    path = session.home / "issue"
    path.write_text(f'echo "$(date +%s)" >>{session.home}/ran\nn=$(wc -l <{session.home}/ran)\n{script}\n')
    return [*TO, f"secret API_KEY from command 'sh {path}' to allowed.test"]


def runs(session):
    path = session.home / "ran"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@test
def a_command_runs_again_before_its_value_expires(session):
    """Four threads ask all the time: the command runs twice, the second time before the first value expires, and no request fails."""
    lasts = 12
    made = issuing(session, f'echo "{{\\"token\\": \\"issued-token-$n\\", \\"expires_in\\": {lasts}}}"')
    code = LOOP + f"""
end, bad = time.time() + {lasts} + 0.5, []
def work():
    while time.time() < end:
        status = get()
        if status != 200: bad.append(status)
        time.sleep(0.2)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(bad)
"""
    done = session.run(made, "/usr/bin/python3", "-c", code, env=caller(session), timeout=60)
    sent = [headers["x-api-key"] for _, _, headers, _ in requests(session)]
    times = runs(session)
    assert done.out == "[]\n" and len(times) == 2 and times[1] - times[0] < lasts, (times, done)
    late = sent[sent.index("issued-token-2"):].count("issued-token-1")  # each of the other threads may have had a request under way
    assert set(sent) == {"issued-token-1", "issued-token-2"} and late < 4, sent


@test
def a_value_whose_source_fails_is_used_until_it_expires_and_no_longer(session):
    lasts = round(6 * SLOWER)
    made = issuing(session, f'[ $n -gt 1 ] || echo "{{\\"access_token\\": \\"issued-token-$n\\", \\"expires_in\\": {lasts}}}"')
    code = LOOP + """
first, status = time.time(), get()   # between these two moments the value was made
begun = good = time.time()
while status == 200 and time.time() - begun < 5 * LASTS:
    time.sleep(0.2)
    at = time.time()
    status = get()
    if status == 200: good = at
print(status, int(good - first), int(good - begun))
""".replace("LASTS", str(lasts))
    done = session.run(made, "/usr/bin/python3", "-c", code, env=caller(session), timeout=60)
    status, most, least = map(int, done.out.split())
    told = [event["what"] for event in session.events("secret-trouble")]
    assert status == 502 and lasts * 3 // 4 - 1 <= most and least <= lasts + 1, (done, told)
    assert "could not be read again: the old value is used until it expires" in told, told
    assert told[-1] == "could not be read: its source gave nothing" and len(runs(session)) > 1, (told, runs(session))
    assert {headers["x-api-key"] for _, _, headers, _ in requests(session)} == {"issued-token-1"}


@test
def requests_at_once_run_the_command_once(session):
    made = issuing(session, 'sleep 1; echo "{\\"token\\": \\"issued-token-$n\\"}"')
    code = LOOP + """
answers = []
threads = [threading.Thread(target=lambda: answers.append(get())) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(answers)
"""
    done = session.run(made, "/usr/bin/python3", "-c", code, env=caller(session), timeout=60)
    assert done.out == f"{[200] * 8}\n" and len(runs(session)) == 1, (runs(session), done)
    assert [headers["x-api-key"] for _, _, headers, _ in requests(session)] == ["issued-token-1"] * 8


@test
@sanitized_too
def what_credential_helpers_print_is_read(session):
    words = '-w "%{http_code}" -H "x-api-key: $API_KEY" https://allowed.test/'
    for output in (r'{"kind":"ExecCredential","status":{"token":"issued-token","expirationTimestamp":"2099-01-01T00:00:00Z"}}',
                   r'{"accessToken":"issued-token","expiresOn":"2099-01-01 10:00:00.000000","expires_on":4070908800}',
                   "protocol=https\nusername=me\npassword=issued-token\npassword_expiry_utc=4070908800"):
        (session.home / "output").write_text(output)
        done = curl(session, words, rules=[*TO, f"secret API_KEY from command 'cat {session.home}/output' to allowed.test"], env=caller(session))
        [(_, _, headers, _)] = requests(session)
        assert done.out.endswith("200") and headers["x-api-key"] == "issued-token" and "issued-token" not in done.out, (output, headers, done)
    for output, what in (('{"token":"issued-token","expires_at":"2001-01-01T00:00:00Z"}', "could not be read: its source gave one that has expired"),
                         ('{"token":"issued-token","expires_at":"soon"}',
                          "could not be read: its source says when it expires, but not in a form that bawn knows"),
                         ('{"AccessKeyId":"issued-token"}', "could not be read: its source gave JSON without a token")):
        (session.home / "output").write_text(output)
        done = curl(session, words, rules=[*TO, f"secret API_KEY from command 'cat {session.home}/output' to allowed.test"], env=caller(session))
        assert done.out.endswith("502") and requests(session) == [] and session.events("secret-trouble")[-1]["what"] == what, (output, done)
