"""Programs as they are, unmodified and unconfigured."""
import os
import pathlib
import pwd
import shutil
import subprocess
import time

import lab as labs
from session import HELPERS, Skip

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def needs(*programs):
    for program in programs:
        if not shutil.which(program, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"):
            raise Skip(f"needs {program}")


@test
def node_fetch(session):
    needs("node")
    code = "fetch('https://allowed.test/n').then(r => r.text()).then(t => console.log(t), e => console.log(e.cause.code))"
    env = {"NODE_EXTRA_CA_CERTS": str(session.work / "cert.pem")}
    assert session.run(["connect allowed.test"], "node", "-e", code, env=env).out == "hello from 203.0.113.5 for allowed.test\n\n"
    done = session.run(["connect other.test"], "node", "-e", code, env=env)
    assert done.out == "ENOTFOUND\n", done


@test
def python_urllib_and_requests(session):
    code = """
import ssl, urllib.request
print(urllib.request.urlopen("https://allowed.test/u", context=ssl.create_default_context(cafile="cert.pem")).read())
try:
    import requests
except ImportError:
    pass
else:
    assert requests.get("https://allowed.test/r", verify="cert.pem").status_code == 200
try: urllib.request.urlopen("https://other.test/")
except OSError as error: print(error)
"""
    done = session.python(["connect allowed.test"], code)
    assert done.out == "b'hello from 203.0.113.5 for allowed.test\\n'\n<urlopen error [Errno -2] Name or service not known>\n", done


@test
def a_companys_certificates_are_readable_where_a_variable_names_them(session):
    company = session.home / "company"
    company.mkdir()
    shutil.copy(session.work / "cert.pem", company / "ca.pem")
    (company / "secret.txt").write_text("token")
    fetch = ["curl", "-sS", "-m", "10", "https://allowed.test/c"]
    assert session.run(["connect allowed.test"], *fetch).status == 60  # nobody knows the authority
    done = session.run(["connect allowed.test"], *fetch, env={"CURL_CA_BUNDLE": str(company / "ca.pem")})
    assert done.out == "hello from 203.0.113.5 for allowed.test\n", done
    done = session.run([], "cat", str(company / "secret.txt"), env={"CURL_CA_BUNDLE": str(company / "secret.txt")})
    assert done.status == 1 and "No such file" in done.err, done


@test
def git_over_https(session):
    needs("git")
    www = session.lab.folder / "www"
    if not (www / "repo.git").exists():
        env = {**session.environment(), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
               "GIT_COMMITTER_EMAIL": "a@b"}
        source = session.home / "source"
        for command in (["git", "init", "-q", str(source)], ["git", "-C", str(source), "commit", "-q", "--allow-empty", "-m", "first"],
                        ["git", "clone", "-q", "--bare", str(source), str(www / "repo.git")],
                        ["git", "-C", str(www / "repo.git"), "update-server-info"]):
            subprocess.run(command, check=True, env=env)
    env = {"GIT_SSL_CAINFO": str(session.work / "cert.pem")}
    clone = lambda host: session.run(["connect allowed.test", f"env GIT_SSL_CAINFO={session.work}/cert.pem"], "git", "clone", "-q",
                                     f"https://{host}/repo.git", host, env=env)
    done = clone("allowed.test")
    assert done.status == 0 and (session.work / "allowed.test/.git/HEAD").exists(), done
    done = clone("other.test")
    assert done.status == 128 and "Could not resolve host" in done.err, done


@test
def ssh(session):
    """The handshake up to the server's key; who logs in is not the network's business."""
    needs("ssh", "sshd", "ssh-keygen")
    folder = session.home / "sshd"
    folder.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    serve = ["nsenter", "--net", "--target", str(session.lab.beyond_pid), "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-o",
             "UsePAM=no", "-h", str(folder / "key"), "-p", "22", "-o", "PidFile=none", "-o", "StrictModes=no"]
    os.makedirs("/run/sshd", exist_ok=True) if os.access("/run", os.W_OK) else None
    daemon = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
    try:
        line = daemon.stderr.readline()
        if "listening" not in line:
            raise Skip("sshd does not start as an ordinary user here")
        done = session.run(["connect allowed.test:22"], "ssh", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes", "-o",
                           "UserKnownHostsFile=known", "-o", "PreferredAuthentications=none", "nobody@allowed.test", "true")
        assert "allowed.test" in (session.work / "known").read_text() and "Permission denied" in done.err, done
    finally:
        daemon.kill()
        daemon.wait()
        daemon.stderr.close()


@test
def psql_speaks_to_what_answers(session):
    needs("psql")
    done = session.run(["connect allowed.test:5432"], "psql", "-h", "allowed.test", "-U", "x", "-c", "select 1", env={"PGCONNECT_TIMEOUT": "5"})
    assert ("echo", labs.PUBLIC, 5432, labs.HOST) in session.lab.take(), done


@test
def npm_against_a_local_registry(session):
    if not shutil.which("npm"):
        raise Skip("there is no npm here")  # Debian's brings hundreds of packages
    www = session.lab.folder / "www"
    (www / "tiny").write_text('{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0",'
                              '"dist":{"tarball":"https://allowed.test/tiny.tgz"}}}}')
    done = session.run(["connect allowed.test"], "npm", "view", "tiny", "version", "--registry", "https://allowed.test/",
                       "--cafile", "cert.pem", "--no-update-notifier")
    assert done.out.strip() == "1.0.0", done


@test
def pip_against_a_local_index(session):
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode:
        raise Skip("there is no pip here")
    import zipfile

    www = session.lab.folder / "www"
    (www / "simple").mkdir(exist_ok=True)
    with zipfile.ZipFile(www / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    (www / "simple/tiny").mkdir(exist_ok=True)
    (www / "simple/tiny/index.html").write_text('<a href="https://allowed.test/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>')
    done = session.run(["connect allowed.test"], "/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps", "--cert", "cert.pem",
                       "--disable-pip-version-check", "-i", "https://allowed.test/simple/", "tiny")
    assert (session.work / "tiny-1.0-py3-none-any.whl").exists(), done


@test
def a_large_transfer_is_whole(session):
    size = int(os.environ.get("BAWN_EGRESS_BYTES", 1 << 30))
    done = session.run(["connect allowed.test:80"], "curl", "-sS", "-o", "/dev/null", "-w", "%{size_download}",
                       f"http://allowed.test/bytes/{size}", timeout=300)
    assert done.out == str(size), done


@test
def a_thousand_connections_at_once(session):
    done = session.python(["connect allowed.test:9000"], """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.gethostbyname("allowed.test")
held = [socket.create_connection((address, 9000), 20) for i in range(1000)]
for s in held: s.sendall(b"ping")
answers = [s.recv(10) for s in held]
print(len(answers), set(answers))
held[0].sendall(b"again"); print(held[0].recv(10))""", timeout=60)
    assert done.out == "1000 {b'ping'}\nb'again'\n", done


@test
def a_slow_reader_holds_up_nobody_else(session):
    done = session.python(["connect allowed.test:80", "connect allowed.test:9000", "connect allowed.test:9001"], """
slow = dial("allowed.test", 80)
slow.sendall(b"GET /bytes/200000000 HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n")
silent = dial("allowed.test", 9001)
began = time.monotonic()
print(exchange("allowed.test", 9000, b"x"), time.monotonic() - began < 2)
got = 0
slow.settimeout(10)
while got < 200000000:
    got += len(slow.recv(1 << 20))
print(got >= 200000000)""", timeout=60)
    assert done.out == "b'xthe end' True\nTrue\n", done
