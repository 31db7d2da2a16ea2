#!/usr/bin/env python3
"""Runs in a container: keys and logins stay outside behind the walls that bawn chooses there. Prints TAP without a plan.

    secrets.py BAWN CERTIFICATE

With `serve FOLDER ADDRESS` it is the server instead, beyond the container's network. It answers with the hash of the key that it got, because
a key in an answer is replaced on the way back.
"""
import hashlib
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "work")]
import scratch

HOST = "api.test"
KEY = "sk-ant-api03-R3al-Key-in-a-Container_0123456789abcdefg"
TOKEN = "sk-ant-oat01-R3al-Token-in-a-Container_0123456789abcd"
LOGIN = ".tool/login.json"

# Asks the server with the key, the token and the path; then looks for both in all that can be read. They are told backwards, so that they are not found in these words.
INSIDE = r'''
import json, os, pathlib, sys, time, urllib.error, urllib.request
key, token = (bytes.fromhex(word)[::-1] for word in sys.argv[1:3])
def ask(path, value):
    try: return urllib.request.urlopen(urllib.request.Request("https://api.test" + path, headers={"x-api-key": value}), timeout=20).read().decode()
    except urllib.error.HTTPError as error: return error.code
login = json.loads(pathlib.Path(os.environ["HOME"], ".tool/login.json").read_text())["oauth"]["accessToken"]
answers = [ask("/allowed", os.environ.get("API_KEY", "")), ask("/allowed", login), ask("/forbidden", os.environ.get("API_KEY", ""))]
found, closed = [], 0
def look(path):
    global closed
    try: text = open(path, "rb").read(1 << 26)
    except OSError as error:
        closed += error.errno == 13
        return
    if key in text or token in text: found.append(path)
for pid in filter(str.isdigit, os.listdir("/proc")):
    look(f"/proc/{pid}/environ")
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in open(f"/proc/{pid}/maps") if pid != str(os.getpid()) else ():
                begin, end = (int(word, 16) for word in line.split()[0].split("-"))
                try: memory.seek(begin); text = memory.read(min(end - begin, 1 << 24))
                except (OSError, ValueError, OverflowError): continue
                if key in text or token in text: found.append(f"/proc/{pid}/mem")
    except OSError: pass
for top in (os.environ["HOME"], os.environ.get("TMPDIR", "/tmp"), os.path.expanduser("~"), sys.argv[3]):
    for folder, _, names in os.walk(top):
        for name in names: look(os.path.join(folder, name))
look(os.path.join(sys.argv[3], ".tool/login.json"))
print(json.dumps([answers, found, closed > 0, time.monotonic()]))
'''


def serve(folder, address):
    class Api(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer = hashlib.sha256(self.headers.get("x-api-key", "").encode()).hexdigest().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((address, 443), Api)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("ready", flush=True)
    server.serve_forever()


def run(words, work, environment):
    backwards = [text.encode()[::-1].hex() for text in (KEY, TOKEN)]
    done = subprocess.run([*words, "/usr/bin/python3", "-c", INSIDE, *backwards, os.environ["HOME"]], cwd=work, env=environment, capture_output=True,
                          text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else (done.returncode, done.stdout, done.stderr)


def main(bawn, certificate):
    tap = scratch.Tap()
    work = pathlib.Path(os.environ["HOME"], "work")
    login = pathlib.Path(os.environ["HOME"], LOGIN)
    work.mkdir()
    login.parent.mkdir()
    login.write_text(json.dumps({"oauth": {"accessToken": TOKEN}}))
    environment = {**os.environ, "API_KEY": KEY, "SSL_CERT_FILE": certificate}
    rules = ["--connect", f"{HOST}/allowed GET", "--sync", f"~/{LOGIN}", "--secret", f"API_KEY to {HOST}", "--secret", f"login ~/{LOGIN} to {HOST}"]
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in (KEY, TOKEN)]
    with tap.test("the server gets the key and the token, requests are judged, and nothing inside has either"):
        shown = subprocess.run([bawn, "show", "--json", "--", "true"], cwd=work, env=environment, capture_output=True, text=True, check=True).stdout
        scratch.same('"walls": "landlock"' in shown or '"walls":"landlock"' in shown, True)
        seen = run([bawn, *rules, "--"], work, environment)
        scratch.same(seen[:3], [[*hashes, 403], [], True])
        scratch.same(time.monotonic() - seen[3] < 30, True)  # bawn waits up to 40 seconds for a vault that does not notice the end
    with tap.test("without bawn the same program has both, and finds them"):
        answers, found, *_ = run([], work, environment)
        scratch.same(answers, [*hashes, hashes[0]])
        scratch.same((str(login) in found, f"/proc/{os.getpid()}/mem" in found or any("environ" in path for path in found)), (True, True))
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(serve(*sys.argv[2:]) if sys.argv[1] == "serve" else main(*sys.argv[1:]))
