"""A machine with a network of its own, made of namespaces: here the host, beyond a wire the world (world.py). Nothing of
the real network is used or reached. Works as root and, where user namespaces are allowed, as an ordinary user."""
import ctypes
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CLONE_NEWNET = 0x40000000
PUBLIC, PRIVATE, METADATA = "203.0.113.5", "10.9.0.5", "169.254.169.254"
PUBLIC6, PRIVATE6, METADATA6 = "2001:db8:1::5", "fd09::5", "fd00:ec2::254"
HOST, HOST6 = "203.0.113.1", "2001:db8:1::1"

# Who the world says they are.
NAMES = {
    "allowed.test": [PUBLIC],
    "other.test": [PUBLIC],
    "six.test": [PUBLIC6],
    "both.test": [PUBLIC6, PUBLIC],
    "half.test": ["2001:db8:1::dead", PUBLIC],
    "wild.example.test": [PUBLIC],
    "corp.test": [PRIVATE],
    "leads-home.test": ["127.0.0.1"],
    "leads-host.test": [HOST],
    "leads-metadata.test": [METADATA],
    "leads-mapped.test": ["::ffff:127.0.0.1"],
    "leads-nat64.test": ["64:ff9b::7f00:1"],
    "leads-zero.test": ["0.0.0.0"],
    "rebinds.test": [[PUBLIC], ["127.0.0.1"]],
    "nobody.test": ["203.0.113.77"],
    "forbidden.test": [PUBLIC],
    "tldr.sh": [PUBLIC],  # the one host that Debian's client in Rust asks
}


def unshare() -> list:
    flags = ["--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]  # all ends with it
    return ["unshare", *flags, *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


def lacking() -> str:
    """Why there can be no lab here; empty where there can."""
    if not shutil.which("ip") or not shutil.which("nsenter"):
        return "needs iproute2 and util-linux"
    if subprocess.run([*unshare(), "true"], capture_output=True).returncode:
        return "needs network namespaces"
    return ""


def enter_namespaces():
    """Starts this program again in namespaces of its own. Real root stays real root."""
    if os.environ.get("BAWN_LAB") == "inside":
        return
    os.environ["BAWN_LAB"] = "inside"
    os.execvp("unshare", [*unshare(), sys.executable, *sys.argv])


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Lab:
    def __init__(self, world=HERE / "world.py"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lab-", dir=os.environ["BAWN_LAB_FOLDER"]))
        self.folder.chmod(0o755)
        (self.folder / "www").mkdir()
        self.make_certificate()
        self.beyond = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "--fork", "sh", "-c", "echo up; exec sleep 100000"], stdout=subprocess.PIPE
        )
        self.beyond.stdout.readline()
        self.beyond_pid = self.child_of(self.beyond.pid)
        self.wire()
        self.names_of_host()
        self.world = subprocess.Popen(
            ["nsenter", "--net", "--target", str(self.beyond_pid), sys.executable, str(world), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.world.stdout.readline() != "ready\n":
            raise RuntimeError("the world did not start")
        self.ask(names=NAMES)

    @staticmethod
    def child_of(pid: int) -> int:
        return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def make_certificate(self):
        names = ",".join(f"DNS:{name}" for name in [*NAMES, "*.example.test"])

        def make(name, key, *more):
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-keyout", str(self.folder / key), "-out", str(self.folder / name), *more],
                check=True, capture_output=True,
            )

        make("cert.pem", "ca-key.pem", "-subj", "/CN=bawn test authority")
        make("server.pem", "key.pem", "-subj", "/CN=bawn test", "-addext", f"subjectAltName={names},IP:{PUBLIC}", "-addext",
             "basicConstraints=critical,CA:FALSE", "-CA", str(self.folder / "cert.pem"), "-CAkey", str(self.folder / "ca-key.pem"))
        (self.folder / "key.pem").chmod(0o644)

    def wire(self):
        beyond = ["nsenter", "--net", "--target", str(self.beyond_pid), "ip"]
        ip("link", "set", "lo", "up")
        ip("link", "add", "here", "type", "veth", "peer", "name", "there", "netns", str(self.beyond_pid))
        ip("addr", "add", f"{HOST}/24", "dev", "here")
        ip("-6", "addr", "add", f"{HOST6}/64", "dev", "here", "nodad")
        ip("link", "set", "here", "up")
        for words in (
            ["link", "set", "lo", "up"],
            ["addr", "add", f"{PUBLIC}/24", "dev", "there"],
            ["addr", "add", f"{PRIVATE}/24", "dev", "there"],
            ["addr", "add", f"{METADATA}/32", "dev", "there"],
            ["-6", "addr", "add", f"{PUBLIC6}/64", "dev", "there", "nodad"],
            ["-6", "addr", "add", f"{PRIVATE6}/64", "dev", "there", "nodad"],
            ["-6", "addr", "add", f"{METADATA6}/128", "dev", "there", "nodad"],
            ["link", "set", "there", "up"],
        ):
            subprocess.run(beyond + words, check=True)
        for network in ("10.9.0.0/24", f"{METADATA}/32", "198.51.100.0/24"):
            ip("route", "add", network, "via", PUBLIC)
        for network in ("fd09::/64", f"{METADATA6}/128", "2001:db8:2::/64"):
            ip("-6", "route", "add", network, "via", PUBLIC6)

    def names_of_host(self):
        """The host asks the world for names; the tests replace the files in a mount namespace of their own."""
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        for path, text in (
            ("/etc/resolv.conf", f"nameserver {PUBLIC}\noptions timeout:3 attempts:2\n"),
            ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
            ("/etc/hosts", "127.0.0.1 localhost\n203.0.113.5 from-hosts-file.test\n"),
        ):
            source = self.folder / path.replace("/", "_")
            source.write_text(text)
            source.chmod(0o644)
            if os.path.exists(path):
                subprocess.run(["mount", "--bind", str(source), os.path.realpath(path)], check=True)

    def ask(self, **command) -> list:
        self.world.stdin.write(json.dumps(command) + "\n")
        self.world.stdin.flush()
        return [tuple(event) for event in json.loads(self.world.stdout.readline())]

    def settle(self):
        """Waits until the world has noticed that all connections have ended: what it saw of them is not told to a later question."""
        self.ask(settle=True)

    def take(self) -> list:
        """What the world has seen since the last time."""
        return self.ask(take=True)

    def close(self):
        for process in (self.world, self.beyond):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
