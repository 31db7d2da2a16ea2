"""At which host a login by ssh is: the proof of a server, on the connection that the helper has dialled. tests/ssh_agent has real servers."""
import contextlib
import shutil
import subprocess

import agent_client
import bounds
import lab as labs
from session import Skip, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


# What a server of ssh says first: its name, its KEXINIT, and the reply with its key and the proof.
SERVER_SAYS = """
def packet(number, *strings):
    message = bytes([number]) + b"".join(map(s, strings))
    padding = 16 - (5 + len(message)) % 8
    return struct.pack(">IB", 1 + len(message) + padding, padding) + message + bytes(padding)
session = bytes(range(32))
def says(*before, last=()):
    return b"SSH-2.0-test\\r\\n" + packet(20, b"kinds") + b"".join(before) + packet(31, host, b"exchanged", proof) + b"".join(last)
"""
LOGS_IN = agent_client.CLIENT + SERVER_SAYS + """
import json
key, host, proof = blob("key.pub"), blob("host.pub"), open("proof", "rb").read()
def told(name, port, bytes_):
    # The server repeats what it hears.
    with socket.create_connection((name, port), PATIENCE) as server:
        server.sendall(bytes_)
        got = b""
        while len(got) < len(bytes_):
            got += server.recv(65536)
def log_in():
    a = Agent()
    return a.kind(bind(host, session, proof)), a.kind(sign(key, data(key, session)))
"""


@contextlib.contextmanager
def ssh_keys(session, known):
    """A key in an agent of the user's, and a host key with its proof of a session. Returns the variables by which bawn finds the agent."""
    if not shutil.which("ssh-agent"):
        raise Skip("needs ssh-agent")
    folder = session.home / ".ssh"
    folder.mkdir(mode=0o700)
    for name in ("key", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        shutil.copy(folder / f"{name}.pub", session.work)
    (folder / "known_hosts").write_text("".join(f"[{name}]:9000 {(folder / 'host.pub').read_text()}" for name in known))
    agents = [agent_client.start_agent(folder / f"agent-{name}", folder / name) for name in ("key", "host")]
    try:
        proof = subprocess.run(["/usr/bin/python3", "-c", agent_client.CLIENT + 'got = Agent().ask(sign(blob("host.pub"), bytes(range(32))))\nsys.stdout.buffer.write(got[5:])'],
                               cwd=session.work, env=session.environment({"SSH_AUTH_SOCK": str(folder / "agent-host")}), check=True, capture_output=True)
        (session.work / "proof").write_bytes(proof.stdout)
        yield {"SSH_AUTH_SOCK": str(folder / "agent-key")}
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()


def hosts_of_logins(session):
    return [event["host"] for event in session.events("ssh-key")]


@test
@sanitized_too
def a_login_is_at_the_name_that_was_dialled_also_through_a_proxy(session):
    """Each server here shows one and the same proof, in a connection of its own to a run of its own."""
    names = ["allowed.test", "other.test"]
    rules = [rule for name in names for rule in (f"connect {name}:9000", f"ssh-key ~/.ssh/key.pub to {name}:9000")]
    both = "allowed.test:9000 or other.test:9000"
    with ssh_keys(session, names) as env:
        for proxy in ({}, {"HTTPS_PROXY": f"http://me:secret@{labs.PUBLIC}:3128"}):
            for name in names:
                done = session.python(rules, LOGS_IN + f"told({name!r}, 9000, says()); print(*log_in())", env={**env, **proxy})
                assert done.out == "6 14\n", done
                assert hosts_of_logins(session)[-1] == f"{name}:9000", done
        # What the server says comes with the proxy's answer.
        scope = {}
        exec(agent_client.CLIENT + SERVER_SAYS, scope)
        scope.update(host=scope["blob"](session.work / "host.pub"), proof=(session.work / "proof").read_bytes())
        with bounds.proxy([b"HTTP/1.1 200 OK\r\n\r\n" + scope["says"]()]) as port:
            done = session.python(rules, LOGS_IN + "socket.create_connection(('other.test', 9000), PATIENCE).recv(1); print(*log_in())",
                                  env={**env, "HTTPS_PROXY": f"http://127.0.0.1:{port}"})
            assert (done.out, hosts_of_logins(session)[-1]) == ("6 14\n", "other.test:9000"), done
        # The control: nobody has dialled, or not by a name of a rule.
        for dials in ("", f"told({labs.PUBLIC!r}, 9000, says()); "):
            done = session.python([*rules, f"connect {labs.PUBLIC}:9000"], LOGS_IN + dials + "print(*log_in())", env=env)
            assert (done.out, hosts_of_logins(session)[-1]) == ("6 14\n", both), done


@test
@sanitized_too
def a_proof_that_comes_late_twice_or_from_two_hosts_says_nothing(session):
    """What a server says that is no exact beginning of ssh, or was said by another one, too: the strictest rule decides."""
    names = ["allowed.test", "other.test"]
    rules = [rule for name in names for rule in (f"connect {name}:9000", f"ssh-key ~/.ssh/key.pub to {name}:9000 times 100")]
    both = "allowed.test:9000 or other.test:9000"
    forms = {
        "says()": "allowed.test:9000",
        "says(last=[packet(21), bytes(3000)])": "allowed.test:9000",
        "says(packet(31, b'prime', b'generator')).replace(packet(31, host, b'exchanged', proof), packet(33, host, b'exchanged', proof))": "allowed.test:9000",
        "b'hello\\r\\n' + says()": both,
        "says(packet(2, b'ignore'))": both,
        "says(packet(21))": both,
        "says(packet(31, b'another', b'exchanged', b'proof'))": both,
        "says(packet(31, b'prime', b'generator'))": both,
        "says().replace(b'SSH-2.0', b'SSH-1.5')": both,
        "says()[:-40]": both,
        "b'GET / HTTP/1.1\\r\\nHost: allowed.test:9000\\r\\nConnection: Upgrade\\r\\nUpgrade: x\\r\\n\\r\\n'": both,
    }
    with ssh_keys(session, names) as env:
        for form, host in forms.items():
            done = session.python(rules, LOGS_IN + f"told('allowed.test', 9000, {form}); print(*log_in())", env=env)
            assert (done.out, hosts_of_logins(session)[-1]) == ("6 14\n", host), (form, done)
        done = session.python(rules, LOGS_IN + "told('allowed.test', 9000, says()); print(*log_in()); told('other.test', 9000, says()); print(*log_in())", env=env)
        assert (done.out, hosts_of_logins(session)[-2:]) == ("6 14\n6 14\n", ["allowed.test:9000", both]), done
