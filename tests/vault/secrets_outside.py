"""Programs as they are, with a secret that stays outside."""
import base64
import contextlib
import os
import pathlib
import re
import shutil
import signal

import lab as labs
from session import Skip, sanitized_too

TESTS = []
SECRET = "sk-ant-api03-R3al-S3cret_0123456789abcdefghij"
OTHER = "ghp_TheOtherRealSecret0123456789abcdef"
RULES = ["connect allowed.test", "secret API_KEY to allowed.test"]


def test(function):
    TESTS.append(function)
    return function


def caller(session, **more) -> dict:
    """The caller's environment: the machine trusts the world's authority, and the key is set."""
    return {"SSL_CERT_FILE": str(session.work / "cert.pem"), "API_KEY": SECRET, **more}


def requests(session) -> list:
    """What the world's server was asked: method, path, headers, content."""
    return [tuple(event[1:]) for event in session.lab.take() if event[0] == "request"]


def curl(session, *words, rules=RULES, env=None):
    line = "exec curl -sS -m 20 " + " ".join(words)
    return session.run(rules, "sh", "-c", line, env=env or caller(session))


@test
@sanitized_too
def the_server_gets_the_secret_and_the_sandbox_a_placeholder(session):
    done = session.run(RULES, "sh", "-c", 'printf "%s\\n" "$API_KEY"; curl -sS -m 20 -H "x-api-key: $API_KEY" https://allowed.test/',
                       env=caller(session))
    placeholder, _, echo = done.out.partition("\n")
    assert done.status == 0 and placeholder != SECRET and len(placeholder) == len(SECRET), done
    assert placeholder.startswith("sk-ant-api03-") and placeholder.isascii() and placeholder.replace("-", "").isalnum(), done
    [(method, path, headers, _)] = requests(session)
    assert (method, path, headers["x-api-key"], headers["host"]) == ("GET", "/", SECRET, "allowed.test"), headers
    assert SECRET not in echo and placeholder in echo, done  # the server sends it back, and it is cleaned
    control = session.run([*RULES, "secrets inside", "env API_KEY"], "sh", "-c", 'printf "%s\\n" "$API_KEY"', env=caller(session))
    assert control.out == SECRET + "\n", control


@test
def each_session_has_another_placeholder(session):
    show = lambda: session.run(RULES, "sh", "-c", "echo $API_KEY", env=caller(session)).out
    first, second = show(), show()
    assert first != second and len(first) == len(second) == len(SECRET) + 1, (first, second)


@test
@sanitized_too
def bearer_token_and_basic_carry_it(session):
    done = curl(session, '-H "Authorization: Bearer $API_KEY" https://allowed.test/1', "--next -sS",
                '-H "Authorization: token $API_KEY" https://allowed.test/2', '--next -sS -u "me:$API_KEY" https://allowed.test/3')
    assert done.status == 0 and SECRET not in done.out, done
    sent = {path: headers["authorization"] for _, path, headers, _ in requests(session)}
    basic = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert sent == {"/1": f"Bearer {SECRET}", "/2": f"token {SECRET}", "/3": f"Basic {basic}"}, sent
    assert basic not in done.out, done


@test
def it_is_swapped_nowhere_else(session):
    done = curl(session, '-H "X-Note: see $API_KEY there" -d "key=$API_KEY" "https://allowed.test/post?key=$API_KEY"')
    [(_, path, headers, body)] = requests(session)
    assert done.status == 0 and SECRET not in path + headers["x-note"] + body, (path, headers, body)


@test
@sanitized_too
def answers_are_cleaned_however_they_come(session):
    for path in ("/chunks", "/in-head", "/until-close", "/"):
        done = curl(session, "-i", f'-H "Authorization: Bearer $API_KEY" https://allowed.test{path}')
        assert done.status == 0 and SECRET not in done.out and "Bearer sk-ant-api03-" in done.out, (path, done)
        assert requests(session)[0][2]["authorization"] == f"Bearer {SECRET}"


@test
def nothing_inside_has_the_secret(session):
    """Variables, arguments and memory of all processes, and all files that can be read, but those of the system."""
    search = """
import os, sys
wanted = bytes.fromhex(sys.argv[1])[::-1]   # not spelled out, or it would be found here
found = set()
def look(path):
    try:
        if wanted in open(path, "rb").read(64 << 20): found.add(path)
    except OSError: pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"): look(f"/proc/{pid}/{name}")
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in open(f"/proc/{pid}/maps"):
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if "r" not in line.split()[1] or end - start > 64 << 20: continue
                try:
                    memory.seek(start); data = memory.read(end - start)
                except (OSError, ValueError, OverflowError): continue
                if data.count(wanted) > (1 if pid == str(os.getpid()) and b"" else 0) and pid != str(os.getpid()): found.add(f"/proc/{pid}/mem")
    except OSError: pass
for top in (os.environ["HOME"], os.getcwd(), os.environ.get("TMPDIR", "/tmp"), "/tmp", "/run", "/var/tmp", "/dev/shm"):
    for folder, _, names in os.walk(top):
        for name in names: look(os.path.join(folder, name))
print(sorted(found))
"""
    backwards = SECRET.encode()[::-1].hex()
    run = lambda rules: session.run(rules, "sh", "-c", f"curl -sS -m 20 -H \"x-api-key: $API_KEY\" https://allowed.test/ >echo; "
                                    f"python3 -c '{search}' {backwards}; true", env=caller(session), timeout=60)
    done = run(RULES)
    assert done.status == 0 and done.out == "[]\n", done
    assert requests(session)[0][2]["x-api-key"] == SECRET
    control = run([*RULES, "secrets inside", "env API_KEY"])
    assert "/environ" in control.out and "/mem" in control.out and "/echo" in control.out, control


@test
def nothing_outside_records_it(session):
    done = curl(session, '-H "x-api-key: $API_KEY" https://allowed.test/')
    assert done.status == 0, done
    state = session.home / ".local/state/bawn"
    files = [path for path in state.rglob("*") if path.is_file()]
    assert files and not [path for path in files if SECRET.encode() in path.read_bytes()], files
    [event] = session.events("secret")
    assert (event["name"], event["what"]) == ("API_KEY", "is being read"), event


@test
def node_and_python(session):
    fetch = "fetch('https://allowed.test/n',{headers:{'x-api-key':process.env.API_KEY}}).then(r=>r.text()).then(t=>console.log('ok',t.length))"
    if shutil.which("node", path="/usr/local/bin:/usr/bin:/bin"):
        done = session.run(RULES, "node", "-e", fetch, env=caller(session))
        assert done.out.startswith("ok "), done
        assert requests(session)[0][2]["x-api-key"] == SECRET
    code = "import os,urllib.request as u; print(u.urlopen(u.Request('https://allowed.test/p',headers={'x-api-key':os.environ['API_KEY']})).status)"
    done = session.run(RULES, "/usr/bin/python3", "-c", code, env=caller(session))
    assert done.out == "200\n", done
    assert requests(session)[0][2]["x-api-key"] == SECRET


@test
def git_with_a_token_outside(session):
    if not shutil.which("git"):
        raise Skip("needs git")
    done = session.run(["connect allowed.test", "secret TOKEN to allowed.test"], "sh", "-c",
                       'git -c http.extraHeader="Authorization: Bearer $TOKEN" ls-remote https://allowed.test/none.git', env=caller(session, TOKEN=OTHER))
    seen = requests(session)
    assert seen and seen[0][2]["authorization"] == f"Bearer {OTHER}", (seen, done)


@test
@sanitized_too
def large_content_passes_whole_both_ways(session):
    (session.work / "large").write_bytes(os.urandom(3 << 20))
    for way in ("", "-H 'Transfer-Encoding: chunked'"):
        done = curl(session, f'-H "x-api-key: $API_KEY" {way} --data-binary @large -o back https://allowed.test/post')
        assert done.status == 0 and (session.work / "back").read_bytes() == (session.work / "large").read_bytes(), done
        [(_, _, headers, size)] = requests(session)
        assert headers["x-api-key"] == SECRET and size == 3 << 20, (headers, size)
    done = curl(session, "-o bytes https://allowed.test/bytes/20000000", "--next -sS -o direct -k https://allowed.test/bytes/5000000")
    assert done.status == 0 and (session.work / "bytes").stat().st_size == 20000000, done


@test
@sanitized_too
def one_connection_carries_many_requests(session):
    many = " ".join(["https://allowed.test/k"] * 20)
    done = curl(session, f'-H "x-api-key: $API_KEY" -w "\\nconnects %{{num_connects}}\\n" {many}')
    connects = [line for line in done.out.splitlines() if line.startswith("connects")]
    assert done.status == 0 and connects == ["connects 1"] + ["connects 0"] * 19, done
    assert [headers["x-api-key"] for _, _, headers, _ in requests(session)] == [SECRET] * 20


@test
def head_tells_the_length(session):
    done = curl(session, '-I -H "x-api-key: $API_KEY" https://allowed.test/bytes/12345')
    assert done.status == 0 and "Content-Length: 12345" in done.out, done


@test
def events_are_not_delayed(session):
    """The server sends the second event only after the client has seen the first."""
    code = """
import os, urllib.request as u
with u.urlopen("https://allowed.test/events", timeout=60) as stream:
    first = stream.readline()
    u.urlopen("https://allowed.test/release", timeout=60).read()
    print(first, stream.read())
"""
    done = session.run(RULES, "/usr/bin/python3", "-c", code, env=caller(session))
    assert done.out == "b'data: first\\n' b'\\ndata: second\\n\\n'\n", done


@test
@sanitized_too
def a_websocket_carries_the_secret_in_its_request_alone(session):
    code = """
import os, socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("allowed.test", 443)), server_hostname="allowed.test")
key = os.environ["API_KEY"]
s.sendall(f"GET /ws HTTP/1.1\\r\\nHost: allowed.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nAuthorization: Bearer {key}\\r\\n\\r\\n".encode())
head = b""
while b"\\r\\n\\r\\n" not in head: head += s.recv(1)
raw = f"GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\nAuthorization: Bearer {key}\\r\\n\\r\\n".encode()
s.sendall(raw)
back = b""
while len(back) < len(raw): back += s.recv(4096)
print(head.split(b"\\r\\n")[0], back == raw)
"""
    done = session.run(RULES, "/usr/bin/python3", "-c", code, env=caller(session))
    assert done.out == "b'HTTP/1.1 101 Switching Protocols' True\n", done
    seen = session.lab.take()
    [headers] = [event[3] for event in seen if event[0] == "request"]
    [raw] = [event[1] for event in seen if event[0] == "upgraded"]
    assert headers["authorization"] == f"Bearer {SECRET}" and SECRET not in raw, seen


@test
def a_file_and_a_place_in_it(session):
    (session.home / "keys.json").write_text('{"a": {"token": "%s"}, "b": 1}' % SECRET)
    (session.home / "rc").write_text(f"# comment\n//registry.corp/:_authToken={OTHER}\n")
    env = {"SSL_CERT_FILE": str(session.work / "cert.pem")}
    rules = ["connect allowed.test", "secret ONE from file ~/keys.json a.token to allowed.test",
             "secret TWO from file ~/rc //registry.corp/:_authToken to allowed.test"]
    done = curl(session, '-H "api-key: $ONE" -H "Authorization: Bearer $TWO" https://allowed.test/', rules=rules, env=env)
    [(_, _, headers, _)] = requests(session)
    assert (headers["api-key"], headers["authorization"]) == (SECRET, f"Bearer {OTHER}"), (headers, done)
    assert SECRET not in done.out and OTHER not in done.out, done
    inside = session.run(rules, "sh", "-c", "cat ~/keys.json ~/rc", env=env)
    assert SECRET not in inside.out and OTHER not in inside.out, inside


@test
def a_command_runs_when_its_secret_is_first_needed_and_once(session):
    ran = session.home / "ran"
    rules = ["connect allowed.test", f"secret KEY from command 'echo once >>{ran}; echo {SECRET}' to allowed.test"]
    env = {"SSL_CERT_FILE": str(session.work / "cert.pem")}
    done = curl(session, "https://allowed.test/", rules=rules, env=env)
    assert done.status == 0 and not ran.exists(), done
    done = curl(session, *["-H \"x-api-key: $KEY\" https://allowed.test/ --next -sS"] * 3, "https://allowed.test/", rules=rules, env=env)
    assert ran.read_text() == "once\n" and SECRET not in done.out, done
    assert [headers.get("x-api-key") for _, _, headers, _ in requests(session)] == [None, SECRET, SECRET, SECRET, None]


@test
def a_source_without_a_value_is_a_502_that_says_so(session):
    rules = ["connect allowed.test", "secret KEY from command false to allowed.test"]
    done = curl(session, '-w "%{http_code}" -H "x-api-key: $KEY" https://allowed.test/', rules=rules, env={"SSL_CERT_FILE": str(session.work / "cert.pem")})
    assert done.out == "bawn: the secret for this host could not be read; `bawn log` says why.\n502", done
    assert requests(session) == [] and session.events("secret-trouble")[-1]["what"] == "could not be read: its source gave nothing"


@test
def the_users_own_certificates_stay_trusted(session):
    """Of another host, at which TLS does not end here."""
    done = session.run([*RULES, "connect other.test"], "sh", "-c", "curl -sS -m 20 https://other.test/", env=caller(session))
    assert done.status == 0, done
    code = "import ssl,os; print(len(ssl.create_default_context().get_ca_certs()) > 1)"
    done = session.run(RULES, "/usr/bin/python3", "-c", code, env=caller(session))
    assert done.out == "True\n", done


@test
def a_run_without_secrets_starts_no_vault(session):
    done = session.run(["connect allowed.test", "secret API_KEY to allowed.test"], "sh", "-c", 'ls /run/bawn "$TMPDIR/bawn"; env | grep -c API_KEY',
                       env={"SSL_CERT_FILE": str(session.work / "cert.pem")})
    assert "certificate" not in done.out and done.out.endswith("0\n"), done


def parts_of_vault() -> dict:
    """name → process numbers"""
    found = {"front": [], "back": []}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            name = path.read_bytes().split(b"\0")[0].decode(errors="replace")
            if name.startswith("bawn-vault-"):
                found[name.removeprefix("bawn-vault-")].append(int(path.parent.name))
    return found


RESET = r"000\n(35|52|55|56)\n"  # curl: the connection was reset
ONE_REQUEST = "curl -sS -m 20 -o /dev/null -w '%{http_code}\\n' -H \"x-api-key: $API_KEY\" https://allowed.test/; echo $?"
TWICE = f"echo up; read line; {ONE_REQUEST}; read line; {ONE_REQUEST}"


def say(process, line="go\n"):
    process.stdin.write(line)
    process.stdin.flush()


@test
def the_back_starts_with_the_first_connection(session):
    """The control of the next three: there is a front and no back, and then there are both."""
    process = session.start([*RULES, "connect other.test"], "sh", "-c", "curl -sS -m 20 -o /dev/null https://other.test/; " + TWICE, env=caller(session))
    assert process.stdout.readline() == "up\n"
    parts = parts_of_vault()
    assert [len(parts["front"]), len(parts["back"])] == [1, 0], parts
    say(process)
    assert process.stdout.readline() + process.stdout.readline() == "200\n0\n"
    parts = parts_of_vault()
    assert [len(parts["front"]), len(parts["back"])] == [1, 1], parts
    out, _ = process.communicate("go\n", timeout=90)
    assert out == "200\n0\n", out
    assert [headers.get("x-api-key") for _, _, headers, _ in requests(session)] == [None, SECRET, SECRET]
    assert not session.events("vault-died") and not session.events("network-trouble"), session.journal()


@test
def a_killed_vault_fails_closed(session):
    process = session.start(RULES, "sh", "-c", TWICE, env=caller(session))
    assert process.stdout.readline() == "up\n"
    say(process)
    assert process.stdout.readline() + process.stdout.readline() == "200\n0\n"
    os.kill(parts_of_vault()["back"][0], signal.SIGKILL)
    out, _ = process.communicate("go\n", timeout=90)
    assert re.fullmatch(RESET, out), out
    assert len(requests(session)) == 1 and len(session.events("vault-died")) == 1, session.journal()


@test
def a_front_that_is_killed_before_its_first_connection_fails_closed(session):
    process = session.start(RULES, "sh", "-c", TWICE, env=caller(session))
    assert process.stdout.readline() == "up\n"
    os.kill(parts_of_vault()["front"][0], signal.SIGKILL)
    out, _ = process.communicate("go\ngo\n", timeout=90)
    assert re.fullmatch(RESET * 2, out), out
    assert requests(session) == [] and [event["status"] for event in session.events("vault-died")] == ["137"], session.journal()
    assert parts_of_vault() == {"front": [], "back": []}


@test
def a_back_that_cannot_start_is_reported_and_fails_closed(session):
    """The program is the real one, but for the back, which is told by the number of its descriptors."""
    programs = session.home / "programs"
    programs.mkdir()
    for name in ("bawn", "bawn-egress", "bawn-vault"):
        shutil.copy2(pathlib.Path(os.environ["BAWN"]).parent / name, programs / name)
    (programs / "bawn-vault").rename(programs / "real")
    (programs / "bawn-vault").write_text('#!/bin/bash\n[ $# = 4 ] && exec -a bawn-vault-front "${0%/*}/real" "$@"\nexit 3\n')
    (programs / "bawn-vault").chmod(0o755)
    usual = session.command
    session.command = lambda rules, command: [str(programs / "bawn"), *usual(rules, command)[1:]]
    done = session.run(RULES, "sh", "-c", f"{ONE_REQUEST}; {ONE_REQUEST}", env=caller(session))
    # The front answers the first request with a 502 if it hears of the back's end before its own.
    assert re.fullmatch(rf"(502\n0\n|{RESET}){RESET}", done.out), done
    assert [event["why"] for event in session.events("network-trouble")] == ["bawn-vault cannot start: it ended when it was started"], session.journal()
    assert requests(session) == [] and len(session.events("vault-died")) == 1, session.journal()
    said = session.on_terminal(RULES, "sh", "-c", ONE_REQUEST, env=caller(session))
    assert "bawn-vault cannot start" in said, said


@test
def a_limit_that_forbids_the_back_its_locked_memory_refuses_the_run(session):
    """Root may lock memory all the same."""
    for size, is_enough in ((65536, True), (32768, os.environ["BAWN_EGRESS_PART"] == "root")):
        process = session.start(RULES, "sh", "-c", ONE_REQUEST, env=caller(session), prefix=["prlimit", f"--memlock={size}:{size}"])
        out, errors = process.communicate(timeout=90)
        assert (process.returncode, out) == ((0, "200\n0\n") if is_enough else (125, "")), (out, errors)
        assert is_enough or "cannot lock memory for secrets: bawn-vault needs 64 KiB" in errors, errors
