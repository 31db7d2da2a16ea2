"""The reader's machine for docs/RECIPES.md: a company's network beyond it, services on its localhost, an /etc to write to.

Started by run as `machine.py FOLDER` in the namespaces of lab.unshare(). Prints "ready" and stands until standard input ends. Beyond the
machine is the world of tests/egress, under the names of a company that has its own authority; packages.corp.example also is a registry. On
127.0.0.1 a PostgreSQL that answers one question listens at 5432 and a server of models at 11434."""
import http.server
import json
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(sys.argv[1])
TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "egress"), str(TESTS / "work")]
import lab as labs  # noqa: E402
import registry  # noqa: E402
import world  # noqa: E402

labs.NAMES = {"packages.corp.example": [labs.PRIVATE], "wiki.corp.example": [labs.PRIVATE], "api.corp.example": [labs.PRIVATE]}


class Models(http.server.BaseHTTPRequestHandler):
    """As much of Ollama as a client asks first."""

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "qwen3-coder:30b", "object": "model"}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hello from this machine."}]})

    def reply(self, answer):
        body = json.dumps(answer, separators=(",", ":")).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def write_registry(www):
    """A path that has others below it is the index.html of a folder."""
    files = registry.registry_files("https://packages.corp.example")
    for name, content in files.items():
        path = www / name.lstrip("/")
        if name.startswith("/simple") or any(other.startswith(name + "/") for other in files):
            path = path / "index.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def main():
    os.environ["BAWN_LAB_FOLDER"] = str(FOLDER)
    lab = labs.Lab()
    write_registry(lab.folder / "www")
    subprocess.run(["cp", lab.folder / "cert.pem", FOLDER / "corp-ca.pem"], check=True)
    world.start("127.0.0.1", 5432, world.Postgres)
    world.start("127.0.0.1", 11434, Models)
    print("ready", flush=True)
    sys.stdin.read()
    lab.close()


main()
