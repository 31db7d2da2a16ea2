"""A server of git over https, for the tests of forges: git's own http-backend, which nobody reaches without the token. It notes every
request, and what it was authorized with."""
import base64
import os
import subprocess

import world

TOKEN = "gho_RealForgeToken0123456789abcdefghij"
BASIC = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
BACKEND = "/usr/lib/git-core/git-http-backend"


def body_of(handler) -> bytes:
    body = b""
    if handler.headers.get("Transfer-Encoding") == "chunked":
        while size := int(handler.rfile.readline().split(b";")[0], 16):
            body += handler.rfile.read(size)
            handler.rfile.readline()
        handler.rfile.readline()
    elif handler.headers.get("Content-Length"):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
    return body


def serve(handler):
    body = body_of(handler)
    sent = handler.headers.get("Authorization", "")
    world.saw("git", handler.command, handler.path, sent, len(body), sorted(name.lower() for name in handler.headers))
    path, _, query = handler.path.partition("?")
    if path.startswith("/forge/echo"):  # says what it was sent
        handler.reply(f"you sent {sent} {base64.b64decode(sent.split()[-1]).decode() if sent else ''}".encode(), 500)
        return
    if sent != BASIC:
        handler.send_response(401)
        handler.send_header("WWW-Authenticate", 'Basic realm="forge"')
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    environment = {"PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": str(world.FOLDER), "GIT_HTTP_EXPORT_ALL": "1", "GIT_CONFIG_NOSYSTEM": "1",
                   "HOME": "/nonexistent", "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": handler.command, "REMOTE_USER": "agent",
                   "REMOTE_ADDR": "203.0.113.1", "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                   "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
                   "GIT_PROTOCOL": handler.headers.get("Git-Protocol", "")}
    done = subprocess.run([BACKEND], input=body, env=environment, capture_output=True, check=False)
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    fields = [line.decode().split(": ", 1) for line in head.split(b"\r\n") if b": " in line]
    status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
    handler.send_response(status)
    for name, value in fields:
        if name != "Status":
            handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def take_over(handler):
    """Makes the handler of a request for a repository below /forge/ the server's of git."""
    if not handler.path.startswith("/forge/") or not os.path.exists(BACKEND):
        return

    class Handler(type(handler)):
        def do_GET(self):
            serve(self)

        do_POST = do_GET

    handler.__class__ = Handler
