"""git over https, with the token outside: a real git inside, and git's own http-backend outside, which demands the token."""
import itertools
import os
import shutil
import subprocess

from forge_world import BACKEND, BASIC, TOKEN
from session import Skip, sanitized_too

TESTS = []
IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a.test", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a.test"}
NUMBERS = itertools.count()


def test(function):
    TESTS.append(function)
    return function


class Forge:
    """The repositories NAME/app and NAME/other on the server, with three commits on main and on agent/old."""

    def __init__(self, session):
        if not os.path.exists(BACKEND) or not shutil.which("git"):
            raise Skip("needs git and its http-backend")
        self.session = session
        self.name = f"forge/{os.getpid()}-{next(NUMBERS)}"
        self.folder = session.lab.folder / self.name
        self.token = session.home / "token"
        self.token.write_text(TOKEN + "\n")
        first = self.folder / "first"
        first.mkdir(parents=True)
        self.git("init", "-q", cwd=first)
        for number in range(3):
            (first / "file").write_text(f"{number}\n")
            self.git("add", "file", cwd=first)
            self.git("commit", "-qm", f"commit {number}", cwd=first)
        for repository in ("app", "other"):
            bare = self.folder / f"{repository}.git"
            bare.mkdir()
            self.git("init", "-q", "--bare", cwd=bare)
            self.git("config", "receive.advertisePushOptions", "true", cwd=bare)
            self.git("push", "-q", bare, "main", "main:refs/heads/agent/old", "main~1:refs/heads/agent/behind", cwd=first)
        session.lab.take()

    def git(self, *words, cwd, status=0, **more):
        done = subprocess.run(["git", "-c", "init.defaultBranch=main", *map(str, words)], cwd=cwd, check=False, capture_output=True, text=True, timeout=60,
                              env={**self.session.environment(), **IDENTITY, "GIT_TERMINAL_PROMPT": "0", "GIT_SSL_CAINFO": str(self.session.work / "cert.pem"), **more})
        if done.returncode != status:
            raise AssertionError(f"git {words}: {done.stderr}")
        return done.stdout.strip() + done.stderr.strip()

    @property
    def address(self):
        return f"https://allowed.test/{self.name}/app.git"

    @property
    def known(self):
        """The address with the token in it, for who has it: the control."""
        return self.address.replace("https://", f"https://x-access-token:{TOKEN}@")

    def rule(self, rights="fetch push refs/heads/agent/*", repository="app", source=None):
        source = source or f'command "cat {self.token}"'
        return f"forge allowed.test/{self.name}/{repository} {rights} token from {source}"

    def inside(self, script, *rules, status=0, env=None, **more):
        rules = rules or (self.rule(),)
        done = self.session.run([*rules, "env GIT_*"], "sh", "-c", script, timeout=120, **more,
                                env={**IDENTITY, "SSL_CERT_FILE": str(self.session.work / "cert.pem"), **(env or {})})
        assert done.status == status, done
        return done.out

    def clone(self, more=""):
        return f"rm -rf app; git clone -q {more} {self.address} app && cd app\n"

    def ref(self, name, repository="app"):
        done = subprocess.run(["git", "rev-parse", "-q", "--verify", name], cwd=self.folder / f"{repository}.git", capture_output=True, text=True, check=False,
                              env=self.session.environment())
        return done.stdout.strip()

    def seen(self):
        """The requests at the server: method, and what follows the repository's name."""
        return [(event[1], event[2].split("/app")[-1], event[3]) for event in self.session.lab.take() if event[0] == "git"]

    def pushes(self):
        """How many bytes the server got with each push."""
        return [event[4] for event in self.session.lab.take() if event[:2] == ("git", "POST") and event[2].endswith("/git-receive-pack")]

    def told(self):
        return [(event["what"], event.get("ref")) for event in self.session.events("forge")]


COMMIT = "echo more >>file && git commit -qam more\n"


@test
@sanitized_too
def git_clones_fetches_and_pushes_with_the_token_outside(session):
    forge = Forge(session)
    out = forge.inside(forge.clone() + COMMIT + "git push origin HEAD:refs/heads/agent/new 2>&1 && git fetch origin 2>&1 && git rev-parse HEAD")
    assert "new branch" in out and forge.ref("refs/heads/agent/new") == out.split()[-1], out
    seen = forge.seen()
    assert {sent for _, _, sent in seen} == {BASIC}, seen
    assert [(method, path) for method, path, _ in seen if "receive" in path] == [
        ("GET", ".git/info/refs?service=git-receive-pack"), ("POST", ".git/git-receive-pack")], seen
    assert forge.told() == [("fetch", None), ("push", None), ("pushed", "refs/heads/agent/new"), ("fetch", None)], forge.told()
    assert TOKEN not in str(session.journal()) and BASIC.split()[1] not in str(session.journal())


@test
def without_the_token_the_server_answers_401(session):
    forge = Forge(session)
    said = forge.git("ls-remote", forge.address, cwd=session.work, status=128)
    assert "could not read Username" in said and [sent for _, _, sent in forge.seen()] == [""], said
    assert "refs/heads/main" in forge.git("ls-remote", forge.known, cwd=session.work)


@test
def a_search_inside_finds_no_token(session):
    forge = Forge(session)
    pattern = f"{TOKEN[:4]}[{TOKEN[4]}]{TOKEN[5:]}|{BASIC[6:10]}[{BASIC[10]}]{BASIC[11:30]}"  # which does not match itself
    search = f"grep -rslaE '{pattern}' $HOME ${{TMPDIR:-/tmp}} /run /etc /dev/shm . /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; env | grep -E '{pattern}'; echo searched\n"
    out = forge.inside(forge.clone() + "GIT_TRACE_CURL=${TMPDIR:-/tmp}/trace git fetch -q && cd .. &&" + search)
    assert out == "searched\n", out
    out = forge.inside(f"printf %s {TOKEN} >${{TMPDIR:-/tmp}}/stolen;" + search)  # the control
    assert "/stolen\n" in out, out


@test
@sanitized_too
def a_branch_that_no_rule_names_is_refused_in_words_of_git(session):
    forge = Forge(session)
    before = forge.ref("refs/heads/main")
    out = forge.inside(forge.clone() + COMMIT + "git push origin HEAD:main 2>&1", status=1)
    assert "! [remote rejected] HEAD -> main (no rule allows a push to this ref)" in out, out
    assert "remote: bawn refused this push: nothing of it was sent." in out, out
    assert forge.ref("refs/heads/main") == before and not forge.pushes()
    assert forge.told()[-1] == ("refused", "refs/heads/main"), forge.told()
    forge.git("push", forge.known, "HEAD:main", cwd=session.work / "app")
    assert forge.ref("refs/heads/main") != before


@test
def of_a_mixed_push_nothing_is_sent(session):
    forge = Forge(session)
    for flag in ("", "--atomic"):
        out = forge.inside(forge.clone() + COMMIT + f"git push {flag} origin HEAD:agent/mixed HEAD:refs/tags/v1 2>&1", status=1)
        assert "HEAD -> agent/mixed (not sent: another ref was refused)" in out, out
        assert "HEAD -> v1 (no rule allows a push to this ref)" in out, out
        assert (forge.ref("refs/heads/agent/mixed"), forge.ref("refs/tags/v1")) == ("", "") and not forge.pushes()
    forge.inside("cd app && git push --atomic origin HEAD:agent/one HEAD:agent/two 2>&1")
    assert forge.ref("refs/heads/agent/one") == forge.ref("refs/heads/agent/two") != ""
    forge.git("push", "--atomic", forge.known, "HEAD:refs/heads/agent/mixed", "HEAD:refs/tags/v1", cwd=session.work / "app")
    assert forge.ref("refs/tags/v1")


@test
@sanitized_too
def the_pack_proves_a_fast_forward(session):
    forge = Forge(session)
    many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo $i >>file; git commit -qam \"number $i\"; done\n"
    merge = "git checkout -qb side HEAD~5 && echo side >side && git add side && git commit -qm side && git checkout -q - && git merge -q --no-edit side\n"
    out = forge.inside(forge.clone("-b agent/old") + many + "git push origin HEAD:agent/old 2>&1\n" + merge + "git push origin HEAD:agent/old 2>&1; git rev-parse HEAD")
    assert "rejected" not in out and forge.ref("refs/heads/agent/old") == out.split()[-1], out


@test
@sanitized_too
def other_updates_need_a_right_of_their_own(session):
    forge = Forge(session)
    old = forge.ref("refs/heads/agent/old")
    other = forge.clone("-b agent/old") + "git commit -q --amend -m other\n"
    out = forge.inside(other + "git push -f origin HEAD:agent/old 2>&1", status=1)
    assert "HEAD -> agent/old (not known to be a fast-forward, and others need push+force)" in out, out
    assert forge.ref("refs/heads/agent/old") == old and not forge.pushes()
    out = forge.inside("cd app && git push origin origin/main:agent/behind 2>&1", status=1)  # the server has it, so the pack does not
    assert "origin/main -> agent/behind (not known to be a fast-forward" in out, out
    out = forge.inside("cd app && git push origin :agent/old 2>&1", status=1)
    assert "agent/old (deleting a ref needs push+delete)" in out and forge.ref("refs/heads/agent/old") == old, out
    force, delete = (forge.rule(f"fetch push refs/heads/agent/* push+{right}") for right in ("force", "delete"))
    out = forge.inside("cd app && git push -f origin HEAD:agent/old 2>&1 && git rev-parse HEAD", force)
    assert forge.ref("refs/heads/agent/old") == out.split()[-1] != old, out
    forge.inside("cd app && git push origin :agent/old 2>&1", force, status=1)
    forge.inside("cd app && git push origin :agent/old 2>&1", delete)
    assert forge.ref("refs/heads/agent/old") == ""
    forge.inside(f"cd app && git push origin HEAD:agent/x -o skip 2>&1", status=1)
    forge.inside(f"cd app && git push origin HEAD:agent/x -o skip 2>&1", forge.rule("fetch push refs/heads/agent/* push+options"))
    assert forge.ref("refs/heads/agent/x")


@test
def rules_for_one_repository_add_up(session):
    forge = Forge(session)
    forge.inside(forge.clone() + COMMIT + "git push -q origin HEAD:agent/a HEAD:refs/tags/v1 2>&1", forge.rule("fetch push refs/heads/agent/*"), forge.rule("push refs/tags/*"))
    assert forge.ref("refs/tags/v1") == forge.ref("refs/heads/agent/a") != ""


@test
@sanitized_too
def large_pushes_and_fetches_pass_or_are_refused(session):
    forge = Forge(session)
    large = forge.clone() + "head -c 3000000 /dev/urandom >large && git add large && git commit -qm large\n"
    out = forge.inside(large + "git push origin HEAD:agent/large 2>&1")
    assert forge.ref("refs/heads/agent/large"), out
    [probe, push] = forge.pushes()
    assert probe == 4 and push > 3000000, (probe, push)
    out = forge.inside("cd app && git push origin HEAD:main 2>&1", status=1)
    assert "! [remote rejected] HEAD -> main (no rule allows a push to this ref)" in out, out
    assert "remote: bawn refused this push" in out and forge.pushes() == [], out
    out = forge.inside("cd app && head -c 3000000 /dev/urandom >large && git commit -qam again && git push origin HEAD:agent/large 2>&1 && git rev-parse HEAD")
    assert forge.ref("refs/heads/agent/large") == out.split()[-1], out
    out = forge.inside(forge.clone("-b agent/large") + "wc -c <large")
    assert out.strip() == "3000000", out


@test
def shallow_clones_and_all_versions_of_the_protocol_work(session):
    forge = Forge(session)
    for version in (0, 1, 2):
        out = forge.inside(forge.clone(f"-c protocol.version={version} --depth 1") + COMMIT + f"git push origin HEAD:agent/v{version} 2>&1 && git fetch -q --unshallow 2>&1 && git rev-list --count HEAD")
        assert forge.ref(f"refs/heads/agent/v{version}") and out.split()[-1] == "4", out


@test
def addresses_without_git_and_of_ssh_lead_there_too(session):
    forge = Forge(session)
    plain, ssh = forge.address.removesuffix(".git"), f"git@allowed.test:{forge.name}/app.git"
    for address in (plain, ssh, f"ssh://git@allowed.test/{forge.name}/app.git"):
        assert "refs/heads/main" in forge.inside(f"git ls-remote {address} 2>&1"), address
    assert {sent for _, _, sent in forge.seen()} == {BASIC}


@test
@sanitized_too
def whatever_else_is_refused_with_a_reason(session):
    forge = Forge(session)
    out = forge.inside(f"git ls-remote {forge.address.replace('/app', '/other')} 2>&1", status=128)
    assert "remote: bawn: this request" in out and "no `forge` rule names this repository" in out, out
    out = forge.inside(forge.clone() + COMMIT + "git push origin HEAD:agent/x 2>&1", forge.rule("fetch"), status=128)
    assert "no `forge` rule lets git do this with the repository" in out, out
    out = forge.inside(f"git ls-remote {forge.address} 2>&1", forge.rule("push refs/heads/agent/*"), status=128)
    assert "no `forge` rule lets git do this with the repository" in out, out
    forge.seen()
    repository = f"https://allowed.test/{forge.name}"
    for words, reason in ((f"-d {{}} {repository}/app.git/info/lfs/objects/batch", "Git LFS stores files outside of git"),
                          (f"{repository}/app.git/info/refs", "no `forge` rule lets git do this"),
                          (f"'{repository}/app.git/info/refs?service=git-upload-pack&x=1'", "no `forge` rule lets git do this"),
                          (f"-I '{repository}/app/info/refs?service=git-upload-pack'", "403 Forbidden"),
                          (f"{repository}/app.git/HEAD", "is allowed by no rule on requests"),
                          (f"-X DELETE {repository}/app.git/git-receive-pack", "no `forge` rule lets git do this"),
                          (f"{repository}/app", "is allowed by no rule on requests"),
                          ("https://allowed.test/", "is allowed by no rule on requests"),
                          (f"'{repository}/APP.git/info/refs?service=git-upload-pack'", "no `forge` rule names this repository"),
                          (f"--path-as-is '{repository}/x/../app.git/info/refs?service=git-upload-pack'", "a '.' or '..' in it"),
                          (f"-H 'Connection: Upgrade' -H 'Upgrade: websocket' '{repository}/app.git/info/refs?service=git-upload-pack'", "git changes no protocol"),
                          (f"-X GET -d x '{repository}/app.git/info/refs?service=git-upload-pack'", "git sends no content with it")):
        out = forge.inside(f"curl -sS -m 20 {words} 2>&1")
        assert reason in out, (words, out)
    assert forge.seen() == []
    forge.inside(f"curl -sS -m 20 '{repository}/app/info/refs?service=git-upload-pack' -o /dev/null 2>&1")  # the control
    assert [sent for *_, sent in forge.seen()] == [BASIC]


@test
def only_headers_of_git_go_with_the_token(session):
    forge = Forge(session)
    others = "-H 'X-HTTP-Method-Override: DELETE' -H 'X-Original-URL: /api' -H 'Cookie: a=b' -H 'Authorization: Bearer mine' -H 'Range: bytes=0-1' -H 'Git-Protocol: version=2'"
    forge.inside(f"curl -sS -m 20 {others} '{forge.address}/info/refs?service=git-upload-pack' -o /dev/null")
    [(*_, sent, _, names)] = [event for event in session.lab.take() if event[0] == "git"]
    assert sent == BASIC and names == ["accept", "accept-encoding", "authorization", "git-protocol", "host", "user-agent"], names


@test
def other_rules_open_the_rest_of_the_host_without_the_token(session):
    forge = Forge(session)
    out = forge.inside(f"curl -sS -m 20 https://allowed.test/api/x; curl -sS -m 20 https://allowed.test/forge/x 2>&1", forge.rule(), "connect allowed.test/api/** GET")
    assert '"host": "allowed.test"' in out and "authorization" not in out and "is allowed by no rule" in out, out
    forge.inside(f"curl -sS -m 20 '{forge.address}/info/refs?service=git-upload-pack' 2>&1", forge.rule(), f"refuse allowed.test/{forge.name}/**")
    assert forge.seen() == []  # a refusal with a path beats the rule


@test
def a_token_comes_from_a_file_or_a_variable(session):
    forge = Forge(session)
    for source, env in ((f"file {forge.token}", {}), ("env FORGE_TOKEN", {"FORGE_TOKEN": TOKEN})):
        out = forge.inside(f"git ls-remote {forge.address}; env", forge.rule(source=source), env=env)
        assert "refs/heads/main" in out and TOKEN not in out, out


@test
def a_token_that_the_server_refuses_is_told_of(session):
    forge = Forge(session)
    forge.token.write_text("gho_0utdated0123456789\n")
    out = forge.inside(f"GIT_TERMINAL_PROMPT=0 git ls-remote {forge.address} 2>&1", status=128)
    assert "error: 403" in out and "Username" not in out, out
    assert "was refused by the server" in str(session.events("secret-trouble")), session.events("secret-trouble")
    counter = f'command "cat {forge.token}; printf {TOKEN} >{forge.token}"'  # it is read again after that
    out = forge.inside(f"git ls-remote {forge.address} 2>&1; git ls-remote {forge.address} 2>&1", forge.rule(source=counter))
    assert "refs/heads/main" in out, out
    forge.token.unlink()
    out = forge.inside(f"git ls-remote {forge.address} 2>&1", status=128)
    assert "the secret for this host could not be read" in out or "502" in out, out


@test
@sanitized_too
def a_server_that_echoes_the_token_gives_nothing_away(session):
    Forge(session)
    rule = f'forge allowed.test/forge/echo fetch token from command "cat {session.home}/token"'
    done = session.run([rule], "curl", "-sS", "-m", "20", "https://allowed.test/forge/echo/info/refs?service=git-upload-pack",
                       env={"SSL_CERT_FILE": str(session.work / "cert.pem")})
    assert done.out.startswith("you sent Basic ") and TOKEN not in done.out and BASIC.split()[1] not in done.out, done


# --- a client of its own ---------------------------------------------------------------------------------------------

CLIENT = r'''
import hashlib, os, socket, ssl, sys
NAME, MAIN = sys.argv[1:3]
ZERO = "0" * 40
CAPS = "\0 report-status side-band-64k agent=raw/1"
def pkt(text): return b"%04x%s" % (len(text) + 4, text.encode())
def command(ref, new=MAIN, old=ZERO, caps=CAPS): return pkt(f"{old} {new} {ref}{caps}")
EMPTY = b"PACK" + bytes([0, 0, 0, 2, 0, 0, 0, 0])
EMPTY += hashlib.sha1(EMPTY).digest()
def head(size, more="", path="app.git/git-receive-pack"):
    length = "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    return (f"POST /{NAME}/{path} HTTP/1.1\r\nHost: allowed.test\r\nContent-Type: application/x-git-receive-pack-request\r\n"
            f"{length}\r\n{more}\r\n").encode()
def chunked(*pieces): return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
def ask(*pieces, wait=60):
    context = ssl.create_default_context()
    s = context.wrap_socket(socket.create_connection(("allowed.test", 443), 60), server_hostname="allowed.test")
    got = b""
    s.settimeout(wait)
    try:
        for piece in pieces: s.sendall(piece)
        while part := s.recv(65536): got += part
    except (TimeoutError, ssl.SSLError, ConnectionError): pass
    return got
def push(body, more="", size=None): return ask(head(len(body) if size is None else size, "Connection: close\r\n" + more), body)
GOOD = command("refs/heads/agent/hand") + b"0000" + EMPTY
'''


def by_hand(forge, code, *rules, status=0):
    (forge.session.work / "client.py").write_text(CLIENT + code)
    return forge.inside(f"python3 client.py {forge.name} {forge.ref('refs/heads/main')}", *rules, status=status)


@test
@sanitized_too
def a_push_by_hand_passes_if_it_is_well_formed(session):
    """The control of the next tests."""
    forge = Forge(session)
    out = by_hand(forge, 'print(push(GOOD)); print(ask(head(None, "Connection: close\\r\\n"), chunked(*(bytes([b]) for b in command("refs/heads/agent/tiny") + b"0000" + EMPTY))));'
                         'print(ask(head(len(GOOD) + 1, "Expect: 100-continue\\r\\nConnection: close\\r\\n"), command("refs/heads/agent/hands") + b"0000" + EMPTY))')
    assert out.count("unpack ok") == 3 and "100 Continue" in out, out
    assert all(forge.ref(f"refs/heads/agent/{name}") for name in ("hand", "tiny", "hands")), out


@test
@sanitized_too
def a_client_that_lies_reaches_nothing(session):
    forge = Forge(session)
    other = 'command("refs/heads/main", new="1" * 40, old=MAIN)'
    lies = {
        "a length that cuts the commands": ("push(GOOD, size=40)", "its commands are not whole"),
        "a length that cuts the pack off": ("push(GOOD, size=len(GOOD) - len(EMPTY))", "it has no pack"),
        "no content": ('push(b"")', "its commands are not whole"),
        "a pack before the flush": ('push(command("refs/heads/agent/x") + EMPTY)', "a pkt-line is not well formed"),
        "a second list in the place of the pack": (f'push(command("refs/heads/agent/x") + b"0000" + {other} + b"0000" + EMPTY)', "is not a pack"),
        "a second list after an empty one": (f'push(b"0000" + {other} + b"0000" + EMPTY)', "need no pack"),
        "a second list after a deletion": (f'push(command("refs/heads/agent/old", new=ZERO, old=MAIN) + b"0000" + {other} + b"0000")', "need no pack"),
        "a second capability list": ('push(command("refs/heads/agent/x") + command("refs/heads/agent/y") + b"0000" + EMPTY)', "a command is not well formed"),
        "a ref twice": ('push(command("refs/heads/agent/x") + command("refs/heads/agent/x", caps="") + b"0000" + EMPTY)', "a ref is named twice"),
        "a ref with a newline": ('push(command("refs/heads/agent/x\\nrefs/heads/main") + b"0000" + EMPTY)', "a command is not well formed"),
        "a signed push": ('push(pkt("push-cert\\0 report-status") + b"0000" + EMPTY)', "a signed push is not passed on"),
        "an unknown capability": ('push(command("refs/heads/agent/x", caps="\\0 report-status magic") + b"0000" + EMPTY)', "that is not passed on"),
        "a compressed push": ('(lambda z: push(z, "Content-Encoding: gzip\\r\\n"))(__import__("gzip").compress(GOOD))', "cannot be judged"),
        "another compression": ('push(GOOD, "Content-Encoding: br\\r\\n")', "cannot be judged"),
        "two lengths": ('push(GOOD, "Content-Length: 4\\r\\n")', "it says twice how long its content is"),
        "chunks with an extension": ('ask(head(None, "Connection: close\\r\\n"), b"%x;a=b\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(GOOD), GOOD))', "its chunks are malformed"),
        "capital digits": ('push(b"00A" + GOOD[3:])', "a pkt-line is not well formed"),
        "main": (f'push({other} + b"0000" + EMPTY)', "ng refs/heads/main no rule allows a push to this ref"),
        "main without a report": (f'push(command("refs/heads/main", caps="\\0 agent=x") + b"0000" + EMPTY)', "git asked for no report"),
        "main in chunks of one byte": ('ask(head(None, "Connection: close\\r\\n"), chunked(*(bytes([b]) for b in command("refs/heads/main") + b"0000" + EMPTY)))', "ng refs/heads/main no rule"),
        "a false proof": ('push(command("refs/heads/agent/old", new="1" * 40, old=MAIN) + b"0000" + EMPTY)', "not known to be a fast-forward"),
    }
    before = forge.git("for-each-ref", cwd=forge.folder / "app.git")
    out = by_hand(forge, "".join(f"print('#', {name!r}); print({code})\n" for name, (code, _) in lies.items()))
    answers = dict(part.split("\n", 1) for part in out.split("# ")[1:])
    for name, (_, sentence) in lies.items():
        assert sentence in answers[name], (name, answers[name])
    assert forge.pushes() == [] and forge.git("for-each-ref", cwd=forge.folder / "app.git") == before
    out = by_hand(forge, 'print(ask(head(len(GOOD) + 100), command("refs/heads/main") + b"0000" + EMPTY, wait=2))')  # a length that promises more
    assert "HTTP/1.1" not in out and forge.pushes() == [], out


@test
@sanitized_too
def each_request_of_a_connection_is_judged(session):
    forge = Forge(session)
    out = by_hand(forge, 'bad = command("refs/heads/main") + b"0000" + EMPTY\n'
                         'print(ask(head(len(GOOD)) + GOOD + head(len(bad)) + bad + head(4) + b"0000" + head(len(bad), "Connection: close\\r\\n") + bad))')
    assert out.count("HTTP/1.1 200") == 4 and out.count("ng refs/heads/main no rule") == 2 and out.count("unpack ok") == 3, out
    sizes = forge.pushes()
    assert len(sizes) == 2 and sizes[1] == 4 and forge.ref("refs/heads/agent/hand"), sizes
