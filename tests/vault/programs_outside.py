"""Commands that print a secret or a token run outside: none of them is one that a command inside has planted (work/planted.py)."""

import scratch
import session as sessions
from planted import VALUE, Plants, adopt_orphans
from secrets_outside import SECRET, requests
from session import Skip

TESTS = []
adopt_orphans()


def test(function):
    TESTS.append(function)
    return function


class Person(scratch.Place):
    """The session's home and bawn, as the plants need them."""

    def __init__(self, session):
        super().__init__(session.home, sessions.BAWN)
        self.session, self.walls = session, tuple(sessions.WALLS)
        self.environment = session.environment({"SSL_CERT_FILE": str(session.work / "cert.pem")})

    def run(self, *words, flags=(), **options):
        return super().run(*words, flags=(*self.walls, *flags), **options)


def attempt(plants, rules, path, url):
    """A command that plants, and then makes a request for which the secret is needed. Returns what it printed."""
    script = f"{plants.script}exec curl -sS -m 20 {url}"
    words = [word for rule in ("connect allowed.test", f"write {plants.tree}", *rules) for word in (f"--{rule.partition(' ')[0]}", rule.partition(" ")[2])]
    done = plants.place.run("sh", "-c", script, cwd=plants.work, flags=words, environment=plants.variables(path))
    return (done.stdout + done.stderr).decode(errors="replace")


def by_secret(plants, path, command):
    return attempt(plants, [f"secret KEY from command '{command}' to allowed.test"], path, '-H "x-api-key: $KEY" https://allowed.test/')


def by_token(plants, path, command):
    return attempt(plants, [f"forge allowed.test/forge/echo fetch token from command '{command}'"], path,
                   "'https://allowed.test/forge/echo/info/refs?service=git-upload-pack'")


def wrong_starts(plants, start):
    """Who started and must not. The person's own program must, in / and with a short environment."""
    plants.clear()
    said, wrong = start(plants, plants.path(), "helper"), []
    told = plants.told()
    wrong += [f"by PATH: {who} ran" for who in sorted(told - {"trusted"})]
    wrong += [f"by PATH: {problem}" for problem in plants.problems_of_trusted()] if "trusted" in told else [f"the person's own was not started: {said[-300:]}"]
    usual = plants.place.environment["PATH"]
    commands = {"file": (f"{plants.tools}/file:{usual}", "helper"), "interpreter": (f"{plants.tools}/interpreter:{usual}", "helper"),
                "directory": (f"{plants.tools}/bin:{usual}", "sh ./by-sh; python3 -m bawn_helper; make -s all; python3 -c pass; bash -c true; helper"),
                "path": (usual, f"{plants.tree}/bin/helper"), "path of another session": (usual, f"{plants.places['other']}/helper")}
    for spelling, (path, command) in commands.items():
        plants.clear()
        start(plants, path, command)
        wrong += [f"by the {spelling}: {who} ran" for who in sorted(plants.told() - {"trusted"})]
    return wrong


def claimed(session, start):
    try:
        with Plants(Person(session), start.__name__.replace("_", "-")) as plants:
            wrong = wrong_starts(plants.before(), start)
    except scratch.Skip as skip:
        raise Skip(str(skip)) from None
    assert not wrong, wrong


@test
def a_command_that_prints_a_secret_is_none_that_a_run_could_write(session):
    claimed(session, by_secret)
    assert any(headers.get("x-api-key") == VALUE for _, _, headers, _ in requests(session))  # of the person's own


@test
def a_command_that_prints_a_token_is_none_that_a_run_could_write(session):
    claimed(session, by_token)


@test
def a_file_with_a_secret_that_a_command_inside_could_write_is_refused(session):
    """Else it would say which value goes to the host, or what is read in its place."""
    own, other = session.home / "own-key", session.home / "other"
    own.write_text(SECRET)
    other.mkdir()
    (session.work / "key").write_text(SECRET)
    (other / "key").write_text(SECRET)
    (session.home / "file-link").symlink_to(session.work / "key")
    (session.home / "folder-link").symlink_to(session.work)
    (session.work / "out-link").symlink_to(own)
    (session.home / "tree").mkdir()
    (session.home / "tree/key").write_text(SECRET)
    env = {"SSL_CERT_FILE": str(session.work / "cert.pem")}
    words = ("sh", "-c", 'curl -sS -m 20 -H "x-api-key: $KEY" https://allowed.test/')

    def rules(path):
        return ["connect allowed.test", f"secret KEY from file {path} to allowed.test", f"write {session.home}/tree"]
    for path in (session.work / "key", session.home / "file-link", session.home / "folder-link/key", session.work / "out-link", session.home / "tree/key"):
        done = session.run(rules(path), *words, env=env)
        sent = [headers.get("x-api-key") for _, _, headers, _ in requests(session)]
        assert done.status != 0 and "secret" in done.err and SECRET not in sent, (path, sent, done)
    done = session.run(rules(own), *words, env=env)
    assert done.status == 0 and [headers["x-api-key"] for _, _, headers, _ in requests(session)] == [SECRET], done  # the control
