"""A login whose tokens stay outside: inside is its file, with stand-ins; the host's file gets new tokens."""
import base64
import json
import os
import signal
import subprocess
import time

from secrets_outside import caller
from scratch import PATIENCE, until
from session import sanitized_too

TESTS = []
FILE = ".tool/login.json"
REFRESHED = "refresh " + " ".join(f"allowed.test/{kind}/token" for kind in ("oauth", "odd", "twice", "split", "large", "busy", "echo", "late", "gzip"))
RULES = ["connect allowed.test", f"sync ~/{FILE}", f"secret login ~/{FILE} to allowed.test {REFRESHED}"]
ACCESS = "sk-ant-oat01-start-R3al_Access-0123456789abcdefghij"
REFRESH = "sk-ant-ort01-start-R3al_Refresh-0123456789abcdefghi-"
LATER = 4102444800000  # in the year 2100

# What an agent does. With `host` as its first word, a program of the host's that knows nothing of bawn.
AGENT = '''
import json, os, pathlib, ssl, sys, time, urllib.error, urllib.parse, urllib.request
FILE = pathlib.Path(os.environ["HOME"], ".tool/login.json")
TLS = ssl.create_default_context()
def login():
    for _ in range(500):
        try: return json.loads(FILE.read_text())
        except ValueError: time.sleep(0.01)   # it is being written
def call(path, data=None, **headers):
    ask = urllib.request.Request("https://allowed.test" + path, data, {k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(ask, timeout=60, context=TLS) as answer: return answer.status, answer.read()
    except urllib.error.HTTPError as error: return error.code, error.read()
def save(whole, answer):
    whole["oauth"].update(accessToken=answer["access_token"], refreshToken=answer["refresh_token"],
                          expiresAt=int(time.time() + answer["expires_in"]) * 1000)
    aside = FILE.with_name(f"login.{os.getpid()}")
    aside.write_text(json.dumps(whole))
    aside.rename(FILE)
def refresh(path="/oauth/token", form=False, saves=True):
    whole = login()
    grant = {"grant_type": "refresh_token", "refresh_token": whole["oauth"]["refreshToken"], "client_id": "tool"}
    data = urllib.parse.urlencode(grant) if form else json.dumps(grant)
    status, text = call(path, data.encode(), Content_Type="application/x-www-form-urlencoded" if form else "application/json")
    if status == 200 and saves: save(whole, json.loads(text))
    return status, text.decode()
def me(): return call("/me", Authorization="Bearer " + login()["oauth"]["accessToken"])[0]
'''


def test(function):
    TESTS.append(function)
    return function


def first(session, more="") -> str:
    """The first refresh token of a login. The server takes each once, so every test has its own."""
    return REFRESH + session.home.name + more


def put(session, access=ACCESS, refresh="", **more):
    whole = {"theme": "dark", "oauth": {"accessToken": access, "refreshToken": first(session, refresh), "expiresAt": LATER, "scopes": ["a", "b"], **more}}
    path = session.home / FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(whole, indent=2))
    path.chmod(0o600)


def on_host(session) -> dict:
    return json.loads((session.home / FILE).read_text())


def agent(session, code, rules=RULES, timeout=60, **more):
    done = session.run(rules, "/usr/bin/python3", "-c", AGENT + code, env=caller(session, **more), timeout=timeout)
    assert done.status == 0, done
    return done.out


def seen(session, kind) -> list:
    return [tuple(event[1:]) for event in session.lab.take() if event[0] == kind]


def wait_for(what):
    return until(what, "what happens by itself", PATIENCE + 10)


@test
@sanitized_too
def the_file_inside_has_stand_ins_and_the_server_gets_the_token(session):
    put(session)
    out = agent(session, "print(json.dumps(login())); print(me())")
    whole, status = out.splitlines()
    inside = json.loads(whole)
    access, refresh = inside["oauth"].pop("accessToken"), inside["oauth"].pop("refreshToken")
    assert inside == {"theme": "dark", "oauth": {"expiresAt": LATER, "scopes": ["a", "b"]}}, inside
    for token, real, prefix in ((access, ACCESS, "sk-ant-oat01-"), (refresh, first(session), "sk-ant-ort01-")):
        assert token != real and len(token) == len(real) and token.startswith(prefix), (token, real)
    assert status == "200" and seen(session, "me") == [(ACCESS,)]
    assert on_host(session)["oauth"]["accessToken"] == ACCESS
    control = agent(session, "print(json.dumps(login()))", [*RULES, "secrets inside"])
    assert json.loads(control)["oauth"]["refreshToken"] == first(session), control


@test
@sanitized_too
def a_refresh_gives_the_host_the_new_tokens_and_the_sandbox_none(session):
    for form in (False, True):
        put(session, refresh=f"-{form}+/=")
        session.lab.take()
        began = int(time.time())
        out = agent(session, f"print(me()); print(refresh(form={form})[1]); print(me())")
        written = time.time()
        before, answer, after = out.splitlines()
        events = session.lab.take()
        [grant] = [event[2] for event in events if event[0] == "grant"]
        [issued] = [event[1] for event in events if event[0] == "issued"]
        used = [event[1] for event in events if event[0] == "me"]
        assert grant == {"grant_type": "refresh_token", "refresh_token": first(session, f"-{form}+/="), "client_id": "tool"}, grant
        assert (before, after) == ("200", "200") and used == [ACCESS, issued["access_token"]], (out, used)
        assert issued["access_token"] not in out and issued["refresh_token"] not in out, out
        assert json.loads(answer)["access_token"].startswith("sk-ant-oat01-") and json.loads(answer)["expires_in"] == 3600, answer
        host = on_host(session)
        assert (host["oauth"]["accessToken"], host["oauth"]["refreshToken"]) == (issued["access_token"], issued["refresh_token"]), host
        assert host["theme"] == "dark" and host["oauth"]["scopes"] == ["a", "b"], host
        assert began + 3600 <= host["oauth"]["expiresAt"] / 1000 <= written + 3601, host
        assert (session.home / FILE).stat().st_mode & 0o777 == 0o600
        [before] = (session.home / ".local/share/bawn/locks").glob("*.login.json.before")
        assert json.loads(before.read_text())["oauth"]["refreshToken"] == first(session, f"-{form}+/=") and before.stat().st_mode & 0o777 == 0o600
    assert not [path for path in (session.home / ".local/state/bawn").rglob("*") if path.is_file() and b"refresh/+token" in path.read_bytes()]


@test
def a_refresh_token_goes_into_no_other_request(session):
    put(session)
    session.lab.take()
    agent(session, """
token = login()["oauth"]["refreshToken"]
grant = lambda **more: json.dumps({"grant_type": "refresh_token", "refresh_token": token, **more}).encode()
JSON = {"Content_Type": "application/json"}
call("/post", grant(), **JSON)                                            # not where tokens are issued
call("/oauth/token", grant(grant_type="password"), **JSON)                # not a refresh
call("/oauth/token", json.dumps({"grant_type": "refresh_token", "in": {"refresh_token": token}, "refresh_token": "none"}).encode(), **JSON)
call("/oauth/token", grant()[:-1] + b', "refresh_token": "none"}', **JSON)   # two tokens
call("/oauth/token?" + token, b"{}", **JSON)
call("/me", X_Note=token)
for path in ("/evil/token", "/oauth/token/", "/oauth//token", "/OAuth/token", "/oauth/./token", "/oauth/token?", "/oauth/token?x=/oauth/token", "/x/oauth/token", "/token"):
    call(path, grant(), **JSON)
import http.client
for path in ("/post#/token", "/post#/oauth/token", "/oauth/token#"):
    there = http.client.HTTPSConnection("allowed.test", context=TLS)
    there.request("POST", path, grant(), {"Content-Type": "application/json"})
    assert there.getresponse().status == 400, path
""")
    events = session.lab.take()
    assert REFRESH not in repr(events) and ("issued" not in [event[0] for event in events]), events
    assert [event[1] for event in events if event[0] == "grant"][-9:-1].count("/evil/token") == 1, events  # the control: the requests came there
    assert on_host(session)["oauth"]["refreshToken"] == first(session)


@test
def only_a_members_own_place_and_name_in_an_answer_count(session):
    for path in ("/nested/token", "/named/token"):
        put(session, refresh=path)
        rules = [*RULES[:-1], RULES[-1] + f" allowed.test{path}"]
        out = agent(session, f"me(); print(refresh({path!r}))", rules=rules)
        [(issued,)] = seen(session, "issued")
        assert out.startswith("(502,") and issued["access_token"] not in out, (path, out)
        assert on_host(session)["oauth"]["refreshToken"] == first(session, path)


@test
@sanitized_too
def an_answer_in_doubt_is_not_passed_on_and_the_file_stays(session):
    for path in ("/odd/token", "/twice/token", "/split/token", "/large/token"):
        put(session, refresh=path)
        out = agent(session, f"me(); print(refresh({path!r}))")
        [(issued,)] = seen(session, "issued")
        assert out.startswith("(502,") and issued["access_token"] not in out, (path, out)
        assert on_host(session)["oauth"]["refreshToken"] == first(session, path)


@test
def tokens_elsewhere_in_the_answer_are_cleaned_and_other_answers_pass(session):
    put(session)
    out = agent(session, "me(); print(refresh('/busy/token')); print(refresh('/echo/token')[1])")
    [(issued,)] = seen(session, "issued")
    busy, echo = out.splitlines()
    assert busy == """(503, '{"error": "busy"}')""", out
    assert issued["access_token"] not in echo and issued["refresh_token"] not in echo and "you have got sk-ant-oat01-" in echo, echo
    assert on_host(session)["oauth"]["refreshToken"] == issued["refresh_token"]


def jwt(**claims) -> str:
    part = lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")
    return ".".join(part(json.dumps(data).encode()) for data in ({"alg": "RS256"}, claims)) + "." + part(os.urandom(256))


@test
def a_jwt_keeps_its_claims_and_not_its_signature(session):
    access, identity = jwt(exp=4102444800, account="me"), jwt(email="me@example.com")
    put(session, access=access, id_token=identity)
    out = agent(session, "print(json.dumps(login())); me()")
    for name, real in (("accessToken", access), ("id_token", identity)):
        inside = json.loads(out)["oauth"][name]
        assert inside.rpartition(".")[0] == real.rpartition(".")[0] and len(inside) == len(real), inside
        assert inside.rpartition(".")[2] != real.rpartition(".")[2] and real.rpartition(".")[2] not in out
    assert seen(session, "me") == [(access,)]


@test
def a_login_of_the_hosts_that_changes_is_used_at_once(session):
    put(session)
    process = session.start(RULES, "/usr/bin/python3", "-uc", AGENT + "print(me()); input(); print(me())", env=caller(session))
    assert process.stdout.readline() == "200\n"
    put(session, access=ACCESS + "-2", refresh="-2", expiresAt=LATER + 1000)
    home = lambda: [path.read_text() for path in (session.home / ".local/share/bawn").rglob("login.json")]
    wait_for(lambda: any(str(LATER + 1000) in text for text in home()))  # it is inside, with stand-ins
    assert ACCESS not in repr(home())
    process.communicate("\n", timeout=90)
    assert seen(session, "me") == [(ACCESS,), (ACCESS + "-2",)]


@test
def a_refresh_that_the_host_was_faster_with_is_answered_here(session):
    put(session)
    process = session.start(RULES, "/usr/bin/python3", "-uc", AGENT + "old = login(); me(); print(1); input(); FILE.write_text(json.dumps(old)); "
                            "print(json.dumps([refresh(), me()]))", env=caller(session))
    assert process.stdout.readline() == "1\n"
    session.lab.take()
    put(session, access=ACCESS + "-2", refresh="-2")
    out, err = process.communicate("\n", timeout=60)
    [status, text], me = json.loads(out)
    answer = json.loads(text)
    assert (status, me) == (200, 200) and answer["scope"] == "a b" and answer["expires_in"] > 1e6, (out, err)
    events = session.lab.take()
    assert [event for event in events if event[0] == "grant"] == [], events
    assert [event[1] for event in events if event[0] == "me"] == [ACCESS + "-2"], events


@test
@sanitized_too
def a_login_made_inside_goes_to_the_host_and_comes_back_with_stand_ins(session):
    put(session)
    new = {"oauth": {"accessToken": ACCESS + "-new", "refreshToken": REFRESH + "-new", "expiresAt": LATER}}
    out = agent(session, f"FILE.write_text(json.dumps({new!r}))\nfor _ in range(1500):\n    if '-new' not in FILE.read_text(): break\n    time.sleep(0.02)\n"
                "print(FILE.read_text()); print(me())")
    assert REFRESH not in out.splitlines()[0] and out.splitlines()[1] == "200", out
    assert on_host(session) == new and seen(session, "me") == [(ACCESS + "-new",)]


@test
def stand_ins_never_go_to_the_host(session):
    put(session)
    agent(session, "whole = login(); whole['mine'] = 1; FILE.write_text(json.dumps(whole))")
    assert "mine" not in on_host(session)
    os.utime(session.home / FILE, (1, 1))  # the file inside is the newer one
    out = agent(session, "print(FILE.read_text())", [*RULES, "secrets inside"])
    assert json.loads(out) == on_host(session) and on_host(session)["oauth"]["refreshToken"] == first(session), out
    out = agent(session, "print(FILE.read_text())")  # and back: nothing of the way inside is left
    assert REFRESH not in out and ACCESS not in out, out


COPIED = ["connect allowed.test", f"copy ~/{FILE}", f"secret login ~/{FILE} oauth to allowed.test {REFRESHED}"]


@test
@sanitized_too
def of_a_copied_file_new_tokens_alone_reach_the_host(session):
    put(session)
    before = on_host(session)
    out = agent(session, "print(me(), refresh()[0], me()); whole = login(); whole['run'] = '!touch owned'; FILE.write_text(json.dumps(whole))", COPIED)
    [(issued,)] = seen(session, "issued")
    assert out == "200 200 200\n", out
    before["oauth"].update(accessToken=issued["access_token"], refreshToken=issued["refresh_token"], expiresAt=on_host(session)["oauth"]["expiresAt"])
    assert on_host(session) == before
    mine = {"oauth": {"accessToken": ACCESS + "-mine", "refreshToken": REFRESH + "-mine", "expiresAt": LATER}}
    agent(session, f"FILE.write_text(json.dumps({mine!r}))", COPIED)
    assert on_host(session) == before
    agent(session, f"FILE.write_text(json.dumps({mine!r}))")  # the control
    assert on_host(session) == mine


@test
def a_login_made_in_a_copied_file_stays_inside_while_the_hosts_tokens_change(session):
    put(session)
    agent(session, "whole = login(); whole['mine'] = {'access': 'made-inside-0123'}; FILE.write_text(json.dumps(whole)); refresh()", COPIED)
    out = agent(session, "print(json.dumps(login()), me())", COPIED)
    assert '"mine": {"access": "made-inside-0123"}' in out and out.endswith(" 200\n"), out
    assert "mine" not in on_host(session)
    out = agent(session, "print(FILE.read_text())", [*COPIED, "secrets inside"])
    assert json.loads(out) == on_host(session), out  # the way back is a copy as it is
    out = agent(session, "print(FILE.read_text())", COPIED)
    assert on_host(session)["oauth"]["refreshToken"] not in out, out


@test
def entries_that_no_rule_names_come_in_as_they_are(session):
    path = session.home / FILE
    put(session)
    whole = {**on_host(session), "api": {"key": "a-key-of-anothers-0123"}, "named": {"key": "a-key-to-keep-0123"}, "ref": {"key": "$SOME_VARIABLE"}}
    path.write_text(json.dumps(whole))
    rules = [*COPIED, f"secret login ~/{FILE} named to other.test", f"secret login ~/{FILE} ref to other.test", f"secret login ~/{FILE} none to other.test"]
    inside = json.loads(agent(session, "print(FILE.read_text())", rules))
    assert inside["api"] == whole["api"] and inside["ref"] == whole["ref"] and inside["theme"] == "dark", inside
    assert inside["named"] != whole["named"] and inside["oauth"]["accessToken"] != ACCESS, inside
    session.lab.take()
    send = """print(urllib.request.urlopen(urllib.request.Request("https://%s/me", headers={"X-Api-Key": login()["named"]["key"]}), context=TLS).status)"""
    done = session.run(rules, "/usr/bin/python3", "-c", AGENT + send % "allowed.test", env=caller(session))  # another entry's host
    assert "HTTP Error 403" in done.err and "a-key-to-keep-0123" not in repr(session.lab.take()), done
    done = session.run([*rules, "connect other.test"], "/usr/bin/python3", "-c", AGENT + send.replace("/me", "/") % "other.test", env=caller(session))
    assert done.out == "200\n" and "a-key-to-keep-0123" in repr(session.lab.take()), done


def begin_late_refresh(session):
    """A refresh whose answer waits until it is released. Returns bawn and the tokens that the server has issued."""
    put(session)
    session.lab.take()
    process = session.start(RULES, "/usr/bin/python3", "-uc", AGENT + "print(login()['theme']); me(); refresh('/late/token')", env=caller(session))
    assert process.stdout.readline() == "dark\n"
    events = []
    wait_for(lambda: events.extend(session.lab.take()) or ["waits"] in events or ("waits",) in events)
    return process, [event[1] for event in events if event[0] == "issued"][0]


def release(session):
    session.outside("import ssl, urllib.request\nTLS = ssl.create_default_context(cafile='cert.pem')\n"
                    "urllib.request.urlopen('https://allowed.test/release', context=TLS).read()")


def host_has(session, issued) -> bool:
    try:
        return on_host(session)["oauth"]["refreshToken"] == issued["refresh_token"]
    except ValueError:
        return False


@test
def kill_9_of_bawn_in_the_middle_of_a_refresh_loses_nothing(session):
    process, issued = begin_late_refresh(session)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not host_has(session, issued)
    release(session)
    wait_for(lambda: host_has(session, issued))


@test
def the_end_of_the_agent_in_the_middle_of_a_refresh_loses_nothing(session):
    process, issued = begin_late_refresh(session)
    process.send_signal(signal.SIGTERM)
    assert not host_has(session, issued)
    release(session)
    wait_for(lambda: host_has(session, issued))
    process.wait(timeout=60)


@test
def many_refreshes_of_three_sessions_and_the_host_lose_no_login(session):
    """Each refresh token is used once. The host's program takes no lock, as agents do: who comes too late reads the file again."""
    put(session)
    rounds = int(os.environ.get("BAWN_REFRESHES", "40")) // 4
    session.lab.take()
    inside = AGENT + f"""
for number in range({rounds}):
    status, text = refresh()
    assert status == 200, (number, status, text)
    assert me() == 200, number
print("done")
"""
    outside = AGENT + f"""
good = 0
while good < {rounds}:
    status, text = refresh(saves=False)
    if status == 200:
        save(login(), json.loads(text))
        good += 1
    else: time.sleep(0.05)
print("done")
"""
    sessions = []
    for number in range(3):
        (session.work / str(number)).mkdir()
        process = subprocess.Popen(session.command(RULES, ["/usr/bin/python3", "-c", inside]), cwd=session.work / str(number), text=True,
                                   env=session.environment(caller(session)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        session.started.append(process)
        sessions.append(process)
    host = subprocess.Popen(["/usr/bin/python3", "-c", outside], env=session.environment(caller(session)), text=True, cwd=session.work,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    session.started.append(host)
    for process in (*sessions, host):
        out, err = process.communicate(timeout=400)
        assert out == "done\n", (out, err)
    control = session.run([*RULES, "secrets inside"], "/usr/bin/python3", "-c", AGENT + "print(refresh()[0])", env=caller(session))
    assert control.out == "200\n", control  # the last token of the file is good
