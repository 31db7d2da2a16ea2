"""Programs as they are, unmodified and unconfigured."""
import os
import pathlib
import pwd
import shutil
import subprocess

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


def is_real_root() -> bool:
    return open("/proc/self/uid_map").read().split() == ["0", "0", "4294967295"]


def make_repository(session):
    """One commit, for those who serve the world's folder."""
    www = session.lab.folder / "www"
    if not (www / "repo.git").exists():
        env = {**session.environment(), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
               "GIT_COMMITTER_EMAIL": "a@b"}
        source = session.home / "source"
        for command in (["git", "init", "-q", str(source)], ["git", "-C", str(source), "commit", "-q", "--allow-empty", "-m", "first"],
                        ["git", "clone", "-q", "--bare", str(source), str(www / "repo.git")],
                        ["git", "-C", str(www / "repo.git"), "update-server-info"]):
            subprocess.run(command, check=True, env=env)


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
    fetch = ["curl", "-sS", "-m", "60", "https://allowed.test/c"]
    assert session.run(["connect allowed.test"], *fetch).status == 60  # nobody knows the authority
    done = session.run(["connect allowed.test"], *fetch, env={"CURL_CA_BUNDLE": str(company / "ca.pem")})
    assert done.out == "hello from 203.0.113.5 for allowed.test\n", done
    done = session.run([], "cat", str(company / "secret.txt"), env={"CURL_CA_BUNDLE": str(company / "secret.txt")})
    assert done.status == 1 and "No such file" in done.err, done


@test
def git_over_https(session):
    needs("git")
    make_repository(session)
    env = {"GIT_SSL_CAINFO": str(session.work / "cert.pem")}
    clone = lambda host: session.run(["connect allowed.test", f"env GIT_SSL_CAINFO={session.work}/cert.pem"], "git", "clone", "-q",
                                     f"https://{host}/repo.git", host, env=env)
    done = clone("allowed.test")
    assert done.status == 0 and (session.work / "allowed.test/.git/HEAD").exists(), done
    done = clone("other.test")
    assert done.status == 128 and "Could not resolve host" in done.err, done


@test
def git_over_ssh(session):
    """An account of the tests' own user, with a key that lies in the workspace."""
    needs("git", "ssh", "sshd", "ssh-keygen")
    folder = session.home / "sshd"
    folder.mkdir()
    for key in (folder / "host", session.work / "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    make_repository(session)
    options = {"UsePAM": "no", "PidFile": "none", "StrictModes": "no", "AuthorizedKeysFile": session.work / "key.pub",
               "PermitRootLogin": "yes", "SetEnv": f"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*"}
    serve = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", str(folder / "host"), "-p", "2222"]
    for name, value in options.items():
        serve += ["-o", f"{name}={value}"]
    uid = 0
    if is_real_root():
        os.makedirs("/run/sshd", exist_ok=True)
    else:  # root of a namespace cannot change to a user, and who is no root need not
        uid = int(open("/proc/self/uid_map").read().split()[1])
        serve = ["unshare", "--user", f"--map-user={uid}", *serve]
    daemon = subprocess.Popen(["nsenter", "--net", "--target", str(session.lab.beyond_pid), *serve], stderr=subprocess.PIPE, text=True)
    try:
        line = daemon.stderr.readline()
        assert "listening" in line, line + daemon.stderr.readline()
        ssh = f"ssh -i {session.work}/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=known -o BatchMode=yes"
        url = f"ssh://{pwd.getpwuid(uid).pw_name}@allowed.test:2222{session.lab.folder}/www/repo.git"
        clone = lambda *rules: session.run(rules, "git", "-c", f"core.sshCommand={ssh}", "clone", "-q", url, "by-ssh")
        done = clone("connect allowed.test:22")
        assert done.status == 128 and "Connection refused" in done.err, done
        done = clone("connect allowed.test:2222")
        assert done.status == 0 and (session.work / "by-ssh/.git/HEAD").exists(), done
    finally:
        daemon.kill()
        daemon.wait()
        daemon.stderr.close()


@test
def psql_asks_and_is_answered(session):
    needs("psql")
    ask = lambda port: session.run([f"connect allowed.test:{port}"], "psql", "-w", "-At", "-h", "allowed.test", "-p", "5433", "-U", "x", "-c", "select 1",
                                   env={"PGCONNECT_TIMEOUT": "60"})
    assert ask(5433).out == "from far\n"
    assert "Connection refused" in ask(5432).err
    assert [event for event in session.lab.take() if event[0] == "postgres"] == [("postgres", "x")]


@test
def a_program_in_Go_with_its_own_resolver(session):
    needs("hey")
    fetch = lambda host, resolver: session.run(["connect allowed.test", f"env GODEBUG=netdns={resolver}"], "hey", "-n", "8", "-c", "4", f"https://{host}/go")
    for resolver in ("go", "cgo"):
        done = fetch("allowed.test", resolver)
        assert "[200]\t8 responses" in done.out, done
        assert "no such host" in fetch("other.test", resolver).out


@test
def a_program_in_Rust(session):
    needs("tldr")
    import zipfile

    (session.lab.folder / "www/assets").mkdir(exist_ok=True)
    with zipfile.ZipFile(session.lab.folder / "www/assets/tldr.zip", "w") as archive:
        archive.writestr("pages/common/bawn.md", "# bawn\n\n> A wall.\n")
    update = lambda rule: session.run([rule], "tldr", "--update", env={"SSL_CERT_FILE": str(session.work / "cert.pem")})
    done = update("connect allowed.test")
    assert done.status != 0 and session.events("refused")[-1]["host"] == "tldr.sh", done
    done = update("connect tldr.sh")
    assert done.status == 0 and ("https", labs.PUBLIC, "tldr.sh", "/assets/tldr.zip") in session.lab.take(), done


MUSL = r"""
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int failed = getaddrinfo(words[1], words[2], &hints, &found);
    if (failed) return puts(gai_strerror(failed)), 1;
    int fd = socket(found->ai_family, SOCK_STREAM, 0);
    char answer[5] = "";
    if (connect(fd, found->ai_addr, found->ai_addrlen) || write(fd, "ping", 4) != 4 || read(fd, answer, 4) != 4) return perror("musl"), 1;
    puts(answer);
}
"""


@test
def a_static_program_with_musl(session):
    needs("musl-gcc")
    (session.work / "ask.c").write_text(MUSL)
    subprocess.run(["musl-gcc", "-static", "-o", "ask", "ask.c"], check=True, cwd=session.work)
    ask = lambda host: session.run(["connect allowed.test:9000"], "./ask", host, "9000").out
    assert (ask("allowed.test"), ask("other.test")) == ("ping\n", "Name does not resolve\n")


@test
def node_with_c_ares(session):
    needs("node")
    code = "require('dns').resolve4(process.argv[1], (error, found) => console.log(error ? error.code : found.join()))"
    ask = lambda host: session.run(["connect allowed.test"], "node", "-e", code, host).out
    assert (ask("allowed.test"), ask("other.test")) == ("198.18.0.2\n", "ENOTFOUND\n")


@test
def a_WebSocket(session):
    if subprocess.run(["/usr/bin/python3", "-c", "import websocket"], capture_output=True).returncode:
        raise Skip("needs python3-websocket")
    done = session.python(["connect allowed.test", "connect allowed.test:80"], """
import ssl, websocket
for url in ("wss://allowed.test/ws", "ws://allowed.test/ws"):
    ws = websocket.create_connection(url, timeout=60, sslopt={"cert_reqs": ssl.CERT_NONE})
    ws.send("hello"); print(ws.recv()); ws.send("again"); print(ws.recv())
    ws.close()
try: websocket.create_connection("wss://other.test/ws", timeout=5)
except Exception as error: print(error)""")
    assert done.out == "hello\nagain\n" * 2 + "[Errno -2] Name or service not known\n", done


@test
def npm_against_a_local_registry(session):
    needs("npm")
    import io
    import tarfile

    www = session.lab.folder / "www"
    (www / "tiny").write_text('{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0",'
                              '"dist":{"tarball":"https://allowed.test/tiny.tgz"}}}}')
    content = b'{"name":"tiny","version":"1.0.0"}'
    with tarfile.open(www / "tiny.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("package/package.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    npm = lambda rules, *words: session.run(rules, "npm", *words, "--registry", "https://allowed.test/", "--cafile", "cert.pem", "--no-update-notifier",
                                            "--no-audit", "--no-fund", "--fetch-retries=0")
    assert npm(["connect allowed.test"], "view", "tiny", "version").out.strip() == "1.0.0"
    done = npm(["connect other.test"], "install", "tiny")
    assert done.status != 0 and "ENOTFOUND" in done.err, done
    done = npm(["connect allowed.test"], "install", "tiny")
    assert done.status == 0 and (session.work / "node_modules/tiny/package.json").read_bytes() == content, done


@test
def pip_against_a_local_index(session):
    wheels = sorted(pathlib.Path("/usr/share/python-wheels").glob("pip-*.whl"))  # as `python3 -m venv` has it
    if not wheels:
        raise Skip("needs python3-venv")
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
    done = session.run(["connect allowed.test"], "/usr/bin/python3", f"{wheels[-1]}/pip", "download", "-q", "--no-deps", "--cert", "cert.pem",
                       "--disable-pip-version-check", "-i", "https://allowed.test/simple/", "tiny")
    assert (session.work / "tiny-1.0-py3-none-any.whl").exists(), done
