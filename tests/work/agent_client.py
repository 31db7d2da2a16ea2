"""ssh-agent and its protocol, for tests of `ssh-key` rules."""
import contextlib
import os
import socket
import subprocess
import textwrap

from scratch import until

# A client of its own, inside: `bind`, `data` and `sign` make messages as ssh does.
CLIENT = textwrap.dedent(r"""
    import base64, os, socket, struct, sys
    def s(data):
        data = data.encode() if isinstance(data, str) else data
        return struct.pack(">I", len(data)) + data
    class Agent:
        def __init__(self):
            self.s = socket.socket(socket.AF_UNIX)
            self.s.connect(os.environ["SSH_AUTH_SOCK"])
            self.s.settimeout(30)
        def take(self, size):
            got = b""
            while len(got) < size:
                more = self.s.recv(size - len(got))
                if not more:
                    raise EOFError
                got += more
            return got
        def ask(self, message):
            self.s.sendall(s(message))
            return self.take(struct.unpack(">I", self.take(4))[0])
        def kind(self, message):
            return self.ask(message)[0]
    def blob(path):
        return base64.b64decode(open(path).read().split()[1])
    def bind(host_key, session, signature, forwarding=0):
        return b"\x1b" + s("session-bind@openssh.com") + s(host_key) + s(session) + s(signature) + bytes([forwarding])
    def data(key, session, host_key=None, user="u", service="ssh-connection", algorithm="ssh-ed25519", has=1, after=b""):
        method = "publickey" if host_key is None else "publickey-hostbound-v00@openssh.com"
        return (s(session) + b"\x32" + s(user) + s(service) + s(method) + bytes([has]) + s(algorithm) + s(key)
                + (b"" if host_key is None else s(host_key)) + after)
    def sign(key, content, flags=0):
        return b"\x0d" + s(key) + s(content) + struct.pack(">I", flags)
""")


def start_agent(path, *keys):
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def is_up():
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            return True
        return False
    until(is_up, "ssh-agent listens")
    subprocess.run(["ssh-add", "-q", *keys], check=True, env={**os.environ, "SSH_AUTH_SOCK": str(path)}, stderr=subprocess.PIPE)
    return agent
