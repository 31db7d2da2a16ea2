"""Secrets that stay outside behind walls without namespaces: there all processes of the machine are visible, the host's files have their own names, and
nothing covers the machine's certificates. BAWN_EGRESS_WALLS=landlock runs these, beside the tests for all walls."""
import contextlib
import json
import os
import pathlib
import shutil
import signal

from logins_outside import ACCESS, AGENT, FILE, agent, first, on_host, put, wait_for
from logins_outside import RULES as LOGIN
from processes import all_below, children_of, is_alive, name_of
from scratch import PATIENCE
from secrets_outside import RULES, SECRET, caller, requests

TESTS = []

# Reads a process in every way that there is. Prints what is found, or the error.
READ = r'''
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Iov(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
def attempt(act):
    try: return act()
    except OSError as error: return error.errno
def call(number, *words):
    result = libc.syscall(ctypes.c_long(number), *words)
    return -ctypes.get_errno() if result < 0 else result
def peek(pid):
    here, there = ctypes.create_string_buffer(16), 0x10000
    try: there = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
    except (OSError, ValueError): pass  # ValueError: it has ended, and has no memory any more
    own, other = Iov(ctypes.addressof(here), 16), Iov(there, 16)
    return "read" if libc.process_vm_readv(int(pid), ctypes.byref(own), 1, ctypes.byref(other), 1, 0) > 0 else ctypes.get_errno()
def take(pid):
    fd = os.pidfd_open(int(pid))
    return "taken" if call(438, fd, 1, 0) >= 0 else ctypes.get_errno()
def trace(pid): return "traced" if libc.ptrace(16, int(pid), 0, 0) == 0 else ctypes.get_errno()
def look(pid):
    return {"environ": attempt(lambda: open(f"/proc/{pid}/environ", "rb").read(1 << 20) and "read"),
            "mem": attempt(lambda: open(f"/proc/{pid}/mem", "rb") and "open"), "maps": attempt(lambda: open(f"/proc/{pid}/maps").read(9) and "read"),
            "fd": attempt(lambda: os.open(f"/proc/{pid}/fd/0", os.O_RDONLY) and "open"), "peek": attempt(lambda: peek(pid)),
            "take": attempt(lambda: take(pid)), "trace": attempt(lambda: trace(pid))}
def name(pid):
    try: return open(f"/proc/{pid}/comm").read().strip()
    except OSError: return ""
def lives(pid):
    try: return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "Z"
    except OSError: return False
'''
CLOSED = {"environ": 13, "mem": 13, "maps": 13, "fd": 13, "peek": 1, "take": 1, "trace": 1}


def test(function):
    TESTS.append(function)
    return function


@test
def bawns_own_processes_cannot_be_read(session):
    """bawn has the key in its environment, bawn-vault in its memory. The control: a process of the run's own, and bawn's environment from outside."""
    code = READ + '''
import json, subprocess, urllib.request
urllib.request.urlopen(urllib.request.Request("https://allowed.test/", headers={"x-api-key": os.environ["API_KEY"]})).read()
found = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    if name(pid).startswith("bawn") and lives(pid):
        seen = (name(pid), look(pid))
        if lives(pid): found[pid] = seen   # one that has ended meanwhile has other errors
child = subprocess.Popen(["sleep", "100"], stdin=subprocess.DEVNULL)
while name(child.pid) != "sleep": pass
print(json.dumps([found, look(child.pid)]), flush=True)
child.kill()
sys.stdin.readline()
'''
    process = session.start(RULES, "/usr/bin/python3", "-c", code, env=caller(session))
    line = process.stdout.readline()
    environments = {}
    if line:
        found, control = json.loads(line)
        for pid in [pid for pid, (name, _) in found.items() if name == "bawn" and os.access(f"/proc/{pid}/environ", os.R_OK)]:
            with contextlib.suppress(OSError):  # it has ended
                environments[pid] = pathlib.Path("/proc", pid, "environ").read_bytes()
    out, err = process.communicate("\n", timeout=90)
    assert process.returncode == 0 and line, (out, err)
    names = [name for name, _ in found.values()]
    assert names.count("bawn") >= 2 and "bawn-egress" in names and names.count("bawn-vault") == 2, names
    nowhere = {**CLOSED, "fd": 2}  # the process that ends the run has no descriptor 0
    assert all(ways in (CLOSED, nowhere) for _, ways in found.values()) and sum(ways == nowhere for _, ways in found.values()) <= 1, found
    assert {control[way] for way in ("environ", "maps")} == {"read"} and control["peek"] == "read" and control["mem"] == "open", control
    assert [pid for pid, text in environments.items() if SECRET.encode() in text], environments
    assert requests(session)[0][2]["x-api-key"] == SECRET


@test
def the_hosts_login_file_is_closed_and_the_one_inside_has_stand_ins(session):
    put(session)
    host = session.home / FILE
    state = session.home / ".local/state/bawn"
    code = f"""
import glob
inside = pathlib.Path(os.environ["HOME"], ".tool/login.json")
def attempt(act):
    try: return act()
    except OSError as error: return error.errno
print(inside.is_symlink(), os.path.islink(inside.parent), {ACCESS!r}[::-1] in inside.read_text()[::-1])
print(attempt(lambda: open({str(host)!r}).read()), attempt(lambda: os.link({str(host)!r}, "hard")), attempt(lambda: os.rename({str(host)!r}, "moved")))
os.symlink({str(host)!r}, "soft")
print(attempt(lambda: open("soft").read()), attempt(lambda: os.listdir({str(state)!r})), attempt(lambda: os.truncate({str(host)!r}, 0)))
"""
    lines = agent(session, code).splitlines()
    assert lines == ["False False False", "13 18 13", "13 13 13"], lines  # a hard link would be one across file systems, as Landlock sees it
    assert on_host(session)["oauth"]["accessToken"] == ACCESS
    assert host.read_text().count(ACCESS) == 1  # the control: it is there, for who may read it


@test
def a_link_of_an_earlier_run_does_not_lead_to_the_hosts_login(session):
    """`read ~/.tool` makes a link in the private home. A later run must not write the login through it, nor read it there."""
    put(session)
    seen = session.run(["read ~/.tool"], "sh", "-c", 'readlink "$HOME/.tool"; cat "$HOME/.tool/login.json"')
    assert ACCESS in seen.out and str(session.home / ".tool") in seen.out, seen  # the control
    done = session.run(LOGIN, "/usr/bin/python3", "-c", AGENT + "print(FILE.read_text())", env=caller(session))
    assert done.status == 0 and ACCESS not in done.out and "sk-ant-oat01-" in done.out, done
    assert on_host(session)["oauth"]["accessToken"] == ACCESS and first(session) in (session.home / FILE).read_text()


@test
def a_secret_whose_file_a_rule_shows_is_refused(session):
    put(session)
    (session.home / "keys").mkdir()
    (session.home / "keys/key").write_text(SECRET)
    (session.work / "key").write_text(SECRET)
    (session.home / "link").symlink_to(session.home / "keys/key")
    of_file = lambda path: ["connect allowed.test", f"secret KEY from file {path} to allowed.test"]
    shown = ([*LOGIN, "read ~/.tool"], [*LOGIN, "write ~/.tool"], [*of_file("~/keys/key"), "read ~/keys"], [*of_file("~/link"), "read ~/keys/key"],
             of_file(session.work / "key"), [f"forge allowed.test/acme/app fetch token from file {session.work / 'key'}"])
    for rules in shown:
        done = session.run(rules, "true", env=caller(session))
        assert done.status == 125 and "a rule shows" in done.err and "which has the secret" in done.err, (rules, done)
    for rules in (LOGIN, of_file("~/keys/key"), of_file("~/link"), [*of_file("~/keys/key"), "read ~/keys", "hide ~/keys/key"]):
        done = session.run(rules, "sh", "-c", f"cat {session.home}/keys/key", env=caller(session))
        assert done.status == 1 and SECRET not in done.out and "Permission denied" in done.err, (rules, done)


@test
def certificates_are_in_a_directory_of_the_run(session):
    """A program that asks no variable for them gets the machine's own, and trusts the hosts of secrets no more than those."""
    done = session.run(RULES, "sh", "-c", 'echo "$SSL_CERT_FILE"; env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS -m 20 https://allowed.test/', env={"API_KEY": SECRET})
    path, _, rest = done.out.partition("\n")
    assert done.status == 60 and path.endswith("/tmp/bawn/certificates.pem") and not rest, done
    assert not os.path.exists(path), path
    if shutil.which("wget"):
        wget = session.run(RULES, "wget", "-q", "-O", "-", "https://allowed.test/", env={"API_KEY": SECRET})
        assert wget.status == 5, wget  # "SSL verification failure"
    assert not requests(session)


@test
def nothing_is_left_when_the_warden_is_killed(session):
    """bawn tells what the command has left from its own helpers, and waits for none of them."""
    process = session.start(RULES, "sh", "-c", "curl -sS -m 20 https://allowed.test/ >/dev/null; echo ready; setsid sleep 321 & exec sleep 321", env=caller(session))
    assert process.stdout.readline() == "ready\n"
    [warden] = [pid for pid in children_of(process.pid) if name_of(pid) == "bawn" and children_of(pid)]
    wait_for(lambda: [name_of(pid) for pid in all_below(warden) if name_of(pid) != "bawn"] == ["sleep", "sleep"])  # and the one that ends the run
    vault = [pid for pid in children_of(process.pid) if name_of(pid) == "bawn-vault"]
    inside = all_below(warden)
    assert len(vault) == 2, vault
    os.kill(int(warden), signal.SIGKILL)
    process.communicate(timeout=PATIENCE)  # less than the 321 seconds of what was left
    wait_for(lambda: not [pid for pid in (*vault, *inside) if is_alive(pid)])  # the process that ends the run ends by itself, and last


@test
def processes_that_read_a_secret_are_waited_for(session):
    """bawn is a subreaper here: whatever it forks apart falls to it. Each reading waits for the ones before it that have ended."""
    count = 6
    names = [f"KEY_{number}" for number in range(count)]
    rules = ["connect allowed.test", *(f"secret {name} from command \"echo {name}-0123456789abcdef\" to allowed.test" for name in names)]
    asks = "".join(f'curl -sS -m 20 -o /dev/null -H "x-api-key: ${name}" https://allowed.test/{name}; ' for name in names)
    process = session.start(rules, "sh", "-c", asks + "echo asked; read line", env=caller(session))
    assert process.stdout.readline() == "asked\n"
    left = [pid for pid in children_of(process.pid) if not is_alive(pid)]
    process.communicate("\n", timeout=90)
    assert process.returncode == 0 and len(left) < count - 2, left
    assert [headers["x-api-key"] for _, _, headers, _ in requests(session)] == [f"{name}-0123456789abcdef" for name in names]
