"""The world outside, for the tests of the network: servers in a network namespace of their own that remember who came.

Started by lab.py as `world.py FOLDER` in that namespace. Commands come on standard input, one a line, as JSON, and each is
answered with a line: {"take": true} gives what was seen since the last time; {"settle": true} waits for the end of all connections; {"names": {...}} sets what the DNS answers, and
{"delay": SECONDS} beside it how long each answer takes; {"raw": true} lets web servers remember every byte that comes, until {"raw": false}."""
import base64
import hashlib
import http.server
import io
import json
import os
import pathlib
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
SEEN, LOCK = [], threading.Lock()
SERVED = [0]  # connections, now
NAMES, DELAY, RAW = {}, [0], [False]
RELEASED = threading.Event()
HOST4, HOST6 = "0.0.0.0", "::"


def saw(*what):
    with LOCK:
        SEEN.append(what)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def process_request(self, request, client_address):
        with LOCK:
            SERVED[0] += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        super().process_request_thread(request, client_address)
        with LOCK:
            SERVED[0] -= 1

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if isinstance(error, ssl.SSLError) and error.reason == "HTTP_REQUEST":
            saw("not-tls", error.reason)


class Server6(Server):
    address_family = socket.AF_INET6

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        super().server_bind()


def counting_block() -> bytearray:
    """A mebibyte in which every eight bytes are another number, the first the block's own: what is lost, doubled or moved shows."""
    return bytearray(struct.pack("<131072Q", *range(131072)))


class Remembered(io.RawIOBase):
    """What comes on a connection, remembered as it comes."""

    def __init__(self, connection):
        super().__init__()
        self.connection = connection

    def readable(self):
        return True

    def readinto(self, into):
        data = self.connection.recv(len(into))
        into[: len(data)] = data
        saw("raw", data.decode("latin-1"))
        return len(data)


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kind = "http"

    def setup(self):
        super().setup()
        if RAW[0]:
            self.rfile = io.BufferedReader(Remembered(self.connection))

    def log_message(self, *_):
        pass

    def reply(self, body: bytes, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        here = self.connection.getsockname()[0]
        saw(self.kind, here, self.headers.get("Host"), self.path)
        if self.headers.get("Upgrade", "").lower() == "websocket" and "refuse" not in self.path:
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            key = self.headers.get("Sec-WebSocket-Key")
            if key:
                accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
                self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
            if "pieces" in self.path:
                self.send_in_pieces()
            self.end_headers()
            self.wfile.flush()
            self.close_connection = True
            if key:
                self.echo_frames()
                return
            while True:
                data = self.connection.recv(65536)
                if not data:
                    break
                saw("upgraded", data.decode("latin-1"))
                self.connection.sendall(data)
            return
        if self.path == "/events":
            RELEASED.clear()
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"1")
            RELEASED.wait(20)
            self.wfile.write(b"2")
            return
        if self.path == "/release":
            RELEASED.set()
        if self.path.startswith("/bytes/"):
            size, block = int(self.path.rsplit("/", 1)[1]), counting_block()
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            for number in range(-(-size // len(block))):
                block[:8] = struct.pack("<Q", number)
                self.wfile.write(block if size >= len(block) else block[:size])
                size -= len(block)
            return
        path = FOLDER / "www" / self.path.lstrip("/").split("?")[0]
        if path.is_dir() and (path / "index.html").is_file():
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            body = (path / "index.html").read_bytes()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        elif path.is_file():
            self.reply(path.read_bytes())
        else:
            self.reply(f"hello from {here} for {self.headers.get('Host')}\n".encode())

    def send_in_pieces(self):
        """The beginning of the answer, a few bytes at a time."""
        head, self._headers_buffer = b"".join(self._headers_buffer), []
        for start in range(0, len(head), 5):
            self.wfile.write(head[start : start + 5])
            self.wfile.flush()
            time.sleep(0.01)  # this server is slow

    def echo_frames(self):
        """WebSocket frames of less than 126 bytes, back without their mask, until the one that closes."""
        while head := self.rfile.read(2):
            size, mask = head[1] & 0x7F, self.rfile.read(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(size)))
            self.wfile.write(bytes([head[0], size]) + data)
            self.wfile.flush()
            if head[0] & 15 == 8:
                return

    def do_POST(self):
        body = b""
        if self.headers.get("Transfer-Encoding"):
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size + 2)[:size]
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        saw(self.kind, "POST", len(body))
        self.reply(body)

    def do_PUT(self):
        """Answers before the content is there, and then passes over it, as many servers do."""
        saw(self.kind, "PUT", self.path)
        self.reply(b"early")
        self.wfile.flush()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))

    do_HEAD = do_GET


class SecureWeb(Web):
    kind = "https"


class Echo(socketserver.BaseRequestHandler):
    """Says who it is, then sends back what comes, until the other side has ended; then one word more."""

    def handle(self):
        saw("echo", self.request.getsockname()[0], self.request.getsockname()[1], self.client_address[0])
        try:
            while True:
                data = self.request.recv(1 << 16)
                if not data:
                    break
                self.request.sendall(data)
            self.request.sendall(b"the end")
        except OSError as error:
            saw("broke", error.errno)


class Greeter(socketserver.BaseRequestHandler):
    """Speaks first, as ssh and mail servers do."""

    def handle(self):
        self.request.sendall(b"220 welcome\r\n")
        saw("greeted", self.request.recv(4096).decode("latin-1"))
        self.request.sendall(b"221 bye\r\n")


class Postgres(socketserver.StreamRequestHandler):
    """As much of a PostgreSQL server as psql needs for one question: no encryption, no password, one row."""

    def send(self, kind: bytes, body: bytes = b""):
        self.wfile.write(kind + struct.pack("!I", len(body) + 4) + body)

    def handle(self):
        while True:
            size, version = struct.unpack("!II", self.rfile.read(8))
            words = self.rfile.read(size - 8).split(b"\0")
            if version >> 16 == 3:
                break
            self.wfile.write(b"N")  # TLS? no
        saw("postgres", words[1].decode())
        self.send(b"R", struct.pack("!I", 0))
        for name, value in ((b"server_version", b"15.0"), (b"client_encoding", b"UTF8"), (b"standard_conforming_strings", b"on")):
            self.send(b"S", name + b"\0" + value + b"\0")
        self.send(b"Z", b"I")
        while (kind := self.rfile.read(1)) == b"Q":
            self.rfile.read(struct.unpack("!I", self.rfile.read(4))[0] - 4)
            self.send(b"T", struct.pack("!H", 1) + b"answer\0" + struct.pack("!IHIhih", 0, 0, 25, -1, -1, 0))
            self.send(b"D", struct.pack("!HI", 1, 8) + b"from far")
            self.send(b"C", b"SELECT 1\0")
            self.send(b"Z", b"I")


class Silent(socketserver.BaseRequestHandler):
    def handle(self):
        saw("silent", self.request.getsockname()[0])
        self.request.settimeout(30)
        self.request.recv(1)


class Resetter(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(10)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()


class Proxy(socketserver.BaseRequestHandler):
    """A company's proxy: CONNECT and nothing else, with a password."""

    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.request.recv(4096)
            if not part:
                return
            head += part
        lines = head.decode("latin-1").split("\r\n")
        saw("proxy", lines[0], next((line for line in lines if line.lower().startswith("proxy-authorization")), ""))
        host, port = lines[0].split(" ")[1].rsplit(":", 1)
        if host == "forbidden.test":
            self.request.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
            return
        other = socket.create_connection((NAMES.get(host, [host.strip("[]")])[0], int(port)))
        self.request.sendall(b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")

        def pump(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        thread = threading.Thread(target=pump, args=(self.request, other), daemon=True)
        thread.start()
        pump(other, self.request)
        thread.join()


def serve_dns():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((HOST4, 53))
    while True:
        data, peer = sock.recvfrom(2048)
        answer = answer_name(data)
        if answer:
            sock.sendto(answer, peer)


class Names(socketserver.StreamRequestHandler):
    """The same over TCP."""

    def handle(self):
        while size := self.rfile.read(2):
            answer = answer_name(self.rfile.read(struct.unpack("!H", size)[0]))
            self.wfile.write(struct.pack("!H", len(answer)) + answer)


TURNS = {}


def answer_name(data: bytes) -> bytes:
    """Answers A and AAAA from NAMES. A list of lists is answered in turns: that is how rebinding works; "never" is not answered."""
    labels, at = [], 12
    while data[at]:
        labels.append(data[at + 1 : at + 1 + data[at]].decode("latin-1"))
        at += data[at] + 1
    name = ".".join(labels).lower()
    kind = struct.unpack("!H", data[at + 1 : at + 3])[0]
    question = data[12 : at + 5]
    saw("dns", name)
    time.sleep(DELAY[0])  # this server is slow
    known = NAMES.get(name)
    if known and isinstance(known[0], list):
        if kind == 1:
            TURNS[name] = TURNS.get(name, -1) + 1
        known = known[min(max(TURNS.get(name, 0), 0), len(known) - 1)]
    answers = b""
    count = 0
    if known == ["never"]:
        return b""
    for address in known or []:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        if (family == socket.AF_INET6) != (kind == 28) or kind not in (1, 28):
            continue
        wire = socket.inet_pton(family, address)
        answers += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(wire)) + wire
        count += 1
    code = 0 if known else 3
    return data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, count, 0, 0) + question + answers


def settle():
    """Not for ever: one that hears nothing may wait for something else."""
    end = time.monotonic() + 5
    while SERVED[0] and time.monotonic() < end:
        time.sleep(0.002)


def start(address, port, handler, tls=None):
    server = (Server6 if ":" in address else Server)((address, port), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 5}, daemon=True).start()


def main():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(FOLDER / "server.pem", FOLDER / "key.pem")
    tls.sni_callback = lambda sock, name, context: saw("sni", name)
    for address in (HOST4, HOST6):
        for port in (80, 8080):
            start(address, port, Web)
        start(address, 3128, Proxy)
        start(address, 443, SecureWeb, tls)
        for port in (5432, 9000):
            start(address, port, Echo)
    start(HOST4, 2525, Greeter)
    start(HOST4, 5433, Postgres)
    start(HOST4, 53, Names)
    start(HOST4, 9001, Silent)
    start(HOST4, 9002, Resetter)
    threading.Thread(target=serve_dns, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if "names" in command:
            NAMES.clear()
            NAMES.update(command["names"])
            DELAY[0] = command.get("delay", 0)
        RAW[0] = command.get("raw", RAW[0])
        if command.get("settle"):
            settle()
        with LOCK:
            seen = list(SEEN)
            if command.get("take"):
                SEEN.clear()
        print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
